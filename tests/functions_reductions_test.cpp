#include "gradient_of.h"

using namespace regrad;
using namespace regrad::testing;

namespace {

using Axes = std::initializer_list<int>;
struct Reduction {
  const char* name;
  Var (*f)(const Var& x, Axes axes, bool keep_dims);
};

Var variance_of(const Var& x, Axes axes, bool keep_dims) { return variance(x, axes, keep_dims); }
Var deviation_of(const Var& x, Axes axes, bool keep_dims) {
  return standard_deviation(x, axes, keep_dims);
}

const Reduction reductions[] = {{"sum", sum},
                                {"prod", prod},
                                {"mean", mean},
                                {"max", max},
                                {"min", min},
                                {"norm", norm},
                                {"logsumexp", logsumexp},
                                {"variance", variance_of},
                                {"standard_deviation", deviation_of}};

// Over one list of numbers.
double naive(const std::string& name, const std::vector<double>& x) {
  double n = static_cast<double>(x.size()), sum = 0, prod = 1, high = -inf, low = inf, squares = 0;
  double exponentials = 0, spread = 0;
  for (double v : x) {
    sum += v;
    prod *= v;
    high = std::max(high, v);
    low = std::min(low, v);
    squares += v * v;
    exponentials += std::exp(v);
  }
  for (double v : x) spread += (v - sum / n) * (v - sum / n) / (n - 1);
  if (name == "sum") return sum;
  if (name == "prod") return prod;
  if (name == "mean") return sum / n;
  if (name == "max") return high;
  if (name == "min") return low;
  if (name == "norm") return std::sqrt(squares);
  if (name == "logsumexp") return std::log(exponentials);
  return name == "variance" ? spread : std::sqrt(spread);
}

// Element (i, j, k) of x goes to the list of what remains of its index.
std::vector<double> naive(const std::string& name, const Tensor& x, const std::vector<bool>& goes) {
  Shape shape = x.shape();
  std::vector<std::vector<double>> lists;
  for (Index i = 0; i < shape[0]; ++i) {
    for (Index j = 0; j < shape[1]; ++j) {
      for (Index k = 0; k < shape[2]; ++k) {
        Index at = goes[0] ? 0 : i;
        at = goes[1] ? at : at * shape[1] + j;
        at = goes[2] ? at : at * shape[2] + k;
        lists.resize(std::max(lists.size(), static_cast<std::size_t>(at) + 1));
        lists[static_cast<std::size_t>(at)].push_back(x.at({i, j, k}));
      }
    }
  }
  std::vector<double> results;
  for (auto& list : lists) results.push_back(naive(name, list));
  return results;
}

}  // namespace

TEST_CASE("every reduction over every set of axes") {
  Rng rng(2);
  for (DType dtype : both_types) {
    Tensor x = normal({3, 4, 5}, 0, 1, rng, dtype);
    for (const Reduction& r : reductions) {
      INFO(r.name << " of " << to_string(dtype));
      auto check = [&](Axes axes, bool keep, const Shape& shape) {
        std::vector<bool> goes(3, axes.size() == 0);
        for (int axis : axes) goes[static_cast<std::size_t>((axis + 3) % 3)] = true;
        check_values(r.f(x, axes, keep), shape, naive(r.name, x, goes),
                     dtype == DType::f32 ? 2e-5 : 1e-13);
      };
      check({}, false, {});
      check({}, true, {1, 1, 1});
      check({0}, false, {4, 5});
      check({1}, false, {3, 5});
      check({2}, true, {3, 4, 1});
      check({0, 1}, false, {5});
      check({1, -1}, false, {3});
      check({2, 0}, true, {1, 4, 1});
      check({-1, -3}, false, {4});
      check({2, 1, 0}, false, {});
    }
  }
}

TEST_CASE("a number is reduced over all of its no axes") {
  for (const Reduction& r : reductions) {
    INFO(r.name);
    if (r.f == variance_of || r.f == deviation_of) continue;
    check_values(r.f(scalar(-3), {}, false), {}, {r.f == norm ? 3. : -3.});
  }
}

