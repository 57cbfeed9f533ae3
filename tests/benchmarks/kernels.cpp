// How fast the parts of a training step are, at the sizes of the workloads: the kernels and
// operations of ops/, then functions recorded on a tape.
#include "tests/benchmarks/kernels.h"

#include <cmath>

#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/layer_norm.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "ops/optimizer.h"
#include "ops/recurrent.h"
#include "ops/self_attention.h"
#include "ops/softmax.h"
#include "tests/benchmarks/workload.h"

using namespace regrad;

namespace bench {
namespace {

// h Wᵀ, its gradient by h and one by W, over one time step of a GRU.
void add_gemm() {
  for (const Workload& w : workloads) {
    const Index b = w.batch, h = w.hidden, flops = 2 * b * 3 * h * h;
    const Tensor state = random({b, h}), weight = random({3 * h, h}), g = random({b, 3 * h});
    const std::string name = fmt::format("gemm/{}", w.name);
    add(name + "/forward", flops, [=] { return ops::matmul(state, weight, NoTrans, Trans); });
    add(name + "/state", flops, [=] { return ops::matmul(g, weight); });
    add(name + "/weight", flops, [=] { return ops::matmul(g, state, Trans, NoTrans); });
  }
}

void add_rows(const Workload& w) {
  const Index rows = w.batch * w.time, h = w.hidden, v = w.vocabulary;
  const Tensor x = random({rows, h}), weight = random({v, h}), bias = random({v});
  const std::string size = fmt::format("/{}", w.name);
  add("linear" + size, 2 * rows * h * v, [=] { return ops::linear(x, weight, &bias); });
  const Tensor scores = random({w.batch, w.time}), logits = random({rows, v});
  add("softmax/scores" + size, scores.size(), [=] { return ops::softmax(scores); });
  add("softmax/logits" + size, logits.size(), [=] { return ops::softmax(logits); });
  const Tensor scale = random({h});
  add("layer_norm" + size, x.size(), [=] { return ops::layer_norm(x, &scale, &scale, 1e-5).y; });
}

void add_cross_entropy(const Workload& w) {
  const Tensor logits = random({w.time, w.batch, w.vocabulary});
  const ops::Targets targets =
      ops::targets("benchmark", logits, Ids({w.time, w.batch}, 1), nullptr, std::nullopt, Tensor());
  const std::string size = fmt::format("/{}", w.name);
  add("cross_entropy/forward" + size, logits.size(),
      [=] { return ops::cross_entropy(logits, targets, 0).loss; });
  const Tensor normaliser = ops::cross_entropy(logits, targets, 0).log_normaliser;
  add("cross_entropy/backward" + size, logits.size(),
      [=] { return ops::cross_entropy_backward(logits, targets, 0, normaliser, 1); });
}

void add_elementwise() {
  const std::pair<const char*, ops::Unary> functions[] = {{"tanh", ops::Unary::tanh},
                                                          {"sigmoid", ops::Unary::sigmoid},
                                                          {"exp", ops::Unary::exp},
                                                          {"gelu", ops::Unary::gelu}};
  for (const auto& [name, function] : functions) {
    for (const Index n : {64, 4096, 1 << 20}) {
      const Tensor x = random({n});
      const ops::Unary f = function;
      add(fmt::format("{}/{}", name, n), n, [f, x] { return ops::map(f, x); });
    }
  }
}

void add_attention(const Workload& w) {
  const Tensor query = random({w.batch, w.hidden}), v = random({w.hidden});
  const Tensor keys = random({w.time, w.batch, w.hidden}), g = random({w.batch, w.time});
  const Lengths lengths = Lengths::full(w.time, w.batch);
  const std::string size = fmt::format("/{}", w.name);
  add("additive_score/forward" + size, keys.size(),
      [=] { return ops::additive_score(query, keys, v, lengths); });
  Tensor g_query = random(query.shape()), g_keys = random(keys.shape()), g_v = random(v.shape());
  add("additive_score/backward" + size, keys.size(), [=]() mutable {
    ops::additive_score_backward(g, query, keys, v, lengths, g_query, g_keys, g_v);
    return g_v;
  });
  const Tensor annotations = random({w.time, w.batch, 2 * w.hidden});
  add("weighted_sum" + size, annotations.size(),
      [=] { return ops::weighted_sum(g, annotations, lengths); });
  const Tensor context = random({w.batch, 2 * w.hidden});
  Tensor g_annotations = random(annotations.shape());
  add("add_spread" + size, annotations.size(), [=]() mutable {
    ops::add_spread(g_annotations, g, context, lengths);
    return g_annotations;
  });
}

void add_recurrent(const Workload& w) {
  const Index t = w.time, b = w.batch, h = w.hidden;
  const Lengths lengths = Lengths::full(t, b);
  const Tensor h0 = random({b, h}), g = random({t, b, h}), g_lstm = random({t + 1, b, h});
  const std::string size = fmt::format("/{}", w.name);
  const Tensor gru_x = random({t, b, 3 * h}), gru_w = random({3 * h, h}), gru_b = random({3 * h});
  add("gru/forward" + size, t * b,
      [=] { return ops::gru(gru_x, h0, gru_w, gru_b, lengths, false).states; });
  const ops::Gru gru = ops::gru(gru_x, h0, gru_w, gru_b, lengths, false);
  add("gru/backward" + size, t * b,
      [=] { return ops::gru_backward(g, gru, gru_w, lengths, false).h0; });
  const Tensor lstm_x = random({t, b, 4 * h}), lstm_w = random({4 * h, h}),
               lstm_b = random({4 * h});
  add("lstm/forward" + size, t * b,
      [=] { return ops::lstm(lstm_x, h0, h0, lstm_w, lstm_b, lengths, false).states; });
  const ops::Lstm lstm = ops::lstm(lstm_x, h0, h0, lstm_w, lstm_b, lengths, false);
  add("lstm/backward" + size, t * b,
      [=] { return ops::lstm_backward(g_lstm, lstm, lstm_w, lengths, false).h0; });
}

void add_heads() {
  const Index time = 50, batch = 32, size = 256, heads = 4;
  const Tensor q = random({time, batch, size});
  const Lengths lengths = Lengths::full(time, batch);
  add("heads/weights", batch * heads * time * time,
      [=] { return ops::head_weights(q, q, heads, lengths, true, KeyOrder::time_first); });
  const Tensor weights = ops::head_weights(q, q, heads, lengths, true, KeyOrder::time_first);
  add("heads/sums", q.size(),
      [=] { return ops::head_sums(weights, q, lengths, KeyOrder::time_first); });
}

void add_adam() {
  for (const Workload& w : workloads) {
    const Index n = parameters(w);
    Tensor x = random({n}), m = random({n}), v = ops::map(ops::Unary::square, x);
    const Tensor g = random({n});
    const ops::simd::AdamConstants c{1e-6, 1, 0.9, 0.999, 1e-8, 0};
    add(fmt::format("adam/{}", w.name), n, [=]() mutable {
      ops::adam_step(x, g, m, v, c);
      return x.size();
    });
  }
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  bench::add_gemm();
  bench::add_elementwise();
  for (const char* size : {"tiny", "small"}) {
    const bench::Workload& w = bench::workload(size);
    bench::add_rows(w);
    bench::add_cross_entropy(w);
    bench::add_attention(w);
    bench::add_recurrent(w);
  }
  bench::add_attention(bench::workload("long"));
  bench::add_heads();
  bench::add_adam();
  bench::add_fused();
  benchmark::RunSpecifiedBenchmarks();
}
