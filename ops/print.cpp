#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ops/tensor.h"

namespace regrad {
namespace {

constexpr Index edge_items = 3;
constexpr Index summarise_above = 1000;

// The shortest decimal that reads back as the same number, cut to eight decimals.
std::string digits(double value, DType dtype, bool scientific) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (scientific) {
    std::string text = fmt::format("{:.8e}", value);
    auto exponent = text.find('e');
    auto last = text.find_last_not_of('0', exponent - 1);
    return text.erase(last + 1, exponent - last - 1);
  }
  std::string text =
      dtype == DType::f32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find('e') != std::string::npos) text = fmt::format("{:.8f}", value);
  auto point = text.find('.');
  if (point == std::string::npos) return text + ".";
  if (text.size() - point - 1 > 8) text = fmt::format("{:.8f}", value);
  text.erase(std::max(text.find_last_not_of('0'), point) + 1);
  return text;
}

class Printer {
 public:
  explicit Printer(const Tensor& tensor)
      : tensor_(tensor), values_(tensor.to_vector()), summary_(tensor.size() > summarise_above) {
    double largest = 0, smallest = INFINITY;
    visit_shown(0, 0, [&](double v) {
      if (v == 0 || !std::isfinite(v)) return;
      largest = std::max(largest, std::fabs(v));
      smallest = std::min(smallest, std::fabs(v));
    });
    scientific_ = largest > 0 && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1e8);
    visit_shown(0, 0, [&](double v) {
      std::string text = digits(v, tensor_.dtype(), scientific_);
      if (!std::isfinite(v)) return void(width_ = std::max(width_, text.size()));
      std::size_t point = std::min(text.find('.'), text.size());
      before_ = std::max(before_, point);
      after_ = std::max(after_, text.size() - point);
    });
    width_ = std::max(width_, before_ + after_);
  }

  std::string print(int axis, Index offset) const {
    if (axis == tensor_.rank()) return element(values_[static_cast<std::size_t>(offset)]);
    std::string text = "[";
    Index n = tensor_.shape()[axis], stride = tensor_.shape().product(axis + 1, tensor_.rank());
    std::string separator = " ";
    if (axis + 1 < tensor_.rank()) {
      separator = std::string(static_cast<std::size_t>(tensor_.rank() - axis - 1), '\n') +
                  std::string(static_cast<std::size_t>(axis + 1), ' ');
    }
    for (Index i = 0; i < n; ++i) {
      if (i) text += separator;
      if (skips(n, i)) {
        text += "...";
        i = n - edge_items - 1;
      } else {
        text += print(axis + 1, offset + i * stride);
      }
    }
    return text + "]";
  }

 private:
  bool skips(Index n, Index i) const { return summary_ && n > 2 * edge_items && i == edge_items; }

  template <class F>
  void visit_shown(int axis, Index offset, const F& f) const {
    if (axis == tensor_.rank()) return f(values_[static_cast<std::size_t>(offset)]);
    Index n = tensor_.shape()[axis], stride = tensor_.shape().product(axis + 1, tensor_.rank());
    for (Index i = 0; i < n; ++i) {
      if (skips(n, i)) i = n - edge_items;
      visit_shown(axis + 1, offset + i * stride, f);
    }
  }

  std::string element(double value) const {
    std::string text = digits(value, tensor_.dtype(), scientific_);
    if (tensor_.rank() == 0) return text.back() == '.' ? text + "0" : text;
    if (std::isfinite(value)) {
      std::size_t point = std::min(text.find('.'), text.size());
      text += std::string(after_ - (text.size() - point), ' ');
    }
    return std::string(width_ - std::min(width_, text.size()), ' ') + text;
  }

  const Tensor& tensor_;
  std::vector<double> values_;
  bool summary_;
  bool scientific_ = false;
  std::size_t before_ = 0, after_ = 0, width_ = 0;
};

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (tensor.size() > 0) return Printer(tensor).print(0, 0);
  return tensor.rank() == 1 ? "[]" : fmt::format("[] of shape {}", tensor.shape());
}

}  // namespace regrad
