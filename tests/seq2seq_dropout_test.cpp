#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/tape.h"
#include "examples/seq2seq/model.h"

// What the kinds of dropout leave without a gradient.
using namespace regrad;
using namespace regrad::seq2seq;

namespace {

Config small() {
  Config config;
  config.hidden = 16;
  config.embedding = 24;
  config.dropout = 0;
  return config;
}

// Every token is another one, so that only a common mask makes a whole column vanish.
Batch one_sentence() {
  const std::vector<Example> examples{{{4, 5, 6, 7, 8}, {4, 5, 6, 7, 8}}};
  return make_batch(examples, {0});
}

std::map<std::string, Tensor> gradients_of(const Config& config) {
  Rng rng(3);
  const auto model = make_model(9, 9, config, rng, DType::f64);
  const Batch batch = one_sentence();
  Tape tape;
  const Predictions predictions = (*model)(batch, &rng);
  const Gradients gradients =
      tape.backward(cross_entropy(predictions.logits, batch.target_out, batch.target_lengths));
  std::map<std::string, Tensor> found;
  for (const auto& [path, parameter] : parameters(*model)) found[path] = gradients[parameter];
  return found;
}

// The share of columns of x [R, C], or of entries, that are 0.
double zero_columns(const Tensor& x) {
  Index zero = 0;
  for (Index c = 0; c < x.shape()[1]; ++c) {
    bool all = true;
    for (Index r = 0; r < x.shape()[0]; ++r) all = all && x.at({r, c}) == 0;
    zero += all;
  }
  return static_cast<double>(zero) / static_cast<double>(x.shape()[1]);
}

double zero_entries(const Tensor& x) {
  Index zero = 0;
  for (const double value : x.to_vector()) zero += value == 0;
  return static_cast<double>(zero) / static_cast<double>(x.size());
}

}  // namespace

TEST_CASE("variational dropout drops the same entries at all steps of a sentence, plain does not") {
  for (const char* decoder : {"bahdanau", "luong"}) {
    for (const bool variational : {false, true}) {
      Config config = small();
      config.decoder = decoder;
      config.dropout = 0.5;
      config.variational_dropout = variational;
      const auto gradients = gradients_of(config);
      for (const char* path :
           {"encoder.embedding.weight", "decoder.embedding.weight", "decoder.output.weight"}) {
        CAPTURE(path);
        const double share = zero_columns(gradients.at(path));
        if (variational) {
          CHECK(share > 0.25);  // half of them in expectation
          CHECK(share < 0.75);
        } else {
          CHECK(share < 0.25);  // 2⁻⁵ or 2⁻⁶
        }
      }
    }
  }
}

TEST_CASE("weight dropout is on the hidden-to-hidden matrices of encoder and decoder") {
  for (const char* cell : {"rnn", "gru", "lstm"}) {
    CAPTURE(cell);
    Config config = small();
    config.cell = cell;
    config.weight_dropout = 0.4;
    for (const auto& entry : gradients_of(config)) {
      const std::string& path = entry.first;
      if (path.find("embedding") != std::string::npos) continue;  // tokens that do not occur
      CAPTURE(path);
      const bool dropped = path.find("weight_hh") != std::string::npos;
      CHECK(zero_entries(entry.second) == doctest::Approx(dropped ? 0.4 : 0).epsilon(0.2));
    }
  }
}

TEST_CASE("without a generator, kinds of dropout and their absence give the same bits") {
  Config config = small();
  const Batch batch = one_sentence();
  Rng rng(3), same(3);
  const Tensor plain = (*make_model(9, 9, config, rng))(batch).logits.value();
  config.dropout = config.weight_dropout = 0.5;
  config.variational_dropout = true;
  CHECK(identical((*make_model(9, 9, config, same))(batch).logits.value(), plain));
}
