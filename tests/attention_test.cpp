#include "ops/attention.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "ops_check.h"

namespace regrad::ops {
namespace {

using namespace regrad::testing;

const Lengths some_lengths({4, 1, 0, 3}, 4);

template <class T>
constexpr double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;

// [B, S] from term(b, s, k) summed over k; 0 at padded positions.
template <class F>
Tensor scores(const Lengths& lengths, Index size, DType dtype, const F& term) {
  std::vector<double> result;
  for (Index b = 0; b < lengths.batch(); ++b) {
    for (Index s = 0; s < lengths.time(); ++s) {
      double sum = 0;
      for (Index k = 0; lengths.valid(s, b) && k < size; ++k) sum += term(b, s, k);
      result.push_back(sum);
    }
  }
  return tensor(result, {lengths.batch(), lengths.time()}, dtype);
}

// x [B, S] with garbage where the sentence has ended.
Tensor with_padded_scores(const Tensor& x, const Lengths& lengths, double value) {
  std::vector<double> values = x.to_vector();
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto position = static_cast<Index>(i);
    if (!lengths.valid(position % lengths.time(), position / lengths.time())) values[i] = value;
  }
  return tensor(values, x.shape(), x.dtype());
}

TEST_CASE_TEMPLATE("additive_score, dot_score and weighted_sum", T, float, double) {
  for (const Lengths& lengths : {some_lengths, Lengths::full(4, 4)}) {
    for (Index size : {0, 1, 7, 33}) {
      Tensor query = random_tensor({4, size}, dtype_of<T>(), 1),
             v = random_tensor({size}, dtype_of<T>(), 2);
      Tensor keys = random_tensor({4, 4, size}, dtype_of<T>(), 3);
      CHECK(difference(additive_score(query, keys, v, lengths),
                       scores(lengths, size, dtype_of<T>(), [&](Index b, Index s, Index k) {
                         return v.at({k}) * std::tanh(query.at({b, k}) + keys.at({s, b, k}));
                       })) < tolerance<T>);
      CHECK(difference(dot_score(query, keys, lengths),
                       scores(lengths, size, dtype_of<T>(), [&](Index b, Index s, Index k) {
                         return query.at({b, k}) * keys.at({s, b, k});
                       })) < tolerance<T>);
      Tensor weights = random_tensor({4, 4}, dtype_of<T>(), 4);
      Tensor context = weighted_sum(weights, keys, lengths);
      REQUIRE(context.shape() == Shape{4, size});
      for (Index b = 0; b < 4; ++b) {
        for (Index k = 0; k < size; ++k) {
          double sum = 0;
          for (Index s = 0; s < lengths[b]; ++s) sum += weights.at({b, s}) * keys.at({s, b, k});
          CHECK(std::abs(context.at({b, k}) - sum) < tolerance<T>);
        }
      }
    }
  }
}

TEST_CASE("the products of attention are adjoint to each other") {
  for (const Lengths& lengths : {some_lengths, Lengths::full(4, 4), Lengths::full(4, 0)}) {
    Index batch = lengths.batch();
    Tensor query = random_tensor({batch, 5}, DType::f64, 1);
    Tensor keys = random_tensor({4, batch, 5}, DType::f64, 2);
    Tensor g = random_tensor({batch, 4}, DType::f64, 3);
    Tensor to_keys = zeros({4, batch, 5}, DType::f64);
    add_spread(to_keys, g, query, lengths);
    // <dot_score(q, k), g> = <k, spread(g, q)> = <q, weighted_sum(g, k)>
    double value = inner_product(dot_score(query, keys, lengths), g);
    CHECK(inner_product(keys, to_keys) == doctest::Approx(value).epsilon(1e-12));
    CHECK(inner_product(query, weighted_sum(g, keys, lengths)) ==
          doctest::Approx(value).epsilon(1e-12));
    Tensor twice = to_keys;
    add_spread(twice, g, query, lengths);
    CHECK(inner_product(keys, twice) == doctest::Approx(2 * value).epsilon(1e-12));
  }
}

TEST_CASE_TEMPLATE("spreads summed as one product are those added one by one", T, float, double) {
  const Lengths longer({4, 1, 3, 0}, 4);
  for (const Lengths& lengths : {some_lengths, Lengths::full(4, 4)}) {
    std::vector<SpreadTerm> terms;
    Tensor expected = zeros({4, 4, 5}, dtype_of<T>());
    for (unsigned i = 0; i < 7; ++i) {
      terms.push_back({random_tensor({4, 4}, dtype_of<T>(), i),
                       random_tensor({4, 5}, dtype_of<T>(), 10 + i), i == 3 ? longer : lengths});
      add_spread(expected, terms[i].weights, terms[i].x, terms[i].lengths);
    }
    CHECK(difference(sum_spreads(terms), expected) < tolerance<T>);
    const Tensor one = sum_spreads(std::span(terms).first(1));
    for (SpreadTerm& term : terms) {
      term.weights = with_padded_scores(term.weights, term.lengths, NAN);
    }
    CHECK(identical(sum_spreads(std::span(terms).first(1)), one));
    CHECK(difference(sum_spreads(terms), expected) < tolerance<T>);
  }
}

TEST_CASE("a spread row that is not finite stays within its own length") {
  const Tensor weights = ones({1, 2});
  const std::vector<SpreadTerm> terms{{weights, ones({1, 1}), Lengths({2}, 2)},
                                      {weights, full({1, 1}, INFINITY), Lengths({1}, 2)}};
  const Tensor y = sum_spreads(terms);
  CHECK(y.at({0, 0, 0}) == INFINITY);
  CHECK(y.at({1, 0, 0}) == 1);
}

TEST_CASE("additive_score_backward is the gradient") {
  Tensor query = random_tensor({4, 3}, DType::f64, 1), v = random_tensor({3}, DType::f64, 2);
  Tensor keys = random_tensor({4, 4, 3}, DType::f64, 3), g = random_tensor({4, 4}, DType::f64, 4);
  Tensor to_query = zeros({4, 3}, DType::f64), to_v = zeros({3}, DType::f64);
  Tensor to_keys = zeros({4, 4, 3}, DType::f64);
  additive_score_backward(g, query, keys, v, some_lengths, to_query, to_keys, to_v);
  auto numeric = [&](Tensor& x) {
    std::vector<double> result;
    for (Index i = 0; i < x.size(); ++i) {
      double before = x.data<double>()[i], values[2];
      for (int side : {0, 1}) {
        x.mutable_data<double>()[i] = before + (side ? 1e-5 : -1e-5);
        values[side] = inner_product(additive_score(query, keys, v, some_lengths), g);
      }
      x.mutable_data<double>()[i] = before;
      result.push_back((values[1] - values[0]) / 2e-5);
    }
    return tensor(result, x.shape(), DType::f64);
  };
  CHECK(difference(to_query, numeric(query)) < 1e-8);
  CHECK(difference(to_keys, numeric(keys)) < 1e-8);
  CHECK(difference(to_v, numeric(v)) < 1e-8);
  Tensor once = to_v;
  additive_score_backward(g, query, keys, v, some_lengths, to_query, to_keys, to_v);
  CHECK(inner_product(to_v, once) == doctest::Approx(2 * inner_product(once, once)));
}

TEST_CASE_TEMPLATE("garbage in padding changes no bit of attention", T, float, double) {
  Tensor query = random_tensor({4, 5}, dtype_of<T>(), 1), v = random_tensor({5}, dtype_of<T>(), 2);
  Tensor keys = random_tensor({4, 4, 5}, dtype_of<T>(), 3);
  Tensor g = random_tensor({4, 4}, dtype_of<T>(), 4);
  auto everything = [&](const Tensor& some_keys, const Tensor& some_g) {
    Tensor to_query = zeros({4, 5}, dtype_of<T>()), to_v = zeros({5}, dtype_of<T>());
    Tensor to_keys = zeros({4, 4, 5}, dtype_of<T>()), spread = to_keys;
    additive_score_backward(some_g, query, some_keys, v, some_lengths, to_query, to_keys, to_v);
    add_spread(spread, some_g, query, some_lengths);
    return std::vector<Tensor>{additive_score(query, some_keys, v, some_lengths),
                               dot_score(query, some_keys, some_lengths),
                               weighted_sum(some_g, some_keys, some_lengths),
                               to_query,
                               to_keys,
                               to_v,
                               spread};
  };
  std::vector<Tensor> clean = everything(keys, g);
  for (double garbage : {1e3, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    std::vector<Tensor> spoilt = everything(with_padding(keys, some_lengths, garbage),
                                            with_padded_scores(g, some_lengths, garbage));
    for (std::size_t i = 0; i < clean.size(); ++i) {
      INFO("result ", i);
      CHECK(identical(spoilt[i], clean[i]));
    }
  }
  for (std::size_t i : {4u, 6u}) {  // gradients of the keys
    CHECK(identical(with_padding(clean[i], some_lengths, 0), clean[i]));
  }
}

TEST_CASE("scores of tensors that do not fit are errors") {
  Lengths lengths({3, 2}, 3);
  Tensor query = zeros({2, 4}), keys = zeros({3, 2, 4}), v = zeros({4});
  auto additive = [&](const Tensor& q, const Tensor& k, const Tensor& w, const Lengths& some) {
    return message_of([&] { additive_score(q, k, w, some); });
  };
  CHECK(additive(query, keys, v, lengths) == "");
  CHECK(additive(zeros({2, 5}), keys, v, lengths) ==
        "additive_score: query [2, 5] [batch, size] does not fit keys [3, 2, 4] [time, batch, "
        "size]");
  CHECK(additive(zeros({3, 4}), keys, v, lengths) != "");
  CHECK(additive(v, keys, v, lengths) != "");
  CHECK(additive(query, query, v, lengths) != "");
  CHECK(additive(query, keys, zeros({5}), lengths) ==
        "additive_score: v [5] does not fit query [2, 4]");
  CHECK(additive(query, keys, zeros({4}, DType::f64), lengths) ==
        "additive_score: f32 [2, 4] with f64 [4]; convert one of them with to()");
  CHECK(additive(query, keys, v, Lengths({3, 2}, 4)) ==
        "additive_score: lengths are of 2 sequences of up to 4 steps, the input of 2 of 3");
  CHECK(message_of([&] {
          dot_score(zeros({2, 5}), keys, lengths);
        }).substr(0, 11) == "dot_score: ");
  CHECK(message_of([&] { dot_score(query.to(DType::f64), keys, lengths); }) ==
        "dot_score: f64 [2, 4] with f32 [3, 2, 4]; convert one of them with to()");
}

TEST_CASE("weights of tensors that do not fit are errors") {
  Lengths lengths({3, 2}, 3);
  Tensor weights = zeros({2, 3}), values = zeros({3, 2, 4});
  auto sum = [&](const Tensor& w, const Tensor& x) {
    return message_of([&] { weighted_sum(w, x, lengths); });
  };
  CHECK(sum(weights, values) == "");
  CHECK(sum(zeros({3, 2}), values) ==
        "weighted_sum: weights [3, 2] are not [batch, time] = [2, 3]");
  CHECK(sum(weights, zeros({3, 2})) == "weighted_sum: values [3, 2] are not [time, batch, size]");
  CHECK(sum(weights, zeros({2, 3, 4})) ==
        "weighted_sum: lengths are of 2 sequences of up to 3 steps, the input of 3 of 2");
  CHECK(sum(weights.to(DType::f64), values) ==
        "weighted_sum: f64 [2, 3] with f32 [3, 2, 4]; convert one of them with to()");
  auto spread = [&](const Tensor& w, const Tensor& x) {
    Tensor y = values;
    return message_of([&] { add_spread(y, w, x, lengths); });
  };
  CHECK(spread(weights, zeros({2, 4})) == "");
  CHECK(spread(weights, zeros({2, 5})) ==
        "spread: [2, 5] [batch, size] does not fit [time, batch, size] = [3, 2, 4]");
  CHECK(spread(weights, zeros({4})) != "");
  CHECK(message_of([] { sum_spreads({}); }) == "spread: there is nothing to sum");
  const std::vector<SpreadTerm> unlike{{weights, zeros({2, 4}), lengths},
                                       {weights, zeros({2, 5}), lengths}};
  CHECK(message_of([&] { sum_spreads(unlike); }) ==
        "spread: [2, 5] [batch, size] does not fit [time, batch, size] = [3, 2, 4]");
  CHECK(spread(zeros({3, 2}), zeros({2, 4})) ==
        "spread: weights [3, 2] are not [batch, time] = [2, 3]");
  CHECK(spread(weights, zeros({2, 4}, DType::f64)) ==
        "spread: f32 [2, 3] with f64 [2, 4]; convert one of them with to()");
  CHECK(spread(weights.to(DType::f64), zeros({2, 4}, DType::f64)) ==
        "spread: f32 [3, 2, 4] with f64 [2, 4]; convert one of them with to()");
}

}  // namespace
}  // namespace regrad::ops
