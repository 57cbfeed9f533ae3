#pragma once

#include <vector>

#include "nn/beam.h"

// One sentence's part of a beam search; not installed.
namespace regrad {

class BeamSentence {
 public:
  struct Live {
    Index node;  // its last token; -1 before the first
    Index row;   // of the step before, where its state is
    double log_probability;
  };

  BeamSentence(Index sentence, Index source_length, Index max_length, std::int32_t eos,
               const BeamOptions& options)
      : sentence_(sentence),
        source_length_(source_length),
        max_length_(max_length),
        eos_(eos),
        options_(options),
        live_{{-1, sentence, 0}} {}

  const std::vector<Live>& live() const { return live_; }
  std::int32_t last_token(const Live& hypothesis, std::int32_t bos) const;

  // The live hypotheses' logits are those of rows first_row, first_row + 1, …; `weights` are those
  // of all steps so far.
  void advance(const Tensor& logits, Index first_row, const std::vector<Tensor>& weights);
  std::vector<Hypothesis> best(const std::vector<Tensor>& weights);

 private:
  struct Node {
    Index parent, row;
    std::int32_t token;
    double log_probability;  // of this token
  };
  struct Candidate {
    Index parent;  // among the live ones
    std::int32_t token;
    double token_log_probability, log_probability;
  };
  struct Ended {
    Index node;
    double log_probability, score;
  };

  std::vector<Candidate> candidates(const Tensor& logits, Index first_row) const;
  Index add_node(const Candidate& candidate, Index first_row);
  void end_unfinished(const std::vector<Candidate>& kept, const std::vector<Tensor>& weights);
  void end(std::vector<Ended>& list, Index node, double log_probability,
           const std::vector<Tensor>& weights) const;
  void stop_if_beaten();
  std::vector<Index> path(Index node) const;
  double score(Index node, double log_probability, const std::vector<Tensor>& weights) const;
  Hypothesis hypothesis(const Ended& ended, bool finished,
                        const std::vector<Tensor>& weights) const;

  Index sentence_, source_length_, max_length_;
  std::int32_t eos_;
  const BeamOptions& options_;
  Index step_ = 0;
  std::vector<Node> nodes_;
  std::vector<Live> live_;
  std::vector<Ended> finished_, unfinished_;
};

}  // namespace regrad
