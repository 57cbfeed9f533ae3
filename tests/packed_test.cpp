#include "ops/packed.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "ops/matmul.h"
#include "ops/rng.h"
#include "ops/simd/kernels.h"

namespace regrad::ops {
namespace {

struct Case {
  Index m, n, k;
  Transpose transpose;
  DType dtype;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Transpose transpose : {NoTrans, Trans}) {
      for (const Index m : {2, 3, 5, 6, 7, 8, 9, 11, 13, 32, 64}) {
        all.push_back({m, 19, 21, transpose, dtype});
      }
      for (const Index n : {1, 4, 7, 8, 15, 16, 17, 48}) all.push_back({5, n, 9, transpose, dtype});
      for (const Index k : {0, 1, 3, 8, 255, 256, 257, 600}) {
        all.push_back({7, 18, k, transpose, dtype});
      }
    }
  }
  return all;
}

struct Product {
  Product(const Case& c, Rng& rng)
      : a(normal({c.m, c.k}, 0, 1, rng, c.dtype)),
        b(normal(c.transpose == Trans ? Shape{c.n, c.k} : Shape{c.k, c.n}, 0, 1, rng, c.dtype)),
        n(c.n),
        k(c.k),
        transpose(c.transpose) {}

  // Of the first m rows. `before`: what C holds.
  Tensor few_rows(Index m, const Packed* packed, bool accumulate, double before) const {
    Tensor c = full({m, n}, before, a.dtype());
    visit(a.dtype(), [&](auto zero) {
      using T = decltype(zero);
      multiply_few_rows(a.data<T>(), k, m, b.data<T>(), b.shape()[1], transpose, packed, n, k,
                        Addend<T>{.keep_c = accumulate}, c.mutable_data<T>(), n);
    });
    return c;
  }
  double expected(Index i, Index j) const {
    double sum = 0;
    for (Index p = 0; p < k; ++p) {
      sum += a.at({i, p}) * (transpose == Trans ? b.at({j, p}) : b.at({p, j}));
    }
    return sum;
  }

  Tensor a, b;
  Index n, k;
  Transpose transpose;
};

TEST_CASE("few rows: the product, packed or not, whatever C held") {
  Rng rng(1);
  for (const Case& c : cases()) {
    INFO(c.m, " x ", c.n, " x ", c.k, c.transpose == Trans ? " T " : " N ", to_string(c.dtype));
    const Product product(c, rng);
    const Tensor y = product.few_rows(c.m, nullptr, false, NAN);
    const double tolerance = c.dtype == DType::f32 ? 1e-5 : 1e-13;
    for (Index i = 0; i < c.m; ++i) {
      for (Index j = 0; j < c.n; ++j) {
        CHECK(std::abs(y.at({i, j}) - product.expected(i, j)) <= tolerance * (10 + c.k));
      }
    }
    const Packed packed(product.b, c.transpose);
    CHECK(identical(product.few_rows(c.m, &packed, false, NAN), y));
    const Tensor added = product.few_rows(c.m, &packed, true, 3);
    CHECK(std::abs(added.at({0, 0}) - product.expected(0, 0) - 3) <= tolerance * (10 + c.k));
  }
}

struct ManyRows {
  Index m, n, k;
};

