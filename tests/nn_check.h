#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "ops/ids.h"
#include "ops/tensor.h"

// What several tests of nn/ need.
namespace regrad::testing {

// The message of the Error that f throws; empty if it throws none.
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The largest |a - b| / max(1, |b|); infinite where shapes or types differ or one is NaN.
inline double difference(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return INFINITY;
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = std::abs(x[i] - y[i]) / std::max(1.0, std::abs(y[i]));
    if (std::isnan(error)) return INFINITY;
    largest = std::max(largest, error);
  }
  return largest;
}

// x [T, B, ...] with every padded position overwritten.
inline Tensor with_padding(const Tensor& x, const Lengths& lengths, double value) {
  std::vector<double> values = x.to_vector();
  const Index inner = x.shape().product(2, x.rank());
  for (Index t = 0; t < lengths.time(); ++t) {
    for (Index b = 0; b < lengths.batch(); ++b) {
      if (lengths.valid(t, b)) continue;
      const auto first = values.begin() + (t * lengths.batch() + b) * inner;
      std::fill(first, first + inner, value);
    }
  }
  return tensor(values, x.shape(), x.dtype());
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "regrad-XXXXXX").string();
    if (!::mkdtemp(name.data())) fail("cannot create {}", name);
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::size_t file_count() const {
    const std::filesystem::directory_iterator files(path_);
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace regrad::testing
