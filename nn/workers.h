#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "autograd/gradients.h"

namespace regrad {

// Threads that each compute the gradients of one part of a batch, and share what is done with them;
// they live as long as the training. They cannot be used inside of one of their own jobs: that
// throws Error.
class Workers {
 public:
  // One part is the calling thread's own: count - 1 threads are started. Throws Error for a count
  // below 1.
  explicit Workers(Index count);
  ~Workers();

  Index count() const { return static_cast<Index>(others_.size()) + 1; }
  // job(0) + job(1) + …, computed side by side, always added in this order, so that the sum is the
  // same bits from run to run. Throws what the first failing job throws, after all have ended.
  Gradients sum(const std::function<Gradients(Index part)>& job);
  // job(0), job(1), … side by side. Throws as sum does.
  void each(const std::function<void(Index part)>& job);
  // f(i, part) for each of the sizes, side by side, each thread with a contiguous share of about
  // the same sum: always the same one, so that what a thread has worked on may still be in its
  // cache.
  void share(std::span<const Index> sizes, const std::function<void(std::size_t i, Index part)>& f);

 private:
  class Worker;
  void add_to_first();

  std::vector<Gradients> gradients_;  // of each part
  std::vector<std::unique_ptr<Worker>> others_;
  bool busy_ = false;  // written only while no job runs
};

}  // namespace regrad
