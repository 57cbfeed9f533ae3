#include "nn/safetensors_header.h"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "ops/axis.h"
#include "ops/error.h"

namespace regrad::safetensors {
namespace {

using Json = nlohmann::json;
constexpr const char* metadata_key = "__metadata__";

// The library keeps the last of equal keys; here they are an error, and so is deep nesting.
class Strict {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > deepest) fail("the header nests deeper than {} levels", deepest);
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys_.back().insert(parsed.get<std::string>()).second) {
      fail("the header has the key {} twice", parsed.dump());
    }
    return true;
  }

 private:
  static constexpr int deepest = 3;
  std::vector<std::set<std::string>> keys_;
};

Json parse_json(std::string_view text) {
  if (text.empty() || text.front() != '{') fail("the header is not a JSON object");
  Strict strict;
  try {
    return Json::parse(text, [&](int depth, Json::parse_event_t event, Json& parsed) {
      return strict(depth, event, parsed);
    });
  } catch (const Json::exception& error) {
    fail("the header is not valid JSON: {}", error.what());
  }
}

std::map<std::string, std::string> parse_metadata(const Json& json) {
  if (!json.is_object()) fail("{} is not an object", metadata_key);
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) fail("{}: the value of {} is not a string", metadata_key, key);
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

DType parse_dtype(const std::string& name, const Json& json) {
  if (json == "F32") return DType::f32;
  if (json == "F64") return DType::f64;
  for (const char* known : {"BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "I16", "U16", "F16", "BF16",
                            "I32", "U32", "I64", "U64"}) {
    if (json == known) fail("tensor {}: type {} is not supported; convert it to F32", name, known);
  }
  fail("tensor {}: unknown type {}", name, json.dump());
}

std::vector<std::uint64_t> parse_naturals(const std::string& name, const char* what,
                                          const Json& json) {
  if (!json.is_array()) fail("tensor {}: {} is not an array", name, what);
  std::vector<std::uint64_t> numbers;
  for (const Json& number : json) {
    // Negative numbers, fractions and what exceeds 64 bits are not unsigned.
    if (!number.is_number_unsigned()) {
      fail("tensor {}: {} holds {}, which is no size", name, what, number.dump());
    }
    numbers.push_back(number.get<std::uint64_t>());
  }
  return numbers;
}

// The shape and its size in bytes, which must fit.
std::pair<Shape, std::uint64_t> parse_shape(const std::string& name, const Json& json,
                                            DType dtype) {
  const std::vector<std::uint64_t> sizes = parse_naturals(name, "shape", json);
  if (sizes.size() > Shape::max_rank) {
    fail("tensor {}: {} dimensions; at most {} are supported", name, sizes.size(), Shape::max_rank);
  }
  std::uint64_t bytes = size_of(dtype);
  for (const std::uint64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, size, &bytes) || !std::in_range<Index>(bytes) ||
        !std::in_range<Index>(size)) {
      fail("tensor {}: the product of shape {} overflows", name, json.dump());
    }
  }
  const std::vector<Index> dimensions(sizes.begin(), sizes.end());
  // A size of 0 hides the others in the product.
  const std::string tensor = fmt::format("tensor {}", name);
  return {require_shape(tensor, [&] { return Shape(dimensions); }), bytes};
}

Entry parse_entry(const std::string& name, const Json& json) {
  if (!json.is_object()) fail("tensor {}: its entry is not an object", name);
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!json.contains(key)) fail("tensor {}: {} is missing", name, key);
  }
  if (json.size() != 3) fail("tensor {}: its entry has unknown keys", name);
  const std::vector<std::uint64_t> offsets =
      parse_naturals(name, "data_offsets", json["data_offsets"]);
  if (offsets.size() != 2) fail("tensor {}: data_offsets must be two numbers", name);
  const std::uint64_t begin = offsets[0], end = offsets[1];
  const DType dtype = parse_dtype(name, json["dtype"]);
  const auto [shape, bytes] = parse_shape(name, json["shape"], dtype);
  if (begin > end) fail("tensor {}: data_offsets [{}, {}] are reversed", name, begin, end);
  if (end - begin != bytes) {
    fail("tensor {}: data_offsets [{}, {}] do not hold the {} bytes of shape {}", name, begin, end,
         bytes, shape);
  }
  return {name, dtype, shape, begin, end};
}

void check_cover(const std::vector<Entry>& entries, std::uint64_t data_size) {
  std::uint64_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.end > data_size) {
      fail("tensor {}: data_offsets [{}, {}] reach beyond the {} bytes of data", entry.name,
           entry.begin, entry.end, data_size);
    }
    if (entry.begin < covered) fail("tensor {}: its data overlaps another's", entry.name);
    if (entry.begin > covered) fail("tensor {}: a hole before its data", entry.name);
    covered = entry.end;
  }
  if (covered != data_size) {
    fail("{} bytes behind the last tensor's data", data_size - covered);
  }
}

}  // namespace

Header parse_header(std::string_view text, std::uint64_t data_size) {
  const Json json = parse_json(text);
  Header header;
  for (const auto& [name, value] : json.items()) {
    if (name == metadata_key) {
      header.metadata = parse_metadata(value);
    } else {
      header.entries.push_back(parse_entry(name, value));
    }
  }
  std::ranges::sort(header.entries, {},
                    [](const Entry& entry) { return std::pair(entry.begin, entry.end); });
  check_cover(header.entries, data_size);
  return header;
}

std::string write_header(const Header& header) {
  Json json = Json::object();
  if (!header.metadata.empty()) json[metadata_key] = header.metadata;
  for (const Entry& entry : header.entries) {
    if (entry.name == metadata_key) fail("a tensor cannot be named {}", metadata_key);
    json[entry.name] = {{"dtype", entry.dtype == DType::f32 ? "F32" : "F64"},
                        {"shape", std::vector<Index>(entry.shape.begin(), entry.shape.end())},
                        {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const Json::exception& error) {
    fail("a name or metadata text cannot be written: {}", error.what());
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > longest_header) fail("the header of {} bytes is too long", text.size());
  return text;
}

}  // namespace regrad::safetensors
