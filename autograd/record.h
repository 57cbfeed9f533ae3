#pragma once

#include <array>
#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/pullback.h"
#include "autograd/tape.h"
#include "ops/elementwise.h"

namespace regrad {

// One input of an operation and its pullback: (const Var& g) -> Var, or (g, y) where it needs the
// output; with Var&& g it may compute in g's storage. A gradient of the broadcast shape is summed
// to the input's by the tape. For derivatives of any order it computes with Vars and captures
// inputs as Vars.
template <class F>
struct Edge {
  const Var& input;
  F pullback;
};
template <class F>
Edge(const Var&, F) -> Edge<F>;

// An input to which the gradient passes as it is.
struct PassEdge {
  const Var& input;
};

// As Edge with a second way for the first derivative: add(const Tensor& g, Tensor& sum) adds the
// gradient in place, where a pullback would make a large and mostly empty tensor.
template <class F, class A>
struct AddingEdge {
  const Var& input;
  F pullback;
  A add;
};
template <class F, class A>
AddingEdge(const Var&, F, A) -> AddingEdge<F, A>;

// A weight [O, I] in y = x Wᵀ, where x is [..., I]: its gradient is gᵀx over all leading axes.
struct WeightEdge {
  const Var& input;
  const Var& x;
};

// The x of y = x Wᵀ: its gradient is g W.
struct ProductEdge {
  const Var& input;
  const Var& weight;
};

// An input [S, B, D] whose gradient is spread(weights, g), or spread(g, rows): of `weights` [B, S]
// and `rows` [B, D] the one that is not null.
struct SpreadEdge {
  const Var& input;
  const Var* weights;
  const Var* rows;
  const Lengths& lengths;
};

class Recorder {
 public:
  template <class... Edges>
  static Var record(const char* name, Tensor&& value, Edges&&... edges) {
    Tape* tape = Tape::active();
    // Not short-circuited: each input is checked to be of this tape.
    if (!tape || (int{tape->watches(edges.input, name)} + ... + 0) == 0)
      return Var(std::move(value));
    if (tape->options_.check_finite) {
      tape->check_values(name, value, std::array<const Var*, sizeof...(edges)>{&edges.input...});
    }
    Var y = tape->begin_step(name, std::move(value));
    (add(*tape, y, std::forward<Edges>(edges)), ...);
    return y;
  }

  template <class Make>
  static Var record_each(const char* name, Tensor&& value, std::span<const Var> inputs,
                         const Make& make_pullback) {
    Tape* tape = Tape::active();
    std::vector<const Var*, PoolAllocator<const Var*>> pointers;
    for (const Var& input : inputs) pointers.push_back(&input);
    if (!watches_any(tape, name, pointers)) return Var(std::move(value));
    if (tape->options_.check_finite) tape->check_values(name, value, pointers);
    Var y = tape->begin_step(name, std::move(value));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      add(*tape, y, Edge{inputs[i], make_pullback(i)});
    }
    return y;
  }

  template <class F>
  static Var record_fused(const char* name, Tensor&& value, std::span<const Var* const> inputs,
                          F&& pullback) {
    Tape* tape = Tape::active();
    if (!watches_any(tape, name, inputs)) return Var(std::move(value));
    if (tape->options_.check_finite) tape->check_values(name, value, inputs);
    Var y = tape->begin_step(name, std::move(value));
    for (const Var* input : inputs) tape->add_edge(*input, Way::joint, nullptr);
    using J = Joint<std::decay_t<F>>;
    tape->steps_.back().joint = new (tape->arena_.allocate<J>()) J(std::forward<F>(pullback));
    return y;
  }

 private:
  template <class F>
  struct Function final : Pullback {
    explicit Function(F&& f) : function(std::move(f)) {}
    Var operator()(Var&& g) const override { return function(std::move(g)); }
    F function;
  };
  template <class F>
  struct FunctionOfOutput final : Pullback {
    FunctionOfOutput(F&& f, const Var& output) : function(std::move(f)), y(output) {}
    Var operator()(Var&& g) const override { return function(std::move(g), y); }
    F function;
    Var y;
  };
  template <class F, class A>
  struct Adding final : Pullback {
    Adding(F&& f, A&& a) : function(std::move(f)), add_in_place(std::move(a)) {}
    Var operator()(Var&& g) const override { return function(std::move(g)); }
    void add(const Tensor& g, Tensor& sum) const override { add_in_place(g, sum); }
    F function;
    A add_in_place;
  };
  struct Outer final : Pullback {
    explicit Outer(const Var& factor) : x(factor) {}
    Var operator()(Var&& g) const override;
    ProductTerm term(const Tensor& g) const override { return {g, x.value(), std::nullopt}; }
    Var x;
  };
  struct Product final : Pullback {
    explicit Product(const Var& factor) : w(factor) {}
    Var operator()(Var&& g) const override;
    const Var* weight() const override { return &w; }
    Var w;
  };
  struct Spread final : Pullback {
    explicit Spread(const SpreadEdge& edge)
        : weights(edge.weights ? *edge.weights : Var()),
          rows(edge.rows ? *edge.rows : Var()),
          lengths(edge.lengths),
          gives_rows(edge.weights) {}
    Var operator()(Var&& g) const override;
    ProductTerm term(const Tensor& g) const override {
      return {gives_rows ? weights.value() : g, gives_rows ? g : rows.value(), lengths};
    }
    Var weights, rows;
    Lengths lengths;
    bool gives_rows;  // the gradient of the output stands for the rows, else for the weights
  };
  template <class F>
  struct Joint final : JointPullback {
    explicit Joint(F f) : function(std::move(f)) {}
    void operator()(const Tensor& g, GradientSink& sink) override { function(g, sink); }
    F function;
  };

