#pragma once

#include <array>
#include <bit>
#include <span>

#include <sanitizer/asan_interface.h>

#include "ops/storage.h"

// For the pool only: what stands before the data of a block, the classes of blocks by size, and
// lists of large blocks that are free.
namespace regrad::detail {

struct Pool;

inline constexpr std::size_t header_bytes = 64;

// Small blocks are each asked of the system. Large ones are parts of segments, which are: a block
// that is larger than what is needed is split, and free neighbours become one again. The best fit
// at the lowest address leaves the fewest holes (Johnstone and Wilson 1998).
struct Header : Block {
  std::uint32_t size_class;          // of its data; a large one's when it is free
  std::size_t bytes;                 // of its data
  Header *next, *previous;           // in a free list
  Pool* home;                        // of the thread that made it
  Header *segment, *left;            // large: the first block of its segment, the one before it
  std::atomic<std::uint32_t> parts;  // in a segment's first block: how many blocks it has
  bool free;                         // in a free list
};
static_assert(sizeof(Header) <= header_bytes);

inline std::byte* data_of(Header* block) {
  return reinterpret_cast<std::byte*>(block) + header_bytes;
}

// Classes of sizes in units of 64 bytes: 2^bits for each power of two.
struct SizeClasses {
  int bits;

  // The smallest class that holds so many bytes.
  constexpr std::uint32_t of(std::size_t bytes) const {
    const std::size_t units = (bytes + 63) / 64;
    if (units <= std::size_t{1} << bits) return static_cast<std::uint32_t>(units) - 1;
    const int exponent = std::bit_width(units - 1) - 1 - bits;
    return static_cast<std::uint32_t>((static_cast<std::size_t>(exponent) << bits) +
                                      ((units - 1) >> exponent));
  }
  std::size_t bytes(std::uint32_t size_class) const {
    const std::uint32_t count = 1u << bits;
    if (size_class < count) return 64 * std::size_t{size_class + 1};
    const std::uint32_t exponent = size_class / count - 1;
    return 64 * (std::size_t{size_class % count + count + 1} << exponent);
  }
};

inline constexpr SizeClasses small{2};  // at most a quarter of a block is unused
inline constexpr SizeClasses large{6};  // a sixty-fourth, and what is too small to be split off
inline constexpr std::size_t large_bytes = 1 << 16;
// Of a segment, at least: addresses, which are no memory until they are written to. In one large
// segment the blocks of all sizes find the room that others left. AddressSanitizer writes to an
// eighth of it.
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr std::size_t segment_bytes = std::size_t{16} << 20;
#else
inline constexpr std::size_t segment_bytes = std::size_t{1} << 30;
#endif
inline constexpr std::size_t most_bytes = std::size_t{1} << 46;
inline constexpr std::size_t small_classes = small.of(large_bytes - 1) + 1;

inline bool is_large(const Header* block) { return block->segment != nullptr; }

// Free large blocks, by address.
class FreeList {
 public:
  Header* first() const { return first_; }
  void add(Header* block) {
    Header *before = nullptr, *after = first_;
    if (last_ && last_ < block) {  // as where blocks are freed in the order of their addresses
      before = last_;
      after = nullptr;
    }
    while (after && after < block) before = std::exchange(after, after->next);
    block->previous = before;
    block->next = after;
    (before ? before->next : first_) = block;
    (after ? after->previous : last_) = block;
    block->free = true;
  }
  void remove(Header* block) {
    (block->previous ? block->previous->next : first_) = block->next;
    (block->next ? block->next->previous : last_) = block->previous;
    block->free = false;
  }

 private:
  Header *first_ = nullptr, *last_ = nullptr;
};

// A list for each class of large blocks, and which of them hold any.
class FreeLists {
 public:
  void add(Header* block) {
    lists_[block->size_class].add(block);
    filled_[block->size_class / 64] |= bit(block->size_class);
  }
  void remove(Header* block) {
    FreeList& list = lists_[block->size_class];
    list.remove(block);
    if (!list.first()) filled_[block->size_class / 64] &= ~bit(block->size_class);
  }
  // Of the smallest class from this one on that has blocks the one at the lowest address; nullptr
  // if there is none.
  Header* first(std::uint32_t size_class) const {
    std::uint64_t filled = filled_[size_class / 64] & (~std::uint64_t{0} << size_class % 64);
    for (std::size_t i = size_class / 64;; filled = filled_[i]) {
      if (filled) {
        return lists_[64 * i + static_cast<std::size_t>(std::countr_zero(filled))].first();
      }
      if (++i == filled_.size()) return nullptr;
    }
  }
  std::span<const FreeList> all() const { return lists_; }

 private:
  static std::uint64_t bit(std::uint32_t size_class) { return std::uint64_t{1} << size_class % 64; }
  static constexpr std::size_t words = large.of(2 * most_bytes) / 64 + 1;
  std::array<std::uint64_t, words> filled_{};
  std::array<FreeList, 64 * words> lists_;
};

}  // namespace regrad::detail
