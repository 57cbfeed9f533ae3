#pragma once

#include <optional>
#include <vector>

#include "nn/transformer_layers.h"

namespace regrad {

struct TransformerStackOptions {
  Index layers = 6;
  bool final_norm = false;  // behind the last layer, as pre-norm layers need it
  TransformerOptions layer = {};
};

// Layers on top of each other, named as in PyTorch: layers.0.self_attn.in_proj_weight, …,
// norm.weight. There are no embeddings and positions here: they come before (positions.h).
struct TransformerEncoder : Module {
  // Throws Error for a size below 1 and one that does not fall into equal heads.
  TransformerEncoder(Index size, Index heads, Rng& rng, DType dtype = DType::f32,
                     const TransformerStackOptions& options = {});

  // x [T, B, E], whatever its padding holds -> [T, B, E], zeros where padded. Without a generator
  // there is no dropout.
  Var operator()(const Var& x, const Lengths& lengths, Rng* rng = nullptr) const;
  void visit(Visitor& visitor) const override;

  std::vector<TransformerEncoderLayer> layers;
  std::optional<LayerNorm> norm;
};

struct TransformerDecoderOutput {
  Var output;                // [T, B, E]; of a single step [B, E]
  std::vector<Var> weights;  // of each layer over the memory, [B, heads, T, S]; or [B, heads, S]
};

// What decoding step by step carries along: the memory's lengths [B], then of each layer the keys
// and values [B, t, E] of the steps so far and those [B, S, E] of the memory. The batch is the
// first axis of each, so that sentences can be reordered, repeated and dropped as any rows.
using TransformerCache = std::vector<Var>;

struct TransformerDecoder : Module {
  // Throws Error for a size below 1 and one that does not fall into equal heads.
  TransformerDecoder(Index size, Index heads, Rng& rng, DType dtype = DType::f32,
                     const TransformerStackOptions& options = {});

  // All steps at once, x [T, B, E] over the encoder's output [S, B, E], whatever their padding
  // holds; step t sees the steps up to t. The output is zero where padded.
  TransformerDecoderOutput operator()(const Var& x, const Lengths& lengths, const Var& memory,
                                      const Lengths& memory_lengths, Rng* rng = nullptr) const;
  // The cache before the first step: the memory's keys and values are computed here, once. Throws
  // Error for lengths of another time or batch.
  TransformerCache start(const Var& memory, const Lengths& memory_lengths) const;
  // The next step, x [B, E], which extends the cache; equal to that step of the whole. Throws Error
  // for a cache that is not of such a decoder and batch.
  TransformerDecoderOutput step(const Var& x, TransformerCache& cache, Rng* rng = nullptr) const;
  void visit(Visitor& visitor) const override;

  std::vector<TransformerDecoderLayer> layers;
  std::optional<LayerNorm> norm;
};

}  // namespace regrad
