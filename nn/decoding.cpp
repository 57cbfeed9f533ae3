#include "nn/decoding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/tape.h"

namespace regrad {
namespace {

struct Choice {
  std::int32_t token = 0;
  double log_probability = 0;
};

// The largest logit, the first of equal ones; the log probability is NaN if a logit is.
template <class T>
Choice likeliest(const T* logits, Index classes) {
  const Index best = std::max_element(logits, logits + classes) - logits;
  const auto largest = static_cast<double>(logits[best]);
  double total = 0;
  for (Index i = 0; i < classes; ++i) total += std::exp(static_cast<double>(logits[i]) - largest);
  return {static_cast<std::int32_t>(best), -std::log(total)};
}

Choice likeliest(const Tensor& logits, Index sentence) {
  const Index classes = logits.shape()[1];
  return visit(logits.dtype(), [&](auto zero) {
    return likeliest(logits.data<decltype(zero)>() + sentence * classes, classes);
  });
}

class Greedy {
 public:
  Greedy(const Lengths& source_lengths, const GreedyOptions& options)
      : lengths_(source_lengths),
        options_(options),
        batch_(source_lengths.batch()),
        previous_({batch_}, options.bos),
        active_(static_cast<std::size_t>(batch_), true),
        weights_(active_.size()) {
    if (options.max_length.size() != active_.size()) {
      fail("greedy: {} limits in max_length for {} sentences", options.max_length.size(), batch_);
    }
    result_.tokens.resize(active_.size());
    result_.finished.resize(active_.size());
    result_.log_probability.resize(active_.size());
  }

  bool active() const { return std::ranges::find(active_, true) != active_.end(); }
  const Ids& previous() const { return previous_; }

  void take(const DecoderOutput& output) {
    check(output);
    for (Index b = 0; b < batch_; ++b) {
      if (active_[at(b)]) take(output, b);
    }
  }

  GreedyResult result() {
    for (Index b = 0; has_weights_ && b < batch_; ++b) {
      const Shape shape{static_cast<Index>(result_.tokens[at(b)].size()), lengths_[b]};
      result_.attention.push_back(tensor(weights_[at(b)], shape, weights_dtype_));
    }
    return std::move(result_);
  }

 private:
  static std::size_t at(Index b) { return static_cast<std::size_t>(b); }

  void check(const DecoderOutput& output) {
    if (output.logits.rank() != 2 || output.logits.shape()[0] != batch_ ||
        output.logits.shape()[1] < 1) {
      fail("greedy: logits must be [{}, V], not {}", batch_, output.logits.shape());
    }
    has_weights_ = output.weights.rank() == 2;
    if (has_weights_ && !(output.weights.shape() == Shape{batch_, lengths_.time()})) {
      fail("greedy: weights must be [{}, {}], not {}", batch_, lengths_.time(),
           output.weights.shape());
    }
    weights_dtype_ = output.weights.dtype();
  }

  void take(const DecoderOutput& output, Index b) {
    std::vector<std::int32_t>& tokens = result_.tokens[at(b)];
    const Choice choice = likeliest(output.logits.value(), b);
    if (std::isnan(choice.log_probability)) {
      fail("greedy: the logits of sentence {} are not finite at step {}", b, tokens.size());
    }
    const bool is_end = choice.token == options_.eos;
    if (is_end || static_cast<Index>(tokens.size()) >= options_.max_length[at(b)]) {
      result_.finished[at(b)] = is_end;
      if (is_end) result_.log_probability[at(b)] += choice.log_probability;
      active_[at(b)] = false;
      return;
    }
    tokens.push_back(choice.token);
    result_.log_probability[at(b)] += choice.log_probability;
    previous_.mutable_data()[b] = choice.token;
    if (has_weights_) {
      const std::vector<double> row = output.weights.value()[b].to_vector();
      weights_[at(b)].insert(weights_[at(b)].end(), row.begin(), row.begin() + lengths_[b]);
    }
  }

  const Lengths& lengths_;
  const GreedyOptions& options_;
  Index batch_;
  Ids previous_;
  std::vector<bool> active_;
  std::vector<std::vector<double>> weights_;  // row after row
  bool has_weights_ = false;
  DType weights_dtype_ = DType::f32;
  GreedyResult result_;
};

}  // namespace

GreedyResult greedy(const DecoderStep& step, DecoderState state, const Lengths& source_lengths,
                    const GreedyOptions& options) {
  const Paused paused;
  Greedy search(source_lengths, options);
  while (search.active()) search.take(step(search.previous(), state));
  return search.result();
}

}  // namespace regrad
