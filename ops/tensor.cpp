#include "ops/tensor.h"

#include <algorithm>
#include <cstring>

#include <fmt/ranges.h>

namespace regrad {

double Tensor::item() const {
  if (size() != 1) fail("item: shape {} has {} elements, not one", shape_, size());
  return visit(dtype_, [&](auto zero) { return static_cast<double>(*data<decltype(zero)>()); });
}

double Tensor::at(std::initializer_list<Index> index) const {
  if (static_cast<int>(index.size()) != rank()) {
    fail("at: {} indices for shape {} of rank {}", index.size(), shape_, rank());
  }
  Index offset = 0;
  int axis = 0;
  for (Index i : index) {
    Index dim = shape_[axis++];
    if (i < -dim || i >= dim) {
      fail("at: index [{}] is outside of shape {}", fmt::join(index, ", "), shape_);
    }
    offset = offset * dim + (i < 0 ? i + dim : i);
  }
  return visit(dtype_,
               [&](auto zero) { return static_cast<double>(data<decltype(zero)>()[offset]); });
}

std::vector<double> Tensor::to_vector() const {
  return visit(dtype_, [&](auto zero) {
    auto* values = data<decltype(zero)>();
    return std::vector<double>(values, values + size());
  });
}

Tensor Tensor::reshape(const Shape& shape) const {
  if (shape.size() != size()) {
    fail("reshape: shape {} of {} elements cannot become {} of {}", shape_, size(), shape,
         shape.size());
  }
  Tensor result = *this;
  result.shape_ = shape;
  return result;
}

Tensor Tensor::narrow(Index begin, Index end) const {
  if (begin < 0 || end < begin || end > shape_[0]) {
    fail("narrow: rows [{}, {}) are outside of shape {}", begin, end, shape_);
  }
  Tensor result = *this;
  result.shape_ = shape_.with(0, end - begin);
  result.data_ += begin * shape_.product(1, rank()) * static_cast<Index>(size_of(dtype_));
  return result;
}

Tensor Tensor::operator[](Index i) const {
  Index row = i < 0 ? i + shape_[0] : i;
  if (row < 0 || row >= shape_[0]) fail("row {} is outside of shape {}", i, shape_);
  Tensor result = narrow(row, row + 1);
  result.shape_ = shape_.without(0);
  return result;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor result(shape_, dtype);
  visit(dtype_, [&](auto from) {
    visit(dtype, [&](auto to) {
      auto* source = data<decltype(from)>();
      auto* target = result.mutable_data<decltype(to)>();
      for (Index i = 0; i < size(); ++i) target[i] = static_cast<decltype(to)>(source[i]);
    });
  });
  return result;
}

Tensor Tensor::clone() const {
  Tensor result(shape_, dtype_);
  if (size()) std::memcpy(result.data_, data_, static_cast<std::size_t>(bytes()));
  return result;
}

void Tensor::fail_dtype(DType wanted) const {
  fail("a tensor of {} was read as {}; convert it with to(DType::{})", to_string(dtype_),
       to_string(wanted), to_string(wanted));
}

Tensor full(const Shape& shape, double value, DType dtype) {
  Tensor result(shape, dtype);
  visit(dtype, [&](auto zero) {
    std::fill_n(result.mutable_data<decltype(zero)>(), result.size(),
                static_cast<decltype(zero)>(value));
  });
  return result;
}

Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor scalar(double value, DType dtype) { return full({}, value, dtype); }

Tensor arange(Index n, DType dtype) {
  if (n < 0) fail("arange: {} numbers", n);
  Tensor result({n}, dtype);
  visit(dtype, [&](auto zero) {
    auto* values = result.mutable_data<decltype(zero)>();
    for (Index i = 0; i < n; ++i) values[i] = static_cast<decltype(zero)>(i);
  });
  return result;
}

Tensor tensor(std::span<const double> values, const Shape& shape, DType dtype) {
  if (static_cast<Index>(values.size()) != shape.size()) {
    fail("tensor: {} values for shape {} of {}", values.size(), shape, shape.size());
  }
  Tensor result(shape, dtype);
  visit(dtype, [&](auto zero) {
    std::transform(values.begin(), values.end(), result.mutable_data<decltype(zero)>(),
                   [](double v) { return static_cast<decltype(zero)>(v); });
  });
  return result;
}

Tensor tensor(std::initializer_list<detail::Number> numbers, DType dtype) {
  std::vector<double> values;
  for (detail::Number number : numbers) values.push_back(number.value);
  return tensor(values, {static_cast<Index>(values.size())}, dtype);
}

Tensor tensor(std::initializer_list<std::initializer_list<double>> rows, DType dtype) {
  std::vector<double> values;
  auto columns = rows.size() ? rows.begin()->size() : 0;
  for (auto& row : rows) {
    if (row.size() != columns) fail("tensor: rows of {} and of {} values", columns, row.size());
    values.insert(values.end(), row.begin(), row.end());
  }
  return tensor(values, {static_cast<Index>(rows.size()), static_cast<Index>(columns)}, dtype);
}

bool identical(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
  return visit(a.dtype(), [&](auto zero) {
    auto *x = a.data<decltype(zero)>(), *y = b.data<decltype(zero)>();
    return a.size() == 0 || std::memcmp(x, y, static_cast<std::size_t>(a.bytes())) == 0;
  });
}

void detail::fail_mixed_dtypes(const Tensor& a, const Tensor& b, std::string_view operation) {
  fail("{}: {} {} with {} {}; convert one of them with to()", operation, to_string(a.dtype()),
       a.shape(), to_string(b.dtype()), b.shape());
}

}  // namespace regrad
