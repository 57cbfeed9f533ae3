
#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#include "ops/error.h"
#include "ops/storage_blocks.h"

namespace regrad {
namespace detail {

struct Pool {
  std::array<Header*, small_classes> small_free{};
  FreeLists large_free;
  PoolStats stats;
  std::atomic<Header*> returned{nullptr};    // by other threads, not yet in a free list
  std::atomic<std::uint64_t> references{1};  // its thread, and all that it asked of the system
};

namespace {

constinit Header closed{};  // stands in `returned` once the thread has ended

void unlink(Pool* pool) {
  if (pool && pool->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete pool;
}

// Under AddressSanitizer only the bytes that were asked for may be touched; otherwise no-ops.
void allow(Header* block, std::size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(data_of(block), bytes); }
void forbid(Header* block) { ASAN_POISON_MEMORY_REGION(data_of(block), block->bytes); }

[[noreturn]] void fail_memory(std::size_t bytes) {
  fail("out of memory: {} bytes were asked for; smaller batches or a smaller model take less",
       bytes);
}

// What only large or new blocks need is not inlined: small ones come and go with few registers.

// nullptr if there is none left.
void* ask_system(Pool* home, std::size_t bytes) {
  void* memory = std::aligned_alloc(64, bytes);
  if (memory && home) {
    ++home->stats.system_allocations;
    home->references.fetch_add(1, std::memory_order_relaxed);
  }
  return memory;
}

[[gnu::noinline]] Header* make_small(Pool* home, std::uint32_t size_class) {
  const std::size_t bytes = small.bytes(size_class);
  void* memory = ask_system(home, header_bytes + bytes);
  if (!memory) fail_memory(bytes);
  return new (memory)
      Header{{{1}}, size_class, bytes, nullptr, nullptr, home, nullptr, nullptr, {1}, false};
}

Header* right_of(Header* block) { return reinterpret_cast<Header*>(data_of(block) + block->bytes); }

// Advises the system on the whole pages of a block's data; what it cannot do it leaves.
void advise(Header* block, int advice) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(data_of(block));
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t end = (begin + block->bytes) / page * page;
  if (end > first) madvise(reinterpret_cast<void*>(first), end - first, advice);
}

// A whole segment. Its last 64 bytes are the header of a block without data that is never free.
// Outside of a pool, or where memory is short, it is no larger than needed.
Header* make_large(Pool* home, std::size_t needed) {
  std::size_t bytes = home ? std::max(needed, segment_bytes) : needed;
  void* memory = ask_system(home, 2 * header_bytes + bytes);
  if (!memory) memory = ask_system(home, 2 * header_bytes + (bytes = needed));
  if (!memory) fail_memory(needed);
  auto* block =
      new (memory) Header{{{1}}, 0, bytes, nullptr, nullptr, home, nullptr, nullptr, {1}, false};
  block->segment = block;
  new (right_of(block)) Header{{{1}}, 0, 0, nullptr, nullptr, home, block, block, {0}, false};
  // Rows of a weight often lie on pages of their own, more of them than a processor remembers.
  if (home) advise(block, MADV_HUGEPAGE);
  forbid(block);
  return block;
}

void give_to_system(Header* memory, Pool* home) {
  std::free(memory);
  unlink(home);
}

// A block that is in no list. Of a segment's blocks the last one takes the segment with it; the
// memory of the others goes at once.
[[gnu::noinline]] void destroy(Header* block) {
  Pool* home = block->home;
  if (!is_large(block)) {
    allow(block, block->bytes);
    return give_to_system(block, home);
  }
  Header* segment = block->segment;
  allow(block, block->bytes);
  if (segment->parts.load(std::memory_order_relaxed) > 1) {
    advise(block, MADV_DONTNEED);  // the addresses stay
  }
  if (segment->parts.fetch_sub(1, std::memory_order_acq_rel) == 1) give_to_system(segment, home);
}

// A free large block is in the list of the largest class that it can serve.
void put_into_list(Pool& own, Header* block) {
  own.stats.bytes_cached += static_cast<std::int64_t>(block->bytes);
  block->size_class = large.of(block->bytes);
  if (large.bytes(block->size_class) > block->bytes) --block->size_class;
  own.large_free.add(block);
}

void take_from_list(Pool& own, Header* block) {
  own.stats.bytes_cached -= static_cast<std::int64_t>(block->bytes);
  own.large_free.remove(block);
}

Header* pop_small(Pool& own, Header*& list) {
  own.stats.bytes_cached -= static_cast<std::int64_t>(list->bytes);
  return std::exchange(list, list->next);
}

// Makes the right one of two neighbours a part of the left one.
void join(Header* block, Header* right) {
  block->bytes += header_bytes + right->bytes;
  right_of(block)->left = block;
  block->segment->parts.fetch_sub(1, std::memory_order_relaxed);
  ASAN_POISON_MEMORY_REGION(right, header_bytes);
}

// Makes what a block has above `bytes` a free block, if it is large, too.
void split(Pool& own, Header* block, std::size_t bytes) {
  if (block->bytes < bytes + header_bytes + large_bytes) return;
  std::byte* place = data_of(block) + bytes;
  ASAN_UNPOISON_MEMORY_REGION(place, header_bytes);
  auto* rest = new (place) Header{{{1}},          0,       block->bytes - bytes - header_bytes,
                                  nullptr,        nullptr, block->home,
                                  block->segment, block,   {0},
                                  false};
  block->bytes = bytes;
  right_of(rest)->left = rest;
  block->segment->parts.fetch_add(1, std::memory_order_relaxed);
  put_into_list(own, rest);
}

[[gnu::noinline]] void keep_large(Pool& own, Header* block) {
  if (Header* right = right_of(block); right->free) {
    take_from_list(own, right);
    join(block, right);
  }
  if (Header* left = block->left; left && left->free) {
    take_from_list(own, left);
    join(left, block);
    block = left;
  }
  put_into_list(own, block);
}

// Takes back a block of this thread's pool.
void keep(Pool& own, Header* block) {
  const auto bytes = static_cast<std::int64_t>(block->bytes);
  own.stats.bytes_in_use -= bytes;
  if (is_large(block)) return keep_large(own, block);
  own.stats.bytes_cached += bytes;
  block->next = std::exchange(own.small_free[block->size_class], block);
}

// Leaves a block to the thread that made it; false when that thread has ended.
bool give_back(Pool& home, Header* block) {
  Header* head = home.returned.load(std::memory_order_acquire);
  do {
    if (head == &closed) return false;
    block->next = head;
  } while (!home.returned.compare_exchange_weak(head, block, std::memory_order_acq_rel));
  return true;
}

void collect(Pool& own, Header* replacement = nullptr) {
  if (!own.returned.load(std::memory_order_relaxed) && !replacement) return;
  Header* block = own.returned.exchange(replacement, std::memory_order_acq_rel);
  while (block) keep(own, std::exchange(block, block->next));
}

// Gives the system what is free. At the end of the thread, free parts of segments are left to the
// last block of the segment.
void drain(Pool& own, Header* replacement = nullptr) {
  collect(own, replacement);
  for (Header*& list : own.small_free) {
    while (list) destroy(pop_small(own, list));
  }
  for (const FreeList& list : own.large_free.all()) {
    for (Header *block = list.first(), *next; block; block = next) {
      next = block->next;
      const bool part = block->segment->parts > 1;
      if (part && !replacement) {
        advise(block, MADV_DONTNEED);
        continue;
      }
      take_from_list(own, block);
      destroy(block);
    }
  }
  own.stats.peak_bytes_in_use = own.stats.bytes_in_use;
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

// nullptr if there is none.
Header* take_small(Pool& own, std::uint32_t size_class) {
  Header*& list = own.small_free[size_class];
  if (!list) collect(own);
  return list ? pop_small(own, list) : nullptr;
}

// The smallest free block that is large enough, as much of it as is needed; nullptr if there is
// none.
Header* take_large(Pool& own, std::size_t needed) {
  collect(own);
  Header* block = own.large_free.first(large.of(needed));
  if (!block) return nullptr;
  take_from_list(own, block);
  split(own, block, needed);
  return block;
}

[[gnu::noinline]] Header* find_or_make_large(Pool* own, std::size_t bytes) {
  const std::size_t needed = large.bytes(large.of(bytes));
  if (Header* found = own ? take_large(*own, needed) : nullptr) return found;
  Header* made = make_large(own, needed);
  if (own) split(*own, made, needed);
  return made;
}

Header* find_or_make(Pool* own, std::size_t bytes) {
  if (bytes >= large_bytes) return find_or_make_large(own, bytes);
  const std::uint32_t size_class = small.of(bytes ? bytes : 1);
  Header* found = own ? take_small(*own, size_class) : nullptr;
  return found ? found : make_small(own, size_class);
}

}  // namespace

Block* acquire_block(std::size_t bytes) {
  if (bytes > most_bytes) fail_memory(bytes);
  Pool* own = own_pool();
  Header* block = find_or_make(own, bytes);
  block->owners.store(1, std::memory_order_relaxed);
  if (own) {
    PoolStats& stats = own->stats;
    stats.bytes_in_use += static_cast<std::int64_t>(block->bytes);
    stats.peak_bytes_in_use = std::max(stats.peak_bytes_in_use, stats.bytes_in_use);
  }
  forbid(block);
  allow(block, bytes);
  return block;
}

void release_block(Block* released) noexcept {
  auto* block = static_cast<Header*>(released);
  Pool* home = block->home;
  forbid(block);
  if (home && home == pool) return keep(*home, block);
  if (!home || !give_back(*home, block)) destroy(block);
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
