#include "autograd/functions.h"

#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/gradcheck.h"
#include "autograd/tape.h"

// The gradient-check table: one row per function of functions.h and case.
using namespace regrad;

namespace {

using Inputs = std::vector<Tensor>;
using Function = std::function<Var(std::span<const Var>)>;

struct Row {
  const char* name;
  Inputs inputs;
  Function f;
  bool any_order = true;  // fused operations have first derivatives only
};

Tensor random(const Shape& shape, double low = -2, double high = 2) {
  static Rng rng(11);
  return uniform(shape, low, high, rng, DType::f64);
}

const Lengths uneven({3, 0, 1}, 4);

std::vector<Row> elementwise() {
  return {
      {"add", {random({2, 3}), random({3})}, [](auto x) { return x[0] + x[1]; }},
      {"sub", {random({2, 1}), random({2, 3})}, [](auto x) { return x[0] - x[1]; }},
      {"mul", {random({2, 1, 3}), random({4, 1})}, [](auto x) { return x[0] * x[1]; }},
      {"mul by itself", {random({3})}, [](auto x) { return x[0] * x[0]; }},
      {"div", {random({2, 3}), random({1, 3}, 0.5, 2)}, [](auto x) { return x[0] / x[1]; }},
      {"neg", {random({5})}, [](auto x) { return -x[0]; }},
      {"affine", {random({5})}, [](auto x) { return 3 - x[0] * 2 / 5 + 1; }},
      {"exp", {random({2, 3})}, [](auto x) { return exp(x[0]); }},
      {"log", {random({2, 3}, 0.2, 3)}, [](auto x) { return log(x[0]); }},
      {"square", {random({5})}, [](auto x) { return square(x[0]); }},
      {"sqrt", {random({5}, 0.3, 3)}, [](auto x) { return sqrt(x[0]); }},
      {"tanh", {random({2, 9})}, [](auto x) { return tanh(x[0]); }},
      {"sigmoid", {random({2, 9})}, [](auto x) { return sigmoid(x[0]); }},
      {"relu", {tensor({-1.5, -0.1, 0.2, 3}, DType::f64)}, [](auto x) { return relu(x[0]); }},
  };
}

std::vector<Row> reductions_and_products() {
  return {
      {"sum", {random({2, 3})}, [](auto x) { return square(sum(x[0])); }},
      {"sum axes",
       {random({2, 3, 4})},
       [](auto x) {
         return square(sum(x[0], {0, -1}));
       }},
      {"sum keep", {random({2, 3})}, [](auto x) { return x[0] / exp(sum(x[0], {1}, true)); }},
      {"mean", {random({2, 3})}, [](auto x) { return square(mean(x[0])); }},
      {"mean axes", {random({2, 3})}, [](auto x) { return square(mean(x[0], {0})); }},
      {"sum_to", {random({2, 3})}, [](auto x) { return square(sum_to(x[0], {3})); }},
      {"expand",
       {random({2, 1})},
       [](auto x) {
         return exp(expand(x[0], {3, 2, 4}));
       }},
      {"matmul", {random({2, 3}), random({3, 4})}, [](auto x) { return matmul(x[0], x[1]); }},
      {"matmul Tn",
       {random({3, 2}), random({3, 4})},
       [](auto x) { return matmul(x[0], x[1], Trans, NoTrans); }},
      {"matmul nT",
       {random({2, 3}), random({4, 3})},
       [](auto x) { return matmul(x[0], x[1], NoTrans, Trans); }},
      {"matmul TT",
       {random({3, 2}), random({4, 3})},
       [](auto x) { return matmul(x[0], x[1], Trans, Trans); }},
      {"matmul batches",
       {random({2, 1, 2, 3}), random({4, 3, 2})},
       [](auto x) { return matmul(x[0], x[1]); }},
      {"matmul batches TT",
       {random({2, 3, 2}), random({2, 4, 3})},
       [](auto x) { return matmul(x[0], x[1], Trans, Trans); }},
      {"matmul batch by matrix",
       {random({2, 2, 3}), random({3, 2})},
       [](auto x) { return matmul(x[0], x[1]); }},
      {"linear",
       {random({2, 2, 3}), random({4, 3})},
       [](auto x) { return tanh(linear(x[0], x[1])); }},
      {"linear bias",
       {random({2, 3}), random({4, 3}), random({4})},
       [](auto x) { return tanh(linear(x[0], x[1], x[2])); }},
      {"linear of a vector",
       {random({3}), random({4, 3}), random({4})},
       [](auto x) { return tanh(linear(x[0], x[1], x[2])); }},
      {"linear used twice",
       {random({2, 3}), random({3, 3})},
       [](auto x) { return linear(tanh(linear(x[0], x[1])), x[1]); }},
  };
}

std::vector<Row> movement() {
  return {
      {"reshape",
       {random({2, 3})},
       [](auto x) {
         return exp(reshape(x[0], {3, 2}));
       }},
      {"permute",
       {random({2, 3, 4})},
       [](auto x) {
         return exp(permute(x[0], {2, 0, 1}));
       }},
      {"transpose", {random({2, 3, 4})}, [](auto x) { return exp(transpose(x[0], 0, 2)); }},
      {"concat",
       {random({2, 3}), random({2, 1})},
       [](auto x) {
         return exp(concat({x[0], x[1], x[0]}, 1));
       }},
      {"stack",
       {random({2, 3}), random({2, 3})},
       [](auto x) {
         return exp(stack(std::vector<Var>{x[0], x[1]}, 1));
       }},
      {"slice", {random({3, 4})}, [](auto x) { return exp(slice(x[0], 1, 1, -1)); }},
      {"slice twice",
       {random({4})},
       [](auto x) { return slice(x[0], 0, 0, 2) * slice(x[0], 0, 1, 3) * slice(x[0], 0, 2); }},
      {"unslice",
       {random({2, 2})},
       [](auto x) {
         return exp(unslice(x[0], {2, 5}, 1, 2));
       }},
      {"select", {random({3, 4})}, [](auto x) { return exp(select(x[0], 0, -1)); }},
      {"rows",
       {random({4, 3})},
       [](auto x) {
         return exp(rows(x[0], Ids{2, 0, 2}));
       }},
      {"rows of sequences",
       {random({5, 2})},
       [](auto x) {
         return exp(rows(
             x[0],
             Ids(std::vector<std::int32_t>{1, 99, 1, 2, -7, 99, 4, 99, 99, 99, 99, 99}, {4, 3}),
             uneven));
       }},
      {"scatter_rows",
       {random({3, 2})},
       [](auto x) {
         return exp(scatter_rows(x[0], Ids{1, 1, 0}, {3, 2}));
       }},
      {"masked_fill",
       {random({4, 3, 2})},
       [](auto x) { return exp(masked_fill(x[0], uneven, 1)); }},
  };
}

std::vector<Row> normalised() {
  Ids labels({1, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0});
  Ids sequences(std::span(labels.begin(), 12), {4, 3});
  return {
      {"softmax", {random({2, 5})}, [](auto x) { return softmax(x[0]); }},
      {"softmax lengths", {random({2, 3, 4})}, [](auto x) { return softmax(x[0], uneven); }},
      {"log_softmax", {random({2, 5})}, [](auto x) { return log_softmax(x[0]); }},
      {"dropout",
       {random({4, 5})},
       [](auto x) {
         Rng rng(3);
         return exp(dropout(x[0], 0.4, rng));
       }},
      {"cross_entropy",
       {random({3, 4})},
       [](auto x) {
         return cross_entropy(x[0], Ids{3, 0, 1});
       },
       false},
      {"cross_entropy smoothed",
       {random({4, 3, 5})},
       [=](auto x) { return cross_entropy(x[0], sequences, uneven, {.label_smoothing = 0.2}); },
       false},
      {"cross_entropy sum",
       {random({4, 3, 5})},
       [=](auto x) { return cross_entropy(x[0], sequences, uneven, {.mean = false}); },
       false},
  };
}

std::vector<Row> recurrent_and_attention() {
  auto gru_of = [](Direction direction) {
    return [=](auto x) { return gru(x[0], x[1], x[2], x[3], uneven, direction); };
  };
  Inputs gru_inputs{random({4, 3, 6}), random({3, 2}), random({6, 2}), random({6})};
  return {
      {"gru_gates",
       {random({3, 6}), random({3, 6}), random({3, 2})},
       [](auto x) { return gru_gates(x[0], x[1], x[2]); },
       false},
      {"gru forward", gru_inputs, gru_of(Direction::forward), false},
      {"gru backward", gru_inputs, gru_of(Direction::backward), false},
      {"additive_score",
       {random({3, 5}), random({4, 3, 5}), random({5})},
       [](auto x) { return additive_score(x[0], x[1], x[2], uneven); },
       false},
      {"dot_score",
       {random({3, 5}), random({4, 3, 5})},
       [](auto x) { return dot_score(x[0], x[1], uneven); }},
      {"weighted_sum",
       {random({3, 4}), random({4, 3, 2})},
       [](auto x) { return weighted_sum(x[0], x[1], uneven); }},
      {"spread",
       {random({3, 4}), random({3, 2})},
       [](auto x) { return spread(x[0], x[1], uneven); }},
  };
}

std::vector<Row> table() {
  std::vector<Row> rows;
  for (auto* part :
       {elementwise, reductions_and_products, movement, normalised, recurrent_and_attention}) {
    for (Row& row : part()) rows.push_back(std::move(row));
  }
  return rows;
}

// The first derivatives of f's random projection, laid end to end.
Var first_derivatives(const Function& f, std::span<const Var> inputs) {
  Rng rng(5);
  Var y = f(inputs);
  Var projected = sum(y * Var(normal(y.shape(), 0, 1, rng, DType::f64)));
  std::vector<Var> flat;
  for (const Var& g : gradients(projected, inputs)) flat.push_back(reshape(g, {g.size()}));
  return concat(flat, 0);
}

}  // namespace

