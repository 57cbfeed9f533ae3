#include "nn/transformer.h"

#include <cmath>

#include "nn/sizes.h"
#include "nn/without_padding.h"

namespace regrad {
namespace {

template <class Stack>
void build(Stack& stack, Index size, Index heads, Rng& rng, DType dtype,
           const TransformerStackOptions& options) {
  require_size("transformer", "layers", options.layers);
  for (Index i = 0; i < options.layers; ++i) {
    stack.layers.emplace_back(size, heads, rng, dtype, options.layer);
  }
  if (options.final_norm) stack.norm.emplace(size, dtype, options.layer.epsilon);
}

template <class Stack>
void visit_stack(const Stack& stack, Visitor& visitor) {
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    visitor(fmt::format("layers.{}", i), stack.layers[i]);
  }
  if (stack.norm) visitor("norm", *stack.norm);
}

void require_steps(std::string_view what, const Var& x, const LayerNorm& norm) {
  const Index size = norm.weight.shape()[0];
  if (x.rank() != 3 || x.shape()[2] != size) {
    fail("transformer: {} must be [time, batch, {}], not {}", what, size, x.shape());
  }
}

// Places in the cache behind the lengths.
constexpr std::size_t entries_per_layer = 4;

Var lengths_as_var(const Lengths& lengths, DType dtype) {
  const std::vector<double> values(lengths.data(), lengths.data() + lengths.batch());
  return tensor(values, {lengths.batch()}, dtype);
}

Lengths lengths_of(const Var& values, Index time) {
  const std::vector<double> numbers = values.value().to_vector();
  for (const double number : numbers) {
    if (number >= 0 && number <= static_cast<double>(time) && number == std::floor(number))
      continue;
    fail("transformer: the cached length {} is no number of steps from 0 to {}", number, time);
  }
  return Lengths(std::vector<std::int32_t>(numbers.begin(), numbers.end()), time);
}

void require_cache(const TransformerCache& cache, std::size_t layers, const Var& x) {
  if (cache.size() != 1 + entries_per_layer * layers) {
    fail("transformer: a cache of {} tensors is not of {} layers; begin with start()", cache.size(),
         layers);
  }
  for (const Var& entry : cache) {
    if (entry.rank() < 1 || entry.shape()[0] != x.shape()[0]) {
      fail("transformer: step {} and cached {} differ in batch, the first axis", x.shape(),
           entry.shape());
    }
  }
  for (std::size_t i = 1; i < cache.size(); ++i) {
    if (cache[i].rank() != 3 || cache[i].shape()[2] != x.shape()[1]) {
      fail("transformer: cached {} is not [batch, time, {}]", cache[i].shape(), x.shape()[1]);
    }
  }
}

}  // namespace

TransformerEncoder::TransformerEncoder(Index size, Index heads, Rng& rng, DType dtype,
                                       const TransformerStackOptions& options) {
  build(*this, size, heads, rng, dtype, options);
}

Var TransformerEncoder::operator()(const Var& x, const Lengths& lengths, Rng* rng) const {
  require_steps("the input", x, layers[0].norm1);
  Var y = without_padding(x, lengths);
  for (const TransformerEncoderLayer& layer : layers) y = layer.run(y, lengths, rng);
  return without_padding(norm ? (*norm)(y) : y, lengths);
}

void TransformerEncoder::visit(Visitor& visitor) const { visit_stack(*this, visitor); }

TransformerDecoder::TransformerDecoder(Index size, Index heads, Rng& rng, DType dtype,
                                       const TransformerStackOptions& options) {
  build(*this, size, heads, rng, dtype, options);
}

TransformerDecoderOutput TransformerDecoder::operator()(const Var& x, const Lengths& lengths,
                                                        const Var& memory,
                                                        const Lengths& memory_lengths,
                                                        Rng* rng) const {
  require_steps("the input", x, layers[0].norm1);
  require_steps("the memory", memory, layers[0].norm1);
  const Var source = without_padding(memory, memory_lengths);
  Var y = without_padding(x, lengths);
  std::vector<Var> weights;
  for (const TransformerDecoderLayer& layer : layers) {
    const DecoderLayerOutput out =
        layer.run(y, lengths, layer.multihead_attn.project_memory(source, memory_lengths), rng);
    y = out.output;
    weights.push_back(out.weights);
  }
  return {without_padding(norm ? (*norm)(y) : y, lengths), weights};
}

TransformerCache TransformerDecoder::start(const Var& memory, const Lengths& memory_lengths) const {
  require_steps("the memory", memory, layers[0].norm1);
  require_lengths(memory_lengths, memory.shape()[0], memory.shape()[1], "transformer");
  const Var source = without_padding(memory, memory_lengths);
  TransformerCache cache{lengths_as_var(memory_lengths, memory.dtype())};
  const Var none = zeros({memory.shape()[1], 0, memory.shape()[2]}, memory.dtype());
  for (const TransformerDecoderLayer& layer : layers) {
    const KeysValues projected = layer.multihead_attn.project_memory(source, memory_lengths);
    cache.insert(cache.end(),
                 {none, none, transpose(projected.keys, 0, 1), transpose(projected.values, 0, 1)});
  }
  return cache;
}

TransformerDecoderOutput TransformerDecoder::step(const Var& x, TransformerCache& cache,
                                                  Rng* rng) const {
  const Index size = layers[0].norm1.weight.shape()[0];
  if (x.rank() != 2 || x.shape()[1] != size) {
    fail("transformer: a step must be [batch, {}], not {}", size, x.shape());
  }
  require_cache(cache, layers.size(), x);
  const Lengths memory_lengths = lengths_of(cache[0], cache[3].shape()[1]);
  Var y = unsqueeze(x, 0);
  std::vector<Var> weights;
  TransformerCache next{cache[0]};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Var* entry = &cache[1 + entries_per_layer * i];
    KeysValues past{entry[0], entry[1], {}, KeyOrder::batch_first};
    const KeysValues memory{entry[2], entry[3], memory_lengths, KeyOrder::batch_first};
    const DecoderLayerOutput out = layers[i].step(y, past, memory, rng);
    y = out.output;
    weights.push_back(squeeze(out.weights, 2));
    next.insert(next.end(), {past.keys, past.values, memory.keys, memory.values});
  }
  cache = std::move(next);
  return {squeeze(norm ? (*norm)(y) : y, 0), weights};
}

void TransformerDecoder::visit(Visitor& visitor) const { visit_stack(*this, visitor); }

}  // namespace regrad
