#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "nn/sampling.h"
#include "tests/decoding_toy.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::message_of;
using testing::ToyDecoder;

constexpr std::int32_t bos = 2, eos = 3;

// How often each first token comes among so many sentences with the same logits.
std::vector<double> frequencies(const Tensor& logits, const SamplingOptions& options, Index count,
                                std::uint64_t seed) {
  std::vector<Rng> random;
  for (Index b = 0; b < count; ++b)
    random.push_back(Rng(seed).split(static_cast<std::uint64_t>(b)));
  const Tensor all = rows(reshape(logits, {1, logits.size()}), Ids(Shape{count})).value();
  const DecoderStep step = [&](const Ids&, DecoderState&) { return DecoderOutput{all, {}}; };
  const std::vector<Index> limits(static_cast<std::size_t>(count), 1);
  std::vector<double> counts(static_cast<std::size_t>(logits.size()), 0);
  for (const Hypothesis& found :
       sample(step, {}, Lengths::full(1, count), {bos, eos, limits}, options, random)) {
    const std::int32_t token = found.tokens.empty() ? eos : found.tokens[0];
    counts[static_cast<std::size_t>(token)] += 1 / static_cast<double>(count);
  }
  return counts;
}

// Σ (observed - expected)² / expected: above 25 less than once in 10⁴ draws for 5 classes.
void check_distribution(const std::vector<double>& observed, const std::vector<double>& expected,
                        double count) {
  double chi_squared = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == 0) {
      CHECK(observed[i] == 0);
    } else {
      chi_squared += count * std::pow(observed[i] - expected[i], 2) / expected[i];
    }
  }
  CHECK(chi_squared < 25);
}

}  // namespace

TEST_CASE("tokens come as often as their probabilities, temperature and cuts say") {
  const std::vector<double> p{0.05, 0.4, 0.1, 0.25, 0.2};
  const Tensor logits = log(Var(tensor(p, {5}, DType::f64)) * 7).value();
  constexpr Index count = 4000;
  const auto check = [&](const SamplingOptions& options, std::vector<double> expected) {
    double total = 0;
    for (const double value : expected) total += value;
    for (double& value : expected) value /= total;
    check_distribution(frequencies(logits, options, count, 1), expected, count);
  };
  check({}, p);
  check({.temperature = 0.5}, {0.0025, 0.16, 0.01, 0.0625, 0.04});
  check({.top_k = 3}, {0, 0.4, 0, 0.25, 0.2});
  check({.top_k = 50}, p);
  check({.top_k = 1}, {0, 1, 0, 0, 0});
  check({.top_p = 0.6}, {0, 0.4, 0, 0.25, 0});
  check({.top_p = 0.66}, {0, 0.4, 0, 0.25, 0.2});
  check({.top_p = 1e-9}, {0, 1, 0, 0, 0});
  // Top-k first: the nucleus is that of what it leaves, 0.4 : 0.25 of 0.65.
  check({.top_k = 2, .top_p = 0.6}, {0, 1, 0, 0, 0});
}

TEST_CASE("forbidden tokens are never drawn and a tiny temperature is greedy") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor logits = tensor({-infinity, 1, -infinity, 2, -infinity});
  const auto counts = frequencies(logits, {.temperature = 100}, 300, 2);
  CHECK(counts[0] + counts[2] + counts[4] == 0);
  CHECK(counts[1] > 0.3);
  CHECK(frequencies(logits, {.temperature = 1e-300}, 50, 3)[3] == doctest::Approx(1));
}

TEST_CASE("not one bit of a sample depends on the batch, and a seed gives the same again") {
  const std::array<std::int32_t, 3> sizes{4, 1, 3};
  const std::vector<Index> limits{9, 3, 5};
  const auto draw = [&](const ToyDecoder& toy, std::size_t first, std::size_t count) {
    std::vector<Rng> random;
    for (std::size_t b = first; b < first + count; ++b) random.push_back(Rng(7, b));
    const Lengths lengths(std::span<const std::int32_t>(sizes).subspan(first, count),
                          ToyDecoder::longest_source);
    const auto begin = limits.begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<Index> own(begin, begin + static_cast<std::ptrdiff_t>(count));
    return sample(toy.step(ToyDecoder::all(lengths.batch()), lengths),
                  ToyDecoder::start_state(static_cast<Index>(first), lengths.batch()), lengths,
                  {bos, eos, own}, {.top_k = 4, .top_p = 0.95}, random);
  };
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const ToyDecoder toy(6, seed);
    const auto all = draw(toy, 0, 3);
    for (std::size_t b = 0; b < 3; ++b) {
      const Hypothesis alone = draw(toy, b, 1)[0];
      CHECK(alone.tokens == all[b].tokens);
      CHECK(alone.token_log_probabilities == all[b].token_log_probabilities);
      CHECK(alone.finished == all[b].finished);
      CHECK(identical(alone.attention, all[b].attention));
    }
  }
}

TEST_CASE("sample refuses options out of range") {
  const Tensor logits = zeros({5});
  const auto message = [&](const SamplingOptions& options) {
    return message_of([&] { frequencies(logits, options, 1, 1); });
  };
  CHECK(message({}) == "");
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    CHECK(contains(message({.temperature = bad}), "temperature must be finite and above 0"));
  }
  CHECK(contains(message({.top_k = -1}), "top_k must be at least 0, not -1"));
  for (const double bad : {0.0, 1.5, std::nan("")}) {
    CHECK(contains(message({.top_p = bad}), "top_p must be in (0, 1]"));
  }
  const DecoderStep step = [&](const Ids&, DecoderState&) {
    return DecoderOutput{zeros({1, 5}), {}};
  };
  CHECK(contains(message_of([&] {
                   sample(step, {}, Lengths::full(1, 1), {bos, eos, {1}}, {}, {});
                 }),
                 "0 generators for 1 sentences"));
  CHECK(contains(message_of([&] { frequencies(full({5}, std::nan("")), {}, 1, 1); }),
                 "sample: the logits of sentence 0 are not finite"));
  Rng random(1);
  CHECK(message_of([&] {
          sample({}, {}, Lengths::full(1, 1), {bos, eos, {1}}, {}, std::span(&random, 1));
        }) == "sample: the decoder's step is an empty function");
}

}  // namespace regrad
