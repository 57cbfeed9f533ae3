#include "examples/seq2seq/command_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "examples/seq2seq/commands.h"
#include "examples/seq2seq/config.h"
#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

void allow_only(CLI::Option& option, const Choices& choices) {
  if (choices.size() == 0) return;
  const std::vector<std::string> known(choices.begin(), choices.end());
  option.type_name(fmt::format("{}", fmt::join(known, "|")));
  option.check([known](const std::string& value) {
    if (std::ranges::find(known, value) != known.end()) return std::string();
    return fmt::format("`{}` is not known; there is {}", value, fmt::join(known, ", "));
  });
}

template <class T>
std::string kind_of_number() {
  if (std::is_floating_point_v<T>) return "decimal number from 1e-307 to 1e308, or 0";
  constexpr auto low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  if (std::is_unsigned_v<T>) return fmt::format("whole number from {} to {}", low, high);
  return fmt::format("whole number of up to {} decimal digits", std::numeric_limits<T>::digits10);
}

// CLI11 by itself takes 010 for 8, knows 0x10, and takes -1 without a sign for the largest number.
template <class T>
CLI::Option* add_number(CLI::App& command, const std::string& flag, T& number,
                        const std::string& help) {
  const auto read = [flag, &number](const std::string& text) {
    const char* end = text.data() + text.size();
    T value{};
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || !std::isfinite(static_cast<double>(value))) {
      throw CLI::ValidationError(flag, fmt::format("`{}` is no {}", text, kind_of_number<T>()));
    }
    number = value;
  };
  return command.add_option_function<std::string>(flag, read, help)
      ->type_name(CLI::detail::type_name<T>());
}

// CLI11 by itself takes numbers, yes, on and more.
std::string check_flag(const std::string& text) {
  if (text == "true" || text == "false") return "";
  return fmt::format("`{}` is neither true nor false", text);
}

std::string check_named(const std::string& text) {
  return text.empty() ? "it is empty; name a directory, which need not be there yet" : "";
}

// Every option that has a default; for transformers and tasks those that differ.
std::string defaults_footer() {
  const nlohmann::ordered_json paths{{"train", "-"}, {"dev", "-"}};
  nlohmann::ordered_json transformer = paths;
  transformer["architecture"] = "transformer";
  const auto files = to_json(make_config(paths));
  const auto listed = [](const auto& defaults, const auto& but) {
    std::string text;
    for (const auto& [name, value] : defaults.items()) {
      if (name == "task" || name == "train" || name == "dev") continue;
      if (but.contains(name) && but.at(name) == value) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                          value.is_string() ? value.template get<std::string>() : value.dump());
    }
    return text;
  };
  return fmt::format(
      "Defaults for files: {}.\nFor transformers on files where they differ: {}.\nFor tasks where "
      "they differ: {}.\nWith --attention none the decoder is bahdanau, with --dropout 0 "
      "variational-dropout is false; a transformer's embedding is as long as its hidden.\nA flag "
      "that is true is turned off by =false: --concatenate=false.",
      listed(files, nlohmann::ordered_json::object()),
      listed(to_json(make_config(transformer)), files),
      listed(to_json(make_config({{"task", "copy"}})), files));
}

// Binds the options of the configuration; `given` collects those that were used.
class TrainCommand {
 public:
  explicit TrainCommand(CLI::App& app) : command_(*app.add_subcommand("train", "Train a model")) {
    visit_options(config_, [&](std::string_view name, auto& member, const Choices& choices,
                               const char* help) {
      using Member = std::remove_reference_t<decltype(member)>;
      const std::string flag = fmt::format("--{}", name);
      CLI::Option* option;
      if constexpr (std::is_same_v<Member, bool>) {
        option = command_.add_flag(flag, member, help)->check(check_flag);
      } else if constexpr (std::is_arithmetic_v<Member>) {
        option = add_number(command_, flag, member, help);
      } else {
        option = command_.add_option(flag, member, help);
      }
      allow_only(*option, choices);
      options_.emplace(name, option);
    });
    options_["epochs"]->excludes(options_["steps"]);
    command_.add_flag("--resume", resume_, "go on with the run in --out");
    command_.add_option("--out", out_, "directory of the run")
        ->required()
        ->type_name("DIR")
        ->check(check_named);
    command_.footer(defaults_footer());
  }

  void run(const std::string& program) const {
    nlohmann::ordered_json given = nlohmann::ordered_json::object();
    const nlohmann::ordered_json all = to_json(config_);
    for (const auto& [name, option] : options_) {
      if (option->count() > 0) given[name] = all[name];
    }
    train({program, given, out_, resume_});
  }

  CLI::App& command() { return command_; }

 private:
  CLI::App& command_;
  Config config_;
  std::map<std::string, CLI::Option*> options_;
  std::string out_;
  bool resume_ = false;
};

CLI::Option* add_model(CLI::App& command, std::filesystem::path& model) {
  return command.add_option("--model", model, "model.safetensors of a run")
      ->required()
      ->type_name("FILE");
}

