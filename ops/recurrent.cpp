#include "ops/recurrent.h"

#include <algorithm>

#include "ops/matmul.h"
#include "ops/simd/kernels.h"

namespace regrad::ops {
namespace {

void require_shape(const Tensor& x, const Shape& wanted, std::string_view what) {
  if (!(x.shape() == wanted)) fail("gru: {} has shape {}, not {}", what, x.shape(), wanted);
}

// Rows of the step at time t, and of its state before and after.
struct StepRows {
  Index step, before, after;
  StepRows(Index t, Index batch, bool backward)
      : step(t * batch),
        before((backward ? t + 1 : t) * batch),
        after((backward ? t : t + 1) * batch) {}
};

template <class T>
void gru_steps(const Tensor& from_input, const Tensor& weight_hh, const Tensor& bias_hh,
               const Lengths& lengths, bool backward, Gru& result) {
  auto kernel = simd::kernels<T>().gru;
  Index time = lengths.time(), batch = lengths.batch(), size = weight_hh.shape()[1];
  Tensor from_hidden({batch, 3 * size}, dtype_of<T>());
  T *hidden = from_hidden.mutable_data<T>(), *states = result.states.mutable_data<T>();
  T* kept = result.kept.mutable_data<T>();
  for (Index i = 0; i < time; ++i) {
    StepRows rows(backward ? time - 1 - i : i, batch, backward);
    const T* h = states + rows.before * size;
    T* h_next = states + rows.after * size;
    for (Index b = 0; b < batch; ++b) {
      std::copy_n(bias_hh.data<T>(), 3 * size, hidden + b * 3 * size);
    }
    gemm(NoTrans, Trans, batch, 3 * size, size, h, size, weight_hh.data<T>(), size, T(1), hidden,
         3 * size);
    for (Index b = 0; b < batch; ++b) {
      if (!lengths.valid(rows.step / batch, b)) {
        std::copy_n(h + b * size, size, h_next + b * size);
        continue;
      }
      kernel(from_input.data<T>() + (rows.step + b) * 3 * size, hidden + b * 3 * size, h + b * size,
             h_next + b * size, kept + (rows.step + b) * 4 * size, size);
    }
  }
}

template <class T>
void gru_backward_steps(const Tensor& g, const Gru& saved, const Tensor& weight_hh,
                        const Lengths& lengths, bool backward, GruGradient& result) {
  auto& kernels = simd::kernels<T>();
  Index time = lengths.time(), batch = lengths.batch(), size = weight_hh.shape()[1];
  Tensor carried = result.h0;  // gradient of the state behind the step at hand
  T* g_h = carried.mutable_data<T>();
  T *g_input = result.from_input.mutable_data<T>(),
    *g_hidden = result.from_hidden.mutable_data<T>();
  for (Index i = 0; i < time; ++i) {
    StepRows rows(backward ? i : time - 1 - i, batch, backward);
    kernels.accumulate(g_h, g.data<T>() + rows.step * size, T(1), batch * size);
    for (Index b = 0; b < batch; ++b) {
      Index row = rows.step + b;
      if (!lengths.valid(rows.step / batch, b)) {
        std::fill_n(g_input + row * 3 * size, 3 * size, T(0));
        std::fill_n(g_hidden + row * 3 * size, 3 * size, T(0));
        continue;
      }
      kernels.gru_backward(g_h + b * size, saved.kept.data<T>() + row * 4 * size,
                           saved.states.data<T>() + (rows.before + b) * size,
                           g_input + row * 3 * size, g_hidden + row * 3 * size, g_h + b * size,
                           size);
    }
    gemm(NoTrans, NoTrans, batch, size, 3 * size, g_hidden + rows.step * 3 * size, 3 * size,
         weight_hh.data<T>(), size, T(1), g_h, size);
  }
  result.h0 = carried;
}

}  // namespace

GruGates gru_gates(const Tensor& from_input, const Tensor& from_hidden, const Tensor& h) {
  require_same_dtype(from_input, from_hidden, "gru_gates");
  require_same_dtype(from_input, h, "gru_gates");
  if (h.rank() != 2) fail("gru_gates: the state has shape {}, not [batch, size]", h.shape());
  Index batch = h.shape()[0], size = h.shape()[1];
  require_shape(from_input, {batch, 3 * size}, "the input part of the gates");
  require_shape(from_hidden, {batch, 3 * size}, "the hidden part of the gates");
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

Gru gru(const Tensor& from_input, const Tensor& h0, const Tensor& weight_hh, const Tensor& bias_hh,
        const Lengths& lengths, bool backward) {
  for (const Tensor* x : {&h0, &weight_hh, &bias_hh}) require_same_dtype(from_input, *x, "gru");
  if (weight_hh.rank() != 2) fail("gru: weight_hh has shape {}, not [3H, H]", weight_hh.shape());
  Index time = lengths.time(), batch = lengths.batch(), size = weight_hh.shape()[1];
  require_shape(weight_hh, {3 * size, size}, "weight_hh");
  require_shape(bias_hh, {3 * size}, "bias_hh");
  require_shape(h0, {batch, size}, "the initial state");
  require_shape(from_input, {time, batch, 3 * size}, "the input part of the gates");
  Gru result{Tensor({time + 1, batch, size}, h0.dtype()),
             Tensor({time, batch, 4 * size}, h0.dtype())};
  visit(h0.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::copy_n(h0.data<T>(), h0.size(),
                result.states.mutable_data<T>() + (backward ? time * batch * size : 0));
    gru_steps<T>(from_input, weight_hh, bias_hh, lengths, backward, result);
  });
  return result;
}

GruGradient gru_backward(const Tensor& g, const Gru& saved, const Tensor& weight_hh,
                         const Lengths& lengths, bool backward) {
  Index time = lengths.time(), batch = lengths.batch(), size = weight_hh.shape()[1];
  GruGradient result{Tensor({time, batch, 3 * size}, g.dtype()),
                     Tensor({time, batch, 3 * size}, g.dtype()), zeros({batch, size}, g.dtype())};
  visit(g.dtype(), [&](auto zero) {
    gru_backward_steps<decltype(zero)>(g, saved, weight_hh, lengths, backward, result);
  });
  return result;
}

}  // namespace regrad::ops
