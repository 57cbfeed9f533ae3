#include <functional>

#include <doctest/doctest.h>

#include "autograd/tape.h"
#include "nn/composed_heads.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::difference;
using testing::with_padding;
using Function = std::function<HeadsOutput(const std::vector<Var>&)>;

// Values and gradients, through random projections of context and weights.
std::vector<Tensor> results_of(const Function& f, const std::vector<Tensor>& inputs) {
  Tape tape;
  std::vector<Var> leaves;
  for (const Tensor& input : inputs) leaves.push_back(tape.variable(input));
  const HeadsOutput y = f(leaves);
  Rng rng(3);
  const auto projected = [&](const Var& x) {
    return sum(x * Var(normal(x.shape(), 0, 1, rng, x.dtype())));
  };
  std::vector<Tensor> results{y.context.value(), y.weights.value()};
  const Gradients gradients = tape.backward(projected(y.context) + projected(y.weights));
  for (const Var& leaf : leaves) results.push_back(gradients[leaf]);
  return results;
}

}  // namespace

TEST_CASE("fused attention of many heads equals the composed one") {
  Rng rng(1);
  for (const Lengths& lengths : {Lengths({4, 2, 3}, 4), Lengths({0, 3, 1}, 3), Lengths({5}, 5),
                                 Lengths({1}, 1), Lengths({0}, 2)}) {
    for (const Index queries : {Index{1}, lengths.time(), lengths.time() + 2}) {
      for (const Index heads : {1, 2}) {
        for (const bool causal : {false, true}) {
          CAPTURE(causal);
          const auto draw = [&](Index time, Index size) {
            return normal({time, lengths.batch(), size}, 0, 1, rng, DType::f64);
          };
          const std::vector<Tensor> inputs{draw(queries, 6),
                                           with_padding(draw(lengths.time(), 6), lengths, 1e3),
                                           with_padding(draw(lengths.time(), 4), lengths, 1e3)};
          const auto fused = results_of(
              [&](const std::vector<Var>& x) {
                return scaled_dot_product_attention(x[0], x[1], x[2], heads, lengths,
                                                    {.causal = causal});
              },
              inputs);
          const auto batch_first = results_of(
              [&](const std::vector<Var>& x) {
                return scaled_dot_product_attention(
                    x[0], transpose(x[1], 0, 1), transpose(x[2], 0, 1), heads, lengths,
                    {.causal = causal, .order = KeyOrder::batch_first});
              },
              inputs);
          const auto composed = results_of(
              [&](const std::vector<Var>& x) {
                return scaled_dot_product_attention_composed(x[0], x[1], x[2], heads, lengths,
                                                             causal);
              },
              inputs);
          for (std::size_t i = 0; i < composed.size(); ++i) {
            CAPTURE(i);
            CHECK(difference(fused[i], composed[i]) < 1e-12);
            CHECK(difference(batch_first[i], composed[i]) < 1e-12);
          }
        }
      }
    }
  }
}

}  // namespace regrad
