#include "nn/workers.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "nn/sizes.h"

namespace regrad {

using Job = std::function<Gradients(Index)>;

class Workers::Worker {
 public:
  explicit Worker(Index part) : part_(part), thread_([this] { work(); }) {}
  ~Worker() {
    set(State::closing, nullptr);
    thread_.join();
  }

  void start(const Job& job) { set(State::working, &job); }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return state_ == State::waiting; });
  }
  // After wait; valid until the next start.
  const Gradients& gradients() const {
    if (failure_) std::rethrow_exception(failure_);
    return gradients_;
  }

 private:
  enum class State { waiting, working, closing };

  void set(State state, const Job* job) {
    {
      const std::lock_guard lock(mutex_);
      job_ = job;
      state_ = state;
    }
    changed_.notify_all();
  }

  void work() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return state_ != State::waiting; });
        if (state_ == State::closing) break;
      }
      compute();
      set(State::waiting, nullptr);
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
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::waiting;
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
