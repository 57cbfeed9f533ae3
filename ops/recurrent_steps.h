#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "ops/packed.h"
#include "ops/recurrent.h"

// For the recurrent layers only: the loops over the steps of a sequence, and the checks of shapes.
namespace regrad::ops {

// Rows of the step at time t, and of its state before and after.
struct StepRows {
  Index step, before, after;
  StepRows(Index t, Index batch, bool backward)
      : step(t * batch),
        before((backward ? t + 1 : t) * batch),
        after((backward ? t : t + 1) * batch) {}
};

// For each step the hidden part of the gates of the whole batch, W_hh h + b_hh, by one product;
// then step(row, before, after, hidden) for every valid row. `states` begin with h.
template <class T, class Step>
void each_step(const Tensor& weight_hh, const Tensor& bias_hh, const Lengths& lengths,
               bool backward, std::initializer_list<T*> states, const Step& step) {
  Index time = lengths.time(), batch = lengths.batch();
  Index gates = weight_hh.shape()[0], size = weight_hh.shape()[1];
  Tensor from_hidden({batch, gates}, dtype_of<T>());
  T* hidden = from_hidden.mutable_data<T>();
  const RepeatedProduct multiply(weight_hh, Trans, batch);
  for (Index i = 0; i < time; ++i) {
    Index t = backward ? time - 1 - i : i;
    StepRows rows(t, batch, backward);
    multiply(*states.begin() + rows.before * size, Addend<T>{.bias = bias_hh.data<T>()}, hidden);
    for (Index b = 0; b < batch; ++b) {
      if (lengths.valid(t, b)) {
        step(rows.step + b, rows.before + b, rows.after + b, hidden + b * gates);
        continue;
      }
      for (T* state : states) {
        std::copy_n(state + (rows.before + b) * size, size, state + (rows.after + b) * size);
      }
    }
  }
}

// The same in reverse: step(row, before, after, b) makes of g_h, the gradient of the state after a
// valid row, the part of the state before that does not go through W_hh, and sets the row of
// g_gates, which begin with the gradient of the hidden part; those of padded rows become 0.
template <class T, class Step>
void each_step_backward(const T* g, const Tensor& weight_hh, const Lengths& lengths, bool backward,
                        std::initializer_list<T*> g_gates, T* g_h, const Step& step) {
  auto accumulate = simd::kernels<T>().accumulate;
  Index time = lengths.time(), batch = lengths.batch();
  Index gates = weight_hh.shape()[0], size = weight_hh.shape()[1];
  const RepeatedProduct multiply(weight_hh, NoTrans, batch);
  for (Index i = 0; i < time; ++i) {
    Index t = backward ? i : time - 1 - i;
    StepRows rows(t, batch, backward);
    accumulate(g_h, g + rows.step * size, T(1), batch * size);
    for (Index b = 0; b < batch; ++b) {
      if (lengths.valid(t, b)) {
        step(rows.step + b, rows.before + b, rows.after + b, b);
        continue;
      }
      for (T* gradient : g_gates) std::fill_n(gradient + (rows.step + b) * gates, gates, T(0));
    }
    multiply(*g_gates.begin() + rows.step * gates, Addend<T>{.keep_c = true}, g_h);
  }
}

// Throws Error, naming the operation, unless x has that shape.
void require_shape(std::string_view operation, std::string_view what, const Tensor& x,
                   const Shape& wanted);
// Throws Error unless all fit a sequence with so many blocks in its gates.
void require_sequence(std::string_view operation, Index blocks, const Tensor& from_input,
                      const Tensor& h0, const Tensor& weight_hh, const Tensor& bias_hh,
                      const Lengths& lengths);
// Throws Error unless all fit one step.
void require_step(std::string_view operation, Index blocks, const Tensor& from_input,
                  const Tensor& from_hidden, const Tensor& state);

// Copies the initial state to where it stands among the T+1 states.
template <class T>
void set_initial(const Tensor& initial, const Lengths& lengths, bool backward, T* states) {
  std::copy_n(initial.data<T>(), initial.size(),
              states + (backward ? lengths.time() * initial.size() : 0));
}

}  // namespace regrad::ops
