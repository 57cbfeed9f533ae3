#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/arena.h"
#include "autograd/gradients.h"
#include "autograd/profile.h"
#include "autograd/pullback.h"
#include "autograd/var.h"
#include "ops/packed.h"
#include "ops/storage.h"

namespace regrad {

class Tape;

namespace detail {
// Values that parameters had, by Parameter::key.
using ParameterValues = std::unordered_map<const void*, Tensor>;

// Who records in this thread from its construction to its end, nullptr for nobody; they may end in
// any order. In this time it keeps what weights look like to products with few rows.
class Recording {
 public:
  // `values` stand for the parameters' own, in whatever is opened inside of it too.
  explicit Recording(Tape* recorder, std::shared_ptr<const ParameterValues> values = nullptr);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // `weight` packed for a product with so many rows if that pays: if they are few, and it was asked
  // for before. Else nullptr. Valid until the next call.
  const ops::Packed* packed(const Tensor& weight, Transpose transpose, Index rows);
  void forget_packed() { packed_.clear(); }
  const Tensor& value_of(const Parameter& parameter) const;

  Tape* const tape;

 private:
  struct PackedWeight {
    Tensor weight;  // held, so that its address stays its own and its numbers stay what they are
    bool repeated = false;
    ops::Packed packed = {};
  };
  using Key = std::tuple<const void*, Index, Index, Transpose>;  // address and shape
  using Entry = std::pair<const Key, PackedWeight>;

  Recording* outer_;
  std::shared_ptr<const ParameterValues> values_;
  std::map<Key, PackedWeight, std::less<>, PoolAllocator<Entry>> packed_;
};

// In this thread; nullptr without one.
inline constinit thread_local Recording* innermost = nullptr;

// Of the innermost recording in this thread; nullptr without one.
const ops::Packed* packed(const Tensor& weight, Transpose transpose, Index rows);
inline const Tensor& value_of(const Parameter& parameter) {
  return innermost ? innermost->value_of(parameter) : parameter.value();
}
}  // namespace detail

struct TapeOptions {
  // Throws Error at the first value or gradient that holds a NaN or an infinity, naming the
  // operation, the module it is in and the ranges of its inputs.
  bool check_finite = false;
  bool profile = false;  // measures time and memory for summary()
};

// Records the differentiable functions called in its thread while it lives, in the order of the
// calls, which is a topological order: backward is one loop from the end. Tapes nest; the innermost
// one records.
class Tape {
 public:
  explicit Tape(const TapeOptions& options = {});
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // A leaf whose gradient is wanted.
  Var variable(Tensor value);

  // The gradients of a one-element loss with respect to every leaf it depends on. Consumes the
  // tape: each pullback is released as soon as it was used. Throws Error for a loss of another size
  // or tape, for one that depends on no leaf, and when called twice.
  Gradients backward(const Var& loss);
  // The same for y of any shape and a gradient for it: the vector-Jacobian product.
  Gradients backward(const Var& y, const Tensor& gradient);

  // What was recorded, per operation: count and, with the option `profile`, time and memory; after
  // backward, with its time.
  TapeSummary summary() const;
  // The graph in Graphviz's language, leaves named by their parameters; may be asked before
  // backward or after.
  std::string dot() const;
  // The name of the operation that gave a value, `leaf` for a variable or parameter; throws Error
  // for a value that is not of this tape.
  std::string operation(const Var& y) const;
  // The parameters that took part so far.
  std::vector<Parameter> parameters() const;

  bool checks_finite() const { return options_.check_finite; }
  // Number of leaves and recorded steps.
  Index size() const { return static_cast<Index>(steps_.size()); }

  // The tape that records in this thread, or nullptr.
  static Tape* active() { return detail::innermost ? detail::innermost->tape : nullptr; }

 private:
  friend class Var;
  friend class Recorder;
  friend class Paused;
  friend std::vector<Var> gradients(const Var& y, std::span<const Var> xs);
  using Node = std::int32_t;
  struct EdgeRecord {
    Node target;
    Way way;
    Pullback* pullback;
  };
  struct Step {
    const char* name;
    Shape shape;
    DType dtype;
    std::uint32_t first_edge;        // the last one is before the next step's first
    JointPullback* joint = nullptr;  // of a fused operation
  };
  struct Leaf {
    Node node;
    Parameter parameter;  // empty for a variable
  };
  class Sweep;
  class DifferentiableSweep;
  template <class T>
  using List = std::vector<T, PoolAllocator<T>>;

  // Throws Error for a value of another tape.
  bool watches(const Var& var, const char* operation) const {
    if (var.tape_ != 0 && var.tape_ != serial_) fail_foreign(operation);
    return var.tape_ != 0;
  }
  [[noreturn]] void fail_foreign(const char* operation) const;
  Var watch(const Parameter& parameter);
  Var add_leaf(Tensor value, const Parameter& parameter);
  void grow_parameter_table();
  std::int32_t& parameter_slot(const Parameter& parameter);
  Var begin_step(const char* name, Tensor&& value);
  void check_values(const char* name, const Tensor& value,
                    std::span<const Var* const> inputs) const;
  void check_gradient(Node step, Node target, const Tensor& g, const Tensor& gradient) const;
  void check_sum(Node node, const Tensor& sum) const;
  // Where in the model a step is: the module of the nearest parameter that leads to it.
  std::string place(Node step) const;
  const Leaf* leaf_at(Node step) const;
  void add_edge(const Var& input, Way way, Pullback* pullback) {
    edges_.push_back({input.node_, way, pullback});
  }
  std::uint32_t edges_end(std::size_t step) const {
    return step + 1 < steps_.size() ? steps_[step + 1].first_edge
                                    : static_cast<std::uint32_t>(edges_.size());
  }
  void release_edge(std::uint32_t edge) {
    if (Pullback* pullback = std::exchange(edges_[edge].pullback, nullptr)) pullback->~Pullback();
  }
  void release_step(std::size_t step, std::uint32_t end) {
    for (std::uint32_t e = steps_[step].first_edge; e < end; ++e) release_edge(e);
    if (JointPullback* joint = std::exchange(steps_[step].joint, nullptr)) joint->~JointPullback();
  }
  // For each step up to `last`: whether it depends on one of xs.
  List<char> dependents(std::span<const Var> xs, Node last) const;
  Var first_order(Node step, const Var& g, Tensor value);

  TapeOptions options_;
  std::unique_ptr<Profile> profile_;
  std::uint64_t serial_;
  detail::Recording recording_;
  bool consumed_ = false;
  Arena arena_;
  List<Step> steps_;
  // Backward has released the pullbacks of the steps from this one on.
  std::size_t released_from_ = std::numeric_limits<std::size_t>::max();
  List<EdgeRecord> edges_;
  List<Leaf> leaves_;
  List<std::int32_t> parameter_table_;  // open addressing: positions in leaves_, -1 for none
};

// Nothing records in this thread while it lives.
class Paused {
 public:
  Paused() : recording_(nullptr) {}

 private:
  detail::Recording recording_;
};

// Gradients of sum(y) with respect to any watched values, recorded on the live tape, so that they
// can be differentiated again; the tape is kept. A value that y does not depend on gets zeros.
std::vector<Var> gradients(const Var& y, std::span<const Var> xs);
inline std::vector<Var> gradients(const Var& y, std::initializer_list<Var> xs) {
  return gradients(y, std::span(xs.begin(), xs.size()));
}

}  // namespace regrad
