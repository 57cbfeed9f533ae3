#include <thread>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/linear.h"
#include "nn/workers.h"

using namespace regrad;

namespace {

struct Problem {
  Problem() : rng(3), layer(4, 3, rng), x(normal({6, 4}, 0, 1, rng)) {}

  Gradients part(Index i, Index count) const {
    Tape tape;
    const Index rows = x.shape()[0] / count;
    return tape.backward(sum(tanh(layer(x.narrow(i * rows, (i + 1) * rows)))));
  }
  Rng rng;
  Linear layer;
  Tensor x;
};

}  // namespace

TEST_CASE("the sum over workers is the gradient of the whole, the same bits at every call") {
  const Problem problem;
  const Tensor whole = problem.part(0, 1)[problem.layer.weight];
  for (const Index count : {1, 2, 3}) {
    Workers workers(count);
    CHECK(workers.count() == count);
    const auto job = [&](Index i) { return problem.part(i, count); };
    const Tensor first = workers.sum(job)[problem.layer.weight];
    for (Index i = 0; i < whole.size(); ++i) {
      CHECK(first.to_vector()[static_cast<std::size_t>(i)] ==
            doctest::Approx(whole.to_vector()[static_cast<std::size_t>(i)]).epsilon(1e-6));
    }
    for (int again = 0; again < 20; ++again) {
      CHECK(identical(workers.sum(job)[problem.layer.weight], first));
    }
  }
}

TEST_CASE("a failing part is thrown after all have ended, and the workers go on") {
  const Problem problem;
  Workers workers(2);
  for (const Index bad : {0, 1}) {
    const auto job = [&](Index i) -> Gradients {
      if (i == bad) fail("part {} fails", i);
      return problem.part(i, 2);
    };
    CHECK_THROWS_WITH_AS(workers.sum(job), ("part " + std::to_string(bad) + " fails").c_str(),
                         Error);
    CHECK(workers.sum([&](Index i) { return problem.part(i, 2); }).entries().size() == 2);
  }
}

TEST_CASE("each part has its own thread; the first is the caller's") {
  Workers workers(2);
  std::thread::id ids[2];
  workers.sum([&](Index i) {
    ids[i] = std::this_thread::get_id();
    return Gradients();
  });
  CHECK(ids[0] == std::this_thread::get_id());
  CHECK(ids[1] != ids[0]);
}

TEST_CASE("workers without a part are refused") {
  CHECK_THROWS_WITH_AS(Workers(0), "workers: count must be at least 1, not 0", Error);
}
