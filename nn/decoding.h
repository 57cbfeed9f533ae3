#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "autograd/var.h"
#include "ops/ids.h"

namespace regrad {

// What a decoder carries from step to step: tensors whose first axis is the batch.
using DecoderState = std::vector<Var>;

struct DecoderOutput {
  Var logits;   // [B, V] of the next token
  Var weights;  // [B, S] over the source positions; empty (default) without attention
};

// One step of a decoder: previous tokens [B] and the state, which it advances. Rows must not depend
// on each other.
using DecoderStep = std::function<DecoderOutput(const Ids& previous, DecoderState& state)>;

struct GreedyOptions {
  std::int32_t bos = 2, eos = 3;
  // The most tokens for each sentence, <eos> not counted. One per sentence, so that a sentence's
  // limit, which usually comes from its source's length, does not depend on the batch around it.
  std::vector<Index> max_length;
};

struct GreedyResult {
  std::vector<std::vector<std::int32_t>> tokens;  // without <bos> and <eos>
  std::vector<Tensor> attention;  // [tokens, source length] per sentence; empty without weights
  std::vector<bool> finished;     // <eos> came within the limit
  std::vector<double> log_probability;  // of the tokens and, where it came, <eos>
};

// Takes the likeliest token at each step, the lowest id on ties, until each sentence has come to
// <eos> or to its limit. Records nothing. A sentence's result does not depend on the others of the
// batch. Throws Error for logits that are NaN or +infinity.
GreedyResult greedy(const DecoderStep& step, DecoderState state, const Lengths& source_lengths,
                    const GreedyOptions& options);

}  // namespace regrad
