#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "nn/decoding.h"
#include "ops/simd/kernels.h"

// What the decoders share; not installed.
namespace regrad {

// Throws Error, naming the operation, unless there is one non-negative limit per sentence.
void require_limits(std::string_view operation, const DecodingOptions& options, Index sentences);

// Throws Error, naming the operation, for a step that cannot be called.
void require_step(std::string_view operation, const DecoderStep& step);

// Throws Error, naming the operation, unless logits are [rows, V] and weights, if any, [rows,
// time].
void require_output(std::string_view operation, const DecoderOutput& output, Index rows,
                    Index time);

// One row of logits.
class LogitRow {
 public:
  // Throws Error, naming operation, sentence and step, unless some logit is finite and none is NaN
  // or +infinity.
  LogitRow(std::string_view operation, const Tensor& logits, Index row, Index sentence, Index step);

  Index classes() const { return classes_; }
  double operator[](Index token) const;
  double log_probability(Index token) const;
  std::int32_t likeliest() const;  // the lowest id of equal ones

 private:
  const Tensor& logits_;
  Index classes_, first_;
  ops::simd::Shift<double> log_sum_ = {};
};

// Weights [steps, length] out of what each step gave: row rows[t] of steps[t] [R, S], as far as the
// sentence goes. Of shape [0] where the decoder gives no weights.
Tensor collect_attention(const std::vector<Tensor>& steps, std::span<const Index> rows,
                         Index length);

// The token that a sentence takes at a step.
using Choose = std::function<std::int32_t(Index sentence, Index step, const LogitRow& row)>;

// Decodes with one row per sentence.
std::vector<Hypothesis> decode_rows(std::string_view operation, const DecoderStep& step,
                                    DecoderState state, const Lengths& source_lengths,
                                    const DecodingOptions& options, const Choose& choose);

}  // namespace regrad
