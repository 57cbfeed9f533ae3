#include "nn/recurrent.h"

#include <fmt/ranges.h>

#include "nn/gru.h"
#include "nn/init.h"
#include "nn/lstm.h"
#include "nn/rnn.h"
#include "nn/sizes.h"

namespace regrad {
namespace {

void require_states(const RecurrentKind& kind, std::string_view what, const RecurrentState& state) {
  const auto count = static_cast<Index>(state.size());
  if (count == kind.states) return;
  fail("{}: {} must be {}, not {}", kind.name, what,
       kind.states == 1 ? "one tensor, h" : "two tensors, h and c", count);
}

}  // namespace

RecurrentCell::RecurrentCell(const RecurrentKind& kind, Index inputs, Index hidden, Rng& rng,
                             DType dtype)
    : kind_(kind) {
  require_size(kind.name, "inputs", inputs);
  require_size(kind.name, "hidden", hidden);
  const Index rows = kind.blocks * hidden;
  weight_ih = Parameter(init::uniform_fan({rows, inputs}, hidden, rng, dtype));
  weight_hh = Parameter(init::uniform_fan({rows, hidden}, hidden, rng, dtype));
  bias_ih = Parameter(init::uniform_fan({rows}, hidden, rng, dtype));
  bias_hh = Parameter(init::uniform_fan({rows}, hidden, rng, dtype));
}

RecurrentState RecurrentCell::operator()(const Var& x, const RecurrentState& state) const {
  return step(project(x), state);
}

RecurrentState RecurrentCell::step(const Var& from_input, const RecurrentState& state) const {
  return step(from_input, state, weight_hh);
}

RecurrentState RecurrentCell::step(const Var& from_input, const RecurrentState& state,
                                   const Var& weight) const {
  require_states(kind_, "the state", state);
  return advance(from_input, linear(state[0], weight, bias_hh), state);
}

Var RecurrentCell::project(const Var& x) const { return linear(x, weight_ih, bias_ih); }

RecurrentState RecurrentCell::zero_state(Index batch) const {
  const Var zero = zeros({batch, hidden()}, weight_hh.value().dtype());
  return RecurrentState(static_cast<std::size_t>(kind_.states), zero);
}

void RecurrentCell::visit(Visitor& visitor) const {
  visitor("weight_ih", weight_ih);
  visitor("weight_hh", weight_hh);
  visitor("bias_ih", bias_ih);
  visitor("bias_hh", bias_hh);
}

Recurrent::Recurrent(const RecurrentKind& kind, Index hidden, DType dtype,
                     const RecurrentOptions& options)
    : layers(options.layers),
      directions(options.bidirectional ? 2 : 1),
      dropout(options.dropout),
      weight_dropout(options.weight_dropout),
      variational(options.variational),
      kind_(kind) {
  require_size(kind.name, "layers", layers);
  require_size(kind.name, "hidden", hidden);
  if (layers == 1 && options.dropout > 0) {
    fail(
        "{}: dropout {} has no effect, as it acts between layers and there is one layer; "
        "use Dropout on inputs or outputs",
        kind.name, options.dropout);
  }
  for (Index k = 0; options.learned_initial && k < kind.states; ++k) {
    initial.emplace_back(zeros({cell_count(), hidden}, dtype));
  }
}

RecurrentState Recurrent::initial_state(Index batch) const {
  const Shape shape{cell_count(), batch, hidden()};
  RecurrentState state;
  for (const Parameter& learned : initial) state.push_back(expand(unsqueeze(learned, 1), shape));
  if (state.empty()) {
    const Var zero = zeros(shape, cell(0).weight_hh.value().dtype());
    state.assign(static_cast<std::size_t>(kind_.states), zero);
  }
  return state;
}

RecurrentOutput Recurrent::operator()(const Var& x, const Lengths& lengths, Rng* rng) const {
  return (*this)(x, initial_state(lengths.batch()), lengths, rng);
}

RecurrentOutput Recurrent::operator()(const Var& x, const RecurrentState& initial_states,
                                      const Lengths& lengths, Rng* rng) const {
  check(x, initial_states, lengths);
  // 0 · NaN is NaN: padding must be gone before it is multiplied by the zeros of its gradient.
  Var input = lengths.has_padding() ? masked_fill(x, lengths, 0) : x;
  std::vector<RecurrentState> final_states(initial_states.size());  // by h and c
  for (Index layer = 0; layer < layers; ++layer) {
    if (layer > 0) input = drop(input, rng);
    std::vector<Var> outputs;
    for (Index i = layer * directions; i < (layer + 1) * directions; ++i) {
      RecurrentState h;
      for (const Var& states : initial_states) h.push_back(select(states, 0, i));
      const RecurrentOutput y =
          cell(i).sequence(cell(i).project(input), weight_dropout(cell(i).weight_hh, rng), h,
                           lengths, outputs.empty() ? Direction::forward : Direction::backward);
      outputs.push_back(y.outputs);
      for (std::size_t k = 0; k < h.size(); ++k) final_states[k].push_back(y.final[k]);
    }
    input = directions == 1 ? outputs[0] : concat(outputs, 2);
  }
  RecurrentOutput result{input, {}};
  for (const RecurrentState& states : final_states) result.final.push_back(stack(states));
  return result;
}

Var Recurrent::drop(const Var& x, Rng* rng) const {
  return variational ? dropout.same_for_all_steps(x, rng) : dropout(x, rng);
}

void Recurrent::check(const Var& x, const RecurrentState& initial_states,
                      const Lengths& lengths) const {
  const Index inputs = cell(0).weight_ih.shape()[1];
  if (x.rank() != 3 || x.shape()[2] != inputs) {
    fail("{}: the input must be [T, B, {}], not {}", kind_.name, inputs, x.shape());
  }
  if (x.shape()[0] < 1) {
    fail("{}: input {} has no time step; pad the batch to at least one", kind_.name, x.shape());
  }
  require_lengths(lengths, x.shape()[0], x.shape()[1], kind_.name);
  require_states(kind_, "the initial state", initial_states);
  const Shape wanted{cell_count(), x.shape()[1], hidden()};
  for (const Var& state : initial_states) {
    if (state.shape() == wanted) continue;
    fail("{}: the initial state must be [layers · directions, B, H] = {}, not {}", kind_.name,
         wanted, state.shape());
  }
}

void Recurrent::visit(Visitor& visitor) const {
  for (Index i = 0; i < cell_count(); ++i) {
    const std::string suffix =
        fmt::format("_l{}{}", i / directions, i % directions == 1 ? "_reverse" : "");
    visitor("weight_ih" + suffix, cell(i).weight_ih);
    visitor("weight_hh" + suffix, cell(i).weight_hh);
    visitor("bias_ih" + suffix, cell(i).bias_ih);
    visitor("bias_hh" + suffix, cell(i).bias_hh);
  }
  for (std::size_t k = 0; k < initial.size(); ++k) {
    visitor(k == 0 ? "initial_h" : "initial_c", initial[k]);
  }
}

namespace {

[[noreturn]] void fail_unknown(std::string_view name) {
  fail("recurrent: unknown cell `{}`; known are {}", name, fmt::join(recurrent_names(), ", "));
}

}  // namespace

std::vector<std::string_view> recurrent_names() { return {"rnn", "rnn-relu", "gru", "lstm"}; }

std::unique_ptr<RecurrentCell> make_cell(std::string_view name, Index inputs, Index hidden,
                                         Rng& rng, DType dtype) {
  if (name == "rnn") return std::make_unique<RNNCell>(inputs, hidden, rng, dtype);
  if (name == "rnn-relu") {
    return std::make_unique<RNNCell>(inputs, hidden, rng, dtype, Nonlinearity::relu);
  }
  if (name == "gru") return std::make_unique<GRUCell>(inputs, hidden, rng, dtype);
  if (name == "lstm") return std::make_unique<LSTMCell>(inputs, hidden, rng, dtype);
  fail_unknown(name);
}

std::unique_ptr<Recurrent> make_recurrent(std::string_view name, Index inputs, Index hidden,
                                          Rng& rng, DType dtype, const RecurrentOptions& options) {
  if (name == "rnn") return std::make_unique<RNN>(inputs, hidden, rng, dtype, options);
  if (name == "rnn-relu") {
    return std::make_unique<RNN>(inputs, hidden, rng, dtype, options, Nonlinearity::relu);
  }
  if (name == "gru") return std::make_unique<GRU>(inputs, hidden, rng, dtype, options);
  if (name == "lstm") return std::make_unique<LSTM>(inputs, hidden, rng, dtype, options);
  fail_unknown(name);
}

}  // namespace regrad
