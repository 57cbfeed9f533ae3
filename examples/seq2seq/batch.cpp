#include "examples/seq2seq/batch.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <vector>

#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

constexpr std::size_t pool_batches = 50;

struct Columns {
  Ids ids;
  Lengths lengths;
};

// sequences: one for each column -> [longest, B], padded with <pad>.
Columns as_columns(const std::vector<std::vector<Id>>& sequences) {
  std::vector<Id> lengths;
  for (const auto& sequence : sequences) lengths.push_back(static_cast<Id>(sequence.size()));
  const Index time = *std::ranges::max_element(lengths);
  const auto batch = static_cast<Index>(sequences.size());
  Columns columns{Ids({time, batch}, Vocabulary::pad), Lengths(lengths, time)};
  Id* cell = columns.ids.mutable_data();
  for (Index t = 0; t < time; ++t) {
    for (Index b = 0; b < batch; ++b, ++cell) {
      if (!columns.lengths.valid(t, b)) continue;
      *cell = sequences[static_cast<std::size_t>(b)][static_cast<std::size_t>(t)];
    }
  }
  return columns;
}

void check(std::span<const Example> examples, const Indices& indices) {
  if (indices.empty()) fail("make_batch: no indices; a batch has at least one example");
  for (const std::size_t index : indices) {
    if (index >= examples.size()) {
      fail("make_batch: index {} is outside of the {} examples", index, examples.size());
    }
    if (examples[index].source.empty())
      fail("make_batch: the source of example {} is empty", index);
  }
}

Indices all_of(std::span<const Example> examples) {
  Indices indices(examples.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

void sort_by_length(std::span<const Example> examples, std::span<std::size_t> indices) {
  std::ranges::stable_sort(indices, {}, [&](std::size_t index) {
    return std::array{examples[index].source.size(), examples[index].target.size()};
  });
}

void append_batches(std::span<const std::size_t> indices, std::size_t batch_size,
                    std::vector<Indices>& batches) {
  for (std::size_t begin = 0; begin < indices.size(); begin += batch_size) {
    const auto batch = indices.subspan(begin, std::min(batch_size, indices.size() - begin));
    batches.emplace_back(batch.begin(), batch.end());
  }
}

void check_batch_size(std::size_t batch_size) {
  if (batch_size == 0) fail("batches: of 0 examples; take at least 1");
}

}  // namespace

std::vector<Example> encode(const std::vector<TextPair>& pairs, const Vocabulary& source,
                            const Vocabulary& target) {
  std::vector<Example> examples;
  examples.reserve(pairs.size());
  for (const TextPair& pair : pairs) {
    examples.push_back({source.encode(pair.source), target.encode(pair.target)});
  }
  return examples;
}

void append_pairs(std::vector<Example>& examples, Rng& rng) {
  Indices order = all_of(examples);
  rng.shuffle(std::span(order));
  const auto joined = [](std::vector<Id> first, const std::vector<Id>& second) {
    first.push_back(Vocabulary::bos);
    first.insert(first.end(), second.begin(), second.end());
    return first;
  };
  examples.reserve(2 * order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Example &a = examples[order[i]], &b = examples[order[(i + 1) % order.size()]];
    examples.push_back({joined(a.source, b.source), joined(a.target, b.target)});
  }
}

Batch make_batch(std::span<const Example> examples, const Indices& indices) {
  check(examples, indices);
  std::vector<std::vector<Id>> sources, targets_in, targets_out;
  for (const std::size_t index : indices) {
    sources.push_back(examples[index].source);
    std::vector<Id> target = examples[index].target;
    target.push_back(Vocabulary::eos);
    targets_out.push_back(target);
    target.pop_back();
    target.insert(target.begin(), Vocabulary::bos);
    targets_in.push_back(std::move(target));
  }
  Columns source = as_columns(sources), target = as_columns(targets_out);
  return {source.ids, source.lengths, as_columns(targets_in).ids,
          target.ids, target.lengths, indices};
}

std::vector<Indices> bucketed_batches(std::span<const Example> examples, std::size_t batch_size,
                                      Rng& rng) {
  check_batch_size(batch_size);
  Indices indices = all_of(examples);
  rng.shuffle(std::span(indices));
  const std::size_t batch = std::min(batch_size, std::max<std::size_t>(indices.size(), 1));
  std::vector<Indices> batches;
  for (std::size_t begin = 0; begin < indices.size(); begin += pool_batches * batch) {
    const std::size_t size = std::min(pool_batches * batch, indices.size() - begin);
    const auto pool = std::span(indices).subspan(begin, size);
    sort_by_length(examples, pool);
    append_batches(pool, batch, batches);
  }
  rng.shuffle(std::span(batches));
  return batches;
}

std::vector<Indices> sorted_batches(std::span<const Example> examples, std::size_t batch_size) {
  check_batch_size(batch_size);
  Indices indices = all_of(examples);
  sort_by_length(examples, indices);
  std::vector<Indices> batches;
  append_batches(indices, std::min(batch_size, std::max<std::size_t>(indices.size(), 1)), batches);
  return batches;
}

}  // namespace regrad::seq2seq
