#include "examples/seq2seq/training_data.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "examples/seq2seq/model_file.h"
#include "examples/seq2seq/task.h"
#include "examples/seq2seq/unicode.h"

namespace regrad::seq2seq {
namespace {

constexpr std::uint64_t data_stream = 2;  // of the seed
constexpr Index task_steps_per_evaluation = 250;

Index examples_per_step(const Config& config) { return config.batch * config.accumulate; }

Rng data_rng(const Config& config, Index draw) {
  return Rng(config.seed, data_stream).split(static_cast<std::uint64_t>(draw));
}

// FNV-1a (Fowler, Noll and Vo), with a byte between the parts that no text contains.
class Fingerprint {
 public:
  void add(const std::vector<TextPair>& pairs) {
    for (const TextPair& pair : pairs) {
      for (const Sentence* side : {&pair.source, &pair.target}) {
        for (const std::string& token : *side) add(token);
        add("\xFF");
      }
    }
    add("\xFE");
  }
  std::uint64_t value() const { return value_; }

 private:
  void add(std::string_view text) {
    for (const char c : text) mix(static_cast<unsigned char>(c));
    mix(0xFF);
  }
  void mix(std::uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001B3u; }

  std::uint64_t value_ = 0xCBF29CE484222325u;
};

Index longest_target(const std::vector<TextPair>& pairs) {
  std::size_t longest = 0;
  for (const TextPair& pair : pairs) longest = std::max(longest, pair.target.size());
  return static_cast<Index>(longest);
}

// The configuration, which names the files, is saved as JSON.
void require_name(std::string_view option, std::string_view file) {
  for (std::string_view rest = file; !rest.empty();) {
    if (take_code_point(rest).value >= 0) continue;
    throw UsageError(
        fmt::format("--{} {}: the name is not UTF-8, so that it cannot be saved with the model: "
                    "rename the file, or make a link to it",
                    option, without_controls(file)));
  }
}

// What cannot be saved with the model must not be learned.
void require_target_lengths(const std::string& file, const std::vector<TextPair>& pairs) {
  for (const TextPair& pair : pairs) {
    if (static_cast<Index>(pair.target.size()) <= most_target_tokens) continue;
    fail("{}: line {}: a target of {} tokens; there can be {}: split the line", file, pair.line,
         pair.target.size(), most_target_tokens);
  }
}

// A target is one token longer where the decoder reads it, with <bos>.
void require_positions(const Config& config, const std::string& file,
                       const std::vector<TextPair>& pairs, bool joined = false) {
  if (config.positions != "learned") return;
  std::size_t longest = 0, line = 0;
  for (const TextPair& pair : pairs) {
    const std::size_t source = pair.source.size(), target = pair.target.size() + 1;
    const std::size_t both =
        std::max(joined ? 2 * source + 1 : source, joined ? 2 * target : target);
    if (both > longest) line = pair.line;
    longest = std::max(longest, both);
  }
  if (static_cast<Index>(longest) <= config.longest) return;
  throw UsageError(fmt::format(
      "--positions learned has --longest {} positions, and {} takes {}{}: give a "
      "larger --longest or use --positions sinusoidal",
      config.longest, file.empty() ? "a word of the task" : fmt::format("{}: line {}", file, line),
      longest, joined ? ", joined to another" : ""));
}

Index count_unknown(const std::vector<TextPair>& pairs, Sentence TextPair::*side,
                    const Vocabulary& vocabulary) {
  Index unknown = 0;
  for (const TextPair& pair : pairs) {
    unknown += std::ranges::count_if(
        pair.*side, [&](const std::string& token) { return !vocabulary.contains(token); });
  }
  return unknown;
}

Vocabulary vocabulary_of(const Config& config, const std::vector<TextPair>& train,
                         Sentence TextPair::*side) {
  Vocabulary vocabulary =
      Vocabulary::build(train, side,
                        {.min_count = static_cast<std::size_t>(config.min_count),
                         .max_size = static_cast<std::size_t>(config.vocabulary_size)});
  if (vocabulary.size() == Vocabulary::specials) {
    throw UsageError(fmt::format("--min-count {}: no {} token of {} is there so often: lower it",
                                 config.min_count, side == &TextPair::source ? "source" : "target",
                                 config.train));
  }
  return vocabulary;
}

std::vector<std::string> warnings_for(const std::vector<TextPair>& train,
                                      const TrainingData& data) {
  std::vector<std::string> warnings;
  if (const std::size_t shared = count_shared_sources(train, data.dev); shared > 0) {
    warnings.push_back(
        fmt::format("{} of {} dev sources are in the training file, too: dev scores will flatter",
                    shared, data.dev.size()));
  }
  const Index unknown_source = count_unknown(data.dev, &TextPair::source, data.source);
  if (unknown_source > 0) {
    warnings.push_back(
        fmt::format("{} source tokens of dev are not in the vocabulary: they are read as <unk>",
                    unknown_source));
  }
  const Index unknown_target = count_unknown(data.dev, &TextPair::target, data.target);
  if (unknown_target > 0) {
    warnings.push_back(
        fmt::format("{} target tokens of dev are not in the vocabulary: they cannot be produced",
                    unknown_target));
  }
  return warnings;
}

// The batches of the epoch that a step belongs to, made again only when the epoch changes.
class FileSelector {
 public:
  FileSelector(const Config& config, std::vector<Example> examples)
      : config_(config), examples_(std::move(examples)), count_(examples_.size()) {}

