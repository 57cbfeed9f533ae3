#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <malloc.h>

#include "autograd/tape.h"
#include "examples/seq2seq/parameter_average.h"
#include "nn/linear.h"
#include "ops/storage.h"
#include "tests/seq2seq_run.h"

using namespace regrad;
using namespace regrad::testing;

TEST_CASE("the same seed gives the same bits, with one thread and with two; another does not") {
  const TemporaryFolder folder;
  for (const int threads : {1, 2, 3}) {
    CAPTURE(threads);
    const Json options = tiny({{"threads", threads}, {"dropout", 0.2}});
    const auto first = parameters_after(folder / fmt::format("a{}", threads), options);
    CHECK(same_bits(first, parameters_after(folder / fmt::format("b{}", threads), options)));
    Json other = options;
    other["seed"] = 2;
    CHECK_FALSE(same_bits(first, parameters_after(folder / fmt::format("c{}", threads), other)));
  }
}

TEST_CASE("threads share a batch: one step's loss is the same but for rounding") {
  const TemporaryFolder folder;
  Run one(folder / "one", tiny()), three(folder / "three", tiny({{"threads", 3}}));
  Run more(folder / "more", tiny({{"threads", 8}}));  // than there are examples
  for (int step = 0; step < 3; ++step) {
    const double loss = one.trainer.step();
    CHECK(three.trainer.step() == doctest::Approx(loss).epsilon(1e-5));
    CHECK(more.trainer.step() == doctest::Approx(loss).epsilon(1e-5));
  }
}

TEST_CASE("batches of which several make a step give the gradients of the whole") {
  const TemporaryFolder folder;
  Run whole(folder / "whole", tiny({{"batch", 8}}));
  Run parts(folder / "parts", tiny({{"batch", 2}, {"accumulate", 4}}));
  for (int step = 0; step < 3; ++step) {
    CHECK(parts.trainer.step() == doctest::Approx(whole.trainer.step()).epsilon(1e-5));
  }
}

TEST_CASE("what is evaluated and kept is the mean of the last evaluations' parameters") {
  const TemporaryFolder folder;
  Rng rng(1);
  Linear layer(2, 3, rng);
  ParameterAverage average(layer, 2);
  const auto set = [&](double value) { layer.weight.assign(full({3, 2}, value)); };
  for (const double value : {9.0, 1.0, 2.0}) {
    set(value);
    average.push();
  }
  {
    const ParameterAverage::Applied applied(average);
    CHECK(layer.weight.value().to_vector() == std::vector<double>(6, 1.5));
  }
  CHECK(layer.weight.value().to_vector() == std::vector<double>(6, 2));
  SafeTensors content;
  average.save(content);
  ParameterAverage again(layer, 2);
  again.load(content);
  const ParameterAverage::Applied applied(again);
  CHECK(layer.weight.value().to_vector() == std::vector<double>(6, 1.5));
  content.tensors.at("average.1.weight") = zeros({1});
  CHECK(contains(message_of([&] { again.load(content); }), "weight"));
}

TEST_CASE("epochs differ in order and hold every example once") {
  const TemporaryFolder folder;
  const TrainingData data = make_training_data(make_config(files_in(folder)));
  std::vector<Indices> epochs(2);
  for (Index step = 0; step < 14; ++step) {
    const Indices indices = data.select(step).indices;
    Indices& epoch = epochs[static_cast<std::size_t>(step / 7)];
    epoch.insert(epoch.end(), indices.begin(), indices.end());
  }
  CHECK(epochs[0] != epochs[1]);
  for (Indices& epoch : epochs) {
    std::ranges::sort(epoch);
    for (std::size_t i = 0; i < 40; ++i) CHECK(epoch[i] == i);
  }
}

TEST_CASE("with --concatenate each epoch has other pairs, the same for a resumed run") {
  const TemporaryFolder folder;
  Json options = files_in(folder);
  options["concatenate"] = true;
  const TrainingData data = make_training_data(make_config(options));
  const auto pairs_of_epoch = [](const TrainingData& from, Index epoch) {
    const Selection selection = from.select(epoch * from.steps_per_evaluation);
    std::vector<std::vector<Id>> sources;
    for (const Example& example : selection.examples.subspan(40)) sources.push_back(example.source);
    return sources;
  };
  const auto first = pairs_of_epoch(data, 0), second = pairs_of_epoch(data, 1);
  CHECK(first.size() == 40);
  CHECK(first != second);
  CHECK(pairs_of_epoch(make_training_data(make_config(options)), 1) == second);
  CHECK(data.steps_per_evaluation == 14);  // 80 examples by 6
  options.erase("embedding");
  options.update({{"architecture", "transformer"}, {"positions", "learned"}, {"longest", 9}});
  CHECK(contains(message_of([&] { make_training_data(make_config(options)); }),
                 "takes 11, joined to another"));
}

