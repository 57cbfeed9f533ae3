#include <chrono>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "tests/seq2seq_run.h"

using namespace regrad;
using namespace regrad::testing;

TEST_CASE("a run that was cut anywhere ends with the same bits") {
  const TemporaryFolder folder;
  Json options = files_in(folder);
  options["dropout"] = 0.3;
  Run whole(folder / "whole", options);
  whole.run();
  const Index steps_per_epoch = whole.data.steps_per_evaluation;
  REQUIRE(steps_per_epoch == 7);
  const auto expected = load_safetensors(whole.files.last).tensors;
  for (const Index cut : {Index{0}, Index{1}, Index{6}, Index{7}, Index{12}, Index{21}}) {
    CAPTURE(cut);
    const auto where = folder / fmt::format("cut{}", cut);
    Run(where, options).run_until(cut);
    Run again(where, options);
    resume(again);
    CHECK(again.trainer.state().step == cut);
    again.run();
    CHECK(same_bits(load_safetensors(again.files.last).tensors, expected));
    CHECK(same_bits(load_safetensors(again.files.model).tensors,
                    load_safetensors(whole.files.model).tensors));
    CHECK(again.trainer.history().size() == 3);
    CHECK(read_history(again.files, 1000).size() == 3);
    CHECK(again.trainer.state().waited == whole.trainer.state().waited);
    CHECK(again.trainer.state().best_nll == whole.trainer.state().best_nll);
    CHECK(again.trainer.history().back()["train_loss"] ==
          whole.trainer.history().back()["train_loss"]);
  }
}

TEST_CASE("so does one with more to remember") {
  const TemporaryFolder folder;
  const Json more[] = {{{"average", 2}},
                       {{"accumulate", 2}, {"batch", 3}},
                       {{"scheduled-sampling", 0.5}},
                       {{"alignment", "hard-reinforce"}, {"threads", 2}},
                       {{"alignment", "hard-reinforce"}, {"threads", 4}, {"batch", 2}},
                       {{"alignment", "hard-gumbel"}, {"cell", "lstm"}}};
  for (const Json& some : more) {
    CAPTURE(some.dump());
    Json options = files_in(folder);
    options.update(some);
    const std::string name = std::to_string(std::hash<std::string>()(some.dump()));
    Run whole(folder / ("whole" + name), options);
    whole.run();
    Run(folder / ("cut" + name), options).run_until(16);
    Run again(folder / ("cut" + name), options);
    resume(again);
    again.run();
    CHECK(same_bits(load_safetensors(again.files.last).tensors,
                    load_safetensors(whole.files.last).tensors));
    CHECK(same_bits(load_safetensors(again.files.model).tensors,
                    load_safetensors(whole.files.model).tensors));
  }
}

TEST_CASE("a run can be resumed from its first moment on") {
  const TemporaryFolder folder;
  Run run(folder / "run", tiny());
  bool saved = false;
  run.trainer.run([&] { return saved = std::filesystem::exists(run.files.last); });
  CHECK(saved);
  CHECK(run.trainer.state().step == 0);
}

TEST_CASE("evaluations after the last save are forgotten by a resume") {
  const TemporaryFolder folder;
  const Json options = files_in(folder);
  Run(folder / "run", options).run_until(8);
  const RunFiles files(folder / "run");
  const SafeTensors at_8 = load_safetensors(files.last);
  {
    Run further(folder / "run", options);
    resume(further);
    further.run();
  }
  save_safetensors(files.last, at_8);  // as if killed before it was written again
  Run again(folder / "run", options);
  resume(again);
  CHECK(read_history(files, 1000).size() == 1);
  again.run();
  CHECK(read_history(files, 1000).size() == 3);
}

TEST_CASE("a run that was stopped before its last evaluation has not ended") {
  const TemporaryFolder folder;
  Run run(folder / "run", tiny());
  run.run_until(10);
  CHECK(run.trainer.end().empty());
  CHECK(run.trainer.state().best_step == 0);
  Run again(folder / "run", tiny());
  resume(again);
  again.run();
  CHECK(again.trainer.end() == "the limit of 10 steps");
  CHECK(again.trainer.state().best_step == 10);
}

TEST_CASE("a resume at the end without the best model restores the one evaluated last") {
  const TemporaryFolder folder;
  Json given = files_in(folder);
  given.update({{"epochs", 4}, {"average", 3}});
  Run run(folder / "run", given);
  run.run();
  REQUIRE(run.trainer.state().best_step == run.trainer.state().step);
  const auto best = load_safetensors(run.files.model).tensors;
  std::filesystem::remove(run.files.model);
  Run again(folder / "run", given);
  resume(again);
  again.run();
  CHECK(contains(again.log.str(), "is gone: the one that was evaluated last takes its place"));
  CHECK(same_bits(load_safetensors(run.files.model).tensors, best));
}

TEST_CASE("a resume notices other data") {
  const TemporaryFolder folder;
  const Json options = files_in(folder);
  Run(folder / "run", options).run_until(2);
  std::filesystem::copy_file(folder / "dev.tsv", folder / "train.tsv",
                             std::filesystem::copy_options::overwrite_existing);
  Run again(folder / "run", options);
  CHECK(contains(message_of([&] { again.trainer.resume(load_safetensors(again.files.last)); }),
                 "--train or --dev has changed"));
  SafeTensors damaged = load_safetensors(again.files.last);
  damaged.metadata["training"] = "{\"state\":{},\"fingerprint\":" + std::string(1'000'000, '[') +
                                 std::string(1'000'000, ']') + "}";
  CHECK(contains(message_of([&] { again.trainer.resume(damaged); }), "`training`"));
  damaged.metadata["training"] = "{}";
  CHECK(contains(message_of([&] { again.trainer.resume(damaged); }), "`training`"));
  damaged.metadata.erase("training");
  CHECK(contains(message_of([&] { again.trainer.resume(damaged); }), "no `training`"));
}

TEST_CASE("a resume that begins with an evaluation tells its speed and learning rate") {
  const TemporaryFolder folder;
  Json options = files_in(folder);
  options.update({{"schedule", "cosine"}, {"warmup", 3}});
  Run whole(folder / "whole", options);
  whole.run();
  Run(folder / "run", options).run_until(14);
  Run again(folder / "run", options);
  resume(again);
  again.run();
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& entry = again.trainer.history().at(i);
    CHECK(entry["tokens_per_second"] > 0);
    CHECK(entry["learning_rate"] == whole.trainer.history().at(i)["learning_rate"]);
  }
}

TEST_CASE("a state that older programs saved can be gone on with") {
  TrainingState state;
  state.step = 7;
  Json json = to_json(state);
  REQUIRE(json.erase("step_seconds") == 1);
  CHECK(state_from_json(json).step == 7);
}

TEST_CASE("where a run stands is saved while it trains, and with each best model") {
  const TemporaryFolder folder;
  const auto saved = [](const Run& run) {
    const auto training = Json::parse(load_safetensors(run.files.last).metadata.at("training"));
    return state_from_json(training["state"]);
  };
  Run often(folder / "often", tiny({{"steps", 200}}), 0);
  bool within = false;
  often.trainer.run([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a save has its share of the time
    return within = within || saved(often).step > 0;
  });
  CHECK(within);
  CHECK(often.trainer.state().evaluated_step == 0);

  Run rarely(folder / "rarely", files_in(folder), 1e6);
  rarely.trainer.run([&] {
    CHECK(saved(rarely).best_step == rarely.trainer.state().best_step);
    return false;
  });
  CHECK(rarely.trainer.state().best_step > 0);
}
