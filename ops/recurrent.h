#pragma once

#include "ops/ids.h"
#include "ops/tensor.h"

namespace regrad::ops {

// One GRU step with PyTorch's gates r, z, n (reset after the product); see gru in
// autograd/functions.h for the formula.
struct GruGates {
  Tensor h;     // [B, H], the next state
  Tensor kept;  // [B, 4H]: r, z, n and the hidden part of n
};
GruGates gru_gates(const Tensor& from_input, const Tensor& from_hidden, const Tensor& h);
struct GruGatesGradient {
  Tensor from_input, from_hidden, h;
};
GruGatesGradient gru_gates_backward(const Tensor& g, const Tensor& kept, const Tensor& h);

// A whole sequence.
struct Gru {
  // [T+1, B, H]: the states in the order of the sequence; h0 stands before the first step, that is
  // at row 0, or at row T when the direction is backward.
  Tensor states;
  Tensor kept;  // [T, B, 4H]
};
Gru gru(const Tensor& from_input, const Tensor& h0, const Tensor& weight_hh, const Tensor& bias_hh,
        const Lengths& lengths, bool backward);
struct GruGradient {
  Tensor from_input;   // [T, B, 3H]; zeros at padded steps
  Tensor from_hidden;  // [T, B, 3H]
  Tensor h0;           // [B, H]
};
GruGradient gru_backward(const Tensor& g, const Gru& saved, const Tensor& weight_hh,
                         const Lengths& lengths, bool backward);

}  // namespace regrad::ops
