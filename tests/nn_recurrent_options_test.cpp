#include <map>

#include <doctest/doctest.h>

#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "nn/gru.h"
#include "nn/lstm.h"
#include "nn/rnn.h"
#include "tests/nn_check.h"

// Recurrent layers: dropout, names, the choice by name, and errors.
namespace regrad {
namespace {

using testing::contains;
using testing::difference;
using testing::message_of;
using Names = std::vector<std::string>;

constexpr Index inputs = 3, hidden = 2;

Names described(const Module& module) {
  Names result;
  for (const NamedParameter& named : parameters(module)) {
    result.push_back(named.path + " " + to_string(named.parameter.shape()));
  }
  return result;
}

// The second layer passes on what it is given: h' = relu(x).
RNN passing(Index size, double p, bool variational, Rng& rng) {
  const RNN rnn(size, size, rng, DType::f64,
                {.layers = 2, .dropout = p, .variational = variational}, Nonlinearity::relu);
  for (const RNNCell& cell : rnn.cells) {
    std::vector<double> identity;
    for (Index i = 0; i < size * size; ++i) identity.push_back(i % (size + 1) == 0 ? 1 : 0);
    cell.weight_ih.assign(tensor(identity, {size, size}, DType::f64));
    cell.weight_hh.assign(zeros({size, size}, DType::f64));
    cell.bias_ih.assign(zeros({size}, DType::f64));
    cell.bias_hh.assign(zeros({size}, DType::f64));
  }
  return rnn;
}

}  // namespace

TEST_CASE("recurrent layers: dropout acts between layers, in training only") {
  for (const std::string_view name : recurrent_names()) {
    for (const bool variational : {false, true}) {
      CAPTURE(name);
      Rng rng(1);
      const auto layer = make_recurrent(name, inputs, 8, rng, DType::f64,
                                        {.layers = 2, .dropout = 0.5, .variational = variational});
      const Lengths lengths = Lengths::full(3, 2);
      const Tensor x = normal({3, 2, inputs}, 0, 1, rng, DType::f64);
      const RecurrentOutput evaluated = (*layer)(x, lengths);
      CHECK(identical((*layer)(x, lengths).outputs.value(), evaluated.outputs.value()));
      Rng a(5), same(5), b(6);
      const RecurrentOutput trained = (*layer)(x, lengths, &a);
      CHECK_FALSE(identical(trained.outputs.value(), evaluated.outputs.value()));
      CHECK(identical((*layer)(x, lengths, &same).outputs.value(), trained.outputs.value()));
      CHECK_FALSE(identical((*layer)(x, lengths, &b).outputs.value(), trained.outputs.value()));
      CHECK(identical(trained.final[0].value()[0], evaluated.final[0].value()[0]));
    }
  }
}

TEST_CASE("variational dropout has one mask for all steps of a sequence, plain dropout has not") {
  for (const bool variational : {false, true}) {
    Rng rng(1);
    const RNN rnn = passing(16, 0.25, variational, rng);
    const Tensor y = rnn(ones({40, 6, 16}, DType::f64), Lengths::full(40, 6), &rng).outputs.value();
    bool same_steps = true, same_sequences = true;
    for (Index t = 0; t < 40; ++t) same_steps = same_steps && identical(y[t], y[0]);
    for (Index b = 1; b < 6; ++b) same_sequences = same_sequences && identical(y[0][b], y[0][0]);
    CHECK(same_steps == variational);
    CHECK_FALSE(same_sequences);
    for (const double value : y.to_vector()) {
      CHECK((value == 0 || value == doctest::Approx(1 / 0.75)));
    }
  }
}

TEST_CASE("weight dropout: a mask on each weight_hh, in training only, and its gradient") {
  for (const std::string_view name : recurrent_names()) {
    CAPTURE(name);
    Rng rng(1);
    const auto layer = make_recurrent(name, inputs, hidden, rng, DType::f64,
                                      {.layers = 2, .bidirectional = true, .weight_dropout = 0.5});
    name_parameters(*layer);
    const Lengths lengths({4, 0, 2}, 4);
    const Tensor x = normal({4, 3, inputs}, 0, 1, rng, DType::f64);
    const Tensor evaluated = (*layer)(x, lengths).outputs.value();
    const auto train = [&] {
      Rng same(5);
      return (*layer)(x, lengths, &same).outputs;
    };
    const Tensor trained = train().value();
    const GradcheckReport report = gradcheck(train, parameter_list(*layer), {.step = 1e-4});
    CHECK_MESSAGE(report.passed, report.to_string());
    // The same masks on the weights themselves, in evaluation.
    Rng same(5);
    for (Index i = 0; i < layer->cell_count(); ++i) {
      const Parameter weight = layer->cell(i).weight_hh;
      weight.assign(dropout(weight, 0.5, same).value());
    }
    CHECK(identical((*layer)(x, lengths).outputs.value(), trained));
    CHECK_FALSE(identical(evaluated, trained));
  }
}

TEST_CASE("variational dropout keeps the expectation") {
  Rng rng(1);
  const RNN rnn = passing(50, 0.25, true, rng);
  const Var y = rnn(ones({1, 400, 50}, DType::f64), Lengths::full(1, 400), &rng).outputs;
  CHECK(std::abs(mean(y).item() - 1) < 4 * std::sqrt(0.25 / 0.75 / (400 * 50)));
}

TEST_CASE("recurrent layers: parameters are named and shaped as PyTorch's") {
  const std::map<std::string_view, Index> blocks{
      {"rnn", 1}, {"rnn-relu", 1}, {"gru", 3}, {"lstm", 4}};
  for (const std::string_view name : recurrent_names()) {
    Rng rng(1);
    const Index rows = blocks.at(name) * hidden;
    const auto part = [rows](const std::string& suffix, Index width) {
      return Names{fmt::format("weight_ih{} [{}, {}]", suffix, rows, width),
                   fmt::format("weight_hh{} [{}, {}]", suffix, rows, hidden),
                   fmt::format("bias_ih{} [{}]", suffix, rows),
                   fmt::format("bias_hh{} [{}]", suffix, rows)};
    };
    CHECK(described(*make_cell(name, inputs, hidden, rng)) == part("", inputs));
    Names wanted;
    for (const auto& [suffix, width] : std::vector<std::pair<std::string, Index>>{
             {"_l0", 3}, {"_l0_reverse", 3}, {"_l1", 4}, {"_l1_reverse", 4}}) {
      for (const std::string& line : part(suffix, width)) wanted.push_back(line);
    }
    CHECK(described(*make_recurrent(name, inputs, hidden, rng, DType::f32,
                                    {.layers = 2, .bidirectional = true})) == wanted);
  }
}

TEST_CASE("a copy of a recurrent layer shares its parameters") {
  Rng rng(1);
  const LSTM lstm(inputs, hidden, rng);
  const LSTM copy = lstm;
  CHECK(parameter_list(copy) == parameter_list(lstm));
  CHECK(lstm.hidden() == hidden);
  CHECK(lstm.cells[0].hidden() == hidden);
}

TEST_CASE("cells of one state also take and give the state itself") {
  Rng rng(1);
  const GRUCell gru(inputs, hidden, rng);
  const RNNCell rnn(inputs, hidden, rng);
  const Var x = normal({4, inputs}, 0, 1, rng), h = normal({4, hidden}, 0, 1, rng);
  const Var from_gru = gru(x, h), from_rnn = rnn(x, h);
  CHECK(identical(from_gru.value(), gru(x, RecurrentState{h})[0].value()));
  CHECK(identical(from_rnn.value(), rnn(x, RecurrentState{h})[0].value()));
  CHECK(identical(rnn.step(rnn.project(x), h).value(), from_rnn.value()));
}

TEST_CASE("an unknown recurrent layer is an error that lists the known") {
  Rng rng(1);
  const std::string wanted = "recurrent: unknown cell `lstn`; known are rnn, rnn-relu, gru, lstm";
  CHECK(message_of([&] { make_cell("lstn", 2, 2, rng); }) == wanted);
  CHECK(message_of([&] { make_recurrent("lstn", 2, 2, rng); }) == wanted);
}

TEST_CASE("recurrent layers: wrong inputs are named errors") {
  Rng rng(1);
  const GRU gru(inputs, hidden, rng);
  const LSTM lstm(inputs, hidden, rng);
  const Lengths lengths = Lengths::full(4, 2);
  const Tensor x = zeros({4, 2, 3}), h = zeros({1, 2, 2});
  CHECK(contains(message_of([&] { gru(zeros({4, 2, 5}), lengths); }), "[T, B, 3], not [4, 2, 5]"));
  CHECK(contains(message_of([&] {
                   lstm(zeros({4, 3}), lengths);
                 }),
                 "lstm: the input must be [T, B, 3], not [4, 3]"));
  CHECK(contains(message_of([&] { gru(zeros({5, 2, 3}), lengths); }), "lengths"));
  CHECK(contains(message_of([&] { gru(zeros({0, 2, 3}), Lengths::full(0, 2)); }), "no time step"));
  CHECK(message_of([&] {
          gru(x, {zeros({2, 2, 2})}, lengths);
        }) ==
        "gru: the initial state must be [layers · directions, B, H] = [1, 2, 2], not [2, 2, 2]");
  CHECK(message_of([&] {
          gru(x, {h, h}, lengths);
        }) == "gru: the initial state must be one tensor, h, not 2");
  CHECK(message_of([&] { lstm(x, RecurrentState{h}, lengths); }) ==
        "lstm: the initial state must be two tensors, h and c, not 1");
  CHECK(message_of([&] { lstm.cells[0](x[0], RecurrentState{h[0]}); }) ==
        "lstm: the state must be two tensors, h and c, not 1");
  CHECK(contains(message_of([&] { lstm.cells[0](x[0], {h[0], zeros({2, 3})}); }), "lstm_gates"));
}

TEST_CASE("recurrent layers: wrong sizes and dropout without effect are named errors") {
  Rng rng(1);
  for (const std::string_view name : recurrent_names()) {
    CAPTURE(name);
    const auto message = [&](Index width, Index size, const RecurrentOptions& options) {
      return message_of([&] { make_recurrent(name, width, size, rng, DType::f32, options); });
    };
    CHECK(contains(message(0, 2, {}), ": inputs must be at least 1, not 0"));
    CHECK(contains(message(2, 0, {}), ": hidden must be at least 1, not 0"));
    CHECK(contains(message(2, 2, {.layers = 0}), ": layers must be at least 1, not 0"));
    CHECK(contains(message(2, 2, {.dropout = 0.3}), "dropout 0.3 has no effect"));
    CHECK(contains(message(2, 2, {.layers = 2, .dropout = 1}), "dropout: the probability"));
    CHECK(contains(message(2, 2, {.weight_dropout = 1}), "dropout: the probability"));
    CHECK(contains(message_of([&] { make_cell(name, 0, 2, rng); }), ": inputs"));
    CHECK(contains(message_of([&] { make_cell(name, 2, -1, rng); }), ": hidden"));
  }
}

}  // namespace regrad
