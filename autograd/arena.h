#pragma once

#include <cstddef>
#include <vector>

#include "ops/storage.h"

namespace regrad {

// Memory that is handed out piece by piece and given back at once.
class Arena {
 public:
  // Uninitialised memory for one T that lives as long as the arena; its destructor is the caller's.
  template <class T>
  void* allocate() {
    static_assert(sizeof(T) <= chunk_bytes && alignof(T) <= 64);
    std::size_t begin = (used_ + alignof(T) - 1) / alignof(T) * alignof(T);
    if (chunks_.empty() || begin + sizeof(T) > chunk_bytes) {
      chunks_.emplace_back(chunk_bytes);
      begin = 0;
    }
    used_ = begin + sizeof(T);
    return chunks_.back().data() + begin;
  }

 private:
  static constexpr std::size_t chunk_bytes = 1 << 15;  // a small block of the pool

  std::vector<Storage, PoolAllocator<Storage>> chunks_;
  std::size_t used_ = 0;
};

}  // namespace regrad
