#pragma once

#include "ops/ids.h"
#include "ops/simd/kernels.h"
#include "ops/tensor.h"

// Fused recurrent layers; the formulas are in autograd/recurrent.h. In all of them from_input is
// [T, B, G H] (W_ih x_t + b_ih), weight_hh [G H, H] and bias_hh [G H] with G blocks: 1 in an rnn,
// 3 in a gru, 4 in an lstm. A padded step carries the state through and has no gradient.
namespace regrad::ops {

// Of a whole sequence the states stand in its order, h0 before the step that is computed first:
// [T+1, B, H], h0 at row 0, or at row T when the direction is backward.
Tensor rnn(Nonlinearity f, const Tensor& from_input, const Tensor& h0, const Tensor& weight_hh,
           const Tensor& bias_hh, const Lengths& lengths, bool backward);
struct RnnGradient {
  Tensor gates;  // [T, B, H], of the input part and the hidden part
  Tensor h0;     // [B, H]
};
// g [T, B, H], of the states without h0.
RnnGradient rnn_backward(Nonlinearity f, const Tensor& g, const Tensor& states,
                         const Tensor& weight_hh, const Lengths& lengths, bool backward);

struct Lstm {
  // [T+2, B, H]: as above, and the last c behind the step that is computed last: at row T+1, or at
  // row 0 when the direction is backward.
  Tensor states;
  Tensor cells;  // [T+1, B, H]: c as h above
  Tensor kept;   // [T, B, 5H]: i, f, g, o and tanh(c')
};
Lstm lstm(const Tensor& from_input, const Tensor& h0, const Tensor& c0, const Tensor& weight_hh,
          const Tensor& bias_hh, const Lengths& lengths, bool backward);
struct LstmGradient {
  Tensor gates;   // [T, B, 4H], of the input part and the hidden part
  Tensor h0, c0;  // [B, H]
};
// g [T+1, B, H], of the states without h0.
LstmGradient lstm_backward(const Tensor& g, const Lstm& saved, const Tensor& weight_hh,
                           const Lengths& lengths, bool backward);

struct Gru {
  Tensor states;  // [T+1, B, H]
  Tensor kept;    // [T, B, 4H]: r, z, n and the hidden part of n
};
Gru gru(const Tensor& from_input, const Tensor& h0, const Tensor& weight_hh, const Tensor& bias_hh,
        const Lengths& lengths, bool backward);
struct GruGradient {
  Tensor from_input, from_hidden;  // [T, B, 3H]
  Tensor h0;                       // [B, H]
};
// g [T, B, H], of the states without h0.
GruGradient gru_backward(const Tensor& g, const Gru& saved, const Tensor& weight_hh,
                         const Lengths& lengths, bool backward);

// One step: both parts of the gates [B, G H].
Tensor rnn_gates(Nonlinearity f, const Tensor& from_input, const Tensor& from_hidden);
Tensor rnn_gates_backward(Nonlinearity f, const Tensor& g, const Tensor& h_next);

struct LstmGates {
  Tensor states;  // [2, B, H]: the next h and c
  Tensor kept;    // [B, 5H]
};
LstmGates lstm_gates(const Tensor& from_input, const Tensor& from_hidden, const Tensor& c);
struct LstmGatesGradient {
  Tensor gates, c;
};
LstmGatesGradient lstm_gates_backward(const Tensor& g, const Tensor& kept, const Tensor& c);

struct GruGates {
  Tensor h;     // [B, H], the next state
  Tensor kept;  // [B, 4H]
};
GruGates gru_gates(const Tensor& from_input, const Tensor& from_hidden, const Tensor& h);
struct GruGatesGradient {
  Tensor from_input, from_hidden, h;
};
GruGatesGradient gru_gates_backward(const Tensor& g, const Tensor& kept, const Tensor& h);

}  // namespace regrad::ops
