#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "examples/seq2seq/recurrent_model.h"
#include "tests/nn_check.h"

using namespace regrad;
using namespace regrad::seq2seq;
using regrad::testing::difference;

namespace {

constexpr Index source_vocabulary = 7, target_vocabulary = 9;

Config tiny(const std::string& attention = "additive", Index layers = 1) {
  Config config;
  config.attention = attention;
  config.layers = layers;
  config.hidden = 3;
  config.embedding = 2;
  config.dropout = 0;
  return config;
}

RecurrentModel tiny_model(const Config& config, DType dtype = DType::f64, std::uint64_t seed = 3) {
  Rng rng(seed);
  return RecurrentModel(source_vocabulary, target_vocabulary, config, rng, dtype);
}

// Uneven lengths, one source of one token, one empty target.
std::vector<Example> examples() { return {{{4, 5, 6, 4}, {7, 8}}, {{6}, {4, 5, 6}}, {{5, 5}, {}}}; }

Batch whole_batch() { return make_batch(examples(), {0, 1, 2}); }

Var loss_of(const Model& model, const Batch& batch, bool mean = true) {
  return cross_entropy(model(batch).logits, batch.target_out, batch.target_lengths,
                       {.label_smoothing = 0.1, .mean = mean});
}

struct Result {
  double loss;
  std::map<std::string, Tensor> gradients;
};

Result train(const Model& model, const Batch& batch, bool mean = true) {
  Tape tape;
  const Var loss = loss_of(model, batch, mean);
  const Gradients gradients = tape.backward(loss);
  Result result{loss.item(), {}};
  for (const auto& [path, parameter] : distinct_parameters(model)) {
    result.gradients.emplace(path, gradients[parameter]);
  }
  return result;
}

void require_same_bits(const Result& a, const Result& b) {
  CHECK(a.loss == b.loss);
  for (const auto& entry : a.gradients) {
    CAPTURE(entry.first);
    CHECK(identical(entry.second, b.gradients.at(entry.first)));
  }
}

Ids with_padding(Ids ids, const Lengths& lengths, std::int32_t garbage) {
  for (Index t = 0; t < lengths.time(); ++t) {
    for (Index b = 0; b < lengths.batch(); ++b) {
      if (!lengths.valid(t, b)) ids.at(t, b) = garbage;
    }
  }
  return ids;
}

std::vector<Hypothesis> decode(const Model& model, const Batch& batch) {
  const Search search = model.search(batch.source, batch.source_lengths);
  const auto size = static_cast<std::int32_t>(batch.examples.size());
  Ids rows(Shape{size});
  for (std::int32_t i = 0; i < size; ++i) rows.mutable_data()[i] = i;
  const auto limits = std::vector<Index>(batch.examples.size(), 12);
  return greedy(search.make_step(rows), search.state, search.lengths,
                {Vocabulary::bos, Vocabulary::eos, limits});
}

}  // namespace

TEST_CASE("the gradient of the whole model is that of five-point differences") {
  for (const std::string attention : {"additive", "dot"}) {
    for (const Index layers : {1, 2}) {
      CAPTURE(attention);
      CAPTURE(layers);
      const RecurrentModel model = tiny_model(tiny(attention, layers));
      const Batch batch = whole_batch();
      const auto report = gradcheck([&] { return loss_of(model, batch); }, parameter_list(model));
      CAPTURE(report.to_string());
      CHECK(report.passed);
      CHECK(report.worst_error <= 1e-6);
      CHECK(report.entries == count_parameters(model));
    }
  }
}

TEST_CASE("every parameter gets a gradient that is not zero") {
  const Result result = train(tiny_model(tiny("additive", 2)), whole_batch());
  for (const auto& entry : result.gradients) {
    double largest = 0;
    for (const double value : entry.second.to_vector()) {
      largest = std::max(largest, std::abs(value));
    }
    CAPTURE(entry.first);
    CHECK(largest > 0);
  }
}

TEST_CASE("what stands in the padding changes no bit of loss and gradients") {
  for (const std::string attention : {"additive", "dot"}) {
    const RecurrentModel model = tiny_model(tiny(attention, 2));
    const Batch batch = whole_batch();
    const Result expected = train(model, batch);
    for (const std::int32_t garbage : {1000, -1, std::numeric_limits<std::int32_t>::min()}) {
      Batch dirty = batch;
      dirty.source = with_padding(batch.source, batch.source_lengths, garbage);
      dirty.target_in = with_padding(batch.target_in, batch.target_lengths, garbage);
      dirty.target_out = with_padding(batch.target_out, batch.target_lengths, garbage);
      require_same_bits(train(model, dirty), expected);
    }
  }
}

