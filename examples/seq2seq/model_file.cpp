#include "examples/seq2seq/model_file.h"

#include <string>
#include <string_view>
#include <utility>

#include "examples/seq2seq/jsonl.h"
#include "nn/checkpoint.h"
#include "ops/error.h"

namespace regrad::seq2seq {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view format = "regrad seq2seq 1";
constexpr std::uint64_t initial_stream = 1;  // of the seed, for the first parameters

const std::string& metadata(const SafeTensors& content, const std::string& key) {
  const auto entry = content.metadata.find(key);
  if (entry == content.metadata.end()) fail("its metadata has no `{}`", key);
  return entry->second;
}

Json parsed(const SafeTensors& content, const std::string& key) {
  Json json = parse_json(metadata(content, key));
  if (json.is_discarded()) fail("the metadata `{}` is no JSON, or nests too deeply", key);
  return json;
}

void require_shape(const SafeTensors& content, const std::string& name, const Shape& shape) {
  const auto entry = content.tensors.find(name);
  if (entry == content.tensors.end()) fail("it has no tensor {}", name);
  if (entry->second.shape() != shape) {
    fail("{} is {}, the configuration asks for {}", name, entry->second.shape(), shape);
  }
}

// A model of the configuration's size is made only for a file of that size.
void require_sizes(const SafeTensors& content, const Config& config, const Vocabulary& source,
                   const Vocabulary& target) {
  const auto rows = [](const Vocabulary& vocabulary) {
    return static_cast<Index>(vocabulary.size());
  };
  if (config.architecture == "transformer") {
    require_shape(content, "source_embedding.weight", {rows(source), config.hidden});
    require_shape(content, "target_embedding.weight", {rows(target), config.hidden});
    if (config.positions == "learned") {
      require_shape(content, "source_positions.weight", {config.longest, config.hidden});
      require_shape(content, "target_positions.weight", {config.longest, config.hidden});
    }
    for (Index layer = 0; layer < config.layers; ++layer) {
      require_shape(content, fmt::format("encoder.layers.{}.self_attn.out_proj.weight", layer),
                    {config.hidden, config.hidden});
    }
    return;
  }
  const Index blocks = config.cell == "lstm" ? 4 : config.cell == "gru" ? 3 : 1;
  require_shape(content, "encoder.embedding.weight", {rows(source), config.embedding});
  require_shape(content, "decoder.embedding.weight", {rows(target), config.embedding});
  for (Index layer = 0; layer < config.layers; ++layer) {
    require_shape(content, fmt::format("encoder.{}.weight_hh_l{}", config.cell, layer),
                  {blocks * config.hidden, config.hidden});
  }
  if (const Index size = config.decoder_hidden; size > 0) {
    require_shape(content, "decoder.cell.weight_hh", {blocks * size, size});
  }
}

std::shared_ptr<const Model> random_model(const Config& config, const Vocabulary& source,
                                          const Vocabulary& target) {
  Rng rng(config.seed, initial_stream);
  return make_model(static_cast<Index>(source.size()), static_cast<Index>(target.size()), config,
                    rng);
}

}  // namespace

Translator::Translator(const Config& configuration, Vocabulary source_vocabulary,
                       Vocabulary target_vocabulary)
    : config(configuration),
      source(std::move(source_vocabulary)),
      target(std::move(target_vocabulary)),
      model(random_model(config, source, target)) {}

SafeTensors to_safetensors(const Translator& translator) {
  SafeTensors content;
  save_parameters(*translator.model, content);
  content.metadata = {{"format", std::string(format)},
                      {"config", to_json(translator.config).dump()},
                      {"source_vocabulary", translator.source.to_json().dump()},
                      {"target_vocabulary", translator.target.to_json().dump()},
                      {"longest_target", std::to_string(translator.longest_target)}};
  return content;
}

Translator translator_from(const SafeTensors& content) {
  if (metadata(content, "format") != format) {
    fail("its format is \"{}\", this program reads \"{}\"", metadata(content, "format"), format);
  }
  const Config config = config_from_json(parsed(content, "config"));
  const Json longest = parsed(content, "longest_target");
  if (!longest.is_number_unsigned() || longest > most_target_tokens) {
    fail("`longest_target` cannot be {}", longest.dump());
  }
  Vocabulary source = Vocabulary::from_json(parsed(content, "source_vocabulary"));
  Vocabulary target = Vocabulary::from_json(parsed(content, "target_vocabulary"));
  require_sizes(content, config, source, target);
  Translator translator(config, std::move(source), std::move(target));
  translator.longest_target = longest.get<Index>();
  SafeTensors parameters;
  for (const auto& [name, tensor] : content.tensors) {
    if (!name.starts_with("optimizer.") && !name.starts_with("average."))
      parameters.tensors.emplace(name, tensor);
  }
  load_parameters(*translator.model, parameters);
  return translator;
}

Translator load_translator(const std::filesystem::path& path) {
  const SafeTensors content = load_safetensors(path);  // names the path itself
  try {
    return translator_from(content);
  } catch (const Error& error) {
    fail("{} is not a model of this program: {}", path.string(), error.what());
  }
}

}  // namespace regrad::seq2seq
