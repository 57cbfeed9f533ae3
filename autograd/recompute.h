#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "autograd/record.h"

namespace regrad {

namespace detail {

inline void require_same_value(const Tensor& first, const Tensor& again) {
  if (identical(first, again)) return;
  fail(
      "recompute: f gave another value of shape {} when it ran again; let whatever it draws from "
      "start afresh each time",
      again.shape());
}

}  // namespace detail

// f(inputs) without keeping what happens inside: backward runs f again (Chen et al. 2016). The same
// value and gradients, of parameters that f uses too, for the memory of one run at a time; cutting
// a chain of n steps into √n pieces needs memory of order √n. f takes a std::span<const Var> and
// gives a Var; it must give the same value again (a generator it uses must start afresh), or
// backward throws Error; values from outside that need gradients must be among the inputs. First
// derivatives only.
template <class F>
Var recompute(F f, std::span<const Var> inputs) {
  if (!Tape::active()) return f(inputs);
  std::vector<Tensor> values;
  for (const Var& input : inputs) values.push_back(input.value());
  Tensor value;
  std::vector<Var> sources(inputs.begin(), inputs.end());
  std::vector<Parameter> parameters;
  auto then = std::make_shared<detail::ParameterValues>();  // they may be written before backward
  const TapeOptions options{.check_finite = Tape::active()->checks_finite()};
  {
    Tape probe(options);
    std::vector<Var> variables;
    for (const Tensor& input : values) variables.push_back(probe.variable(input));
    value = f(std::span<const Var>(variables)).value();
    parameters = probe.parameters();
  }
  for (const Parameter& parameter : parameters) {
    sources.emplace_back(parameter);
    then->emplace(parameter.key(), sources.back().value());
  }
  std::vector<const Var*> pointers;
  for (const Var& source : sources) pointers.push_back(&source);
  return record_fused("recompute", value, pointers,
                      [f = std::move(f), values, value, parameters, then = std::move(then),
                       options](const Tensor& g, GradientSink& sink) {
                        // Not written back to the parameters, which other threads may be reading.
                        const detail::Recording restored(nullptr, then);
                        Tape tape(options);
                        std::vector<Var> variables;
                        for (std::size_t i = 0; i < values.size(); ++i) {
                          variables.push_back(sink.wants(static_cast<int>(i))
                                                  ? tape.variable(values[i])
                                                  : Var(values[i]));
                        }
                        Var y = f(std::span<const Var>(variables));
                        detail::require_same_value(value, y.value());
                        if (!y.watched()) return;
                        Gradients gradients = tape.backward(y, g);
                        int input = 0;
                        for (const Var& variable : variables) {
                          if (sink.wants(input)) sink.add(input, gradients[variable]);
                          ++input;
                        }
                        for (const Parameter& parameter : parameters) {
                          if (gradients.contains(parameter)) sink.add(input, gradients[parameter]);
                          ++input;
                        }
                      });
}

template <class F>
Var recompute(F f, std::initializer_list<Var> inputs) {
  return recompute(std::move(f), std::span(inputs.begin(), inputs.size()));
}

}  // namespace regrad
