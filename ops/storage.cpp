#include "ops/storage.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <new>

#include <sanitizer/asan_interface.h>

#include "ops/error.h"

namespace regrad {
namespace detail {

constexpr int classes_per_power = 4;  // of two
constexpr int size_classes = classes_per_power * 48;
constexpr std::size_t large_bytes = 1 << 16;

struct Pool {
  std::array<Block*, size_classes> free{};
  PoolStats stats;
  std::atomic<Block*> returned{nullptr};     // by other threads, not yet in a free list
  std::atomic<std::uint64_t> references{1};  // its thread, and each of its blocks
};

namespace {

constexpr std::size_t header_bytes = 64;
static_assert(sizeof(Block) <= header_bytes);
constinit Block closed{};  // stands in `returned` once the thread has ended

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

void unlink(Pool* pool) {
  if (pool && pool->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete pool;
}

// Under AddressSanitizer only the bytes that were asked for may be touched; otherwise no-ops.
void allow(Block* block, std::size_t bytes) {
  ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<std::byte*>(block) + header_bytes, bytes);
}
void forbid(Block* block) {
  ASAN_POISON_MEMORY_REGION(reinterpret_cast<std::byte*>(block) + header_bytes,
                            class_bytes(static_cast<int>(block->size_class)));
}

void free_block(Block* block) {
  Pool* home = block->home;
  allow(block, class_bytes(static_cast<int>(block->size_class)));
  std::free(block);
  unlink(home);
}

// Puts a block of this thread's pool into its free list.
void keep(Pool& home, Block* block) {
  auto bytes = static_cast<std::int64_t>(class_bytes(static_cast<int>(block->size_class)));
  home.stats.bytes_in_use -= bytes;
  home.stats.bytes_cached += bytes;
  block->next = std::exchange(home.free[block->size_class], block);
}

// Leaves a block to the thread that made it; false when that thread has ended.
bool give_back(Pool& home, Block* block) {
  Block* head = home.returned.load(std::memory_order_relaxed);
  do {
    if (head == &closed) return false;
    block->next = head;
  } while (!home.returned.compare_exchange_weak(head, block, std::memory_order_acq_rel));
  return true;
}

void collect(Pool& own, Block* replacement = nullptr) {
  if (!own.returned.load(std::memory_order_relaxed) && !replacement) return;
  Block* block = own.returned.exchange(replacement, std::memory_order_acq_rel);
  while (block) keep(own, std::exchange(block, block->next));
}

void drain(Pool& own, Block* replacement = nullptr) {
  collect(own, replacement);
  for (Block*& head : own.free) {
    while (head) free_block(std::exchange(head, head->next));
  }
  own.stats.bytes_cached = 0;
}

constinit thread_local Pool* pool = nullptr;
constinit thread_local bool ending = false;

struct Closer {
  bool armed = false;
  ~Closer() {
    ending = true;
    drain(*pool, &closed);
    unlink(std::exchange(pool, nullptr));
  }
};
thread_local Closer closer;

// Null at the end of the thread, when its pool is gone.
Pool* own_pool() {
  if (!pool && !ending) {
    pool = new Pool;
    closer.armed = true;  // constructs it, so that the thread's end drains the pool
  }
  return pool;
}

[[noreturn]] void fail_memory(std::size_t bytes) {
  fail("out of memory: {} bytes were asked for", bytes);
}

Block* allocate_block(Pool* home, int size_class) {
  void* memory = std::aligned_alloc(64, header_bytes + class_bytes(size_class));
  if (!memory) fail_memory(class_bytes(size_class));
  auto* block = new (memory) Block{{1}, static_cast<std::uint32_t>(size_class), nullptr, home};
  if (home) {
    ++home->stats.system_allocations;
    home->references.fetch_add(1, std::memory_order_relaxed);
  }
  forbid(block);
  return block;
}

// A large block up to twice as large is better than one more: what has grown to its full size stays
// as small as it can.
int class_with_free_block(const Pool& own, int size_class) {
  if (own.free[size_class] || class_bytes(size_class) < large_bytes) return size_class;
  const int last = std::min(size_class + classes_per_power, size_classes - 1);
  for (int larger = size_class + 1; larger <= last; ++larger) {
    if (own.free[larger]) return larger;
  }
  return size_class;
}

Block* take_block(Pool& own, int size_class) {
  if (!own.free[size_class]) {
    collect(own);
    size_class = class_with_free_block(own, size_class);
  }
  Block* block = own.free[size_class];
  if (!block) return allocate_block(&own, size_class);
  own.free[size_class] = block->next;
  own.stats.bytes_cached -= static_cast<std::int64_t>(class_bytes(size_class));
  block->owners.store(1, std::memory_order_relaxed);
  return block;
}

}  // namespace

Block* acquire_block(std::size_t bytes) {
  if (bytes > (std::size_t{1} << 46)) fail_memory(bytes);
  int size_class = size_class_of(bytes ? bytes : 1);
  Pool* own = own_pool();
  Block* block = own ? take_block(*own, size_class) : allocate_block(nullptr, size_class);
  if (own) {
    own->stats.bytes_in_use +=
        static_cast<std::int64_t>(class_bytes(static_cast<int>(block->size_class)));
  }
  allow(block, bytes);
  return block;
}

void release_block(Block* block) noexcept {
  Pool* home = block->home;
  forbid(block);
  if (home && home == pool) return keep(*home, block);
  if (!home || !give_back(*home, block)) free_block(block);
}

}  // namespace detail

PoolStats pool_stats() {
  if (!detail::pool) return {};
  detail::collect(*detail::pool);
  return detail::pool->stats;
}

void release_pool() {
  if (detail::pool) detail::drain(*detail::pool);
}

}  // namespace regrad
