#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "ops/dtype.h"
#include "ops/error.h"
#include "ops/shape.h"
#include "ops/storage.h"

namespace regrad {

// Numbers with a shape: row-major, always contiguous. Copies share the storage; a write through one
// handle copies first if another handle can see the same numbers.
class Tensor {
 public:
  Tensor() : shape_(Shape::empty()) {}
  // Uninitialised elements.
  explicit Tensor(const Shape& shape, DType dtype = DType::f32)
      : storage_(static_cast<std::size_t>(shape.size()) * size_of(dtype)),
        data_(storage_.data()),
        shape_(shape),
        dtype_(dtype) {}

  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;
  // Leaves `other` without elements, as Tensor() is.
  Tensor(Tensor&& other) noexcept
      : storage_(std::move(other.storage_)),
        data_(std::exchange(other.data_, nullptr)),
        shape_(other.shape_),
        dtype_(other.dtype_) {
    other.shape_.make_empty();
  }
  Tensor& operator=(Tensor&& other) noexcept {
    storage_ = std::move(other.storage_);
    data_ = std::exchange(other.data_, nullptr);
    shape_ = other.shape_;
    dtype_ = other.dtype_;
    other.shape_.make_empty();
    return *this;
  }

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  int rank() const { return shape_.rank(); }
  Index size() const { return shape_.size(); }
  Index bytes() const { return size() * static_cast<Index>(size_of(dtype_)); }

  // Whether no other handle sees these numbers.
  bool unique() const { return storage_.unique(); }

  // The elements. Throws Error if T is not the element type.
  template <class T>
  const T* data() const {
    if (dtype_of<T>() != dtype_) fail_dtype(dtype_of<T>());
    return reinterpret_cast<const T*>(data_);
  }
  // The same for writing, after copying storage that is shared. Not to be kept for a write after
  // the tensor was used again: what uses it may share or rearrange the numbers.
  template <class T>
  T* mutable_data() {
    if (dtype_of<T>() != dtype_) fail_dtype(dtype_of<T>());
    if (!unique()) *this = clone();
    return reinterpret_cast<T*>(data_);
  }

  // The value of a one-element tensor. Throws Error for any other size.
  double item() const;
  // One element; negative indices count from the end. Throws Error outside of the shape.
  double at(std::initializer_list<Index> index) const;
  std::vector<double> to_vector() const;  // row-major

  // Views of the same numbers.
  Tensor reshape(const Shape& shape) const;
  Tensor narrow(Index begin, Index end) const;  // rows [begin, end) of axis 0
  Tensor operator[](Index i) const;             // row i of axis 0, without that axis

  Tensor to(DType dtype) const;  // converted; the same tensor if it has that type
  Tensor clone() const;          // own storage

 private:
  [[noreturn]] void fail_dtype(DType wanted) const;

  Storage storage_;
  std::byte* data_ = nullptr;
  Shape shape_;
  DType dtype_ = DType::f32;
};

Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
Tensor zeros(const Shape& shape, DType dtype = DType::f32);
Tensor ones(const Shape& shape, DType dtype = DType::f32);
Tensor scalar(double value, DType dtype = DType::f32);  // rank 0
Tensor arange(Index n, DType dtype = DType::f32);       // 0, 1, … n-1

namespace detail {
struct Number {  // lets tensor({{1}, {2}}) mean two rows: as numbers they need a conversion more
  Number(double number) : value(number) {}  // NOLINT: implicit by design
  double value;
};
}  // namespace detail

// tensor({1, 2, 3}): rank 1; tensor({{1, 2}, {3, 4}}): rank 2. Throws Error for ragged rows.
Tensor tensor(std::initializer_list<detail::Number> values, DType dtype = DType::f32);
Tensor tensor(std::initializer_list<std::initializer_list<double>> rows, DType dtype = DType::f32);
Tensor tensor(std::span<const double> values, const Shape& shape, DType dtype = DType::f32);

// Same shape, type and values, bit for bit (so that a NaN equals itself).
bool identical(const Tensor& a, const Tensor& b);

namespace detail {
[[noreturn]] void fail_mixed_dtypes(const Tensor& a, const Tensor& b, std::string_view operation);
}

// Throws Error naming the operation and both types unless they are the same.
inline void require_same_dtype(const Tensor& a, const Tensor& b, std::string_view operation) {
  if (a.dtype() != b.dtype()) detail::fail_mixed_dtypes(a, b, operation);
}

// As NumPy prints: aligned columns, at most eight decimals, lines of at most 75 characters, the
// middle of long axes left out.
std::string to_string(const Tensor& tensor);

}  // namespace regrad

template <>
struct fmt::formatter<regrad::Tensor> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const regrad::Tensor& tensor, fmt::format_context& context) const {
    return fmt::format_to(context.out(), "{}", regrad::to_string(tensor));
  }
};
