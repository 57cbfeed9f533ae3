#include "gradient_of.h"

using namespace regrad;
using namespace regrad::testing;

TEST_CASE("products of vectors, matrices and batches have NumPy's shapes") {
  Var vector = ones({3}), matrix = ones({4, 3}), batch = ones({2, 1, 4, 3});
  CHECK(matmul(vector, vector).shape() == Shape{});
  CHECK(matmul(matrix, vector).shape() == Shape{4});
  CHECK(matmul(batch, vector).shape() == Shape{2, 1, 4});
  CHECK(matmul(vector, transpose(matrix)).shape() == Shape{4});
  CHECK(matmul(vector, transpose(batch)).shape() == Shape{2, 1, 4});
  CHECK(matmul(vector, batch, NoTrans, Trans).shape() == Shape{2, 1, 4});
  CHECK(matmul(batch, Var(ones({4})), Trans, NoTrans).shape() == Shape{2, 1, 3});
  CHECK(matmul(batch, ones({5, 3, 6})).shape() == Shape{2, 5, 4, 6});
}

TEST_CASE("their values, in both types") {
  for (DType dtype : both_types) {
    Var m = tensor({{1, 2, 3}, {4, 5, 6}}, dtype), v = tensor({1, -1, 2}, dtype);
    Var w = tensor({2, -3}, dtype);
    check_values(matmul(m, v), {2}, {5, 11});
    check_values(matmul(w, m), {3}, {-10, -11, -12});
    check_values(matmul(v, m, NoTrans, Trans), {2}, {5, 11});
    check_values(matmul(v, v), {}, {6});
    check_values(dot(v, v), {}, {6});
    check_values(outer(w, v), {2, 3}, {2, -2, 4, -3, 3, -6});
    check_values(gradient_of([&](const Var& x) { return outer(x, v); }, w.value()), {2, 2});
    check_values(gradient_of([](const Var& x) { return dot(x, x); }, v.value()), {2, -2, 4});
  }
}

TEST_CASE("products over nothing") {
  check_values(dot(zeros({0}), zeros({0})), {}, {0});
  CHECK(outer(zeros({0}), ones({3})).shape() == Shape{0, 3});
  check_values(matmul(zeros({2, 0}), zeros({0})), {2}, {0, 0});
  CHECK(matmul(zeros({0, 3}), ones({3})).shape() == Shape{0});
}

TEST_CASE("errors name both shapes") {
  Var v = ones({3}), w = ones({4}), m = ones({2, 3}), number = scalar(1);
  CHECK_THROWS_WITH_AS(matmul(v, w), "matmul: inner dimensions differ: [3] @ [4]", Error);
  CHECK_THROWS_WITH_AS(matmul(m, w), "matmul: inner dimensions differ: [2, 3] @ [4]", Error);
  CHECK_THROWS_WITH_AS(matmul(v, m), "matmul: inner dimensions differ: [3] @ [2, 3]", Error);
  CHECK_THROWS_WITH_AS(matmul(v, m, Trans, NoTrans),
                       "matmul: [3] @ [2, 3]: a vector has no transpose", Error);
  CHECK_THROWS_AS(matmul(number, m), Error);
  CHECK_THROWS_AS(matmul(v, number), Error);
  CHECK_THROWS_AS(matmul(v, ones({3}, DType::f64)), Error);
  CHECK_THROWS_WITH_AS(dot(v, w), "dot: [3] and [4] are no vectors of one size", Error);
  CHECK_THROWS_WITH_AS(dot(m, m), "dot: [2, 3] and [2, 3] are no vectors of one size", Error);
  CHECK_THROWS_WITH_AS(outer(v, m), "outer: [3] and [2, 3] are no vectors", Error);
}
