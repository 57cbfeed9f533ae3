#include "examples/seq2seq/trainer.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "examples/seq2seq/jsonl.h"
#include "examples/seq2seq/training_step.h"
#include "nn/checkpoint.h"
#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

using Json = nlohmann::ordered_json;

constexpr double max_gradient_norm = 1;
constexpr double save_share = 0.05;          // of the time, at most: a save waits for the disk
constexpr std::uint64_t dropout_stream = 3;  // of the seed
constexpr const char* training_key = "training";

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Labels of all targets, each with its <eos>.
Index count_labels(const Selection& selection) {
  Index count = 0;
  for (const std::size_t i : selection.indices) {
    count += static_cast<Index>(selection.examples[i].target.size()) + 1;
  }
  return count;
}

// The part's share of the indices, a contiguous one; part 0 always has some.
Indices share(const Indices& indices, Index part, Index parts) {
  const auto size = static_cast<Index>(indices.size());
  const auto cut = [&](Index i) { return indices.begin() + (i * size + parts - 1) / parts; };
  return Indices(cut(part), cut(part + 1));
}

}  // namespace

Trainer::Trainer(Translator& translator, TrainingData& data, const RunFiles& files,
                 Progress& progress, double seconds_between_saves)
    : translator_(translator),
      data_(data),
      files_(files),
      progress_(progress),
      workers_(translator.config.threads),
      optimizer_(make_optimizer(*translator.model, translator.config)),
      reinforce_(static_cast<std::size_t>(workers_.count()),
                 Reinforce({.entropy_weight = translator.config.entropy})),
      average_(*translator.model, translator.config.average),
      seconds_between_saves_(seconds_between_saves) {}

Gradients Trainer::part_gradients(const Selection& selection, Index part, double labels,
                                  double& loss) {
  const Index shares = translator_.config.accumulate;
  Gradients sum;
  for (Index i = 0; i < shares; ++i) {
    sum.add(share_gradients(selection, part * shares + i,
                            reinforce_[static_cast<std::size_t>(part)], labels, loss));
  }
  return sum;
}

// The sum of the share's losses over the number of labels in the whole batch, so that the shares'
// gradients add up to those of the batch's mean loss.
Gradients Trainer::share_gradients(const Selection& selection, Index number, Reinforce& reinforce,
                                   double labels, double& loss) const {
  const Config& config = translator_.config;
  const Indices indices = share(selection.indices, number, workers_.count() * config.accumulate);
  if (indices.empty()) return {};
  Batch batch = make_batch(selection.examples, indices);
  Rng rng = Rng(config.seed, dropout_stream)
                .split(static_cast<std::uint64_t>(state_.step))
                .split(static_cast<std::uint64_t>(number));
  if (config.scheduled_sampling > 0) {
    mix_predictions(*translator_.model, config.scheduled_sampling, rng, batch);
  }
  Tape tape;
  Predictions predictions = (*translator_.model)(batch, &rng);
  const bool reinforced = predictions.log_probability.size() > 0;
  // Logits that nothing else reads are not kept: the largest tensor becomes its own gradient.
  Var total =
      cross_entropy(reinforced ? predictions.logits : std::exchange(predictions.logits, Var()),
                    batch.target_out, batch.target_lengths,
                    {.label_smoothing = config.label_smoothing, .mean = false}) /
      labels;
  loss += total.item();
  if (reinforced) {
    total += reinforce_loss(predictions, batch, config.reward, reinforce) / labels;
  }
  return tape.backward(total);
}

double Trainer::step() {
  const Stopwatch watch;
  const Selection selection = data_.select(state_.step);
  const Index labels = count_labels(selection);
  std::vector<double> losses(static_cast<std::size_t>(workers_.count()), 0);
  Gradients gradients = workers_.sum([&](Index part) {
    return part_gradients(selection, part, static_cast<double>(labels),
                          losses[static_cast<std::size_t>(part)]);
  });
  optimizer_->set_learning_rate(
      learning_rate(state_, translator_.config, data_.steps_per_evaluation));
  optimizer_->step(clip_norm(std::move(gradients), max_gradient_norm, &workers_), &workers_);
  const double loss = std::accumulate(losses.begin(), losses.end(), 0.0);
  ++state_.step;
  state_.loss += loss * static_cast<double>(labels);
  state_.tokens += labels;
  const double seconds = watch.seconds();
  state_.seconds += seconds;
  state_.step_seconds += seconds;
  return loss;
}

void Trainer::run(const std::function<bool()>& stop) {
  if (state_.step == 0) save_last();  // a resume needs it, wherever the run is cut
  while (!stop()) {
    if (evaluation_due(state_, translator_.config, data_.steps_per_evaluation)) {
      evaluate(stop);
    } else if (end().empty()) {
      step();
      progress_.step(moment());
    } else {
      break;
    }
    if (std::chrono::steady_clock::now() >= next_save_) save_last();
  }
  if (state_.best_step == 0) {
    const ParameterAverage::Applied averaged(average_);
    save_safetensors(files_.model, to_safetensors(translator_));
  }
  save_last();
}

std::string Trainer::end() const {
  const Config& config = translator_.config;
  if (evaluation_due(state_, config, data_.steps_per_evaluation)) return {};
  return end_reason(state_, config, data_.steps_per_evaluation);
}

