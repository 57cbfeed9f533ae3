#include "nn/workers.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "nn/sizes.h"

namespace regrad {

using Job = std::function<Gradients(Index)>;

namespace {

enum class State { waiting, working, closing };

// Until the state is another than `state`. What comes soon is awaited awake: in training the next
// job follows within less time than it takes to wake up.
void wait_while(const std::atomic<State>& current, State state) {
  using Clock = std::chrono::steady_clock;
  const auto asleep = Clock::now() + std::chrono::microseconds(200);
  while (current == state) {
    if (Clock::now() > asleep) return current.wait(state);
    std::this_thread::yield();
  }
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
  // After wait; valid until the next start.
  const Gradients& gradients() const {
    if (failure_) std::rethrow_exception(failure_);
    return gradients_;
  }

 private:
  void set(State state) {
    state_ = state;
    state_.notify_all();
  }

  void work() {
    for (;;) {
      wait_while(state_, State::waiting);
      if (state_ == State::closing) break;
      compute();
      set(State::waiting);
    }
    gradients_ = {};
  }

  // The last gradients are freed by the thread that made them: its memory stays in its own pool.
  void compute() {
    gradients_ = {};
    failure_ = nullptr;
    try {
      gradients_ = (*job_)(part_);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  Index part_;
  std::atomic<State> state_ = State::waiting;
  const Job* job_ = nullptr;
  Gradients gradients_;
  std::exception_ptr failure_;
  std::thread thread_;  // the last member: it uses the others
};

Workers::Workers(Index count) {
  require_size("workers", "count", count);
  for (Index part = 1; part < count; ++part) others_.push_back(std::make_unique<Worker>(part));
}

Workers::~Workers() = default;

Gradients Workers::sum(const Job& job) {
  for (const auto& worker : others_) worker->start(job);
  Gradients sum;
  std::exception_ptr failure;
  try {
    sum = job(0);
  } catch (...) {
    failure = std::current_exception();
  }
  for (const auto& worker : others_) worker->wait();
  if (failure) std::rethrow_exception(failure);
  for (const auto& worker : others_) sum.add(worker->gradients());
  return sum;
}

}  // namespace regrad
