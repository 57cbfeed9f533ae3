#include "nn/score.h"

#include <array>
#include <cmath>
#include <string>

#include <fmt/ranges.h>

#include "autograd/functions.h"
#include "nn/init.h"
#include "nn/sizes.h"

namespace regrad {
namespace {

void require_sizes(std::string_view score, const AttentionOptions& options) {
  require_size(score, "query size", options.query_size);
  require_size(score, "key size", options.key_size);
}

void require_equal_sizes(std::string_view score, const AttentionOptions& options) {
  require_sizes(score, options);
  if (options.query_size != options.key_size) {
    fail(
        "{}: the query has size {} and the keys {}; make them equal or use the score `general`, "
        "which fits any two sizes",
        score, options.query_size, options.key_size);
  }
}

Parameter matrix(Index rows, Index columns, Rng& rng, DType dtype) {
  return Parameter(init::uniform_fan({rows, columns}, columns, rng, dtype));
}

// x over its Euclidean norm; 0 stays 0.
Var unit(const Var& x) { return x / maximum(norm(x, {-1}, true), 1e-8); }

}  // namespace

ContentScore::ContentScore(const AttentionOptions& options, DType dtype) {
  require_equal_sizes("content attention", options);
  if (!options.fixed_sharpening) log_sharpening = Parameter(zeros({}, dtype));
}

Var ContentScore::project(const Var& annotations) const { return unit(annotations); }

Var ContentScore::operator()(const Var& query, const AttentionMemory& memory,
                             const AttentionState&) const {
  const Var direction = unit(query);
  return dot_score(log_sharpening ? direction * exp(log_sharpening) : direction, memory.keys,
                   memory.lengths);
}

void ContentScore::visit(Visitor& visitor) const {
  if (log_sharpening) visitor("log_sharpening", log_sharpening);
}

AdditiveScore::AdditiveScore(const AttentionOptions& options, Rng& rng, DType dtype) {
  require_sizes("additive attention", options);
  const Index size = options.attention_size;
  require_size("additive attention", "attention size", size);
  query_weight = matrix(size, options.query_size, rng, dtype);
  key_weight = matrix(size, options.key_size, rng, dtype);
  v = Parameter(init::uniform_fan({size}, size, rng, dtype));
}

Var AdditiveScore::project(const Var& annotations) const { return linear(annotations, key_weight); }

Var AdditiveScore::operator()(const Var& query, const AttentionMemory& memory,
                              const AttentionState&) const {
  return additive_score(linear(query, query_weight), memory.keys, v, memory.lengths);
}

void AdditiveScore::visit(Visitor& visitor) const {
  visitor("query_weight", query_weight);
  visitor("key_weight", key_weight);
  visitor("v", v);
}

GeneralScore::GeneralScore(const AttentionOptions& options, Rng& rng, DType dtype) {
  require_sizes("general attention", options);
  weight = matrix(options.query_size, options.key_size, rng, dtype);
}

Var GeneralScore::project(const Var& annotations) const { return linear(annotations, weight); }

Var GeneralScore::operator()(const Var& query, const AttentionMemory& memory,
                             const AttentionState&) const {
  return dot_score(query, memory.keys, memory.lengths);
}

void GeneralScore::visit(Visitor& visitor) const { visitor("weight", weight); }

DotScore::DotScore(const AttentionOptions& options, bool scaled) {
  require_equal_sizes(scaled ? "scaled-dot attention" : "dot attention", options);
  scale_ = scaled ? 1 / std::sqrt(static_cast<double>(options.key_size)) : 1;
}

Var DotScore::operator()(const Var& query, const AttentionMemory& memory,
                         const AttentionState&) const {
  return dot_score(scale_ == 1 ? query : query * scale_, memory.keys, memory.lengths);
}

LocationScore::LocationScore(const AttentionOptions& options, Rng& rng, DType dtype) {
  constexpr const char* name = "location attention";
  require_sizes(name, options);
  const Index size = options.attention_size, width = options.location_width;
  require_size(name, "attention size", size);
  require_size(name, "number of filters", options.location_filters);
  require_size(name, "width", width);
  if (width % 2 == 0) fail("{}: width {} is even, so that no position is its middle", name, width);
  query_weight = matrix(size, options.query_size, rng, dtype);
  key_weight = matrix(size, options.key_size, rng, dtype);
  location_weight = matrix(size, options.location_filters, rng, dtype);
  filters = Parameter(init::uniform_fan({options.location_filters, 1, width}, width, rng, dtype));
  bias = Parameter(zeros({size}, dtype));
  v = Parameter(init::uniform_fan({size}, size, rng, dtype));
}

Var LocationScore::project(const Var& annotations) const {
  return linear(annotations, key_weight, bias);
}

Var LocationScore::operator()(const Var& query, const AttentionMemory& memory,
                              const AttentionState& state) const {
  const Var projected = linear(query, query_weight);
  // Nowhere to look and to have looked.
  if (memory.lengths.time() == 0) return additive_score(projected, memory.keys, v, memory.lengths);
  const Var before = masked_fill(transpose(state.weights), memory.lengths, 0);  // [S, B]
  const Var features =
      conv1d(unsqueeze(before, -1), filters, {.padding = filters.shape()[2] / 2});  // [S, B, C]
  const Var keys = memory.keys + linear(features, location_weight);
  return additive_score(projected, keys, v, memory.lengths);
}

void LocationScore::visit(Visitor& visitor) const {
  visitor("query_weight", query_weight);
  visitor("key_weight", key_weight);
  visitor("location_weight", location_weight);
  visitor("filters", filters);
  visitor("bias", bias);
  visitor("v", v);
}

std::span<const std::string_view> score_names() {
  static constexpr std::array<std::string_view, 6> names{"content", "additive",   "general",
                                                         "dot",     "scaled-dot", "location"};
  return names;
}

std::shared_ptr<const Score> make_score(std::string_view name, const AttentionOptions& options,
                                        Rng& rng, DType dtype) {
  if (name == "content") return std::make_shared<ContentScore>(options, dtype);
  if (name == "additive") return std::make_shared<AdditiveScore>(options, rng, dtype);
  if (name == "general") return std::make_shared<GeneralScore>(options, rng, dtype);
  if (name == "dot") return std::make_shared<DotScore>(options);
  if (name == "scaled-dot") return std::make_shared<DotScore>(options, true);
  if (name == "location") return std::make_shared<LocationScore>(options, rng, dtype);
  fail("attention: unknown score `{}`; known are {}", name, fmt::join(score_names(), ", "));
}

}  // namespace regrad
