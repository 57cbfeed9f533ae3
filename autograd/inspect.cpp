#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "autograd/tape.h"
#include "ops/error.h"
#include "ops/reduce.h"

namespace regrad {
namespace {

std::string describe(const Tensor& x) {
  ops::Range range = ops::range(x);
  if (x.size() == 0) return fmt::format("{} without elements", x.shape());
  return fmt::format("{} in [{:.4g}, {:.4g}]{}", x.shape(), range.low, range.high,
                     range.not_finite < 0 ? "" : " with NaN or infinity");
}

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

TapeSummary Tape::summary() const {
  std::map<std::string_view, TapeSummary::Row> rows;
  TapeSummary summary;
  summary.profiled = profile_ != nullptr;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    TapeSummary::Row& row = rows[steps_[i].name];
    row.operation = steps_[i].name;
    ++row.count;
    row.elements += steps_[i].shape.size();
    if (!profile_) continue;
    const Profile::Cost& cost = profile_->costs()[i];
    row.bytes += cost.bytes;
    row.forward += cost.forward;
    row.backward += cost.backward;
    summary.forward += cost.forward;
    summary.backward += cost.backward;
  }
  for (auto& [name, row] : rows) summary.rows.push_back(std::move(row));
  std::ranges::stable_sort(summary.rows, std::greater<>{}, [](const TapeSummary::Row& row) {
    return std::pair(row.forward + row.backward, row.count);
  });
  return summary;
}

const Tape::Leaf* Tape::leaf_at(Node step) const {
  auto found = std::ranges::lower_bound(leaves_, step, {}, &Leaf::node);
  return found != leaves_.end() && found->node == step ? &*found : nullptr;
}

std::string Tape::operation(const Var& y) const {
  if (!watches(y, "operation")) fail("operation: a constant of shape {} has none", y.shape());
  return steps_[static_cast<std::size_t>(y.node_)].name;
}

std::vector<Parameter> Tape::parameters() const {
  std::vector<Parameter> found;
  for (const Leaf& leaf : leaves_) {
    if (leaf.parameter) found.push_back(leaf.parameter);
  }
  return found;
}

std::string Tape::dot() const {
  std::string text =
      "digraph tape {\n  rankdir=TB;\n  node [fontname=\"Helvetica\", fontsize=11];\n"
      "  edge [color=gray40];\n";
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Leaf* leaf = leaf_at(static_cast<Node>(i));
    std::string name = steps_[i].name;
    if (leaf) name = leaf->parameter ? leaf->parameter.name() : "variable";
    if (name.empty()) name = "parameter";
    std::string_view look = !leaf             ? "shape=ellipse"
                            : leaf->parameter ? "shape=box, style=filled, fillcolor=lightsteelblue"
                                              : "shape=box, style=filled, fillcolor=palegreen";
    text +=
        fmt::format("  n{} [label=\"{}\\n{}\", {}];\n", i, escaped(name), steps_[i].shape, look);
    for (std::uint32_t e = steps_[i].first_edge; e < edges_end(i); ++e) {
      if (edges_[e].target >= 0) text += fmt::format("  n{} -> n{};\n", edges_[e].target, i);
    }
  }
  return text + "}\n";
}

std::string Tape::place(Node step) const {
  List<char> seen(static_cast<std::size_t>(step) + 1, 0);
  List<Node> open{step};  // the nearest first
  for (std::size_t next = 0; next < open.size(); ++next) {
    const auto at = static_cast<std::size_t>(open[next]);
    for (std::uint32_t e = steps_[at].first_edge; e < edges_end(at); ++e) {
      const Node target = edges_[e].target;
      if (target < 0 || std::exchange(seen[static_cast<std::size_t>(target)], 1)) continue;
      open.push_back(target);
      const Leaf* leaf = leaf_at(target);
      if (!leaf || !leaf->parameter || leaf->parameter.name().empty()) continue;
      const std::string& path = leaf->parameter.name();
      return fmt::format(", {} {}", next == 0 ? "in" : "after", path.substr(0, path.rfind('.')));
    }
  }
  return "";
}

void Tape::check_values(const char* name, const Tensor& value,
                        std::span<const Var* const> inputs) const {
  Index position = ops::range(value).not_finite;
  if (position < 0) return;
  std::string where, ranges;
  Node nearest = -1;
  for (const Var* input : inputs) {
    ranges += fmt::format("{}{}", ranges.empty() ? "" : "; ", describe(input->value()));
    nearest = std::max(nearest, input->node_);
    const Leaf* leaf = input->node_ >= 0 ? leaf_at(input->node_) : nullptr;
    if (!leaf || !leaf->parameter || leaf->parameter.name().empty()) continue;
    const std::string& path = leaf->parameter.name();
    where = fmt::format(", in {}", path.substr(0, path.rfind('.')));
  }
  if (where.empty() && nearest >= 0) where = place(nearest);
  fail(
      "check_finite: {} (step {}{}) gave a NaN or an infinity at position {} of {}; its inputs: {}",
      name, steps_.size(), where, position, value.shape(), ranges);
}

void Tape::check_gradient(Node step, Node target, const Tensor& g, const Tensor& gradient) const {
  if (ops::range(gradient).not_finite < 0) return;
  fail(
      "check_finite: backward of {} (step {}{}) gave a NaN or an infinity to its input of shape {} "
      "(step {}, {}); the gradient of its output: {}",
      steps_[static_cast<std::size_t>(step)].name, step, place(step), gradient.shape(), target,
      steps_[static_cast<std::size_t>(target)].name, describe(g));
}

void Tape::check_sum(Node node, const Tensor& sum) const {
  if (ops::range(sum).not_finite < 0) return;
  const Leaf* leaf = leaf_at(node);
  const bool named = leaf && leaf->parameter && !leaf->parameter.name().empty();
  fail("check_finite: what backward gives to {} (step {}{}) adds up to a NaN or an infinity: {}",
       named ? leaf->parameter.name() : steps_[static_cast<std::size_t>(node)].name, node,
       place(node), describe(sum));
}

}  // namespace regrad
