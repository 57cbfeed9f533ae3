#include "function_rows.h"

namespace regrad::testing {

namespace {

const Tensor with_zeros = tensor({{0, 2, -1, 0.5}, {1.5, -0.5, 2, 3}, {0, 1, 0, -2}}, DType::f64);

// Every way to name axes: one, several, from the end, all; kept or not; of size 1.
template <class F>
std::vector<Row> over_axes(const char* name, const F& f) {
  return {
      {name, {random({2, 3})}, [f](auto x) { return f(x[0], {}, false); }},
      {name,
       {random({2, 3, 4})},
       [f](auto x) {
         return square(f(x[0], {0, -1}, false));
       }},
      {name, {random({2, 3})}, [f](auto x) { return x[0] * f(x[0], {1}, true); }},
      {name, {random({3, 2, 2})}, [f](auto x) { return square(f(x[0], {-3}, false)); }},
      {name,
       {random({2, 3, 2})},
       [f](auto x) {
         return square(f(x[0], {2, 1}, true));
       }},
      {name,
       {random({2, 1, 3})},
       [f](auto x) {
         return square(f(x[0], {1, 2}, false));
       }},
      {name, {random({1, 4})}, [f](auto x) { return square(f(x[0], {}, true)); }},
  };
}

using Axes = std::initializer_list<int>;

}  // namespace

std::vector<Row> reductions_rows() {
  std::vector<Row> rows = {
      {"sum_to", {random({2, 3})}, [](auto x) { return square(sum_to(x[0], {3})); }},
      {"expand",
       {random({2, 1})},
       [](auto x) {
         return exp(expand(x[0], {3, 2, 4}));
       }},
      {"prod of zeros", {with_zeros}, [](auto x) { return prod(x[0], {1}); }},
      {"prod of a zero", {with_zeros}, [](auto x) { return prod(slice(x[0], 0, 0, 2), {0}); }},
      {"prod of five", {random({5, 2})}, [](auto x) { return prod(x[0], {0}); }},
      {"norm of zeros and others", {with_zeros}, [](auto x) { return norm(x[0], {1}); }},
      {"logsumexp of large", {random({2, 5})}, [](auto x) { return logsumexp(x[0] + 1000); }},
      {"variance without correction",
       {random({2, 5})},
       [](auto x) { return variance(x[0], {1}, false, 0); }},
      {"standard_deviation without correction",
       {random({2, 5})},
       [](auto x) { return standard_deviation(x[0], {1}, false, 0); }},
      {"max of one", {random({2, 1})}, [](auto x) { return square(max(x[0], {1})); }},
      {"cumsum", {random({2, 3, 2})}, [](auto x) { return square(cumsum(x[0], 1)); }},
      {"cumsum from the end",
       {random({2, 4})},
       [](auto x) { return square(cumsum(x[0], -1, true)); }},
      {"topk", {random({2, 5})}, [](auto x) { return square(topk(x[0], 3).values); }},
      {"topk of axis 0", {random({5, 2})}, [](auto x) { return square(topk(x[0], 2, 0).values); }},
  };
  auto add = [&](const char* name, auto f) {
    for (Row& row : over_axes(name, f)) rows.push_back(std::move(row));
  };
  add("sum", [](const Var& x, Axes axes, bool keep) { return sum(x, axes, keep); });
  add("mean", [](const Var& x, Axes axes, bool keep) { return mean(x, axes, keep); });
  add("prod", [](const Var& x, Axes axes, bool keep) { return prod(x, axes, keep); });
  add("max", [](const Var& x, Axes axes, bool keep) { return max(x, axes, keep); });
  add("min", [](const Var& x, Axes axes, bool keep) { return min(x, axes, keep); });
  add("variance", [](const Var& x, Axes axes, bool keep) { return variance(x, axes, keep); });
  add("standard_deviation",
      [](const Var& x, Axes axes, bool keep) { return standard_deviation(x, axes, keep); });
  add("norm", [](const Var& x, Axes axes, bool keep) { return norm(x, axes, keep); });
  add("logsumexp", [](const Var& x, Axes axes, bool keep) { return logsumexp(x, axes, keep); });
  return rows;
}

}  // namespace regrad::testing
