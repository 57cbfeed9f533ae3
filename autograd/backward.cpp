#include <optional>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"

namespace regrad {

// One walk over a tape from its end, with gradients as plain tensors.
class Tape::Sweep final : public GradientSink {
 public:
  explicit Sweep(Tape& tape)
      : tape_(tape), gradients_(tape.steps_.size()), terms_of_(tape.steps_.size(), -1) {}

  void run(Node last, Tensor seed) {
    gradients_[static_cast<std::size_t>(last)] = std::move(seed);
    if (tape_.profile_) tape_.profile_->backward_begins();
    auto end = static_cast<std::uint32_t>(tape_.edges_.size());  // of the step's edges
    for (std::size_t i = tape_.steps_.size(); i-- > 0; tape_.released_from_ = i) {
      if (terms_of_[i] >= 0) add_terms(i);
      if (gradients_[i]) {
        pull_back(i, end);
      } else {
        tape_.release_step(i, end);
      }
      end = tape_.steps_[i].first_edge;
      if (tape_.profile_) tape_.profile_->pulled_back(i);
    }
  }

  Gradients collect() {
    Gradients::Entries entries;
    for (const Leaf& leaf : tape_.leaves_) {
      auto node = static_cast<std::size_t>(leaf.node);
      if (gradients_[node]) {
        if (tape_.options_.check_finite) tape_.check_sum(leaf.node, *gradients_[node]);
        entries.push_back({leaf.parameter, leaf.node, std::move(*gradients_[node])});
      } else if (!leaf.parameter) {
        entries.push_back(
            {leaf.parameter, leaf.node, zeros(tape_.steps_[node].shape, tape_.steps_[node].dtype)});
      }
    }
    return Gradients(tape_.serial_, std::move(entries));
  }

  bool wants(int input) const override { return edge(input).target >= 0; }
  bool last() const override { return true; }
  void add(int input, Tensor gradient) override {
    if (wants(input)) contribute(edge(input).target, std::move(gradient));
  }
  Tensor& accumulator(int input) override { return sum_at(edge(input).target); }

 private:
  struct Term {
    ProductTerm product;
    std::int32_t next;
    Index bytes;  // of this term and those after it
  };

  const EdgeRecord& edge(int input) const {
    return tape_.edges_[tape_.steps_[step_].first_edge + static_cast<std::uint32_t>(input)];
  }

  // Releases each pullback once it was used.
  void pull_back(std::size_t step, std::uint32_t end) {
    step_ = step;
    const std::uint32_t begin = tape_.steps_[step].first_edge;
    if (begin == end) return;  // a leaf
    Var g(std::move(*gradients_[step]));
    gradients_[step].reset();
    if (tape_.options_.check_finite) {
      g_ = g.value();
      tape_.check_sum(static_cast<Node>(step), g_);
    }
    if (tape_.steps_[step].joint) {
      (*tape_.steps_[step].joint)(g.value(), *this);
      return tape_.release_step(step, end);
    }
    // A weight comes after what it is multiplied with, which can go when the weight is done.
    for (std::uint32_t e = end; e-- > begin;) {
      pull_back(tape_.edges_[e], g, e == begin);
      tape_.release_edge(e);
    }
  }

  void pull_back(const EdgeRecord& edge, Var& g, bool last) {
    const auto& [target, way, pullback] = edge;
    if (way == Way::call && !last) {
      contribute(target, (*pullback)(Var(g)).value_);
    } else if (way == Way::call) {
      contribute(target, (*pullback)(std::move(g)).value_);
    } else if (way == Way::pass && !last) {
      contribute(target, g.value());
    } else if (way == Way::pass) {
      contribute(target, std::move(g.value_));
    } else if (way == Way::add) {
      pullback->add(g.value(), sum_at(target));
    } else if (way == Way::product) {
      const Tensor& weight = pullback->weight()->value();
      contribute(target,
                 ops::linear_backward(g.value(), weight,
                                      detail::packed(weight, NoTrans, ops::rows_of(g.value()))));
    } else {
      add_term(target, pullback->term(g.value()));
    }
  }

