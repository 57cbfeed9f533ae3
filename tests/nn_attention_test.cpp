#include <functional>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "nn/attention.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::difference;
using testing::message_of;
using testing::with_padding;

constexpr Index size = 3;

const AttentionOptions tiny{.query_size = size,
                            .key_size = size,
                            .attention_size = 2,
                            .location_filters = 2,
                            .location_width = 3,
                            .window = 2};

Tensor draw(const Shape& shape, Rng& rng) { return normal(shape, 0, 1, rng, DType::f64); }

// f(attention, score's name, alignment's name) for every pair.
void for_each_pair(const std::function<void(const Attention&, const std::string&)>& f,
                   const AttentionOptions& options = tiny) {
  for (const std::string_view score : score_names()) {
    for (const std::string_view alignment : alignment_names()) {
      INFO(std::string(score) << " " << std::string(alignment));
      Rng rng(1);
      const Attention attention(score, alignment, options, rng, DType::f64);
      name_parameters(attention);
      f(attention, std::string(alignment));
    }
  }
}

bool sampled(const std::string& alignment) {
  return alignment == "hard-reinforce" || alignment == "hard-gumbel";
}

// Two steps, so that gradients go through the state as well.
Var attend(const Attention& attention, const Var& query, const Var& annotations,
           const Lengths& lengths, Rng* rng) {
  const AttentionMemory memory = attention.prepare(annotations, lengths);
  const AttentionOutput first = attention(query, memory, attention.start(memory), rng);
  const Var next = tanh(query - first.context);
  const AttentionOutput second = attention(next, memory, first.state, rng);
  std::vector<Var> all{first.context, first.weights, second.context, second.weights};
  if (second.entropy.rank() == 1 && second.entropy.size() == lengths.batch()) {
    all.push_back(unsqueeze(second.entropy, -1));
    all.push_back(unsqueeze(second.log_probability, -1));
  }
  if (second.log_weights.rank() == 2) all.push_back(second.log_weights);
  return concat(all, 1);
}

const std::vector<Lengths> all_lengths{Lengths({4, 0, 3}, 4), Lengths({3}, 3)};

}  // namespace

TEST_CASE("attention: every gradient of every score with every alignment, for any lengths") {
  for_each_pair([](const Attention& attention, const std::string& alignment) {
    if (alignment == "hard-gumbel") return;  // its gradient is another function's
    for (const Lengths& lengths : all_lengths) {
      Rng rng(4);
      std::vector<Parameter> all = parameter_list(attention);
      all.emplace_back(draw({lengths.batch(), size}, rng));
      all.emplace_back(draw({lengths.time(), lengths.batch(), size}, rng));
      const Parameter query = all[all.size() - 2], annotations = all.back();
      const auto report = gradcheck(
          [&] {
            Rng same(6);
            return attend(attention, query, annotations, lengths, &same);
          },
          all, {.step = 1e-4});  // so that no draw changes
      CHECK_MESSAGE(report.passed, report.to_string());
    }
  });
}

TEST_CASE("attention: permuting the annotations permutes the weights") {
  const std::vector<Index> order{2, 0, 3, 1};
  const Lengths lengths = Lengths::full(4, 2);
  for (const char* score : {"content", "additive", "general", "dot", "scaled-dot"}) {
    CAPTURE(score);
    Rng rng(1);
    const Attention attention(score, "soft", tiny, rng, DType::f64);
    const Var query = draw({2, size}, rng), annotations = draw({4, 2, size}, rng);
    std::vector<Var> permuted;
    for (const Index s : order) permuted.push_back(select(annotations, 0, s));
    const auto once = [&](const Var& x) {
      const AttentionMemory memory = attention.prepare(x, lengths);
      return attention(query, memory, attention.start(memory));
    };
    const AttentionOutput a = once(annotations), b = once(stack(permuted));
    CHECK(difference(a.context.value(), b.context.value()) < 1e-14);
    for (Index row = 0; row < 2; ++row) {
      for (Index s = 0; s < 4; ++s) {
        const double moved = a.weights.value().at({row, order[static_cast<std::size_t>(s)]});
        CHECK(b.weights.value().at({row, s}) == doctest::Approx(moved).epsilon(1e-13));
        CHECK(std::abs(moved - 0.25) > 1e-6);  // not the uniform weights that would pass, too
      }
    }
  }
}

