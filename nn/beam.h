#pragma once

#include <functional>
#include <vector>

#include "nn/decoding.h"

namespace regrad {

// Makes the step for rows of which the i-th decodes sentence sentences[i] of the batch, in
// ascending order. Whatever a step looks up per sentence, such as the keys of an attention, has to
// be brought into this order, once for all steps until the rows change:
//   [&](const Ids& sentences) { return decoder.stepper(take_columns(annotations, sentences)); }
using MakeStep = std::function<DecoderStep(const Ids& sentences)>;

// x [B, ...] -> [R, ...]: row rows[i] of x at i. Throws Error for a row outside of x.
Var take_rows(const Var& x, const Ids& rows);
// x [S, B, ...] -> [S, R, ...]: column columns[i] of x at i. Throws Error for one outside of x.
Var take_columns(const Var& x, const Ids& columns);
Lengths take_columns(const Lengths& lengths, const Ids& columns);

struct BeamOptions {
  Index beam = 5;               // hypotheses kept per sentence, finished ones included
  Index n_best = 1;             // hypotheses returned per sentence, at most as many as the beam
  double length_penalty = 0.6;  // α; 0: the plain log probability, which favours short output
  double coverage_penalty = 0;  // β; needs attention weights
};

// Beam search over a batch: at each step one call of the decoder for all live hypotheses of all
// sentences, of which each keeps the `beam` likeliest. One that comes to <eos> is finished and
// keeps its place in the beam, so that a beam of 1 is greedy. Finished hypotheses are ranked by
//   log P(Y) / lp(Y) + cp(Y), lp(Y) = ((5 + |Y|) / 6)^α, cp(Y) = β Σ_i log(min(Σ_j p_ij, 1))
// (Wu et al. 2016, section 7), where Y counts <eos> and p_ij is what its j-th token looks at source
// position i; a position that nothing looked at counts as 1e-10. A sentence's search ends when no
// live hypothesis can come before the n_best finished ones.
//
// Per sentence up to n_best different hypotheses, best first: finished ones, then, where the limit
// left too few, unfinished ones. `state` has a row per sentence. Records nothing. A sentence's
// result does not depend on the others of the batch. Throws Error for options out of range, as
// greedy does, for a coverage penalty without attention weights and for an empty function.
std::vector<std::vector<Hypothesis>> beam_search(const MakeStep& make_step, DecoderState state,
                                                 const Lengths& source_lengths,
                                                 const DecodingOptions& options,
                                                 const BeamOptions& beam = {});

}  // namespace regrad
