#pragma once

#include "nn/dropout.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/module.h"
#include "nn/multihead_attention.h"

namespace regrad {

enum class Activation { relu, gelu };

struct TransformerOptions {
  Index feed_forward = 2048;  // hidden units
  double dropout = 0.1;       // of attention weights, of hidden units and of what each part adds
  Activation activation = Activation::relu;
  bool norm_first = false;  // x + f(norm(x)) (Xiong et al. 2020) in place of norm(x + f(x))
  double epsilon = 1e-5;    // of the norms
};

// What encoder and decoder layers share: self-attention and max(0, x W1 + b1) W2 + b2, each within
// a residual connection with a norm and dropout (Vaswani et al. 2017).
struct TransformerLayer : Module {
  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
  Dropout dropout;
  Activation activation;
  bool norm_first;

 protected:
  TransformerLayer(Index size, Index heads, Rng& rng, DType dtype,
                   const TransformerOptions& options);

  Var feed_forward(const Var& x, Rng* rng) const;
  // f within its residual connection.
  template <class F>
  Var residual(const Var& x, const LayerNorm& norm, Rng* rng, const F& f) const {
    return norm_first ? x + dropout(f(norm(x)), rng) : norm(x + dropout(f(x), rng));
  }
};

// Named as in PyTorch: self_attn, linear1, linear2, norm1, norm2.
struct TransformerEncoderLayer : TransformerLayer {
  // Throws Error for a size below 1 and one that does not fall into equal heads.
  TransformerEncoderLayer(Index size, Index heads, Rng& rng, DType dtype = DType::f32,
                          const TransformerOptions& options = {});

  // x [T, B, E], whatever its padding holds -> [T, B, E], zeros where padded.
  Var operator()(const Var& x, const Lengths& lengths, Rng* rng = nullptr) const;
  // The same for a stack: x is finite where padded, and so is the result.
  Var run(const Var& x, const Lengths& lengths, Rng* rng) const;
  void visit(Visitor& visitor) const override;
};

struct DecoderLayerOutput {
  Var output;   // [T, B, E]
  Var weights;  // [B, heads, T, S] over the memory
};

// Named as in PyTorch: self_attn, multihead_attn (over the memory), linear1, linear2, norm1, norm2,
// norm3.
struct TransformerDecoderLayer : TransformerLayer {
  // Throws Error for a size below 1 and one that does not fall into equal heads.
  TransformerDecoderLayer(Index size, Index heads, Rng& rng, DType dtype = DType::f32,
                          const TransformerOptions& options = {});

  // x [T, B, E] and the encoder's output [S, B, E], whatever their padding holds; step t sees the
  // steps up to t. The output is zero where padded.
  DecoderLayerOutput operator()(const Var& x, const Lengths& lengths, const Var& memory,
                                const Lengths& memory_lengths, Rng* rng = nullptr) const;
  // The same for a stack: x is finite where padded, and so is the result; the memory is projected.
  DecoderLayerOutput run(const Var& x, const Lengths& lengths, const KeysValues& memory,
                         Rng* rng) const;
  // One step x [1, B, E] behind those whose keys and values are `past` [B, t, E], which it extends.
  DecoderLayerOutput step(const Var& x, KeysValues& past, const KeysValues& memory, Rng* rng) const;
  void visit(Visitor& visitor) const override;

  MultiheadAttention multihead_attn;
  LayerNorm norm3;

 private:
  // attend(normed x) is the self-attention.
  template <class F>
  DecoderLayerOutput apply(const Var& x, const KeysValues& memory, Rng* rng, const F& attend) const;
};

}  // namespace regrad
