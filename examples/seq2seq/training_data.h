#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "examples/seq2seq/batch.h"
#include "examples/seq2seq/config.h"
#include "examples/seq2seq/vocabulary.h"

namespace regrad::seq2seq {

// The examples of one training step.
struct Selection {
  std::span<const Example> examples;
  Indices indices;
};

// What a run learns from and is judged by.
struct TrainingData {
  Vocabulary source, target;
  std::vector<TextPair> dev;
  Index longest_target = 0;        // in training, in tokens
  Index steps_per_evaluation = 0;  // one epoch of a file
  std::uint64_t fingerprint = 0;   // of the files' content, so that a resume notices a change
  std::vector<std::string> warnings;
  // The selection of each step depends on the seed and the step alone, so that a resume needs
  // nothing but the step. It is valid until the next call.
  std::function<Selection(Index step)> select;
};

// A task, whose examples are drawn afresh at each step, or files. Throws Error for files that
// cannot be read or are malformed, naming file and line.
TrainingData make_training_data(const Config& config);

}  // namespace regrad::seq2seq
