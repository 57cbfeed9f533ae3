#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>

namespace regrad::seq2seq {

// Adds one line of JSON to the file, flushed to the disk. A last line that was cut short, by a
// kill, is removed first. Throws Error, naming path and reason, when that cannot be done.
void append_line(const std::filesystem::path& path, const nlohmann::ordered_json& json);

}  // namespace regrad::seq2seq
