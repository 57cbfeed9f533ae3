#include "nn/alignment.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/ranges.h>

#include "autograd/functions.h"
#include "nn/init.h"
#include "nn/sizes.h"

namespace regrad {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor lengths_tensor(const Lengths& lengths, DType dtype) {
  const std::vector<double> values(lengths.data(), lengths.data() + lengths.batch());
  return tensor(values, {lengths.batch()}, dtype);
}

// s - centre: centre [B] -> [B, S].
Var distances(const Var& centre, Index time) {
  return Var(arange(time, centre.dtype())) - unsqueeze(centre, -1);
}

// softmax over the valid positions at most `window` away.
Var local_softmax(const Var& scores, const Var& distance, double window, const Lengths& lengths) {
  const Tensor inside = less_equal(abs(distance.detach()), window);
  return softmax(where(inside, scores, -infinity), lengths);
}

}  // namespace

Aligned SoftAlignment::operator()(const Var& scores, const Var&, const AttentionMemory& memory,
                                  const AttentionState&, Rng*) const {
  return {.weights = softmax(scores, memory.lengths)};
}

Aligned SparsemaxAlignment::operator()(const Var& scores, const Var&, const AttentionMemory& memory,
                                       const AttentionState&, Rng*) const {
  return {.weights = sparsemax(scores, memory.lengths)};
}

Aligned EntmaxAlignment::operator()(const Var& scores, const Var&, const AttentionMemory& memory,
                                    const AttentionState&, Rng*) const {
  return {.weights = entmax(scores, memory.lengths)};
}

LocalMonotonicAlignment::LocalMonotonicAlignment(const AttentionOptions& options)
    : window_(static_cast<double>(options.window)) {
  require_size("local-m attention", "window", options.window);
}

Aligned LocalMonotonicAlignment::operator()(const Var& scores, const Var&,
                                            const AttentionMemory& memory,
                                            const AttentionState& state, Rng*) const {
  const Lengths& lengths = memory.lengths;
  const Var last = Var(lengths_tensor(lengths, scores.dtype())) - 1;
  const Var distance = distances(minimum(state.step.detach(), last), lengths.time());
  return {.weights = local_softmax(scores, distance, window_, lengths)};
}

LocalPredictiveAlignment::LocalPredictiveAlignment(const AttentionOptions& options, Rng& rng,
                                                   DType dtype)
    : window_(static_cast<double>(options.window)) {
  const Index size = options.attention_size;
  require_size("local-p attention", "query size", options.query_size);
  require_size("local-p attention", "attention size", size);
  require_size("local-p attention", "window", options.window);
  position_weight =
      Parameter(init::uniform_fan({size, options.query_size}, options.query_size, rng, dtype));
  position_v = Parameter(init::uniform_fan({size}, size, rng, dtype));
}

Aligned LocalPredictiveAlignment::operator()(const Var& scores, const Var& query,
                                             const AttentionMemory& memory, const AttentionState&,
                                             Rng*) const {
  const Lengths& lengths = memory.lengths;
  const Var hidden = tanh(linear(query, position_weight));
  const Var centre =
      Var(lengths_tensor(lengths, scores.dtype())) * sigmoid(matmul(hidden, position_v));
  const Var distance = distances(centre, lengths.time());
  const Var gaussian = exp(square(distance) * (-2 / (window_ * window_)));  // σ = D/2
  return {.weights = local_softmax(scores, distance, window_, lengths) * gaussian};
}

void LocalPredictiveAlignment::visit(Visitor& visitor) const {
  visitor("position_weight", position_weight);
  visitor("position_v", position_v);
}

MonotonicAlignment::MonotonicAlignment(const AttentionOptions& options, DType dtype)
    : offset(full({}, options.monotonic_offset, dtype)), noise_(options.monotonic_noise) {
  if (!(noise_ >= 0 && std::isfinite(as_element(noise_, dtype)))) {
    fail("monotonic attention: noise {} is not a finite number from 0 on in {}", noise_,
         to_string(dtype));
  }
  if (!std::isfinite(offset.value().item())) {
    fail("monotonic attention: offset {} is not finite in {}", options.monotonic_offset,
         to_string(dtype));
  }
}

Aligned MonotonicAlignment::operator()(const Var& scores, const Var&, const AttentionMemory& memory,
                                       const AttentionState& state, Rng* rng) const {
  Var logits = scores + offset;
  if (!rng) {
    // Decided: probabilities of 0 and 1, but of NaN neither.
    logits = logits.detach();
    logits = where(less_equal(logits, 0), -infinity, where(greater(logits, 0), infinity, logits));
    return {.weights = monotonic_alignment(logits, state.weights, memory.lengths)};
  }
  if (noise_ > 0) logits += Var(normal(scores.shape(), 0, noise_, *rng, scores.dtype()));
  return {.weights = monotonic_alignment(logits, state.weights, memory.lengths)};
}

void MonotonicAlignment::visit(Visitor& visitor) const { visitor("offset", offset); }

std::span<const std::string_view> alignment_names() {
  static constexpr std::array<std::string_view, 9> names{
      "soft",      "sparsemax",      "entmax",      "local-m",      "local-p",
      "monotonic", "hard-reinforce", "hard-gumbel", "hard-marginal"};
  return names;
}

std::shared_ptr<const Alignment> make_alignment(std::string_view name,
                                                const AttentionOptions& options, Rng& rng,
                                                DType dtype) {
  if (name == "soft") return std::make_shared<SoftAlignment>();
  if (name == "sparsemax") return std::make_shared<SparsemaxAlignment>();
  if (name == "entmax") return std::make_shared<EntmaxAlignment>();
  if (name == "local-m") return std::make_shared<LocalMonotonicAlignment>(options);
  if (name == "local-p") return std::make_shared<LocalPredictiveAlignment>(options, rng, dtype);
  if (name == "monotonic") return std::make_shared<MonotonicAlignment>(options, dtype);
  if (name == "hard-reinforce") return std::make_shared<HardReinforceAlignment>();
  if (name == "hard-gumbel") return std::make_shared<HardGumbelAlignment>(options, dtype);
  if (name == "hard-marginal") return std::make_shared<HardMarginalAlignment>();
  fail("attention: unknown alignment `{}`; known are {}", name, fmt::join(alignment_names(), ", "));
}

}  // namespace regrad
