#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/tape.h"
#include "examples/seq2seq/recurrent_model.h"
#include "nn/optimizer.h"

using namespace regrad;
using namespace regrad::seq2seq;

namespace {

Batch batch_of(Index sentences, Index length) {
  Rng rng(2);
  std::vector<Example> examples;
  std::vector<std::size_t> all;
  for (Index i = 0; i < sentences; ++i) {
    Example example;
    for (Index t = 0; t < length; ++t) {
      example.source.push_back(4 + static_cast<std::int32_t>(rng.below(20)));
      example.target.push_back(4 + static_cast<std::int32_t>(rng.below(20)));
    }
    all.push_back(examples.size());
    examples.push_back(example);
  }
  return make_batch(examples, all);
}

}  // namespace

// Other programs may take the processor between two measurements, so the best of a few counts.
TEST_CASE("the summary of a training step accounts for nearly all of its time") {
  Rng rng(1);
  const RecurrentModel model(24, 24, Config(), rng);
  const Batch batch = batch_of(32, 10);
  Adam adam(parameters(model), {});
  double best = 0;
  std::string table;
  for (int step = 0; step < 8; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    Tape tape{{.profile = true}};
    const Var loss =
        cross_entropy(model(batch, &rng).logits, batch.target_out, batch.target_lengths);
    const Gradients gradients = tape.backward(loss);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    const TapeSummary summary = tape.summary();
    CHECK(summary.forward + summary.backward <= wall.count());
    best = std::max(best, (summary.forward + summary.backward) / wall.count());
    table = summary.to_string();
    adam.step(clip_norm(gradients, 1));
  }
  INFO(table);
  MESSAGE("accounted for: ", best);
  CHECK(best >= 0.95);
}
