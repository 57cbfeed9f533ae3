#include "ops/storage.h"

#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ops/error.h"

namespace regrad {
namespace {

// What the pool of a new thread says after f.
template <class F>
PoolStats stats_of_thread(const F& f) {
  PoolStats stats;
  std::thread([&] {
    f();
    stats = pool_stats();
  }).join();
  return stats;
}

void fill(const Storage& storage, std::size_t bytes, int value) {
  std::memset(storage.data(), value, bytes);
}

bool filled(const Storage& storage, std::size_t bytes, int value) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (storage.data()[i] != static_cast<std::byte>(value)) return false;
  }
  return true;
}

// First, as handles are counted otherwise once a process has had a second thread.
TEST_CASE("handles from before the first thread are counted on in others") {
  Storage first(64);
  std::vector<Storage> copies(100, first);
  copies.erase(copies.begin() + 50, copies.end());
  std::thread([moved = std::move(copies)]() mutable { moved.clear(); }).join();
  CHECK(first.unique());
  Storage second = first;
  std::thread([&] { first = {}; }).join();
  CHECK(second.unique());
}

TEST_CASE("large blocks are split where less is needed, and become one again") {
  static constexpr std::size_t large = 1 << 20;
  PoolStats stats = stats_of_thread([] {
    const std::byte* begin = Storage(8 * large).data();
    for (std::size_t round = 0; round < 20; ++round) {
      std::vector<Storage> parts;
      for (std::size_t i = 0; i < 7; ++i) {
        parts.emplace_back(large);
        fill(parts.back(), large, static_cast<int>(i + 1));
      }
      CHECK(parts[0].data() == begin);
      for (std::size_t i = 0; i < 7; ++i) CHECK(filled(parts[i], large, static_cast<int>(i + 1)));
      // Let go in another order each time, so that parts join to the left, to the right and both.
      for (std::size_t i = 0; i < 7; ++i) parts[(i * (1 + round % 6) + 3) % 7] = {};
      Storage whole(8 * large);
      CHECK(whole.data() == begin);
      fill(whole, 8 * large, 0);
    }
  });
  CHECK(stats.system_allocations == 1);
  CHECK(stats.bytes_in_use == 0);
  CHECK(stats.peak_bytes_in_use >= static_cast<std::int64_t>(8 * large));
  CHECK(stats.peak_bytes_in_use < static_cast<std::int64_t>(9 * large));
}

TEST_CASE("a segment goes when its last part does, in whichever thread and after its own") {
  constexpr std::size_t large = 1 << 17;
  std::vector<Storage> survivors;
  std::thread([&] {
    std::vector<Storage> parts;
    for (int i = 0; i < 16; ++i) {
      parts.emplace_back(large);
      fill(parts.back(), large, i);
    }
    for (std::size_t i = 0; i < 16; i += 3) survivors.push_back(parts[i]);
    parts.clear();
    release_pool();  // between the survivors is nothing that they need
    for (std::size_t i = 0; i < survivors.size(); ++i) {
      CHECK(filled(survivors[i], large, static_cast<int>(3 * i)));
    }
  }).join();
  for (std::size_t i = 0; i < survivors.size(); ++i) {
    CHECK(filled(survivors[i], large, static_cast<int>(3 * i)));
  }
  std::thread first([&] { survivors.front() = {}; }), last([&] { survivors.back() = {}; });
  first.join();
  last.join();
  survivors.clear();
}

TEST_CASE("parts that outlive their thread give their memory back one by one") {
  constexpr std::size_t large = 1 << 20;
  std::vector<Storage> parts;
  std::thread([&] {
    for (int i = 0; i < 3; ++i) {
      parts.emplace_back(large);
      fill(parts.back(), large, 5);
    }
  }).join();
  const std::byte* middle = parts[1].data();
  parts[1] = {};
  unsigned char resident[large / 4096];
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<std::uintptr_t>(middle) + page - 1) / page * page;
  const std::size_t pages = large / page - 1;
  REQUIRE(mincore(reinterpret_cast<void*>(first), pages * page, resident) == 0);
  for (std::size_t i = 0; i < pages; ++i) CHECK((resident[i] & 1) == 0);
  CHECK(filled(parts[0], large, 5));
  CHECK(filled(parts[2], large, 5));
}

TEST_CASE("release_pool gives the memory of free parts back, not that beside them") {
  static constexpr std::size_t large = 1 << 20;
  stats_of_thread([] {
    Storage left(large), middle(large), right(large);
    for (Storage* each : {&left, &middle, &right}) fill(*each, large, 5);
    std::byte* data = middle.data();
    middle = {};
    release_pool();
    CHECK(filled(left, large, 5));
    CHECK(filled(right, large, 5));
    Storage again(large);
    CHECK(again.data() == data);
    CHECK(again.data()[large / 2] == std::byte{0});  // a new page
    CHECK(pool_stats().system_allocations == 1);
  });
}

TEST_CASE("storage is aligned, and all of its bytes are its own") {
  std::vector<Storage> storages;
  for (std::size_t bytes = 1; bytes < 1000; ++bytes) {
    storages.emplace_back(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(storages.back().data()) % 64 == 0);
    fill(storages.back(), bytes, static_cast<int>(bytes % 251));
  }
  for (std::size_t bytes = 1; bytes < 1000; ++bytes) {
    CHECK(filled(storages[bytes - 1], bytes, static_cast<int>(bytes % 251)));
  }
}

TEST_CASE("storage of nothing") {
  Storage none, zero(0), copy = zero;
  CHECK(none.data() == nullptr);
  CHECK(zero.data() == nullptr);
  CHECK(copy.unique());
}

