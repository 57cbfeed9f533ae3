// Times RNNsearch: training steps, or with --decode greedy and beam decoding. Prints one line with
// the median and the fastest time and the peak memory of the process.
#include <algorithm>
#include <chrono>
#include <functional>

#include <CLI/CLI.hpp>
#include <sys/resource.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/optimizer.h"
#include "nn/workers.h"
#include "tests/benchmarks/rnnsearch.h"

using namespace regrad;

namespace {

struct Options {
  std::string size = "small";
  Index threads = 1, decode = 0, beam = 1;
  double seconds = 8;
  bool summary = false;
  Index batch = 0, time = 0, vocabulary = 0;  // 0: that of the size
};

Ids random_ids(const Shape& shape, Index vocabulary, Rng& rng) {
  Ids ids(shape);
  const Tensor drawn = uniform(shape, 1, static_cast<double>(vocabulary), rng);
  std::ranges::transform(drawn.to_vector(), ids.mutable_data(),
                         [](double x) { return static_cast<std::int32_t>(x); });
  return ids;
}

// Token 0, then all but the last.
Ids shifted(const Ids& target) {
  Ids result(target.shape());
  std::copy_n(target.data(), target.size() - target.shape()[1],
              result.mutable_data() + target.shape()[1]);
  return result;
}

Ids columns(const Ids& ids, Index begin, Index end) {
  Ids part(Shape{ids.shape()[0], end - begin});
  for (Index t = 0; t < ids.shape()[0]; ++t) {
    for (Index b = begin; b < end; ++b) part.at(t, b - begin) = ids[t * ids.shape()[1] + b];
  }
  return part;
}

struct Times {
  double median, fastest;
  std::size_t count;
};

Times measure(double seconds, const std::function<void()>& f) {
  using Clock = std::chrono::steady_clock;
  const auto warm = Clock::now() + std::chrono::duration<double>(std::min(seconds / 4, 1.0));
  for (int i = 0; i < 3 || Clock::now() < warm; ++i) f();
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::vector<double> times;
  while (times.size() < 7 || Clock::now() < end) {
    const auto begin = Clock::now();
    f();
    times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::ranges::sort(times);
  return {times[times.size() / 2], times[0], times.size()};
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Part {
  Ids source, target_in, target;
};

std::vector<Part> split_batch(const bench::Workload& size, Index parts, Rng& rng) {
  const Shape shape{size.time, size.batch};
  const Ids source = random_ids(shape, size.vocabulary, rng);
  const Ids target = random_ids(shape, size.vocabulary, rng);
  std::vector<Part> result;
  for (Index i = 0; i < parts; ++i) {
    const Index begin = i * size.batch / parts, end = (i + 1) * size.batch / parts;
    const Ids own = columns(target, begin, end);
    result.push_back({columns(source, begin, end), shifted(own), own});
  }
  return result;
}

void time_training(const bench::Workload& size, const Options& options) {
  Rng rng(1);
  const bench::RnnSearch model(size, rng);
  Adam adam(model);
  Workers workers(options.threads);
  const std::vector<Part> parts = split_batch(size, workers.count(), rng);
  std::vector<double> losses(parts.size());
  const auto part_gradients = [&](Index i, const TapeOptions& tape_options) {
    const auto n = static_cast<std::size_t>(i);
    const Part& part = parts[n];
    Tape tape(tape_options);
    const double share =
        static_cast<double>(part.target.size()) / static_cast<double>(size.time * size.batch);
    const Var loss = cross_entropy(model(part.source, part.target_in), part.target) * share;
    losses[n] = loss.item();
    Gradients gradients = tape.backward(loss);
    if (tape_options.profile) fmt::print(stderr, "{}\n", tape.summary().to_string());
    return gradients;
  };
  const auto step = [&] {
    Gradients gradients = workers.sum([&](Index i) { return part_gradients(i, {}); });
    adam.step(clip_norm(std::move(gradients), 1.0, &workers), &workers);
  };
  if (options.summary) {
    for (int i = 0; i < 3; ++i) part_gradients(0, {});
    part_gradients(0, {.profile = true});
  }
  const Times times = measure(options.seconds, step);
  double loss = 0;
  for (const double share : losses) loss += share;
  fmt::print(
      "regrad size={} threads={} tokens_per_s={:.1f} step_ms={:.3f} min_ms={:.3f} peak_mb={:.0f} "
      "steps={} loss={:.4f}\n",
      size.name, options.threads, static_cast<double>(size.time * size.batch) / times.median,
      times.median * 1e3, times.fastest * 1e3, peak_megabytes(), times.count, loss);
}

void time_decoding(const bench::Workload& size, const Options& options) {
  Rng rng(1);
  const bench::RnnSearch model(size, rng);
  const Index batch = options.decode;
  const Ids source = random_ids(Shape{size.time, batch}, size.vocabulary, rng);
  const Lengths lengths = Lengths::full(size.time, batch);
  Index tokens = 0;
  const DecodingOptions decoding{
      .bos = 0,
      .eos = -1,  // no token: every sentence has its full length
      .max_length = std::vector<Index>(static_cast<std::size_t>(batch), size.time)};
  const auto decode = [&] {
    const auto encoded = model.encode(source);
    const MakeStep make_step = model.make_step(encoded);
    tokens = 0;
    if (options.beam > 1) {
      for (const auto& found :
           beam_search(make_step, {encoded.state}, lengths, decoding, {.beam = options.beam})) {
        tokens += static_cast<Index>(found[0].tokens.size());
      }
      return;
    }
    std::vector<std::int32_t> all(static_cast<std::size_t>(batch));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
    const DecoderStep step = make_step(Ids(all, {batch}));
    for (const Hypothesis& found : greedy(step, {encoded.state}, lengths, decoding)) {
      tokens += static_cast<Index>(found.tokens.size());
    }
  };
  const Times times = measure(options.seconds, decode);
  fmt::print(
      "regrad-decode size={} batch={} beam={} threads=1 tokens_per_s={:.1f} ms={:.3f} "
      "min_ms={:.3f} peak_mb={:.0f}\n",
      size.name, batch, options.beam, static_cast<double>(tokens) / times.median,
      times.median * 1e3, times.fastest * 1e3, peak_megabytes());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times training steps of RNNsearch, or its decoding");
  app.add_option("--size", options.size, "single, tiny, small, medium or long")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "shards of the batch")->capture_default_str();
  app.add_option("--decode", options.decode, "decode so many sentences at once instead");
  app.add_option("--beam", options.beam, "of decoding; 1: greedy")->capture_default_str();
  app.add_option("--seconds", options.seconds, "to measure")->capture_default_str();
  app.add_option("--batch", options.batch, "instead of that of the size");
  app.add_option("--time", options.time, "length, instead of that of the size");
  app.add_option("--vocabulary", options.vocabulary, "instead of that of the size");
  app.add_flag("--summary", options.summary, "also what one step records, per operation");
  CLI11_PARSE(app, argc, argv);
  try {
    bench::Workload size = bench::workload(options.size);
    if (options.batch > 0) size.batch = options.batch;
    if (options.time > 0) size.time = options.time;
    if (options.vocabulary > 0) size.vocabulary = options.vocabulary;
    if (options.decode > 0) {
      time_decoding(size, options);
    } else {
      time_training(size, options);
    }
  } catch (const Error& error) {
    fmt::print(stderr, "bench_seq2seq: {}\n", error.what());
    return 1;
  }
}
