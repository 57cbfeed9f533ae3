#include "autograd/gradients.h"

#include <algorithm>

#include "ops/elementwise.h"

namespace regrad {

const Tensor& Gradients::operator[](const Var& variable) const {
  if (variable.tape_ == tape_ && tape_ != 0) {
    for (const Entry& entry : entries_) {
      if (entry.node == variable.node_) return entry.gradient;
    }
    fail(
        "gradients: this value of shape {} is no leaf of the tape; make it one with "
        "tape.variable(), or ask for it with gradients(y, {{x}})",
        variable.shape());
  }
  fail("gradients: this value of shape {} was not recorded on the tape that backward walked",
       variable.shape());
}

const Tensor& Gradients::operator[](const Parameter& parameter) const {
  for (const Entry& entry : entries_) {
    if (entry.parameter && entry.parameter == parameter) return entry.gradient;
  }
  if (!parameter) fail("gradients: this parameter holds nothing");
  fail("gradients: parameter {} of shape {} took no part in the loss", parameter.name(),
       parameter.shape());
}

bool Gradients::contains(const Parameter& parameter) const {
  for (const Entry& entry : entries_) {
    if (entry.parameter && entry.parameter == parameter) return true;
  }
  return false;
}

bool Gradients::contains(const Var& leaf) const {
  return leaf.tape_ == tape_ && tape_ != 0 &&
         std::ranges::any_of(entries_, [&](const Entry& e) { return e.node == leaf.node_; });
}

void Gradients::add(const Gradients& other) {
  for (const Entry& entry : other.entries_) {
    if (!entry.parameter) continue;
    Entry* own = nullptr;
    for (Entry& candidate : entries_) {
      if (candidate.parameter == entry.parameter) own = &candidate;
    }
    if (own) {
      ops::accumulate(own->gradient, entry.gradient);
    } else {
      entries_.push_back({entry.parameter, -1, entry.gradient});
    }
  }
}

void Gradients::scale(double factor) {
  for (Entry& entry : entries_) ops::scale(entry.gradient, factor);
}

}  // namespace regrad
