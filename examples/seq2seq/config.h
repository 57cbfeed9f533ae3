#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "ops/error.h"
#include "ops/shape.h"

namespace regrad::seq2seq {

// Options that are missing, unknown or do not go together: exit status 2 instead of 1.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Everything that decides what a training run does. It is saved with every model.
struct Config {
  std::string task;        // a synthetic task, or
  std::string train, dev;  // two TSV files
  std::string source_tokens = "words", target_tokens = "words";

  std::string cell = "gru", attention = "additive";
  Index layers = 1, hidden = 128, embedding = 64;
  double dropout = 0.3;

  Index batch = 64;
  Index epochs = 0, steps = 0;  // 0: no limit
  double learning_rate = 1e-3;
  double label_smoothing = 0.1;
  Index patience = 15;  // evaluations without a better score
  std::uint64_t seed = 1;
  Index threads = 2;
};

using Choices = std::initializer_list<std::string_view>;

// Calls visit(name, member, choices, help) for each option; without choices any value goes. The
// command line and the saved configuration both follow from this list.
template <class AnyConfig, class Visit>
void visit_options(AnyConfig& c, Visit&& visit) {
  visit("task", c.task, Choices{"copy", "reverse"}, "synthetic task on words of letters");
  visit("train", c.train, Choices{}, "TSV file to train on: source<TAB>target");
  visit("dev", c.dev, Choices{}, "TSV file that decides which model is best and when to stop");
  visit("source-tokens", c.source_tokens, Choices{"words", "chars"}, "what a source consists of");
  visit("target-tokens", c.target_tokens, Choices{"words", "chars"}, "what a target consists of");
  visit("cell", c.cell, Choices{"gru"}, "recurrent cell");
  visit("layers", c.layers, Choices{}, "layers of the encoder");
  visit("hidden", c.hidden, Choices{}, "units of a recurrent layer, in each direction");
  visit("embedding", c.embedding, Choices{}, "size of a token's vector");
  visit("dropout", c.dropout, Choices{}, "share of vector entries dropped in training");
  visit("attention", c.attention, Choices{"additive", "dot"}, "attention score");
  visit("batch", c.batch, Choices{}, "examples in a training step");
  visit("epochs", c.epochs, Choices{}, "at most so many passes over the training file");
  visit("steps", c.steps, Choices{}, "at most so many training steps");
  visit("learning-rate", c.learning_rate, Choices{}, "of Adam");
  visit("label-smoothing", c.label_smoothing, Choices{}, "probability spread over all tokens");
  visit("patience", c.patience, Choices{}, "evaluations without a better score before it stops");
  visit("seed", c.seed, Choices{}, "of all randomness");
  visit("threads", c.threads, Choices{}, "parts of a batch computed side by side");
}

// By option name.
nlohmann::ordered_json to_json(const Config& config);
// Throws Error for anything that to_json does not write and for what check rejects.
Config config_from_json(const nlohmann::ordered_json& json);

// The defaults for a task, or for files, with the given options in their place. Throws Error as
// config_from_json does.
Config make_config(const nlohmann::ordered_json& given);
// The saved configuration with the given options in their place. Throws Error, naming it, for one
// that would make it another run; its limits, patience and threads may change.
Config resumed_config(const Config& saved, const nlohmann::ordered_json& given);

// Throws Error, naming the option, for a value that cannot work; UsageError for options that do not
// go together.
void check(const Config& config);

}  // namespace regrad::seq2seq