void Trainer::evaluate(const std::function<bool()>& stop) {
  const Stopwatch watch;
  bool best = false;
  average_.push();
  {
    const ParameterAverage::Applied averaged(average_);
    const auto evaluation = seq2seq::evaluate(translator_, data_.dev, {}, stop);
    state_.seconds += watch.seconds();
    if (!evaluation) return average_.pop();
    best = record(evaluation->metrics.overall());
  }
  // A resume with other threads or patience must know of this model, lest a worse one replace it.
  if (best) save_last();
}

// The model first: should the program be killed in between, the evaluation is done again.
bool Trainer::record(const Scores& scores) {
  dev_ = scores;
  const bool best = state_.judge(scores, translator_.config.patience);
  if (best) save_safetensors(files_.model, to_safetensors(translator_));
  const Moment now = moment();
  Json entry{{"step", now.step}};
  if (now.epoch) entry["epoch"] = *now.epoch;
  entry["train_loss"] = now.loss;
  entry["dev"] = scores.to_json();
  entry["best"] = best;
  entry["learning_rate"] = optimizer_->learning_rate();
  entry["tokens_per_second"] = now.tokens_per_second;
  entry["seconds"] = now.seconds;
  append_line(files_.metrics, entry);
  history_.push_back(std::move(entry));
  progress_.evaluation(now, best);
  state_.loss = 0;
  state_.tokens = 0;
  state_.step_seconds = 0;
  return best;
}

void Trainer::save_last() {
  const Stopwatch watch;
  SafeTensors content = to_safetensors(translator_);
  save_optimizer(*optimizer_, content);
  average_.save(content);
  Json training{{"state", to_json(state_)}, {"fingerprint", data_.fingerprint}};
  for (const Reinforce& reinforce : reinforce_) {
    training["baselines"].push_back(reinforce.baseline() ? Json(*reinforce.baseline()) : Json());
  }
  content.metadata[training_key] = training.dump();
  save_safetensors(files_.last, content);
  const std::chrono::duration<double> pause(
      std::max(seconds_between_saves_, watch.seconds() / save_share));
  next_save_ = std::chrono::steady_clock::now() +
               std::chrono::duration_cast<std::chrono::steady_clock::duration>(pause);
}

void Trainer::resume(const SafeTensors& last) {
  const auto entry = last.metadata.find(training_key);
  if (entry == last.metadata.end()) fail("the metadata has no `{}`", training_key);
  const Json training = parse_json(entry->second);
  if (!training.is_object() || !training.contains("state") || !training.contains("fingerprint")) {
    fail("the metadata `{}` is not what this program writes", training_key);
  }
  if (training["fingerprint"] != data_.fingerprint || !(translator_.source == data_.source) ||
      !(translator_.target == data_.target)) {
    fail("--train or --dev has changed since the run began: restore them or train anew");
  }
  std::vector<std::optional<double>> baselines;  // of each part that had something to do
  for (const Json& baseline : training.value("baselines", Json::array())) {
    if (!baseline.is_number() && !baseline.is_null()) {
      fail("the metadata `{}` has a baseline that is no number", training_key);
    }
    baselines.push_back(baseline.is_null() ? std::nullopt : std::optional(baseline.get<double>()));
  }
  state_ = state_from_json(training["state"]);
  load_optimizer(*optimizer_, last);
  average_.load(last);
  // Of the last step, for an evaluation that comes before the next.
  TrainingState before = state_;
  before.step = std::max<Index>(state_.step - 1, 0);
  optimizer_->set_learning_rate(
      learning_rate(before, translator_.config, data_.steps_per_evaluation));
  for (std::size_t i = 0; i < reinforce_.size() && i < baselines.size(); ++i) {
    reinforce_[i].set_baseline(baselines[i]);
  }
  if (state_.best_step > 0 && !std::filesystem::exists(files_.model)) {
    progress_.say(fmt::format(
        "warning: {}, the best model so far, is gone: {} takes its place", files_.model.string(),
        end().empty() ? "the next evaluation's" : "the one that was evaluated last"));
    state_.best_step = 0;
  }
  first_step_ = state_.step;
  first_seconds_ = state_.seconds;
  history_ = read_history(files_, state_.evaluated_step);
  rewrite_history(files_, history_);
}

Moment Trainer::moment() const {
  const Config& config = translator_.config;
  Moment moment;
  moment.step = state_.step;
  moment.step_limit = step_limit(config, data_.steps_per_evaluation);
  if (config.task.empty()) moment.epoch = 1 + (state_.step - 1) / data_.steps_per_evaluation;
  if (state_.tokens > 0) moment.loss = state_.loss / static_cast<double>(state_.tokens);
  if (state_.step_seconds > 0) {
    moment.tokens_per_second = static_cast<double>(state_.tokens) / state_.step_seconds;
  }
  moment.seconds = state_.seconds;
  if (moment.step_limit > 0 && state_.step > first_step_) {
    const double pace =
        (state_.seconds - first_seconds_) / static_cast<double>(state_.step - first_step_);
    moment.seconds_left = pace * static_cast<double>(moment.step_limit - state_.step);
  }
  moment.dev = dev_;
  return moment;
}

}  // namespace regrad::seq2seq
