#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "examples/seq2seq/batch.h"
#include "tests/nn_check.h"

using namespace regrad;
using namespace regrad::seq2seq;
using regrad::testing::contains;
using regrad::testing::message_of;

namespace {

using Numbers = std::vector<Id>;

Numbers numbers(const Ids& ids) { return {ids.begin(), ids.end()}; }

// n examples; the source of example i begins with i + 4 and has a random length up to 20.
std::vector<Example> random_examples(std::size_t n) {
  Rng rng(7);
  std::vector<Example> examples(n);
  for (std::size_t i = 0; i < n; ++i) {
    examples[i].source.assign(1 + rng.below(20), static_cast<Id>(i + 4));
    examples[i].target.assign(rng.below(20), 5);
  }
  return examples;
}

Indices flattened(const std::vector<Indices>& batches) {
  Indices all;
  for (const Indices& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

bool holds_each_once(const std::vector<Indices>& batches, std::size_t n) {
  const Indices all = flattened(batches);
  return all.size() == n && std::set<std::size_t>(all.begin(), all.end()).size() == n &&
         std::ranges::none_of(batches, &Indices::empty);
}

std::size_t padded_sources(const std::vector<Example>& examples,
                           const std::vector<Indices>& batches) {
  std::size_t padding = 0;
  for (const Indices& batch : batches) {
    std::size_t longest = 0, total = 0;
    for (const std::size_t index : batch) {
      longest = std::max(longest, examples[index].source.size());
      total += examples[index].source.size();
    }
    padding += longest * batch.size() - total;
  }
  return padding;
}

}  // namespace

TEST_CASE("targets are shifted once: a b makes three predictions") {
  const std::vector<Example> examples = {{{7, 8, 9}, {10, 11}}};
  const Batch batch = make_batch(examples, {0});
  CHECK(numbers(batch.source) == Numbers{7, 8, 9});
  CHECK(batch.source.shape() == Shape{3, 1});
  CHECK(numbers(batch.target_in) == Numbers{Vocabulary::bos, 10, 11});
  CHECK(numbers(batch.target_out) == Numbers{10, 11, Vocabulary::eos});
  CHECK(batch.target_out.shape() == Shape{3, 1});
  CHECK(batch.target_lengths[0] == 3);
}

TEST_CASE("a batch is time-major, padded behind each length, in the order of the indices") {
  const std::vector<Example> examples = {{{7}, {10, 11}}, {{8, 9}, {}}, {{6, 6, 6}, {12}}};
  const Batch batch = make_batch(examples, {2, 0, 1});
  CHECK(batch.examples == Indices{2, 0, 1});
  CHECK(batch.source.shape() == Shape{3, 3});
  CHECK(numbers(batch.source) == Numbers{6, 7, 8, 6, 0, 9, 6, 0, 0});
  CHECK(numbers(batch.target_in) == Numbers{2, 2, 2, 12, 10, 0, 0, 11, 0});
  CHECK(numbers(batch.target_out) == Numbers{12, 10, 3, 3, 11, 0, 0, 3, 0});
  for (Index b = 0; b < 3; ++b) {
    CHECK(batch.source_lengths[b] == std::vector<Index>{3, 1, 2}[static_cast<std::size_t>(b)]);
    CHECK(batch.target_lengths[b] == std::vector<Index>{2, 3, 1}[static_cast<std::size_t>(b)]);
  }
  CHECK(batch.source_lengths.time() == 3);
  CHECK(batch.target_lengths.time() == 3);
}

TEST_CASE("pairs are encoded in their order, each side by its vocabulary") {
  const std::vector<TextPair> pairs = {{{"a", "?"}, {"x"}, 1}, {{"b"}, {"y", "x"}, 2}};
  const auto examples = encode(pairs, Vocabulary({"a", "b"}), Vocabulary({"y", "x"}));
  REQUIRE(examples.size() == 2);
  CHECK(examples[0].source == Numbers{4, 1});
  CHECK(examples[0].target == Numbers{5});
  CHECK(examples[1].source == Numbers{5});
  CHECK(examples[1].target == Numbers{4, 5});
}

TEST_CASE("what makes no batch is an error") {
  const std::vector<Example> examples = {{{7}, {8}}, {{}, {8}}};
  CHECK(contains(message_of([&] { make_batch(examples, {}); }), "no indices"));
  CHECK(contains(message_of([&] { make_batch(examples, {0, 2}); }), "index 2"));
  CHECK(contains(message_of([&] { make_batch(examples, {0, 1}); }), "source of example 1"));
  Rng rng(1);
  CHECK(contains(message_of([&] { bucketed_batches(examples, 0, rng); }), "at least 1"));
  CHECK(contains(message_of([&] { sorted_batches(examples, 0); }), "at least 1"));
}

TEST_CASE("an epoch has every example once, whatever the sizes") {
  for (const std::size_t n : {0, 1, 2, 63, 64, 65, 700}) {
    const auto examples = random_examples(n);
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{3}, std::size_t{64}, ~std::size_t{0}}) {
      Rng rng(1);
      const auto bucketed = bucketed_batches(examples, size, rng);
      const auto sorted = sorted_batches(examples, size);
      CHECK(holds_each_once(bucketed, n));
      CHECK(holds_each_once(sorted, n));
      for (const Indices& batch : bucketed) CHECK(batch.size() <= size);
      CHECK(sorted.size() == (n == 0 ? 0 : (n - 1) / size + 1));
    }
  }
}