  // Terms are kept until the product of all of them is worth it, but no more of them than make an
  // efficient product: they hold memory.
  void add_term(Node target, ProductTerm product) {
    constexpr Index most_bytes = 4 << 20;
    auto& newest = terms_of_[static_cast<std::size_t>(target)];
    const Index before = newest < 0 ? 0 : terms_[static_cast<std::size_t>(newest)].bytes;
    const Index bytes = before + (product.lengths ? 0 : product.a.bytes() + product.b.bytes());
    terms_.push_back({std::move(product), newest, bytes});
    newest = static_cast<std::int32_t>(terms_.size() - 1);
    if (bytes >= most_bytes) add_terms(static_cast<std::size_t>(target));
  }

  Tensor& sum_at(Node target) {
    auto& sum = gradients_[static_cast<std::size_t>(target)];
    const Step& step = tape_.steps_[static_cast<std::size_t>(target)];
    if (!sum) sum = zeros(step.shape, step.dtype);
    return *sum;
  }

  // What the step at hand gives to one of its inputs.
  template <class G>
  void contribute(Node target, G&& gradient) {
    if (tape_.options_.check_finite) {
      tape_.check_gradient(static_cast<Node>(step_), target, g_, gradient);
    }
    add_to(target, std::forward<G>(gradient));
  }

  template <class G>
  void add_to(Node target, G&& gradient) {
    auto& sum = gradients_[static_cast<std::size_t>(target)];
    const Shape& shape = tape_.steps_[static_cast<std::size_t>(target)].shape;
    if (!(gradient.shape() == shape)) {
      add_to(target, ops::sum_to(gradient, shape));
    } else if (sum) {
      ops::accumulate(*sum, gradient);
    } else {
      sum = std::forward<G>(gradient);
    }
  }

  // All terms of a gradient that wait, in one product. Spread terms are of rank 3, those of a
  // weight of rank 2, so that an input has terms of one kind.
  void add_terms(std::size_t step) {
    List<ops::OuterProduct> products;
    List<ops::SpreadTerm> spreads;
    for (std::int32_t i = std::exchange(terms_of_[step], -1); i >= 0;
         i = terms_[static_cast<std::size_t>(i)].next) {
      auto& [a, b, lengths] = terms_[static_cast<std::size_t>(i)].product;
      if (lengths) {
        spreads.push_back({std::move(a), std::move(b), *std::move(lengths)});
      } else {
        products.push_back({std::move(a), std::move(b)});
      }
    }
    if (!spreads.empty()) return add_to(static_cast<Node>(step), ops::sum_spreads(spreads));
    if (auto& sum = gradients_[step]) return ops::add_outer_products(products, *sum);
    gradients_[step] = ops::sum_outer_products(products);
  }

  Tape& tape_;
  List<std::optional<Tensor>> gradients_;
  List<Term> terms_;
  List<std::int32_t> terms_of_;  // the newest term of each node, -1 for none
  std::size_t step_ = 0;
  Tensor g_;  // the gradient of that step's output, for messages
};

Gradients Tape::backward(const Var& loss) {
  if (loss.size() != 1) {
    fail("backward: the loss has shape {}, not one element; take its sum or mean", loss.shape());
  }
  return backward(loss, ones(loss.shape(), loss.dtype()));
}

Gradients Tape::backward(const Var& loss, const Tensor& gradient) {
  if (loss.tape_ == 0) {
    fail(
        "backward: the loss depends on no variable or parameter of this tape; create the tape "
        "before the values are computed");
  }
  if (loss.tape_ != serial_) fail_foreign("backward");
  if (consumed_) fail("backward: called twice on one tape; open a new Tape, or use gradients()");
  if (!(gradient.shape() == loss.shape()) || gradient.dtype() != loss.dtype()) {
    fail("backward: the gradient is {} {}, the value {} {}", to_string(gradient.dtype()),
         gradient.shape(), to_string(loss.dtype()), loss.shape());
  }
  consumed_ = true;
  recording_.forget_packed();
  Paused paused;
  Sweep sweep(*this);
  sweep.run(loss.node_, gradient);
  return sweep.collect();
}

}  // namespace regrad
