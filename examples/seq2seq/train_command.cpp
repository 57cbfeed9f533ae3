#include <algorithm>
#include <iostream>
#include <optional>
#include <span>
#include <utility>

#include "examples/seq2seq/commands.h"
#include "examples/seq2seq/interrupt.h"
#include "examples/seq2seq/run_report.h"
#include "examples/seq2seq/terminal.h"
#include "examples/seq2seq/trainer.h"
#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

struct Run {
  Translator translator;
  TrainingData data;
  std::optional<SafeTensors> last;  // to resume from
};

Run new_run(const TrainOptions& options, const RunFiles& files, std::optional<RunLock>& lock) {
  const Config config = make_config(options.given);
  require_no_run(files);  // before long files are read
  TrainingData data = make_training_data(config);
  check_schedule(config, step_limit(config, data.steps_per_evaluation));
  Translator translator(config, data.source, data.target);
  translator.longest_target = data.longest_target;
  make_writable(files);
  lock.emplace(files);
  require_no_run(files);  // another process may have begun one meanwhile
  return {std::move(translator), std::move(data), std::nullopt};
}

Run resumed_run(const TrainOptions& options, const RunFiles& files, std::optional<RunLock>& lock) {
  if (!std::filesystem::exists(files.last)) {
    fail("--resume: there is no run in {}, as it has no {}", files.directory.string(),
         files.last.filename().string());
  }
  make_writable(files);
  lock.emplace(files);
  Translator translator = load_translator(files.last);
  translator.config = resumed_config(translator.config, options.given);
  TrainingData data = make_training_data(translator.config);
  check_schedule(translator.config, step_limit(translator.config, data.steps_per_evaluation));
  return {std::move(translator), std::move(data), load_safetensors(files.last)};
}

void introduce(const Run& run, Progress& progress) {
  for (const std::string& warning : run.data.warnings) progress.say("warning: " + warning);
  const Config& config = run.translator.config;
  progress.say(
      fmt::format("{}: {} parameters, vocabularies of {} and {}, {} dev examples, {}",
                  config.task.empty() ? config.train : "task " + config.task,
                  count_parameters(*run.translator.model), run.data.source.size(),
                  run.data.target.size(), run.data.dev.size(),
                  config.threads == 1 ? "1 thread" : fmt::format("{} threads", config.threads)));
}

// As the command line takes it, whatever the value begins with.
std::string option(std::string_view name, const std::string& value) {
  return fmt::format("--{}{}{}", name, value.starts_with('-') ? '=' : ' ', shell_quoted(value));
}

std::string command(const TrainOptions& options, std::string_view name, const RunFiles& files) {
  return fmt::format("{} {} {}", shell_quoted(options.program), name,
                     option("model", files.model.string()));
}

// Some shells' echo reads options and backslashes.
std::string echo(const std::string& line) {
  const bool plain = !line.starts_with('-') && line.find('\\') == line.npos;
  return (plain ? "echo " : "printf '%s\\n' ") + shell_quoted(line);
}

void print_files(const RunFiles& files) {
  fmt::print(
      "\n{}  the best model\n{}  all that --resume needs\n{}  scores over time\n"
      "{}  the same to look at\n",
      files.model.string(), files.last.string(), files.metrics.string(), files.report.string());
}

// Long enough that its heat map shows something.
const Sentence& sample_of(const TrainingData& data) {
  const std::span<const TextPair> some(data.dev.data(), std::min<std::size_t>(data.dev.size(), 20));
  const auto longest =
      std::ranges::max_element(some, {}, [](const TextPair& pair) { return pair.source.size(); });
  return longest->source;
}

// A sample with its attention, for people who look on, and what they can do next.
void print_next(const TrainOptions& options, const RunFiles& files, const Translator& best,
                const TrainingData& data) {
  const Sentence& source = sample_of(data);
  const std::string line = join(source, tokens_named(best.config.source_tokens));
  if (is_terminal(Stream::out)) {
    const Translation translation = translate(best, {&source, 1}).front();
    if (translation.weights.rank() == 2) {
      fmt::print("\n{}", draw_text(heat_map(source, translation), output_ink(),
                                   terminal_columns(Stream::out)));
    }
  }
  const std::string judged =
      best.config.task.empty() ? option("data", best.config.dev) : option("task", best.config.task);
  fmt::print("\nWhat to do next:\n  {} | {}\n  {} {}\n  {} {}{}\n", echo(line),
             command(options, "translate", files), command(options, "evaluate", files), judged,
             command(options, "attend", files), line.starts_with('-') ? "-- " : "",
             shell_quoted(line));
}

void conclude(const TrainOptions& options, const RunFiles& files, const TrainingData& data,
              const Trainer& trainer) {
  const TrainingState& state = trainer.state();
  if (state.best_step > 0) {
    fmt::print("best on dev, at step {} of {}: exact match {:.4f}, nll {:.4f}\n", state.best_step,
               state.step, state.best_exact_match, state.best_nll);
  }
  if (trainer.end().empty()) {
    write_report(files, trainer, std::nullopt);
    fmt::print("stopped at step {}; to go on:\n  {} train --resume {}\n", state.step,
               shell_quoted(options.program), option("out", files.directory.string()));
    return;
  }
  const Translator best = load_translator(files.model);
  write_report(files, trainer, BestModel{best, data.dev, evaluate(best, data.dev)});
  print_files(files);
  print_next(options, files, best, data);
}

}  // namespace

void train(const TrainOptions& options) {
  const RunFiles files(options.out);
  std::optional<RunLock> lock;
  Run run = options.resume ? resumed_run(options, files, lock) : new_run(options, files, lock);
  std::optional<Interrupt> interrupt(std::in_place);
  Progress progress(std::cerr, redraw_columns(Stream::err));
  introduce(run, progress);
  Trainer trainer(run.translator, run.data, files, progress);
  if (run.last) trainer.resume(*std::exchange(run.last, std::nullopt));
  trainer.run(&Interrupt::requested);
  interrupt.reset();
  progress.say(trainer.end().empty() ? "stopped, everything is saved"
                                     : "end of training: " + trainer.end());
  conclude(options, files, run.data, trainer);
  if (trainer.end().empty()) throw Stopped{Interrupt::signal()};
}

}  // namespace regrad::seq2seq
