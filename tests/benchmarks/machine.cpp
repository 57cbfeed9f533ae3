#include "tests/benchmarks/machine.h"

#include <cstdio>

#include <cblas.h>
#include <xsimd/xsimd.hpp>

#include "ops/rng.h"
#include "ops/simd/kernels.h"
#include "ops/tensor.h"

namespace bench {
namespace {

using namespace regrad;
using ops::Unary;
using Batch = xsimd::batch<float>;

Tensor random(Index n) {
  Rng rng(1);
  return uniform({n}, -1, 1, rng);
}

// x P(x²) / Q(x²) fitted to tanh up to 8.5, from where on it is 1 in f32: relative error 2.5e-7.
// No NaN and no tiny numbers: it bounds what a library could reach.
Batch rational_tanh(Batch x) {
  x = xsimd::min(Batch(8.5f), xsimd::max(Batch(-8.5f), x));
  const Batch s = x * x;
  Batch p = xsimd::fma(s, Batch(1.09189289e-05f), Batch(0.0029033297f));
  p = xsimd::fma(p, s, Batch(0.128810882f));
  p = xsimd::fma(p, s, Batch(0.999999759f));
  Batch q = xsimd::fma(s, Batch(2.29785894e-07f), Batch(0.000231959265f));
  q = xsimd::fma(q, s, Batch(0.0236199033f));
  q = xsimd::fma(q, s, Batch(0.462142338f));
  q = xsimd::fma(q, s, Batch(1));
  return x * p / q;
}

constexpr Index in_cache = 4096;

// f(from, to) in seconds per element. The two lie half a page apart from whole pages: some
// processors take a load for one of a store that is a multiple of 4096 bytes away, and wait.
template <class F>
double element_rate(const F& f) {
  constexpr Index half_page = 512;
  Tensor buffer = random(2 * in_cache + half_page);
  float* from = buffer.mutable_data<float>();
  float* to = from + in_cache + half_page;
  return seconds([&] { f(from, to); }) / in_cache;
}

double kernel_rate(Unary op) {
  return element_rate([op](const float* from, float* to) {
    ops::simd::kernels<float>().map(op, from, to, in_cache);
  });
}

template <class F>
double batch_rate(const F& f) {
  return element_rate([&f](const float* from, float* to) {
    constexpr Index step = Batch::size;
    for (Index i = 0; i < in_cache; i += step)
      f(Batch::load_aligned(from + i)).store_aligned(to + i);
  });
}

void report(const char* name, double kernel, double xsimd, double rational) {
  std::fprintf(stderr, "limit: %s: kernel %.3f ns, xsimd %.3f ns", name, kernel * 1e9, xsimd * 1e9);
  if (rational > 0) std::fprintf(stderr, ", rational %.3f ns", rational * 1e9);
  std::fprintf(stderr, " an element\n");
}

CBLAS_TRANSPOSE flag(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

void multiply(const Product& p, const float* a, const float* b, float* c) {
  const auto m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  cblas_sgemm(CblasRowMajor, flag(p.a_transposed), flag(p.b_transposed), m, n, k, 1, a,
              p.a_transposed ? m : k, b, p.b_transposed ? k : n, 0, c, n);
}

void multiply_row(const Product& p, const float* a, const float* b, float* c) {
  const auto n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  const int rows = p.b_transposed ? n : k, columns = p.b_transposed ? k : n;
  cblas_sgemv(CblasRowMajor, flag(!p.b_transposed), rows, columns, 1, b, columns, a, 1, 0, c, 1);
}

}  // namespace

FunctionRates measure_functions() {
  const auto tanh = [](Batch x) { return xsimd::tanh(x); };
  const auto exp = [](Batch x) { return xsimd::exp(x); };
  const auto sigmoid = [](Batch x) { return Batch(1) / (Batch(1) + xsimd::exp(-x)); };
  const auto rational_sigmoid = [](Batch x) {
    return xsimd::fma(rational_tanh(x * 0.5f), Batch(0.5f), Batch(0.5f));
  };
  const double kernel[] = {kernel_rate(Unary::tanh), kernel_rate(Unary::sigmoid),
                           kernel_rate(Unary::exp)};
  const double by_xsimd[] = {batch_rate(tanh), batch_rate(sigmoid), batch_rate(exp)};
  const double rational[] = {batch_rate(rational_tanh), batch_rate(rational_sigmoid)};
  report("tanh", kernel[0], by_xsimd[0], rational[0]);
  report("sigmoid", kernel[1], by_xsimd[1], rational[1]);
  report("exp", kernel[2], by_xsimd[2], 0);
  return {std::min({kernel[0], by_xsimd[0], rational[0]}),
          std::min({kernel[1], by_xsimd[1], rational[1]}), std::min(kernel[2], by_xsimd[2])};
}

MemoryRates measure_memory() {
  const Index n = Index{24} << 20;
  const Tensor x = random(n), g = random(n);
  Tensor y = random(n), m = random(n), v = full({n}, 0.1);
  const auto& kernels = ops::simd::kernels<float>();
  const float *from = x.data<float>(), *gradient = g.data<float>();
  float *to = y.mutable_data<float>(), *first = m.mutable_data<float>(),
        *second = v.mutable_data<float>();
  float sum = 0;
  const double stream =
      seconds([&] { kernels.zip(ops::Binary::add, from, 1, gradient, 1, to, n); }, 1.0);
  const double read = seconds([&] { sum += kernels.sum(from, n); }, 1.0);
  const ops::simd::AdamConstants c{1e-6, 1, 0.9, 0.999, 1e-8, 0};
  const double adam = seconds([&] { kernels.adam(to, gradient, first, second, n, c); }, 1.0);
  if (sum == 0.5f) std::fprintf(stderr, "\n");  // so that the reading is not left out
  const auto count = static_cast<double>(n);
  return {stream / count / 3, read / count, adam / count};
}

double measure(const Product& p) {
  const Tensor a = random(p.m * p.k), b = random(p.k * p.n);
  Tensor c({p.m * p.n});
  const float *left = a.data<float>(), *right = b.data<float>();
  float* to = c.mutable_data<float>();
  const double by_gemm = seconds([&] { multiply(p, left, right, to); });
  if (p.m > 1) return by_gemm;
  return std::min(by_gemm, seconds([&] { multiply_row(p, left, right, to); }));
}

double measure_decoding(const Workload& w, Index batch) {
  const Index e = w.embedding, h = w.hidden, time = w.time, rows = time * batch;
  const Tensor x = random(rows * std::max(3 * h + e, w.vocabulary));
  Tensor y({rows * std::max(3 * h + e, w.vocabulary)});
  const float* from = x.data<float>();
  float* to = y.mutable_data<float>();
  struct Layer {
    Product product;
    Tensor weight;
  };
  const auto layer = [](Index m, Index n, Index k) {
    return Layer{{m, n, k, false, true, 1}, random(n * k)};
  };
  const auto run = [&](const Layer& l) {
    (l.product.m == 1 ? multiply_row : multiply)(l.product, from, l.weight.data<float>(), to);
  };
  const std::vector<Layer> inputs{layer(rows, 3 * h, e), layer(rows, 3 * h, e)};
  const std::vector<Layer> encoder{layer(batch, 3 * h, h), layer(batch, 3 * h, h)};
  const std::vector<Layer> keys_and_first_state{layer(rows, h, 2 * h), layer(batch, h, h)};
  const std::vector<Layer> decoder{layer(batch, h, h), layer(batch, 3 * h, e + 2 * h),
                                   layer(batch, 3 * h, h), layer(batch, w.vocabulary, 3 * h + e)};
  const auto sentence = [&] {
    for (const Layer& l : inputs) run(l);
    for (const Layer& l : encoder) {
      for (Index t = 0; t < time; ++t) run(l);
    }
    for (const Layer& l : keys_and_first_state) run(l);
    for (Index t = 0; t < time; ++t) {
      for (const Layer& l : decoder) run(l);
    }
  };
  return seconds(sentence, 2.0);
}

}  // namespace bench
