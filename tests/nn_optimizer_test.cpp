#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/linear.h"
#include "nn/optimizer.h"
#include "nn/safetensors.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::difference;
using testing::message_of;

struct Weights : Module {
  Weights() { name_parameters(*this); }
  void visit(Visitor& visitor) const override {
    visitor("a", a);
    visitor("b", b);
    visitor("tied", a);
  }
  Parameter a{tensor({1, 2, 3})}, b{tensor({4, 5})};
};

// The gradients of Σ factor · parameter: factor everywhere.
Gradients constant_gradients(const std::vector<Parameter>& parameters, double factor) {
  Tape tape;
  Var loss = zeros({}, parameters.empty() ? DType::f32 : parameters[0].value().dtype());
  for (const Parameter& parameter : parameters) loss = loss + sum(parameter * factor);
  return tape.backward(loss);
}

std::vector<NamedParameter> named(const std::vector<Parameter>& parameters) {
  std::vector<NamedParameter> result;
  for (const Parameter& parameter : parameters) {
    result.push_back({fmt::format("p{}", result.size()), parameter});
  }
  return result;
}

// In the order and with the options of tests/golden/make_optimizers.py.
using Make = std::function<std::unique_ptr<Optimizer>(std::vector<NamedParameter>)>;
const Make optimizers[] = {
    [](auto parameters) {
      return std::make_unique<Adam>(parameters,
                                    AdamOptions{.learning_rate = 0.05, .weight_decay = 0.1});
    },
    [](auto parameters) {
      return std::make_unique<AdamW>(parameters,
                                     AdamWOptions{.learning_rate = 0.05, .weight_decay = 0.1});
    },
    [](auto parameters) {
      return std::make_unique<Sgd>(
          parameters,
          SgdOptions{
              .learning_rate = 0.05, .momentum = 0.8, .weight_decay = 0.1, .nesterov = true});
    },
    [](auto parameters) {
      return std::make_unique<Adadelta>(
          parameters, AdadeltaOptions{.learning_rate = 0.5, .rho = 0.95, .weight_decay = 0.1});
    }};

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("the norm is that of all gradients together, rows of embeddings included") {
  const Parameter table(zeros({3, 2}, DType::f64)), bias(zeros({2}, DType::f64));
  Tape tape;
  const Var used = rows(table, {1, 1, 2});  // row 1 twice: gradients 2, 2 and 1, 1
  const Gradients gradients = tape.backward(sum(used) + sum(bias));
  CHECK(norm(gradients) == doctest::Approx(std::sqrt(4 + 4 + 1 + 1 + 1 + 1.0)));
}

TEST_CASE("clipping scales down to the norm and leaves smaller gradients alone") {
  const Weights weights;
  const Gradients clipped = clip_norm(constant_gradients({weights.a, weights.b}, 2), 1);
  CHECK(norm(clipped) == doctest::Approx(1).epsilon(1e-6));
  const Gradients kept = clip_norm(constant_gradients({weights.a}, 2), 100);
  CHECK(identical(kept[weights.a], tensor({2, 2, 2})));
}

TEST_CASE("clipping survives f32 gradients of 1e20 and f64 gradients of 1e200 and 1e-200") {
  const Parameter x(ones({1000})), y(ones({1000}, DType::f64));
  Gradients large = clip_norm(constant_gradients({x}, 1e20), 1);
  CHECK(norm(large) == doctest::Approx(1).epsilon(1e-5));
  Tape tape;
  Gradients huge = tape.backward(sum(y * 1e200));
  CHECK(norm(huge) == doctest::Approx(1e200 * std::sqrt(1000)));
  CHECK(norm(clip_norm(huge, 1)) == doctest::Approx(1));
  const double tiny = norm(clip_norm(constant_gradients({y}, 1e-200), 1e-199)) / 1e-199;
  CHECK(tiny == doctest::Approx(1));
  CHECK(norm(constant_gradients({y}, 0)) == 0);
}

TEST_CASE("clipping names the parameter with a NaN or infinite gradient") {
  const Weights weights;
  for (const double bad : {std::nan(""), infinity}) {
    const std::string message =
        message_of([&] { (void)clip_norm(constant_gradients({weights.b}, bad), 1); });
    CHECK(contains(message, "gradient of b"));
    CHECK(contains(message, std::isnan(bad) ? "nan" : "inf"));
    CHECK(message.ends_with("; a lower learning rate often helps"));
  }
  const std::string message =
      message_of([&] { (void)clip_norm(constant_gradients({weights.b}, 1), 0); });
  CHECK(contains(message, "max_norm must be above 0"));
}

