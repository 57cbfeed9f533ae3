// What the machine allows: a lower bound for the step of each workload, or for greedy decoding.
#include <map>
#include <tuple>

#include <CLI/CLI.hpp>
#include <cblas.h>
#include <fmt/core.h>

#include "ops/error.h"
#include "tests/benchmarks/machine.h"

using namespace bench;

namespace {

// Of y = x Wᵀ with x [m, k] and y [m, n] at each of `steps`: forward, the gradient of x, and that
// of W as one product over all steps.
std::vector<Product> linear(Index m, Index n, Index k, Index steps = 1) {
  return {{m, n, k, false, true, steps},
          {m, k, n, false, false, steps},
          {n, k, m * steps, true, false, 1}};
}

// What depends on no state is one product over all time steps.
std::vector<Product> step_products(const Workload& w) {
  const Index b = w.batch, t = w.time, e = w.embedding, h = w.hidden, rows = b * t;
  std::vector<Product> products;
  for (const std::vector<Product>& layer :
       {linear(rows, 3 * h, e), linear(rows, 3 * h, e),      // encoder's inputs
        linear(b, 3 * h, h, t), linear(b, 3 * h, h, t),      // its states
        linear(rows, h, 2 * h), linear(b, h, h),             // keys, first state
        linear(b, h, h, t), linear(rows, 3 * h, e),          // queries, target words
        linear(b, 3 * h, 2 * h, t), linear(b, 3 * h, h, t),  // decoder's context and state
        linear(rows, w.vocabulary, 3 * h + e)}) {            // logits
    products.insert(products.end(), layer.begin(), layer.end());
  }
  return products;
}

// Shapes that several workloads share are measured once.
class ProductTimes {
 public:
  double operator()(const Product& p) {
    const auto [entry, is_new] =
        times_.try_emplace({p.m, p.n, p.k, p.a_transposed, p.b_transposed}, 0);
    if (is_new) entry->second = measure(p);
    return entry->second * static_cast<double>(p.count);
  }

 private:
  std::map<std::tuple<Index, Index, Index, bool, bool>, double> times_;
};

void print_step(const Workload& w, const FunctionRates& f, const MemoryRates& memory,
                ProductTimes& times) {
  double products = 0, flops = 0;
  for (const Product& p : step_products(w)) {
    products += times(p);
    flops += 2.0 * static_cast<double>(p.m * p.n * p.k * p.count);
  }
  const Index b = w.batch, t = w.time, h = w.hidden;
  const auto scores = static_cast<double>(b * t * t);
  const auto states = static_cast<double>(b * h * (2 * t + t));  // of encoder and decoder
  const double functions =
      (scores * static_cast<double>(h) + states + static_cast<double>(b * h)) * f.tanh +
      2 * states * f.sigmoid + (static_cast<double>(b * t * w.vocabulary) + scores) * f.exp;
  const auto trained = static_cast<double>(parameters(w));
  const double adam = trained * memory.adam, clip = trained * memory.read;
  // For each score, forward: read a key (H) and an annotation (2H), write the tanh (H). Backward:
  // read the tanh and the annotation, add to the gradients of both, which reads and writes: 9H.
  const double attention = 13 * scores * static_cast<double>(h) * memory.stream;
  const double step = products + functions + adam + clip + attention;
  fmt::print(
      "limit size={} threads=1 step_ms={:.3f} tokens_per_s={:.1f} gemm_ms={:.3f} "
      "functions_ms={:.3f} "
      "adam_ms={:.3f} clip_ms={:.3f} attention_ms={:.3f} gemm_gflop={:.4f} parameters={}\n",
      w.name, step * 1e3, static_cast<double>(b * t) / step, products * 1e3, functions * 1e3,
      adam * 1e3, clip * 1e3, attention * 1e3, flops / 1e9, parameters(w));
  std::fflush(stdout);
}

void print_steps(const std::vector<std::string>& sizes) {
  const FunctionRates functions = measure_functions();
  const MemoryRates memory = measure_memory();
  fmt::print(stderr, "limit: stream {:.1f} GB/s, read {:.1f} GB/s, Adam {:.2f} ns a parameter\n",
             4e-9 / memory.stream, 4e-9 / memory.read, memory.adam * 1e9);
  ProductTimes times;
  for (const std::string& size : sizes) print_step(workload(size), functions, memory, times);
}

void print_decoding(const std::string& size, Index batch) {
  const Workload& w = workload(size);
  const double time = measure_decoding(w, batch);
  fmt::print("limit-decode size={} batch={} threads=1 tokens_per_s={:.1f} ms={:.3f}\n", size, batch,
             static_cast<double>(batch * w.time) / time, time * 1e3);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "What one thread of this machine allows for the workloads of the benchmarks: OpenBLAS's "
      "products at their shapes, vector functions and memory traffic. Measures one thread only: "
      "pin it to a core and let nothing else run.");
  std::vector<std::string> sizes;
  bool decode = false;
  app.add_option("--size", sizes, "single, tiny, small, medium, long; default: all")
      ->check(CLI::IsMember(workload_names()));
  app.add_flag("--decode", decode,
               "instead, the products of greedy decoding with batches of 1 and 64 "
               "(default size: small)");
  CLI11_PARSE(app, argc, argv);
  openblas_set_num_threads(1);
  if (!decode) {
    print_steps(sizes.empty() ? workload_names() : sizes);
    return 0;
  }
  if (sizes.empty()) sizes = {"small"};
  for (const std::string& size : sizes) {
    for (const Index batch : {1, 64}) print_decoding(size, batch);
  }
}
