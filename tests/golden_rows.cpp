#include "function_rows.h"

namespace regrad::testing {

namespace {

Ids rounded(const Var& x) {
  const std::vector<double> values = x.value().to_vector();
  return Ids(std::vector<std::int32_t>(values.begin(), values.end()), x.shape());
}

Var numbers(const Ids& ids, DType dtype) {
  const std::vector<double> values(ids.begin(), ids.end());
  return tensor(values, ids.shape(), dtype);
}

void append(std::vector<Row>& rows, std::vector<Row> more) {
  for (Row& row : more) rows.push_back(std::move(row));
}

std::vector<Row> comparisons() {
  return {
      {"greater", {}, [](auto x) { return greater(x[0], x[1]); }},
      {"greater_equal", {}, [](auto x) { return greater_equal(x[0], x[1]); }},
      {"less", {}, [](auto x) { return less(x[0], x[1]); }},
      {"less_equal", {}, [](auto x) { return less_equal(x[0], x[1]); }},
      {"equal", {}, [](auto x) { return equal(x[0], x[1]); }},
      {"not_equal", {}, [](auto x) { return not_equal(x[0], x[1]); }},
      {"argmax", {}, [](auto x) { return numbers(argmax(x[0]), x[0].dtype()); }},
      {"argmax of axis 0", {}, [](auto x) { return numbers(argmax(x[0], 0), x[0].dtype()); }},
      {"topk indices", {}, [](auto x) { return numbers(topk(x[0], 3).indices, x[0].dtype()); }},
      {"one_hot", {}, [](auto x) { return one_hot(rounded(x[0]), 4, x[0].dtype()); }},
  };
}

std::vector<Row> reductions() {
  return {
      {"sum all", {}, [](auto x) { return sum(x[0]); }},
      {"sum rows", {}, [](auto x) { return sum(x[0], {-1}); }},
      {"sum kept",
       {},
       [](auto x) {
         return sum(x[0], {0, -1}, true);
       }},
      {"mean all", {}, [](auto x) { return mean(x[0]); }},
      {"mean rows", {}, [](auto x) { return mean(x[0], {-1}, true); }},
      {"prod all", {}, [](auto x) { return prod(x[0]); }},
      {"prod rows", {}, [](auto x) { return prod(x[0], {-1}); }},
      {"max rows", {}, [](auto x) { return max(x[0], {-1}); }},
      {"max kept",
       {},
       [](auto x) {
         return max(x[0], {0, 1}, true);
       }},
      {"min rows", {}, [](auto x) { return min(x[0], {-1}); }},
      {"variance rows", {}, [](auto x) { return variance(x[0], {-1}); }},
      {"variance biased",
       {},
       [](auto x) {
         return variance(x[0], {0, 1}, true, 0);
       }},
      {"standard_deviation rows", {}, [](auto x) { return standard_deviation(x[0], {-1}); }},
      {"norm rows", {}, [](auto x) { return norm(x[0], {-1}); }},
      {"norm all", {}, [](auto x) { return norm(x[0]); }},
      {"logsumexp rows", {}, [](auto x) { return logsumexp(x[0], {-1}); }},
      {"logsumexp kept",
       {},
       [](auto x) {
         return logsumexp(x[0], {0, 1}, true);
       }},
  };
}

std::vector<Row> losses() {
  const std::vector<std::int32_t> labels{1, 0, 2, 2, 99, -7, 4, 99, 99, 99, 99, 99};
  const Ids sequences(labels, {4, 3});
  const Tensor weights = tensor({0.5, 2, 0, 1, 3}, DType::f64);
  const auto entropy = [=](const CrossEntropyOptions& options) {
    return [=](auto x) { return cross_entropy(x[0], sequences, uneven, options); };
  };
  const auto likelihood = [=](const NllOptions& options) {
    return [=](auto x) { return nll(x[0], sequences, uneven, options); };
  };
  const Tensor sure = tensor({{0, 1, 0}, {0.5, 0.5, 0}}, DType::f64);
  return {
      {"cross_entropy of lengths", {}, entropy({})},
      {"cross_entropy of lengths, sum", {}, entropy({.mean = false})},
      {"cross_entropy of lengths, smoothed", {}, entropy({.label_smoothing = 0.2})},
      {"cross_entropy of lengths, weighted",
       {},
       entropy({.label_smoothing = 0.1, .class_weights = weights})},
      {"nll of lengths, sum", {}, likelihood({.mean = false})},
      {"nll of lengths, weighted", {}, likelihood({.class_weights = weights})},
      {"kl_div of a sure target", {}, [=](auto x) { return kl_div(x[0], sure); }},
  };
}

}  // namespace

std::vector<Row> golden_rows() {
  std::vector<Row> rows = comparisons();
  append(rows, reductions());
  append(rows, losses());
  return rows;
}

}  // namespace regrad::testing
