#pragma once

#include "autograd/functions.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/module.h"
#include "ops/ids.h"
#include "ops/rng.h"

namespace regrad {

struct MultiheadOptions {
  double dropout = 0;                  // of weights
  Index key_size = 0, value_size = 0;  // 0: that of the queries
  Bias bias = Bias::yes;
};

// How a layer attends in one call; without a generator there is no dropout.
struct AttendOptions {
  bool causal = false;  // query t sees the keys s ≤ t + (S - T)
  Rng* rng = nullptr;
};

// Projected keys and values [S, B, E], or [B, S, E].
struct KeysValues {
  Var keys, values;
  Lengths lengths;
  KeyOrder order = KeyOrder::time_first;
};
struct ProjectedSelf {
  Var queries, keys, values;  // [T, B, E]
};

struct MultiheadOutput {
  Var output;   // [T, B, E]
  Var weights;  // [B, heads, T, S] without dropout; their mean over axis 1 is what PyTorch returns
};

// Multi-head attention (Vaswani et al. 2017): heads of size E / heads attend by scaled dot products
// of projected queries and keys; what they find is projected once more. Padded keys, whatever they
// hold, change nothing; a query without any key gets out_proj's bias. Named as in PyTorch:
// in_proj_weight, or q_proj_weight, k_proj_weight and v_proj_weight where sizes differ,
// in_proj_bias, out_proj.weight, out_proj.bias.
struct MultiheadAttention : Module {
  // Throws Error for a size below 1 and one that does not fall into equal heads.
  MultiheadAttention(Index size, Index heads, Rng& rng, DType dtype = DType::f32,
                     const MultiheadOptions& options = {});

  // Self-attention over x [T, B, E]; at padded positions the output is finite.
  MultiheadOutput operator()(const Var& x, const Lengths& lengths,
                             const AttendOptions& options = {}) const;
  // query [T, B, E], key [S, B, key_size], value [S, B, value_size]; lengths are those of the keys.
  MultiheadOutput operator()(const Var& query, const Var& key, const Var& value,
                             const Lengths& lengths, const AttendOptions& options = {}) const;

  // The parts, for callers that keep keys and values. Their inputs are finite at padded positions.
  ProjectedSelf project_self(const Var& x) const;
  Var project_query(const Var& query) const;
  KeysValues project_memory(const Var& memory, const Lengths& lengths) const;
  MultiheadOutput attend(const Var& projected_query, const KeysValues& memory,
                         const AttendOptions& options = {}) const;
  void visit(Visitor& visitor) const override;

  Index heads;
  Dropout dropout;
  Parameter in_proj_weight;  // [3E, E]: query, key, value; or empty and
  Parameter q_proj_weight, k_proj_weight, v_proj_weight;  // [E, E], [E, key_size], [E, value_size]
  Parameter in_proj_bias;                                 // [3E]; empty without biases
  Linear out_proj;

 private:
  // The projection to blocks [first, last) of query, key, value; one block where not packed.
  Var project(const Var& x, Index first, Index last) const;
};

}  // namespace regrad
