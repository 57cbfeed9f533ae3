#include "examples/seq2seq/recurrent_decoder.h"

#include <utility>

namespace regrad::seq2seq {
namespace {

bool attends(const Config& config) { return config.attention != "none"; }

Index annotation_size(const Config& config) { return 2 * config.hidden; }

Index state_size(const Config& config) {
  if (config.decoder_hidden > 0) return config.decoder_hidden;
  return compares_sizes(config) ? annotation_size(config) : config.hidden;
}

bool has_context(const Config& config) {
  return attends(config) || config.fixed_vector == "each-step";
}

bool feeds(const Config& config) {
  return has_context(config) && config.alignment != "hard-marginal";
}

Index context_size(const Config& config) {
  return has_context(config) ? annotation_size(config) : 0;
}

Index fed_size(const Config& config) {
  if (!feeds(config)) return 0;
  return config.decoder == "luong" ? state_size(config) : context_size(config);
}

Index feature_size(const Config& config) {
  if (config.decoder == "luong") return state_size(config);
  return state_size(config) + context_size(config) + config.embedding;
}

std::optional<Attention> attention_of(const Config& config, Rng& rng, DType dtype) {
  if (!attends(config)) return std::nullopt;
  return Attention(config.attention, config.alignment,
                   {.query_size = state_size(config),
                    .key_size = annotation_size(config),
                    .attention_size = config.hidden,
                    .fixed_sharpening = config.fixed_sharpening,
                    .window = config.window,
                    .temperature = config.temperature},
                   rng, dtype);
}

}  // namespace

Decoder::Decoder(Index vocabulary, const Config& config, Rng& rng, DType dtype)
    : embedding(vocabulary, config.embedding, rng, dtype),
      dropout(config.dropout),
      weight_dropout(config.weight_dropout),
      initial(attends(config) ? config.hidden : annotation_size(config),
              (config.cell == "lstm" ? 2 : 1) * state_size(config), rng, dtype),
      attention(attention_of(config, rng, dtype)),
      cell(make_cell(config.cell, config.embedding + fed_size(config), state_size(config), rng,
                     dtype)),
      combination(config.decoder == "luong"
                      ? std::make_unique<Linear>(state_size(config) + context_size(config),
                                                 state_size(config), rng, dtype)
                      : nullptr),
      output(feature_size(config), embedding.weight, config.tied_embeddings, rng, dtype),
      luong_(config.decoder == "luong"),
      marginal_(config.alignment == "hard-marginal"),
      feeds_(feeds(config)),
      variational_(config.variational_dropout) {
  if (config.tied_embeddings) shrink(embedding);
}

// What all steps share. W_ih [y; c] = W_y y + W_c c, so that W_y y needs no loop.
struct Decoder::Source {
  AttentionMemory memory;  // with attention
  Var context;             // [B, 2H], without
  Var token_weight;        // W_y [G D, E]
  Var fed_weight;          // W_c [G D, ·]
  Var hidden_weight;       // W_hh, in training with dropout, [G D, D]
};

// From step to step.
struct Decoder::Carried {
  RecurrentState state;
  Var fed;  // luong: a_{t-1} [B, D]
  AttentionState attention;
};

struct Decoder::Step {
  Carried next;
  Var state;    // [B, D], or of all steps [T, B, D]; so are the others
  Var context;  // [B, 2H]; empty without
  Var weights;  // [B, S]
  Var log_weights, log_probability, entropy;
};

Decoder::Source Decoder::prepare(const Encoded& source, Rng* rng) const {
  const Index size = embedding.weight.shape()[1];
  Source prepared;
  prepared.token_weight = slice(cell->weight_ih, 1, 0, size);
  if (feeds_) prepared.fed_weight = slice(cell->weight_ih, 1, size);
  prepared.hidden_weight = weight_dropout(cell->weight_hh, rng);
  if (attention) {
    prepared.memory = attention->prepare(source.annotations, source.lengths);
  } else if (feeds_) {
    prepared.context = source.summary;
  }
  return prepared;
}

Decoder::Source Decoder::rows_of(const Source& source, const Ids& sentences) const {
  Source taken = source;
  if (attention) {
    taken.memory = {take_columns(source.memory.keys, sentences),
                    take_columns(source.memory.values, sentences),
                    take_columns(source.memory.lengths, sentences)};
  } else if (feeds_) {
    taken.context = take_rows(source.context, sentences);
  }
  return taken;
}

Decoder::Carried Decoder::start(const Encoded& source, const Source& prepared) const {
  Carried carried;
  const Var states = tanh(initial(source.summary));
  carried.state = split(states, states.shape()[1] / cell->hidden(), 1);
  const Index batch = states.shape()[0];
  if (luong_ && feeds_) carried.fed = zeros({batch, cell->hidden()}, states.dtype());
  if (attention) carried.attention = attention->start(prepared.memory);
  return carried;
}

DecoderState Decoder::pack(const Carried& carried) const {
  DecoderState state = carried.state;
  if (luong_ && feeds_) state.push_back(carried.fed);
  if (attention) {
    state.push_back(carried.attention.weights);
    state.push_back(carried.attention.step);
  }
  return state;
}

Decoder::Carried Decoder::unpack(const DecoderState& state) const {
  Carried carried;
  std::size_t used = state.size() - (attention ? 2 : 0) - (luong_ && feeds_ ? 1 : 0);
  carried.state.assign(state.begin(), state.begin() + static_cast<std::ptrdiff_t>(used));
  if (luong_ && feeds_) carried.fed = state[used++];
  if (attention) carried.attention = {state[used], state[used + 1]};
  return carried;
}

// from_token [B, G D]: W_y y + b.
Decoder::Step Decoder::advance(const Source& source, const Var& from_token, const Carried& carried,
                               Rng* rng) const {
  Step step;
  step.context = source.context;
  const auto attend = [&](const Var& query) {
    if (!attention) return;
    AttentionOutput attended = (*attention)(query, source.memory, carried.attention, rng);
    step.context = attended.context;
    step.weights = attended.weights;
    step.log_weights = attended.log_weights;
    step.log_probability = attended.log_probability;
    step.entropy = attended.entropy;
    step.next.attention = attended.state;
  };
  if (!luong_) attend(carried.state[0]);
  const Var fed = luong_ ? carried.fed : step.context;
  const Var from_input = feeds_ ? from_token + linear(fed, source.fed_weight) : from_token;
  step.next.state = cell->step(from_input, carried.state, source.hidden_weight);
  step.state = step.next.state[0];
  if (luong_) attend(step.state);
  if (luong_ && feeds_) {
    step.next.fed = tanh((*combination)(concat({step.state, step.context}, 1)));
  }
  return step;
}

// x [T, ...]
Var Decoder::drop(const Var& x, Rng* rng) const {
  return variational_ ? dropout.same_for_all_steps(x, rng) : dropout(x, rng);
}

// Of one step or, as always in training, of all of them; tokens [..., E].
Var Decoder::logits(const Source& source, const Step& step, const Var& tokens, Rng* rng) const {
  if (marginal_) return marginal_logits(source, step, tokens, rng);
  if (luong_) return output(drop(step.next.fed, rng));
  const Var features = step.context.size() > 0 ? concat({step.state, step.context, tokens}, -1)
                                               : concat({step.state, tokens}, -1);
  return output(drop(features, rng));
}

// log p(y) = log Σ_s α_s p(y | s), with the annotation of s in place of the context.
Var Decoder::marginal_logits(const Source& source, const Step& step, const Var& tokens,
                             Rng* rng) const {
  const bool single = step.state.rank() == 2;
  const auto timed = [&](const Var& x) { return single ? unsqueeze(x, 0) : x; };
  const Var state = drop(timed(step.state), rng), values = drop(source.memory.values, rng);
  const Linear& first = luong_ ? *combination : output.first();
  const Index d = state.shape()[2], c = values.shape()[2];
  Var by_step = linear(state, slice(first.weight, 1, 0, d), first.bias);  // [T, B, F]
  if (!luong_) {
    by_step += linear(drop(timed(tokens), rng), slice(first.weight, 1, d + c));
  }
  const Var by_position = linear(values, slice(first.weight, 1, d, d + c));  // [S, B, F]
  const Var both = unsqueeze(by_step, 1) + by_position;                      // [T, S, B, F]
  const Var log_p = log_softmax(luong_ ? output(tanh(both)) : output.rest(both));
  const Var log_weights = unsqueeze(timed(step.log_weights), 1);  // [T, 1, B, S]
  const Shape shape = log_p.shape();                              // [T, S, B, V]
  const Var marginal =
      marginal_log_likelihood(expand(log_weights, {shape[0], shape[3], shape[2], shape[1]}),
                              permute(log_p, {0, 3, 1, 2}), source.memory.lengths);  // [T, V, B]
  const Var result = permute(marginal, {0, 2, 1});
  return single ? select(result, 0, 0) : result;
}

Predictions Decoder::operator()(const Encoded& source, const Ids& target_in,
                                const Lengths& target_lengths, Rng* rng) const {
  const Source prepared = prepare(source, rng);
  const Var tokens = drop(embedding(target_in, target_lengths), rng);  // [T, B, E]
  const Var from_tokens = linear(tokens, prepared.token_weight, cell->bias_ih);
  std::vector<Var> states, contexts, fed, log_weights, log_probabilities, entropies;
  Predictions predictions;
  Carried carried = start(source, prepared);
  for (Index t = 0; t < target_lengths.time(); ++t) {
    const Step step = advance(prepared, select(from_tokens, 0, t), carried, rng);
    carried = step.next;
    states.push_back(step.state);
    if (step.context.size() > 0) contexts.push_back(step.context);
    if (step.next.fed.size() > 0) fed.push_back(step.next.fed);
    if (attention) predictions.weights.push_back(step.weights);
    if (step.log_weights.size() > 0) log_weights.push_back(step.log_weights);
    if (step.log_probability.size() > 0) {
      log_probabilities.push_back(step.log_probability);
      entropies.push_back(step.entropy);
    }
  }
  const auto stacked = [](const std::vector<Var>& parts) {
    return parts.empty() ? Var() : stack(parts);
  };
  Step all;
  all.state = stacked(states);
  if (!marginal_) all.context = stacked(contexts);
  all.next.fed = stacked(fed);
  all.log_weights = stacked(log_weights);
  predictions.log_probability = stacked(log_probabilities);
  predictions.entropy = stacked(entropies);
  predictions.logits = logits(prepared, all, tokens, rng);
  return predictions;
}

Search Decoder::search(const Encoded& source) const {
  const Source prepared = prepare(source, nullptr);
  const MakeStep make_step = [this, prepared](const Ids& sentences) -> DecoderStep {
    return [this, rows = rows_of(prepared, sentences)](const Ids& previous, DecoderState& state) {
      const Var token = embedding(previous);  // [B, E]
      const Var from_token = linear(token, rows.token_weight, cell->bias_ih);
      const Step step = advance(rows, from_token, unpack(state), nullptr);
      state = pack(step.next);
      return DecoderOutput{logits(rows, step, token, nullptr), step.weights};
    };
  };
  return {pack(start(source, prepared)), make_step, source.lengths};
}

void Decoder::visit(Visitor& visitor) const {
  visitor("embedding", embedding);
  visitor("initial", initial);
  if (attention) visitor("attention", *attention);
  visitor("cell", *cell);
  if (combination) visitor("combination", *combination);
  visitor("output", output);
}

}  // namespace regrad::seq2seq
