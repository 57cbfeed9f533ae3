#include "nn/attention.h"

#include "autograd/functions.h"
#include "nn/init.h"
#include "nn/sizes.h"

namespace regrad {

AttentionMemory Attention::prepare(const Var& annotations, const Lengths& lengths) const {
  // 0 · NaN is NaN: padding must be gone before a weight or gradient of zero meets it.
  const Var values = lengths.has_padding() ? masked_fill(annotations, lengths, 0) : annotations;
  return {project(values), values, lengths};
}

AttentionOutput Attention::operator()(const Var& query, const AttentionMemory& memory) const {
  const Var weights = softmax(score(query, memory), memory.lengths);
  return {weighted_sum(weights, memory.values, memory.lengths), weights};
}

AdditiveAttention::AdditiveAttention(Index query_size, Index key_size, Index attention_size,
                                     Rng& rng, DType dtype) {
  require_size("additive attention", "query size", query_size);
  require_size("additive attention", "key size", key_size);
  require_size("additive attention", "attention size", attention_size);
  query_weight = Parameter(init::uniform_fan({attention_size, query_size}, query_size, rng, dtype));
  key_weight = Parameter(init::uniform_fan({attention_size, key_size}, key_size, rng, dtype));
  v = Parameter(init::uniform_fan({attention_size}, attention_size, rng, dtype));
}

Var AdditiveAttention::project(const Var& annotations) const {
  return linear(annotations, key_weight);
}

Var AdditiveAttention::score(const Var& query, const AttentionMemory& memory) const {
  return additive_score(linear(query, query_weight), memory.keys, v, memory.lengths);
}

void AdditiveAttention::visit(Visitor& visitor) const {
  visitor("query_weight", query_weight);
  visitor("key_weight", key_weight);
  visitor("v", v);
}

DotAttention::DotAttention(Index query_size, Index key_size) {
  require_size("dot attention", "query size", query_size);
  require_size("dot attention", "key size", key_size);
  if (query_size != key_size) {
    fail(
        "dot attention: the query has size {} and the keys {}; make them equal or use the score "
        "`additive`, which projects both",
        query_size, key_size);
  }
}

Var DotAttention::score(const Var& query, const AttentionMemory& memory) const {
  return dot_score(query, memory.keys, memory.lengths);
}

void DotAttention::visit(Visitor&) const {}

std::unique_ptr<Attention> make_attention(std::string_view score, Index query_size, Index key_size,
                                          Index attention_size, Rng& rng, DType dtype) {
  if (score == "additive") {
    return std::make_unique<AdditiveAttention>(query_size, key_size, attention_size, rng, dtype);
  }
  if (score == "dot") return std::make_unique<DotAttention>(query_size, key_size);
  fail("attention: unknown score `{}`; known are additive, dot", score);
}

}  // namespace regrad
