#include "function_rows.h"

namespace regrad::testing {

std::vector<Row> losses_rows() {
  const std::vector<std::int32_t> labels{1, 0, 2, 2, 99, -7, 4, 99, 99, 99, 99, 99};
  const Ids sequences(labels, {4, 3});
  const Tensor weights = random({5}, 0, 2);
  const auto log_p = [](const Var& x) { return log_softmax(x); };
  return {
      {"cross_entropy",
       {random({3, 4})},
       [](auto x) {
         return cross_entropy(x[0], Ids{3, 0, 1});
       },
       false},
      {"cross_entropy smoothed",
       {random({4, 3, 5})},
       [=](auto x) { return cross_entropy(x[0], sequences, uneven, {.label_smoothing = 0.2}); },
       false},
      {"cross_entropy sum",
       {random({4, 3, 5})},
       [=](auto x) { return cross_entropy(x[0], sequences, uneven, {.mean = false}); },
       false},
      {"cross_entropy weighted",
       {random({4, 3, 5})},
       [=](auto x) {
         return cross_entropy(
             x[0], sequences, uneven,
             {.label_smoothing = 0.1, .ignore_index = 2, .class_weights = weights});
       },
       false},
      {"nll",
       {random({3, 4})},
       [=](auto x) {
         return nll(log_p(x[0]), Ids{3, 0, 1});
       }},
      {"nll sum",
       {random({4, 3, 5})},
       [=](auto x) { return nll(log_p(x[0]), sequences, uneven, {.mean = false}); }},
      {"nll weighted",
       {random({4, 3, 5})},
       [=](auto x) {
         return square(nll(x[0], sequences, uneven, {.ignore_index = 2, .class_weights = weights}));
       }},
      {"mse", {random({2, 3}), random({2, 3})}, [](auto x) { return mse(x[0], x[1]); }},
      {"mse of sequences",
       {random({4, 3, 2}), random({4, 3, 2})},
       [](auto x) { return square(mse(x[0], x[1], uneven)); }},
      {"smooth_l1",  // within β and beyond
       {tensor({0.1, -0.7, 2.5, -3}, DType::f64), tensor({0.3, 0, 0.5, 0}, DType::f64)},
       [](auto x) { return square(smooth_l1(x[0], x[1])); }},
      {"smooth_l1 of sequences",
       {random({4, 3, 1}, 2, 3), random({4, 3, 1}, 0, 1)},
       [](auto x) { return square(smooth_l1(x[0], x[1], uneven, {.beta = 0.5, .mean = false})); }},
      {"smooth_l1 beta 0",
       {random({3}, 1, 2), random({3}, -2, -1)},
       [](auto x) { return square(smooth_l1(x[0], x[1], {.beta = 0})); }},
      {"bce_with_logits",
       {random({2, 3}), random({2, 3}, 0.1, 0.9)},
       [](auto x) { return bce_with_logits(x[0], x[1]); }},
      {"bce_with_logits of sequences",
       {random({4, 3, 2}), random({4, 3, 2}, 0.1, 0.9)},
       [=](auto x) {
         return bce_with_logits(x[0], x[1], uneven,
                                {.mean = false, .pos_weight = tensor({0.5, 3}, DType::f64)});
       }},
      {"kl_div",
       {random({2, 5}), random({2, 5}, 0.1, 1)},
       [=](auto x) { return kl_div(log_p(x[0]), x[1]); }},
      {"kl_div of sequences",
       {random({4, 3, 5}), random({4, 3, 5}, 0.1, 1)},
       [=](auto x) { return kl_div(log_p(x[0]), x[1], uneven, {.mean = false}); }},
      {"kl_div log_target",
       {random({4, 3, 2}), random({4, 3, 2})},
       [=](auto x) { return kl_div(log_p(x[0]), log_p(x[1]), uneven, {.log_target = true}); }},
  };
}

}  // namespace regrad::testing
