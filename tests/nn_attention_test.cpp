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

constexpr Index size = 4;

std::unique_ptr<Attention> make(std::string_view score, Rng& rng, DType dtype = DType::f64) {
  return make_attention(score, size, size, 5, rng, dtype);
}

Tensor draw(const Shape& shape, Rng& rng) { return normal(shape, 0, 1, rng, DType::f64); }

Var attend(const Attention& attention, const Var& query, const Var& annotations,
           const Lengths& lengths) {
  const AttentionOutput y = attention(query, attention.prepare(annotations, lengths));
  return concat({y.context, y.weights}, 1);
}

const std::vector<Lengths> all_lengths{Lengths({4, 2, 3}, 4), Lengths({0, 3, 1}, 3),
                                       Lengths({3}, 3), Lengths({1}, 1), Lengths({0, 0}, 2)};

}  // namespace

TEST_CASE("attention: every gradient, for any lengths") {
  Rng rng(1);
  for (const char* score : {"additive", "dot"}) {
    for (const Lengths& lengths : all_lengths) {
      CAPTURE(score);
      const auto attention = make(score, rng);
      name_parameters(*attention);
      std::vector<Parameter> all = parameter_list(*attention);
      const Parameter query(draw({lengths.batch(), size}, rng));
      const Parameter annotations(draw({lengths.time(), lengths.batch(), size}, rng));
      all.push_back(query);
      all.push_back(annotations);
      const auto report =
          gradcheck([&] { return attend(*attention, query, annotations, lengths); }, all);
      CHECK_MESSAGE(report.passed, report.to_string());
    }
  }
}

TEST_CASE("attention: permuting the annotations permutes the weights") {
  Rng rng(1);
  const std::vector<Index> order{2, 0, 3, 1};
  const Lengths lengths = Lengths::full(4, 2);
  for (const char* score : {"additive", "dot"}) {
    const auto attention = make(score, rng);
    const Var query = draw({2, size}, rng), annotations = draw({4, 2, size}, rng);
    std::vector<Var> permuted;
    for (const Index s : order) permuted.push_back(select(annotations, 0, s));
    const AttentionOutput a = (*attention)(query, attention->prepare(annotations, lengths));
    const AttentionOutput b = (*attention)(query, attention->prepare(stack(permuted), lengths));
    CHECK(difference(a.context.value(), b.context.value()) < 1e-14);
    for (Index b_index = 0; b_index < 2; ++b_index) {
      for (Index s = 0; s < 4; ++s) {
        const double moved = a.weights.value().at({b_index, order[static_cast<std::size_t>(s)]});
        CHECK(b.weights.value().at({b_index, s}) == doctest::Approx(moved).epsilon(1e-13));
        CHECK(std::abs(moved - 0.25) > 1e-6);  // not the uniform weights that would pass, too
      }
    }
  }
}

TEST_CASE("attention: degenerate lengths") {
  Rng rng(1);
  const Lengths lengths({0, 1, 3}, 3);
  for (const char* score : {"additive", "dot"}) {
    const auto attention = make(score, rng);
    Tape tape;
    const Var query = tape.variable(draw({3, size}, rng));
    const Var annotations = tape.variable(draw({3, 3, size}, rng));
    const AttentionOutput y = (*attention)(query, attention->prepare(annotations, lengths));
    CHECK(identical(y.weights.value()[0], zeros({3}, DType::f64)));
    CHECK(identical(y.context.value()[0], zeros({size}, DType::f64)));
    CHECK(identical(y.weights.value()[1], tensor({1, 0, 0}, DType::f64)));
    CHECK(identical(y.context.value()[1], annotations.value()[0][1]));
    CHECK(sum(y.weights.value()[2]).item() == doctest::Approx(1).epsilon(1e-14));
    const Gradients gradients = tape.backward(sum(square(y.context)) + sum(exp(y.weights)));
    CHECK(identical(gradients[query][0], zeros({size}, DType::f64)));
    for (const double value : gradients[annotations].to_vector()) CHECK(std::isfinite(value));
  }
}

TEST_CASE("attention: garbage and NaN in padding change not one bit") {
  Rng rng(1);
  for (const char* score : {"additive", "dot"}) {
    for (const Lengths& lengths : all_lengths) {
      const auto attention = make(score, rng);
      const Tensor query = draw({lengths.batch(), size}, rng);
      const Tensor clean =
          with_padding(draw({lengths.time(), lengths.batch(), size}, rng), lengths, 0);
      std::vector<Tensor> expected;
      for (const double garbage : {0.0, 1e3, std::nan("")}) {
        Tape tape;
        const Var q = tape.variable(query);
        const Var annotations = tape.variable(with_padding(clean, lengths, garbage));
        const Var y = attend(*attention, q, annotations, lengths);
        const Gradients gradients = tape.backward(sum(exp(y)));
        std::vector<Tensor> found{y.value(), gradients[q], gradients[annotations]};
        for (const Parameter& parameter : parameter_list(*attention)) {
          found.push_back(gradients[parameter]);
        }
        if (expected.empty()) expected = found;
        for (std::size_t i = 0; i < found.size(); ++i) {
          CAPTURE(i);
          CHECK(identical(found[i], expected[i]));
        }
      }
    }
  }
}

TEST_CASE("attention: a sentence alone equals the same among others") {
  Rng rng(1);
  const Lengths lengths({4, 2, 3}, 4);
  for (const char* score : {"additive", "dot"}) {
    const auto attention = make(score, rng);
    const Var query = draw({3, size}, rng), annotations = draw({4, 3, size}, rng);
    const AttentionOutput y = (*attention)(query, attention->prepare(annotations, lengths));
    for (Index b = 0; b < 3; ++b) {
      const Var own = slice(slice(annotations, 1, b, b + 1), 0, 0, lengths[b]);
      const AttentionOutput alone = (*attention)(
          slice(query, 0, b, b + 1), attention->prepare(own, Lengths::full(lengths[b], 1)));
      CHECK(difference(alone.context.value()[0], y.context.value()[b]) < 1e-14);
      CHECK(difference(alone.weights.value()[0], y.weights.value()[b].narrow(0, lengths[b])) <
            1e-14);
    }
  }
}

TEST_CASE("attention: huge scores stay finite") {
  Rng rng(1);
  const auto attention = make("dot", rng);
  const Lengths lengths = Lengths::full(2, 1);
  const Var query = full({1, size}, 1e150, DType::f64);
  const Var annotations = draw({2, 1, size}, rng);
  const AttentionOutput y = (*attention)(query, attention->prepare(annotations * 1e150, lengths));
  CHECK(sum(y.weights).item() == 1);
}

TEST_CASE("attention: unknown scores and sizes that do not fit are named errors") {
  Rng rng(1);
  const std::string unknown = message_of([&] { make_attention("cosine", 2, 2, 2, rng); });
  CHECK(contains(unknown, "unknown score `cosine`; known are additive, dot"));
  const std::string sizes = message_of([&] { make_attention("dot", 3, 4, 2, rng); });
  CHECK(contains(sizes, "query has size 3 and the keys 4"));
  CHECK(contains(sizes, "additive"));
}

}  // namespace regrad
