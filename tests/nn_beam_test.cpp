#include <algorithm>
#include <limits>
#include <set>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/beam.h"
#include "tests/decoding_toy.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::BruteForce;
using testing::contains;
using testing::difference;
using testing::message_of;
using testing::ToyDecoder;
using Tokens = std::vector<std::int32_t>;
using NBest = std::vector<std::vector<Hypothesis>>;

constexpr std::int32_t bos = 2, eos = 3;

NBest search(const ToyDecoder& toy, const Lengths& lengths, const std::vector<Index>& limits,
             const BeamOptions& options, Index first_sentence = 0) {
  const MakeStep make_step = [&](const Ids& sentences) {
    REQUIRE(std::is_sorted(sentences.begin(), sentences.end()));
    return toy.step(sentences, lengths);
  };
  return beam_search(make_step, ToyDecoder::start_state(first_sentence, lengths.batch()), lengths,
                     {bos, eos, limits}, options);
}

// Gives fixed logits [V] at every step, whatever came before.
MakeStep constant_step(const Tensor& logits) {
  return [logits](const Ids& sentences) -> DecoderStep {
    return [logits, sentences](const Ids&, DecoderState&) {
      const Ids first(Shape{sentences.size()});
      return DecoderOutput{rows(reshape(logits, {1, logits.size()}), first), {}};
    };
  };
}

void check_same_bits(const Hypothesis& a, const Hypothesis& b) {
  CHECK(a.tokens == b.tokens);
  CHECK(a.token_log_probabilities == b.token_log_probabilities);
  CHECK(a.log_probability == b.log_probability);
  CHECK(a.finished == b.finished);
  CHECK(identical(a.attention, b.attention));
}

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("a beam as wide as the search space finds what brute force finds") {
  const Lengths lengths({4, 1, 3}, ToyDecoder::longest_source);
  const std::vector<Index> limits{3, 1, 2};
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const ToyDecoder toy(4, seed);
    for (const double alpha : {0.0, 0.6, 3.0}) {
      for (const double beta : {0.0, 0.4}) {
        const BeamOptions options{
            .beam = 200, .n_best = 4, .length_penalty = alpha, .coverage_penalty = beta};
        const NBest found = search(toy, lengths, limits, options);
        for (std::size_t b = 0; b < limits.size(); ++b) {
          const auto sentence = static_cast<Index>(b);
          const auto expected =
              BruteForce(toy, lengths[sentence], limits[b], bos, eos, options).all(sentence);
          const std::size_t count = std::min<std::size_t>(4, expected.size());
          REQUIRE(found[b].size() >= count);
          for (std::size_t i = 0; i < count; ++i) {
            CHECK(found[b][i].tokens == expected[i].tokens);
            CHECK(std::abs(found[b][i].score - expected[i].score) < 1e-12);
            CHECK(std::abs(found[b][i].log_probability - expected[i].log_probability) < 1e-12);
            CHECK(found[b][i].finished);
          }
        }
      }
    }
  }
}

TEST_CASE("a beam of 1 is greedy, to the bit") {
  const Lengths lengths({4, 1, 3, 2}, ToyDecoder::longest_source);
  const std::vector<Index> limits{7, 0, 12, 3};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const ToyDecoder toy(5, seed);
    const auto expected = greedy(toy.step(ToyDecoder::all(4), lengths),
                                 ToyDecoder::start_state(0, 4), lengths, {bos, eos, limits});
    for (const double alpha : {0.0, 1.0, 5.0}) {
      const NBest found = search(toy, lengths, limits, {.beam = 1, .length_penalty = alpha});
      for (std::size_t b = 0; b < 4; ++b) {
        REQUIRE(found[b].size() == 1);
        check_same_bits(found[b][0], expected[b]);
      }
    }
  }
}

TEST_CASE("not one bit of a sentence's result depends on the batch") {
  const std::vector<std::int32_t> sizes{4, 1, 3, 0, 2};
  const std::vector<Index> limits{9, 3, 14, 4, 0};
  const BeamOptions options{.beam = 4, .n_best = 3, .coverage_penalty = 0.2};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const ToyDecoder toy(6, seed);
    const NBest all = search(toy, Lengths(sizes, ToyDecoder::longest_source), limits, options);
    for (std::size_t b = 0; b < sizes.size(); ++b) {
      const NBest alone = search(toy, Lengths({sizes[b]}, ToyDecoder::longest_source), {limits[b]},
                                 options, static_cast<Index>(b));
      REQUIRE(alone[0].size() == all[b].size());
      for (std::size_t i = 0; i < all[b].size(); ++i) {
        check_same_bits(alone[0][i], all[b][i]);
        CHECK(alone[0][i].score == all[b][i].score);
      }
    }
  }
}

