#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "ops/elementwise.h"
#include "ops/tensor.h"

namespace regrad {
namespace {

constexpr double nan = NAN, inf = INFINITY;

struct Case {
  const char* what;
  Tensor tensor;
  const char* text;
};

// What str() of NumPy 1.24 says of the same numbers.
TEST_CASE("tensors print as in NumPy") {
  const Case cases[] = {
      {"whole numbers", tensor({1, 2, 3}), "[1. 2. 3.]"},
      {"mixed signs", tensor({-1, 20, -300}), "[  -1.   20. -300.]"},
      {"decimals", tensor({{1, -2.5}, {0.125, 100}}),
       "[[  1.     -2.5  ]\n"
       " [  0.125 100.   ]]"},
      {"thirds in f32", tensor({1 / 3., -2 / 3., 10 / 3.}),
       "[ 0.33333334 -0.6666667   3.3333333 ]"},
      {"thirds in f64", tensor({1 / 3., -2 / 3., 10 / 3.}, DType::f64),
       "[ 0.33333333 -0.66666667  3.33333333]"},
      {"nan and infinities", tensor({1.5, nan, -inf, inf, 0}), "[ 1.5  nan -inf  inf  0. ]"},
      {"nothing finite", tensor({nan, inf}), "[nan inf]"},
      {"negative nan and zero", tensor({-nan, -0.0, 1}), "[nan -0.  1.]"},
      {"a range that needs exponents", tensor({1, 1e-5, 123456}),
       "[1.00000e+00 1.00000e-05 1.23456e+05]"},
      {"large", tensor({1e10, -2.5e9}), "[ 1.0e+10 -2.5e+09]"},
      {"exponents of three digits", tensor({1e100, 1.5e-7}, DType::f64), "[1.0e+100 1.5e-007]"},
      {"a factor of 1000", tensor({0.001, 1}), "[0.001 1.   ]"},
      {"more than a factor of 1000", tensor({0.0009, 1}), "[9.e-04 1.e+00]"},
      {"three axes", arange(12).reshape({2, 3, 2}),
       "[[[ 0.  1.]\n"
       "  [ 2.  3.]\n"
       "  [ 4.  5.]]\n"
       "\n"
       " [[ 6.  7.]\n"
       "  [ 8.  9.]\n"
       "  [10. 11.]]]"},
      {"four axes", arange(8, DType::f64).reshape({2, 2, 1, 2}),
       "[[[[0. 1.]]\n"
       "\n"
       "  [[2. 3.]]]\n"
       "\n"
       "\n"
       " [[[4. 5.]]\n"
       "\n"
       "  [[6. 7.]]]]"},
      {"a long row", ops::affine(arange(23), 1.25, -10),
       "[-10.    -8.75  -7.5   -6.25  -5.    -3.75  -2.5   -1.25   0.     1.25\n"
       "   2.5    3.75   5.     6.25   7.5    8.75  10.    11.25  12.5   13.75\n"
       "  15.    16.25  17.5 ]"},
      {"1000 elements are shown, 1001 are not", arange(1001),
       "[   0.    1.    2. ...  998.  999. 1000.]"},
      {"a summary of two axes", arange(2000).reshape({40, 50}),
       "[[0.000e+00 1.000e+00 2.000e+00 ... 4.700e+01 4.800e+01 4.900e+01]\n"
       " [5.000e+01 5.100e+01 5.200e+01 ... 9.700e+01 9.800e+01 9.900e+01]\n"
       " [1.000e+02 1.010e+02 1.020e+02 ... 1.470e+02 1.480e+02 1.490e+02]\n"
       " ...\n"
       " [1.850e+03 1.851e+03 1.852e+03 ... 1.897e+03 1.898e+03 1.899e+03]\n"
       " [1.900e+03 1.901e+03 1.902e+03 ... 1.947e+03 1.948e+03 1.949e+03]\n"
       " [1.950e+03 1.951e+03 1.952e+03 ... 1.997e+03 1.998e+03 1.999e+03]]"},
      {"short axes are not left out", arange(1200).reshape({2, 600}),
       "[[0.000e+00 1.000e+00 2.000e+00 ... 5.970e+02 5.980e+02 5.990e+02]\n"
       " [6.000e+02 6.010e+02 6.020e+02 ... 1.197e+03 1.198e+03 1.199e+03]]"},
      {"one number", scalar(2), "2.0"},
      {"one fraction", scalar(0.1), "0.1"},
      {"one fraction in f64", scalar(-1 / 3., DType::f64), "-0.3333333333333333"},
      {"one large number", scalar(1e20), "1e+20"},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    CHECK(to_string(c.tensor) == c.text);
  }
}

TEST_CASE("1000 elements are all shown") {
  std::string text = to_string(arange(1000));
  CHECK(text.find("...") == std::string::npos);
  CHECK(text.find("500.") != std::string::npos);
}

TEST_CASE("tensors without elements name their shape") {
  CHECK(to_string(Tensor()) == "[]");
  CHECK(to_string(zeros({2, 0})) == "[] of shape [2, 0]");
}

TEST_CASE("fmt prints tensors and shapes") {
  CHECK(fmt::format("x = {}, {}", tensor({1, 2}), Shape{1, 2}) == "x = [1. 2.], [1, 2]");
}

}  // namespace
}  // namespace regrad
