#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/tape.h"

// Properties over random shapes, each tried 100 times; the variable RC_PARAMS says otherwise:
// RC_PARAMS="max_success=10000 seed=1". A failure is shrunk, and printed with what repeats it.
using namespace regrad;

namespace {

using Dims = std::vector<Index>;

Index between(Index low, Index high) { return *rc::gen::inRange<Index>(low, high + 1); }

Shape shape_of(const Dims& dims) { return Shape(std::span<const Index>(dims)); }

Dims random_dims(Index max_rank, Index smallest, Index largest) {
  Dims dims(static_cast<std::size_t>(between(0, max_rank)));
  for (Index& dim : dims) dim = between(smallest, largest);
  return dims;
}

// What broadcasts to dims: leading dimensions left out, others 1.
Dims narrowed(const Dims& dims) {
  Dims result(dims.begin() + between(0, static_cast<Index>(dims.size())), dims.end());
  for (Index& dim : result) {
    if (between(0, 2) == 0) dim = 1;
  }
  return result;
}

Rng random_rng() { return Rng(static_cast<std::uint64_t>(between(0, 1 << 20))); }

Tensor random_tensor(const Shape& shape) {
  Rng rng = random_rng();
  return uniform(shape, -2, 2, rng, DType::f64);
}

// Multiples of 0.04 from `low`: with another shift, no two are so near that a difference crosses
// the kink of a minimum.
Tensor on_grid(const Shape& shape, double low) {
  Rng rng = random_rng();
  std::vector<double> values(static_cast<std::size_t>(shape.size()));
  for (double& value : values) value = low + 0.04 * static_cast<double>(rng.below(100));
  return tensor(values, shape, DType::f64);
}

// No two alike or near.
Tensor all_different(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = -2 + 4 * (static_cast<double>(i) + 0.5) / static_cast<double>(values.size());
  }
  random_rng().shuffle(std::span(values));
  return tensor(values, shape, DType::f64);
}

// Row-major position within dims -> that within what broadcasts to them.
Index broadcast_position(Index i, const Dims& dims, const Dims& narrow) {
  Index position = 0, stride = 1;
  for (std::size_t back = 1; back <= dims.size(); ++back) {
    const Index dim = dims[dims.size() - back], coordinate = i % dim;
    i /= dim;
    if (back > narrow.size()) continue;
    const Index size = narrow[narrow.size() - back];
    if (size > 1) position += coordinate * stride;
    stride *= size;
  }
  return position;
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(1.0, std::abs(b)); }

void require_gradient(const std::function<Var(std::span<const Var>)>& f,
                      const std::vector<Tensor>& inputs) {
  const GradcheckReport report = gradcheck(f, inputs, {.entries_per_input = 4});
  if (!report.passed) RC_FAIL(report.to_string());
}

struct Binary {
  const char* name;
  Var (*f)(const Var&, const Var&);
  double (*reference)(double, double);
  double low = -2;  // of both inputs
  bool differentiable = true;
};

const std::vector<Binary> binary_functions = {
    {"add", add, [](double a, double b) { return a + b; }},
    {"sub", sub, [](double a, double b) { return a - b; }},
    {"mul", mul, [](double a, double b) { return a * b; }},
    {"div", div, [](double a, double b) { return a / b; }, 0.5},
    {"pow", pow, [](double a, double b) { return std::pow(a, b); }, 0.5},
    {"minimum", minimum, [](double a, double b) { return std::min(a, b); }},
    {"maximum", maximum, [](double a, double b) { return std::max(a, b); }},
    {"where", [](const Var& a, const Var& b) { return where(less(a, 0.5), a, b); },
     [](double a, double b) { return a < 0.5 ? a : b; }},
    {"less", [](const Var& a, const Var& b) -> Var { return less(a, b); },
     [](double a, double b) { return a < b ? 1.0 : 0.0; }, -2, false},
    {"greater_equal", [](const Var& a, const Var& b) -> Var { return greater_equal(a, b); },
     [](double a, double b) { return a >= b ? 1.0 : 0.0; }, -2, false},
};

using Axes = std::initializer_list<int>;