TEST_CASE("a gradient for a parameter that is not registered is a named error, nothing changed") {
  const Weights weights;
  Sgd sgd(named({weights.a}), {.learning_rate = 1});
  const Gradients gradients = constant_gradients({weights.a, weights.b}, 1);
  CHECK(contains(message_of([&] { sgd.step(gradients); }), "b was trained but is not registered"));
  CHECK(identical(weights.a.value(), tensor({1, 2, 3})));
  CHECK(sgd.steps() == 0);
}

TEST_CASE(
    "gradients that do not fit, and two of one parameter, are named errors, nothing changed") {
  const Weights weights;
  Sgd sgd(weights, {.learning_rate = 1});
  const auto message = [&](const Parameter& parameter, const Tensor& gradient) {
    Gradients gradients = constant_gradients({weights.a, weights.b}, 1);
    gradients.entries().push_back({parameter, -1, gradient});
    if (parameter == weights.b) gradients.entries().erase(gradients.entries().begin() + 1);
    return message_of([&] { sgd.step(gradients); });
  };
  CHECK(message(weights.b, ones({3})) ==
        "optimizer: the gradient of b is f32 [3], the parameter f32 [2]");
  CHECK(message(weights.b, ones({2}, DType::f64)) ==
        "optimizer: the gradient of b is f64 [2], the parameter f32 [2]");
  CHECK(contains(message(weights.a, ones({3})), "two gradients of a"));
  CHECK(identical(weights.a.value(), tensor({1, 2, 3})));
  CHECK(sgd.steps() == 0);
}

TEST_CASE("a parameter without gradient is left alone, also by momentum and weight decay") {
  const Weights weights;
  Adam adam(weights, {.weight_decay = 0.1});
  adam.step(constant_gradients({weights.a, weights.b}, 1));
  const Tensor before = weights.b.value();
  adam.step(constant_gradients({weights.a}, 1));
  CHECK(identical(weights.b.value(), before));
}

TEST_CASE("tied weights have one state and are updated once") {
  const Weights weights;
  Sgd sgd(weights, {.learning_rate = 1, .momentum = 0.5});
  CHECK(sgd.state().tensors.size() == 2);
  Tape tape;
  const Gradients gradients = tape.backward(sum(weights.a) + sum(Var(weights.a) * 2));
  sgd.step(gradients);
  CHECK(identical(weights.a.value(), tensor({-2, -1, 0})));
  Sgd twice(parameters(weights), {.learning_rate = 1});
  twice.step(gradients);
  CHECK(identical(weights.a.value(), tensor({-5, -4, -3})));
}

TEST_CASE("two parameters of one path are a named error, one parameter of it twice is not") {
  const Weights weights;
  for (const Make& make : optimizers) {
    CHECK(contains(message_of([&] {
                     make({{"w", weights.a}, {"w", weights.b}});
                   }),
                   "two parameters share the path `w`; give each its own"));
    CHECK_NOTHROW(make({{"w", weights.a}, {"v", weights.b}, {"w", weights.a}}));
  }
}

TEST_CASE("the learning rate can be changed between steps") {
  const Weights weights;
  Sgd sgd(weights, {.learning_rate = 1});
  sgd.set_learning_rate(0.5);
  sgd.step(constant_gradients({weights.b}, 1));
  CHECK(identical(weights.b.value(), tensor({3.5, 4.5})));
  CHECK(sgd.learning_rate() == 0.5);
}

TEST_CASE("micro-batches of uneven size add up to the gradients of the whole batch") {
  Rng rng(1);
  const Linear layer(3, 2, rng, DType::f64);
  const Tensor x = normal({7, 3}, 0, 1, rng, DType::f64);
  const auto mean_loss = [&](Index begin, Index end) {
    const Var y = layer(x.narrow(begin, end));
    return sum(y * y) / static_cast<double>(end - begin);
  };
  Tape tape;
  const Gradients whole = tape.backward(mean_loss(0, 7));
  Gradients added;
  for (const auto& [begin, end] : {std::pair<Index, Index>{0, 1}, {1, 5}, {5, 7}}) {
    Tape part;
    Gradients gradients = part.backward(mean_loss(begin, end));
    gradients.scale(static_cast<double>(end - begin) / 7);
    added.add(gradients);
  }
  CHECK(added.entries().size() == 2);
  for (const Parameter& parameter : {layer.weight, layer.bias}) {
    CHECK(difference(added[parameter], whole[parameter]) < 1e-14);
  }
}