TEST_CASE("attention: degenerate lengths") {
  const Lengths lengths({0, 1, 3}, 3);
  for_each_pair([&](const Attention& attention, const std::string& alignment) {
    for (const bool training : {false, true}) {
      Rng rng(2);
      Tape tape;
      const Var query = tape.variable(draw({3, size}, rng));
      const Var annotations = tape.variable(draw({3, 3, size}, rng));
      const AttentionMemory memory = attention.prepare(annotations, lengths);
      const AttentionOutput y =
          attention(query, memory, attention.start(memory), training ? &rng : nullptr);
      CHECK(identical(y.weights.value()[0], zeros({3}, DType::f64)));
      CHECK(identical(y.context.value()[0], zeros({size}, DType::f64)));
      if (alignment != "local-p" && alignment != "monotonic") {
        CHECK(identical(y.weights.value()[1], tensor({1, 0, 0}, DType::f64)));
        CHECK(identical(y.context.value()[1], annotations.value()[0][1]));
        CHECK(sum(y.weights.value()[2]).item() == doctest::Approx(1).epsilon(1e-14));
      }
      const Gradients gradients = tape.backward(sum(square(y.context)) + sum(exp(y.weights)));
      CHECK(identical(gradients[query][0], zeros({size}, DType::f64)));
      for (const double value : gradients[annotations].to_vector()) CHECK(std::isfinite(value));
    }
  });
}

TEST_CASE("attention: of a source without steps there is nothing to see") {
  const Lengths lengths({0, 0}, 0);
  for_each_pair([&](const Attention& attention, const std::string&) {
    for (const bool training : {false, true}) {
      Rng rng(2);
      const Var query = draw({2, size}, rng);
      const AttentionMemory memory = attention.prepare(draw({0, 2, size}, rng), lengths);
      const AttentionOutput y =
          attention(query, memory, attention.start(memory), training ? &rng : nullptr);
      CHECK(y.weights.shape() == Shape{2, 0});
      CHECK(identical(y.context.value(), zeros({2, size}, DType::f64)));
    }
  });
}

TEST_CASE("attention: garbage and NaN in padding change not one bit") {
  for_each_pair([](const Attention& attention, const std::string&) {
    for (const bool training : {false, true}) {
      const Lengths& lengths = all_lengths[0];
      Rng rng(3);
      const Tensor query = draw({lengths.batch(), size}, rng);
      const Tensor clean = draw({lengths.time(), lengths.batch(), size}, rng);
      std::vector<Tensor> expected;
      for (const double garbage : {0.0, 1e3, std::nan("")}) {
        Tape tape;
        Rng same(5);
        const Var q = tape.variable(query);
        const Var annotations = tape.variable(with_padding(clean, lengths, garbage));
        const Var y = attend(attention, q, annotations, lengths, training ? &same : nullptr);
        const Gradients gradients = tape.backward(sum(exp(y)));
        std::vector<Tensor> found{y.value(), gradients[q], gradients[annotations]};
        // A decision without chance has no gradient to the parameters behind it.
        for (const Parameter& parameter : parameter_list(attention)) {
          if (training) found.push_back(gradients[parameter]);
        }
        if (expected.empty()) expected = found;
        for (std::size_t i = 0; i < found.size(); ++i) {
          CAPTURE(i);
          CHECK(identical(found[i], expected[i]));
        }
      }
    }
  });
}

TEST_CASE("attention: a sentence alone equals the same among others, over two steps") {
  const Lengths lengths({4, 2, 3}, 4);
  AttentionOptions quiet = tiny;
  quiet.monotonic_noise = 0;
  const auto check = [&](const Attention& attention, const std::string& alignment) {
    for (const bool training : {false, true}) {
      if (training && sampled(alignment)) continue;
      Rng rng(3);
      Rng* given = training ? &rng : nullptr;
      const Var query = draw({3, size}, rng), annotations = draw({4, 3, size}, rng);
      const Var y = attend(attention, query, annotations, lengths, given);
      for (Index b = 0; b < 3; ++b) {
        const Var own = slice(slice(annotations, 1, b, b + 1), 0, 0, lengths[b]);
        const Var alone =
            attend(attention, slice(query, 0, b, b + 1), own, Lengths::full(lengths[b], 1), given);
        CHECK(difference(alone.value()[0].narrow(0, size), y.value()[b].narrow(0, size)) < 1e-14);
        const Index second = size + lengths[b], second_of_all = size + 4;
        CHECK(difference(alone.value()[0].narrow(second, second + size),
                         y.value()[b].narrow(second_of_all, second_of_all + size)) < 1e-14);
      }
    }
  };
  for_each_pair(check, quiet);
}

TEST_CASE("attention: huge scores stay finite") {
  Rng rng(1);
  const Lengths lengths = Lengths::full(2, 1);
  const Var query = full({1, size}, 1e150, DType::f64);
  const Var annotations = draw({2, 1, size}, rng) * 1e150;
  for (const char* score : {"content", "dot", "scaled-dot"}) {
    for (const char* alignment : {"soft", "sparsemax", "entmax", "hard-gumbel", "hard-marginal"}) {
      const Attention attention(score, alignment, tiny, rng, DType::f64);
      const AttentionMemory memory = attention.prepare(annotations, lengths);
      const AttentionOutput y = attention(query, memory, attention.start(memory), &rng);
      CHECK(sum(y.weights).item() == doctest::Approx(1).epsilon(1e-14));
    }
  }
}

