#pragma once

#include <span>
#include <vector>

#include "nn/decoding.h"
#include "ops/rng.h"

namespace regrad {

struct SamplingOptions {
  double temperature = 1;  // logits are divided by it: below 1 sharper, above 1 flatter
  Index top_k = 0;         // only the k likeliest tokens (Fan et al. 2018); 0: all
  double top_p = 1;        // then only the likeliest that together have this probability, the
                           // nucleus (Holtzman et al. 2020), one at least
};

// Draws each token from the model's distribution, until <eos> or a sentence's limit. Sentence b
// draws from random[b] alone, one number a step, so that its result does not depend on the batch.
// Log probabilities are the model's own, before temperature and cuts. Records nothing. Throws Error
// as greedy does, for options out of range and for another number of generators than sentences.
std::vector<Hypothesis> sample(const DecoderStep& step, DecoderState state,
                               const Lengths& source_lengths, const DecodingOptions& options,
                               const SamplingOptions& sampling, std::span<Rng> random);

}  // namespace regrad