TEST_CASE("warnings tell of leaks and of unknown tokens") {
  const TemporaryFolder folder;
  write_file(folder / "train.tsv", "ab\tx y\nba\ty\n");
  write_file(folder / "dev.tsv", "ab\tx\nac\tz\n");
  const TrainingData data =
      make_training_data(make_config({{"train", (folder / "train.tsv").string()},
                                      {"dev", (folder / "dev.tsv").string()},
                                      {"source-tokens", "chars"}}));
  REQUIRE(data.warnings.size() == 3);
  CHECK(contains(data.warnings[0], "1 of 2 dev sources are in the training file"));
  CHECK(contains(data.warnings[1], "1 source tokens of dev"));
  CHECK(contains(data.warnings[2], "1 target tokens of dev"));
}

TEST_CASE("the best is kept by exact match, then by nll; patience and learning rate follow") {
  const Config config = make_config(tiny({{"patience", 3}, {"steps", 100}}));
  TrainingState state;
  const auto judge = [&](double exact_match, double nll) {
    ++state.step;
    Scores scores;
    scores.exact_match = exact_match;
    scores.nll = nll;
    return state.judge(scores, config.patience);
  };
  CHECK(judge(0, 5));
  CHECK_FALSE(judge(0, 6));
  CHECK(learning_rate(state, config, 10) == config.learning_rate / 2);
  CHECK(judge(0, 4));
  CHECK(judge(0.5, 9));
  CHECK_FALSE(judge(0.4, 1));
  CHECK_FALSE(judge(0.5, 9));
  CHECK(end_reason(state, config, 1).empty());
  CHECK_FALSE(judge(0.5, 9));
  CHECK(state.best_step == 4);
  CHECK(contains(end_reason(state, config, 1), "no better score on dev in 3 evaluations"));
  CHECK(state_from_json(to_json(state)).best_nll == 9);
  CHECK(contains(message_of([&] { state_from_json(Json::object()); }), "no number `step`"));
  Json damaged = to_json(state);
  damaged["waited"] = -1;
  CHECK(contains(message_of([&] { state_from_json(damaged); }), "contradicts itself"));
  CHECK(judge(1, 1));
  CHECK_FALSE(judge(1, 1));
  CHECK(contains(end_reason(state, config, 1), "every dev example right"));
}

TEST_CASE("evaluations come at the end of epochs and at the limit") {
  const Config config = make_config({{"train", "a"}, {"dev", "b"}, {"steps", 25}});
  TrainingState state;
  std::vector<Index> evaluated;
  for (state.step = 0; state.step <= 25; ++state.step) {
    if (!evaluation_due(state, config, 10)) continue;
    evaluated.push_back(state.step);
    state.evaluated_step = state.step;
  }
  CHECK(evaluated == std::vector<Index>{10, 20, 25});
}

TEST_CASE("a thousand steps ask the system for memory at the start only") {
  const TemporaryFolder folder;
  Run run(folder / "run", tiny());
  run.trainer.step();
  for (int step = 1; step < 200; ++step) run.trainer.step();
  const PoolStats warm = pool_stats();
  const std::size_t heap = mallinfo2().uordblks;
  for (int step = 200; step < 1000; ++step) run.trainer.step();
  CHECK(mallinfo2().uordblks < heap + 4096);  // what does not come from the pool
  CHECK(pool_stats().system_allocations == warm.system_allocations);
  CHECK(pool_stats().bytes_in_use == warm.bytes_in_use);
}

TEST_CASE("workers add in order, free their own memory and hand on errors") {
  const Parameter parameter(zeros({64}));
  Workers workers(3);
  std::vector<std::uint64_t> allocations(3);
  const auto job = [&](Index part) {
    allocations[static_cast<std::size_t>(part)] = pool_stats().system_allocations;
    Tape tape;
    return tape.backward(sum(Var(parameter) * (1 + static_cast<double>(part))));
  };
  for (int i = 0; i < 5; ++i) CHECK(workers.sum(job)[parameter].at({0}) == 6);
  const auto warm = allocations;
  for (int i = 0; i < 100; ++i) CHECK(workers.sum(job)[parameter].at({0}) == 6);
  CHECK(allocations == warm);
  for (const Index bad : {0, 2}) {
    CHECK(message_of([&] {
            workers.sum([&](Index part) {
              if (part == bad) fail("part {} is bad", part);
              return job(part);
            });
          }) == fmt::format("part {} is bad", bad));
    CHECK(workers.sum(job)[parameter].at({0}) == 6);
  }
}
