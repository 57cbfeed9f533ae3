#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "examples/seq2seq/task.h"
#include "examples/seq2seq/vocabulary.h"
#include "tests/nn_check.h"

using namespace regrad;
using namespace regrad::seq2seq;
using regrad::testing::contains;
using regrad::testing::message_of;

namespace {

std::set<Sentence> sources_of(const std::vector<TextPair>& pairs) {
  std::set<Sentence> sources;
  for (const TextPair& pair : pairs) sources.insert(pair.source);
  return sources;
}

std::map<std::size_t, std::size_t> count_lengths(const std::vector<TextPair>& pairs) {
  std::map<std::size_t, std::size_t> counts;
  for (const TextPair& pair : pairs) ++counts[pair.source.size()];
  return counts;
}

}  // namespace

TEST_CASE("copy repeats and reverse turns round, in letters a to z") {
  Rng rng(1);
  const Vocabulary vocabulary(make_task("copy").source_tokens());
  CHECK(vocabulary.size() == 30);
  for (const TextPair& pair : make_task("copy").draw(200, rng)) {
    CHECK(pair.target == pair.source);
    for (const Id id : vocabulary.encode(pair.source)) CHECK(id >= Vocabulary::specials);
  }
  for (const TextPair& pair : make_task("reverse").draw(200, rng)) {
    CHECK(pair.target == Sentence(pair.source.rbegin(), pair.source.rend()));
  }
}

TEST_CASE("no word of dev or test is ever drawn, at any length") {
  Rng rng(2);
  for (const std::size_t longest : {1, 2, 3, 10}) {
    const Task task = make_task("reverse", longest);
    const auto dev = sources_of(task.dev()), test = sources_of(task.test());
    for (const TextPair& pair : task.draw(20'000, rng)) {
      const bool held_out = dev.contains(pair.source) || test.contains(pair.source);
      CHECK_FALSE(held_out);
    }
    for (const Sentence& word : dev) CHECK_FALSE(test.contains(word));
  }
}

TEST_CASE("dev and test are as large as promised, without duplicates, equal at each length") {
  const Task task = make_task("reverse");
  struct Case {
    std::vector<TextPair> pairs;
    std::size_t size;
  };
  for (const Case& each : {Case{task.dev(), 500}, Case{task.test(), 1000}}) {
    CHECK(each.pairs.size() == each.size);
    CHECK(sources_of(each.pairs).size() == each.size);
    const auto counts = count_lengths(each.pairs);
    CHECK(counts.size() == 10);
    CHECK(counts.at(1) >= 1);  // of 26 words
    CHECK(counts.at(1) <= 5);
    CHECK(counts.at(2) >= 20);  // of 676
    for (std::size_t length = 4; length <= 10; ++length) {
      CHECK(counts.at(length) >= each.size / 10);
      CHECK(counts.at(length) <= counts.at(3) + 1);
    }
  }
}

TEST_CASE("dev and test are the same at every call and not sorted") {
  const Task task = make_task("copy"), other = make_task("copy");
  CHECK(task.dev().front().source == other.dev().front().source);
  CHECK(sources_of(task.test(100)) == sources_of(other.test(100)));
  std::set<std::size_t> lengths;
  const auto dev = task.dev();
  for (std::size_t i = 0; i < 20; ++i) lengths.insert(dev[i].source.size());
  CHECK(lengths.size() > 3);
}

TEST_CASE("there may be fewer held-out words than asked for, never other ones") {
  const Task task = make_task("copy", 2);
  const auto dev = task.dev(500), test = task.test(1000);
  CHECK(dev.size() < 100);
  CHECK(dev.size() > 10);
  Rng rng(4);
  const auto train = sources_of(task.draw(50'000, rng));
  CHECK(train.size() + dev.size() + test.size() == 26 + 26 * 26);
}

TEST_CASE("training draws follow the Rng and favour long words") {
  const Task task = make_task("reverse");
  Rng a(5), b(5), c(6);
  const auto first = task.draw(2'000, a);
  CHECK(sources_of(first) == sources_of(task.draw(2'000, b)));
  CHECK(sources_of(first) != sources_of(task.draw(2'000, c)));
  CHECK(sources_of(first) != sources_of(task.draw(2'000, a)));
  const auto counts = count_lengths(first);
  CHECK(counts.size() == 10);
  CHECK(counts.rbegin()->first == 10);
  CHECK(counts.at(1) > 10);    // expected: 2000 / 55 = 36
  CHECK(counts.at(10) > 300);  // expected: 364
  CHECK(task.draw(0, a).empty());
}

TEST_CASE("what is no task is an error that lists the tasks") {
  const auto message = message_of([] { make_task("sort"); });
  CHECK(contains(message, "'sort'"));
  CHECK(contains(message, "copy or reverse"));
  CHECK(contains(message_of([] { make_task("copy", 0); }), "allow at least 1"));
}
