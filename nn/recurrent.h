#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/functions.h"
#include "nn/dropout.h"
#include "nn/module.h"
#include "ops/ids.h"
#include "ops/rng.h"

// What rnn.h, gru.h and lstm.h have in common, so that a model can choose by name.
namespace regrad {

using RecurrentState = std::vector<Var>;  // {h}, or {h, c} in an LSTM

struct RecurrentOutput {
  Var outputs;           // [T, B, D H] of the last layer; forward first when D = 2
  RecurrentState final;  // [layers D, B, H] each, after the last valid step of each direction
};

// What a cell is called in messages, and its numbers of blocks in a weight and of states.
struct RecurrentKind {
  std::string_view name;
  Index blocks, states;
};

// One step of one layer and direction, with PyTorch's parameters.
struct RecurrentCell : Module {
  // x [B, I], state [B, H] each -> the next state.
  RecurrentState operator()(const Var& x, const RecurrentState& state) const;
  // The same with the input already projected, for callers that split the input matrix or project
  // many steps at once. Throws Error for another number of states and shapes that do not fit.
  RecurrentState step(const Var& from_input, const RecurrentState& state) const;
  // With another matrix in place of weight_hh, one with dropout, say.
  RecurrentState step(const Var& from_input, const RecurrentState& state, const Var& weight) const;
  // x W_ihᵀ + b_ih: [..., I] -> [..., G H], G the number of blocks.
  Var project(const Var& x) const;
  // All steps, fused, with `weight` [G H, H] as weight_hh: from_input [T, B, G H], initial [B, H]
  // each -> outputs [T, B, H], final [B, H] each.
  virtual RecurrentOutput sequence(const Var& from_input, const Var& weight,
                                   const RecurrentState& initial, const Lengths& lengths,
                                   Direction direction) const = 0;
  Index hidden() const { return weight_hh.shape()[1]; }
  RecurrentState zero_state(Index batch) const;
  void visit(Visitor& visitor) const override;

  Parameter weight_ih, weight_hh;  // [G H, I], [G H, H]
  Parameter bias_ih, bias_hh;      // [G H]

 protected:
  // Uniform in ±1/√H. Throws Error for a size below 1.
  RecurrentCell(const RecurrentKind& kind, Index inputs, Index hidden, Rng& rng, DType dtype);

 private:
  virtual RecurrentState advance(const Var& from_input, const Var& from_hidden,
                                 const RecurrentState& state) const = 0;
  RecurrentKind kind_;
};

struct RecurrentOptions {
  Index layers = 1;
  bool bidirectional = false;
  double dropout = 0;  // between layers; with one layer it has no effect and is an Error
  // Dropout with one mask for all steps of a sequence (Gal and Ghahramani 2016).
  bool variational = false;
  // On the entries of each weight_hh, one mask per call (Merity, Keskar and Socher 2017).
  double weight_dropout = 0;
  // Initial states are parameters `initial_h` and `initial_c` [layers D, H], zeros at first.
  bool learned_initial = false;
};

// Layers over whole sequences with lengths: a padded step carries the state through, so what stands
// in the padding changes nothing. At padded positions the outputs hold the carried state.
struct Recurrent : Module {
  // x [T, B, I], T ≥ 1; the initial state is initial_state(B). Without a generator there is no
  // dropout.
  RecurrentOutput operator()(const Var& x, const Lengths& lengths, Rng* rng = nullptr) const;
  // initial [layers D, B, H] each.
  RecurrentOutput operator()(const Var& x, const RecurrentState& initial, const Lengths& lengths,
                             Rng* rng = nullptr) const;
  // Zeros, or what was learned: [layers D, B, H] each.
  RecurrentState initial_state(Index batch) const;

  // Layer by layer, forward before reverse.
  virtual const RecurrentCell& cell(Index i) const = 0;
  Index cell_count() const { return layers * directions; }
  Index hidden() const { return cell(0).hidden(); }
  // Named as in PyTorch: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse,
  // …
  void visit(Visitor& visitor) const override;

  Index layers, directions;
  Dropout dropout, weight_dropout;
  bool variational;
  std::vector<Parameter> initial;  // of h and c, where they are learned

 protected:
  // Throws Error for no layer and dropout without effect.
  Recurrent(const RecurrentKind& kind, Index hidden, DType dtype, const RecurrentOptions& options);

 private:
  Var drop(const Var& x, Rng* rng) const;
  void check(const Var& x, const RecurrentState& initial, const Lengths& lengths) const;
  RecurrentKind kind_;
};

// Layers of one kind of cell; `more` goes to the constructor of each.
template <class Cell>
struct RecurrentOf : Recurrent {
  template <class... More>
  RecurrentOf(Index inputs, Index hidden, Rng& rng, DType dtype, const RecurrentOptions& options,
              More... more)
      : Recurrent(Cell::kind, hidden, dtype, options) {
    for (Index i = 0; i < cell_count(); ++i) {
      cells.emplace_back(i < directions ? inputs : directions * hidden, hidden, rng, dtype,
                         more...);
    }
  }
  const RecurrentCell& cell(Index i) const override { return cells[static_cast<std::size_t>(i)]; }

  std::vector<Cell> cells;
};

// What make_cell and make_recurrent know: rnn, rnn-relu, gru and lstm.
std::vector<std::string_view> recurrent_names();
// Throw Error for an unknown name, listing the known.
std::unique_ptr<RecurrentCell> make_cell(std::string_view name, Index inputs, Index hidden,
                                         Rng& rng, DType dtype = DType::f32);
std::unique_ptr<Recurrent> make_recurrent(std::string_view name, Index inputs, Index hidden,
                                          Rng& rng, DType dtype = DType::f32,
                                          const RecurrentOptions& options = {});

}  // namespace regrad
