#pragma once

#include <vector>

#include "autograd/var.h"
#include "ops/ids.h"
#include "ops/recurrent.h"

// The recurrent functions of the catalogue (functions.h), with PyTorch's gates. x_k and h_k are the
// blocks of W_ih x + b_ih and W_hh h + b_hh. Fused: first derivatives only; the composed twins are
// in nn/composed_recurrent.h. Throw Error for shapes that do not fit and mixed types.
namespace regrad {

enum class Direction { forward, backward };
using ops::Nonlinearity;

// One step of a plain network (Elman 1990): h' = f(x + h), f = tanh or relu.
// from_input, from_hidden [B, H] -> [B, H].
Var rnn_gates(const Var& from_input, const Var& from_hidden, Nonlinearity f = Nonlinearity::tanh);
// One step of an LSTM (Hochreiter and Schmidhuber 1997; Gers et al. 2000), blocks i, f, g, o:
// i = σ(x_i + h_i), f = σ(x_f + h_f), g = tanh(x_g + h_g), o = σ(x_o + h_o),
// c' = f c + i g, h' = o tanh(c'). from_input, from_hidden [B, 4H]; c [B, H] -> h' and c' [B, H].
std::vector<Var> lstm_gates(const Var& from_input, const Var& from_hidden, const Var& c);
// One step of a GRU (Cho et al. 2014), reset after the product, blocks r, z, n:
// r = σ(x_r + h_r), z = σ(x_z + h_z), n = tanh(x_n + r h_n), h' = (1 - z) n + z h.
// from_input, from_hidden [B, 3H]; h [B, H] -> [B, H].
Var gru_gates(const Var& from_input, const Var& from_hidden, const Var& h);

// Whole sequences: from_input [T, B, G H] (W_ih x_t + b_ih), h0 [B, H], weight_hh [G H, H], bias_hh
// [G H] with G = 1, 4 or 3 blocks -> the states [T, B, H]. A padded step carries the state through.
Var rnn(const Var& from_input, const Var& h0, const Var& weight_hh, const Var& bias_hh,
        const Lengths& lengths, Direction direction, Nonlinearity f = Nonlinearity::tanh);
// c0 [B, H] -> the states [T, B, H], and c [B, H] after the step that is computed last.
std::vector<Var> lstm(const Var& from_input, const Var& h0, const Var& c0, const Var& weight_hh,
                      const Var& bias_hh, const Lengths& lengths, Direction direction);
// As rnn.
Var gru(const Var& from_input, const Var& h0, const Var& weight_hh, const Var& bias_hh,
        const Lengths& lengths, Direction direction);

}  // namespace regrad
