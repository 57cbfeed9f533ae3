#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "ops/rng.h"
#include "ops/simd/kernels.h"

// Runs a kernel at every length and misalignment, in buffers that end with their last element so
// that AddressSanitizer sees a read or write beyond.
namespace regrad::testing {

inline constexpr Index longest = 257;
inline constexpr Index offsets = 16;

template <class T>
using Column = std::vector<T>;
template <class T>
using Columns = std::vector<Column<T>>;

// The same kernel on the first n elements of its inputs, n being their length.
template <class T>
using Run = std::function<Columns<T>(const Columns<T>& inputs, Index offset)>;
using Reference = std::function<std::vector<long double>(const std::vector<long double>& inputs)>;

// Elements that start at a given distance from the alignment of the heap.
template <class T>
class Buffer {
 public:
  Buffer(Index offset, std::size_t n) : all_(n + static_cast<std::size_t>(offset), mark) {
    begin_ = all_.data() + offset;
  }
  Buffer(Index offset, const Columns<T>& columns)  // one behind the other
      : Buffer(offset, columns.size() * columns[0].size()) {
    T* at = begin_;
    for (auto& column : columns) at = std::copy(column.begin(), column.end(), at);
  }
  Buffer(Index offset, const Column<T>& column) : Buffer(offset, Columns<T>{column}) {}

  T* data() { return begin_; }
  Columns<T> columns(std::size_t count) {  // checks that nothing was written before them
    CHECK(std::count(all_.data(), begin_, mark) == begin_ - all_.data());
    auto n = static_cast<Index>(all_.size() - static_cast<std::size_t>(begin_ - all_.data())) /
             static_cast<Index>(count);
    Columns<T> result;
    for (std::size_t i = 0; i < count; ++i) {
      T* first = begin_ + static_cast<Index>(i) * n;
      result.emplace_back(first, first + n);
    }
    return result;
  }
  Column<T> column() { return columns(1)[0]; }

 private:
  static constexpr T mark = T(-12345);
  std::vector<T> all_;
  T* begin_;
};

template <class T>
Columns<T> random_columns(std::size_t count, double deviation = 2) {
  Rng rng(count);
  Columns<T> columns(count, Column<T>(longest));
  for (auto& column : columns) {
    for (T& x : column) x = static_cast<T>(deviation * rng.normal());
  }
  return columns;
}

template <class T>
Columns<T> part(const Columns<T>& columns, Index begin, Index end) {
  Columns<T> result;
  for (auto& column : columns) result.emplace_back(column.begin() + begin, column.begin() + end);
  return result;
}

template <class T>
bool same_bits(const Column<T>& a, const Column<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
void check_close(T value, long double expected, long double scale = 0) {
  long double tolerance = 8 * std::numeric_limits<T>::epsilon() *
                          std::max({1.0L, std::fabs(expected), std::fabs(scale)});
  CHECK(std::fabs(value - expected) <= tolerance);
}

// The value of each element alone.
template <class T>
Columns<T> alone(const Columns<T>& inputs, const Run<T>& run) {
  Columns<T> result;
  for (Index i = 0; i < static_cast<Index>(inputs[0].size()); ++i) {
    Columns<T> outputs = run(part(inputs, i, i + 1), 0);
    result.resize(outputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) result[k].push_back(outputs[k][0]);
  }
  return result;
}

template <class T>
void check_lanes_are_independent(const Columns<T>& inputs, const Columns<T>& expected,
                                 const Run<T>& run) {
  constexpr Index n = 37;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    for (Index at = 0; at < n; ++at) {
      for (T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
        Columns<T> spoilt = part(inputs, 0, n);
        spoilt[k][static_cast<std::size_t>(at)] = bad;
        Columns<T> outputs = run(spoilt, 0), wanted = part(expected, 0, n);
        for (std::size_t o = 0; o < outputs.size(); ++o) {
          outputs[o][static_cast<std::size_t>(at)] = wanted[o][static_cast<std::size_t>(at)];
          REQUIRE(same_bits(outputs[o], wanted[o]));
        }
      }
    }
  }
}

template <class T>
void check_elementwise(const Columns<T>& inputs, const Run<T>& run, const Reference& reference) {
  Columns<T> expected = alone(inputs, run);
  for (std::size_t i = 0; i < inputs[0].size(); ++i) {
    std::vector<long double> x;
    for (auto& column : inputs) x.push_back(column[i]);
    std::vector<long double> y = reference(x);
    REQUIRE(y.size() == expected.size());
    for (std::size_t k = 0; k < y.size(); ++k) check_close(expected[k][i], y[k]);
  }
  for (Index n = 0; n <= longest; ++n) {
    Columns<T> some = part(inputs, 0, n), wanted = part(expected, 0, n);
    for (Index offset = 0; offset < offsets; ++offset) {
      Columns<T> outputs = run(some, offset);
      for (std::size_t k = 0; k < outputs.size(); ++k) REQUIRE(same_bits(outputs[k], wanted[k]));
    }
  }
  check_lanes_are_independent(inputs, expected, run);
}

// A kernel whose result depends on all elements: at every offset the same bits.
template <class T>
void check_row(const Columns<T>& inputs, const Run<T>& run,
               const std::function<void(const Columns<T>& inputs, const Column<T>& y)>& check) {
  for (Index n = 0; n <= longest; ++n) {
    Columns<T> some = part(inputs, 0, n);
    Column<T> wanted = run(some, 0)[0];
    check(some, wanted);
    for (Index offset = 1; offset < offsets; ++offset) {
      REQUIRE(same_bits(run(some, offset)[0], wanted));
    }
  }
}

}  // namespace regrad::testing
