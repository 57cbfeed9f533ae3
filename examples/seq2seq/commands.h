#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "examples/seq2seq/decode.h"

// What the program does. Results go to standard output, all else to standard error. Each throws
// Error for bad input, before anything was written.
namespace regrad::seq2seq {

struct TrainOptions {
  std::string program;           // as it was called, for hints
  nlohmann::ordered_json given;  // options of the configuration, by name
  std::filesystem::path out;
  bool resume = false;
};
// Throws Stopped at a SIGINT or SIGTERM, when everything is saved.
void train(const TrainOptions& options);

struct TranslateOptions {
  std::filesystem::path model;
  DecodeOptions decoding;
};
void translate(const TranslateOptions& options);

struct EvaluateOptions {
  std::filesystem::path model;
  std::filesystem::path data;  // a TSV file, or
  std::string task;            // the test part of a task
  bool json = false;
  DecodeOptions decoding;
};
void evaluate(const EvaluateOptions& options);

struct AttendOptions {
  std::filesystem::path model;
  std::string line;
  std::optional<std::string> target;  // to show instead of a translation
  DecodeOptions decoding;
};
void attend(const AttendOptions& options);

}  // namespace regrad::seq2seq
