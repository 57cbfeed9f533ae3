#include <cmath>
#include <numeric>
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

template <class T, class F>
long double total(const Columns<T>& columns, const F& term) {
  long double sum = 0;
  for (std::size_t i = 0; i < columns[0].size(); ++i) {
    std::vector<long double> x;
    for (auto& column : columns) x.push_back(column[i]);
    sum += term(x);
  }
  return sum;
}

TEST_CASE_TEMPLATE("sum, dot and sum_squares", T, float, double) {
  auto& kernels = simd::kernels<T>();
  Columns<T> two = random_columns<T>(2);
  auto sum = [&](const Columns<T>& in, Index offset) -> Columns<T> {
    return {{kernels.sum(Buffer<T>(offset, in[0]).data(), length(in))}};
  };
  check_row<T>(two, sum, [](auto& in, auto& y) {
    check_close(y[0], total(in, [](auto& x) { return x[0]; }),
                total(in, [](auto& x) { return std::fabs(x[0]); }));
  });
  auto dot = [&](const Columns<T>& in, Index offset) -> Columns<T> {
    return {{kernels.dot(Buffer<T>(offset, in[0]).data(), Buffer<T>(offset, in[1]).data(),
                         length(in))}};
  };
  check_row<T>(two, dot, [](auto& in, auto& y) {
    check_close(y[0], total(in, [](auto& x) { return x[0] * x[1]; }),
                total(in, [](auto& x) { return std::fabs(x[0] * x[1]); }));
  });
  for (T& x : two[0]) x *= T(1e20);  // their squares are no f32
  auto squares = [&](const Columns<T>& in, Index offset) -> Columns<double> {
    return {{kernels.sum_squares(Buffer<T>(offset, in[0]).data(), length(in))}};
  };
  for (Index n = 0; n <= longest; ++n) {
    Columns<T> some = part(two, 0, n);
    double wanted = squares(some, 0)[0][0];
    check_close(wanted * 1e-40, 1e-40L * total(some, [](auto& x) { return x[0] * x[0]; }));
    for (Index offset = 1; offset < offsets; ++offset) {
      REQUIRE(squares(some, offset)[0][0] == wanted);
    }
  }
}

