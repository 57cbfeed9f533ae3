#include "ops/recurrent_steps.h"

namespace regrad::ops {

Tensor rnn(Nonlinearity f, const Tensor& from_input, const Tensor& h0, const Tensor& weight_hh,
           const Tensor& bias_hh, const Lengths& lengths, bool backward) {
  require_sequence("rnn", 1, from_input, h0, weight_hh, bias_hh, lengths);
  Index size = h0.shape()[1];
  Tensor states({lengths.time() + 1, lengths.batch(), size}, h0.dtype());
  visit(h0.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto kernel = simd::kernels<T>().rnn;
    const T* x = from_input.data<T>();
    T* h = states.mutable_data<T>();
    set_initial(h0, lengths, backward, h);
    each_step<T>(weight_hh, bias_hh, lengths, backward, {h},
                 [=](Index row, Index, Index after, const T* hidden) {
                   kernel(f, x + row * size, hidden, h + after * size, size);
                 });
  });
  return states;
}

RnnGradient rnn_backward(Nonlinearity f, const Tensor& g, const Tensor& states,
                         const Tensor& weight_hh, const Lengths& lengths, bool backward) {
  Index time = lengths.time(), batch = lengths.batch(), size = weight_hh.shape()[1];
  RnnGradient result{Tensor({time, batch, size}, g.dtype()), zeros({batch, size}, g.dtype())};
  visit(g.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto kernel = simd::kernels<T>().rnn_backward;
    const T* h = states.data<T>();
    T *g_gates = result.gates.mutable_data<T>(), *g_h = result.h0.mutable_data<T>();
    each_step_backward<T>(g.data<T>(), weight_hh, lengths, backward, {g_gates}, g_h,
                          [=](Index row, Index, Index after, Index b) {
                            kernel(f, g_h + b * size, h + after * size, g_gates + row * size, size);
                            std::fill_n(g_h + b * size, size, T(0));
                          });
  });
  return result;
}

Tensor rnn_gates(Nonlinearity f, const Tensor& from_input, const Tensor& from_hidden) {
  require_step("rnn_gates", 1, from_input, from_hidden, from_input);
  Tensor next(from_input.shape(), from_input.dtype());
  visit(next.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::kernels<T>().rnn(f, from_input.data<T>(), from_hidden.data<T>(), next.mutable_data<T>(),
                           next.size());
  });
  return next;
}

Tensor rnn_gates_backward(Nonlinearity f, const Tensor& g, const Tensor& h_next) {
  Tensor result(g.shape(), g.dtype());
  visit(g.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::kernels<T>().rnn_backward(f, g.data<T>(), h_next.data<T>(), result.mutable_data<T>(),
                                    g.size());
  });
  return result;
}

}  // namespace regrad::ops