  Index steps_per_epoch() {
    if (epoch_ < 0) load_epoch(0);
    return static_cast<Index>(batches_.size());
  }
  Selection select(Index step) {
    const Index epoch = step / steps_per_epoch(), position = step % steps_per_epoch();
    if (epoch != epoch_) load_epoch(epoch);
    return {examples_, batches_[static_cast<std::size_t>(position)]};
  }

 private:
  void load_epoch(Index epoch) {
    Rng rng = data_rng(config_, epoch);
    if (config_.concatenate) {
      examples_.resize(count_);
      append_pairs(examples_, rng);
    }
    batches_ =
        bucketed_batches(examples_, static_cast<std::size_t>(examples_per_step(config_)), rng);
    epoch_ = epoch;
  }

  Config config_;
  std::vector<Example> examples_;
  std::size_t count_;  // of the file's examples, which come first
  std::vector<Indices> batches_;
  Index epoch_ = -1;
};

TrainingData from_files(const Config& config) {
  require_name("train", config.train);
  require_name("dev", config.dev);
  const Tokens source_kind = tokens_named(config.source_tokens);
  const Tokens target_kind = tokens_named(config.target_tokens);
  const std::vector<TextPair> train = read_tsv(config.train, source_kind, target_kind);
  TrainingData data;
  data.dev = read_tsv(config.dev, source_kind, target_kind);
  require_target_lengths(config.train, train);
  require_positions(config, config.train, train, config.concatenate);
  require_positions(config, config.dev, data.dev);
  data.source = vocabulary_of(config, train, &TextPair::source);
  data.target = vocabulary_of(config, train, &TextPair::target);
  data.longest_target = longest_target(train);
  data.warnings = warnings_for(train, data);
  Fingerprint fingerprint;
  fingerprint.add(train);
  fingerprint.add(data.dev);
  data.fingerprint = fingerprint.value();
  const auto selector =
      std::make_shared<FileSelector>(config, encode(train, data.source, data.target));
  data.steps_per_evaluation = selector->steps_per_epoch();
  data.select = [selector](Index step) { return selector->select(step); };
  return data;
}

TrainingData from_task(const Config& config) {
  const Task task = make_task(config.task);
  TrainingData data;
  data.source = Vocabulary(task.source_tokens());
  data.target = Vocabulary(task.target_tokens());
  data.dev = task.dev();
  require_positions(config, "", data.dev);
  data.longest_target = longest_target(data.dev);
  data.steps_per_evaluation = task_steps_per_evaluation;
  const auto drawn = std::make_shared<std::vector<Example>>();
  data.select = [config, task, drawn, source = data.source, target = data.target](Index step) {
    Rng rng = data_rng(config, step);
    *drawn =
        encode(task.draw(static_cast<std::size_t>(examples_per_step(config)), rng), source, target);
    Indices all(drawn->size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return Selection{*drawn, all};
  };
  return data;
}

}  // namespace

TrainingData make_training_data(const Config& config) {
  return config.task.empty() ? from_files(config) : from_task(config);
}

}  // namespace regrad::seq2seq
