#include "nn/workers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "nn/sizes.h"
#include "ops/elementwise.h"

namespace regrad {

using Job = std::function<void(Index)>;

namespace {

enum class State { waiting, working, closing };

// Until the state is another than `state`. What comes soon is awaited awake: in training the next
// job follows within less time than it takes to wake up.
void wait_while(const std::atomic<State>& current, State state) {
  using Clock = std::chrono::steady_clock;
  constexpr int looks = 20000;  // some ten microseconds: hardly anybody else needs this processor
  for (int i = 0; i < looks; ++i) {
    if (current.load(std::memory_order_acquire) != state) return;
  }
  const auto asleep = Clock::now() + std::chrono::microseconds(200);
  while (current == state) {
    if (Clock::now() > asleep) return current.wait(state);
    std::this_thread::yield();
  }
}

template <class T>
using List = std::vector<T, PoolAllocator<T>>;

// nullptr where it is missing. Usually it is at the same place in all parts.
Tensor* find(Gradients::Entries& entries, const Parameter& parameter, std::size_t place) {
  if (place < entries.size() && entries[place].parameter == parameter) {
    return &entries[place].gradient;
  }
  const auto found = std::ranges::find(entries, parameter, &Gradients::Entry::parameter);
  return found == entries.end() ? nullptr : &found->gradient;
}

}  // namespace

class Workers::Worker {
 public:
  explicit Worker(Index part) : part_(part), thread_([this] { work(); }) {}
  ~Worker() {
    set(State::closing);
    thread_.join();
  }

  void start(const Job& job) {
    job_ = &job;
    set(State::working);
  }
  void wait() { wait_while(state_, State::working); }
  // After wait; nullptr without one.
  std::exception_ptr failure() const { return failure_; }

 private:
  void set(State state) {
    state_ = state;
    state_.notify_all();
  }

  void work() {
    for (;;) {
      wait_while(state_, State::waiting);
      if (state_ == State::closing) return;
      failure_ = nullptr;
      try {
        (*job_)(part_);
      } catch (...) {
        failure_ = std::current_exception();
      }
      set(State::waiting);
    }
  }

  Index part_;
  std::atomic<State> state_ = State::waiting;
  const Job* job_ = nullptr;
  std::exception_ptr failure_;
  std::thread thread_;  // the last member: it uses the others
};

Workers::Workers(Index count) {
  require_size("workers", "count", count);
  gradients_.resize(static_cast<std::size_t>(count));
  for (Index part = 1; part < count; ++part) others_.push_back(std::make_unique<Worker>(part));
}

Workers::~Workers() = default;

void Workers::each(const Job& job) {
  if (busy_) fail("workers: used inside of one of their own jobs; make others for that");
  busy_ = true;
  for (const auto& worker : others_) worker->start(job);
  std::exception_ptr failure;
  try {
    job(0);
  } catch (...) {
    failure = std::current_exception();
  }
  for (const auto& worker : others_) {
    worker->wait();
    if (!failure) failure = worker->failure();
  }
  busy_ = false;
  if (failure) std::rethrow_exception(failure);
}

void Workers::share(std::span<const Index> sizes,
                    const std::function<void(std::size_t, Index)>& f) {
  Index total = 0;
  for (const Index size : sizes) total += size;
  each([&](Index part) {
    // An item is its thread's in whose share the middle of it lies.
    Index before = 0;
    for (std::size_t i = 0; i < sizes.size(); before += sizes[i++]) {
      const Index middle = 2 * before + sizes[i];
      const Index share = middle * count() / (2 * std::max<Index>(total, 1));
      if (std::min(share, count() - 1) == part) f(i, part);
    }
  });
}

Gradients Workers::sum(const std::function<Gradients(Index)>& job) {
  each([&](Index part) {
    Gradients& own = gradients_[static_cast<std::size_t>(part)];
    own = {};  // by the thread that made them, so that their memory is ready for the next ones
    own = job(part);
  });
  if (count() > 1) add_to_first();
  return std::exchange(gradients_[0], {});
}

// Each thread adds its share of the parameters, and writes to what another one has made: memory
// that it only reads is slower to write to for the other one afterwards.
void Workers::add_to_first() {
  auto& sums = gradients_[0].entries();
  List<Index> sizes;
  for (std::size_t part = 1; part < gradients_.size(); ++part) {
    auto& entries = gradients_[part].entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Gradients::Entry& entry = entries[i];
      if (!entry.parameter || find(sums, entry.parameter, i)) continue;
      sums.push_back({entry.parameter, -1, zeros(entry.gradient.shape(), entry.gradient.dtype())});
    }
  }
  for (const Gradients::Entry& sum : sums) sizes.push_back(sum.gradient.size());
  share(sizes, [&](std::size_t i, Index thread) {
    if (!sums[i].parameter) return;
    Tensor& sum = sums[i].gradient;
    for (std::size_t part = 1; part < gradients_.size(); ++part) {
      Tensor* gradient = find(gradients_[part].entries(), sums[i].parameter, i);
      if (!gradient) continue;
      if (part == 1 && thread == 0) std::swap(sum, *gradient);
      ops::accumulate(sum, *gradient);
    }
  });
}

}  // namespace regrad
