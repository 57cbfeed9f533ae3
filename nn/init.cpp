#include "nn/init.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

namespace regrad::init {
namespace {

using Vector = std::vector<double>;

void require_matrix(std::string_view name, const Shape& shape) {
  if (shape.rank() != 2 || shape[0] < 1 || shape[1] < 1) {
    fail("{}: needs a matrix of at least [1, 1], not shape {}", name, shape);
  }
}

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// A unit vector orthogonal to all in the basis. One pass of Gram and Schmidt may leave a part of
// the basis in the vector by rounding; the second removes it.
Vector next_orthonormal(const std::vector<Vector>& basis, std::size_t size, Rng& rng) {
  Vector vector(size);
  std::ranges::generate(vector, [&] { return rng.normal(); });
  for (int pass = 0; pass < 2; ++pass) {
    for (const Vector& unit : basis) {
      const double part = dot(unit, vector);
      for (std::size_t i = 0; i < size; ++i) vector[i] -= part * unit[i];
    }
    const double length = std::sqrt(dot(vector, vector));
    for (double& value : vector) value /= length;
  }
  return vector;
}

}  // namespace

Tensor uniform_fan(const Shape& shape, Index size, Rng& rng, DType dtype) {
  const double bound = 1 / std::sqrt(static_cast<double>(size));
  return uniform(shape, -bound, bound, rng, dtype);
}

Tensor xavier_uniform(const Shape& shape, Rng& rng, DType dtype) {
  require_matrix("xavier_uniform", shape);
  const double bound = std::sqrt(6.0 / static_cast<double>(shape[0] + shape[1]));
  return uniform(shape, -bound, bound, rng, dtype);
}

Tensor orthogonal(const Shape& shape, Rng& rng, DType dtype) {
  require_matrix("orthogonal", shape);
  const bool by_column = shape[0] > shape[1];
  const Index count = by_column ? shape[1] : shape[0];
  const Index size = by_column ? shape[0] : shape[1];
  std::vector<Vector> basis;
  for (Index i = 0; i < count; ++i) {
    basis.push_back(next_orthonormal(basis, static_cast<std::size_t>(size), rng));
  }
  Vector entries;
  for (Index row = 0; row < shape[0]; ++row) {
    for (Index column = 0; column < shape[1]; ++column) {
      const auto vector = static_cast<std::size_t>(by_column ? column : row);
      const auto place = static_cast<std::size_t>(by_column ? row : column);
      entries.push_back(basis[vector][place]);
    }
  }
  return tensor(entries, shape, dtype);
}

}  // namespace regrad::init
