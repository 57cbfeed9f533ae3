#include "function_rows.h"

namespace regrad::testing {

std::vector<Row> self_attention_rows() {
  return {
      {"head_scores",
       {random({2, 3, 4}), random({4, 3, 4})},
       [](auto x) { return head_scores(x[0], x[1], 2, uneven); }},
      {"head_sums",
       {random({3, 2, 2, 4}), random({4, 3, 6})},
       [](auto x) { return head_sums(x[0], x[1], uneven); }},
      {"head_spread",
       {random({3, 2, 2, 4}), random({2, 3, 4})},
       [](auto x) { return head_spread(x[0], x[1], uneven); }},
      {"head_scores batch first",
       {random({2, 3, 4}), random({3, 4, 4})},
       [](auto x) { return head_scores(x[0], x[1], 2, uneven, KeyOrder::batch_first); }},
      {"head_sums batch first",
       {random({3, 2, 2, 4}), random({3, 4, 6})},
       [](auto x) { return head_sums(x[0], x[1], uneven, KeyOrder::batch_first); }},
      {"head_spread batch first",
       {random({3, 2, 2, 4}), random({2, 3, 4})},
       [](auto x) { return head_spread(x[0], x[1], uneven, KeyOrder::batch_first); }},
      {"head_weights batch first",
       {random({2, 3, 4}), random({3, 4, 4})},
       [](auto x) { return head_weights(x[0], x[1], 2, uneven, true, KeyOrder::batch_first); },
       false},
      {"head_weights",
       {random({2, 3, 4}), random({4, 3, 4})},
       [](auto x) { return head_weights(x[0], x[1], 2, uneven); },
       false},
      {"head_weights causal",
       {random({4, 3, 4}), random({4, 3, 4})},
       [](auto x) { return head_weights(x[0], x[1], 2, uneven, true); },
       false},
      {"head_weights more queries",  // the first of them see nothing
       {random({6, 3, 3}), random({4, 3, 3})},
       [](auto x) { return head_weights(x[0], x[1], 1, uneven, true); },
       false},
      {"scaled_dot_product_attention",
       {random({3, 3, 4}), random({4, 3, 4}), random({4, 3, 6})},
       [](auto x) {
         const auto y = scaled_dot_product_attention(x[0], x[1], x[2], 2, uneven, {.causal = true});
         return concat({reshape(y.context, {-1}), reshape(y.weights, {-1})}, 0);
       },
       false},
      {"scaled_dot_product_attention dropout",
       {random({3, 3, 4}), random({4, 3, 4}), random({4, 3, 4})},
       [](auto x) {
         Rng rng(3);
         return scaled_dot_product_attention(x[0], x[1], x[2], 2, uneven,
                                             {.dropout = 0.4, .rng = &rng})
             .context;
       },
       false},
  };
}

}  // namespace regrad::testing
