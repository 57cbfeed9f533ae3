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
  bool concatenate = false;
  std::string source_tokens = "words", target_tokens = "words";
  Index min_count = 1, vocabulary_size = 0;  // of either side; 0: no limit

  std::string architecture = "recurrent", cell = "gru";
  std::string attention = "additive", alignment = "soft", decoder = "bahdanau";
  std::string fixed_vector = "each-step";
  Index layers = 1, hidden = 128, embedding = 64;
  Index decoder_hidden = 0;  // 0: as the attention needs it
  Index heads = 4;
  bool tied_embeddings = false;
  bool fixed_sharpening = false;
  Index window = 10;
  double temperature = 1;
  double entropy = 0.01;
  std::string reward = "token";
  double dropout = 0.3;
  bool variational_dropout = false;
  double weight_dropout = 0;
  bool learned_initial = false;
  std::string positions = "sinusoidal", norm = "pre";
  Index longest = 256;

  Index batch = 64;
  Index epochs = 0, steps = 0;  // 0: no limit
  Index accumulate = 1;
  std::string optimizer = "adam", schedule = "plateau";
  double learning_rate = 1e-3;
  double weight_decay = 0, momentum = 0;
  Index warmup = 0;
  Index average = 1;
  double label_smoothing = 0.1;
  double scheduled_sampling = 0;
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
  visit("concatenate", c.concatenate, Choices{},
        "train on pairs of examples, too: as many as there are, drawn anew in each epoch");
  visit("source-tokens", c.source_tokens, Choices{"words", "chars", "codepoints"},
        "what a source consists of");
  visit("target-tokens", c.target_tokens, Choices{"words", "chars", "codepoints"},
        "what a target consists of");
  visit("min-count", c.min_count, Choices{},
        "tokens that the training file has less often become <unk>, on either side");
  visit("vocabulary-size", c.vocabulary_size, Choices{},
        "the most frequent tokens of either side that do not become <unk>; 0: all");
  visit("architecture", c.architecture, Choices{"recurrent", "transformer"}, "kind of model");
  visit("cell", c.cell, Choices{"rnn", "rnn-relu", "gru", "lstm"}, "recurrent cell");
  visit("layers", c.layers, Choices{}, "layers of the encoder; of a transformer, on either side");
  visit("hidden", c.hidden, Choices{}, "units of a recurrent layer, in each direction");
  visit("decoder-hidden", c.decoder_hidden, Choices{},
        "units of the recurrent decoder; 0: hidden, or twice that where the score compares sizes");
  visit("embedding", c.embedding, Choices{}, "size of a token's vector; a transformer's is hidden");
  visit("heads", c.heads, Choices{}, "attention heads of a transformer");
  visit("tied-embeddings", c.tied_embeddings, Choices{},
        "target vectors are the output layer's weights, too");
  visit("dropout", c.dropout, Choices{}, "share of vector entries dropped in training");
  visit("variational-dropout", c.variational_dropout, Choices{},
        "a sentence's dropout is the same at all its steps");
  visit("weight-dropout", c.weight_dropout, Choices{},
        "share of the entries of hidden-to-hidden matrices dropped in training");
  visit("learned-initial", c.learned_initial, Choices{},
        "the recurrent encoder's first states are learned, not zero");
  visit("positions", c.positions, Choices{"sinusoidal", "learned"},
        "what tells a transformer where a token stands");
  visit("longest", c.longest, Choices{}, "learned positions: so many, no sentence can be longer");
  visit("norm", c.norm, Choices{"pre", "post"},
        "where a transformer's layer normalises: before each part, or after it as in the paper");
  visit("attention", c.attention,
        Choices{"none", "content", "additive", "general", "dot", "scaled-dot", "location"},
        "attention score");
  visit("alignment", c.alignment,
        Choices{"soft", "sparsemax", "entmax", "local-m", "local-p", "monotonic", "hard-reinforce",
                "hard-gumbel", "hard-marginal"},
        "how scores become weights");
  visit("decoder", c.decoder, Choices{"bahdanau", "luong"},
        "attend from the state before a step, or from that after it with input feeding");
  visit("fixed-vector", c.fixed_vector, Choices{"each-step", "initial"},
        "without attention: where the decoder gets the source from");
  visit("fixed-sharpening", c.fixed_sharpening, Choices{}, "content score: the bare cosine");
  visit("window", c.window, Choices{}, "local alignment: positions to each side");
  visit("temperature", c.temperature, Choices{}, "hard-gumbel: of the softmax in the gradient");
  visit("entropy", c.entropy, Choices{}, "hard-reinforce: weight of the entropy term");
  visit("reward", c.reward, Choices{"token", "sentence"},
        "hard-reinforce: whose log probability a drawn position is rewarded with");
  visit("batch", c.batch, Choices{}, "examples in a training step");
  visit("epochs", c.epochs, Choices{}, "at most so many passes over the training file");
  visit("steps", c.steps, Choices{}, "at most so many training steps");
  visit("accumulate", c.accumulate, Choices{}, "batches whose gradients make one step");
  visit("optimizer", c.optimizer, Choices{"adam", "adamw", "sgd", "adadelta"}, "optimizer");
  visit("learning-rate", c.learning_rate, Choices{}, "its highest");
  visit("weight-decay", c.weight_decay, Choices{}, "of the optimizer");
  visit("momentum", c.momentum, Choices{}, "of sgd");
  visit("schedule", c.schedule, Choices{"constant", "inverse-sqrt", "cosine", "plateau"},
        "how the learning rate falls");
  visit("warmup", c.warmup, Choices{}, "steps in which the learning rate rises to its highest");
  visit("average", c.average, Choices{},
        "evaluate and keep the mean of so many evaluations' models");
  visit("label-smoothing", c.label_smoothing, Choices{}, "probability spread over all tokens");
  visit("scheduled-sampling", c.scheduled_sampling, Choices{},
        "share of the decoder's inputs that are its own predictions in training");
  visit("patience", c.patience, Choices{}, "evaluations without a better score before it stops");
  visit("seed", c.seed, Choices{}, "of all randomness");
  visit("threads", c.threads, Choices{}, "parts of a batch computed side by side");
}

// By option name.
nlohmann::ordered_json to_json(const Config& config);
// An option that is missing, as older files do not have it, is as in Config(). Throws Error for
// anything else that to_json does not write and for what check rejects.
Config config_from_json(const nlohmann::ordered_json& json);

// The defaults for a task, or for files and the kind of model, with the given options in their
// place. Throws Error as config_from_json does.
Config make_config(const nlohmann::ordered_json& given);
// The saved configuration with the given options in their place. Throws Error, naming it, for one
// that would make it another run; its limits, patience and threads may change.
Config resumed_config(const Config& saved, const nlohmann::ordered_json& given);

// Throws UsageError, naming the option, for a value that cannot work and for options that do not go
// together.
void check(const Config& config);
// Whether the score compares states and annotations as they are, so that their sizes must be equal.
bool compares_sizes(const Config& config);
// Throws UsageError for a schedule that does not fit the length of the run, in steps; 0: no limit.
void check_schedule(const Config& config, Index step_limit);

}  // namespace regrad::seq2seq
