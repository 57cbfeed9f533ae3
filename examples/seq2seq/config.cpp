#include "examples/seq2seq/config.h"

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

namespace regrad::seq2seq {
namespace {

using Json = nlohmann::ordered_json;

// Threads change the last bits of a sum, not the run's meaning.
constexpr std::string_view changeable[] = {"epochs", "steps", "patience", "threads"};

template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

void require_range(std::string_view option, Index value, Index low, Index high) {
  require(value >= low && value <= high, "--{} must be from {} to {}, not {}", option, low, high,
          value);
}

// NaN fails, too.
void require_share(std::string_view option, double value) {
  require(value >= 0 && value < 1, "--{} must be at least 0 and below 1, not {}", option, value);
}

void require_positive(std::string_view option, double value, double high) {
  require(value > 0 && value <= high, "--{} must be above 0 and at most {}, not {}", option, high,
          value);
}

template <class T>
bool fits(const Json& value) {
  if (std::is_same_v<T, bool>) return value.is_boolean();
  if (std::is_same_v<T, std::string>) return value.is_string();
  if (std::is_floating_point_v<T>) return value.is_number();
  const bool negative = value.is_number_integer() && !value.is_number_unsigned() && value < 0;
  return value.is_number_integer() && !(std::is_unsigned_v<T> && negative);
}

template <class T>
bool read(const Json& json, std::string_view name, T& member) {
  const auto entry = json.find(name);
  if (entry == json.end()) return false;
  if (!fits<T>(*entry)) fail("`{}` of the configuration cannot be {}", name, entry->dump());
  entry->get_to(member);
  return true;
}

// A given file name may be any bytes.
std::string printed(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json merged(Json base, const Json& given) {
  // One limit takes the place of the other.
  if (given.contains("steps") && !given.contains("epochs")) base["epochs"] = 0;
  if (given.contains("epochs") && !given.contains("steps")) base["steps"] = 0;
  base.update(given);
  return base;
}

Config defaults_for_tasks() {
  Config config;
  config.source_tokens = config.target_tokens = "chars";
  config.label_smoothing = 0;
  config.hidden = 64;
  config.learning_rate = 2e-3;
  config.steps = 5000;
  config.patience = 6;
  return config;
}

// What pronunciation dictionaries of 3,600 words are learned well with. What the given options rule
// out is left out.
Config defaults_for_files(const Json& given) {
  const auto has = [&](const char* name, const Json& value) {
    const auto option = given.find(name);
    return option != given.end() && *option == value;
  };
  Config config;
  config.hidden = 256;
  config.embedding = 128;
  config.dropout = 0.4;
  if (has("architecture", "transformer")) {
    config.batch = 16;
    config.average = 5;
    config.epochs = 40;
    return config;
  }
  config.concatenate = true;
  config.layers = 2;
  if (!has("attention", "none")) config.decoder = "luong";
  config.variational_dropout = !has("dropout", 0);
  config.weight_dropout = 0.2;
  config.batch = 24;
  config.average = 15;
  config.schedule = "constant";
  config.epochs = 32;
  return config;
}

void check_source(const Config& config) {
  if (config.task.empty()) {
    require(!config.train.empty(), "nothing to train on: give --task or --train and --dev");
    require(!config.dev.empty(), "--train needs --dev, a file of other examples to judge by");
    return;
  }
  require(config.train.empty() && config.dev.empty(),
          "--task {} makes its own examples: leave out --train and --dev", config.task);
  require(!config.concatenate, "--concatenate is for --train, not --task {}", config.task);
  require(config.min_count == 1 && config.vocabulary_size == 0,
          "--min-count and --vocabulary-size are for --train, not --task {}", config.task);
  require(config.epochs == 0, "a task has no epochs, as it draws without end: use --steps");
  require(config.source_tokens == "chars" && config.target_tokens == "chars",
          "--task {} is on chars: leave out --source-tokens and --target-tokens", config.task);
}

void check_optimization(const Config& config) {
  require(config.momentum == 0 || config.optimizer == "sgd", "--momentum is for --optimizer sgd");
  require(config.schedule != "inverse-sqrt" || config.warmup > 0,
          "--schedule inverse-sqrt needs --warmup, the steps after which it falls");
  require(config.schedule != "cosine" || config.steps > 0 || config.epochs > 0,
          "--schedule cosine needs --steps or --epochs, as it ends there");
  require(config.warmup == 0 || config.schedule == "inverse-sqrt" || config.schedule == "cosine",
          "--warmup is for --schedule inverse-sqrt and cosine");
}

void check_transformer(const Config& config) {
  const Config usual;
  require(config.attention == usual.attention && config.alignment == usual.alignment &&
              config.cell == usual.cell && config.decoder == usual.decoder &&
              config.decoder_hidden == 0,
          "--architecture transformer has an attention of its own: leave out --attention, "
          "--alignment, --cell, --decoder and --decoder-hidden");
  require(!config.variational_dropout && config.weight_dropout == 0 && !config.learned_initial,
          "--variational-dropout, --weight-dropout and --learned-initial are for --architecture "
          "recurrent");
  require(config.longest == usual.longest || config.positions == "learned",
          "--longest is for --positions learned");
  require(config.hidden % config.heads == 0,
          "--hidden {} does not fall into {} equal heads: change --hidden or --heads",
          config.hidden, config.heads);
}

// By name, as a value that is the default would tell nothing; and a saved model may have any.
void refuse_unused(const Json& given) {
  if (given.value("architecture", "") != "transformer") return;
  require(!given.contains("embedding"),
          "--embedding is for --architecture recurrent: a transformer's vectors have --hidden "
          "entries; leave it out");
  for (const char* name :
       {"window", "temperature", "fixed-sharpening", "entropy", "reward", "fixed-vector"}) {
    require(!given.contains(name), "--{} is for --architecture recurrent: leave it out", name);
  }
}

// What belongs to one kind of model cannot be given to the other.
void check_model(const Config& config) {
  const Config usual;
  const bool attends = config.attention != "none";
  if (config.architecture == "transformer") return check_transformer(config);
  require(config.positions == usual.positions && config.norm == usual.norm &&
              config.longest == usual.longest,
          "--positions, --longest and --norm are for --architecture transformer");
  require(!config.variational_dropout || config.dropout > 0,
          "--variational-dropout has no effect without --dropout above 0");
  require(attends || config.alignment == usual.alignment,
          "--alignment {} needs an attention, not --attention none", config.alignment);
  require(attends || config.decoder == usual.decoder,
          "--decoder {} needs an attention, not --attention none", config.decoder);
  require(!attends || config.fixed_vector == usual.fixed_vector,
          "--fixed-vector is for --attention none");
  require(config.heads == usual.heads, "--heads is for --architecture transformer");
  require(!config.fixed_sharpening || config.attention == "content",
          "--fixed-sharpening is for --attention content");
  require(config.window == usual.window || config.alignment.starts_with("local"),
          "--window is for --alignment local-m and local-p");
  require(config.temperature == usual.temperature || config.alignment == "hard-gumbel",
          "--temperature is for --alignment hard-gumbel");
  require((config.entropy == usual.entropy && config.reward == usual.reward) ||
              config.alignment == "hard-reinforce",
          "--entropy and --reward are for --alignment hard-reinforce");
  require(
      !compares_sizes(config) || config.decoder_hidden == 0 ||
          config.decoder_hidden == 2 * config.hidden,
      "--attention {} compares states of --decoder-hidden {} with annotations of twice --hidden, "
      "{}: leave out --decoder-hidden or use --attention general",
      config.attention, config.decoder_hidden, 2 * config.hidden);
}

}  // namespace

nlohmann::ordered_json to_json(const Config& config) {
  Json json;
  visit_options(config, [&](std::string_view name, const auto& member, auto&&...) {
    json[std::string(name)] = member;
  });
  return json;
}

Config config_from_json(const nlohmann::ordered_json& json) {
  if (!json.is_object()) fail("the configuration is no JSON object");
  Config config;
  std::set<std::string_view> known;
  visit_options(config, [&](std::string_view name, auto& member, const Choices& choices, auto&&) {
    if (!read(json, name, member)) return;
    known.insert(name);
    if constexpr (std::is_same_v<decltype(member), std::string&>) {
      if (choices.size() == 0 || (member.empty() && name == "task")) return;
      if (std::ranges::find(choices, member) == choices.end()) {
        fail("`{}` of the configuration cannot be \"{}\"", name, member);
      }
    }
  });
  for (const auto& [name, value] : json.items()) {
    if (known.contains(name)) continue;
    fail("the configuration has an unknown entry, perhaps of a newer program: `{}`", name);
  }
  check(config);
  return config;
}

Config make_config(const nlohmann::ordered_json& given) {
  refuse_unused(given);
  const bool task = given.contains("task");
  return config_from_json(
      merged(to_json(task ? defaults_for_tasks() : defaults_for_files(given)), given));
}

Config resumed_config(const Config& saved, const nlohmann::ordered_json& given) {
  const Json base = to_json(saved);
  for (const auto& [name, value] : given.items()) {
    if (std::ranges::find(changeable, name) != std::end(changeable) || base[name] == value)
      continue;
    fail("--{} {} would be another run: this one was begun with {}; leave it out or train anew",
         name, printed(value), printed(base[name]));
  }
  return config_from_json(merged(base, given));
}

void check(const Config& config) {
  constexpr Index many = 1'000'000'000;
  require_range("min-count", config.min_count, 1, many);
  require_range("vocabulary-size", config.vocabulary_size, 0, many);
  require_range("layers", config.layers, 1, 64);
  require_range("hidden", config.hidden, 1, 65536);
  require_range("embedding", config.embedding, 1, 65536);
  require_range("decoder-hidden", config.decoder_hidden, 0, 65536);
  require_range("heads", config.heads, 1, 65536);
  require_range("window", config.window, 1, many);
  require_range("warmup", config.warmup, 0, many);
  require_range("accumulate", config.accumulate, 1, many);
  require_range("average", config.average, 1, 1000);
  require_range("longest", config.longest, 2, 65536);
  require_range("batch", config.batch, 1, many);
  require_range("epochs", config.epochs, 0, many);
  require_range("steps", config.steps, 0, many);
  require_range("patience", config.patience, 1, many);
  require_range("threads", config.threads, 1, 256);
  require_share("dropout", config.dropout);
  require_share("weight-dropout", config.weight_dropout);
  require_share("label-smoothing", config.label_smoothing);
  require_share("scheduled-sampling", config.scheduled_sampling);
  require_share("weight-decay", config.weight_decay);
  require_share("momentum", config.momentum);
  require_share("entropy", config.entropy);
  require_positive("learning-rate", config.learning_rate, 1);
  require_positive("temperature", config.temperature, 100);
  check_source(config);
  check_model(config);
  check_optimization(config);
}

bool compares_sizes(const Config& config) {
  const std::string& score = config.attention;
  return score == "content" || score == "dot" || score == "scaled-dot";
}

void check_schedule(const Config& config, Index step_limit) {
  require(config.schedule != "cosine" || config.warmup < step_limit,
          "--schedule cosine needs more steps than --warmup {}, and this run has {}: give more "
          "--steps or --epochs, or a smaller --warmup to a new run",
          config.warmup, step_limit);
}

}  // namespace regrad::seq2seq