// C = op(A) op(B) + addend, the numbers behind each row of A, B and C left alone: `gap` of A.
template <class T>
void check_many_rows(const ManyRows& size, Transpose a_transpose, Transpose b_transpose, Index gap,
                     Rng& rng) {
  const Index m = size.m, n = size.n, k = size.k;  // clang captures no bindings
  const Shape a_shape = a_transpose == Trans ? Shape{k, m + gap} : Shape{m, k + gap};
  const Shape b_shape = b_transpose == Trans ? Shape{n, k + 3} : Shape{k, n + 3};
  const Tensor a = normal(a_shape, 0, 1, rng, dtype_of<T>()),
               b = normal(b_shape, 0, 1, rng, dtype_of<T>()),
               bias = normal({n}, 0, 1, rng, dtype_of<T>());
  const auto product = [&](const Addend<T>& addend) {
    Tensor c = full({m, n + 1}, 7, dtype_of<T>());
    multiply_many_rows(a_transpose, b_transpose, m, n, k, a.data<T>(), a_shape[1], b.data<T>(),
                       b_shape[1], addend, c.mutable_data<T>(), n + 1);
    return c;
  };
  const Tensor plain = product({}), biased = product({.bias = bias.data<T>()}),
               added = product({.keep_c = true});
  const double tolerance = (sizeof(T) == 4 ? 1e-6 : 1e-14) * (10 + static_cast<double>(k));
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      double sum = 0;
      for (Index p = 0; p < k; ++p) {
        sum += (a_transpose == Trans ? a.at({p, i}) : a.at({i, p})) *
               (b_transpose == Trans ? b.at({j, p}) : b.at({p, j}));
      }
      const bool right = std::abs(plain.at({i, j}) - sum) <= tolerance &&
                         std::abs(biased.at({i, j}) - sum - bias.at({j})) <= tolerance &&
                         std::abs(added.at({i, j}) - sum - 7) <= tolerance;
      if (!right) FAIL_CHECK("row ", i, ", column ", j);
    }
    CHECK(plain.at({i, n}) == 7);
  }
}

TEST_CASE_TEMPLATE("many rows: the product in all orders, to the edges of its blocks", T, float,
                   double) {
  Rng rng(6);
  for (const ManyRows size :
       {ManyRows{1, 1, 1}, ManyRows{13, 33, 4}, ManyRows{70, 40, 0}, ManyRows{0, 5, 5},
        ManyRows{5, 0, 5}, ManyRows{245, 17, 300}, ManyRows{500, 7, 3}, ManyRows{3, 1030, 5},
        ManyRows{25, 1100, 257}, ManyRows{245, 40, 100}}) {
    for (const Transpose a : {NoTrans, Trans}) {
      for (const Transpose b : {NoTrans, Trans}) {
        INFO(size.m, " x ", size.n, " x ", size.k, " ", int{a}, int{b});
        for (const Index gap : {0, 2}) check_many_rows<T>(size, a, b, gap, rng);
      }
    }
  }
}

// c += a op(B), with NaN where nothing is to be read.
template <class T>
void check_one_row(Index n, Index k, Transpose transpose, Rng& rng) {
  const Index rows = transpose == Trans ? n : k, columns = transpose == Trans ? k : n, gap = 3;
  Tensor b = full({rows, columns + gap}, NAN, dtype_of<T>());
  const Tensor inside = normal({rows, columns}, 0, 1, rng, dtype_of<T>());
  for (Index i = 0; i < rows; ++i) {
    std::copy_n(inside.data<T>() + i * columns, columns, b.mutable_data<T>() + i * (columns + gap));
  }
  const Tensor a = normal({k}, 0, 1, rng, dtype_of<T>());
  for (const bool keep : {false, true}) {
    Tensor c = full({n + 1}, keep ? 7 : NAN, dtype_of<T>());
    gemm(NoTrans, transpose, 1, n, k, a.data<T>(), k, b.data<T>(), columns + gap, T(keep),
         c.mutable_data<T>(), n);
    const double tolerance = (sizeof(T) == 4 ? 1e-6 : 1e-14) * (10 + static_cast<double>(k));
    for (Index j = 0; j < n; ++j) {
      double sum = keep ? 7 : 0;
      for (Index p = 0; p < k; ++p) {
        sum += a.at({p}) * (transpose == Trans ? inside.at({j, p}) : inside.at({p, j}));
      }
      CHECK(std::abs(c.at({j}) - sum) <= tolerance);
    }
    CHECK((keep ? c.at({n}) == 7 : std::isnan(c.at({n}))));
  }
}

TEST_CASE_TEMPLATE("one row: the product in both orders, to the edges of its vectors", T, float,
                   double) {
  Rng rng(9);
  for (const Index n : {1, 5, 8, 9, 16, 23, 40}) {
    for (const Index k : {1, 4, 8, 13, 16, 17, 67}) {
      for (const Transpose transpose : {NoTrans, Trans}) {
        INFO(n, " x ", k, " ", int{transpose});
        check_one_row<T>(n, k, transpose, rng);
      }
    }
  }
}