std::vector<CLI::Option*> add_decoding(CLI::App& command, DecodeOptions& options) {
  return {add_number(command, "--beam", options.beam,
                     "hypotheses that a search keeps; 1, the default: greedily"),
          add_number(command, "--length-penalty", options.length_penalty,
                     "of the beam, 0.6 by default; 0: none"),
          add_number(command, "--coverage-penalty", options.coverage_penalty,
                     "of the beam, for source tokens that nothing looked at; 0: none"),
          command.add_flag("--replace-unknown", options.replace_unknown,
                           "an unknown word by the source word that it looked at most")};
}

void add_translate(CLI::App& app, TranslateOptions& options) {
  CLI::App* command = app.add_subcommand("translate", "Read source lines, write target lines");
  add_model(*command, options.model);
  add_decoding(*command, options.decoding);
  DecodeOptions& decoding = options.decoding;
  add_number(*command, "--n-best", decoding.n_best,
             "so many lines for each source: rank, score and translation between tabs");
  CLI::Option* sample = command->add_flag("--sample", decoding.sample, "draw a translation");
  for (CLI::Option* of_sample :
       {add_number(*command, "--temperature", decoding.temperature,
                   "sample: below 1 the likely gets likelier"),
        add_number(*command, "--top-k", decoding.top_k, "sample: of so many tokens; 0: of all"),
        add_number(*command, "--top-p", decoding.top_p,
                   "sample: of the likeliest tokens that make up this probability"),
        add_number(*command, "--seed", decoding.seed, "sample: of the random numbers")}) {
    of_sample->needs(sample);
  }
  command->callback([&options] { translate(options); });
}

void add_evaluate(CLI::App& app, EvaluateOptions& options) {
  CLI::App* command = app.add_subcommand("evaluate", "Compare translations with references");
  add_model(*command, options.model);
  auto* source = command->add_option_group("examples", "what to evaluate on")->require_option(1);
  source->add_option("--data", options.data, "TSV file: source<TAB>target")->type_name("FILE");
  allow_only(*source->add_option("--task", options.task, "held-out words of a task"),
             {"copy", "reverse"});
  command->add_flag("--json", options.json, "one JSON object instead of a table");
  add_decoding(*command, options.decoding);
  command->callback([&options] { evaluate(options); });
}

void add_attend(CLI::App& app, AttendOptions& options) {
  CLI::App* command = app.add_subcommand("attend", "Show where a translation looks in its source");
  add_model(*command, options.model);
  command->add_option("line", options.line, "a source line")->required()->type_name("LINE");
  CLI::Option* target =
      command->add_option("--target", options.target, "show this translation, not the model's own")
          ->type_name("LINE");
  // Nothing is searched for then.
  for (CLI::Option* option : add_decoding(*command, options.decoding)) target->excludes(option);
  command->callback([&options] { attend(options); });
}

// Those of its groups, too.
std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> options = command.get_options();
  for (const CLI::App* group : command.get_subcommands({})) {
    if (!group->get_name().empty()) continue;
    for (const CLI::Option* option : options_of(*group)) options.push_back(option);
  }
  return options;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(command)) {
    if (option->nonpositional()) names.push_back("--" + option->get_lnames().front());
  }
  return names;
}

// An option whose value was left out has taken the next option for it.
std::string without_value(const CLI::App& command) {
  const std::vector<std::string> names = option_names(command);
  for (const CLI::Option* option : options_of(command)) {
    for (const std::string& value : option->results()) {
      if (std::ranges::find(names, value) == names.end()) continue;
      return fmt::format("{} needs a value, and `{}` follows", option->get_name(), value);
    }
  }
  return "";
}

[[noreturn]] void fail_usage(const CLI::App& app, const CLI::ParseError& error,
                             const std::string& first) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (chosen.empty()) {
    throw UsageError(fmt::format(
        "{}; there is train, translate, evaluate, attend; see --help",
        first.empty() ? "no command was given" : fmt::format("`{}` is no command", first)));
  }
  const CLI::App& command = *chosen.front();
  if (const std::string missing = without_value(command); !missing.empty()) {
    throw UsageError(fmt::format("{}: {}", command.get_name(), missing));
  }
  // An unknown option comes before one that is missing or wrong, which it may have been meant for.
  const std::vector<std::string> unknown = app.remaining(true);
  if (unknown.empty()) {
    throw UsageError(fmt::format("{}: {}", command.get_name(), error.what()));
  }
  throw UsageError(fmt::format("{}: `{}` is not known; there is {}", command.get_name(),
                               fmt::join(unknown, " "), fmt::join(option_names(command), ", ")));
}

}  // namespace

void run(int argc, const char* const* argv) {
  CLI::App app("Encoder-decoders with every kind of attention: train one, use it, look into it.",
               "seq2seq");
  app.require_subcommand(1);
  TrainCommand train_command(app);
  TranslateOptions translate_options;
  EvaluateOptions evaluate_options;
  AttendOptions attend_options;
  add_translate(app, translate_options);
  add_evaluate(app, evaluate_options);
  add_attend(app, attend_options);
  train_command.command().callback([&] { train_command.run(argv[0]); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    app.exit(success);  // prints the help
  } catch (const CLI::ParseError& error) {
    fail_usage(app, error, argc > 1 ? argv[1] : "");
  }
}

}  // namespace regrad::seq2seq