TEST_CASE("the order of an epoch follows its Rng; two epochs differ") {
  const auto examples = random_examples(300);
  Rng a(1), b(1), c(2);
  const auto first = bucketed_batches(examples, 8, a);
  CHECK(first == bucketed_batches(examples, 8, b));
  CHECK(first != bucketed_batches(examples, 8, c));
  const auto second = bucketed_batches(examples, 8, a);
  CHECK(first != second);
  // Not only the batches move: their members change, too.
  std::set<std::set<std::size_t>> members;
  for (const auto& epoch : {first, second}) {
    for (const Indices& batch : epoch) members.emplace(batch.begin(), batch.end());
  }
  CHECK(members.size() > first.size());
}

TEST_CASE("batches hold examples of like length, in no order of length") {
  const auto examples = random_examples(3000);
  Rng rng(3);
  const auto batches = bucketed_batches(examples, 10, rng);
  std::vector<Indices> unsorted;
  for (std::size_t i = 0; i < 3000; i += 10) {
    unsorted.push_back({i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i + 8, i + 9});
  }
  CHECK(padded_sources(examples, batches) * 5 < padded_sources(examples, unsorted));
  const auto longest = [&](const Indices& batch) { return examples[batch.back()].source.size(); };
  CHECK_FALSE(std::ranges::is_sorted(batches, {}, longest));
  CHECK_FALSE(std::ranges::is_sorted(batches, std::ranges::greater{}, longest));
}

TEST_CASE("each example begins one joined pair and ends one") {
  constexpr std::size_t n = 50;
  const auto singles = random_examples(n);
  auto examples = singles;
  Rng rng(11);
  append_pairs(examples, rng);
  REQUIRE(examples.size() == 2 * n);
  std::set<Id> firsts, seconds;
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(examples[i].source == singles[i].source);
    const Numbers& pair = examples[n + i].source;
    const Example& a = singles[static_cast<std::size_t>(pair.front() - 4)];
    const Example& b = singles[static_cast<std::size_t>(pair.back() - 4)];
    firsts.insert(pair.front());
    seconds.insert(pair.back());
    for (const auto side : {&Example::source, &Example::target}) {
      Numbers expected = a.*side;
      expected.push_back(Vocabulary::bos);
      expected.insert(expected.end(), (b.*side).begin(), (b.*side).end());
      CHECK(examples[n + i].*side == expected);
    }
  }
  CHECK(firsts.size() == n);
  CHECK(seconds.size() == n);
  std::vector<Example> none;
  append_pairs(none, rng);
  CHECK(none.empty());
}

TEST_CASE("evaluation batches are sorted by length, ties in order") {
  const std::vector<Example> examples = {{{5, 5}, {5}}, {{5}, {5, 5}}, {{5, 5}, {5}}, {{5}, {5}}};
  CHECK(sorted_batches(examples, 3) == std::vector<Indices>{{3, 1, 0}, {2}});
}
