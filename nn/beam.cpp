#include "nn/beam.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/beam_sentence.h"
#include "nn/decoding_rows.h"

namespace regrad {
namespace {

void require_options(const BeamOptions& options) {
  if (options.beam < 1) fail("beam_search: beam must be at least 1, not {}", options.beam);
  if (options.n_best < 1 || options.n_best > options.beam) {
    fail("beam_search: n_best must be in [1, {}], the beam, not {}", options.beam, options.n_best);
  }
  const auto require = [](const char* what, double value) {
    if (std::isfinite(value) && value >= 0) return;
    fail("beam_search: {} must be finite and at least 0, not {}", what, value);
  };
  require("length_penalty", options.length_penalty);
  require("coverage_penalty", options.coverage_penalty);
}

// The live hypotheses of all sentences, one after the other.
struct Rows {
  std::vector<std::int32_t> sentences, origins, previous;  // origins: rows of the step before
};

Ids ids(const std::vector<std::int32_t>& values) {
  return Ids(values, Shape{static_cast<Index>(values.size())});
}

class Search {
 public:
  Search(const MakeStep& make_step, DecoderState state, const Lengths& lengths,
         const DecodingOptions& options, const BeamOptions& beam)
      : make_step_(make_step), state_(std::move(state)), lengths_(lengths), bos_(options.bos) {
    for (Index b = 0; b < lengths.batch(); ++b) {
      sentences_.emplace_back(b, lengths[b], options.max_length[static_cast<std::size_t>(b)],
                              options.eos, beam);
    }
    needs_weights_ = beam.coverage_penalty != 0;
    rows_ = gather();
    if (!rows_.sentences.empty()) renew_step();
  }

  bool active() const { return !rows_.sentences.empty(); }

  void advance() {
    const auto count = static_cast<Index>(rows_.sentences.size());
    const DecoderOutput output = step_(ids(rows_.previous), state_);
    require_output("beam_search", output, count, lengths_.time());
    if (needs_weights_ && output.weights.rank() != 2) {
      fail("beam_search: a coverage penalty needs a decoder with attention weights");
    }
    weights_.push_back(output.weights.value());
    Index row = 0;
    for (BeamSentence& sentence : sentences_) {
      const auto live = static_cast<Index>(sentence.live().size());
      if (live > 0) sentence.advance(output.logits.value(), row, weights_);
      row += live;
    }
    reorder();
  }

  std::vector<std::vector<Hypothesis>> result() {
    std::vector<std::vector<Hypothesis>> result;
    for (BeamSentence& sentence : sentences_) result.push_back(sentence.best(weights_));
    return result;
  }

 private:
  void renew_step() {
    step_ = make_step_(ids(rows_.sentences));
    require_step("beam_search", step_);
  }

  Rows gather() const {
    Rows rows;
    for (std::size_t b = 0; b < sentences_.size(); ++b) {
      for (const BeamSentence::Live& live : sentences_[b].live()) {
        rows.sentences.push_back(static_cast<std::int32_t>(b));
        rows.origins.push_back(static_cast<std::int32_t>(live.row));
        rows.previous.push_back(sentences_[b].last_token(live, bos_));
      }
    }
    return rows;
  }

  // Brings states, and what the step knows of the sentences, to the live hypotheses.
  void reorder() {
    const Rows next = gather();
    const Ids origins = ids(next.origins);
    const bool changed = next.sentences != rows_.sentences;
    rows_ = next;
    if (rows_.sentences.empty()) return;
    for (Var& part : state_) part = take_rows(part, origins);
    if (changed) renew_step();
  }

  const MakeStep& make_step_;
  DecoderStep step_;
  DecoderState state_;
  const Lengths& lengths_;
  std::int32_t bos_;
  bool needs_weights_;
  std::vector<BeamSentence> sentences_;
  Rows rows_;
  std::vector<Tensor> weights_;  // of each step
};

}  // namespace

Var take_rows(const Var& x, const Ids& taken) {
  if (x.rank() < 1)
    fail("take_rows: a state must have the batch as its first axis, not {}", x.shape());
  for (const std::int32_t row : taken) {
    if (row < 0 || row >= x.shape()[0]) {
      fail("take_rows: row {} is outside of [0, {})", row, x.shape()[0]);
    }
  }
  const Index inner = x.shape().product(1, x.rank());
  return reshape(rows(reshape(x, {x.shape()[0], inner}), taken), x.shape().with(0, taken.size()));
}

Var take_columns(const Var& x, const Ids& columns) {
  if (x.rank() < 2) fail("take_columns: expected [S, B, ...], not {}", x.shape());
  const Index steps = x.shape()[0], batch = x.shape()[1];
  const Shape shape{steps, columns.size()};
  Ids places(shape);
  for (Index r = 0; r < columns.size(); ++r) {
    if (columns[r] < 0 || columns[r] >= batch) {
      fail("take_columns: column {} is outside of [0, {})", columns[r], batch);
    }
    for (Index s = 0; s < steps; ++s) {
      places.at(s, r) = static_cast<std::int32_t>(s * batch) + columns[r];
    }
  }
  const Index inner = x.shape().product(2, x.rank());
  return reshape(rows(reshape(x, {steps * batch, inner}), places),
                 x.shape().with(1, columns.size()));
}

Lengths take_columns(const Lengths& lengths, const Ids& columns) {
  std::vector<std::int32_t> taken;
  for (const std::int32_t column : columns) {
    if (column < 0 || column >= lengths.batch()) {
      fail("take_columns: column {} is outside of [0, {})", column, lengths.batch());
    }
    taken.push_back(static_cast<std::int32_t>(lengths[column]));
  }
  return Lengths(taken, lengths.time());
}

std::vector<std::vector<Hypothesis>> beam_search(const MakeStep& make_step, DecoderState state,
                                                 const Lengths& source_lengths,
                                                 const DecodingOptions& options,
                                                 const BeamOptions& beam) {
  const Paused paused;
  require_limits("beam_search", options, source_lengths.batch());
  require_options(beam);
  if (!make_step) fail("beam_search: what makes the decoder's step is an empty function");
  Search search(make_step, std::move(state), source_lengths, options, beam);
  while (search.active()) search.advance();
  return search.result();
}

}  // namespace regrad
