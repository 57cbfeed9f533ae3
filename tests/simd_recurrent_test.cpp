#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "ops/simd/kernels.h"
#include "simd_check.h"

namespace regrad::ops {
namespace {

using namespace regrad::testing;

template <class T>
Index length(const Columns<T>& columns) {
  return static_cast<Index>(columns[0].size());
}

long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }

constexpr Nonlinearity both[] = {Nonlinearity::tanh, Nonlinearity::relu};

TEST_CASE_TEMPLATE("rnn: one value wherever a unit stands", T, float, double) {
  for (const Nonlinearity f : both) {
    auto run = [f](const Columns<T>& in, Index offset) -> Columns<T> {
      Buffer<T> x(offset, in[0]), hidden(offset, in[1]), next(offset, in[0].size());
      simd::kernels<T>().rnn(f, x.data(), hidden.data(), next.data(), length(in));
      return {next.column()};
    };
    check_elementwise<T>(random_columns<T>(2), run, [f](auto& x) {
      long double sum = x[0] + x[1];
      return std::vector<long double>{f == Nonlinearity::tanh ? std::tanh(sum)
                                                              : std::fmax(sum, 0.0L)};
    });
  }
}

TEST_CASE_TEMPLATE("rnn_backward: one value wherever a unit stands", T, float, double) {
  for (const Nonlinearity f : both) {
    auto run = [f](const Columns<T>& in, Index offset) -> Columns<T> {
      Buffer<T> g(offset, in[0]), next(offset, in[1]), gates(offset, in[0].size());
      simd::kernels<T>().rnn_backward(f, g.data(), next.data(), gates.data(), length(in));
      return {gates.column()};
    };
    check_elementwise<T>(random_columns<T>(2, 0.3), run, [f](auto& x) {
      long double slope = f == Nonlinearity::tanh ? 1 - x[1] * x[1] : (x[1] > 0 ? 1 : 0);
      return std::vector<long double>{x[0] * slope};
    });
  }
}

TEST_CASE_TEMPLATE("relu in rnn keeps NaN", T, float, double) {
  const T x[] = {T(NAN), T(-1), T(2)}, hidden[] = {T(0), T(0), T(0)};
  T next[3];
  simd::kernels<T>().rnn(Nonlinearity::relu, x, hidden, next, 3);
  CHECK(std::isnan(next[0]));
  CHECK(next[1] == 0);
  CHECK(next[2] == 2);
}

TEST_CASE_TEMPLATE("lstm: one value wherever a unit stands", T, float, double) {
  auto run = [](const Columns<T>& in, Index offset) -> Columns<T> {
    Buffer<T> x(offset, {in[0], in[1], in[2], in[3]}), hidden(offset, {in[4], in[5], in[6], in[7]});
    Buffer<T> c(offset, in[8]), next(offset, in[0].size()), c_next(offset, in[0].size());
    Buffer<T> kept(offset, 5 * in[0].size());
    simd::kernels<T>().lstm(x.data(), hidden.data(), c.data(), next.data(), c_next.data(),
                            kept.data(), length(in));
    Columns<T> outputs = kept.columns(5);
    outputs.push_back(next.column());
    outputs.push_back(c_next.column());
    return outputs;
  };
  check_elementwise<T>(random_columns<T>(9), run, [](auto& x) {
    long double i = sigmoid(x[0] + x[4]), f = sigmoid(x[1] + x[5]);
    long double g = std::tanh(x[2] + x[6]), o = sigmoid(x[3] + x[7]);
    long double next = f * x[8] + i * g;
    return std::vector<long double>{i, f, g, o, std::tanh(next), o * std::tanh(next), next};
  });
}

TEST_CASE_TEMPLATE("lstm_backward: one value wherever a unit stands", T, float, double) {
  auto run = [](const Columns<T>& in, Index offset) -> Columns<T> {
    const auto size = in[0].size();
    Buffer<T> g_h(offset, in[0]), g_next(offset, in[1]), c(offset, in[7]);
    Buffer<T> kept(offset, {in[2], in[3], in[4], in[5], in[6]});
    Buffer<T> gates(offset, 4 * size), g_c(offset, size);
    auto& kernel = simd::kernels<T>().lstm_backward;
    kernel(g_h.data(), g_next.data(), kept.data(), c.data(), gates.data(), g_c.data(), length(in));
    kernel(g_h.data(), g_next.data(), kept.data(), c.data(), gates.data(), g_next.data(),
           length(in));  // in place
    CHECK(same_bits(g_next.column(), g_c.column()));
    Columns<T> outputs = gates.columns(4);
    outputs.push_back(g_c.column());
    return outputs;
  };
  check_elementwise<T>(random_columns<T>(8, 0.5), run, [](auto& x) {
    long double g_h = x[0], i = x[2], f = x[3], g = x[4], o = x[5], squashed = x[6], c = x[7];
    long double dc = x[1] + g_h * o * (1 - squashed * squashed);
    return std::vector<long double>{dc * g * i * (1 - i), dc * c * f * (1 - f),
                                    dc * i * (1 - g * g), g_h * squashed * o * (1 - o), dc * f};
  });
}

}  // namespace
}  // namespace regrad::ops
