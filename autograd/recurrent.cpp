#include "autograd/recurrent.h"

#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"

namespace regrad {
namespace {

// Adds the gradients of weight_hh, which is that input, and of bias_hh, the next one. `before`
// holds the state before each step: all steps are one product.
void add_hidden_gradients(GradientSink& sink, int weight, const Tensor& g_hidden,
                          const Tensor& before) {
  if (sink.wants(weight)) {
    ops::OuterProduct product{g_hidden, before};
    sink.add(weight, ops::sum_outer_products(std::span(&product, 1)));
  }
  if (sink.wants(weight + 1)) {
    sink.add(weight + 1, ops::sum_to(g_hidden, Shape{g_hidden.shape()[-1]}));
  }
}

}  // namespace

Var rnn_gates(const Var& from_input, const Var& from_hidden, Nonlinearity f) {
  Tensor next = ops::rnn_gates(f, from_input.value(), from_hidden.value());
  return record_fused("rnn_gates", next, {&from_input, &from_hidden},
                      [f, next](const Tensor& g, GradientSink& sink) {
                        Tensor gates = ops::rnn_gates_backward(f, g, next);
                        sink.add(0, gates);
                        sink.add(1, std::move(gates));
                      });
}

std::vector<Var> lstm_gates(const Var& from_input, const Var& from_hidden, const Var& c) {
  auto [states, kept] = ops::lstm_gates(from_input.value(), from_hidden.value(), c.value());
  const Var y =
      record_fused("lstm_gates", std::move(states), {&from_input, &from_hidden, &c},
                   [saved = kept, before = c.value()](const Tensor& g, GradientSink& sink) {
                     auto gradient = ops::lstm_gates_backward(g, saved, before);
                     sink.add(0, gradient.gates);
                     sink.add(1, std::move(gradient.gates));
                     sink.add(2, std::move(gradient.c));
                   });
  return {select(y, 0, 0), select(y, 0, 1)};
}

Var gru_gates(const Var& from_input, const Var& from_hidden, const Var& h) {
  auto [next, kept] = ops::gru_gates(from_input.value(), from_hidden.value(), h.value());
  return record_fused("gru_gates", std::move(next), {&from_input, &from_hidden, &h},
                      [saved = kept, before = h.value()](const Tensor& g, GradientSink& sink) {
                        auto gradient = ops::gru_gates_backward(g, saved, before);
                        sink.add(0, std::move(gradient.from_input));
                        sink.add(1, std::move(gradient.from_hidden));
                        sink.add(2, std::move(gradient.h));
                      });
}

Var rnn(const Var& from_input, const Var& h0, const Var& weight_hh, const Var& bias_hh,
        const Lengths& lengths, Direction direction, Nonlinearity f) {
  const bool backward = direction == Direction::backward;
  const Index time = lengths.time();
  Tensor states = ops::rnn(f, from_input.value(), h0.value(), weight_hh.value(), bias_hh.value(),
                           lengths, backward);
  auto pullback = [f, states, weight = weight_hh.value(), lengths, backward, time](
                      const Tensor& g, GradientSink& sink) {
    ops::RnnGradient gradient = ops::rnn_backward(f, g, states, weight, lengths, backward);
    add_hidden_gradients(sink, 2, gradient.gates,
                         states.narrow(backward ? 1 : 0, backward ? time + 1 : time));
    sink.add(0, std::move(gradient.gates));
    sink.add(1, std::move(gradient.h0));
  };
  return record_fused("rnn", states.narrow(backward ? 0 : 1, backward ? time : time + 1),
                      {&from_input, &h0, &weight_hh, &bias_hh}, std::move(pullback));
}

std::vector<Var> lstm(const Var& from_input, const Var& h0, const Var& c0, const Var& weight_hh,
                      const Var& bias_hh, const Lengths& lengths, Direction direction) {
  const bool backward = direction == Direction::backward;
  const Index time = lengths.time();
  ops::Lstm saved = ops::lstm(from_input.value(), h0.value(), c0.value(), weight_hh.value(),
                              bias_hh.value(), lengths, backward);
  // The states without h0, with the last c before or behind them.
  Tensor outputs = saved.states.narrow(backward ? 0 : 1, backward ? time + 1 : time + 2);
  auto pullback = [saved, weight = weight_hh.value(), lengths, backward, time](const Tensor& g,
                                                                               GradientSink& sink) {
    ops::LstmGradient gradient = ops::lstm_backward(g, saved, weight, lengths, backward);
    add_hidden_gradients(sink, 3, gradient.gates,
                         saved.states.narrow(backward ? 2 : 0, backward ? time + 2 : time));
    sink.add(0, std::move(gradient.gates));
    sink.add(1, std::move(gradient.h0));
    sink.add(2, std::move(gradient.c0));
  };
  const Var y = record_fused("lstm", std::move(outputs),
                             {&from_input, &h0, &c0, &weight_hh, &bias_hh}, std::move(pullback));
  return {slice(y, 0, backward ? 1 : 0, backward ? time + 1 : time),
          select(y, 0, backward ? 0 : time)};
}

Var gru(const Var& from_input, const Var& h0, const Var& weight_hh, const Var& bias_hh,
        const Lengths& lengths, Direction direction) {
  const bool backward = direction == Direction::backward;
  const Index time = lengths.time();
  ops::Gru saved = ops::gru(from_input.value(), h0.value(), weight_hh.value(), bias_hh.value(),
                            lengths, backward);
  Tensor outputs = saved.states.narrow(backward ? 0 : 1, backward ? time : time + 1);
  auto pullback = [saved, weight = weight_hh.value(), lengths, backward, time](const Tensor& g,
                                                                               GradientSink& sink) {
    ops::GruGradient gradient = ops::gru_backward(g, saved, weight, lengths, backward);
    add_hidden_gradients(sink, 2, gradient.from_hidden,
                         saved.states.narrow(backward ? 1 : 0, backward ? time + 1 : time));
    sink.add(0, std::move(gradient.from_input));
    sink.add(1, std::move(gradient.h0));
  };
  return record_fused("gru", std::move(outputs), {&from_input, &h0, &weight_hh, &bias_hh},
                      std::move(pullback));
}

}  // namespace regrad