TEST_CASE("attention: the cosine's sharpening starts at 1, and can be fixed there") {
  Rng rng(1);
  AttentionOptions options = tiny;
  const ContentScore learned(options, DType::f64);
  CHECK(parameters(learned).size() == 1);
  CHECK(exp(learned.log_sharpening).item() == 1);
  options.fixed_sharpening = true;
  const ContentScore fixed(options, DType::f64);
  CHECK(parameters(fixed).empty());
  const Var annotations = draw({2, 1, size}, rng), query = draw({1, size}, rng);
  const Lengths lengths = Lengths::full(2, 1);
  const AttentionMemory memory{learned.project(annotations), annotations, lengths};
  const Var expected = transpose(cosine_similarity(annotations, query));
  CHECK(difference(learned(query, memory, {}).value(), expected.value()) < 1e-15);
  CHECK(difference(fixed(query, memory, {}).value(), expected.value()) < 1e-15);
}

TEST_CASE("attention: unknown names and sizes that do not fit are named errors") {
  Rng rng(1);
  const auto message = [&](std::string_view score, std::string_view alignment,
                           const AttentionOptions& options) {
    return message_of([&] { Attention(score, alignment, options, rng); });
  };
  CHECK(message("cosine", "soft", tiny) ==
        "attention: unknown score `cosine`; known are content, additive, general, dot, scaled-dot, "
        "location");
  CHECK(message("dot", "hard", tiny) ==
        "attention: unknown alignment `hard`; known are soft, sparsemax, entmax, local-m, local-p, "
        "monotonic, hard-reinforce, hard-gumbel, hard-marginal");
  AttentionOptions options = tiny;
  options.query_size = 4;
  CHECK(message("scaled-dot", "soft", options) ==
        "scaled-dot attention: the query has size 4 and the keys 3; make them equal or use the "
        "score `general`, which fits any two sizes");
  for (const char* score : {"content", "dot"}) {
    CHECK(contains(message(score, "soft", options), "size 4 and the keys 3"));
  }
  for (const char* score : {"additive", "general", "location"}) {
    CHECK(message(score, "soft", options) == "");
  }
  const auto with = [&](auto member, auto value) {
    AttentionOptions changed = tiny;
    changed.*member = value;
    return changed;
  };
  using Options = AttentionOptions;
  for (const std::string_view score : score_names()) {
    const std::string name(score);
    CHECK(contains(message(name, "soft", with(&Options::query_size, 0)), "query size must be"));
    CHECK(contains(message(name, "soft", with(&Options::key_size, 0)), "key size must be"));
  }
  CHECK(
      contains(message("location", "soft", with(&Options::location_width, 4)), "width 4 is even"));
  CHECK(contains(message("location", "soft", with(&Options::location_filters, 0)), "filters"));
  CHECK(contains(message("additive", "soft", with(&Options::attention_size, 0)), "attention size"));
  CHECK(contains(message("dot", "local-m", with(&Options::window, 0)), "window"));
  CHECK(contains(message("dot", "local-p", with(&Options::attention_size, 0)), "attention size"));
  CHECK(contains(message("dot", "hard-gumbel", with(&Options::temperature, 0.0)), "temperature 0"));
  CHECK(contains(message("dot", "monotonic", with(&Options::monotonic_noise, -1.0)), "noise -1"));
  for (const double bad : {std::nan(""), HUGE_VAL, 1e50}) {  // infinite in f32
    CHECK(contains(message("dot", "hard-gumbel", with(&Options::temperature, bad)), "temperature"));
    CHECK(contains(message("dot", "monotonic", with(&Options::monotonic_noise, bad)), "noise"));
    CHECK(contains(message("dot", "monotonic", with(&Options::monotonic_offset, bad)), "offset"));
  }
  CHECK(contains(message("dot", "hard-gumbel", with(&Options::temperature, 1e-50)), "in f32"));
}

TEST_CASE("attention: a state of another batch is a named error") {
  Rng rng(1);
  const Attention attention("location", "soft", tiny, rng);
  const AttentionMemory memory = attention.prepare(zeros({4, 2, size}), Lengths::full(4, 2));
  const AttentionState other{zeros({3, 4}), zeros({3})};
  CHECK(contains(message_of([&] {
                   attention(zeros({2, size}), memory, other);
                 }),
                 "a state of weights [3, 4] and steps [3] does not fit [batch, time] = [2, 4]"));
}

}  // namespace regrad
