#pragma once

#include <cstdint>
#include <optional>

#include "autograd/var.h"
#include "ops/ids.h"

// The losses of the catalogue (functions.h): means or sums over what is valid; over nothing they
// are 0 with zero gradients. Padded and ignored positions are not read.
namespace regrad {

struct CrossEntropyOptions {
  double label_smoothing = 0;  // (1 - ε) of the label, ε spread evenly over all classes
  bool mean = true;            // over valid positions, Σ w loss / Σ w; else their sum
  std::optional<std::int32_t> ignore_index = {};  // positions with this label do not count
  Tensor class_weights = {};                      // w [V], by label; none: all 1
};
// logits [T, B, V], labels [T, B]: -log softmax(logits)[label]. Throws Error for a label outside of
// [0, V), naming its position, and for class weights that are not V numbers ≥ 0. Fused: first
// derivatives only.
Var cross_entropy(const Var& logits, const Ids& labels, const Lengths& lengths,
                  const CrossEntropyOptions& options = {});
// logits [..., V], labels [...], all valid.
Var cross_entropy(const Var& logits, const Ids& labels, const CrossEntropyOptions& options = {});

struct NllOptions {
  bool mean = true;  // these are as in CrossEntropyOptions
  std::optional<std::int32_t> ignore_index = {};
  Tensor class_weights = {};
};
// log_p [T, B, V], labels [T, B]: -log_p[label]. A label of weight 0 is not read. Throws Error as
// cross_entropy does.
Var nll(const Var& log_p, const Ids& labels, const Lengths& lengths,
        const NllOptions& options = {});
// log_p [..., V], labels [...], all valid.
Var nll(const Var& log_p, const Ids& labels, const NllOptions& options = {});

// The following take a target of the input's shape, [T, B, ...] where lengths are given, and throw
// Error for another one. Means are over the elements of valid positions.
struct LossOptions {
  bool mean = true;  // else the sum
};
Var mse(const Var& x, const Var& target, const LossOptions& options = {});  // (x - target)²
Var mse(const Var& x, const Var& target, const Lengths& lengths, const LossOptions& options = {});

struct SmoothL1Options {
  double beta = 1;  // 0: |d|
  bool mean = true;
};
// With d = x - target: d² / 2β where |d| < β, else |d| - β/2. Throws Error for β < 0.
Var smooth_l1(const Var& x, const Var& target, const SmoothL1Options& options = {});
Var smooth_l1(const Var& x, const Var& target, const Lengths& lengths,
              const SmoothL1Options& options = {});

struct BceOptions {
  bool mean = true;
  Tensor pos_weight = {};  // w, of a shape that broadcasts to x's; none: 1
};
// -w t log σ(x) - (1 - t) log(1 - σ(x)), finite for any finite x. Throws Error for a target t
// outside of [0, 1], naming its position.
Var bce_with_logits(const Var& x, const Var& target, const BceOptions& options = {});
Var bce_with_logits(const Var& x, const Var& target, const Lengths& lengths,
                    const BceOptions& options = {});

struct KlDivOptions {
  bool log_target = false;  // the target holds log p
  bool mean = true;
};
// Σ p (log p - log_q) over the last axis, with the target p; an entry of p = 0 counts nothing and
// gets no gradient. The mean is over rows, PyTorch's `batchmean`, as one over elements is no
// divergence. Throws Error for a p below 0 or NaN, naming its position.
Var kl_div(const Var& log_q, const Var& target, const KlDivOptions& options = {});
Var kl_div(const Var& log_q, const Var& target, const Lengths& lengths,
           const KlDivOptions& options = {});

}  // namespace regrad