TEST_CASE("reductions of nothing") {
  Tensor none = zeros({2, 0});
  check_values(sum(none, {1}), {2}, {0, 0});
  check_values(prod(none, {1}, true), {2, 1}, {1, 1});
  check_values(prod(none), {}, {1});
  check_values(norm(none, {1}), {2}, {0, 0});
  check_values(logsumexp(none, {1}), {2}, {-inf, -inf});
  CHECK(gradient_of([](const Var& x) { return sum(x) + prod(x) + norm(x); }, none).empty());
  for (const Reduction& r : reductions) {  // over two elements each, of which there are none
    INFO(r.name);
    CHECK(r.f(none, {0}, false).shape() == Shape{0});
  }
  for (const Reduction& r : reductions) {
    if (r.f != mean && r.f != max && r.f != min) continue;
    std::string message =
        std::string(r.name) + ": shape [2, 0] has nothing to reduce along the axes";
    CHECK_THROWS_WITH_AS(r.f(none, {-1}, false), message.c_str(), Error);
  }
}

TEST_CASE("ties of max and min share the gradient, and a NaN is not lost") {
  Tensor x = tensor({{3, 1, 3, 3}, {2, 2, 2, 2}, {0, -1, 5, 4}});
  check_values(gradient_of([](const Var& v) { return max(v, {1}); }, x),
               {1. / 3, 0, 1. / 3, 1. / 3, 0.25, 0.25, 0.25, 0.25, 0, 0, 1, 0});
  check_values(gradient_of([](const Var& v) { return min(v, {0}); }, x),
               {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0});
  for (DType dtype : both_types) {
    Tensor y = tensor({{NAN, 1, inf}, {2, NAN, -inf}, {0, 1, 2}}, dtype);
    check_values(max(y, {1}), {3}, {NAN, NAN, 2});
    check_values(min(y, {0}), {3}, {NAN, NAN, -inf});
    check_values(max(slice(y, 1, 2), {0}), {1}, {inf});
  }
}

TEST_CASE("a product's gradient with zeros") {
  Tensor x = tensor({{2, 3, 4}, {2, 0, 4}, {0, 3, 0}});
  check_values(prod(x, {1}), {3}, {24, 0, 0});
  check_values(gradient_of([](const Var& v) { return prod(v, {1}); }, x),
               {12, 8, 6, 0, 8, 0, 0, 0, 0});
}

TEST_CASE("a norm of numbers whose squares are none") {
  for (DType dtype : both_types) {
    double large = dtype == DType::f32 ? 1e30 : 1e200, small = 1 / large;
    Tensor x = tensor({{3 * large, 4 * large}, {3 * small, -4 * small}, {0, 0}, {inf, 1}}, dtype);
    auto rows = [](const Var& v) { return norm(v, {1}); };
    check_values(rows(x), {4}, {5 * large, 5 * small, 0, inf});
    check_values(gradient_of(rows, x), {0.6, 0.8, 0.6, -0.8, 0, 0, NAN, 0});
    check_values(norm(tensor({1, NAN}, dtype)), {}, {NAN});
  }
}

TEST_CASE("a standard deviation of numbers whose squares are none") {
  auto rows = [](const Var& v) { return standard_deviation(v, {1}); };
  for (DType dtype : both_types) {
    double large = dtype == DType::f32 ? 1e30 : 1e200, small = 1 / large;
    Tensor x = tensor({{large, 2 * large, 6 * large},
                       {small, 2 * small, 6 * small},
                       {0, 0, 0},
                       {1, 2, 6},
                       {inf, 1, 2},
                       {NAN, 1, 2}},
                      dtype);
    const double root = std::sqrt(7.), low = -1 / root, middle = -0.5 / root, high = 1.5 / root;
    check_values(rows(x), {6}, {root * large, root * small, 0, root, NAN, NAN});
    check_values(gradient_of(rows, slice(x, 0, 0, 4).value()),
                 {low, middle, high, low, middle, high, 0, 0, 0, low, middle, high});
    double most = dtype == DType::f32 ? 3e38 : 1.7e308,
           least = dtype == DType::f32 ? 1e-44 : 5e-323;
    Tensor edges = tensor({{most, most, most / 2}, {least, 0, -least}}, dtype);
    check_values(rows(edges), {2}, {most / 2 / std::sqrt(3), edges.at({1, 0})});
  }
}

TEST_CASE("no variance is negative") {
  for (DType dtype : both_types) {
    for (Index n = 2; n < 40; ++n) {
      for (double value : {0.1, 0.7, -1.3, 1e5 / 3}) {
        CHECK(variance(full({n}, value, dtype)).item() >= 0);
        CHECK(standard_deviation(full({n}, value, dtype)).item() < 1e-6 * std::abs(value));
      }
    }
  }
}

