#include "ops/softmax.h"

#include <algorithm>

#include "ops/simd/kernels.h"

namespace regrad::ops {

Tensor softmax(const Tensor& x, const Lengths* lengths) {
  if (x.rank() < (lengths ? 2 : 1)) {
    fail("softmax: shape {} has no rows{}", x.shape(), lengths ? " [..., batch, time]" : "");
  }
  if (lengths) require_lengths(*lengths, x.shape()[-1], x.shape()[-2], "softmax");
  Tensor y(x.shape(), x.dtype());
  Index n = x.shape()[-1], rows = x.shape().product(0, x.rank() - 1);
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    for (Index row = 0; row < rows; ++row, in += n, out += n) {
      Index valid = lengths ? (*lengths)[row % lengths->batch()] : n;
      simd::kernels<T>().softmax(in, out, valid);
      std::fill(out + valid, out + n, T(0));
    }
  });
  return y;
}

Tensor log_softmax(const Tensor& x) {
  if (x.rank() < 1) fail("log_softmax: shape {} has no rows", x.shape());
  Tensor y(x.shape(), x.dtype());
  Index n = x.shape()[-1], rows = x.shape().product(0, x.rank() - 1);
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto& kernels = simd::kernels<T>();
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    for (Index row = 0; n > 0 && row < rows; ++row, in += n, out += n) {
      double normaliser = kernels.log_sum_exp(in, n);
      T high = static_cast<T>(normaliser), low = static_cast<T>(normaliser - high);
      kernels.affine(in, T(1), -high, out, n);
      kernels.affine(out, T(1), -low, out, n);
    }
  });
  return y;
}

namespace {

void require_labels(const Tensor& logits, const Ids& labels, const Lengths* lengths,
                    double label_smoothing) {
  if (logits.rank() < 1 || !(logits.shape().without(-1) == labels.shape())) {
    fail("cross_entropy: logits {} do not fit labels {}; the last axis holds the classes",
         logits.shape(), labels.shape());
  }
  if (lengths) {
    if (labels.shape().rank() != 2) {
      fail("cross_entropy: labels {} with lengths are [time, batch]", labels.shape());
    }
    require_lengths(*lengths, labels.shape()[0], labels.shape()[1], "cross_entropy");
  }
  if (!(label_smoothing >= 0 && label_smoothing < 1)) {
    fail("cross_entropy: label smoothing {} is outside of [0, 1)", label_smoothing);
  }
}

bool valid(const Lengths* lengths, Index position) {
  return !lengths || lengths->valid(position / lengths->batch(), position % lengths->batch());
}

}  // namespace

CrossEntropy cross_entropy(const Tensor& logits, const Ids& labels, const Lengths* lengths,
                           double label_smoothing) {
  require_labels(logits, labels, lengths, label_smoothing);
  Index classes = logits.shape()[-1];
  Tensor log_normaliser = zeros({labels.size()}, DType::f64);
  double total = 0;
  visit(logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    double* normalisers = log_normaliser.mutable_data<double>();
    for (Index i = 0; i < labels.size(); ++i) {
      if (!valid(lengths, i)) continue;
      Index label = labels[i];
      if (label < 0 || label >= classes) {
        fail("cross_entropy: label {} at position {} of labels {} is outside of the {} classes",
             label, i, labels.shape(), classes);
      }
      const T* row = logits.data<T>() + i * classes;
      normalisers[i] = simd::kernels<T>().log_sum_exp(row, classes);
      total += (1 - label_smoothing) * (normalisers[i] - row[label]);
      if (label_smoothing > 0) {
        double mean = static_cast<double>(simd::kernels<T>().sum(row, classes)) /
                      static_cast<double>(classes);
        total += label_smoothing * (normalisers[i] - mean);
      }
    }
  });
  return {scalar(total, logits.dtype()), log_normaliser};
}

Tensor cross_entropy_backward(const Tensor& logits, const Ids& labels, const Lengths* lengths,
                              double label_smoothing, const Tensor& log_normaliser, double factor) {
  Tensor gradient(logits.shape(), logits.dtype());
  Index classes = logits.shape()[-1];
  visit(logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto& kernels = simd::kernels<T>();
    T* out = gradient.mutable_data<T>();
    for (Index i = 0; i < labels.size(); ++i, out += classes) {
      if (!valid(lengths, i)) {
        std::fill_n(out, classes, T(0));
        continue;
      }
      kernels.exp_minus(logits.data<T>() + i * classes, log_normaliser.data<double>()[i],
                        static_cast<T>(factor), out, classes);
      if (label_smoothing > 0) {
        kernels.affine(out, T(1),
                       static_cast<T>(-factor * label_smoothing / static_cast<double>(classes)),
                       out, classes);
      }
      out[labels[i]] -= static_cast<T>(factor * (1 - label_smoothing));
    }
  });
  return gradient;
}

}  // namespace regrad::ops
