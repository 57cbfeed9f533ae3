#include "examples/seq2seq/model.h"

#include <utility>

namespace regrad::seq2seq {
namespace {

RecurrentOptions encoder_options(const Config& config) {
  return {.layers = config.layers,
          .bidirectional = true,
          .dropout = config.layers > 1 ? config.dropout : 0};
}

Index annotation_size(const Config& config) { return 2 * config.hidden; }

// The dot product compares states with annotations as they are.
Index state_size(const Config& config) {
  return config.attention == "dot" ? annotation_size(config) : config.hidden;
}

// Finite, so that no difference of logits is a NaN.
constexpr double never = -1e30;

// [V]: keeps <pad>, <unk> and <bos>, which no text contains, out of what is decoded.
Tensor forbidden(Index vocabulary, DType dtype) {
  std::vector<double> shift(static_cast<std::size_t>(vocabulary), 0);
  for (const Id id : {Vocabulary::pad, Vocabulary::unk, Vocabulary::bos}) shift.at(id) = never;
  return tensor(shift, {vocabulary}, dtype);
}

}  // namespace

Encoder::Encoder(Index vocabulary, const Config& config, Rng& rng, DType dtype)
    : embedding(vocabulary, config.embedding, rng, dtype),
      dropout(config.dropout),
      gru(config.embedding, config.hidden, rng, dtype, encoder_options(config)) {}

Encoded Encoder::operator()(const Ids& source, const Lengths& lengths, Rng* rng) const {
  const RecurrentOutput states = gru(dropout(embedding(source, lengths), rng), lengths, rng);
  return {states.outputs, select(states.final[0], 0, -1), lengths};
}

void Encoder::visit(Visitor& visitor) const {
  visitor("embedding", embedding);
  visitor("gru", gru);
}

Decoder::Decoder(Index vocabulary, const Config& config, Rng& rng, DType dtype)
    : embedding(vocabulary, config.embedding, rng, dtype),
      dropout(config.dropout),
      initial(config.hidden, state_size(config), rng, dtype),
      attention(std::make_unique<Attention>(config.attention, "soft",
                                            AttentionOptions{.query_size = state_size(config),
                                                             .key_size = annotation_size(config),
                                                             .attention_size = config.hidden},
                                            rng, dtype)),
      cell(config.embedding + annotation_size(config), state_size(config), rng, dtype),
      output(state_size(config) + annotation_size(config) + config.embedding, vocabulary, rng,
             dtype) {}

// W_ih [y; c] = W_y y + W_c c, so that W_y y needs no loop.
struct Decoder::Prepared {
  AttentionMemory memory;
  AttentionState start;  // softmax weights need no more of the steps before
  Var token_weight;      // W_y [3D, E]
  Var context_weight;    // W_c [3D, 2H]
};

struct Decoder::Step {
  Var state;    // [B, D]
  Var context;  // [B, 2H]
  Var weights;  // [B, S]
};

Decoder::Prepared Decoder::prepare(const Encoded& source) const {
  const Index size = embedding.weight.shape()[1];
  const AttentionMemory memory = attention->prepare(source.annotations, source.lengths);
  return {memory, attention->start(memory), slice(cell.weight_ih, 1, 0, size),
          slice(cell.weight_ih, 1, size)};
}

// from_token [B, 3D]: W_y y + b.
Decoder::Step Decoder::advance(const Prepared& prepared, const Var& from_token,
                               const Var& state) const {
  AttentionOutput attended = (*attention)(state, prepared.memory, prepared.start);
  const Var from_input = from_token + linear(attended.context, prepared.context_weight);
  return {cell.step(from_input, state), attended.context, attended.weights};
}

Decoder::Output Decoder::operator()(const Encoded& source, const Ids& target_in,
                                    const Lengths& target_lengths, Rng* rng) const {
  const Prepared prepared = prepare(source);
  const Var tokens = dropout(embedding(target_in, target_lengths), rng);  // [T, B, E]
  const Var from_tokens = linear(tokens, prepared.token_weight, cell.bias_ih);
  std::vector<Var> states, contexts, weights;
  Var state = initial_state(source);
  for (Index t = 0; t < target_lengths.time(); ++t) {
    const Step step = advance(prepared, select(from_tokens, 0, t), state);
    state = step.state;
    states.push_back(step.state);
    contexts.push_back(step.context);
    weights.push_back(step.weights);
  }
  const Var features = concat({stack(states), stack(contexts), tokens}, 2);
  return {output(dropout(features, rng)), std::move(weights)};
}

Var Decoder::initial_state(const Encoded& source) const { return tanh(initial(source.backward)); }

DecoderStep Decoder::stepper(const Encoded& source) const {
  const Var shift = forbidden(output.weight.shape()[0], output.weight.value().dtype());
  return [this, prepared = prepare(source), shift](const Ids& previous, DecoderState& state) {
    const Var token = embedding(previous);  // [B, E]
    const Var from_token = linear(token, prepared.token_weight, cell.bias_ih);
    const Step step = advance(prepared, from_token, state[0]);
    state[0] = step.state;
    const Var logits = output(concat({step.state, step.context, token}, 1)) + shift;
    return DecoderOutput{logits, step.weights};
  };
}

void Decoder::visit(Visitor& visitor) const {
  visitor("embedding", embedding);
  visitor("initial", initial);
  visitor("attention", *attention);
  visitor("cell", cell);
  visitor("output", output);
}

Model::Model(Index source_vocabulary, Index target_vocabulary, const Config& config, Rng& rng,
             DType dtype)
    : encoder(source_vocabulary, config, rng, dtype),
      decoder(target_vocabulary, config, rng, dtype) {
  name_parameters(*this);
}

Decoder::Output Model::operator()(const Batch& batch, Rng* rng) const {
  const Encoded source = encoder(batch.source, batch.source_lengths, rng);
  return decoder(source, batch.target_in, batch.target_lengths, rng);
}

void Model::visit(Visitor& visitor) const {
  visitor("encoder", encoder);
  visitor("decoder", decoder);
}

}  // namespace regrad::seq2seq
