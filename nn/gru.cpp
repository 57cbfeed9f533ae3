#include "nn/gru.h"

#include "nn/init.h"
#include "nn/sizes.h"

namespace regrad {
GRUCell::GRUCell(Index inputs, Index hidden, Rng& rng, DType dtype) {
  require_size("gru", "inputs", inputs);
  require_size("gru", "hidden", hidden);
  weight_ih = Parameter(init::uniform_fan({3 * hidden, inputs}, hidden, rng, dtype));
  weight_hh = Parameter(init::uniform_fan({3 * hidden, hidden}, hidden, rng, dtype));
  bias_ih = Parameter(init::uniform_fan({3 * hidden}, hidden, rng, dtype));
  bias_hh = Parameter(init::uniform_fan({3 * hidden}, hidden, rng, dtype));
}

Var GRUCell::operator()(const Var& x, const Var& h) const {
  return step(linear(x, weight_ih, bias_ih), h);
}

Var GRUCell::step(const Var& from_input, const Var& h) const {
  return gru_gates(from_input, linear(h, weight_hh, bias_hh), h);
}

void GRUCell::visit(Visitor& visitor) const {
  visitor("weight_ih", weight_ih);
  visitor("weight_hh", weight_hh);
  visitor("bias_ih", bias_ih);
  visitor("bias_hh", bias_hh);
}

GRU::GRU(Index inputs, Index hidden_size, Rng& rng, DType dtype, const GRUOptions& options)
    : hidden(hidden_size), bidirectional(options.bidirectional), dropout(options.dropout) {
  require_size("gru", "inputs", inputs);
  require_size("gru", "hidden", hidden);
  require_size("gru", "layers", options.layers);
  if (options.layers == 1 && options.dropout > 0) {
    fail(
        "gru: dropout {} has no effect, as it acts between layers and there is one layer; "
        "use Dropout on inputs or outputs",
        options.dropout);
  }
  for (Index layer = 0; layer < options.layers; ++layer) {
    for (Index direction = 0; direction < directions(); ++direction) {
      cells.emplace_back(layer == 0 ? inputs : directions() * hidden, hidden, rng, dtype);
    }
  }
}

GRUOutput GRU::operator()(const Var& x, const Lengths& lengths, Rng* rng) const {
  return run(x, nullptr, lengths, rng);
}

GRUOutput GRU::operator()(const Var& x, const Var& initial, const Lengths& lengths,
                          Rng* rng) const {
  return run(x, &initial, lengths, rng);
}

GRUOutput GRU::run(const Var& x, const Var* initial, const Lengths& lengths, Rng* rng) const {
  check(x, initial, lengths);
  // 0 · NaN is NaN: padding must be gone before it is multiplied by the zeros of its gradient.
  Var input = lengths.has_padding() ? masked_fill(x, lengths, 0) : x;
  const Index steps = x.shape()[0];
  std::vector<Var> states, final_states;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool backward = bidirectional && i % 2 == 1;
    const GRUCell& cell = cells[i];
    const Var h0 = initial ? select(*initial, 0, static_cast<Index>(i))
                           : Var(zeros({x.shape()[1], hidden}, x.dtype()));
    states.push_back(gru(linear(input, cell.weight_ih, cell.bias_ih), h0, cell.weight_hh,
                         cell.bias_hh, lengths,
                         backward ? Direction::backward : Direction::forward));
    final_states.push_back(select(states.back(), 0, backward ? 0 : steps - 1));
    if (static_cast<Index>(states.size()) < directions()) continue;
    input = bidirectional ? concat(states, 2) : states[0];
    states.clear();
    if (i + 1 < cells.size()) input = dropout(input, rng);
  }
  return {input, stack(final_states)};
}

void GRU::check(const Var& x, const Var* initial, const Lengths& lengths) const {
  const Index inputs = cells[0].weight_ih.shape()[1];
  if (x.rank() != 3 || x.shape()[2] != inputs) {
    fail("gru: the input must be [T, B, {}], not {}", inputs, x.shape());
  }
  if (x.shape()[0] < 1) {
    fail("gru: input {} has no time step; pad the batch to at least one", x.shape());
  }
  require_lengths(lengths, x.shape()[0], x.shape()[1], "gru");
  const Shape state{static_cast<Index>(cells.size()), x.shape()[1], hidden};
  if (initial && !(initial->shape() == state)) {
    fail("gru: the initial state must be [layers · directions, B, H] = {}, not {}", state,
         initial->shape());
  }
}

void GRU::visit(Visitor& visitor) const {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto index = static_cast<Index>(i);
    const std::string suffix =
        fmt::format("_l{}{}", index / directions(), index % directions() == 1 ? "_reverse" : "");
    visitor("weight_ih" + suffix, cells[i].weight_ih);
    visitor("weight_hh" + suffix, cells[i].weight_hh);
    visitor("bias_ih" + suffix, cells[i].bias_ih);
    visitor("bias_hh" + suffix, cells[i].bias_hh);
  }
}

}  // namespace regrad