TEST_CASE("options out of range are named errors") {
  const Weights weights;
  CHECK(contains(message_of([&] { Sgd(weights, {.learning_rate = -1}); }), "learning rate"));
  CHECK(contains(message_of([&] { Sgd(weights, {.learning_rate = infinity}); }), "learning rate"));
  CHECK(contains(message_of([&] { Sgd(weights, {.learning_rate = std::nan("")}); }), "not nan"));
  CHECK(contains(message_of([&] { Sgd(weights, {.momentum = 1}); }), "momentum"));
  CHECK(contains(message_of([&] { Sgd(weights, {.weight_decay = -1}); }), "weight decay"));
  CHECK(contains(message_of([&] { Adam(weights, {.beta1 = 1}); }), "beta1"));
  CHECK(contains(message_of([&] { Adam(weights, {.beta2 = -0.1}); }), "beta2"));
  CHECK(contains(message_of([&] { Adam(weights, {.epsilon = -1}); }), "epsilon"));
  CHECK(contains(message_of([&] { Sgd(weights, {.nesterov = true}); }), "nesterov needs"));
  CHECK(contains(message_of([&] { AdamW(weights, {.weight_decay = -1}); }), "weight decay"));
  CHECK(contains(message_of([&] { Adadelta(weights, {.rho = 1}); }), "rho"));
  CHECK(contains(message_of([&] { Adadelta(weights, {.epsilon = -1}); }), "epsilon"));
  CHECK(contains(message_of([&] { Adadelta(weights, {.weight_decay = -1}); }), "weight decay"));
}

TEST_CASE("a state loaded into a new optimizer continues with the same bits") {
  for (const Make& make : optimizers) {
    const auto train = [&](bool interrupted) {
      const Weights weights;
      auto optimizer = make(parameters(weights));
      for (int step = 0; step < 6; ++step) {
        if (interrupted && step == 3) {
          const OptimizerState state = optimizer->state();
          optimizer = make(parameters(weights));
          optimizer->load_state(state);
        }
        optimizer->step(constant_gradients({weights.a, weights.b}, 1 + step));
      }
      return weights.a.value();
    };
    CHECK(identical(train(true), train(false)));
  }
}

TEST_CASE("ten steps are PyTorch's") {
  // tests/golden/make_optimizers.py wrote the file; row t is the parameter after t steps.
  const std::string names[] = {"adam", "adamw", "nesterov", "adadelta"};
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto golden =
        load_safetensors(std::string(REGRAD_SOURCE_DIR) + "/tests/golden/optimizer_steps_" +
                         std::string(to_string(dtype)) + ".safetensors")
            .tensors;
    for (std::size_t i = 0; i < 4; ++i) {
      const Parameter parameter(golden.at("start").clone());
      const auto optimizer = optimizers[i](named({parameter}));
      for (Index step = 0; step < 10; ++step) {
        Tape tape;
        optimizer->step(tape.backward(parameter, golden.at("gradients")[step]));
        CAPTURE(names[i]);
        CAPTURE(step);
        CHECK(difference(parameter.value(), golden.at(names[i])[step]) <
              (dtype == DType::f32 ? 1e-5 : 1e-12));
      }
    }
  }
}

TEST_CASE("a state keeps its numbers while training goes on") {
  const Weights weights;
  Adam adam(weights);
  adam.step(constant_gradients({weights.a}, 1));
  const OptimizerState state = adam.state();
  const Tensor before = state.tensors.at("a.exp_avg").clone();
  adam.step(constant_gradients({weights.a}, 5));
  CHECK(identical(state.tensors.at("a.exp_avg"), before));
  CHECK(state.steps == 1);
}

TEST_CASE("a state that does not fit is refused as a whole") {
  const Weights weights;
  Adam adam(weights);
  adam.step(constant_gradients({weights.a, weights.b}, 1));
  const OptimizerState good = adam.state();
  OptimizerState bad = good;
  bad.tensors.erase("b.exp_avg");
  bad.tensors["a.exp_avg"] = zeros({4});
  bad.tensors["a.exp_avg_sq"] = zeros({3}, DType::f64);
  bad.tensors["c"] = zeros({3});
  const std::string message = message_of([&] { adam.load_state(bad); });
  CHECK(contains(message, "b.exp_avg f32 [2] is missing"));
  CHECK(contains(message, "a.exp_avg is f32 [4], not f32 [3]"));
  CHECK(contains(message, "a.exp_avg_sq is f64 [3], not f32 [3]"));
  CHECK(contains(message, "c is unexpected"));
  CHECK(identical(adam.state().tensors.at("a.exp_avg"), good.tensors.at("a.exp_avg")));
  Sgd sgd(weights);
  CHECK_THROWS_AS(sgd.load_state(good), Error);
  CHECK_THROWS_AS(adam.load_state({-1, good.tensors}), Error);
}

TEST_CASE("a step leaves alone what was recorded or copied before it") {
  const Weights weights;
  const Tensor copy = weights.a.value();
  Sgd(weights, {.learning_rate = 1}).step(constant_gradients({weights.a}, 1));
  CHECK(identical(copy, tensor({1, 2, 3})));
  CHECK(identical(weights.a.value(), tensor({0, 1, 2})));
}

}  // namespace regrad
