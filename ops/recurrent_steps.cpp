#include "ops/recurrent_steps.h"

namespace regrad::ops {

void require_shape(std::string_view operation, std::string_view what, const Tensor& x,
                   const Shape& wanted) {
  if (!(x.shape() == wanted)) {
    fail("{}: {} has shape {}, not {}", operation, what, x.shape(), wanted);
  }
}

void require_sequence(std::string_view operation, Index blocks, const Tensor& from_input,
                      const Tensor& h0, const Tensor& weight_hh, const Tensor& bias_hh,
                      const Lengths& lengths) {
  for (const Tensor* x : {&h0, &weight_hh, &bias_hh}) {
    require_same_dtype(from_input, *x, operation);
  }
  if (weight_hh.rank() != 2) {
    fail("{}: weight_hh has shape {}, not [{}H, H]", operation, weight_hh.shape(), blocks);
  }
  Index size = weight_hh.shape()[1];
  require_shape(operation, "weight_hh", weight_hh, {blocks * size, size});
  require_shape(operation, "bias_hh", bias_hh, {blocks * size});
  require_shape(operation, "the initial state", h0, {lengths.batch(), size});
  require_shape(operation, "the input part of the gates", from_input,
                {lengths.time(), lengths.batch(), blocks * size});
}

void require_step(std::string_view operation, Index blocks, const Tensor& from_input,
                  const Tensor& from_hidden, const Tensor& state) {
  require_same_dtype(from_input, from_hidden, operation);
  require_same_dtype(from_input, state, operation);
  if (state.rank() != 2) {
    fail("{}: the state has shape {}, not [batch, size]", operation, state.shape());
  }
  Shape gates{state.shape()[0], blocks * state.shape()[1]};
  require_shape(operation, "the input part of the gates", from_input, gates);
  require_shape(operation, "the hidden part of the gates", from_hidden, gates);
}

}  // namespace regrad::ops
