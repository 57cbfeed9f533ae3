#pragma once

#include <memory>
#include <string_view>

#include "autograd/var.h"
#include "nn/module.h"
#include "ops/ids.h"
#include "ops/rng.h"

namespace regrad {

// What is attended to, prepared once per batch of source sentences.
struct AttentionMemory {
  Var keys;    // [S, B, A]: annotations, projected where the score does so
  Var values;  // [S, B, D]: annotations, zero at padded positions
  Lengths lengths;
};

struct AttentionOutput {
  Var context;  // [B, D]
  Var weights;  // [B, S], each row sums to 1; all zero for a sentence of length 0
};

// weights = softmax over a sentence's valid positions of score(query, key), context = Σ weights
// value.
class Attention : public Module {
 public:
  // annotations [S, B, D], whatever their padding holds.
  AttentionMemory prepare(const Var& annotations, const Lengths& lengths) const;
  // query [B, Q] -> [B, S]; scores of padded positions are ignored.
  virtual Var score(const Var& query, const AttentionMemory& memory) const = 0;
  AttentionOutput operator()(const Var& query, const AttentionMemory& memory) const;

 private:
  virtual Var project(const Var& annotations) const { return annotations; }
};

// vᵀ tanh(W_q q + W_k k) (Bahdanau, Cho and Bengio 2014). Throws Error for a size below 1.
class AdditiveAttention : public Attention {
 public:
  AdditiveAttention(Index query_size, Index key_size, Index attention_size, Rng& rng,
                    DType dtype = DType::f32);

  Var score(const Var& query, const AttentionMemory& memory) const override;
  void visit(Visitor& visitor) const override;

  Parameter query_weight;  // [A, Q]
  Parameter key_weight;    // [A, D]
  Parameter v;             // [A]

 private:
  Var project(const Var& annotations) const override;
};

// qᵀ k (Luong, Pham and Manning 2015). Throws Error when query and keys differ in size.
class DotAttention : public Attention {
 public:
  DotAttention(Index query_size, Index key_size);

  Var score(const Var& query, const AttentionMemory& memory) const override;
  void visit(Visitor& visitor) const override;
};

// By name: `additive` or `dot`. attention_size is that of additive attention's hidden layer. Throws
// Error for an unknown name, listing the known ones.
std::unique_ptr<Attention> make_attention(std::string_view score, Index query_size, Index key_size,
                                          Index attention_size, Rng& rng, DType dtype = DType::f32);

}  // namespace regrad
