#pragma once

#include <functional>
#include <span>
#include <vector>

#include "autograd/functions.h"

// The gradient-check table: one row per function of functions.h and case, by family.
namespace regrad::testing {

using Inputs = std::vector<Tensor>;
using Function = std::function<Var(std::span<const Var>)>;

struct Row {
  const char* name;  // the function's, then what is special about the case
  Inputs inputs;
  Function f;
  bool any_order = true;  // fused operations have first derivatives only
};

std::vector<Row> elementwise_rows();
std::vector<Row> activation_rows();
std::vector<Row> reductions_rows();
std::vector<Row> linear_algebra_rows();
std::vector<Row> movement_rows();
std::vector<Row> convolution_rows();
std::vector<Row> normalised_rows();
std::vector<Row> losses_rows();
std::vector<Row> recurrent_rows();
std::vector<Row> attention_rows();
std::vector<Row> self_attention_rows();
std::vector<Row> all_rows();     // these together
std::vector<Row> golden_rows();  // more callables that golden values are for, without inputs

// all_rows() begins it anew for every family, so that no row's numbers depend on another family's:
// near-ties in a maximum, say, would have no numeric derivative.
inline Rng row_numbers(11);

inline Tensor random(const Shape& shape, double low = -2, double high = 2) {
  return uniform(shape, low, high, row_numbers, DType::f64);
}

inline const Lengths uneven({3, 0, 1}, 4);

}  // namespace regrad::testing
