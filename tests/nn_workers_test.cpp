#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/linear.h"
#include "nn/optimizer.h"
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

TEST_CASE("each item is done once, and by the same thread at every call") {
  for (const Index count : {1, 2, 3, 5}) {
    Workers workers(count);
    for (const std::vector<Index>& sizes : std::vector<std::vector<Index>>{
             {}, {0}, {0, 0, 0}, {7}, {1, 1, 1, 1, 1, 1}, {100, 1, 1, 0}, {1, 5, 0, 3, 90, 0}}) {
      std::vector<int> done(sizes.size(), 0);
      std::vector<std::thread::id> by(sizes.size());
      workers.share(sizes, [&](std::size_t i, Index) {
        ++done[i];
        by[i] = std::this_thread::get_id();
      });
      CHECK(done == std::vector<int>(sizes.size(), 1));
      workers.share(sizes,
                    [&](std::size_t i, Index) { done[i] += by[i] == std::this_thread::get_id(); });
      CHECK(done == std::vector<int>(sizes.size(), 2));
    }
    std::vector<std::thread::id> by(4);
    std::vector<Index> parts(4);
    const std::vector<Index> equal(4, 10);
    workers.share(equal, [&](std::size_t i, Index part) {
      by[i] = std::this_thread::get_id();
      parts[i] = part;
    });
    CHECK((by[0] == by[3]) == (count == 1));  // the work is shared
    CHECK(by[0] == std::this_thread::get_id());
    CHECK(parts[0] == 0);
    CHECK(parts[3] == count - 1);
  }
}

TEST_CASE("parameters that only some parts know are summed, too") {
  const Parameter first(zeros({3})), second(zeros({2}));
  Workers workers(3);
  const Gradients sum = workers.sum([&](Index part) {
    Tape tape;
    Var loss = regrad::sum(Var(part == 1 ? second : first) * (1 + static_cast<double>(part)));
    if (part == 2) loss = loss + regrad::sum(Var(second));
    return tape.backward(loss);
  });
  CHECK(sum[first].to_vector() == std::vector<double>{4, 4, 4});
  CHECK(sum[second].to_vector() == std::vector<double>{3, 3});
}

TEST_CASE("clipping and the optimizer's step give the same bits with workers as without") {
  const Problem problem;
  const auto train = [&](Index count) {
    Rng rng(5);
    const Linear layer(4, 3, rng);
    Adam adam(layer);
    Workers workers(2);
    Workers* shared = count == 1 ? nullptr : &workers;
    for (int step = 0; step < 5; ++step) {
      Tape tape;
      Gradients gradients = tape.backward(sum(square(layer(problem.x))));
      CHECK(norm(gradients, shared) == norm(gradients));
      adam.step(clip_norm(std::move(gradients), 0.5, shared), shared);
    }
    return layer.weight.value();
  };
  CHECK(identical(train(1), train(2)));
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

TEST_CASE("workers inside of one of their own jobs are refused, and go on afterwards") {
  Workers workers(2);
  for (const Index nesting : {0, 1}) {
    const auto job = [&](Index i) {
      if (i == nesting) workers.each([](Index) {});
    };
    CHECK_THROWS_WITH_AS(workers.each(job),
                         "workers: used inside of one of their own jobs; make others for that",
                         Error);
    std::atomic<int> done = 0;
    workers.each([&](Index) { ++done; });
    CHECK(done == 2);
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