  static bool watches_any(const Tape* tape, const char* name, std::span<const Var* const> inputs) {
    int watched = 0;
    for (const Var* input : inputs) watched += tape && tape->watches(*input, name);
    return watched > 0;
  }

  // An input that needs no gradient loses its pullback, and with it all that it captured.
  template <class P, class... Arguments>
  static void add_pullback(Tape& tape, const Var& input, Way way, Arguments&&... arguments) {
    if (!input.watched()) return;
    tape.add_edge(input, way,
                  new (tape.arena_.allocate<P>()) P(std::forward<Arguments>(arguments)...));
  }
  static void add(Tape& tape, const Var&, PassEdge&& edge) {
    if (edge.input.watched()) tape.add_edge(edge.input, Way::pass, nullptr);
  }
  template <class F>
  static void add(Tape& tape, const Var& y, Edge<F>&& edge) {
    if constexpr (std::is_invocable_v<F, Var, const Var&>) {
      add_pullback<FunctionOfOutput<F>>(tape, edge.input, Way::call, std::move(edge.pullback), y);
    } else {
      add_pullback<Function<F>>(tape, edge.input, Way::call, std::move(edge.pullback));
    }
  }
  template <class F, class A>
  static void add(Tape& tape, const Var&, AddingEdge<F, A>&& edge) {
    add_pullback<Adding<F, A>>(tape, edge.input, Way::add, std::move(edge.pullback),
                               std::move(edge.add));
  }
  static void add(Tape& tape, const Var&, WeightEdge&& edge) {
    add_pullback<Outer>(tape, edge.input, Way::gather, edge.x);
  }
  static void add(Tape& tape, const Var&, ProductEdge&& edge) {
    add_pullback<Product>(tape, edge.input, Way::product, edge.weight);
  }
  static void add(Tape& tape, const Var&, SpreadEdge&& edge) {
    add_pullback<Spread>(tape, edge.input, Way::gather, edge);
  }
};

// A differentiable operation: its name (of static storage), its value, and an edge per input.
//   record("mul", a.value() * b.value(), Edge{a, [b](const Var& g) { return g * b; }}, …)
// Without a tape, or when nothing needs a gradient, it is just the value.
template <class... Edges>
Var record(const char* name, Tensor value, Edges&&... edges) {
  return Recorder::record(name, std::move(value), std::forward<Edges>(edges)...);
}

// The same for any number of inputs; make_pullback(i) gives the pullback of input i.
template <class Make>
Var record_each(const char* name, Tensor value, std::span<const Var> inputs,
                const Make& make_pullback) {
  return Recorder::record_each(name, std::move(value), inputs, make_pullback);
}

// A fused operation with first derivatives only: pullback(const Tensor& g, GradientSink& sink)
// leaves the gradients of the inputs, counted in their order; it may be called again unless
// sink.last(). Asked for a second derivative it throws, pointing to the composition of primitives.
template <class F>
Var record_fused(const char* name, Tensor value, std::span<const Var* const> inputs, F&& pullback) {
  return Recorder::record_fused(name, std::move(value), inputs, std::forward<F>(pullback));
}
template <class F>
Var record_fused(const char* name, Tensor value, std::initializer_list<const Var*> inputs,
                 F&& pullback) {
  return record_fused(name, std::move(value), std::span(inputs.begin(), inputs.size()),
                      std::forward<F>(pullback));
}

// op(g, b) in g's storage where nobody else sees it: for pullbacks, while nothing records.
inline Var zip_into(ops::Binary op, Var&& g, const Tensor& b) {
  Tensor result = std::move(g).value();
  ops::zip_into(op, result, b);
  return result;
}

}  // namespace regrad
