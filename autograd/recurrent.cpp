#include "ops/recurrent.h"

#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"

namespace regrad {

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

Var gru(const Var& from_input, const Var& h0, const Var& weight_hh, const Var& bias_hh,
        const Lengths& lengths, Direction direction) {
  bool backward = direction == Direction::backward;
  ops::Gru saved = ops::gru(from_input.value(), h0.value(), weight_hh.value(), bias_hh.value(),
                            lengths, backward);
  Index time = lengths.time();
  Tensor outputs = saved.states.narrow(backward ? 0 : 1, backward ? time : time + 1);
  auto pullback = [saved, weight = weight_hh.value(), lengths, backward, time](const Tensor& g,
                                                                               GradientSink& sink) {
    ops::GruGradient gradient = ops::gru_backward(g, saved, weight, lengths, backward);
    if (sink.wants(2)) {
      ops::OuterProduct product{gradient.from_hidden,
                                saved.states.narrow(backward ? 1 : 0, backward ? time + 1 : time)};
      sink.add(2, ops::sum_outer_products(std::span(&product, 1)));
    }
    if (sink.wants(3)) {
      sink.add(3, ops::sum_to(gradient.from_hidden, Shape{gradient.from_hidden.shape()[-1]}));
    }
    sink.add(0, std::move(gradient.from_input));
    sink.add(1, std::move(gradient.h0));
  };
  return record_fused("gru", std::move(outputs), {&from_input, &h0, &weight_hh, &bias_hh},
                      std::move(pullback));
}

}  // namespace regrad
