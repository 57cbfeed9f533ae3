#include "autograd/tape.h"

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <pthread.h>

#include "autograd/functions.h"
#include "autograd/record.h"

using namespace regrad;

namespace {

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool mentions(const std::string& message, const std::string& words) {
  return message.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("the gradient of x tanh(x)") {
  Tape tape;
  Var x = tape.variable(tensor({1, 2, 3}, DType::f64));
  Var y = sum(x * tanh(x));
  Gradients gradients = tape.backward(y);
  for (Index i = 0; i < 3; ++i) {
    double v = static_cast<double>(i + 1), t = std::tanh(v);
    CHECK(gradients[x].at({i}) == doctest::Approx(t + v * (1 - t * t)).epsilon(1e-14));
  }
}

TEST_CASE("a value used several times adds up its gradients, in linear time") {
  Tape tape;
  Var x = tape.variable(scalar(3, DType::f64));
  Var y = x;
  for (int i = 0; i < 40; ++i) y = y + y;  // a diamond 40 deep: 2^40 paths
  CHECK(tape.backward(y)[x].item() == std::pow(2.0, 40));
}

TEST_CASE("a variable reassigned in a loop") {
  Tape tape;
  Var x = tape.variable(scalar(1.1, DType::f64));
  Var y = x;
  for (int i = 0; i < 5; ++i) y = y * x;  // x^6
  CHECK(tape.backward(y)[x].item() == doctest::Approx(6 * std::pow(1.1, 5)).epsilon(1e-13));
}

TEST_CASE("gradients of broadcast inputs have the inputs' shapes") {
  Tape tape;
  Var a = tape.variable(ones({2, 1, 3}));
  Var b = tape.variable(ones({4, 1}));
  Var c = tape.variable(scalar(2));
  Gradients gradients = tape.backward(sum(a * b / c));
  CHECK(gradients[a].shape() == Shape{2, 1, 3});
  CHECK(gradients[b].shape() == Shape{4, 1});
  CHECK(gradients[c].shape() == Shape{});
  CHECK(gradients[a].at({1, 0, 2}) == 2);
  CHECK(gradients[b].at({3, 0}) == 3);
  CHECK(gradients[c].item() == -6);
}

TEST_CASE("without a tape functions just compute") {
  Var x(tensor({1, 2}));
  Var y = x * x;
  CHECK_FALSE(y.watched());
  CHECK(y.value().at({1}) == 4);
}

TEST_CASE("recording never changes values") {
  auto compute = [](const Var& x) { return softmax(tanh(x) / sum(exp(x))); };
  Tensor x = tensor({0.3, -1.5, 2.25});
  Tensor plain = compute(x).value();
  Tape tape;
  CHECK(identical(compute(tape.variable(x)).value(), plain));
}

TEST_CASE("a leaf that takes no part has a zero gradient") {
  Tape tape;
  Var x = tape.variable(tensor({1, 2})), unused = tape.variable(tensor({5, 6, 7}));
  Gradients gradients = tape.backward(sum(x));
  CHECK(gradients[unused].to_vector() == std::vector<double>{0, 0, 0});
}

TEST_CASE("detach stops the gradient") {
  Tape tape;
  Var x = tape.variable(scalar(3));
  CHECK(tape.backward(x * x.detach())[x].item() == 3);
}

TEST_CASE("Paused: nothing records") {
  Tape tape;
  Var x = tape.variable(scalar(3));
  {
    Paused paused;
    CHECK_FALSE((x * x).watched());
  }
  CHECK((x * x).watched());
}

TEST_CASE("tapes nest") {
  Tape outer;
  Var x = outer.variable(scalar(2));
  Var y = x * x;
  {
    Tape inner;
    Var z = inner.variable(y.value());
    CHECK(inner.backward(z * z)[z].item() == 8);
  }
  CHECK(outer.backward(y * x)[x].item() == 12);
}

TEST_CASE("misuse is an error that says what to do") {
  Tensor value = tensor({1, 2});
  SUBCASE("a loss of several elements") {
    Tape tape;
    Var x = tape.variable(value);
    CHECK(mentions(message_of([&] { tape.backward(x * x); }), "[2], not one element"));
  }
  SUBCASE("backward twice") {
    Tape tape;
    Var y = sum(tape.variable(value));
    tape.backward(y);
    CHECK(mentions(message_of([&] { tape.backward(y); }), "called twice"));
  }
  SUBCASE("a tape that is reused for the next step") {
    Tape tape;
    Var x = tape.variable(value);
    tape.backward(sum(x));
    CHECK(mentions(message_of([&] { sum(x); }), "open a new Tape"));
    CHECK(mentions(message_of([&] { tape.variable(value); }), "open a new Tape"));
  }
  SUBCASE("a value from a finished tape") {
    Var old;
    {
      Tape tape;
      old = sum(tape.variable(value));
    }
    CHECK(old.item() == 3);  // its value lives on
    Tape tape;
    CHECK(mentions(message_of([&] { old* old; }), "mul: an input was recorded on another tape"));
    CHECK(mentions(message_of([&] { tape.backward(old); }), "backward: "));
  }
  SUBCASE("a value from the outer tape") {
    Tape outer;
    Var x = outer.variable(value);
    Tape inner;
    CHECK(mentions(message_of([&] { exp(x); }), "detach()"));
    CHECK_NOTHROW(exp(x.detach()));
  }
  SUBCASE("a loss that depends on nothing") {
    Tape tape;
    CHECK(mentions(message_of([&] { tape.backward(Var(scalar(1))); }), "depends on no variable"));
  }
  SUBCASE("the gradient of what is no leaf") {
    Tape tape;
    Var x = tape.variable(value);
    Var y = x * x;
    Var z = sum(y);
    Gradients gradients = tape.backward(z);
    CHECK(mentions(message_of([&] { gradients[y]; }), "no leaf"));
    CHECK(mentions(message_of([&] { gradients[Var(value)]; }), "was not recorded"));
    Parameter parameter(value);
    parameter.set_name("encoder.weight");
    CHECK(mentions(message_of([&] { gradients[parameter]; }), "parameter encoder.weight of shape"));
  }
  SUBCASE("a parameter that holds nothing") {
    CHECK(mentions(message_of([&] { Var x = Parameter(); }), "holds nothing"));
  }
  SUBCASE("mixed types and shapes that do not fit") {
    CHECK(mentions(message_of([&] { Var(value) + Var(value.to(DType::f64)); }), "add: f32 [2]"));
    CHECK(mentions(message_of([&] {
                     Var(value) * Var(tensor({1, 2, 3}));
                   }),
                   "mul: shapes [2] and [3]"));
  }
}

TEST_CASE("parameters: one leaf however often used, shared by copies") {
  Parameter weight(tensor({2}, DType::f64));
  Parameter tied = weight;
  Tape tape;
  Var y = sum(Var(weight) * Var(weight) * Var(tied));
  CHECK(tape.size() == 4);  // a leaf, two products, a sum
  Gradients gradients = tape.backward(y);
  CHECK(gradients.entries().size() == 1);
  CHECK(gradients[tied].item() == 12);
}

TEST_CASE("many parameters on one tape") {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 300; ++i) parameters.emplace_back(scalar(i));
  Tape tape;
  Var y = scalar(0);
  for (int round = 0; round < 2; ++round) {
    for (const Parameter& p : parameters) y = y + Var(p) * Var(p);
  }
  Gradients gradients = tape.backward(y);
  for (int i = 0; i < 300; ++i)
    CHECK(gradients[parameters[static_cast<std::size_t>(i)]].item() == 4 * i);
}

TEST_CASE("overwriting a parameter after it was recorded changes no gradient") {
  Parameter weight(tensor({2, 3}));
  Tape tape;
  Var y = sum(Var(weight) * Var(weight));
  weight.mutable_value().mutable_data<float>()[0] = 100;
  CHECK(tape.backward(y)[weight].to_vector() == std::vector<double>{4, 6});
  CHECK(weight.value().at({0}) == 100);
}

TEST_CASE("a parameter may die before backward") {
  Tape tape;
  Var y;
  {
    Parameter weight(scalar(3));
    y = Var(weight) * Var(weight);
  }
  Gradients gradients = tape.backward(y);
  CHECK(gradients.entries().at(0).gradient.item() == 6);
}

TEST_CASE("an exception in the middle of a forward pass leaves nothing behind") {
  Parameter weight(tensor({1, 2}));
  auto step = [&](bool broken) {
    Tape tape;
    Var y = sum(tanh(Var(weight) * 2));
    if (broken) y = y + Var(tensor({1}, DType::f64));
    return tape.backward(y)[weight];
  };
  Tensor before = step(false);
  auto in_use = pool_stats().bytes_in_use;
  for (int i = 0; i < 10; ++i) CHECK_THROWS_AS(step(true), Error);
  CHECK(pool_stats().bytes_in_use == in_use);
  CHECK(Tape::active() == nullptr);
  CHECK(identical(step(false), before));
}

TEST_CASE("gradients of gradients") {
  Tape tape;
  Var x = tape.variable(scalar(0.7, DType::f64));
  Var y = exp(x * x);
  Var first = gradients(y, {x})[0];
  Var second = gradients(first, {x})[0];
  Var third = gradients(second, {x})[0];
  double e = std::exp(0.49);
  CHECK(first.item() == doctest::Approx(1.4 * e).epsilon(1e-13));
  CHECK(second.item() == doctest::Approx((2 + 4 * 0.49) * e).epsilon(1e-13));
  CHECK(third.item() == doctest::Approx((12 * 0.7 + 8 * 0.343) * e).epsilon(1e-13));
  CHECK(tape.backward(third)[x].item() ==
        doctest::Approx((12 + 48 * 0.49 + 16 * 0.2401) * e).epsilon(1e-13));
}

TEST_CASE("gradients by values that are no leaves, and of what does not depend on them") {
  Tape tape;
  Var x = tape.variable(tensor({1, 2}, DType::f64)), other = tape.variable(scalar(5, DType::f64));
  Var h = x * x;
  std::vector<Var> g = gradients(sum(h * h), {h, x, other});
  CHECK(g[0].value().to_vector() == std::vector<double>{2, 8});
  CHECK(g[1].value().to_vector() == std::vector<double>{4, 32});
  CHECK(g[2].item() == 0);
  CHECK(mentions(message_of([&] { gradients(h, {Var(scalar(1))}); }), "not watched"));
  CHECK(mentions(message_of([&] { gradients(Var(scalar(1)), {x}); }), "depends on no variable"));
  Paused paused;
  CHECK(mentions(message_of([&] { gradients(h, {x}); }), "no tape records"));
}

TEST_CASE("a fused operation gives first derivatives through gradients() and refuses second ones") {
  Tape tape;
  Var gates = tape.variable(ones({1, 3}, DType::f64));
  Var hidden(ones({1, 3}, DType::f64)), h(ones({1, 1}, DType::f64));
  Var first = gradients(gru_gates(gates, hidden, h), {gates})[0];
  Tape check;
  Var again = check.variable(gates.value());
  CHECK(identical(first.value(), check.backward(sum(gru_gates(again, hidden, h)))[again]));
}

TEST_CASE("the second derivative of a fused operation names its twin") {
  Tape tape;
  Var gates = tape.variable(ones({1, 3}, DType::f64));
  Var hidden(ones({1, 3}, DType::f64)), h(ones({1, 1}, DType::f64));
  Var first = gradients(gru_gates(gates, hidden, h), {gates})[0];
  std::string message = message_of([&] { gradients(sum(first), {gates}); });
  CHECK(mentions(message, "gru_gates_composed of nn/composed_recurrent.h"));
}

TEST_CASE("a user's own operation through record") {
  auto cube = [](const Var& x) {
    return record("cube", (x * x * x).value(),
                  Edge{x, [x](const Var& g) { return g * x * x * 3; }});
  };
  Tape tape;
  Var x = tape.variable(scalar(2, DType::f64));
  Var first = gradients(cube(x), {x})[0];
  CHECK(first.item() == 12);
  CHECK(tape.backward(first)[x].item() == 12);
}

namespace {

void* run_deep_chain(void* result) {
  Tape tape;
  Var x = tape.variable(scalar(1, DType::f64));
  Var y = x;
  for (int i = 0; i < 1'000'000; ++i) y = affine(y, 1, 1e-6);
  *static_cast<double*>(result) = tape.backward(y)[x].item() + y.item();
  return nullptr;
}

}  // namespace

TEST_CASE("a chain of a million steps on a stack of 256 KB") {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  pthread_t thread;
  double result = 0;
  REQUIRE(pthread_create(&thread, &attributes, run_deep_chain, &result) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  CHECK(result == doctest::Approx(3));
}

TEST_CASE("in the steady state the system is asked for no memory") {
  Parameter weight(ones({8, 8}));
  auto step = [&] {
    Tape tape;
    Var h(ones({4, 8}));
    for (int t = 0; t < 50; ++t) h = tanh(linear(h, weight));
    Gradients gradients = tape.backward(mean(h * h));
    weight.mutable_value() = gradients[weight];
  };
  for (int i = 0; i < 3; ++i) step();
  PoolStats before = pool_stats();
  for (int i = 0; i < 100; ++i) step();
  CHECK(pool_stats().system_allocations == before.system_allocations);
  CHECK(pool_stats().bytes_in_use == before.bytes_in_use);
}

TEST_CASE("two threads may differentiate at once") {
  Parameter weight(ones({16, 16}));
  auto gradient = [&] {
    Tensor result;
    for (int i = 0; i < 50; ++i) {
      Tape tape;
      result = tape.backward(sum(tanh(linear(Var(ones({4, 16})), weight))))[weight];
    }
    return result.to_vector();
  };
  std::vector<double> here, there;
  std::thread other([&] { there = gradient(); });
  here = gradient();
  other.join();
  CHECK(here == there);
}
