#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "ops/tensor.h"

namespace regrad {

// The content of a safetensors file (https://github.com/huggingface/safetensors): an 8-byte
// little-endian header length; a JSON header {"name": {"dtype", "shape", "data_offsets"}, …,
// "__metadata__": {string: string}}, padded with spaces to a multiple of 8; then the numbers,
// little-endian and row-major, without gaps.
struct SafeTensors {
  std::map<std::string, Tensor> tensors;  // F32 and F64
  std::map<std::string, std::string> metadata;
};

// Replaces the file in one step: a temporary file in the same folder is written, flushed to the
// disk and renamed, so that a kill at any moment leaves the old or the new file whole. Throws Error
// with path and reason, having removed the temporary file.
void save_safetensors(const std::filesystem::path& path, const SafeTensors& content);

// Throws Error with path and reason for a file that cannot be read or is not exactly what the
// format asks for; nothing is allocated for tensors before the whole header has been checked.
SafeTensors load_safetensors(const std::filesystem::path& path);

}  // namespace regrad
