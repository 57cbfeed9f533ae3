#include "tests/benchmarks/rnnsearch.h"

#include "autograd/functions.h"

namespace bench {

RnnSearch::RnnSearch(const Workload& size, Rng& rng)
    : source_embedding(size.vocabulary, size.embedding, rng),
      target_embedding(size.vocabulary, size.embedding, rng),
      encoder(size.embedding, size.hidden, rng, DType::f32, {.bidirectional = true}),
      initial(size.hidden, size.hidden, rng),
      attention(
          "additive", "soft",
          {.query_size = size.hidden, .key_size = 2 * size.hidden, .attention_size = size.hidden},
          rng),
      cell(size.embedding + 2 * size.hidden, size.hidden, rng),
      output(3 * size.hidden + size.embedding, size.vocabulary, rng) {
  name_parameters(*this);
}

RnnSearch::Encoded RnnSearch::encode(const Ids& source) const {
  const Lengths lengths = Lengths::full(source.shape()[0], source.shape()[1]);
  const RecurrentOutput states = encoder(source_embedding(source), lengths);
  return {attention.prepare(states.outputs, lengths), tanh(initial(select(states.final[0], 0, 1)))};
}

// What the loop needs is gone when the logits come, the largest tensor of all.
Var RnnSearch::operator()(const Ids& source, const Ids& target_in) const {
  return output(features(source, target_in));
}

// The decoder's input matrix is split, so that only the part of the context is in the loop.
Var RnnSearch::features(const Ids& source, const Ids& target_in) const {
  const Encoded encoded = encode(source);
  const Var tokens = target_embedding(target_in);  // [T, B, E]
  const Index size = tokens.shape()[2];
  const Var token_weight = slice(cell.weight_ih, 1, 0, size);
  const Var context_weight = slice(cell.weight_ih, 1, size);
  const Var from_tokens = linear(tokens, token_weight, cell.bias_ih);
  AttentionState attended = attention.start(encoded.memory);
  Var state = encoded.state;
  std::vector<Var> states, contexts;
  for (Index t = 0; t < target_in.shape()[0]; ++t) {
    const AttentionOutput step = attention(state, encoded.memory, attended);
    attended = step.state;
    state = cell.step(select(from_tokens, 0, t) + linear(step.context, context_weight), state);
    states.push_back(state);
    contexts.push_back(step.context);
  }
  return concat({stack(states), stack(contexts), tokens}, 2);
}

MakeStep RnnSearch::make_step(const Encoded& encoded) const {
  return [this, encoded](const Ids& sentences) -> DecoderStep {
    AttentionMemory memory{take_columns(encoded.memory.keys, sentences),
                           take_columns(encoded.memory.values, sentences),
                           take_columns(encoded.memory.lengths, sentences)};
    const AttentionState start = attention.start(memory);  // additive scores do not read it
    return [this, start, memory = std::move(memory)](const Ids& previous, DecoderState& state) {
      const Var token = target_embedding(previous);
      const AttentionOutput step = attention(state[0], memory, start);
      state[0] = cell(concat({token, step.context}, 1), state[0]);
      return DecoderOutput{output(concat({state[0], step.context, token}, 1)), step.weights};
    };
  };
}

void RnnSearch::visit(Visitor& visitor) const {
  visitor("source_embedding", source_embedding);
  visitor("target_embedding", target_embedding);
  visitor("encoder", encoder);
  visitor("initial", initial);
  visitor("attention", attention);
  visitor("cell", cell);
  visitor("output", output);
}

}  // namespace bench
