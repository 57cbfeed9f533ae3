#include "ops/storage.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <new>

#include <sanitizer/asan_interface.h>

namespace regrad {
namespace detail {
namespace {

constexpr int size_classes = 4 * 48;
constexpr std::size_t header_bytes = 64;
static_assert(sizeof(Block) <= header_bytes);

// Four classes per power of two: at most a quarter of a block is unused.
int size_class_of(std::size_t bytes) {
  std::size_t units = (bytes + 63) / 64;
  if (units <= 4) return static_cast<int>(units) - 1;
  int exponent = std::bit_width(units - 1) - 3;
  return 4 * exponent + static_cast<int>((units - 1) >> exponent);
}

std::size_t class_bytes(int size_class) {
  if (size_class < 4) return 64 * static_cast<std::size_t>(size_class + 1);
  int exponent = size_class / 4 - 1;
  return 64 * ((static_cast<std::size_t>(size_class % 4) + 5) << exponent);
}

struct Pool {  // constant-initialised and trivially destroyed: no guard on the fast path
  std::array<Block*, size_classes> free;
  PoolStats stats;
  bool closed;  // the thread is ending: blocks go straight back to the system
};
constinit thread_local Pool pool{};

// Under AddressSanitizer only the bytes that were asked for may be touched; otherwise no-ops.
void allow(Block* block, std::size_t bytes) {
  ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<std::byte*>(block) + header_bytes, bytes);
}
void forbid(Block* block) {
  ASAN_POISON_MEMORY_REGION(reinterpret_cast<std::byte*>(block) + header_bytes,
                            class_bytes(static_cast<int>(block->size_class)));
}

void free_block(Block* block) {
  allow(block, class_bytes(static_cast<int>(block->size_class)));
  std::free(block);
}

void drain() {
  for (Block*& head : pool.free) {
    while (head) free_block(std::exchange(head, head->next));
  }
  pool.stats.bytes_cached = 0;
}

struct Closer {
  bool armed = false;
  ~Closer() {
    drain();
    pool.closed = true;
  }
};
thread_local Closer closer;

Block* allocate_block(int size_class) {
  closer.armed = true;  // constructs it, so that the thread's end drains the pool
  void* memory = std::aligned_alloc(64, header_bytes + class_bytes(size_class));
  if (!memory) throw std::bad_alloc();
  ++pool.stats.system_allocations;
  auto* block = new (memory) Block{{1}, static_cast<std::uint32_t>(size_class), nullptr};
  forbid(block);
  return block;
}

Block* take_block(int size_class) {
  Block* block = pool.free[size_class];
  if (!block) return allocate_block(size_class);
  pool.free[size_class] = block->next;
  pool.stats.bytes_cached -= static_cast<std::int64_t>(class_bytes(size_class));
  block->owners.store(1, std::memory_order_relaxed);
  return block;
}

}  // namespace

Block* acquire_block(std::size_t bytes) {
  if (bytes > (std::size_t{1} << 46)) throw std::bad_alloc();
  int size_class = size_class_of(bytes ? bytes : 1);
  Block* block = take_block(size_class);
  pool.stats.bytes_in_use += static_cast<std::int64_t>(class_bytes(size_class));
  allow(block, bytes);
  return block;
}

void release_block(Block* block) noexcept {
  auto bytes = static_cast<std::int64_t>(class_bytes(static_cast<int>(block->size_class)));
  pool.stats.bytes_in_use -= bytes;
  if (pool.closed) return free_block(block);
  forbid(block);
  pool.stats.bytes_cached += bytes;
  block->next = std::exchange(pool.free[block->size_class], block);
}

}  // namespace detail

PoolStats pool_stats() { return detail::pool.stats; }

void release_pool() { detail::drain(); }

}  // namespace regrad
