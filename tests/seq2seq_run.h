#pragma once

#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "examples/seq2seq/report.h"
#include "examples/seq2seq/trainer.h"
#include "nn/checkpoint.h"
#include "tests/nn_check.h"

// Whole training runs within a test.
namespace regrad::testing {

using namespace regrad::seq2seq;
using Json = nlohmann::ordered_json;

inline Json tiny(Json more = Json::object()) {
  Json given = {{"task", "reverse"}, {"hidden", 8},  {"embedding", 6}, {"batch", 6},
                {"steps", 10},       {"threads", 1}, {"dropout", 0}};
  given.update(more);
  return given;
}

// A whole run in memory and a folder.
struct Run {
  Run(const std::filesystem::path& folder, const Json& given, double seconds_between_saves = 10)
      : files(folder),
        config(make_config(given)),
        data(make_training_data(config)),
        translator(config, data.source, data.target),
        progress(log, 0),
        trainer(translator, data, files, progress, seconds_between_saves) {
    translator.longest_target = data.longest_target;
    make_writable(files);
  }

  void run() {
    trainer.run([] { return false; });
  }
  // Stops after so many steps.
  void run_until(Index step) {
    trainer.run([&] { return trainer.state().step >= step; });
  }

  RunFiles files;
  Config config;
  TrainingData data;
  Translator translator;
  std::ostringstream log;
  Progress progress;
  Trainer trainer;
};

// As another process would.
inline void resume(Run& run) {
  const SafeTensors last = load_safetensors(run.files.last);
  load_parameters(*run.translator.model, to_safetensors(translator_from(last)));
  run.trainer.resume(last);
}

inline std::map<std::string, Tensor> parameters_after(const std::filesystem::path& folder,
                                                      const Json& given) {
  Run run(folder, given);
  run.run();
  return to_safetensors(run.translator).tensors;
}

inline bool same_bits(const std::map<std::string, Tensor>& a,
                      const std::map<std::string, Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, tensor] : a) {
    if (!b.contains(name) || !identical(tensor, b.at(name))) return false;
  }
  return true;
}

// 40 lines, so that an epoch has batches of both shapes; returns the options.
inline Json files_in(const TemporaryFolder& folder) {
  std::string train, dev;
  Rng rng(5);
  for (int i = 0; i < 46; ++i) {
    std::string word;
    for (std::uint64_t n = 1 + rng.below(5); n > 0; --n)
      word += static_cast<char>('a' + rng.below(4));
    std::string line = fmt::format("{}\t{} {}\n", word, word.front(), word.back());
    (i < 40 ? train : dev) += line;
  }
  write_file(folder / "train.tsv", train);
  write_file(folder / "dev.tsv", dev);
  return {{"train", (folder / "train.tsv").string()},
          {"dev", (folder / "dev.tsv").string()},
          {"source-tokens", "chars"},
          {"concatenate", false},
          {"hidden", 8},
          {"embedding", 6},
          {"batch", 6},
          {"epochs", 3},
          {"threads", 1}};
}

}  // namespace regrad::testing