TEST_CASE("narrow products are left to BLAS") {
  const Index half = simd::kernels<float>().panel_width / 2;
  CHECK_FALSE(outruns_blas<float>(100, half - 1));
  CHECK_FALSE(outruns_blas<float>(1, 100));
  CHECK(outruns_blas<float>(100, half) == (std::string(simd::instruction_set()) == "avx512"));
}

TEST_CASE("many rows give what few rows give") {
  Rng rng(7);
  const Index n = 37, k = 600;
  for (const Transpose transpose : {NoTrans, Trans}) {
    const Product product({64, n, k, transpose, DType::f32}, rng);
    Tensor c({64, n}, DType::f32);
    multiply_many_rows(NoTrans, transpose, 64, n, k, product.a.data<float>(), k,
                       product.b.data<float>(), product.b.shape()[1], Addend<float>{},
                       c.mutable_data<float>(), n);
    CHECK(identical(c, product.few_rows(64, nullptr, false, 0)));
  }
}

TEST_CASE("few rows: a row does not depend on the others") {
  Rng rng(2);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Product product({64, 37, 300, Trans, dtype}, rng);
    const Tensor all = product.few_rows(64, nullptr, false, 0);
    for (Index m = 1; m < 64; ++m) {
      CHECK(identical(product.few_rows(m, nullptr, false, 0), all.narrow(0, m)));
    }
  }
}

TEST_CASE("a weight that a tape packs gives the same bits as without a tape") {
  Rng rng(3);
  const Tensor w = normal({40, 24}, 0, 1, rng), x = normal({8, 24}, 0, 1, rng);
  const Var plain = linear(x, w);
  const Tensor g_x = linear_backward(ones({8, 40}), w);
  Tape tape;
  const Var weight = tape.variable(w);
  std::vector<Var> inputs;
  Var total;
  for (int t = 0; t < 4; ++t) {
    inputs.push_back(tape.variable(x));
    const Var y = linear(inputs.back(), weight);
    CHECK(identical(y.value(), plain.value()));
    total = t == 0 ? sum(y) : total + sum(y);
  }
  const Gradients gradients = tape.backward(total);
  for (const Var& input : inputs) CHECK(identical(gradients[input], g_x));
}

TEST_CASE("a weight is packed when it comes again, while a tape or a pause lives") {
  Rng rng(4);
  const Tensor w = normal({16, 16}, 0, 1, rng);
  CHECK(detail::packed(w, Trans, 8) == nullptr);
  CHECK(detail::packed(w, Trans, 8) == nullptr);
  for (const bool paused : {false, true}) {
    const Tape tape;
    const std::optional<Paused> pause = paused ? std::make_optional<Paused>() : std::nullopt;
    CHECK(detail::packed(w, Trans, 8) == nullptr);
    const Packed* packed = detail::packed(w, Trans, 8);
    CHECK(packed != nullptr);
    CHECK(detail::packed(w, Trans, 8) == packed);
    CHECK(detail::packed(w, NoTrans, 8) == nullptr);                 // another order
    CHECK(detail::packed(w.reshape({8, 32}), Trans, 8) == nullptr);  // another shape
    CHECK(detail::packed(w, Trans, 1) == nullptr);
    CHECK(detail::packed(w, Trans, most_few_rows + 1) == nullptr);
  }
}

TEST_CASE("a weight that changes after it was packed is packed anew") {
  Rng rng(5);
  Tensor w = normal({16, 16}, 0, 1, rng);
  const Tensor x = normal({4, 16}, 0, 1, rng);
  const Paused paused;
  for (int i = 0; i < 3; ++i) {
    for (int again = 0; again < 3; ++again) {
      CHECK(identical(linear(Var(x), Var(w)).value(), linear(x, w, nullptr)));
    }
    w.mutable_data<float>()[i] += 1;
  }
}

}  // namespace
}  // namespace regrad::ops
