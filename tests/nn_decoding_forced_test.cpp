#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "nn/decoding.h"
#include "tests/decoding_toy.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::difference;
using testing::message_of;
using testing::ToyDecoder;
using Tokens = std::vector<std::int32_t>;

constexpr std::int32_t bos = 2, eos = 3;

}  // namespace

TEST_CASE("a forced target's log probabilities are those of log_softmax along its path") {
  const std::vector<Tokens> targets{{4, 0, 4, 1}, {}, {5, 2}};
  const Lengths lengths({4, 1, 3}, ToyDecoder::longest_source);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const ToyDecoder toy(6, seed);
    const auto found = force(toy.step(ToyDecoder::all(3), lengths), ToyDecoder::start_state(0, 3),
                             lengths, targets, {bos, eos, {}});
    for (std::size_t b = 0; b < targets.size(); ++b) {
      const auto sentence = static_cast<Index>(b);
      const auto size = static_cast<Index>(targets[b].size());
      CHECK(found[b].tokens == targets[b]);
      CHECK(found[b].finished);
      REQUIRE(found[b].token_log_probabilities.size() == targets[b].size() + 1);
      REQUIRE(found[b].attention.shape() == Shape{size, lengths[sentence]});
      ToyDecoder::Row h = ToyDecoder::start(sentence);
      double total = 0;
      for (Index t = 0; t <= size; ++t) {
        const auto at = static_cast<std::size_t>(t);
        h = toy.next(h, t == 0 ? bos : targets[b][at - 1]);
        const Tensor log_p = log_softmax(tensor(toy.logits(h), {6}, DType::f64)).value();
        const double expected = log_p.at({t < size ? targets[b][at] : eos});
        CHECK(std::abs(found[b].token_log_probabilities[at] - expected) < 1e-12);
        total += expected;
        if (t == size) continue;
        auto weights = toy.weights(h, lengths[sentence]);
        weights.resize(static_cast<std::size_t>(lengths[sentence]));
        CHECK(found[b].attention[t].to_vector() == weights);
      }
      CHECK(std::abs(found[b].log_probability - total) < 1e-12);
      CHECK(found[b].score == found[b].log_probability);
    }
  }
}

TEST_CASE("targets that cannot be forced are named errors") {
  const DecoderStep step = [](const Ids&, DecoderState&) {
    return DecoderOutput{zeros({2, 6}), {}};
  };
  const auto message = [&](const std::vector<Tokens>& targets) {
    return message_of([&] { force(step, {}, Lengths::full(1, 2), targets, {bos, eos, {}}); });
  };
  CHECK(message({{4}, {}}) == "");
  CHECK(message({{4}}) == "force: 1 targets for 2 sentences");
  CHECK(message({{4}, {1, eos}}) == "force: target 1 holds <eos>; give it without");
  CHECK(message({{}, {1, 6}}) == "force: token 6 at position 1 of target 1 is outside of [0, 6)");
  CHECK(contains(message({{}, {-1}}), "token -1"));
}

TEST_CASE("an unknown word is replaced by the source word that it looks at most") {
  Hypothesis hypothesis;
  hypothesis.tokens = {5, 1, 1, 7};
  hypothesis.attention = tensor({{0.8, 0.1, 0.1}, {0.2, 0.3, 0.5}, {0.4, 0.4, 0.2}, {0, 0, 1}});
  CHECK(aligned_positions(hypothesis.attention) == std::vector<Index>{0, 2, 0, 2});
  using Words = std::vector<std::string>;
  const Words source{"x", "y", "z"};
  CHECK(replace_unknown({"a", "<unk>", "<unk>", "<unk>"}, hypothesis, 1, source) ==
        Words{"a", "z", "x", "<unk>"});  // the last one is a word of the vocabulary
  CHECK(contains(message_of([&] { replace_unknown({"a"}, hypothesis, 1, source); }),
                 "1 words for 4 tokens"));
  CHECK(contains(message_of([&] {
                   replace_unknown({"a", "b", "c", "d"}, hypothesis, 1, {"x"});
                 }),
                 "attention [4, 3] for 1 source words"));
  hypothesis.attention = zeros({4, 0});
  CHECK(aligned_positions(hypothesis.attention) == std::vector<Index>{-1, -1, -1, -1});
  CHECK(replace_unknown({"a", "b", "c", "d"}, hypothesis, 1, {}) == Words{"a", "b", "c", "d"});
  CHECK(contains(message_of([&] { aligned_positions(zeros({3})); }), "[tokens, S], not [3]"));
}

}  // namespace regrad
