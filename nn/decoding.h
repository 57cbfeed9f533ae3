#pragma once

#include <cstdint>
#include <functional>
#include <string>
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

struct DecodingOptions {
  std::int32_t bos = 2, eos = 3;
  // The most tokens for each sentence, <eos> not counted. One per sentence, so that a sentence's
  // limit, which usually comes from its source's length, does not depend on the batch around it.
  std::vector<Index> max_length;
};

// What every decoder finds for a sentence.
struct Hypothesis {
  std::vector<std::int32_t> tokens;             // without <bos> and <eos>
  std::vector<double> token_log_probabilities;  // of the tokens and, where it came, <eos>
  double log_probability = 0;                   // their sum
  double score = 0;       // what beam_search ranks by; elsewhere the log probability
  Tensor attention;       // [tokens, source length]; of shape [0] without weights
  bool finished = false;  // <eos> came within the limit
};

// Takes the likeliest token at each step, the lowest id on ties, until each sentence has come to
// <eos> or to its limit. Records nothing. A sentence's result does not depend on the others of the
// batch. Throws Error for logits that are NaN or +infinity, for outputs of another shape and for an
// empty step.
std::vector<Hypothesis> greedy(const DecoderStep& step, DecoderState state,
                               const Lengths& source_lengths, const DecodingOptions& options);

// Forced decoding: each sentence takes the tokens of its target, given without <bos> and <eos>, and
// then <eos>; its hypothesis says how probable they are and what the model looked at. max_length is
// not read. Throws Error as greedy does, for another number of targets, and for tokens outside of
// the vocabulary.
std::vector<Hypothesis> force(const DecoderStep& step, DecoderState state,
                              const Lengths& source_lengths,
                              const std::vector<std::vector<std::int32_t>>& targets,
                              const DecodingOptions& options);

// The source position with the largest weight for each token, the first of equal ones; -1 for
// weights over no position. attention [tokens, S]; throws Error for another rank.
std::vector<Index> aligned_positions(const Tensor& attention);

// The words of the hypothesis, each unknown one replaced by the source word that the model looked
// at most (Luong et al. 2015, Addressing the rare word problem; Jean et al. 2015). Throws Error
// unless there is a word per token and attention over the source's words.
std::vector<std::string> replace_unknown(std::vector<std::string> words,
                                         const Hypothesis& hypothesis, std::int32_t unknown,
                                         const std::vector<std::string>& source);

}  // namespace regrad