TEST_CASE("every function's gradient") {
  for (const Row& row : table()) {
    GradcheckReport report = gradcheck(row.f, row.inputs);
    INFO(row.name << ": " << report.to_string());
    CHECK(report.passed);
  }
}

TEST_CASE("second derivatives of everything that is not fused") {
  for (const Row& row : table()) {
    if (!row.any_order) continue;
    auto f = [&](std::span<const Var> inputs) {
      if (Tape::active()) return first_derivatives(row.f, inputs);
      Tape tape;
      std::vector<Var> variables;
      for (const Var& input : inputs) variables.push_back(tape.variable(input.value()));
      return first_derivatives(row.f, variables).detach();
    };
    GradcheckReport report = gradcheck(f, row.inputs, {.rtol = 1e-5});
    INFO(row.name << ": " << report.to_string());
    CHECK(report.passed);
  }
}

TEST_CASE("values and gradients are the same bits from run to run") {
  for (const Row& row : table()) {
    auto run = [&] {
      Tape tape;
      std::vector<Var> x;
      for (const Tensor& input : row.inputs) x.push_back(tape.variable(input));
      Gradients gradients = tape.backward(sum(row.f(x)));
      std::vector<double> all;
      for (const Var& v : x) {
        for (double g : gradients[v].to_vector()) all.push_back(g);
      }
      return all;
    };
    CHECK(run() == run());
  }
}

TEST_CASE("the mean over no valid position is 0 with zero gradients") {
  Tape tape;
  Var logits = tape.variable(full({2, 1, 3}, NAN));
  Var loss = cross_entropy(logits, Ids(Shape{2, 1}, 77), Lengths({0}, 2));
  CHECK(loss.item() == 0);
  for (double g : tape.backward(loss)[logits].to_vector()) CHECK(g == 0);
}
