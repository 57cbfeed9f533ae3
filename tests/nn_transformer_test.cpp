#include <cmath>

#include <doctest/doctest.h>

#include "autograd/gradcheck.h"
#include "nn/transformer.h"
#include "tests/layer_golden.h"

namespace regrad {
namespace {

using namespace testing;

constexpr DType both[] = {DType::f32, DType::f64};
const Lengths source({5, 2, 4}, 5), target({1, 4, 3}, 4);

Tensor draw(const Shape& shape, std::uint64_t seed) {
  Rng rng(seed);
  return normal(shape, 0, 1, rng, DType::f64);
}

struct Kind {
  std::string name;
  TransformerOptions options;
};

std::vector<Kind> kinds(Index feed_forward) {
  std::vector<Kind> result;
  for (const bool pre : {false, true}) {
    for (const bool smooth : {false, true}) {
      result.push_back({std::string(pre ? "pre" : "post") + (smooth ? "_gelu" : "_relu"),
                        {.feed_forward = feed_forward,
                         .dropout = 0,
                         .activation = smooth ? Activation::gelu : Activation::relu,
                         .norm_first = pre}});
    }
  }
  return result;
}

const TransformerStackOptions small{
    .layers = 2,
    .final_norm = true,
    .layer = {
        .feed_forward = 6, .dropout = 0.3, .activation = Activation::gelu, .norm_first = true}};

Tensor row(const Tensor& x, Index b) { return slice(Var(x), 1, b, b + 1).value(); }

}  // namespace

TEST_CASE("transformer encoders agree with PyTorch: pre- and post-norm, relu and gelu") {
  for (const DType dtype : both) {
    for (const Kind& kind : kinds(16)) {
      CAPTURE(kind.name);
      const LayerGolden golden("transformer_encoder_" + kind.name, dtype);
      Rng rng(1);
      const TransformerEncoder encoder(8, 2, rng, dtype,
                                       {.layers = 2, .final_norm = true, .layer = kind.options});
      golden.load(encoder);
      Tape tape;
      const Var x = tape.variable(golden["x"]);
      golden.check(tape, encoder, {{"x", x}}, {{"output", encoder(x, source)}});
    }
  }
}

TEST_CASE("transformer decoders agree with PyTorch: pre- and post-norm, relu and gelu") {
  for (const DType dtype : both) {
    for (const Kind& kind : kinds(16)) {
      CAPTURE(kind.name);
      const LayerGolden golden("transformer_decoder_" + kind.name, dtype);
      Rng rng(1);
      const TransformerDecoder decoder(8, 2, rng, dtype,
                                       {.layers = 2, .final_norm = true, .layer = kind.options});
      golden.load(decoder);
      Tape tape;
      const Var x = tape.variable(golden["x"]), memory = tape.variable(golden["memory"]);
      golden.check(tape, decoder, {{"x", x}, {"memory", memory}},
                   {{"output", decoder(x, target, memory, source).output}});
    }
  }
}

TEST_CASE("gradients of transformer layers are right: every parameter, inputs, empty sentences") {
  const Lengths from({3, 0, 1}, 3), to({1, 2, 0}, 2);
  const Tensor x = draw({3, 3, 4}, 1), y = draw({2, 3, 4}, 2);
  for (const Kind& kind : kinds(3)) {
    CAPTURE(kind.name);
    Rng rng(1);
    const TransformerEncoderLayer encoder(4, 2, rng, DType::f64, kind.options);
    const TransformerDecoderLayer decoder(4, 2, rng, DType::f64, kind.options);
    for (const GradcheckReport& report :
         {gradcheck([&] { return encoder(x, from); }, parameter_list(encoder)),
          gradcheck([&] { return decoder(y, to, x, from).output; }, parameter_list(decoder)),
          gradcheck([&](std::span<const Var> v) { return encoder(v[0], from); }, {x}),
          gradcheck([&](std::span<const Var> v) { return decoder(v[0], to, v[1], from).output; },
                    {y, x})}) {
      CHECK_MESSAGE(report.passed, report.to_string());
    }
  }
}

TEST_CASE("what stands in the padding changes not one bit of a transformer, nor of its gradients") {
  Rng rng(1);
  const TransformerEncoder encoder(4, 2, rng, DType::f64, small);
  const TransformerDecoder decoder(4, 2, rng, DType::f64, small);
  const Lengths from({3, 0, 1}, 3), to({1, 2, 0}, 2);
  const Tensor x = draw({3, 3, 4}, 1), y = draw({2, 3, 4}, 2);
  const auto run = [&](double padding) {
    Tape tape;
    const Var in = tape.variable(with_padding(x, from, padding));
    const Var out = tape.variable(with_padding(y, to, padding));
    const Var memory = encoder(in, from);
    const Var spoilt = masked_fill(memory, from, padding);
    const Var result = decoder(out, to, spoilt, from).output;
    const Gradients gradients = tape.backward(sum(square(result)));
    std::vector<Tensor> all{memory.value(), result.value(), gradients[in], gradients[out]};
    for (const Module* module :
         {static_cast<const Module*>(&encoder), static_cast<const Module*>(&decoder)}) {
      for (const Parameter& p : parameter_list(*module)) all.push_back(gradients[p]);
    }
    return all;
  };
  const std::vector<Tensor> clean = run(0);
  CHECK(identical(with_padding(clean[0], from, 0), clean[0]));
  CHECK(identical(with_padding(clean[1], to, 0), clean[1]));
  CHECK(identical(with_padding(clean[2], from, 0), clean[2]));
  for (const double garbage : {1e3, std::nan("")}) {
    const std::vector<Tensor> dirty = run(garbage);
    for (std::size_t i = 0; i < clean.size(); ++i) CHECK(identical(dirty[i], clean[i]));
  }
}

TEST_CASE("a sentence is translated alone as among others") {
  Rng rng(1);
  const TransformerEncoder encoder(4, 2, rng, DType::f64, small);
  const TransformerDecoder decoder(4, 2, rng, DType::f64, small);
  const Tensor x = draw({5, 3, 4}, 1), y = draw({4, 3, 4}, 2);
  const Tensor together = decoder(y, target, encoder(x, source), source).output.value();
  for (Index b = 0; b < 3; ++b) {
    const Lengths from = Lengths::full(source[b], 1), to = Lengths::full(target[b], 1);
    const Var memory = encoder(row(x, b).narrow(0, source[b]), from);
    const Var alone = decoder(row(y, b).narrow(0, target[b]), to, memory, from).output;
    CHECK(difference(alone.value(), row(together, b).narrow(0, target[b])) < 1e-12);
  }
}

TEST_CASE("later steps do not change earlier ones") {
  Rng rng(1);
  const TransformerDecoder decoder(4, 2, rng, DType::f64, small);
  const Lengths full = Lengths::full(4, 3);
  const Tensor y = draw({4, 3, 4}, 2), memory = draw({5, 3, 4}, 1);
  const Tensor changed = with_padding(y, Lengths({2, 2, 2}, 4), 9);
  CHECK(identical(decoder(y, full, memory, source).output.value().narrow(0, 2),
                  decoder(changed, full, memory, source).output.value().narrow(0, 2)));
}

TEST_CASE("step by step with a cache is as all at once, also for reordered and dropped sentences") {
  for (const Kind& kind : kinds(5)) {
    Rng rng(1);
    const TransformerDecoder decoder(4, 2, rng, DType::f64,
                                     {.layers = 2, .final_norm = true, .layer = kind.options});
    const Lengths from({3, 0, 1}, 3), to = Lengths::full(4, 3);
    const Tensor x = draw({3, 3, 4}, 1), y = draw({4, 3, 4}, 2);
    const TransformerDecoderOutput whole = decoder(y, to, x, from);
    TransformerCache cache = decoder.start(with_padding(x, from, std::nan("")), from);
    std::vector<std::int32_t> sentences{0, 1, 2};
    for (Index t = 0; t < 4; ++t) {
      const Ids order(sentences, {static_cast<Index>(sentences.size())});
      const TransformerDecoderOutput one = decoder.step(rows(y[t], order), cache);
      CHECK(difference(one.output.value(), rows(whole.output.value()[t], order).value()) < 1e-12);
      for (std::size_t layer = 0; layer < 2; ++layer) {
        const Var expected = select(whole.weights[layer], 2, t);  // [B, H, S]
        const Var flat = reshape(expected, {3, -1});
        CHECK(difference(reshape(one.weights[layer], {order.size(), -1}).value(),
                         rows(flat, order).value()) < 1e-12);
      }
      // The next step is of sentences 2, 0, then 0, 2, then 2.
      const Ids keep = t == 0   ? Ids{2, 0}
                       : t == 1 ? Ids{1, 0}
                                : Ids{static_cast<std::int32_t>(order.size() - 1)};
      std::vector<std::int32_t> next;
      for (const std::int32_t i : keep) next.push_back(sentences[static_cast<std::size_t>(i)]);
      sentences = next;
      for (Var& entry : cache) {
        const Var flat =
            reshape(entry, Shape{entry.shape()[0], entry.shape().product(1, entry.rank())});
        entry = reshape(rows(flat, keep), entry.shape().with(0, keep.size()));
      }
    }
  }
}

TEST_CASE("gradients flow through a cache") {
  Rng rng(1);
  const TransformerDecoder decoder(4, 2, rng, DType::f64, small);
  const Lengths from({3, 1}, 3);
  const auto report = gradcheck(
      [&](std::span<const Var> v) {
        TransformerCache cache = decoder.start(v[1], from);
        decoder.step(select(v[0], 0, 0), cache);
        return decoder.step(select(v[0], 0, 1), cache).output;
      },
      {draw({2, 2, 4}, 1), draw({3, 2, 4}, 2)});
  CHECK_MESSAGE(report.passed, report.to_string());
}

TEST_CASE("dropout acts in training only") {
  Rng rng(1);
  const TransformerEncoder encoder(4, 2, rng, DType::f64, small);
  const TransformerDecoder decoder(4, 2, rng, DType::f64, small);
  const Tensor x = draw({5, 3, 4}, 1), y = draw({4, 3, 4}, 2);
  const auto run = [&](Rng* generator) {
    return decoder(y, target, encoder(x, source, generator), source, generator).output.value();
  };
  Rng first(5), second(5);
  CHECK(identical(run(nullptr), run(nullptr)));
  const Tensor trained = run(&first);
  CHECK_FALSE(identical(trained, run(nullptr)));
  CHECK(identical(trained, run(&second)));
}

TEST_CASE("what is not finite at a step reaches no step before it") {
  for (const bool first : {false, true}) {
    Rng rng(1);
    const TransformerDecoder decoder(8, 2, rng, DType::f32,
                                     {.layers = 2, .layer = {.norm_first = first}});
    const Lengths lengths({5, 4}, 5), source = Lengths::full(3, 2);
    const Var memory = normal({3, 2, 8}, 0, 1, rng);
    const Tensor clean = normal({5, 2, 8}, 0, 1, rng);
    const Tensor wanted = decoder(clean, lengths, memory, source).output.value();
    for (const double bad : {std::nan(""), HUGE_VAL}) {
      std::vector<double> values = clean.to_vector();
      values[(3 * 2 + 1) * 8 + 5] = bad;  // step 3 of the second sentence
      const Tensor x = tensor(values, clean.shape());
      const Tensor found = decoder(x, lengths, memory, source).output.value();
      for (Index t = 0; t < 5; ++t) {
        CHECK(identical(found[t][0], wanted[t][0]));
        if (t < 3) CHECK(identical(found[t][1], wanted[t][1]));
      }
      CHECK(std::isnan(found.at({3, 1, 0})));
    }
  }
}

TEST_CASE("errors of transformers name what does not fit") {
  Rng rng(1);
  const auto encoder = [&](const TransformerStackOptions& options) {
    return message_of([&] { TransformerEncoder(4, 2, rng, DType::f32, options); });
  };
  CHECK(contains(encoder({.layers = 0}), "layers must be at least 1, not 0"));
  CHECK(contains(encoder({.layers = 1, .layer = {.feed_forward = 0}}), "feed_forward"));
  CHECK(contains(encoder({.layers = 1, .layer = {.dropout = 1}}), "dropout"));
  CHECK(contains(encoder({.layers = 1, .layer = {.epsilon = 0}}), "epsilon"));
  const TransformerDecoder decoder(4, 2, rng, DType::f32, small);
  const Lengths lengths = Lengths::full(3, 2);
  const Var x = zeros({3, 2, 4}), odd = zeros({3, 2, 5});
  const TransformerEncoder fine(4, 2, rng, DType::f32, small);
  CHECK(contains(message_of([&] { fine(odd, lengths); }), "[time, batch, 4], not [3, 2, 5]"));
  CHECK(contains(message_of([&] { decoder(odd, lengths, x, lengths); }), "the input must"));
  CHECK(contains(message_of([&] { decoder(x, lengths, odd, lengths); }), "the memory must"));
  CHECK(contains(message_of([&] { decoder.start(odd, lengths); }), "the memory must"));
  for (const Lengths& other : {Lengths::full(3, 1), Lengths::full(3, 4), Lengths::full(2, 2)}) {
    CHECK(contains(message_of([&] { decoder.start(x, other); }), "transformer: lengths are of"));
  }
  TransformerCache cache = decoder.start(x, lengths), none, cut = cache;
  CHECK(contains(message_of([&] { decoder.step(x, cache); }), "a step must be [batch, 4]"));
  CHECK(contains(message_of([&] { decoder.step(zeros({2, 4}), none); }), "begin with start()"));
  CHECK(contains(message_of([&] { decoder.step(zeros({3, 4}), cache); }), "differ in batch"));
  for (const double bad : {std::nan(""), -1.0, 4.0, 1.5, 1e10, HUGE_VAL}) {
    TransformerCache spoilt = cache;
    spoilt[0] = tensor({3, bad});
    CHECK(contains(message_of([&] {
                     decoder.step(zeros({2, 4}), spoilt);
                   }),
                   fmt::format("transformer: the cached length {} is no number of steps", bad)));
  }
  cut[1] = zeros({2, 0, 3});
  CHECK(contains(message_of([&] { decoder.step(zeros({2, 4}), cut); }), "[batch, time, 4]"));
}

}  // namespace regrad
