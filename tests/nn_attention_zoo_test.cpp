#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "nn/attention.h"
#include "nn/recurrent.h"
#include "tests/nn_check.h"

// Gradients of every score with every alignment, cell and batch through a whole encoder-decoder.
namespace regrad {
namespace {

using testing::difference;

constexpr Index steps = 2, token_size = 1;

Tensor draw(const Shape& shape, Rng& rng) { return normal(shape, 0, 1, rng, DType::f64); }

// A bidirectional encoder, whose last states are the decoder's first, and a decoder of one cell
// with as many units as an annotation, so that every score can compare the two.
struct Tiny : Module {
  Tiny(std::string_view cell_name, std::string_view score, std::string_view alignment, Rng& rng)
      : encoder(make_recurrent(cell_name, 2, 1, rng, DType::f64, {.bidirectional = true})),
        attention(score, alignment,
                  {.query_size = 2,
                   .key_size = 2,
                   .attention_size = 2,
                   .location_filters = 1,
                   .location_width = 3,
                   .window = 1,
                   .monotonic_noise = 0},
                  rng, DType::f64),
        cell(make_cell(cell_name, token_size + 2, 2, rng, DType::f64)) {
    // Above 0, rectified units have a gradient, and no query of 0 makes a cosine's undefined.
    if (cell_name == "rnn-relu") {
      for (Index i = 0; i < 2; ++i)
        Parameter(encoder->cell(i).bias_ih).assign(full({1}, 1, DType::f64));
      cell->bias_ih.assign(full({2}, 1, DType::f64));
    }
    name_parameters(*this);
  }
  void visit(Visitor& visitor) const override {
    visitor("encoder", *encoder);
    visitor("attention", attention);
    visitor("cell", *cell);
  }

  std::unique_ptr<Recurrent> encoder;
  Attention attention;
  std::unique_ptr<RecurrentCell> cell;
};

struct Inputs {
  explicit Inputs(const Lengths& all)
      : lengths(all),
        rng(7),
        source(draw({all.time(), all.batch(), 2}, rng)),
        tokens(draw({steps, all.batch(), token_size}, rng)) {
    source.set_name("source");
    tokens.set_name("tokens");
  }

