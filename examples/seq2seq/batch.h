#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "examples/seq2seq/vocabulary.h"
#include "ops/ids.h"
#include "ops/rng.h"

namespace regrad::seq2seq {

struct Example {
  std::vector<Id> source, target;  // without <bos> and <eos>
};

// The pairs as numbers, in their order.
std::vector<Example> encode(const std::vector<TextPair>& pairs, const Vocabulary& source,
                            const Vocabulary& target);

// Appends as many joined pairs as there are examples, drawn at random, with <bos> between the two
// on either side; each example begins one pair and ends one. That makes models of few examples
// generalise better (Nguyen, Murray and Chiang 2021).
void append_pairs(std::vector<Example>& examples, Rng& rng);

// Time-major; beyond its length a column holds <pad>. S is the longest source and T one more than
// the longest target: a target a b makes three predictions.
struct Batch {
  Ids source;  // [S, B]
  Lengths source_lengths;
  Ids target_in;   // [T, B]: <bos> a b
  Ids target_out;  // [T, B]: a b <eos>
  Lengths target_lengths;
  std::vector<std::size_t> examples;  // [B]: where each column comes from
};

using Indices = std::vector<std::size_t>;

// Column j is examples[indices[j]]. Throws Error for no indices, one that is out of range, or a
// source without tokens.
Batch make_batch(std::span<const Example> examples, const Indices& indices);

// The batches of one epoch: every example once, in batches of batch_size (the last of a pool may be
// smaller). Shuffled, then sorted by length within pools of 50 batches, then the batches shuffled.
// Throws Error for a batch size of 0.
std::vector<Indices> bucketed_batches(std::span<const Example> examples, std::size_t batch_size,
                                      Rng& rng);
// For evaluation: every example once, sorted by length.
std::vector<Indices> sorted_batches(std::span<const Example> examples, std::size_t batch_size);

}  // namespace regrad::seq2seq
