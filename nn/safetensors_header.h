#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ops/dtype.h"
#include "ops/shape.h"

// The JSON header of a safetensors file; see nn/safetensors.h.
namespace regrad::safetensors {

struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  std::uint64_t begin, end;  // bytes from the first byte behind the header
};

struct Header {
  std::vector<Entry> entries;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

constexpr std::uint64_t longest_header = 100'000'000;  // as the reference implementation

// Throws Error unless the text is a header whose entries cover data_size bytes, each byte once.
Header parse_header(std::string_view text, std::uint64_t data_size);

// The text with its padding. Throws Error for a name or a metadata string that is not UTF-8.
std::string write_header(const Header& header);

}  // namespace regrad::safetensors
