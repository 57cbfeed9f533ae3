#include <initializer_list>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/gradcheck.h"
#include "examples/seq2seq/model.h"
#include "tests/nn_check.h"

// Every score with every alignment, cell, decoder and architecture as one model.
using namespace regrad;
using namespace regrad::seq2seq;
using regrad::testing::contains;
using regrad::testing::difference;
using regrad::testing::message_of;

namespace {

using Names = std::initializer_list<const char*>;

const Names scores{"content", "additive", "general", "dot", "scaled-dot", "location"};
const Names cells{"rnn", "rnn-relu", "gru", "lstm"};

Config tiny() {
  Config config;
  config.hidden = 4;
  config.embedding = 3;
  config.heads = 2;
  config.window = 1;
  config.dropout = 0;
  return config;
}

std::unique_ptr<Model> model_of(const Config& config) {
  Rng rng(3);
  return make_model(7, 9, config, rng, DType::f64);
}

// Uneven lengths, one source of one token, one empty target.
Batch batch_of(const Indices& indices) {
  const std::vector<Example> examples{{{4, 5, 6, 4}, {7, 8}}, {{6}, {4, 5, 6}}, {{5, 5}, {}}};
  return make_batch(examples, indices);
}

// In training, with the same random numbers each time.
Var loss_of(const Model& model, const Batch& batch) {
  Rng rng(11);
  return cross_entropy(model(batch, &rng).logits, batch.target_out, batch.target_lengths,
                       {.label_smoothing = 0.1});
}

void check_gradient(const Config& config) {
  const auto model = model_of(config);
  for (const Indices& indices : {Indices{0}, Indices{0, 1, 2}}) {
    const Batch batch = batch_of(indices);
    const auto report = gradcheck([&] { return loss_of(*model, batch); }, parameter_list(*model),
                                  {.step = 1e-4, .entries_per_input = 2});
    INFO(config.cell, " ", config.attention, " ", config.alignment, " ", config.decoder, ": ",
         report.to_string());
    CHECK(report.passed);
  }
}

// One configuration of each kind, for what holds of all.
std::vector<Config> kinds() {
  std::vector<Config> all;
  for (const char* score : scores) {
    all.push_back(tiny());
    all.back().attention = score;
  }
  for (const char* alignment : {"sparsemax", "entmax", "local-m", "local-p", "monotonic",
                                "hard-reinforce", "hard-gumbel", "hard-marginal"}) {
    for (const char* decoder : {"bahdanau", "luong"}) {
      all.push_back(tiny());
      all.back().alignment = alignment;
      all.back().decoder = decoder;
    }
  }
  for (const char* place : {"each-step", "initial"}) {
    all.push_back(tiny());
    all.back().attention = "none";
    all.back().fixed_vector = place;
    all.back().cell = "lstm";
  }
  for (const bool tied : {false, true}) {
    for (const char* architecture : {"recurrent", "transformer"}) {
      all.push_back(tiny());
      all.back().architecture = architecture;
      all.back().tied_embeddings = tied;
      all.back().layers = 2;
    }
  }
  all.push_back(tiny());
  all.back().cell = "lstm";
  all.back().decoder_hidden = 5;
  all.back().learned_initial = true;
  for (const char* norm : {"pre", "post"}) {
    all.push_back(tiny());
    all.back().architecture = "transformer";
    all.back().norm = norm;
    all.back().positions = "learned";
    all.back().longest = 7;
  }
  return all;
}

Ids rows_of(const Batch& batch) {
  Ids rows(Shape{static_cast<Index>(batch.examples.size())});
  for (Index i = 0; i < rows.size(); ++i) rows.mutable_data()[i] = static_cast<std::int32_t>(i);
  return rows;
}

std::vector<std::vector<Hypothesis>> beams(const Model& model, const Batch& batch, Index beam) {
  const Search search = model.search(batch.source, batch.source_lengths);
  const std::vector<Index> limits(batch.examples.size(), 6);
  return beam_search(search.make_step, search.state, search.lengths, {2, 3, limits},
                     {.beam = beam, .n_best = beam});
}

}  // namespace

TEST_CASE("gradients of every score with every exact or relaxed alignment and cell") {
  for (const char* cell : cells) {
    for (const char* score : scores) {
      for (const char* alignment :
           {"soft", "sparsemax", "entmax", "local-m", "local-p", "monotonic", "hard-marginal"}) {
        Config config = tiny();
        config.cell = cell;
        config.attention = score;
        config.alignment = alignment;
        check_gradient(config);
      }
    }
  }
}