// f with the axes that are known only now.
Var over(const std::vector<int>& axes, const std::function<Var(Axes)>& f) {
  switch (axes.size()) {
    case 1:
      return f({axes[0]});
    case 2:
      return f({axes[0], axes[1]});
    case 3:
      return f({axes[0], axes[1], axes[2]});
    default:
      return f({axes[0], axes[1], axes[2], axes[3]});
  }
}

struct Reduction {
  const char* name;
  Var (*f)(const Var&, Axes, bool);
  double (*reference)(const std::vector<double>&);
};

double total(const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

const std::vector<Reduction> reductions = {
    {"sum", sum, total},
    {"mean", mean, [](auto& x) { return total(x) / static_cast<double>(x.size()); }},
    {"prod", prod,
     [](auto& x) { return std::accumulate(x.begin(), x.end(), 1.0, std::multiplies<>()); }},
    {"max", max, [](auto& x) { return *std::max_element(x.begin(), x.end()); }},
    {"min", min, [](auto& x) { return *std::min_element(x.begin(), x.end()); }},
    {"norm", norm,
     [](auto& x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }},
    {"logsumexp", logsumexp,
     [](auto& x) {
       double sum = 0;
       for (double v : x) sum += std::exp(v);
       return std::log(sum);
     }},
    {"variance", [](const Var& x, Axes axes, bool keep) { return variance(x, axes, keep, 0); },
     [](auto& x) {
       const double n = static_cast<double>(x.size()), mean = total(x) / n;
       double sum = 0;
       for (double v : x) sum += (v - mean) * (v - mean);
       return sum / n;
     }},
};

// Each axis with even chance, at least one, some counted from the end.
std::vector<int> random_axes(int rank) {
  std::vector<int> axes;
  for (int axis = 0; axis < rank; ++axis) {
    if (between(0, 1) == 1) axes.push_back(between(0, 1) == 1 ? axis : axis - rank);
  }
  if (axes.empty()) axes.push_back(static_cast<int>(between(0, rank - 1)));
  return axes;
}

Dims kept_dims(Dims dims, const std::vector<int>& axes) {
  for (int axis : axes) {
    const int positive = axis < 0 ? axis + static_cast<int>(dims.size()) : axis;
    dims[static_cast<std::size_t>(positive)] = 1;
  }
  return dims;
}

Shape matrices(Dims batch, Index rows, Index columns, Transpose transpose) {
  if (transpose == Trans) std::swap(rows, columns);
  batch.insert(batch.end(), {rows, columns});
  return shape_of(batch);
}

Tensor matrix_of(const Tensor& x, Index i) {
  const Shape& shape = x.shape();
  return x.reshape({shape.product(0, x.rank() - 2), shape[-2], shape[-1]})[i];
}

double entry(const Tensor& x, Index row, Index column, Transpose transpose) {
  return transpose == Trans ? x.at({column, row}) : x.at({row, column});
}

}  // namespace

TEST_CASE("binary functions broadcast as the definition says") {
  CHECK(rc::check("values and gradients over random broadcast pairs", [] {
    const Binary& op = *rc::gen::elementOf(binary_functions);
    const Dims dims = random_dims(4, 0, 3);
    Dims a_dims = narrowed(dims), b_dims = narrowed(dims);
    (between(0, 1) == 1 ? a_dims : b_dims) = dims;
    RC_LOG() << op.name << to_string(shape_of(a_dims)) << to_string(shape_of(b_dims));
    const Tensor a = on_grid(shape_of(a_dims), op.low);
    const Tensor b = on_grid(shape_of(b_dims), op.low + 0.02);
    const Var y = op.f(a, b);
    RC_ASSERT(y.shape() == shape_of(dims));
    const std::vector<double> x0 = a.to_vector(), x1 = b.to_vector(), got = y.value().to_vector();
    for (Index i = 0; i < y.size(); ++i) {
      const auto at = [&](const Dims& narrow) {
        return static_cast<std::size_t>(broadcast_position(i, dims, narrow));
      };
      RC_ASSERT(
          close(got[static_cast<std::size_t>(i)], op.reference(x0[at(a_dims)], x1[at(b_dims)])));
    }
    if (op.differentiable) require_gradient([&](auto x) { return op.f(x[0], x[1]); }, {a, b});
  }));
}

