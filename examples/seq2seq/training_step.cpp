#include "examples/seq2seq/training_step.h"

#include <vector>

#include "autograd/functions.h"
#include "autograd/tape.h"

namespace regrad::seq2seq {
namespace {

// [T, B]: log p of each label, 0 where padded.
Var label_log_probabilities(const Var& logits, const Batch& batch) {
  Ids labels(batch.target_out.shape().appended(1));
  for (Index i = 0; i < labels.size(); ++i) labels.mutable_data()[i] = batch.target_out[i];
  const Var picked = squeeze(gather(log_softmax(logits), 2, labels), 2);
  return masked_fill(picked, batch.target_lengths, 0);
}

// The valid entries of x [T, B], one after the other.
Var valid_entries(const Var& x, const Lengths& lengths) {
  std::vector<std::int32_t> positions;
  for (Index i = 0; i < x.size(); ++i) {
    if (lengths.valid(i / lengths.batch(), i % lengths.batch())) {
      positions.push_back(static_cast<std::int32_t>(i));
    }
  }
  const Shape shape{static_cast<Index>(positions.size())};
  return gather(reshape(x, {x.size()}), 0, Ids(positions, shape));
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const Model& model, const Config& config) {
  const double rate = config.learning_rate, decay = config.weight_decay;
  if (config.optimizer == "adamw") {
    return std::make_unique<AdamW>(model,
                                   AdamWOptions{.learning_rate = rate, .weight_decay = decay});
  }
  if (config.optimizer == "sgd") {
    return std::make_unique<Sgd>(
        model,
        SgdOptions{.learning_rate = rate, .momentum = config.momentum, .weight_decay = decay});
  }
  if (config.optimizer == "adadelta") {  // ρ as Bahdanau et al. (2014) trained
    return std::make_unique<Adadelta>(
        model, AdadeltaOptions{.learning_rate = rate, .rho = 0.95, .weight_decay = decay});
  }
  return std::make_unique<Adam>(model, AdamOptions{.learning_rate = rate, .weight_decay = decay});
}

void mix_predictions(const Model& model, double p, Rng& rng, Batch& batch) {
  const Paused paused;
  const Ids predicted = argmax(model(batch).logits);  // [T, B]
  const Index size = batch.target_lengths.batch();
  for (Index i = size; i < predicted.size(); ++i) {
    if (rng.uniform() < p && batch.target_lengths.valid(i / size, i % size)) {
      batch.target_in.mutable_data()[i] = predicted[i - size];
    }
  }
}

Var reinforce_loss(const Predictions& predictions, const Batch& batch, std::string_view reward,
                   Reinforce& reinforce) {
  const Lengths& lengths = batch.target_lengths;
  const Var rewards = label_log_probabilities(predictions.logits.detach(), batch);
  const Var positions = masked_fill(predictions.log_probability, lengths, 0);
  const Var entropy = masked_fill(predictions.entropy, lengths, 0);
  if (reward == "sentence") {
    return reinforce.loss(sum(positions, {0}), sum(entropy, {0}), sum(rewards, {0})) *
           static_cast<double>(lengths.batch());
  }
  return reinforce.loss(valid_entries(positions, lengths), valid_entries(entropy, lengths),
                        valid_entries(rewards, lengths)) *
         static_cast<double>(lengths.total());
}

}  // namespace regrad::seq2seq
