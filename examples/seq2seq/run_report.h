#pragma once

#include <optional>
#include <vector>

#include "examples/seq2seq/decode.h"
#include "examples/seq2seq/run_files.h"
#include "examples/seq2seq/trainer.h"

namespace regrad::seq2seq {

struct BestModel {
  const Translator& translator;
  const std::vector<TextPair>& dev;
  Evaluation evaluation;  // of the dev examples
};

// Writes report.html: the run's configuration and course and, where it came to its end, what the
// best model does.
void write_report(const RunFiles& files, const Trainer& trainer,
                  const std::optional<BestModel>& best);

}  // namespace regrad::seq2seq
