#pragma once

#include "autograd/functions.h"

// The recurrent functions of autograd/recurrent.h written in primitives; see composed.h.
namespace regrad {

Var rnn_gates_composed(const Var& from_input, const Var& from_hidden,
                       Nonlinearity f = Nonlinearity::tanh);
std::vector<Var> lstm_gates_composed(const Var& from_input, const Var& from_hidden, const Var& c);
Var gru_gates_composed(const Var& from_input, const Var& from_hidden, const Var& h);
Var rnn_composed(const Var& from_input, const Var& h0, const Var& weight_hh, const Var& bias_hh,
                 const Lengths& lengths, Direction direction, Nonlinearity f = Nonlinearity::tanh);
std::vector<Var> lstm_composed(const Var& from_input, const Var& h0, const Var& c0,
                               const Var& weight_hh, const Var& bias_hh, const Lengths& lengths,
                               Direction direction);
Var gru_composed(const Var& from_input, const Var& h0, const Var& weight_hh, const Var& bias_hh,
                 const Lengths& lengths, Direction direction);

}  // namespace regrad