TEST_CASE("a variance far from 0, of equal numbers, and with another correction") {
  for (DType dtype : both_types) {
    Tensor x = tensor({4097, 4098, 4099, 4102}, dtype);
    check_values(variance(x), {}, {14. / 3});
    check_values(variance(x, {}, false, 0), {}, {3.5});
    check_values(standard_deviation(x, {0}, true, 2), {1}, {std::sqrt(7.)});
    Tensor equal = full({3}, 0.1, dtype);
    auto deviation = [](const Var& v) { return standard_deviation(v); };
    CHECK(deviation(equal).item() < 1e-8);
    check_values(gradient_of(deviation, tensor({2, 2, 2}, dtype)), {0, 0, 0});
  }
  CHECK_THROWS_WITH_AS(variance(ones({2, 1}), {1}),
                       "variance: shape [2, 1] has 1 elements per result, too few for a correction "
                       "of 1",
                       Error);
  CHECK_THROWS_WITH_AS(standard_deviation(ones({2}), {}, false, NAN),
                       "standard_deviation: shape [2] has 2 elements per result, too few for a "
                       "correction of nan",
                       Error);
}

TEST_CASE("logsumexp at extremes, its gradient too") {
  for (DType dtype : both_types) {
    Tensor x = tensor({{1e4, 1e4}, {-1e4, -1e4}, {-inf, -inf}, {1e4, -1e4}, {-inf, 2}}, dtype);
    auto rows = [](const Var& v) { return logsumexp(v, {1}); };
    double log2 = std::log(2.);
    check_values(rows(x), {5}, {1e4 + log2, -1e4 + log2, -inf, 1e4, 2});
    check_values(gradient_of(rows, x), {0.5, 0.5, 0.5, 0.5, 0, 0, 1, 0, 0, 1});
  }
}

TEST_CASE("cumsum along each axis and from the end") {
  Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  check_values(cumsum(x, 1), {2, 3}, {1, 3, 6, 4, 9, 15});
  check_values(cumsum(x, -2), {2, 3}, {1, 2, 3, 5, 7, 9});
  check_values(cumsum(x, 1, true), {2, 3}, {6, 5, 3, 15, 11, 6});
  check_values(cumsum(x, 0, true), {2, 3}, {5, 7, 9, 4, 5, 6});
  CHECK(cumsum(zeros({2, 0}), 1).shape() == Shape{2, 0});
  CHECK_THROWS_AS(cumsum(x, 2), Error);
}

TEST_CASE("argmax and topk: the first of equals, a NaN before all") {
  Tensor x = tensor({{1, 3, 3, 2}, {NAN, 5, NAN, 7}, {-inf, -inf, -inf, -inf}});
  auto values = [](const Ids& ids) { return std::vector<std::int32_t>(ids.begin(), ids.end()); };
  CHECK(values(argmax(x)) == std::vector<std::int32_t>{1, 0, 0});
  CHECK(values(argmax(x, 0)) == std::vector<std::int32_t>{1, 1, 1, 1});
  CHECK(argmax(zeros({2, 3, 4}), 1).shape() == Shape{2, 4});
  TopK two = topk(x, 2);
  CHECK(two.indices.shape() == Shape{3, 2});
  CHECK(values(two.indices) == std::vector<std::int32_t>{1, 2, 0, 2, 0, 1});
  check_values(two.values, {3, 2}, {3, 3, NAN, NAN, -inf, -inf});
  TopK column = topk(x, 3, 0);
  CHECK(values(column.indices) == std::vector<std::int32_t>{1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2});
  CHECK(topk(x, 0).values.shape() == Shape{3, 0});
  check_values(gradient_of([](const Var& v) { return topk(v, 2, 0).values; }, x),
               {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0});
  CHECK_THROWS_WITH_AS(topk(x, 5), "topk: 5 entries of axis 1 of shape [3, 4], which has 4", Error);
  CHECK_THROWS_AS(topk(x, -1), Error);
  CHECK_THROWS_WITH_AS(argmax(zeros({2, 0})), "argmax: axis 1 of shape [2, 0] is empty", Error);
}

TEST_CASE("axes that are not there or named twice") {
  CHECK_THROWS_WITH_AS(sum(zeros({2, 3}), {2}), "sum: axis 2 does not exist in shape [2, 3]",
                       Error);
  CHECK_THROWS_WITH_AS(max(zeros({2, 3}), {1, -1}), "max: axis -1 of shape [2, 3] is named twice",
                       Error);
}