TEST_CASE("sum_to is the adjoint of expand") {
  CHECK(rc::check("<expand x, y> = <x, sum_to y>, and each is the other's gradient", [] {
    const Dims dims = random_dims(5, 0, 4);
    const Shape wide = shape_of(dims), narrow = shape_of(narrowed(dims));
    const Tensor x = random_tensor(narrow), y = random_tensor(wide);
    const Var expanded = expand(x, wide), summed = sum_to(y, narrow);
    RC_ASSERT(expanded.shape() == wide && summed.shape() == narrow);
    RC_ASSERT(close(sum(expanded * Var(y)).item(), sum(Var(x) * summed).item()));
    Tape tape;
    const Var v = tape.variable(x), w = tape.variable(y);
    const Var loss = sum(expand(v, wide) * Var(y)) + sum(sum_to(w, narrow) * Var(x));
    const Gradients gradients = tape.backward(loss);
    RC_ASSERT(identical(gradients[v], summed.value()));
    RC_ASSERT(identical(gradients[w], expanded.value()));
  }));
}

TEST_CASE("reductions over random axes") {
  CHECK(rc::check("values and gradients as the definition says", [] {
    const Reduction& op = *rc::gen::elementOf(reductions);
    Dims dims = random_dims(3, 1, 4);
    dims.push_back(between(1, 5));
    const std::vector<int> axes = random_axes(static_cast<int>(dims.size()));
    const bool keep = between(0, 1) == 1;
    RC_LOG() << op.name << to_string(shape_of(dims)) << "keep" << keep;
    const Tensor x = all_different(shape_of(dims));
    const auto f = [&](const Var& v) {
      return over(axes, [&](Axes list) { return op.f(v, list, keep); });
    };
    const Dims kept = kept_dims(dims, axes);
    const Var y = f(x);
    RC_ASSERT((!keep || y.shape() == shape_of(kept)));
    RC_ASSERT(y.size() == shape_of(kept).size());
    RC_ASSERT(y.rank() == static_cast<int>(dims.size() - (keep ? 0 : axes.size())));
    std::vector<std::vector<double>> groups(static_cast<std::size_t>(y.size()));
    const std::vector<double> values = x.to_vector(), got = y.value().to_vector();
    for (Index i = 0; i < x.size(); ++i) {
      groups[static_cast<std::size_t>(broadcast_position(i, dims, kept))].push_back(
          values[static_cast<std::size_t>(i)]);
    }
    for (std::size_t i = 0; i < got.size(); ++i) RC_ASSERT(close(got[i], op.reference(groups[i])));
    require_gradient([&](auto v) { return f(v[0]); }, {x});
  }));
}

TEST_CASE("matmul over random batch shapes") {
  CHECK(rc::check("values and gradients as the definition says", [] {
    const Dims batch = random_dims(3, 0, 3);
    Dims a_batch = narrowed(batch), b_batch = narrowed(batch);
    (between(0, 1) == 1 ? a_batch : b_batch) = batch;
    const Index m = between(0, 4), k = between(0, 4), n = between(0, 4);
    const Transpose a_trans = between(0, 1) == 1 ? Trans : NoTrans;
    const Transpose b_trans = between(0, 1) == 1 ? Trans : NoTrans;
    const Tensor a = random_tensor(matrices(a_batch, m, k, a_trans));
    const Tensor b = random_tensor(matrices(b_batch, k, n, b_trans));
    RC_LOG() << to_string(a.shape()) << (a_trans == Trans) << to_string(b.shape())
             << (b_trans == Trans);
    const Var c = matmul(a, b, a_trans, b_trans);
    RC_ASSERT(c.shape() == matrices(batch, m, n, NoTrans));
    const std::vector<double> got = c.value().to_vector();
    for (Index i = 0; i < c.size(); ++i) {
      const Index matrix = i / (m * n);
      const Tensor left = matrix_of(a, broadcast_position(matrix, batch, a_batch));
      const Tensor right = matrix_of(b, broadcast_position(matrix, batch, b_batch));
      double sum = 0;
      for (Index j = 0; j < k; ++j) {
        sum += entry(left, i / n % m, j, a_trans) * entry(right, j, i % n, b_trans);
      }
      RC_ASSERT(close(got[static_cast<std::size_t>(i)], sum));
    }
    require_gradient([&](auto x) { return matmul(x[0], x[1], a_trans, b_trans); }, {a, b});
  }));
}
