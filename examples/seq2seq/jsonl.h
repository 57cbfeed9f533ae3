#pragma once

#include <filesystem>
#include <string_view>

#include <nlohmann/json.hpp>

namespace regrad::seq2seq {

// Adds one line of JSON to the file, flushed to the disk. A last line that was cut short, by a
// kill, is removed first. Throws Error, naming path and reason, when that cannot be done.
void append_line(const std::filesystem::path& path, const nlohmann::ordered_json& json);

// Discarded where the text is no JSON, or nests deeper than anything that this program writes: to
// print or compare it would take as many nested calls.
nlohmann::ordered_json parse_json(std::string_view text);

}  // namespace regrad::seq2seq