  Lengths lengths;
  Rng rng;
  Parameter source, tokens;
};

struct Decoding {
  AttentionMemory memory;
  RecurrentState state;
  AttentionState attention;
};

Decoding begin(const Tiny& model, const Inputs& inputs) {
  const RecurrentOutput encoded = (*model.encoder)(inputs.source, inputs.lengths);
  Decoding decoding{model.attention.prepare(encoded.outputs, inputs.lengths), {}, {}};
  for (const Var& final : encoded.final) {
    decoding.state.push_back(concat({select(final, 0, 0), select(final, 0, 1)}, 1));
  }
  decoding.attention = model.attention.start(decoding.memory);
  return decoding;
}

// Attends and goes on; everything that the step made, [B, ·]. With summed-out positions nothing of
// them is fed, and a step's outcome is log Σ_s α_s σ(sᵀ h_s).
Var advance(const Tiny& model, const Inputs& inputs, Index t, Decoding& decoding, Rng* rng) {
  const AttentionOutput y =
      model.attention(decoding.state[0], decoding.memory, decoding.attention, rng);
  const bool marginal = y.log_weights.rank() == 2;
  const Var token = select(Var(inputs.tokens), 0, t);
  const Var fed = marginal ? decoding.state[0] : y.context;
  decoding.state = (*model.cell)(concat({token, fed}, 1), decoding.state);
  decoding.attention = y.state;
  std::vector<Var> made{y.context, y.weights, decoding.state[0]};
  if (marginal) {
    const Var fit = sum(decoding.memory.values * decoding.state[0], {-1});  // [S, B]
    made.push_back(
        unsqueeze(marginal_log_likelihood(y.log_weights, log_sigmoid(fit), inputs.lengths), -1));
  }
  if (y.log_probability.rank() == 1 && y.log_probability.size() == inputs.lengths.batch()) {
    made.push_back(unsqueeze(y.log_probability, -1));
    made.push_back(unsqueeze(y.entropy, -1));
  }
  return concat(made, 1);
}

// The same draws each time.
Var outputs_of(const Tiny& model, const Inputs& inputs, std::uint64_t seed = 3) {
  Rng rng(seed);
  Decoding decoding = begin(model, inputs);
  std::vector<Var> made;
  for (Index t = 0; t < steps; ++t) made.push_back(advance(model, inputs, t, decoding, &rng));
  return concat(made, 1);
}

std::vector<Parameter> leaves(const Tiny& model, const Inputs& inputs) {
  std::vector<Parameter> all = parameter_list(model);
  all.push_back(inputs.source);
  all.push_back(inputs.tokens);
  return all;
}

void check(const std::function<Var()>& f, const Tiny& model, const Inputs& inputs) {
  const GradcheckReport report = gradcheck(f, leaves(model, inputs), {.step = 1e-4});
  CHECK_MESSAGE(report.passed, report.to_string());
}

// f(model, inputs) for every score and cell, a batch of one and an uneven one with an empty source.
void for_each_model(std::string_view alignment,
                    const std::function<void(const Tiny&, const Inputs&)>& f) {
  for (const std::string_view score : score_names()) {
    for (const std::string_view cell : recurrent_names()) {
      for (const Lengths& lengths : {Lengths({3}, 3), Lengths({3, 0, 2}, 3)}) {
        INFO(std::string(score), " ", std::string(alignment), " ", std::string(cell), " ",
             lengths.batch());
        Rng rng(5);
        f(Tiny(cell, score, alignment, rng), Inputs(lengths));
      }
    }
  }
}

}  // namespace

TEST_CASE("zoo: every gradient of every score, differentiable alignment, cell and batch") {
  for (const std::string_view alignment : alignment_names()) {
    if (alignment == "hard-gumbel") continue;  // below
    // hard-reinforce: given its draws, with their probabilities and entropies
    for_each_model(alignment, [](const Tiny& model, const Inputs& inputs) {
      check([&] { return outputs_of(model, inputs); }, model, inputs);
    });
  }
}

// The forward pass is a step function; its gradient is that of the softmax with the same noise.
TEST_CASE("zoo: hard-gumbel has the gradient of its relaxed weights, for every score and cell") {
  for_each_model("hard-gumbel", [](const Tiny& model, const Inputs& inputs) {
    const auto weights = [&](bool hard) {
      Rng rng(3);
      const Decoding decoding = begin(model, inputs);
      const Var token = select(Var(inputs.tokens), 0, 0);
      const Var query = (*model.cell)(concat({token, decoding.state[0]}, 1), decoding.state)[0];
      if (hard) return model.attention(query, decoding.memory, decoding.attention, &rng).weights;
      const Var scores = model.attention.score(query, decoding.memory, decoding.attention);
      std::vector<double> noise(static_cast<std::size_t>(scores.size()));
      for (double& value : noise) value = -std::log(-std::log((rng.bits() + 0.5) * 0x1p-32));
      return softmax(scores + Var(tensor(noise, scores.shape(), DType::f64)), inputs.lengths);
    };
    check([&] { return weights(false); }, model, inputs);
    const std::vector<Parameter> all = leaves(model, inputs);
    const auto gradients_of = [&](bool hard) {
      Rng rng(9);
      Tape tape;
      const Var y = weights(hard);
      const Gradients gradients = tape.backward(sum(y * Var(draw(y.shape(), rng))));
      std::vector<Tensor> found;
      for (const Parameter& parameter : all) found.push_back(gradients[parameter]);
      return found;
    };
    const std::vector<Tensor> hard = gradients_of(true), relaxed = gradients_of(false);
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(difference(hard[i], relaxed[i]) < 1e-14);
  });
}

// Every sequence of positions that can be drawn, weighed by its probability: Σ p(s) f(s), whose
// gradient is what the score-function estimator estimates.
TEST_CASE("zoo: hard-reinforce's expected outcome, enumerated, for every score and cell") {
  for (const std::string_view score : score_names()) {
    for (const std::string_view cell : recurrent_names()) {
      INFO(std::string(score), " ", std::string(cell));
      Rng rng(5);
      const Tiny model(cell, score, "hard-reinforce", rng);
      const Inputs inputs(Lengths({2}, 2));
      // A seed for each pair of positions; an output row holds context 2, weights 2, state 2, log p
      // and entropy.
      constexpr Index width = 8;
      std::map<std::vector<double>, std::uint64_t> seeds;
      for (std::uint64_t seed = 0; seeds.size() < 4 && seed < 100'000; ++seed) {
        const std::vector<double> y = outputs_of(model, inputs, seed).value().to_vector();
        seeds.emplace(std::vector<double>{y[2], y[2 + width]}, seed);
      }
      REQUIRE(seeds.size() == 4);
      double total = 0;
      const auto expected = [&] {
        Var outcome = zeros({1, steps * width}, DType::f64);
        total = 0;
        for (const auto& [positions, seed] : seeds) {
          const Var y = outputs_of(model, inputs, seed);
          const Var p = exp(slice(y, 1, 6, 7) + slice(y, 1, 6 + width, 7 + width));
          outcome += p * y;
          total += p.item();
        }
        return outcome;
      };
      expected();
      CHECK(total == doctest::Approx(1).epsilon(1e-14));
      check(expected, model, inputs);
    }
  }
}

}  // namespace regrad
