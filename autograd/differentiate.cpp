#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "autograd/functions.h"
#include "autograd/record.h"
#include "autograd/tape.h"
#include "ops/elementwise.h"

namespace regrad {
namespace {

// What to do for derivatives of higher order than a fused operation has.
std::string higher_order(std::string_view operation) {
  constexpr std::string_view here = "nn/composed.h", recurrent = "nn/composed_recurrent.h";
  constexpr std::pair<std::string_view, std::string_view> twins[] = {
      {"additive_score", here},
      {"cross_entropy", here},
      {"layer_norm", here},
      {"monotonic_alignment", "nn/composed_attention.h"},
      {"head_weights", "nn/composed_heads.h"},
      {"rnn_gates", recurrent},
      {"lstm_gates", recurrent},
      {"gru_gates", recurrent},
      {"rnn", recurrent},
      {"lstm", recurrent},
      {"gru", recurrent}};
  for (const auto& [fused, header] : twins) {
    if (fused == operation) return fmt::format("use {}_composed of {}", fused, header);
  }
  return operation == "recompute" ? "call the function itself" : "compose it of primitives";
}

}  // namespace

Tape::List<char> Tape::dependents(std::span<const Var> xs, Node last) const {
  List<char> depends(static_cast<std::size_t>(last) + 1, 0);
  for (const Var& x : xs) {
    if (x.tape_ != serial_) {
      fail(
          "gradients: a value of shape {} is not watched by this tape; make it a leaf with "
          "tape.variable()",
          x.shape());
    }
    if (x.node_ <= last) depends[static_cast<std::size_t>(x.node_)] = 1;
  }
  for (std::size_t i = 0; i < depends.size(); ++i) {
    for (std::uint32_t e = steps_[i].first_edge; e < edges_end(i); ++e) {
      if (edges_[e].target >= 0 && depends[static_cast<std::size_t>(edges_[e].target)]) {
        depends[i] = 1;
      }
    }
  }
  return depends;
}

// A fused operation's gradient: right as a value, but not to be differentiated again.
Var Tape::first_order(Node step, const Var& g, Tensor value) {
  const char* name = steps_[static_cast<std::size_t>(step)].name;
  List<Var> sources{g};
  for (std::uint32_t e = steps_[static_cast<std::size_t>(step)].first_edge;
       e < edges_end(static_cast<std::size_t>(step)); ++e) {
    if (edges_[e].target >= 0) sources.push_back(Var(Tensor(), serial_, edges_[e].target));
  }
  return record_each(name, std::move(value), sources, [name](std::size_t) {
    return [name](const Var&) -> Var {
      fail("{}: a fused operation has first derivatives only; for more {}", name,
           higher_order(name));
    };
  });
}

// As Tape::Sweep, with gradients as Vars, so that the tape records how they came about.
class Tape::DifferentiableSweep final : public GradientSink {
 public:
  DifferentiableSweep(Tape& tape, const Var& y, std::span<const Var> xs)
      : tape_(tape), depends_(tape.dependents(xs, y.node_)), gradients_(depends_.size()) {
    add_to(y.node_, Var(ones(y.shape(), y.dtype())));
    for (step_ = y.node_; step_ >= 0; --step_) {
      auto i = static_cast<std::size_t>(step_);
      if (gradients_[i] && depends_[i]) pull_back(*gradients_[i]);
    }
  }

  Var result(const Var& x) const {
    auto node = static_cast<std::size_t>(x.node_);
    if (node < gradients_.size() && gradients_[node]) return *gradients_[node];
    return Var(zeros(x.shape(), x.dtype()));
  }

  bool wants(int input) const override {
    Node target = edge(input).target;
    return target >= 0 && depends_[static_cast<std::size_t>(target)];
  }
  bool last() const override { return false; }
  void add(int input, Tensor gradient) override {
    if (wants(input)) ops::accumulate(accumulator(input), gradient);
  }
  Tensor& accumulator(int input) override {
    auto i = static_cast<std::size_t>(input);
    const Step& target = tape_.steps_[static_cast<std::size_t>(edge(input).target)];
    if (!joint_[i]) joint_[i] = zeros(target.shape, target.dtype);
    return *joint_[i];
  }

 private:
  EdgeRecord edge(int input) const {
    auto first = tape_.steps_[static_cast<std::size_t>(step_)].first_edge;
    return tape_.edges_[first + static_cast<std::uint32_t>(input)];
  }

  void pull_back(const Var g) {
    auto i = static_cast<std::size_t>(step_);
    auto count = static_cast<int>(tape_.edges_end(i) - tape_.steps_[i].first_edge);
    if (JointPullback* joint = tape_.steps_[i].joint) {
      joint_.assign(static_cast<std::size_t>(count), std::nullopt);
      (*joint)(g.value(), *this);
      for (std::size_t k = 0; k < joint_.size(); ++k) {
        if (!joint_[k]) continue;
        add_to(edge(static_cast<int>(k)).target, tape_.first_order(step_, g, *joint_[k]));
      }
      return;
    }
    for (int k = 0; k < count; ++k) {
      if (wants(k)) add_to(edge(k).target, edge(k).pullback ? (*edge(k).pullback)(Var(g)) : g);
    }
  }

  void add_to(Node target, const Var& gradient) {
    auto i = static_cast<std::size_t>(target);
    Shape shape = tape_.steps_[i].shape;
    Var fitted = gradient.shape() == shape ? gradient : sum_to(gradient, shape);
    gradients_[i] = gradients_[i] ? regrad::add(*gradients_[i], fitted) : fitted;
  }

  Tape& tape_;
  List<char> depends_;
  List<std::optional<Var>> gradients_;
  List<std::optional<Tensor>> joint_;  // of the fused step at hand, by input
  Node step_ = 0;
};

std::vector<Var> gradients(const Var& y, std::span<const Var> xs) {
  Tape* tape = Tape::active();
  if (!tape) fail("gradients: no tape records; they are for a live tape");
  if (tape->consumed_) {
    fail("gradients: this tape was consumed by backward; ask before it, or open a new Tape");
  }
  if (!tape->watches(y, "gradients")) {
    fail("gradients: y, of shape {}, depends on no variable or parameter of the tape", y.shape());
  }
  Tape::DifferentiableSweep sweep(*tape, y, xs);
  std::vector<Var> results;
  for (const Var& x : xs) results.push_back(sweep.result(x));
  return results;
}

}  // namespace regrad
