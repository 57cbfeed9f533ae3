#include "ops/matmul.h"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "ops_check.h"

namespace regrad::ops {
namespace {

using namespace regrad::testing;

// Leaves NaN in the blocks that the next tensors of up to this size will be made of.
void spoil_pool(Index elements) {
  std::vector<Tensor> tensors;
  for (Index n = 1; n <= 2 * elements; n += 1 + n / 8) {
    for (int i = 0; i < 3; ++i) tensors.push_back(full({n}, NAN, DType::f64));
  }
}

Shape with_last(Shape shape, Index rows, Index columns) {
  return shape.appended(rows).appended(columns);
}

// Σ_k a[.., i, k] b[.., k, j], after the transposes.
Tensor naive_matmul(const Tensor& a, const Tensor& b, Transpose a_transpose,
                    Transpose b_transpose) {
  Shape sa = a.shape(), sb = b.shape();
  Index m = sa[a_transpose == Trans ? -1 : -2], n = sb[b_transpose == Trans ? -2 : -1];
  Index inner = sa[a_transpose == Trans ? -2 : -1];
  Shape batch_a = sa.without(-1).without(-1), batch_b = sb.without(-1).without(-1);
  Shape batch = broadcast(batch_a, batch_b, "");
  std::vector<double> x = a.to_vector(), y = b.to_vector(), result;
  for (Index p = 0; p < batch.size(); ++p) {
    auto from_a = static_cast<Index>(source_of(p, batch_a, batch)) * m * inner;
    auto from_b = static_cast<Index>(source_of(p, batch_b, batch)) * inner * n;
    for (Index i = 0; i < m; ++i) {
      for (Index j = 0; j < n; ++j) {
        double sum = 0;
        for (Index k = 0; k < inner; ++k) {
          Index u = a_transpose == Trans ? k * m + i : i * inner + k;
          Index v = b_transpose == Trans ? j * inner + k : k * n + j;
          sum += x[static_cast<std::size_t>(from_a + u)] * y[static_cast<std::size_t>(from_b + v)];
        }
        result.push_back(sum);
      }
    }
  }
  return tensor(result, with_last(batch, m, n), a.dtype());
}

template <class T>
void check_matmul(const Shape& batch_a, const Shape& batch_b, Index m, Index n, Index k) {
  for (Transpose u : {NoTrans, Trans}) {
    for (Transpose v : {NoTrans, Trans}) {
      INFO(to_string(batch_a), " ", to_string(batch_b), " m ", m, " n ", n, " k ", k, " ", u, v);
      Shape sa = u == Trans ? with_last(batch_a, k, m) : with_last(batch_a, m, k);
      Shape sb = v == Trans ? with_last(batch_b, n, k) : with_last(batch_b, k, n);
      Tensor a = random_tensor(sa, dtype_of<T>(), 1), b = random_tensor(sb, dtype_of<T>(), 2);
      Tensor wanted = naive_matmul(a, b, u, v);
      REQUIRE(difference(matmul(a, b, u, v), wanted) < (sizeof(T) == 4 ? 2e-5 : 1e-13));
    }
  }
}

TEST_CASE_TEMPLATE("matmul of all sizes and transposes", T, float, double) {
  spoil_pool(400);
  for (Index m : {0, 1, 2, 5, 17}) {
    for (Index n : {0, 1, 3, 16, 19}) {
      for (Index k : {0, 1, 2, 7, 33}) check_matmul<T>({}, {}, m, n, k);
    }
  }
}

TEST_CASE_TEMPLATE("matmul broadcasts batches", T, float, double) {
  spoil_pool(2000);
  const std::pair<Shape, Shape> batches[] = {
      {{3}, {3}},       {{3}, {}},     {{}, {3}},        {{1}, {4}},          {{4}, {1}},
      {{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{2, 1}, {1, 3}}, {{2, 1, 2}, {3, 1}}, {{1, 1}, {2, 2}},
      {{0}, {0}},       {{0}, {1}},    {{2, 0}, {}},     {{2, 2, 2, 2}, {}},  {{}, {2, 1, 2, 1}}};
  for (auto& [first, second] : batches) {
    const Shape a = first, b = second;
    check_matmul<T>(a, b, 2, 3, 4);
    check_matmul<T>(a, b, 1, 5, 2);
    check_matmul<T>(a, b, 3, 1, 1);
    check_matmul<T>(a, b, 3, 2, 0);
    check_matmul<T>(a, b, 0, 2, 3);
  }
}

TEST_CASE("a NaN reaches only its row or column") {
  Tensor a = random_tensor({4, 6}), b = random_tensor({6, 5});
  Tensor clean = matmul(a, b);
  Tensor row = a, column = b;
  row.mutable_data<float>()[2 * 6 + 3] = NAN;
  column.mutable_data<float>()[3 * 5 + 1] = INFINITY;
  for (Index i = 0; i < 4; ++i) {
    for (Index j = 0; j < 5; ++j) {
      CHECK(std::isnan(matmul(row, b).at({i, j})) == (i == 2));
      CHECK(std::isinf(matmul(a, column).at({i, j})) == (j == 1));
    }
  }
  // 0 times NaN is NaN: nothing may skip zeros.
  CHECK(std::isnan(matmul(zeros({1, 6}), full({6, 5}, NAN)).at({0, 4})));
  CHECK(std::isnan(matmul(zeros({3, 6}), full({6, 5}, NAN)).at({2, 4})));
}

TEST_CASE("matrices that do not fit are errors") {
  Tensor a = zeros({2, 3}), b = zeros({4, 5});
  CHECK(message_of([&] { matmul(a, b); }) == "matmul: inner dimensions differ: [2, 3] @ [4, 5]");
  CHECK(message_of([&] { matmul(a, b, Trans, Trans); }) ==
        "matmul: inner dimensions differ: [2, 3]ᵀ @ [4, 5]ᵀ");
  CHECK(message_of([&] { matmul(a, zeros({3})); }) ==
        "matmul: [2, 3] @ [3]: both need two dimensions or more; reshape a vector to a row or a "
        "column");
  CHECK(message_of([&] { matmul(scalar(1), a); }) != "");
  CHECK(message_of([&] {
          matmul(a, zeros({3, 5}, DType::f64));
        }) == "matmul: f32 [2, 3] with f64 [3, 5]; convert one of them with to()");
  CHECK(message_of([&] {
          matmul(zeros({2, 2, 3}), zeros({3, 3, 5}));
        }) == "matmul: shapes [2] and [3] do not broadcast: 2 against 3 at axis -1");
  const float* none = nullptr;
  CHECK(message_of([&] {
          gemm(NoTrans, NoTrans, 65, 2, Index{1} << 32, none, 3, none, 2, 1, nullptr, 2);
        }) == "matmul: dimension 4294967296 is too large");
}

TEST_CASE_TEMPLATE("gemm walks rows with a stride and adds to what is there", T, float, double) {
  constexpr Index m = 3, n = 4, k = 5, stride = 9;
  for (Index rows : {m, Index{1}}) {
    for (Transpose u : {NoTrans, Trans}) {
      for (Transpose v : {NoTrans, Trans}) {
        Tensor a = random_tensor({stride, stride}, dtype_of<T>(), 1);
        Tensor b = random_tensor({stride, stride}, dtype_of<T>(), 2);
        for (T beta : {T(0), T(1)}) {
          Tensor c = random_tensor({m, stride}, dtype_of<T>(), 3), before = c;
          if (beta == 0) c.mutable_data<T>()[2] = std::numeric_limits<T>::quiet_NaN();
          gemm(u, v, rows, n, k, a.data<T>(), stride, b.data<T>(), stride, beta,
               c.mutable_data<T>(), stride);
          for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < stride; ++j) {
              double wanted = before.at({i, j});
              if (i < rows && j < n) {
                wanted *= static_cast<double>(beta);
                for (Index p = 0; p < k; ++p) {
                  wanted += (u == Trans ? a.at({p, i}) : a.at({i, p})) *
                            (v == Trans ? b.at({j, p}) : b.at({p, j}));
                }
              }
              CHECK(std::abs(c.at({i, j}) - wanted) < (sizeof(T) == 4 ? 1e-5 : 1e-13));
            }
          }
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("linear is x Wᵀ + b", T, float, double) {
  spoil_pool(200);
  const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
  for (const Shape& leading :
       {Shape{}, Shape{1}, Shape{4}, Shape{2, 3}, Shape{0}, Shape{3, 1, 2}}) {
    for (Index inputs : {0, 1, 6}) {
      for (Index outputs : {0, 1, 5}) {
        Tensor x = random_tensor(leading.appended(inputs), dtype_of<T>(), 1);
        Tensor w = random_tensor({outputs, inputs}, dtype_of<T>(), 2);
        Tensor b = random_tensor({outputs}, dtype_of<T>(), 3);
        Tensor rows = x.reshape({leading.size(), inputs});
        Tensor wanted = naive_matmul(rows, w, NoTrans, Trans).reshape(leading.appended(outputs));
        CHECK(difference(linear(x, w, nullptr), wanted) < tolerance);
        std::vector<double> sums = wanted.to_vector();
        for (std::size_t i = 0; i < sums.size(); ++i) {
          sums[i] += b.to_vector()[i % static_cast<std::size_t>(outputs)];
        }
        CHECK(difference(linear(x, w, &b), tensor(sums, wanted.shape(), dtype_of<T>())) <
              tolerance);
      }
    }
  }
}

TEST_CASE("linear refuses what does not fit") {
  Tensor x = zeros({2, 3}), w = zeros({5, 3}), b = zeros({5}), wide = zeros({5}, DType::f64);
  CHECK(message_of([&] {
          linear(zeros({2, 4}), w, nullptr);
        }) == "linear: input [2, 4] does not fit weight [5, 3] (outputs, inputs)");
  CHECK(message_of([&] { linear(scalar(1), w, nullptr); }) != "");
  CHECK(message_of([&] { linear(x, b, nullptr); }) != "");
  Tensor short_bias = zeros({4});
  CHECK(message_of([&] { linear(x, w, &short_bias); }) ==
        "linear: bias [4] does not fit weight [5, 3]");
  CHECK(message_of([&] { linear(x, w, &wide); }) ==
        "linear: f32 [2, 3] with f64 [5]; convert one of them with to()");
  CHECK(message_of([&] { linear(x.to(DType::f64), w, nullptr); }) ==
        "linear: f64 [2, 3] with f32 [5, 3]; convert one of them with to()");
}

TEST_CASE_TEMPLATE("outer products are summed as one product", T, float, double) {
  std::vector<OuterProduct> terms;
  std::vector<double> wanted(4 * 3);
  for (const Shape& leading : {Shape{2}, Shape{1}, Shape{2, 3}, Shape{0}, Shape{}}) {
    Tensor g = random_tensor(leading.appended(4), dtype_of<T>(), terms.size() + 1);
    Tensor x = random_tensor(leading.appended(3), dtype_of<T>(), terms.size() + 50);
    for (Index r = 0; r < leading.size(); ++r) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto o = static_cast<Index>(i / 3), column = static_cast<Index>(i % 3);
        wanted[i] += g.data<T>()[r * 4 + o] * static_cast<double>(x.data<T>()[r * 3 + column]);
      }
    }
    terms.push_back({g, x});
    CHECK(difference(sum_outer_products(terms), tensor(wanted, {4, 3}, dtype_of<T>())) <
          (sizeof(T) == 4 ? 1e-5 : 1e-13));
  }
  Tensor sum = tensor(wanted, {4, 3}, dtype_of<T>());
  add_outer_products(terms, sum);
  for (double& value : wanted) value *= 2;
  CHECK(difference(sum, tensor(wanted, {4, 3}, dtype_of<T>())) < (sizeof(T) == 4 ? 1e-5 : 1e-13));
}

TEST_CASE("outer products that do not fit are errors") {
  auto message = [](std::vector<OuterProduct> terms) {
    return message_of([&] { sum_outer_products(terms); });
  };
  OuterProduct good{zeros({2, 4}), zeros({2, 3})};
  CHECK(message({}) == "sum_outer_products: there is nothing to sum");
  CHECK(message({good, {zeros({2, 4}), zeros({2, 5})}}) ==
        "sum_outer_products: [2, 4] and [2, 5] do not fit a sum of shape [4, 3]");
  CHECK(message({good, {zeros({2, 9}), zeros({2, 3})}}) != "");
  CHECK(message({{zeros({2, 4}), zeros({3, 3})}}) ==
        "sum_outer_products: [2, 4] and [3, 3] do not fit a sum of shape [4, 3]");
  CHECK(message({good, {zeros({2, 4}, DType::f64), zeros({2, 3}, DType::f64)}}) ==
        "sum_outer_products: f32 [2, 4] with f64 [2, 4]; convert one of them with to()");
  CHECK(message({{scalar(1), scalar(2)}}) == "axis -1 does not exist in shape [] of rank 0");
  Tensor other = zeros({3, 4}), doubles = zeros({4, 3}, DType::f64);
  CHECK(message_of([&] {
          add_outer_products({&good, 1}, other);
        }) == "add_outer_products: terms of shape [4, 3] do not fit a sum of shape [3, 4]");
  CHECK(message_of([&] {
          add_outer_products({&good, 1}, doubles);
        }) == "add_outer_products: f32 [2, 4] with f64 [4, 3]; convert one of them with to()");
}

}  // namespace
}  // namespace regrad::ops
