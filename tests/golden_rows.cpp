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

// Of [T, B, ...] all is valid.
Lengths full(const Var& x) { return Lengths::full(x.shape()[0], x.shape()[1]); }

void append(std::vector<Row>& rows, std::vector<Row> more) {
  for (Row& row : more) rows.push_back(std::move(row));
}

std::vector<Row> comparisons() {
  return {
      {"where of a condition", {}, [](auto x) { return exp(where(x[0].value(), x[1], x[2])); }},
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
      {"expand to nothing",
       {},
       [](auto x) {
         return exp(expand(x[0], {3, 0, 2}));
       }},
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

// Of all sizes: ids are the last input.
std::vector<Row> movement() {
  return {
      {"gather of ids", {}, [](auto x) { return exp(gather(x[0], 1, rounded(x[1]))); }},
      {"scatter_add of ids",
       {},
       [](auto x) { return exp(scatter_add(x[0], 0, rounded(x[2]), x[1])); }},
      {"scatter_rows of ids",
       {},
       [](auto x) {
         const Shape& shape = x[0].shape();
         return exp(scatter_rows(x[0], rounded(x[1]), {3, shape[shape.rank() - 1]}));
       }},
      {"unslice of rows",
       {},
       [](auto x) {
         return exp(unslice(x[0], {x[0].shape()[0], x[0].shape()[1] + 3}, 1, 2));
       }},
      {"fold without overlap",
       {},
       [](auto x) {
         const Shape& shape = x[0].shape();
         return exp(fold(x[0], {shape[0] * shape[2], shape[1], shape[3]}, {.stride = shape[2]}));
       }},
      {"reverse full", {}, [](auto x) { return exp(reverse(x[0], full(x[0]))) * x[0]; }},
  };
}

std::vector<Row> attention() {
  return {
      {"additive_score full",
       {},
       [](auto x) { return additive_score(x[0], x[1], x[2], full(x[1])); }},
      {"dot_score full", {}, [](auto x) { return dot_score(x[0], x[1], full(x[1])); }},
      {"weighted_sum full", {}, [](auto x) { return weighted_sum(x[0], x[1], full(x[1])); }},
      {"spread full",
       {},
       [](auto x) {
         const Shape& shape = x[0].shape();
         return spread(x[0], x[1], Lengths::full(shape[1], shape[0]));
       }},
      {"monotonic_alignment full",
       {},
       [](auto x) {
         const Shape& shape = x[0].shape();
         return monotonic_alignment(x[0], x[1], Lengths::full(shape[1], shape[0]));
       }},
      {"head_scores full", {}, [](auto x) { return head_scores(x[0], x[1], 1, full(x[1])); }},
      {"head_sums full", {}, [](auto x) { return head_sums(x[0], x[1], full(x[1])); }},
      {"head_spread full",
       {},
       [](auto x) {
         const Shape& shape = x[0].shape();
         return head_spread(x[0], x[1], Lengths::full(shape[3], shape[0]));
       }},
      {"head_weights full", {}, [](auto x) { return head_weights(x[0], x[1], 1, full(x[1])); }},
      {"scaled_dot_product_attention full",
       {},
       [](auto x) {
         return scaled_dot_product_attention(x[0], x[1], x[2], 1, full(x[1])).context;
       }},
  };
}

std::vector<Row> recurrent() {
  return {
      {"rnn full",
       {},
       [](auto x) { return rnn(x[0], x[1], x[2], x[3], full(x[0]), Direction::forward); }},
      {"lstm full",
       {},
       [](auto x) {
         return lstm(x[0], x[1], x[2], x[3], x[4], full(x[0]), Direction::backward)[0];
       }},
      {"gru full",
       {},
       [](auto x) { return gru(x[0], x[1], x[2], x[3], full(x[0]), Direction::forward); }},
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
  const Tensor positive = tensor({0.5, 2}, DType::f64);
  const Tensor sure = tensor({{0, 1, 0}, {0.5, 0.5, 0}}, DType::f64);
  return {
      {"cross_entropy of ids", {}, [](auto x) { return cross_entropy(x[0], rounded(x[1])); }},
      {"cross_entropy of ids, sum",
       {},
       [](auto x) { return cross_entropy(x[0], rounded(x[1]), {.mean = false}); }},
      {"nll of ids", {}, [](auto x) { return nll(x[0], rounded(x[1])); }},
      {"nll of ids, sum", {}, [](auto x) { return nll(x[0], rounded(x[1]), {.mean = false}); }},
      {"mse sum", {}, [](auto x) { return mse(x[0], x[1], {.mean = false}); }},
      {"smooth_l1 sum", {}, [](auto x) { return smooth_l1(x[0], x[1], {.mean = false}); }},
      {"bce_with_logits sum",
       {},
       [](auto x) { return bce_with_logits(x[0], x[1], {.mean = false}); }},
      {"kl_div of log q", {}, [](auto x) { return kl_div(x[0], x[1]); }},
      {"cross_entropy of lengths", {}, entropy({})},
      {"cross_entropy of lengths, sum", {}, entropy({.mean = false})},
      {"cross_entropy of lengths, smoothed", {}, entropy({.label_smoothing = 0.2})},
      {"cross_entropy of lengths, weighted",
       {},
       entropy({.label_smoothing = 0.1, .class_weights = weights})},
      {"nll of lengths, sum", {}, likelihood({.mean = false})},
      {"nll of lengths, weighted", {}, likelihood({.class_weights = weights})},
      {"kl_div of a sure target", {}, [=](auto x) { return kl_div(x[0], sure); }},
      {"mse of lengths", {}, [](auto x) { return mse(x[0], x[1], uneven); }},
      {"smooth_l1 of lengths",
       {},
       [](auto x) { return smooth_l1(x[0], x[1], uneven, {.beta = 0.5}); }},
      {"bce_with_logits of lengths",
       {},
       [=](auto x) { return bce_with_logits(x[0], x[1], uneven, {.pos_weight = positive}); }},
      {"kl_div of lengths", {}, [](auto x) { return kl_div(x[0], x[1], uneven); }},
  };
}

}  // namespace

std::vector<Row> golden_rows() {
  std::vector<Row> rows = comparisons();
  append(rows, reductions());
  append(rows, movement());
  append(rows, losses());
  append(rows, recurrent());
  append(rows, attention());
  return rows;
}

}  // namespace regrad::testing
