#include "ops/recurrent_steps.h"

namespace regrad::ops {

Lstm lstm(const Tensor& from_input, const Tensor& h0, const Tensor& c0, const Tensor& weight_hh,
          const Tensor& bias_hh, const Lengths& lengths, bool backward) {
  require_sequence("lstm", 4, from_input, h0, weight_hh, bias_hh, lengths);
  require_same_dtype(from_input, c0, "lstm");
  require_shape("lstm", "the initial cell", c0, h0.shape());
  Index time = lengths.time(), batch = lengths.batch(), size = h0.shape()[1];
  Lstm result{Tensor({time + 2, batch, size}, h0.dtype()),
              Tensor({time + 1, batch, size}, h0.dtype()),
              Tensor({time, batch, 5 * size}, h0.dtype())};
  visit(h0.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto kernel = simd::kernels<T>().lstm;
    const T* x = from_input.data<T>();
    T *states = result.states.mutable_data<T>(), *c = result.cells.mutable_data<T>();
    T *h = states + (backward ? c0.size() : 0), *kept = result.kept.mutable_data<T>();
    set_initial(h0, lengths, backward, h);
    set_initial(c0, lengths, backward, c);
    each_step<T>(weight_hh, bias_hh, lengths, backward, {h, c},
                 [=](Index row, Index before, Index after, const T* hidden) {
                   kernel(x + row * 4 * size, hidden, c + before * size, h + after * size,
                          c + after * size, kept + row * 5 * size, size);
                 });
    std::copy_n(c + (backward ? 0 : time * c0.size()), c0.size(),
                states + (backward ? 0 : (time + 1) * c0.size()));
  });
  return result;
}

LstmGradient lstm_backward(const Tensor& g, const Lstm& saved, const Tensor& weight_hh,
                           const Lengths& lengths, bool backward) {
  Index time = lengths.time(), batch = lengths.batch(), size = weight_hh.shape()[1];
  LstmGradient result{Tensor({time, batch, 4 * size}, g.dtype()), zeros({batch, size}, g.dtype()),
                      g[backward ? 0 : time].clone()};
  visit(g.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto kernel = simd::kernels<T>().lstm_backward;
    const T *kept = saved.kept.data<T>(), *c = saved.cells.data<T>();
    T *g_gates = result.gates.mutable_data<T>(), *g_h = result.h0.mutable_data<T>();
    T* g_c = result.c0.mutable_data<T>();
    each_step_backward<T>(g.data<T>() + (backward ? batch * size : 0), weight_hh, lengths, backward,
                          {g_gates}, g_h, [=](Index row, Index before, Index, Index b) {
                            kernel(g_h + b * size, g_c + b * size, kept + row * 5 * size,
                                   c + before * size, g_gates + row * 4 * size, g_c + b * size,
                                   size);
                            std::fill_n(g_h + b * size, size, T(0));
                          });
  });
  return result;
}

LstmGates lstm_gates(const Tensor& from_input, const Tensor& from_hidden, const Tensor& c) {
  require_step("lstm_gates", 4, from_input, from_hidden, c);
  Index batch = c.shape()[0], size = c.shape()[1];
  LstmGates result{Tensor({2, batch, size}, c.dtype()), Tensor({batch, 5 * size}, c.dtype())};
  visit(c.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T *h = result.states.mutable_data<T>(), *kept = result.kept.mutable_data<T>();
    for (Index b = 0; b < batch; ++b) {
      simd::kernels<T>().lstm(from_input.data<T>() + b * 4 * size,
                              from_hidden.data<T>() + b * 4 * size, c.data<T>() + b * size,
                              h + b * size, h + (batch + b) * size, kept + b * 5 * size, size);
    }
  });
  return result;
}

LstmGatesGradient lstm_gates_backward(const Tensor& g, const Tensor& kept, const Tensor& c) {
  Index batch = c.shape()[0], size = c.shape()[1];
  LstmGatesGradient result{Tensor({batch, 4 * size}, c.dtype()), Tensor(c.shape(), c.dtype())};
  visit(c.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* g_h = g.data<T>();
    T *g_gates = result.gates.mutable_data<T>(), *g_c = result.c.mutable_data<T>();
    for (Index b = 0; b < batch; ++b) {
      simd::kernels<T>().lstm_backward(g_h + b * size, g_h + (batch + b) * size,
                                       kept.data<T>() + b * 5 * size, c.data<T>() + b * size,
                                       g_gates + b * 4 * size, g_c + b * size, size);
    }
  });
  return result;
}

}  // namespace regrad::ops