TEST_CASE("the n best are sorted, distinct, and as probable and attentive as when forced") {
  const Lengths lengths({4, 2}, ToyDecoder::longest_source);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const ToyDecoder toy(6, seed);
    const NBest found = search(toy, lengths, {6, 5}, {.beam = 6, .n_best = 6});
    for (std::size_t b = 0; b < 2; ++b) {
      std::set<Tokens> seen;
      for (std::size_t i = 0; i < found[b].size(); ++i) {
        const Hypothesis& hypothesis = found[b][i];
        CHECK(seen.insert(hypothesis.tokens).second);
        const bool same_kind = i > 0 && hypothesis.finished == found[b][i - 1].finished;
        if (same_kind) CHECK(hypothesis.score <= found[b][i - 1].score);
        if (i > 0 && hypothesis.finished) CHECK(found[b][i - 1].finished);
        if (!hypothesis.finished) continue;
        std::vector<Tokens> targets(2);
        targets[b] = hypothesis.tokens;
        const auto forced = force(toy.step(ToyDecoder::all(2), lengths),
                                  ToyDecoder::start_state(0, 2), lengths, targets, {bos, eos, {}});
        check_same_bits(forced[b], hypothesis);
      }
      CHECK(found[b].size() == 6);
    }
  }
}

TEST_CASE("a finished hypothesis does not end a search that the length penalty may still turn") {
  // P(<eos>) = 0.5, P(4 <eos>) = 0.4 · 0.99.
  const Tensor first = log(Var(tensor({0.02, 0.02, 0.02, 0.5, 0.4, 0.04}))).value();
  const Tensor second = log(Var(tensor({0.002, 0.002, 0.002, 0.99, 0.002, 0.002}))).value();
  const MakeStep make_step = [&](const Ids& sentences) -> DecoderStep {
    const Index count = sentences.size();
    return [&, count](const Ids& previous, DecoderState&) {
      const Tensor& logits = previous[0] == bos ? first : second;
      return DecoderOutput{rows(reshape(logits, {1, 6}), Ids(Shape{count})), {}};
    };
  };
  const auto best = [&](double alpha) {
    return beam_search(make_step, {}, Lengths::full(1, 1), {bos, eos, {5}},
                       {.beam = 3, .length_penalty = alpha})[0][0];
  };
  CHECK(best(0).tokens == Tokens{});
  CHECK(best(5).tokens == Tokens{4});
  CHECK(best(5).score == doctest::Approx(std::log(0.4 * 0.99) / std::pow(7.0 / 6, 5)));
}

TEST_CASE("a search ends when no live hypothesis can win") {
  int steps = 0;
  const Tensor logits = tensor({{0, 0, 0, 9, 1, 2}});
  const MakeStep make_step = [&](const Ids& sentences) -> DecoderStep {
    const Index count = sentences.size();
    return [&, count](const Ids&, DecoderState&) {
      ++steps;
      return DecoderOutput{rows(logits, Ids(Shape{count})), {}};
    };
  };
  const auto run = [&](Index n_best) {
    steps = 0;
    return beam_search(make_step, {}, Lengths::full(1, 1), {bos, eos, {50}},
                       {.beam = 4, .n_best = n_best, .length_penalty = 0})[0];
  };
  CHECK(run(1)[0].tokens.empty());
  CHECK(steps == 1);
  CHECK(run(2)[1].tokens == Tokens{5});
  CHECK(steps == 2);
}

TEST_CASE("where nothing finishes the best unfinished hypothesis comes, flagged") {
  const MakeStep endless = constant_step(tensor({0, 0, 0, -infinity, 2, 1}));
  for (const Index limit : {0, 1, 3}) {
    const auto best = beam_search(endless, {}, Lengths::full(1, 1), {bos, eos, {limit}},
                                  {.beam = 3, .n_best = 3})[0];
    REQUIRE(!best.empty());
    CHECK(best.size() == (limit == 0 ? 1 : 3));
    CHECK(!best[0].finished);
    CHECK(best[0].tokens == Tokens(static_cast<std::size_t>(limit), 4));
    CHECK(best[0].attention.shape() == Shape{0});
  }
  CHECK(beam_search(endless, {}, Lengths::full(1, 0), {bos, eos, {}}).empty());
}

TEST_CASE("forbidden tokens never appear, even in a beam wider than what is left") {
  const MakeStep only_two =
      constant_step(tensor({-infinity, -infinity, -infinity, 0, 1, -infinity}));
  const auto best = beam_search(only_two, {}, Lengths::full(1, 1), {bos, eos, {2}},
                                {.beam = 10, .n_best = 10})[0];
  REQUIRE(best.size() == 3);
  for (const Hypothesis& hypothesis : best) {
    for (const std::int32_t token : hypothesis.tokens) CHECK(token == 4);
  }
}

