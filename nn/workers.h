#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "autograd/gradients.h"

namespace regrad {

// Threads that each compute the gradients of one part of a batch, and live as long as the training.
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

 private:
  class Worker;
  std::vector<std::unique_ptr<Worker>> others_;
};

}  // namespace regrad
