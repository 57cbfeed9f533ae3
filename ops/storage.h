#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace regrad {

namespace detail {

// While a process has one thread, handles are counted without atomic read-modify-writes: starting a
// thread makes all that was counted before visible to it.
inline bool single_threaded() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded;
#else
  return false;
#endif
}

struct Block {  // begins the 64 bytes before the data
  std::atomic<std::uint32_t> owners;
};
Block* acquire_block(std::size_t bytes);
void release_block(Block* block) noexcept;
}  // namespace detail

// A shared handle to a block of uninitialised, 64-byte aligned memory from the calling thread's
// pool. The last handle, in whichever thread, returns the block to the pool that it came from, so
// that a training loop in its steady state asks the system for nothing.
class Storage {
 public:
  Storage() = default;
  explicit Storage(std::size_t bytes) : block_(bytes ? detail::acquire_block(bytes) : nullptr) {}
  Storage(const Storage& other) : block_(other.block_) {
    if (block_) add_owner();
  }
  Storage(Storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Storage& operator=(Storage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Storage() {
    if (block_ && drop()) detail::release_block(block_);
  }

  std::byte* data() const { return block_ ? reinterpret_cast<std::byte*>(block_) + 64 : nullptr; }
  bool unique() const { return !block_ || block_->owners.load(std::memory_order_acquire) == 1; }

 private:
  void add_owner() const {
    auto& owners = block_->owners;
    if (detail::single_threaded()) {
      owners.store(owners.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      owners.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // True for the last owner. A sole one needs no read-modify-write.
  bool drop() const {
    auto& owners = block_->owners;
    std::uint32_t before = owners.load(std::memory_order_acquire);
    if (before == 1) return true;
    if (!detail::single_threaded()) return owners.fetch_sub(1, std::memory_order_acq_rel) == 1;
    owners.store(before - 1, std::memory_order_relaxed);
    return false;
  }

  detail::Block* block_ = nullptr;
};

struct PoolStats {
  std::uint64_t system_allocations = 0;  // how often this thread asked the system for memory
  std::int64_t bytes_in_use = 0;         // handed out by this thread and not yet returned
  std::int64_t peak_bytes_in_use = 0;    // the most of that since the last release_pool
  std::int64_t bytes_cached = 0;         // waiting in the free lists, written to or not
};

PoolStats pool_stats();  // of the calling thread
void release_pool();     // gives the calling thread's free blocks back to the system

// Lets standard containers draw on the pool.
template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) {}
  T* allocate(std::size_t n) {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(detail::acquire_block(n * sizeof(T))) +
                                64);
  }
  void deallocate(T* p, std::size_t) noexcept {
    detail::release_block(reinterpret_cast<detail::Block*>(reinterpret_cast<std::byte*>(p) - 64));
  }
  friend bool operator==(const PoolAllocator&, const PoolAllocator&) { return true; }
};

}  // namespace regrad