TEST_CASE("a position that nothing looks at gives a finite score") {
  const MakeStep make_step = [](const Ids& sentences) -> DecoderStep {
    const Index count = sentences.size();
    return [count](const Ids&, DecoderState&) {
      const Ids first(Shape{count});
      return DecoderOutput{rows(tensor({{0, 0, 0, 1}}), first), rows(tensor({{1, 0}}), first)};
    };
  };
  const auto best = beam_search(make_step, {}, Lengths::full(2, 1), {bos, eos, {4}},
                                {.coverage_penalty = 1})[0][0];
  CHECK(best.score == doctest::Approx(best.log_probability + std::log(1e-10)));
}

TEST_CASE("beam_search records nothing") {
  Tape tape;
  const Parameter weight(tensor({{0, 0, 0, 1}}));
  const MakeStep make_step = [&](const Ids& sentences) -> DecoderStep {
    CHECK(Tape::active() == nullptr);
    const Index count = sentences.size();
    return [&, count](const Ids&, DecoderState&) {
      return DecoderOutput{rows(weight, Ids(Shape{count})), {}};
    };
  };
  beam_search(make_step, {}, Lengths::full(1, 2), {bos, eos, {3, 3}});
  CHECK(tape.size() == 0);
}

TEST_CASE("beam_search refuses what does not fit") {
  const auto message = [](const MakeStep& make_step, const BeamOptions& options = {},
                          const std::vector<Index>& limits = {3, 3},
                          const DecoderState& state = {}) {
    return message_of([&] {
      beam_search(make_step, state, Lengths::full(4, 2), {bos, eos, limits}, options);
    });
  };
  const MakeStep fine = constant_step(tensor({0, 0, 0, 0, 1}));
  CHECK(message(fine) == "");
  for (const double bad : {std::nan(""), infinity}) {
    const std::string text = message(constant_step(tensor({0, 0, 0, bad, 1})));
    CHECK(contains(text, "beam_search: the logits of sentence 0 are not finite at step 0"));
  }
  CHECK(contains(message(constant_step(full({4}, -infinity))), "not finite"));
  CHECK(contains(message(fine, {.beam = 0}), "beam must be at least 1, not 0"));
  CHECK(contains(message(fine, {.beam = 2, .n_best = 3}), "n_best must be in [1, 2]"));
  CHECK(contains(message(fine, {.n_best = 0}), "n_best must be in [1, 5]"));
  CHECK(contains(message(fine, {.length_penalty = -1}), "length_penalty must be finite"));
  CHECK(contains(message(fine, {.coverage_penalty = std::nan("")}), "coverage_penalty must be"));
  CHECK(contains(message(fine, {.coverage_penalty = 1}), "needs a decoder with attention"));
  CHECK(contains(message(fine, {}, {3}), "1 limits in max_length for 2 sentences"));
  CHECK(contains(message(fine, {}, {3, -1}), "a limit of -1 tokens"));
  CHECK(contains(message(fine, {}, {3, 3}, {Var(scalar(1))}), "take_rows"));
  CHECK(contains(message({}), "beam_search: what makes the decoder's step is an empty function"));
  const MakeStep none = [](const Ids&) { return DecoderStep(); };
  CHECK(message(none) == "beam_search: the decoder's step is an empty function");
  const MakeStep wrong = [](const Ids&) -> DecoderStep {
    return [](const Ids&, DecoderState&) { return DecoderOutput{zeros({7, 4}), {}}; };
  };
  CHECK(contains(message(wrong), "logits must be [2, V], not [7, 4]"));
}

TEST_CASE("rows and columns are taken by number") {
  const Var x = reshape(arange(12), {2, 3, 2});
  CHECK(identical(take_rows(x, {1, 1, 0}).value()[0], x.value()[1]));
  CHECK(take_rows(zeros({3, 0, 2}), {2, 2}).shape() == Shape{2, 0, 2});
  const Tensor columns = take_columns(x, {2, 0, 0, 1}).value();
  CHECK(identical(
      columns,
      tensor(std::vector<double>{4, 5, 0, 1, 0, 1, 2, 3, 10, 11, 6, 7, 6, 7, 8, 9}, {2, 4, 2})));
  const Lengths lengths = take_columns(Lengths({3, 1}, 5), {1, 0, 1});
  CHECK(lengths.batch() == 3);
  CHECK(lengths[0] == 1);
  CHECK(lengths[1] == 3);
  CHECK(lengths.time() == 5);
  CHECK_THROWS_AS(take_rows(x, {2}), Error);
  CHECK(contains(message_of([&] { take_columns(x, {3}); }), "column 3 is outside of [0, 3)"));
  CHECK(contains(message_of([&] { take_columns(Lengths({1}, 2), {1}); }), "column 1"));
  CHECK(contains(message_of([&] { take_columns(Var(arange(3)), {0}); }), "[S, B, ...]"));
}

}  // namespace regrad
