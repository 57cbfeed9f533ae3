#include "nn/multihead_attention.h"

#include "nn/init.h"
#include "nn/sizes.h"
#include "nn/without_padding.h"

namespace regrad {
namespace {

Linear output_projection(Index size, Rng& rng, DType dtype, Bias with) {
  require_size("multihead attention", "size", size);
  Linear layer(size, size, rng, dtype, with);
  if (layer.bias) layer.bias = Parameter(zeros({size}, dtype));
  return layer;
}

void require_input(std::string_view name, const Var& x, Index size, Index batch) {
  if (x.rank() != 3 || x.shape()[1] != batch || x.shape()[2] != size) {
    fail("multihead attention: {} must be [time, {}, {}], not {}", name, batch, size, x.shape());
  }
}

}  // namespace

MultiheadAttention::MultiheadAttention(Index size, Index head_count, Rng& rng, DType dtype,
                                       const MultiheadOptions& options)
    : heads(head_count),
      dropout(options.dropout),
      out_proj(output_projection(size, rng, dtype, options.bias)) {
  if (heads < 1 || size % heads != 0) {
    fail("multihead attention: size {} does not fall into {} equal heads", size, heads);
  }
  const Index key_size = options.key_size == 0 ? size : options.key_size;
  const Index value_size = options.value_size == 0 ? size : options.value_size;
  require_size("multihead attention", "key_size", key_size);
  require_size("multihead attention", "value_size", value_size);
  const auto weight = [&](Index outputs, Index inputs) {
    return Parameter(init::xavier_uniform({outputs, inputs}, rng, dtype));
  };
  if (key_size == size && value_size == size) {
    in_proj_weight = weight(3 * size, size);
  } else {
    q_proj_weight = weight(size, size);
    k_proj_weight = weight(size, key_size);
    v_proj_weight = weight(size, value_size);
  }
  if (options.bias == Bias::yes) in_proj_bias = Parameter(zeros({3 * size}, dtype));
}

Var MultiheadAttention::project(const Var& x, Index first, Index last) const {
  const Index size = out_proj.weight.shape()[0];
  const bool whole = first == 0 && last == 3;
  const auto rows = [&](const Parameter& parameter) {
    return whole ? Var(parameter) : slice(parameter, 0, first * size, last * size);
  };
  const Parameter* separate[] = {&q_proj_weight, &k_proj_weight, &v_proj_weight};
  const Var weight = in_proj_weight ? rows(in_proj_weight) : Var(*separate[first]);
  return in_proj_bias ? linear(x, weight, rows(in_proj_bias)) : linear(x, weight);
}

ProjectedSelf MultiheadAttention::project_self(const Var& x) const {
  if (!in_proj_weight) return {project(x, 0, 1), project(x, 1, 2), project(x, 2, 3)};
  const std::vector<Var> parts = split(project(x, 0, 3), 3, 2);
  return {parts[0], parts[1], parts[2]};
}

Var MultiheadAttention::project_query(const Var& query) const { return project(query, 0, 1); }

KeysValues MultiheadAttention::project_memory(const Var& memory, const Lengths& lengths) const {
  if (!in_proj_weight) return {project(memory, 1, 2), project(memory, 2, 3), lengths};
  const std::vector<Var> parts = split(project(memory, 1, 3), 2, 2);
  return {parts[0], parts[1], lengths};
}

MultiheadOutput MultiheadAttention::attend(const Var& projected_query, const KeysValues& memory,
                                           const AttendOptions& options) const {
  const HeadsOutput found = scaled_dot_product_attention(
      projected_query, memory.keys, memory.values, heads, memory.lengths,
      {.causal = options.causal, .order = memory.order, .dropout = dropout.p, .rng = options.rng});
  return {out_proj(found.context), found.weights};
}

MultiheadOutput MultiheadAttention::operator()(const Var& x, const Lengths& lengths,
                                               const AttendOptions& options) const {
  require_input("the input", x, out_proj.weight.shape()[0], lengths.batch());
  const ProjectedSelf self = project_self(without_padding(x, lengths));
  return attend(self.queries, {self.keys, self.values, lengths}, options);
}

MultiheadOutput MultiheadAttention::operator()(const Var& query, const Var& key, const Var& value,
                                               const Lengths& lengths,
                                               const AttendOptions& options) const {
  const Index size = out_proj.weight.shape()[0];
  require_input("the query", query, size, lengths.batch());
  require_input("the key", key, in_proj_weight ? size : k_proj_weight.shape()[1], lengths.batch());
  require_input("the value", value, in_proj_weight ? size : v_proj_weight.shape()[1],
                lengths.batch());
  return attend(project_query(query),
                {project(without_padding(key, lengths), 1, 2),
                 project(without_padding(value, lengths), 2, 3), lengths},
                options);
}

void MultiheadAttention::visit(Visitor& visitor) const {
  if (in_proj_weight) {
    visitor("in_proj_weight", in_proj_weight);
  } else {
    visitor("q_proj_weight", q_proj_weight);
    visitor("k_proj_weight", k_proj_weight);
    visitor("v_proj_weight", v_proj_weight);
  }
  if (in_proj_bias) visitor("in_proj_bias", in_proj_bias);
  visitor("out_proj", out_proj);
}

}  // namespace regrad
