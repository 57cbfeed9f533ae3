#include "nn/decoding_rows.h"

#include <algorithm>
#include <cmath>

#include "autograd/tape.h"
#include "ops/simd/kernels.h"

namespace regrad {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

class Rows {
 public:
  Rows(std::string_view operation, const Lengths& lengths, const DecodingOptions& options,
       const Choose& choose)
      : operation_(operation),
        lengths_(lengths),
        options_(options),
        choose_(choose),
        batch_(lengths.batch()),
        previous_({batch_}, options.bos),
        active_(at(batch_), true),
        hypotheses_(at(batch_)) {
    require_limits(operation, options, batch_);
  }

  bool active() const { return std::ranges::find(active_, true) != active_.end(); }
  const Ids& previous() const { return previous_; }

  void take(const DecoderOutput& output) {
    require_output(operation_, output, batch_, lengths_.time());
    for (Index b = 0; b < batch_; ++b) {
      if (active_[at(b)]) take(output.logits.value(), b);
    }
    weights_.push_back(output.weights.value());
    ++step_;
  }

  std::vector<Hypothesis> result() {
    for (Index b = 0; b < batch_; ++b) {
      Hypothesis& hypothesis = hypotheses_[at(b)];
      const std::vector<Index> rows(hypothesis.tokens.size(), b);
      hypothesis.attention = collect_attention(weights_, rows, lengths_[b]);
      hypothesis.score = hypothesis.log_probability;
    }
    return std::move(hypotheses_);
  }

 private:
  void take(const Tensor& logits, Index b) {
    Hypothesis& hypothesis = hypotheses_[at(b)];
    const LogitRow row(operation_, logits, b, b, step_);
    const std::int32_t token = choose_(b, step_, row);
    const bool is_end = token == options_.eos;
    active_[at(b)] = !is_end && step_ < options_.max_length[at(b)];
    if (!is_end && !active_[at(b)]) return;
    hypothesis.finished = is_end;
    if (!is_end) hypothesis.tokens.push_back(token);
    hypothesis.token_log_probabilities.push_back(row.log_probability(token));
    hypothesis.log_probability += hypothesis.token_log_probabilities.back();
    previous_.mutable_data()[b] = token;
  }

  std::string_view operation_;
  const Lengths& lengths_;
  const DecodingOptions& options_;
  const Choose& choose_;
  Index batch_;
  Ids previous_;
  std::vector<bool> active_;
  std::vector<Tensor> weights_;  // of each step
  std::vector<Hypothesis> hypotheses_;
  Index step_ = 0;
};

}  // namespace

void require_limits(std::string_view operation, const DecodingOptions& options, Index sentences) {
  if (options.max_length.size() != at(sentences)) {
    fail("{}: {} limits in max_length for {} sentences", operation, options.max_length.size(),
         sentences);
  }
  for (const Index limit : options.max_length) {
    if (limit < 0) fail("{}: a limit of {} tokens in max_length", operation, limit);
  }
}

void require_step(std::string_view operation, const DecoderStep& step) {
  if (!step) fail("{}: the decoder's step is an empty function", operation);
}

void require_output(std::string_view operation, const DecoderOutput& output, Index rows,
                    Index time) {
  const Shape &logits = output.logits.shape(), &weights = output.weights.shape();
  if (logits.rank() != 2 || logits[0] != rows || logits[1] < 1) {
    fail("{}: logits must be [{}, V], not {}", operation, rows, logits);
  }
  if (weights == Shape{0}) return;
  if (!(weights == Shape{rows, time})) {
    fail("{}: weights must be [{}, {}], not {}", operation, rows, time, weights);
  }
}

LogitRow::LogitRow(std::string_view operation, const Tensor& logits, Index row, Index sentence,
                   Index step)
    : logits_(logits), classes_(logits.shape()[1]), first_(row * classes_) {
  visit(logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto sum = ops::simd::kernels<T>().log_sum_exp(logits.data<T>() + first_, classes_);
    log_sum_ = {sum.high, sum.low};
  });
  if (!std::isfinite(log_sum_.high)) {
    fail("{}: the logits of sentence {} are not finite at step {}", operation, sentence, step);
  }
}

double LogitRow::operator[](Index token) const {
  return visit(logits_.dtype(), [&](auto zero) {
    return static_cast<double>(logits_.data<decltype(zero)>()[first_ + token]);
  });
}

// At most 0, whatever the rounding of the sum.
double LogitRow::log_probability(Index token) const {
  return std::min(0.0, ((*this)[token] - log_sum_.high) - log_sum_.low);
}

std::int32_t LogitRow::likeliest() const {
  return visit(logits_.dtype(), [&](auto zero) {
    const auto* logits = logits_.data<decltype(zero)>() + first_;
    return static_cast<std::int32_t>(std::max_element(logits, logits + classes_) - logits);
  });
}

Tensor collect_attention(const std::vector<Tensor>& steps, std::span<const Index> rows,
                         Index length) {
  if (steps.empty() || steps[0].rank() != 2) return {};
  Tensor attention({static_cast<Index>(rows.size()), length}, steps[0].dtype());
  visit(attention.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* target = attention.mutable_data<T>();
    for (std::size_t t = 0; t < rows.size(); ++t) {
      const T* row = steps[t].data<T>() + rows[t] * steps[t].shape()[1];
      target = std::copy(row, row + length, target);
    }
  });
  return attention;
}

std::vector<Hypothesis> decode_rows(std::string_view operation, const DecoderStep& step,
                                    DecoderState state, const Lengths& source_lengths,
                                    const DecodingOptions& options, const Choose& choose) {
  const Paused paused;
  require_step(operation, step);
  Rows rows(operation, source_lengths, options, choose);
  while (rows.active()) rows.take(step(rows.previous(), state));
  return rows.result();
}

}  // namespace regrad
