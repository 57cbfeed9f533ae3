#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/gru.h"
#include "nn/linear.h"
#include "nn/optimizer.h"
#include "tests/nn_check.h"

// What must hold for layers together: an encoder-decoder with attention, trained on its own labels.
namespace regrad {
namespace {

using testing::difference;
using Sentences = std::vector<std::vector<std::int32_t>>;

constexpr Index vocabulary = 7;

struct Batch {
  Ids source, previous, labels;  // [T, B]
  Lengths source_lengths, target_lengths;
};

// Pads with ids that no vocabulary has.
std::pair<Ids, Lengths> pad(const Sentences& sentences, std::int32_t padding) {
  std::size_t longest = 1;
  std::vector<std::int32_t> lengths;
  for (const auto& sentence : sentences) {
    longest = std::max(longest, sentence.size());
    lengths.push_back(static_cast<std::int32_t>(sentence.size()));
  }
  Ids ids({static_cast<Index>(longest), static_cast<Index>(sentences.size())}, padding);
  for (std::size_t b = 0; b < sentences.size(); ++b) {
    for (std::size_t t = 0; t < sentences[b].size(); ++t) {
      ids.at(static_cast<Index>(t), static_cast<Index>(b)) = sentences[b][t];
    }
  }
  return {ids, Lengths(lengths, static_cast<Index>(longest))};
}

Batch make_batch(const Sentences& sources, const Sentences& targets, std::int32_t padding = -5) {
  Sentences previous = targets;
  for (auto& sentence : previous) {
    if (sentence.empty()) continue;
    sentence.pop_back();
    sentence.insert(sentence.begin(), 0);
  }
  const auto [source, source_lengths] = pad(sources, padding);
  const auto [labels, target_lengths] = pad(targets, padding);
  return {source, pad(previous, padding).first, labels, source_lengths, target_lengths};
}

struct Model : Module {
  explicit Model(std::string_view score, Rng& rng)
      : embedding(vocabulary, 3, rng, DType::f64),
        encoder(3, 2, rng, DType::f64, {.layers = 2, .bidirectional = true}),
        bridge(8, 4, rng, DType::f64),
        attention(score, "soft", {.query_size = 4, .key_size = 4, .attention_size = 3}, rng,
                  DType::f64),
        decoder(7, 4, rng, DType::f64),
        output(8, vocabulary, rng, DType::f64) {
    name_parameters(*this);
  }
  void visit(Visitor& visitor) const override {
    visitor("embedding", embedding);
    visitor("encoder", encoder);
    visitor("bridge", bridge);
    visitor("attention", attention);
    visitor("decoder", decoder);
    visitor("output", output);
  }
  // Summed over labels, so that batches add up. `padding` overwrites what the encoder's padded
  // positions hold.
  Var loss(const Batch& batch, double padding = 0) const {
    const Var embedded = embedding(batch.source, batch.source_lengths);
    const RecurrentOutput encoded =
        encoder(masked_fill(embedded, batch.source_lengths, padding), batch.source_lengths);
    const AttentionMemory memory = attention.prepare(
        masked_fill(encoded.outputs, batch.source_lengths, padding), batch.source_lengths);
    const Index size = batch.source_lengths.batch();
    Var h = tanh(bridge(reshape(permute(encoded.final[0], {1, 0, 2}), {size, 8})));
    const Var previous = embedding(batch.previous, batch.target_lengths);
    AttentionState state = attention.start(memory);
    std::vector<Var> logits;
    for (Index t = 0; t < batch.target_lengths.time(); ++t) {
      const AttentionOutput attended = attention(h, memory, state);
      state = attended.state;
      h = decoder(concat({select(previous, 0, t), attended.context}, 1), h);
      logits.push_back(output(concat({h, attended.context}, 1)));
    }
    return cross_entropy(masked_fill(stack(logits), batch.target_lengths, padding), batch.labels,
                         batch.target_lengths, {.label_smoothing = 0.1, .mean = false});
  }

  Embedding embedding;
  GRU encoder;
  Linear bridge;
  Attention attention;
  GRUCell decoder;
  Linear output;
};

const Sentences sources{{1, 2, 3, 4}, {5}, {}, {2, 2, 6}};
const Sentences targets{{3, 1, 4}, {6, 5, 5, 2, 1}, {2, 1}, {1}};

struct Result {
  Tensor loss;
  Gradients gradients;
};

Result run(const Model& model, const Batch& batch, double padding = 0) {
  Tape tape;
  const Var loss = model.loss(batch, padding);
  const Tensor value = loss.value();
  return {value, tape.backward(loss)};
}

}  // namespace

TEST_CASE("an encoder-decoder: every parameter's gradient, uneven lengths, one without source") {
  Rng rng(1);
  for (const char* score : {"additive", "dot"}) {
    const Model model(score, rng);
    const Batch batch = make_batch(sources, targets);
    const auto report = gradcheck([&] { return model.loss(batch); }, parameter_list(model),
                                  {.entries_per_input = 12});
    CHECK_MESSAGE(report.passed, report.to_string());
    CHECK(report.worst_error < 1e-6);
  }
}

TEST_CASE("garbage and NaN in every padded position change no bit of loss or gradients") {
  Rng rng(1);
  for (const char* score : {"additive", "dot"}) {
    const Model model(score, rng);
    const Result clean = run(model, make_batch(sources, targets, 0));
    for (const double garbage : {1e3, std::nan("")}) {
      const Result other = run(model, make_batch(sources, targets, 1'000'000), garbage);
      CHECK(identical(other.loss, clean.loss));
      for (const NamedParameter& named : parameters(model)) {
        CAPTURE(named.path);
        CHECK(identical(other.gradients[named.parameter], clean.gradients[named.parameter]));
      }
    }
  }
}

TEST_CASE("micro-batches add up to the whole batch, in any division") {
  Rng rng(1);
  for (const char* score : {"additive", "dot"}) {
    const Model model(score, rng);
    const Result whole = run(model, make_batch(sources, targets));
    for (const std::size_t size : {1, 2, 3}) {
      double loss = 0;
      Gradients added;
      for (std::size_t begin = 0; begin < sources.size(); begin += size) {
        const std::size_t end = std::min(begin + size, sources.size());
        const auto part = [&](const Sentences& sentences) {
          return Sentences(sentences.begin() + static_cast<std::ptrdiff_t>(begin),
                           sentences.begin() + static_cast<std::ptrdiff_t>(end));
        };
        const Result result = run(model, make_batch(part(sources), part(targets)));
        loss += result.loss.item();
        added.add(result.gradients);
      }
      CHECK(loss == doctest::Approx(whole.loss.item()).epsilon(1e-12));
      for (const NamedParameter& named : parameters(model)) {
        CAPTURE(named.path);
        CHECK(difference(added[named.parameter], whole.gradients[named.parameter]) < 1e-12);
      }
    }
  }
}

TEST_CASE("training lowers the loss and stays finite") {
  Rng rng(1);
  const Model model("additive", rng);
  const Batch batch = make_batch(sources, targets);
  Adam adam(model, {.learning_rate = 0.02});
  const double before = model.loss(batch).item();
  for (int step = 0; step < 60; ++step) {
    adam.step(clip_norm(run(model, batch).gradients, 1));
  }
  CHECK(model.loss(batch).item() < 0.6 * before);
}

}  // namespace regrad
