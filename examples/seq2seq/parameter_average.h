#pragma once

#include <deque>
#include <vector>

#include "nn/module.h"
#include "nn/safetensors.h"

namespace regrad::seq2seq {

// The mean of a model's parameters at its last few evaluations, which is often better than any of
// them (averaging of checkpoints, as in Vaswani et al. 2017, section 6.1).
class ParameterAverage {
 public:
  // Of at most `count` evaluations; with 1 it does nothing. The module must outlive it.
  ParameterAverage(const Module& module, Index count);

  void push();  // remembers the parameters as they are
  void pop();   // forgets the last ones
  // Puts the mean in the parameters' place while it lives.
  class Applied {
   public:
    explicit Applied(const ParameterAverage& average);
    ~Applied();
    Applied(const Applied&) = delete;
    Applied& operator=(const Applied&) = delete;

   private:
    const ParameterAverage& average_;
    std::vector<Tensor> own_;
  };

  // As tensors `average.0.<path>`, …, oldest first. load throws Error for those of another model.
  void save(SafeTensors& content) const;
  void load(const SafeTensors& content);

 private:
  std::vector<NamedParameter> parameters_;
  std::size_t count_;
  std::deque<std::vector<Tensor>> snapshots_;
};

}  // namespace regrad::seq2seq