TEST_CASE("handles share, move and let go") {
  Storage a(100);
  std::byte* data = a.data();
  CHECK(a.unique());
  {
    Storage b = a;
    CHECK(b.data() == data);
    CHECK_FALSE(a.unique());
    Storage c = std::move(b);
    CHECK(c.data() == data);
    CHECK(b.data() == nullptr);
    c = Storage(50);
    CHECK(c.data() != data);
    c = a;
    c = *&c;
    CHECK(c.data() == data);
  }
  CHECK(a.unique());
}

TEST_CASE("a block is at most a quarter larger than what was asked for") {
  for (std::size_t bytes = 1; bytes < (std::size_t{1} << 24); bytes += 1 + bytes / 7) {
    std::int64_t before = pool_stats().bytes_in_use;
    Storage storage(bytes);
    auto taken = static_cast<std::size_t>(pool_stats().bytes_in_use - before);
    CHECK(taken >= bytes);
    CHECK(taken <= bytes + bytes / 4 + 64);
    release_pool();
  }
}

TEST_CASE("in its steady state a loop asks the system for nothing") {
  auto step = [] {
    std::vector<Storage> storages;
    for (std::size_t i = 0; i < 50; ++i) {
      storages.emplace_back(1 + i * i * 37 % 5000);
      if (i % 3 == 0) storages[i / 2] = Storage(17 * i + 1);
    }
  };
  step();
  PoolStats warm = pool_stats();
  for (int i = 0; i < 100; ++i) step();
  CHECK(pool_stats().system_allocations == warm.system_allocations);
  CHECK(pool_stats().bytes_in_use == warm.bytes_in_use);
  CHECK(pool_stats().bytes_cached == warm.bytes_cached);
}

TEST_CASE("release_pool gives back what is free, and only that") {
  PoolStats stats = stats_of_thread([] {
    Storage kept(1000);
    fill(kept, 1000, 7);
    { Storage freed(1000); }
    CHECK(pool_stats().bytes_cached >= 1000);
    release_pool();
    CHECK(pool_stats().bytes_cached == 0);
    CHECK(filled(kept, 1000, 7));
    { Storage again(1000); }
  });
  CHECK(stats.system_allocations == 3);
  CHECK(stats.bytes_in_use == 0);
  CHECK(stats_of_thread(release_pool).system_allocations == 0);
}

TEST_CASE("blocks that another thread frees return to the thread that made them") {
  auto step = [] {
    std::vector<Storage> storages;
    for (std::size_t bytes : {10, 1000, 1000, 100000}) storages.emplace_back(bytes);
    PoolStats other = stats_of_thread([&] { storages.clear(); });
    CHECK(other.bytes_cached == 0);
    CHECK(other.bytes_in_use == 0);
  };
  step();
  PoolStats warm = pool_stats();
  for (int i = 0; i < 50; ++i) step();
  CHECK(pool_stats().system_allocations == warm.system_allocations);
  CHECK(pool_stats().bytes_in_use == warm.bytes_in_use);
  CHECK(pool_stats().bytes_cached == warm.bytes_cached);
}

TEST_CASE("blocks outlive the thread that made them") {
  Storage survivor;
  PoolStats before = pool_stats();
  std::thread([&] {
    Storage cached(500);
    survivor = Storage(300);
    fill(survivor, 300, 42);
  }).join();
  CHECK(filled(survivor, 300, 42));
  survivor = Storage();
  CHECK(pool_stats().bytes_cached == before.bytes_cached);
  CHECK(pool_stats().bytes_in_use == before.bytes_in_use);
}

// Destroyed after the pool of its thread when it is made before the thread's first block.
struct Late {
  Storage storage;
  ~Late() {
    Storage another(200);
    fill(another, 200, 3);
    CHECK(filled(storage, 100, 9));
  }
};
thread_local Late late;

TEST_CASE("storage can be made and freed while its thread ends") {
  std::thread([] {
    Late& mine = late;
    mine.storage = Storage(100);
    fill(mine.storage, 100, 9);
  }).join();
}

TEST_CASE("many threads hand blocks to each other") {
  constexpr int threads = 4, rounds = 500;
  std::mutex mutex;
  std::deque<std::pair<Storage, int>> queue;
  auto work = [&](int thread) {
    for (int i = 0; i < rounds; ++i) {
      auto bytes = static_cast<std::size_t>(64 + 64 * (i % 5));
      std::pair<Storage, int> made{Storage(bytes), thread + threads * (i % 50)}, taken;
      fill(made.first, 64, made.second);
      {
        std::lock_guard lock(mutex);
        queue.push_back(std::move(made));
        if (queue.size() > 8) {
          taken = std::move(queue.front());
          queue.pop_front();
        }
      }
      if (taken.first.data() && !filled(taken.first, 64, taken.second)) {
        FAIL("a block changed on its way");
      }
    }
    CHECK(pool_stats().system_allocations < 100);
  };
  std::vector<std::thread> workers;
  for (int thread = 0; thread < threads; ++thread) workers.emplace_back(work, thread);
  for (auto& worker : workers) worker.join();
}

TEST_CASE("more memory than there can be is an error that says how much") {
  CHECK_THROWS_WITH_AS(Storage(std::size_t{1} << 60),
                       "out of memory: 1152921504606846976 bytes were asked for; smaller batches "
                       "or a smaller model take less",
                       Error);
}

TEST_CASE("standard containers draw on the pool") {
  PoolStats stats = stats_of_thread([] {
    for (int round = 0; round < 10; ++round) {
      std::vector<int, PoolAllocator<int>> values;
      for (int i = 0; i < 1000; ++i) values.push_back(i);
      CHECK(values[999] == 999);
    }
  });
  CHECK(stats.system_allocations > 0);
  CHECK(stats.system_allocations <= 11);
  CHECK(stats.bytes_in_use == 0);
}

}  // namespace
}  // namespace regrad