TEST_CASE("gradients of the other forms") {
  for (const Config& config : kinds()) {
    if (config.alignment == "hard-reinforce" || config.alignment == "hard-gumbel") continue;
    check_gradient(config);
  }
}

TEST_CASE("gradients with each kind of dropout, its masks fixed") {
  for (const char* cell : {"rnn", "gru", "lstm"}) {  // rectified units meet their kink
    for (const char* alignment : {"soft", "hard-marginal"}) {
      for (const char* decoder : {"bahdanau", "luong"}) {
        Config config = tiny();
        config.cell = cell;
        config.alignment = alignment;
        config.decoder = decoder;
        config.layers = 2;
        config.dropout = config.weight_dropout = 0.3;
        config.variational_dropout = config.learned_initial = true;
        check_gradient(config);
      }
    }
  }
}

TEST_CASE("decoding step by step gives the logits of teacher forcing") {
  for (const Config& config : kinds()) {
    CAPTURE(to_json(config).dump());
    const auto model = model_of(config);
    const Batch batch = batch_of({0, 1, 2});
    const Tensor logits = (*model)(batch).logits.value();
    const Search search = model->search(batch.source, batch.source_lengths);
    const DecoderStep step = search.make_step(rows_of(batch));
    DecoderState state = search.state;
    for (Index t = 0; t < 3; ++t) {  // sentence 0 has three steps
      const Tensor stepped = step(batch.target_in.row(t), state).logits.value();
      CHECK(difference(stepped[0], logits[t][0]) < 1e-11);
    }
  }
}

TEST_CASE("a sentence's beam does not depend on the batch, and a beam of 1 is greedy") {
  for (const Config& config : kinds()) {
    CAPTURE(to_json(config).dump());
    const auto model = model_of(config);
    const Batch batch = batch_of({0, 1, 2});
    const auto together = beams(*model, batch, 3);
    for (const std::size_t i : {0, 1, 2}) {
      const auto alone = beams(*model, batch_of({i}), 3);
      REQUIRE(alone[0].size() == together[i].size());
      for (std::size_t n = 0; n < alone[0].size(); ++n) {
        CHECK(alone[0][n].tokens == together[i][n].tokens);
        CHECK(alone[0][n].score == doctest::Approx(together[i][n].score).epsilon(1e-11));
      }
    }
    const Search search = model->search(batch.source, batch.source_lengths);
    const auto greedily =
        greedy(search.make_step(rows_of(batch)), search.state, search.lengths, {2, 3, {6, 6, 6}});
    const auto narrow = beams(*model, batch, 1);
    for (std::size_t i = 0; i < 3; ++i) CHECK(narrow[i][0].tokens == greedily[i].tokens);
  }
}

TEST_CASE("what stands in the padding changes no bit") {
  for (const Config& config : kinds()) {
    CAPTURE(to_json(config).dump());
    const auto model = model_of(config);
    Batch batch = batch_of({0, 1, 2});
    const double loss = loss_of(*model, batch).item();
    for (Index t = 0; t < batch.source_lengths.time(); ++t) {
      for (Index b = 0; b < 3; ++b) {
        if (!batch.source_lengths.valid(t, b)) batch.source.at(t, b) = 77;
      }
    }
    CHECK(loss_of(*model, batch).item() == loss);
  }
}

TEST_CASE("tied embeddings are one parameter") {
  for (const char* architecture : {"recurrent", "transformer"}) {
    Config config = tiny();
    config.architecture = architecture;
    const auto apart = model_of(config);
    config.tied_embeddings = true;
    const auto tied = model_of(config);
    CHECK(parameters(*apart).size() == distinct_parameters(*apart).size());
    CHECK(parameters(*tied).size() == distinct_parameters(*tied).size() + 1);
  }
}

TEST_CASE("sizes that a score cannot compare are an error that says what to do") {
  Config config = tiny();
  config.attention = "dot";
  config.decoder_hidden = 5;
  const std::string message = message_of([&] { model_of(config); });
  CHECK(contains(message, "5"));
  CHECK(contains(message, "8"));
  CHECK(contains(message, "general"));
}
