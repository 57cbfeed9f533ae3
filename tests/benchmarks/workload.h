#pragma once

#include <string>
#include <vector>

#include "ops/error.h"
#include "ops/shape.h"

namespace bench {

using regrad::Index;

// One training step of RNNsearch (Bahdanau, Cho and Bengio 2014) in f32 with teacher forcing: a
// bidirectional GRU encoder, additive attention, a GRU decoder fed with the last word and the
// context, logits of state, context and last word; cross-entropy, clipping by the norm, Adam.
struct Workload {
  const char* name;
  Index batch, time, embedding, hidden, vocabulary;  // source and target have the same length
};

inline constexpr Workload workloads[] = {
    {"single", 1, 10, 64, 64, 32},     {"tiny", 32, 10, 64, 64, 32},
    {"small", 64, 20, 128, 256, 1000}, {"medium", 64, 30, 256, 512, 8000},
    {"long", 16, 100, 128, 256, 1000},
};

inline std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const Workload& w : workloads) names.push_back(w.name);
  return names;
}

inline const Workload& workload(const std::string& name) {
  for (const Workload& w : workloads) {
    if (name == w.name) return w;
  }
  regrad::fail("benchmark: no size {}; there are single, tiny, small, medium and long", name);
}

// Numbers that are trained.
constexpr Index parameters(const Workload& w) {
  const Index e = w.embedding, h = w.hidden, v = w.vocabulary;
  const auto gru = [h](Index inputs) { return 3 * h * (inputs + h) + 6 * h; };
  const Index attention = 2 * h * h + h * h + h, first_state = h * h + h;
  const Index logits = (3 * h + e) * v + v;
  return 2 * v * e + 2 * gru(e) + attention + first_state + gru(e + 2 * h) + logits;
}

}  // namespace bench
