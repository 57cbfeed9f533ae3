// What fusing saves: forward and backward of a function on a tape, beside its composed twin.
#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/composed.h"
#include "nn/composed_heads.h"
#include "tests/benchmarks/kernels.h"

using namespace regrad;

namespace bench {
namespace {

// f makes a value from `leaves`, which is differentiated by all of them.
template <class F>
void add_recorded(const std::string& name, const std::vector<Tensor>& leaves, F f) {
  add("recorded/" + name, 1, [leaves, f] {
    Tape tape;
    std::vector<Var> inputs;
    for (const Tensor& leaf : leaves) inputs.push_back(tape.variable(leaf));
    return tape.backward(sum(f(inputs))).entries().size();
  });
}

using Inputs = std::vector<Var>;

void add_pointwise() {
  const Tensor x = random({1280, 512}), weight = random({512}), bias = random({512});
  add_recorded("layer_norm/fused", {x, weight, bias},
               [](const Inputs& in) { return layer_norm(in[0], in[1], in[2]); });
  add_recorded("layer_norm/composed", {x, weight, bias},
               [](const Inputs& in) { return layer_norm_composed(in[0], in[1], in[2]); });
  const Tensor logits = random({20, 64, 1000});
  const Ids labels({20, 64}, 1);
  const Lengths lengths = Lengths::full(20, 64);
  add_recorded("cross_entropy/fused", {logits},
               [=](const Inputs& in) { return cross_entropy(in[0], labels, lengths); });
  add_recorded("cross_entropy/composed", {logits},
               [=](const Inputs& in) { return cross_entropy_composed(in[0], labels, lengths); });
}

// Of uneven lengths: 19 to 50 words.
void add_heads() {
  std::vector<std::int32_t> sizes;
  for (std::int32_t b = 0; b < 32; ++b) sizes.push_back(19 + b);
  const Lengths lengths(sizes, 50);
  const Tensor x = random({50, 32, 256});
  add_recorded("heads/fused", {x, x, x}, [=](const Inputs& in) {
    return scaled_dot_product_attention(in[0], in[1], in[2], 4, lengths, {.causal = true}).context;
  });
  add_recorded("heads/composed", {x, x, x}, [=](const Inputs& in) {
    return scaled_dot_product_attention_composed(in[0], in[1], in[2], 4, lengths, true).context;
  });
}

void add_score() {
  const Tensor query = random({64, 256}), keys = random({20, 64, 256}), v = random({256});
  const Lengths lengths = Lengths::full(20, 64);
  add_recorded("additive_score/fused", {query, keys, v},
               [=](const Inputs& in) { return additive_score(in[0], in[1], in[2], lengths); });
  add_recorded("additive_score/composed", {query, keys, v}, [=](const Inputs& in) {
    return additive_score_composed(in[0], in[1], in[2], lengths);
  });
}

constexpr Index time_steps = 30, batch = 64, hidden = 128;

// f takes the gates' part from the input, h0, weight and bias.
template <class Fused, class Composed>
void add_sequence(const std::string& name, Index blocks, const Fused& fused,
                  const Composed& composed) {
  const std::vector<Tensor> leaves{random({time_steps, batch, blocks * hidden}),
                                   random({batch, hidden}), random({blocks * hidden, hidden}),
                                   random({blocks * hidden})};
  add_recorded(name + "/fused", leaves, fused);
  add_recorded(name + "/composed", leaves, composed);
}

void add_sequences() {
  const Lengths lengths = Lengths::full(time_steps, batch);
  const Direction forward = Direction::forward;
  add_sequence(
      "rnn", 1, [=](const Inputs& in) { return rnn(in[0], in[1], in[2], in[3], lengths, forward); },
      [=](const Inputs& in) { return rnn_composed(in[0], in[1], in[2], in[3], lengths, forward); });
  add_sequence(
      "gru", 3, [=](const Inputs& in) { return gru(in[0], in[1], in[2], in[3], lengths, forward); },
      [=](const Inputs& in) { return gru_composed(in[0], in[1], in[2], in[3], lengths, forward); });
  add_sequence(
      "lstm", 4,
      [=](const Inputs& in) {
        return lstm(in[0], in[1], in[1], in[2], in[3], lengths, forward)[0];
      },
      [=](const Inputs& in) {
        return lstm_composed(in[0], in[1], in[1], in[2], in[3], lengths, forward)[0];
      });
}

}  // namespace

void add_fused() {
  add_pointwise();
  add_score();
  add_sequences();
  add_heads();
}

}  // namespace bench
