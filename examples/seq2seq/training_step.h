#pragma once

#include <memory>
#include <string_view>

#include "examples/seq2seq/model.h"
#include "nn/optimizer.h"
#include "nn/reinforce.h"

// What a training step consists of besides the model and its cross-entropy.
namespace regrad::seq2seq {

std::unique_ptr<Optimizer> make_optimizer(const Model& model, const Config& config);

// Scheduled sampling (Bengio et al. 2015) in two passes (Mihaylova and Martins 2019): predicts each
// token from the right ones before it, and puts the prediction in place of the decoder's input with
// probability p.
void mix_predictions(const Model& model, double p, Rng& rng, Batch& batch);

// What hard-reinforce adds to a sum of losses: the estimator's loss for the positions that were
// drawn. Their reward is the log probability of the whole target (Xu et al. 2015), or of the token
// that was written after looking there, which varies less but leaves out what a position does to
// later tokens.
Var reinforce_loss(const Predictions& predictions, const Batch& batch, std::string_view reward,
                   Reinforce& reinforce);

}  // namespace regrad::seq2seq
