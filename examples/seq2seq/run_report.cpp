#include "examples/seq2seq/run_report.h"

#include <algorithm>
#include <string>

#include "examples/seq2seq/report.h"

namespace regrad::seq2seq {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t sample_count = 20, heat_map_count = 3;

double number(const Json& json, const char* name) {
  const auto entry = json.find(name);
  return entry != json.end() && entry->is_number() ? entry->get<double>() : 0;
}

void add_course(Report& report, const std::vector<Json>& history) {
  for (const Json& entry : history) {
    const auto step = static_cast<std::size_t>(number(entry, "step"));
    report.training.push_back({step, number(entry, "train_loss")});
    if (!entry.contains("dev")) continue;
    const Json& dev = entry["dev"];
    Scores scores;
    scores.exact_match = number(dev, "exact_match");
    scores.token_accuracy = number(dev, "token_accuracy");
    scores.token_error_rate = number(dev, "token_error_rate");
    scores.bleu = number(dev, "bleu");
    scores.nll = number(dev, "nll");
    report.dev.push_back({step, scores});
  }
}

void add_best(Report& report, const BestModel& best) {
  report.final_scores = best.evaluation.metrics.overall();
  report.by_source_length = best.evaluation.metrics.by_source_length();
  const Config& config = best.translator.config;
  const Tokens source_kind = tokens_named(config.source_tokens);
  const Tokens target_kind = tokens_named(config.target_tokens);
  std::vector<Sentence> drawn;
  for (std::size_t i = 0; i < std::min(best.dev.size(), sample_count); ++i) {
    const TextPair& pair = best.dev[i];
    report.samples.push_back({join(pair.source, source_kind), join(pair.target, target_kind),
                              join(best.evaluation.hypotheses[i], target_kind)});
    if (drawn.size() < heat_map_count) drawn.push_back(pair.source);
  }
  const std::vector<Translation> translations = translate(best.translator, drawn);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (translations[i].weights.rank() == 2) {
      report.heat_maps.push_back(heat_map(drawn[i], translations[i]));
    }
  }
}

}  // namespace

void write_report(const RunFiles& files, const Trainer& trainer,
                  const std::optional<BestModel>& best) {
  Report report;
  const Config& config = trainer.config();
  report.title = "seq2seq: " + (config.task.empty() ? config.train : config.task);
  const Json settings = to_json(config);
  for (const auto& [name, value] : settings.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (!text.empty()) report.configuration.emplace_back(name, text);
  }
  add_course(report, trainer.history());
  if (best) add_best(report, *best);
  write_file(files.report, render(report));
}

}  // namespace regrad::seq2seq
