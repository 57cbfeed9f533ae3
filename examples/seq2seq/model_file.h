#pragma once

#include <filesystem>
#include <memory>

#include "examples/seq2seq/config.h"
#include "examples/seq2seq/model.h"
#include "examples/seq2seq/vocabulary.h"
#include "nn/safetensors.h"

namespace regrad::seq2seq {

// No target of a training has more tokens: what a file says bounds how long decoding may go on.
constexpr Index most_target_tokens = 1'000'000;

// A model with all that it takes to use it on text.
struct Translator {
  // With random parameters, which the configuration's seed decides.
  Translator(const Config& config, Vocabulary source, Vocabulary target);

  Config config;
  Vocabulary source, target;
  Index longest_target = 0;  // in training, in tokens; decoding may go somewhat beyond
  std::shared_ptr<const Model> model;
};

// One file is enough to use a model: the parameters under their names; configuration, vocabularies
// and the version of this format in the metadata. Tensors whose names begin with `optimizer.` and
// further metadata are for whoever resumes training.
SafeTensors to_safetensors(const Translator& translator);
// Throws Error for content that to_safetensors does not write. Allocates in proportion to it.
Translator translator_from(const SafeTensors& content);

// Throws Error, naming the path, for a file that cannot be read or is not such a model.
Translator load_translator(const std::filesystem::path& path);

}  // namespace regrad::seq2seq
