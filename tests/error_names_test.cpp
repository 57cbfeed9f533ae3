#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/derivatives.h"
#include "autograd/functions.h"
#include "autograd/recompute.h"
#include "nn/alignment.h"
#include "nn/beam.h"
#include "nn_check.h"

// An error names the operation that was called, not one that it is made of.
using namespace regrad;
using namespace regrad::testing;

namespace {

template <class F>
void check(const std::string& message, const F& f) {
  CHECK(message_of(f) == message);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("numbers without axes") {
  const Lengths lengths({2}, 2);
  const Var one = scalar(1), vector = ones({3}), weights = ones({1, 1, 2, 2});
  const std::string rest = ": axis -1 does not exist in shape [] of rank 0";
  check("cosine_similarity" + rest, [&] { (void)cosine_similarity(one, vector); });
  check("cosine_similarity" + rest, [&] { (void)cosine_similarity(vector, one); });
  check("spread" + rest, [&] { (void)spread(ones({1, 2}), one, lengths); });
  check("head_sums" + rest, [&] { (void)head_sums(weights, one, lengths); });
  check("head_spread" + rest, [&] { (void)head_spread(weights, one, lengths); });
}

TEST_CASE("a seventh dimension") {
  const Var x = ones({1, 1, 1, 1, 1, 2});
  const Ids ids(Shape{1, 1, 1, 1, 1, 2});
  const auto seven = [](const char* operation, const char* shape) {
    return fmt::format("{}: shape [{}]: 7 dimensions, at most 6 are possible", operation, shape);
  };
  check(seven("stack", "1, 1, 1, 1, 1, 1, 2"), [&] { (void)stack({x, x}); });
  check(seven("unsqueeze", "1, 1, 1, 1, 1, 2, 1"), [&] { (void)unsqueeze(x, -1); });
  check(seven("one_hot", "1, 1, 1, 1, 1, 2, 3"), [&] { (void)one_hot(ids, 3); });
  check(seven("rows", "1, 1, 1, 1, 1, 2, 4"), [&] { (void)rows(ones({3, 4}), ids); });
  check(seven("scatter_rows", "1, 1, 1, 1, 1, 2, 4"), [&] { (void)scatter_rows(x, ids, {3, 4}); });
  check(seven("jacobian", "1, 1, 1, 1, 1, 2, 1"),
        [&] { (void)jacobian([](const Var& y) { return square(y); }, x.value()); });
  check(seven("hessian", "1, 1, 1, 2, 1, 1, 1"), [&] {
    (void)hessian([](const Var& y) { return sum(y); }, ones({1, 1, 1, 2}));
  });
  check(seven("expand", "1, 1, 1, 1, 1, 1, 2"), [&] { (void)expand(x, {1, 1, 1, 1, 1, 1, 2}); });
  check(seven("reshape", "1, 1, 1, 1, 1, 1, 2"), [&] { (void)reshape(x, {1, 1, 1, 1, 1, 1, 2}); });
}

TEST_CASE("sizes and axes below 0") {
  const Var x = ones({2, 3});
  check("one_hot: shape [1, -2]: a dimension is negative", [] { (void)one_hot(Ids{0}, -2); });
  check("expand: shape [-1, 3]: a dimension is negative", [&] { (void)expand(x, {-1, 3}); });
  check("reshape: shape [-2, 3]: a dimension is negative", [&] { (void)reshape(x, {-2, 3}); });
  check("arange: -1 numbers", [] { (void)arange(-1); });
  const auto no_permutation = [](const char* axes) {
    return fmt::format("permute: [{}] is no permutation of the axes of shape [2, 3]", axes);
  };
  check(no_permutation("-1, 0"), [&] { (void)permute(x, {-1, 0}); });
  check(no_permutation("0, 2"), [&] { (void)permute(x, {0, 2}); });
  check(no_permutation("0, 0"), [&] { (void)permute(x, {0, 0}); });
  check(no_permutation("0, 1, 2"), [&] { (void)permute(x, {0, 1, 2}); });
  CHECK(permute(x, {1, 0}).shape() == Shape{3, 2});
  CHECK(permute(scalar(1), {}).shape() == Shape{});
  CHECK(expand(scalar(1), {2}).shape() == Shape{2});
}

TEST_CASE("operations that are made of others") {
  const Var x = ones({2, 3}), wide = ones({2, 3}, DType::f64);
  const Lengths lengths({2}, 2);
  check("unslice: [2, 3] does not fit at 1 of axis 0 of shape [2, 3]", [&] {
    (void)unslice(x, {2, 3}, 0, 1);
  });
  check("conv1d: kernel 2 or stride 0 below 1 or padding 0 below 0 or beyond all memory", [] {
    (void)conv1d(ones({3, 2, 4}), ones({5, 4, 2}), {.stride = 0});
  });
  check("fold: shape [3, 2] is not [time, batch, channels]", [] {
    (void)fold(ones({3, 2, 4, 1}), {3, 2});
  });
  check("scatter_rows: id 4 at position 0 of ids [1] is outside of the table's 3 rows", [] {
    (void)scatter_rows(ones({1, 2}), Ids{4}, {3, 2});
  });
  check("scatter_rows: the table has shape [3], not [rows, columns]", [] {
    (void)scatter_rows(ones({1, 2}), Ids{0}, {3});
  });
  check("scatter_rows: ids [1] with lengths are [time, batch]", [&] {
    (void)scatter_rows(ones({1, 2}), Ids{0}, lengths, {3, 2});
  });
  check("causal_softmax: shape [3] has no rows [..., queries, keys]",
        [] { (void)causal_softmax(ones({3})); });
  check("causal_log_softmax: shape [3] has no rows [..., queries, keys]",
        [] { (void)causal_log_softmax(ones({3})); });
  check("stack: f64 [2, 3] with f32 [2, 3]; convert one of them with to()", [&] {
    (void)stack({x, wide});
  });
  check("cosine_similarity: f32 [2, 3] with f64 [2, 3]; convert one of them with to()",
        [&] { (void)cosine_similarity(x, wide); });
  check("cosine_similarity: shapes [2, 3] and [4, 3] do not broadcast: 2 against 4 at axis -2",
        [&] {
          (void)cosine_similarity(x, ones({4, 3}));
        });
  check(
      "marginal_log_likelihood: log_weights [1, 2] [..., batch, time] do not fit log_p [2] "
      "[..., time, batch]",
      [&] {
        (void)marginal_log_likelihood(ones({1, 2}), ones({2}), lengths);
      });
  check("marginal_log_likelihood: f64 [2, 3] with f32 [2, 3]; convert one of them with to()",
        [&] { (void)marginal_log_likelihood(wide, x, lengths); });
  const Var vector = ones({2}), wide_vector = ones({2}, DType::f64);
  check("dot: f32 [2] with f64 [2]; convert one of them with to()",
        [&] { (void)dot(vector, wide_vector); });
  check("outer: f32 [2] with f64 [2]; convert one of them with to()",
        [&] { (void)outer(vector, wide_vector); });
  check("head_sums: weights [2] are not [batch, heads, queries, keys]", [&] {
    (void)head_sums(vector, ones({2, 1, 1}), lengths);
  });
  check("take_rows: row 2 is outside of [0, 2)", [&] { (void)take_rows(x, {2}); });
}

TEST_CASE("the second derivative of every fused function names the header of its twin") {
  const std::filesystem::path nn = std::filesystem::path(REGRAD_SOURCE_DIR) / "nn";
  const Lengths lengths({2}, 2);
  const auto message = [](const auto& f, const Tensor& start) {
    Tape tape;
    const Var x = tape.variable(start);
    const Var first = gradients(sum(square(f(x))), {x})[0];
    return message_of([&] { (void)gradients(sum(first), {x}); });
  };
  const Var one = ones({1, 1}), gates = ones({1, 3}), of_lstm = ones({1, 4});
  const Var square_of_one = ones({2, 1, 1});
  const auto names_twin = [&](const std::string& name, const auto& f, const Tensor& start) {
    CAPTURE(name);
    const std::string text = message(f, start);
    CAPTURE(text);
    std::smatch match;
    const std::regex pattern(name + ": .* for more use (\\w+) of nn/(\\w+\\.h)");
    REQUIRE(std::regex_match(text, match, pattern));
    CHECK(contains(text_of(nn / match[2].str()), fmt::format(" {}(", match[1].str())));
  };
  names_twin(
      "layer_norm", [](const Var& x) { return layer_norm(x); }, tensor({1, 2, 4}));
  names_twin(
      "cross_entropy", [](const Var& x) { return cross_entropy(x, Ids{1}); }, ones({1, 3}));
  names_twin(
      "additive_score",
      [&](const Var& x) { return additive_score(x, square_of_one, ones({1}), lengths); },
      ones({1, 1}));
  names_twin(
      "monotonic_alignment",
      [&](const Var& x) {
        return monotonic_alignment(x, ones({1, 2}), lengths);
      },
      ones({1, 2}));
  names_twin(
      "head_weights", [&](const Var& x) { return head_weights(x, square_of_one, 1, lengths); },
      ones({2, 1, 1}));
  names_twin(
      "rnn_gates", [&](const Var& x) { return rnn_gates(x, one); }, ones({1, 1}));
  names_twin(
      "lstm_gates", [&](const Var& x) { return lstm_gates(x, of_lstm, one)[0]; }, ones({1, 4}));
  names_twin(
      "gru_gates", [&](const Var& x) { return gru_gates(x, gates, one); }, ones({1, 3}));
  const Var weight = ones({1, 1}), bias = ones({1});
  names_twin(
      "rnn", [&](const Var& x) { return rnn(x, one, weight, bias, lengths, Direction::forward); },
      ones({2, 1, 1}));
  names_twin(
      "lstm",
      [&](const Var& x) {
        return lstm(x, one, one, ones({4, 1}), ones({4}), lengths, Direction::forward)[0];
      },
      ones({2, 1, 4}));
  names_twin(
      "gru",
      [&](const Var& x) {
        return gru(x, one, ones({3, 1}), ones({3}), lengths, Direction::forward);
      },
      ones({2, 1, 3}));
  const auto again = [](const Var& x) {
    return recompute([](std::span<const Var> inputs) { return square(inputs[0]); }, {x});
  };
  CHECK(message(again, ones({2})) ==
        "recompute: a fused operation has first derivatives only; for more call the function "
        "itself");
  const auto own = [](const Var& x) {
    return record_fused("own", x.value(), {&x},
                        [](const Tensor& g, GradientSink& sink) { sink.add(0, g); });
  };
  CHECK(message(own, ones({2})) ==
        "own: a fused operation has first derivatives only; for more compose it of primitives");
}
