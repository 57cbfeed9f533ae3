#pragma once

#include <span>
#include <utility>
#include <vector>

#include "autograd/record.h"

namespace regrad {

// f(inputs) without keeping what happens inside: backward runs f again (Chen et al. 2016). The same
// value and gradients, of parameters that f uses too, for the memory of one run at a time; cutting
// a chain of n steps into √n pieces needs memory of order √n. f takes a std::span<const Var> and
// gives a Var; it must give the same value again (a generator it uses must start afresh), and
// values from outside that need gradients must be among the inputs. First derivatives only.
template <class F>
Var recompute(F f, std::span<const Var> inputs) {
  if (!Tape::active()) return f(inputs);
  std::vector<Tensor> values;
  for (const Var& input : inputs) values.push_back(input.value());
  Tensor value;
  std::vector<Var> sources(inputs.begin(), inputs.end());
  std::vector<Parameter> parameters;
  {
    Tape probe;
    std::vector<Var> variables;
    for (const Tensor& input : values) variables.push_back(probe.variable(input));
    value = f(std::span<const Var>(variables)).value();
    parameters = probe.parameters();
  }
  for (const Parameter& parameter : parameters) sources.emplace_back(parameter);
  std::vector<const Var*> pointers;
  for (const Var& source : sources) pointers.push_back(&source);
  return record_fused("recompute", std::move(value), pointers,
                      [f = std::move(f), values, parameters](const Tensor& g, GradientSink& sink) {
                        Tape tape;
                        std::vector<Var> variables;
                        for (std::size_t i = 0; i < values.size(); ++i) {
                          variables.push_back(sink.wants(static_cast<int>(i))
                                                  ? tape.variable(values[i])
                                                  : Var(values[i]));
                        }
                        Var y = f(std::span<const Var>(variables));
                        if (!y.watched()) return;
                        Gradients gradients = tape.backward(y, g);
                        for (std::size_t i = 0; i < values.size(); ++i) {
                          auto input = static_cast<int>(i);
                          if (sink.wants(input)) sink.add(input, gradients[variables[i]]);
                        }
                        for (std::size_t i = 0; i < parameters.size(); ++i) {
                          if (!gradients.contains(parameters[i])) continue;
                          sink.add(static_cast<int>(values.size() + i), gradients[parameters[i]]);
                        }
                      });
}

template <class F>
Var recompute(F f, std::initializer_list<Var> inputs) {
  return recompute(std::move(f), std::span(inputs.begin(), inputs.size()));
}

}  // namespace regrad
