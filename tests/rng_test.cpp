#include "ops/rng.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "nn_check.h"

namespace regrad {
namespace {

using testing::message_of;
using Words = std::array<std::uint32_t, 4>;

std::vector<std::uint32_t> draw(Rng rng, int count) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(count));
  for (auto& b : bits) b = rng.bits();
  return bits;
}

// Philox4x32-10 as the paper of Salmon et al. describes it, section 3.3.
Words philox(Words x, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t first = std::uint64_t{x[0]} * 0xD2511F53,
                  second = std::uint64_t{x[2]} * 0xCD9E8D57;
    x = {static_cast<std::uint32_t>(second >> 32) ^ x[1] ^ key[0],
         static_cast<std::uint32_t>(second),
         static_cast<std::uint32_t>(first >> 32) ^ x[3] ^ key[1],
         static_cast<std::uint32_t>(first)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return x;
}

TEST_CASE("the generator is Philox4x32-10") {
  // Known answers of Random123, tests/kat_vectors.
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t all = 0xffffffff;
  CHECK(philox({all, all, all, all}, {all, all}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  CHECK(draw(Rng(0), 4) ==
        std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  Rng::State state{0x299f31d0a4093822, 0x0370734413198a2e, 4 * 0x05a308d3243f6a88};
  Words block = philox({0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
  CHECK(draw(Rng(state), 4) == std::vector<std::uint32_t>(block.begin(), block.end()));
}

TEST_CASE("many numbers at once are the same numbers") {
  for (std::uint64_t start : {0ull, 1ull, 63ull, 64ull, 100ull, (1ull << 34) - 70}) {
    for (std::size_t count : {0u, 1u, 63u, 64u, 65u, 200u, 1000u}) {
      Rng at_once(Rng::State{0x299f31d0a4093822, 0x0370734413198a2e, start}), single = at_once;
      std::vector<std::uint32_t> bits(count);
      at_once.bits(bits);
      CHECK(bits == draw(single, static_cast<int>(count)));
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t position = start + i, counter = position / 4;
        const Words block =
            philox({static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
                    0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0});
        CHECK(bits[i] == block[position % 4]);
      }
      CHECK(at_once.state().position == start + count);
      const Rng::State state = at_once.state();
      CHECK(at_once.bits() == Rng(state).bits());
    }
  }
}

TEST_CASE("a state is all there is to know") {
  Rng rng(7, 3);
  for (int i = 0; i < 20; ++i) {
    Rng again(rng.state());
    CHECK(again.state() == rng.state());
    CHECK(draw(again, 10) == draw(rng, 10));
    Rng copy = rng;
    CHECK(copy.bits() == rng.bits());
  }
  CHECK(rng.state().position == 20);
  rng.uniform();
  CHECK(rng.state().position == 22);
}

TEST_CASE("seeds and streams differ") {
  std::set<std::vector<std::uint32_t>> seen;
  for (std::uint64_t seed : {0ull, 1ull, 2ull, 1ull << 32, ~0ull}) {
    for (std::uint64_t stream : {0ull, 1ull, 1ull << 32, 1ull << 63}) {
      Rng rng(seed, stream);
      seen.insert(draw(rng, 8));
      for (std::uint64_t child = 0; child < 5; ++child) {
        seen.insert(draw(rng.split(child), 8));
        seen.insert(draw(rng.split(child).split(0), 8));
      }
    }
  }
  CHECK(seen.size() == 5 * 4 * 11);
  CHECK(draw(Rng(5).split(2), 8) == draw(Rng(5).split(2), 8));
}

TEST_CASE("split does not depend on what was drawn") {
  Rng rng(5), drawn(5);
  drawn.bits();
  CHECK(draw(rng.split(1), 4) == draw(drawn.split(1), 4));
}

TEST_CASE("below is uniform and without bias") {
  Rng rng(1);
  for (std::uint64_t bound : {1ull, 2ull, 3ull, 10ull, 1ull << 63, ~0ull}) {
    for (int i = 0; i < 100; ++i) CHECK(rng.below(bound) < bound);
  }
  std::array<int, 6> counts{};
  for (int i = 0; i < 60'000; ++i) ++counts[rng.below(6)];
  for (int count : counts) CHECK(std::abs(count - 10'000) < 500);
  // The remainders of 2⁶⁴ by 3·2⁶² hit the first third twice as often as the others.
  int first_third = 0;
  for (int i = 0; i < 30'000; ++i) first_third += rng.below(3ull << 62) < (1ull << 62);
  CHECK(std::abs(first_third - 10'000) < 500);
  CHECK(message_of([&] { rng.below(0); }) == "Rng::below: there is no number below 0");
}

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0;
};

Moments moments(const std::vector<double>& x) {
  Moments m;
  auto n = static_cast<double>(x.size());
  for (double v : x) m.mean += v / n;
  for (double v : x) m.variance += (v - m.mean) * (v - m.mean) / n;
  for (double v : x) {
    double d = (v - m.mean) / std::sqrt(m.variance);
    m.skew += d * d * d / n;
    m.kurtosis += d * d * d * d / n;
  }
  return m;
}

TEST_CASE("uniform numbers") {
  Rng rng(2);
  std::vector<double> x(200'000);
  for (double& v : x) v = rng.uniform();
  auto [low, high] = std::minmax_element(x.begin(), x.end());
  CHECK(*low >= 0);
  CHECK(*low < 1e-4);
  CHECK(*high < 1);
  CHECK(*high > 1 - 1e-4);
  Moments m = moments(x);
  CHECK(m.mean == doctest::Approx(0.5).epsilon(0.01));
  CHECK(m.variance == doctest::Approx(1 / 12.0).epsilon(0.01));
  CHECK(m.kurtosis == doctest::Approx(1.8).epsilon(0.01));
}

TEST_CASE("normal numbers") {
  Rng rng(3);
  std::vector<double> x(200'000);
  for (double& v : x) v = rng.normal();
  Moments m = moments(x);
  CHECK(std::abs(m.mean) < 0.01);
  CHECK(m.variance == doctest::Approx(1).epsilon(0.02));
  CHECK(std::abs(m.skew) < 0.03);
  CHECK(m.kurtosis == doctest::Approx(3).epsilon(0.03));
  auto beyond = std::count_if(x.begin(), x.end(), [](double v) { return std::abs(v) > 3; });
  CHECK(std::abs(static_cast<double>(beyond) / 200'000 - 0.0027) < 0.0005);
  double neighbours = 0;
  for (std::size_t i = 1; i < x.size(); ++i) neighbours += x[i] * x[i - 1] / 200'000;
  CHECK(std::abs(neighbours) < 0.01);
}

TEST_CASE("shuffle makes every order equally often") {
  Rng rng(4);
  std::map<std::vector<int>, int> counts;
  for (int i = 0; i < 24'000; ++i) {
    std::vector<int> items{0, 1, 2, 3};
    rng.shuffle(std::span(items));
    ++counts[items];
  }
  CHECK(counts.size() == 24);
  for (auto& entry : counts) CHECK(std::abs(entry.second - 1000) < 150);
  std::vector<int> none, many(1000);
  rng.shuffle(std::span(none));
  std::iota(many.begin(), many.end(), 0);
  std::vector<int> sorted = many;
  rng.shuffle(std::span(many));
  CHECK(many != sorted);
  std::sort(many.begin(), many.end());
  CHECK(many == sorted);
}

TEST_CASE("tensors of random numbers") {
  Rng rng(5), again(5);
  Tensor x = uniform({100, 50}, -2, 6, rng);
  CHECK(identical(x, uniform({100, 50}, -2, 6, again)));
  CHECK(x.dtype() == DType::f32);
  Moments m = moments(x.to_vector());
  CHECK(m.mean == doctest::Approx(2).epsilon(0.05));
  CHECK(m.variance == doctest::Approx(64 / 12.0).epsilon(0.05));
  for (double v : x.to_vector()) CHECK((v >= -2 && v <= 6));
  CHECK_FALSE(identical(x, uniform({100, 50}, -2, 6, rng)));
  Tensor y = normal({5000}, 3, 0.5, rng, DType::f64);
  CHECK(y.dtype() == DType::f64);
  m = moments(y.to_vector());
  CHECK(m.mean == doctest::Approx(3).epsilon(0.02));
  CHECK(m.variance == doctest::Approx(0.25).epsilon(0.06));
  Rng single(6), twice(6);  // the type does not change what is drawn
  CHECK(
      identical(normal({10}, 0, 1, single), normal({10}, 0, 1, twice, DType::f64).to(DType::f32)));
}

}  // namespace
}  // namespace regrad
