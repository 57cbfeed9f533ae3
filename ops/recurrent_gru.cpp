#include "ops/recurrent_steps.h"

namespace regrad::ops {

Gru gru(const Tensor& from_input, const Tensor& h0, const Tensor& weight_hh, const Tensor& bias_hh,
        const Lengths& lengths, bool backward) {
  require_sequence("gru", 3, from_input, h0, weight_hh, bias_hh, lengths);
  Index time = lengths.time(), batch = lengths.batch(), size = h0.shape()[1];
  Gru result{Tensor({time + 1, batch, size}, h0.dtype()),
             Tensor({time, batch, 4 * size}, h0.dtype())};
  visit(h0.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto kernel = simd::kernels<T>().gru;
    const T* x = from_input.data<T>();
    T *h = result.states.mutable_data<T>(), *kept = result.kept.mutable_data<T>();
    set_initial(h0, lengths, backward, h);
    each_step<T>(weight_hh, bias_hh, lengths, backward, {h},
                 [=](Index row, Index before, Index after, const T* hidden) {
                   kernel(x + row * 3 * size, hidden, h + before * size, h + after * size,
                          kept + row * 4 * size, size);
                 });
  });
  return result;
}

GruGradient gru_backward(const Tensor& g, const Gru& saved, const Tensor& weight_hh,
                         const Lengths& lengths, bool backward) {
  Index time = lengths.time(), batch = lengths.batch(), size = weight_hh.shape()[1];
  GruGradient result{Tensor({time, batch, 3 * size}, g.dtype()),
                     Tensor({time, batch, 3 * size}, g.dtype()), zeros({batch, size}, g.dtype())};
  visit(g.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto kernel = simd::kernels<T>().gru_backward;
    const T *kept = saved.kept.data<T>(), *states = saved.states.data<T>();
    T *g_input = result.from_input.mutable_data<T>(), *g_h = result.h0.mutable_data<T>();
    T* g_hidden = result.from_hidden.mutable_data<T>();
    each_step_backward<T>(g.data<T>(), weight_hh, lengths, backward, {g_hidden, g_input}, g_h,
                          [=](Index row, Index before, Index, Index b) {
                            kernel(g_h + b * size, kept + row * 4 * size, states + before * size,
                                   g_input + row * 3 * size, g_hidden + row * 3 * size,
                                   g_h + b * size, size);
                          });
  });
  return result;
}

GruGates gru_gates(const Tensor& from_input, const Tensor& from_hidden, const Tensor& h) {
  require_step("gru_gates", 3, from_input, from_hidden, h);
  Index batch = h.shape()[0], size = h.shape()[1];
  GruGates result{Tensor(h.shape(), h.dtype()), Tensor({batch, 4 * size}, h.dtype())};
  visit(h.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T *next = result.h.mutable_data<T>(), *kept = result.kept.mutable_data<T>();
    for (Index b = 0; b < batch; ++b) {
      simd::kernels<T>().gru(from_input.data<T>() + b * 3 * size,
                             from_hidden.data<T>() + b * 3 * size, h.data<T>() + b * size,
                             next + b * size, kept + b * 4 * size, size);
    }
  });
  return result;
}

GruGatesGradient gru_gates_backward(const Tensor& g, const Tensor& kept, const Tensor& h) {
  Index batch = h.shape()[0], size = h.shape()[1];
  GruGatesGradient result{Tensor({batch, 3 * size}, h.dtype()),
                          Tensor({batch, 3 * size}, h.dtype()), Tensor(h.shape(), h.dtype())};
  visit(h.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T *g_input = result.from_input.mutable_data<T>(), *g_h = result.h.mutable_data<T>();
    T* g_hidden = result.from_hidden.mutable_data<T>();
    for (Index b = 0; b < batch; ++b) {
      simd::kernels<T>().gru_backward(g.data<T>() + b * size, kept.data<T>() + b * 4 * size,
                                      h.data<T>() + b * size, g_input + b * 3 * size,
                                      g_hidden + b * 3 * size, g_h + b * size, size);
    }
  });
  return result;
}

}  // namespace regrad::ops