TEST_CASE("NaN in the vector of <pad> reaches nothing") {
  const RecurrentModel model = tiny_model(tiny());
  const Result expected = train(model, whole_batch());
  for (const Parameter& table : {model.encoder.embedding.weight, model.decoder.embedding.weight}) {
    Tensor value = table.value();
    double* row = value.mutable_data<double>() + Vocabulary::pad * value.shape()[1];
    std::fill_n(row, value.shape()[1], NAN);
    table.assign(value);
  }
  require_same_bits(train(model, whole_batch()), expected);
}

TEST_CASE("an example alone gives what it gives among others") {
  for (const std::string attention : {"additive", "dot"}) {
    const RecurrentModel model = tiny_model(tiny(attention, 2));
    const Result whole = train(model, whole_batch(), false);
    Result sum{0, {}};
    for (const std::size_t i : {0, 1, 2}) {
      const Result alone = train(model, make_batch(examples(), {i}), false);
      sum.loss += alone.loss;
      for (const auto& [path, gradient] : alone.gradients) {
        const auto [entry, is_new] = sum.gradients.emplace(path, gradient);
        if (!is_new) entry->second = (Var(entry->second) + Var(gradient)).value();
      }
    }
    CHECK(sum.loss == doctest::Approx(whole.loss).epsilon(1e-12));
    for (const auto& entry : whole.gradients) {
      CAPTURE(entry.first);
      CHECK(difference(entry.second, sum.gradients.at(entry.first)) < 1e-12);
    }
  }
}

TEST_CASE("a greedy translation does not depend on the batch around it") {
  const RecurrentModel model = tiny_model(tiny());
  const std::vector<Hypothesis> together = decode(model, whole_batch());
  for (const std::size_t i : {0, 1, 2}) {
    const std::vector<Hypothesis> alone = decode(model, make_batch(examples(), {i}));
    CHECK(alone[0].tokens == together[i].tokens);
    CHECK(difference(alone[0].attention, together[i].attention) < 1e-12);
    CHECK(alone[0].log_probability == doctest::Approx(together[i].log_probability).epsilon(1e-12));
  }
}

TEST_CASE("decoding step by step gives the logits of teacher forcing") {
  const RecurrentModel model = tiny_model(tiny());
  const Batch batch = make_batch(examples(), {0});
  const Var logits = model(batch).logits;  // [3, 1, V]
  const Search search = model.search(batch.source, batch.source_lengths);
  const DecoderStep step = search.make_step(Ids{0});
  DecoderState state = search.state;
  for (Index t = 0; t < 3; ++t) {
    const Var stepped = step(batch.target_in.row(t), state).logits;
    CHECK(difference(stepped.value(), logits.value()[t]) < 1e-12);
  }
}

TEST_CASE("each step's weights cover its source and nothing else") {
  const Batch batch = whole_batch();
  const auto weights = tiny_model(tiny())(batch).weights;
  REQUIRE(weights.size() == 4);
  for (const Var& step : weights) {
    REQUIRE(step.shape() == Shape{3, 4});
    for (Index b = 0; b < 3; ++b) {
      double sum = 0;
      for (Index s = 0; s < 4; ++s) {
        if (s >= batch.source_lengths[b]) CHECK(step.value().at({b, s}) == 0);
        sum += step.value().at({b, s});
      }
      CHECK(sum == doctest::Approx(1));
    }
  }
}

TEST_CASE("dropout acts with a generator only, and follows it") {
  Config config = tiny();
  config.dropout = 0.5;
  const RecurrentModel model = tiny_model(config, DType::f32);
  const Batch batch = whole_batch();
  Rng first(1), again(1), other(2);
  const Tensor expected = model(batch, &first).logits.value();
  CHECK(identical(model(batch, &again).logits.value(), expected));
  CHECK_FALSE(identical(model(batch, &other).logits.value(), expected));
  CHECK(identical(model(batch).logits.value(), model(batch).logits.value()));
  CHECK_FALSE(identical(model(batch).logits.value(), expected));
}

TEST_CASE("parameters have PyTorch's names and the shapes of the design") {
  std::map<std::string, Shape> shapes;
  for (const auto& [path, parameter] : parameters(tiny_model(tiny()))) {
    shapes.emplace(path, parameter.shape());
    CHECK(parameter.name() == path);
  }
  CHECK(shapes.size() == 2 + 8 + 2 + 3 + 4 + 2);
  CHECK(shapes.at("encoder.embedding.weight") == Shape{7, 2});
  CHECK(shapes.at("encoder.gru.weight_ih_l0_reverse") == Shape{9, 2});
  CHECK(shapes.at("decoder.embedding.weight") == Shape{9, 2});
  CHECK(shapes.at("decoder.initial.weight") == Shape{3, 3});
  CHECK(shapes.at("decoder.attention.v") == Shape{3});
  CHECK(shapes.at("decoder.cell.weight_ih") == Shape{9, 2 + 6});
  CHECK(shapes.at("decoder.output.weight") == Shape{9, 3 + 6 + 2});
  const RecurrentModel dot = tiny_model(tiny("dot"));
  CHECK(dot.decoder.cell->weight_hh.shape() == Shape{18, 6});
}
