#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace regrad {

// Replaces a file by the parts, one after the other, in one step: a temporary file in the same
// folder is written, flushed to the disk and renamed, so that a kill at any moment leaves the old
// or the new file whole. Throws Error with path and reason, having removed the temporary file.
void replace_file(const std::filesystem::path& path,
                  const std::vector<std::span<const std::byte>>& parts);

}  // namespace regrad