TEST_CASE_TEMPLATE("largest and smallest, and a NaN is never lost", T, float, double) {
  auto& kernels = simd::kernels<T>();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  Columns<T> one = random_columns<T>(1);
  for (bool top : {true, false}) {
    auto kernel = top ? kernels.largest : kernels.smallest;
    auto run = [&](const Columns<T>& in, Index offset) -> Columns<T> {
      if (in[0].empty()) return {{T(0)}};
      return {{kernel(Buffer<T>(offset, in[0]).data(), length(in))}};
    };
    check_row<T>(one, run, [&](auto& in, auto& y) {
      if (in[0].empty()) return;
      auto [low, high] = std::minmax_element(in[0].begin(), in[0].end());
      CHECK(y[0] == (top ? *high : *low));
    });
    for (std::size_t n = 1; n <= 40; ++n) {
      for (std::size_t at = 0; at < n; ++at) {
        for (T best : {T(1e30), nan}) {
          Column<T> x(n, T(0.5));
          x[at] = top ? best : -best;
          T y = kernel(x.data(), static_cast<Index>(n));
          REQUIRE((std::isnan(best) ? std::isnan(y) : y == x[at]));
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("softmax and log_sum_exp", T, float, double) {
  auto& kernels = simd::kernels<T>();
  Columns<T> one = random_columns<T>(1, 10);
  auto normaliser = [](const Columns<T>& in) {
    T top = *std::max_element(in[0].begin(), in[0].end());
    return top + std::log(total(in, [&](auto& x) { return std::exp(x[0] - top); }));
  };
  auto softmax = [&](const Columns<T>& in, Index offset) -> Columns<T> {
    Buffer<T> x(offset, in[0]), y(offset, in[0].size());
    kernels.softmax(x.data(), y.data(), length(in));
    kernels.softmax(x.data(), x.data(), length(in));
    CHECK(same_bits(x.column(), y.column()));
    return {y.column()};
  };
  check_row<T>(one, softmax, [&](auto& in, auto& y) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      check_close(y[i], std::exp(in[0][i] - normaliser(in)));
    }
    if (!y.empty()) check_close(std::accumulate(y.begin(), y.end(), T(0)), 1);
  });
  auto log_sum_exp = [&](const Columns<T>& in, Index offset) -> Columns<T> {
    return {{kernels.log_sum_exp(Buffer<T>(offset, in[0]).data(), length(in)).high}};
  };
  check_row<T>(one, log_sum_exp, [&](auto& in, auto& y) {
    if (in[0].empty()) {
      CHECK(y[0] == -std::numeric_limits<T>::infinity());
    } else {
      check_close(y[0], normaliser(in));
    }
  });
}

TEST_CASE_TEMPLATE("softmax and log_sum_exp of rows that are special", T, float, double) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  auto& kernels = simd::kernels<T>();
  auto softmax = [&](std::vector<T> x) {
    kernels.softmax(x.data(), x.data(), static_cast<Index>(x.size()));
    return x;
  };
  auto log_sum_exp = [&](const std::vector<T>& x) {
    return kernels.log_sum_exp(x.data(), static_cast<Index>(x.size())).high;
  };
  for (std::size_t n = 1; n <= 40; ++n) {
    for (std::size_t at = 0; at < n; ++at) {
      INFO("size ", n, ", place ", at);
      std::vector<T> x(n, -inf), one(n, 0);
      REQUIRE(softmax(x) == one);  // weights over nothing
      REQUIRE(log_sum_exp(x) == -inf);
      one[at] = 1;
      for (T value : {T(-1e4), T(0), T(1e4), T(1e30)}) {
        x[at] = value;
        REQUIRE(softmax(x) == one);
        REQUIRE(log_sum_exp(x) == value);
      }
      x.assign(n, -std::numeric_limits<T>::max());
      x[at] = std::numeric_limits<T>::max();
      REQUIRE(softmax(x) == one);
      x.assign(n, T(0.5));
      x[at] = inf;
      REQUIRE(log_sum_exp(x) == inf);
      for (T rest : {T(1), -inf, inf}) {  // a NaN is never lost
        x.assign(n, rest);
        x[at] = nan;
        REQUIRE(std::isnan(log_sum_exp(x)));
        for (T weight : softmax(x)) REQUIRE(std::isnan(weight));
      }
    }
  }
}

TEST_CASE_TEMPLATE("log_sum_exp keeps the logarithm whatever it is added to", T, float, double) {
  for (T value : {T(0), T(0.1), T(-3.7), T(1e4), T(1e12), T(-1e30)}) {
    for (Index n = 1; n <= 40; ++n) {
      const std::vector<T> x(static_cast<std::size_t>(n), value);
      const auto [high, low] = simd::kernels<T>().log_sum_exp(x.data(), n);
      REQUIRE(high == high + low);
      const long double sum = (static_cast<long double>(high) - value) + low;
      check_close(static_cast<T>(sum), std::log(static_cast<long double>(n)));
    }
  }
}

long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }

TEST_CASE_TEMPLATE("gru: one value wherever a unit stands", T, float, double) {
  auto run = [](const Columns<T>& in, Index offset) -> Columns<T> {
    Buffer<T> x(offset, {in[0], in[1], in[2]}), hidden(offset, {in[3], in[4], in[5]});
    Buffer<T> h(offset, in[6]), next(offset, in[0].size()), kept(offset, 4 * in[0].size());
    simd::kernels<T>().gru(x.data(), hidden.data(), h.data(), next.data(), kept.data(), length(in));
    Columns<T> outputs = kept.columns(4);
    outputs.push_back(next.column());
    return outputs;
  };
  check_elementwise<T>(random_columns<T>(7), run, [](auto& x) {
    long double r = sigmoid(x[0] + x[3]), z = sigmoid(x[1] + x[4]);
    long double n = std::tanh(x[2] + r * x[5]);
    return std::vector<long double>{r, z, n, x[5], (1 - z) * n + z * x[6]};
  });
}

TEST_CASE_TEMPLATE("gru_backward: one value wherever a unit stands", T, float, double) {
  auto run = [](const Columns<T>& in, Index offset) -> Columns<T> {
    auto size = in[0].size();
    Buffer<T> g(offset, in[0]), kept(offset, {in[1], in[2], in[3], in[4]}), h(offset, in[5]);
    Buffer<T> to_input(offset, 3 * size), to_hidden(offset, 3 * size), to_h(offset, size);
    auto& kernel = simd::kernels<T>().gru_backward;
    kernel(g.data(), kept.data(), h.data(), to_input.data(), to_hidden.data(), to_h.data(),
           length(in));
    kernel(g.data(), kept.data(), h.data(), to_input.data(), to_hidden.data(), g.data(),
           length(in));  // in place
    CHECK(same_bits(g.column(), to_h.column()));
    Columns<T> outputs = to_input.columns(3), more = to_hidden.columns(3);
    outputs.insert(outputs.end(), more.begin(), more.end());
    outputs.push_back(to_h.column());
    return outputs;
  };
  check_elementwise<T>(random_columns<T>(6, 0.5), run, [](auto& x) {
    long double g = x[0], r = x[1], z = x[2], n = x[3], hidden_n = x[4], h = x[5];
    long double dn = g * (1 - z) * (1 - n * n), dz = g * (h - n) * z * (1 - z);
    long double dr = dn * hidden_n * r * (1 - r);
    return std::vector<long double>{dr, dz, dn, dr, dz, dn * r, g * z};
  });
}

TEST_CASE_TEMPLATE("additive_score and its gradient", T, float, double) {
  auto score = [](const Columns<T>& in, Index offset) -> Columns<T> {
    Buffer<T> query(offset, in[0]), key(offset, in[1]), v(offset, in[2]);
    Columns<T> y{{T(0)}};
    simd::kernels<T>().additive_score(query.data(), key.data(), 0, 1, v.data(), y[0].data(),
                                      length(in));
    return y;
  };
  check_row<T>(random_columns<T>(3), score, [](auto& in, auto& y) {
    check_close(y[0], total(in, [](auto& x) { return x[2] * std::tanh(x[0] + x[1]); }),
                total(in, [](auto& x) { return std::fabs(x[2]); }));
  });
  const T g = T(0.7);
  auto backward = [=](const Columns<T>& in, Index offset) -> Columns<T> {
    Buffer<T> query(offset, in[0]), key(offset, in[1]), v(offset, in[2]);
    Buffer<T> to_query(offset, in[3]), to_key(offset, in[4]), to_v(offset, in[5]);
    simd::kernels<T>().additive_score_backward(&g, query.data(), key.data(), 0, 1, v.data(),
                                               to_query.data(), to_key.data(), to_v.data(),
                                               length(in));
    return {to_query.column(), to_key.column(), to_v.column()};
  };
  check_elementwise<T>(random_columns<T>(6, 1), backward, [=](auto& x) {
    long double t = std::tanh(x[0] + x[1]), inner = g * x[2] * (1 - t * t);
    return std::vector<long double>{x[3] + inner, x[4] + inner, x[5] + g * t};
  });
}

TEST_CASE_TEMPLATE("adam: one value wherever an element stands", T, float, double) {
  const simd::AdamConstants c{.step_size = 0.01,
                              .root_scale = 1.5,
                              .beta1 = 0.9,
                              .beta2 = 0.99,
                              .epsilon = 1e-3,
                              .weight_decay = 0.1};
  auto run = [&](const Columns<T>& in, Index offset) -> Columns<T> {
    Buffer<T> x(offset, in[0]), g(offset, in[1]), m(offset, in[2]), v(offset, in[3]);
    simd::kernels<T>().adam(x.data(), g.data(), m.data(), v.data(), length(in), c);
    return {x.column(), m.column(), v.column()};
  };
  Columns<T> inputs = random_columns<T>(4);
  for (T& v : inputs[3]) v = v * v;
  check_elementwise<T>(inputs, run, [&](auto& x) {
    long double g = x[1] + c.weight_decay * x[0];
    long double m = c.beta1 * x[2] + (1 - c.beta1) * g;
    long double v = c.beta2 * x[3] + (1 - c.beta2) * g * g;
    long double step = c.step_size * m / (c.root_scale * std::sqrt(v) + c.epsilon);
    return std::vector<long double>{x[0] - step, m, v};
  });
}

}  // namespace
}  // namespace regrad::ops
