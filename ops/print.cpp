#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "ops/tensor.h"

// The rules of numpy.array2string with its default options.
namespace regrad {
namespace {

constexpr Index edge_items = 3;
constexpr Index summarise_above = 1000;
constexpr std::size_t line_width = 75;
constexpr std::size_t most_decimals = 8;

// The shortest decimal that reads back as the same number.
std::string shortest(double value, DType dtype, std::chars_format format) {
  return visit(dtype, [&](auto zero) {
    char text[512];
    auto end = std::to_chars(text, std::end(text), static_cast<decltype(zero)>(value), format).ptr;
    return std::string(text, end);
  });
}

// -12.5e+07 is {"-12", "5", "07"}
struct Parts {
  std::string whole, fraction, exponent;
};

Parts parts(double value, DType dtype, bool scientific) {
  std::string text =
      shortest(value, dtype, scientific ? std::chars_format::scientific : std::chars_format::fixed);
  auto decimals = [&] { return std::min(text.find('e'), text.size()) - text.find('.') - 1; };
  if (text.find('.') != std::string::npos && decimals() > most_decimals) {
    text = scientific ? fmt::format("{:.8e}", value) : fmt::format("{:.8f}", value);
  }
  auto e = std::min(text.find('e'), text.size()), point = std::min(text.find('.'), e);
  Parts result{text.substr(0, point), "", ""};
  if (point < e) result.fraction = text.substr(point + 1, e - point - 1);
  result.fraction.erase(result.fraction.find_last_not_of('0') + 1);
  if (e < text.size()) result.exponent = text.substr(e + 2);
  return result;
}

std::string_view special(double value) {
  return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
}

class Printer {
 public:
  explicit Printer(const Tensor& tensor)
      : tensor_(tensor), values_(tensor.to_vector()), summary_(tensor.size() > summarise_above) {
    choose_notation();
    visit_shown(0, 0, [&](double v) {
      if (!std::isfinite(v)) return;
      Parts text = parts(v, tensor_.dtype(), scientific_);
      whole_ = std::max(whole_, text.whole.size());
      fraction_ = std::max(fraction_, text.fraction.size());
      exponent_ = std::max(exponent_, text.exponent.size());
    });
    width_ = whole_ + 1 + fraction_ + (scientific_ ? 2 + exponent_ : 0);
    visit_shown(0, 0, [&](double v) {
      if (!std::isfinite(v)) width_ = std::max(width_, special(v).size());
    });
  }

  std::string print() const { return print(0, 0); }

 private:
  void choose_notation() {
    double largest = 0, smallest = INFINITY;
    visit_shown(0, 0, [&](double v) {
      if (v == 0 || !std::isfinite(v)) return;
      largest = std::max(largest, std::fabs(v));
      smallest = std::min(smallest, std::fabs(v));
    });
    scientific_ = largest > 0 && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000);
  }

  // Everything, or the first and last entries of each axis; f(-1) for what lies between.
  template <class F>
  void visit_axis(int axis, const F& f) const {
    Index n = tensor_.shape()[axis];
    for (Index i = 0; i < n; ++i) {
      if (summary_ && n > 2 * edge_items && i == edge_items) {
        f(Index{-1});
        i = n - edge_items;
      }
      f(i);
    }
  }

  Index stride(int axis) const { return tensor_.shape().product(axis + 1, tensor_.rank()); }

  template <class F>
  void visit_shown(int axis, Index offset, const F& f) const {
    if (axis == tensor_.rank()) return f(values_[static_cast<std::size_t>(offset)]);
    visit_axis(axis, [&](Index i) {
      if (i >= 0) visit_shown(axis + 1, offset + i * stride(axis), f);
    });
  }

  std::string print(int axis, Index offset) const {
    if (axis + 1 == tensor_.rank()) return print_row(offset);
    std::string text = "[";
    auto lines = static_cast<std::size_t>(tensor_.rank() - axis - 1);
    visit_axis(axis, [&](Index i) {
      if (text.size() > 1) text += std::string(lines, '\n') + std::string(axis + 1, ' ');
      text += i < 0 ? "..." : print(axis + 1, offset + i * stride(axis));
    });
    return text + "]";
  }

  std::string print_row(Index offset) const {
    auto indent = static_cast<std::size_t>(tensor_.rank()), room = line_width - indent;
    std::string text = "[";
    std::size_t line = indent;  // the characters on this line so far
    visit_axis(tensor_.rank() - 1, [&](Index i) {
      std::string word = i < 0 ? "..." : element(values_[static_cast<std::size_t>(offset + i)]);
      if (line > indent && line + 1 + word.size() > room) {
        text.erase(text.find_last_not_of(' ') + 1);
        text += '\n' + std::string(indent, ' ');
        line = indent;
      } else if (line > indent) {
        text += ' ';
        ++line;
      }
      text += word;
      line += word.size();
    });
    return text + "]";
  }

  std::string element(double value) const {
    if (!std::isfinite(value)) return fmt::format("{:>{}}", special(value), width_);
    Parts text = parts(value, tensor_.dtype(), scientific_);
    if (!scientific_) {
      std::string number =
          fmt::format("{:>{}}.{:<{}}", text.whole, whole_, text.fraction, fraction_);
      return fmt::format("{:>{}}", number, width_);
    }
    std::string number = fmt::format("{:#.{}e}", value, fraction_);
    number.insert(number.size() - text.exponent.size(), exponent_ - text.exponent.size(), '0');
    return fmt::format("{:>{}}", number, width_);
  }

  const Tensor& tensor_;
  std::vector<double> values_;
  bool summary_;
  bool scientific_ = false;
  std::size_t whole_ = 0, fraction_ = 0, exponent_ = 0, width_ = 0;
};

std::string print_scalar(double value, DType dtype) {
  if (!std::isfinite(value)) return std::string(special(value));
  std::string text =
      dtype == DType::f32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  bool whole = text.find_first_not_of("-0123456789") == std::string::npos;
  return whole ? text + ".0" : text;
}

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (tensor.rank() == 0) return print_scalar(tensor.item(), tensor.dtype());
  if (tensor.size() > 0) return Printer(tensor).print();
  return tensor.rank() == 1 ? "[]" : fmt::format("[] of shape {}", tensor.shape());
}

}  // namespace regrad
