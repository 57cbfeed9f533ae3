#pragma once

#include "autograd/var.h"
#include "ops/ids.h"

// The recurrent functions of the catalogue (functions.h). Fused: first derivatives only; the
// composed twins are in nn/composed.h.
namespace regrad {

enum class Direction { forward, backward };
// GRU gates of one step, PyTorch's convention (reset after the product, blocks r, z, n):
// r = σ(x_r + h_r), z = σ(x_z + h_z), n = tanh(x_n + r h_n), h' = (1 - z) n + z h.
// from_input, from_hidden [B, 3H]; h [B, H] -> [B, H].
Var gru_gates(const Var& from_input, const Var& from_hidden, const Var& h);
// The whole sequence: from_input [T, B, 3H] (W_ih x_t + b_ih), h0 [B, H], weight_hh [3H, H],
// bias_hh [3H] -> [T, B, H]. A padded step carries the state through.
Var gru(const Var& from_input, const Var& h0, const Var& weight_hh, const Var& bias_hh,
        const Lengths& lengths, Direction direction);

}  // namespace regrad
