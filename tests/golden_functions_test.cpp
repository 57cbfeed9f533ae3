#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "function_rows.h"
#include "nn/safetensors.h"

// Values and gradients of every function from PyTorch; the scripts tests/golden/make_*.py wrote
// them.
using namespace regrad;
using namespace regrad::testing;

namespace {

using Tensors = std::map<std::string, Tensor>;  // input0, …, output, projection, grad0, …

struct Case {
  Tensors tensors;
  bool entrywise = false;  // no sums in which digits could cancel
};

// By "softplus/0".
std::map<std::string, Case> golden_cases() {
  std::map<std::string, Case> cases;
  const std::set<std::string> entrywise{"functions_elementwise", "functions_activations",
                                        "functions_binaries", "functions_comparisons"};
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(REGRAD_SOURCE_DIR) + "/tests/golden")) {
    if (!file.path().filename().string().starts_with("functions_")) continue;
    for (auto& [name, tensor] : load_safetensors(file.path()).tensors) {
      const std::size_t slash = name.rfind('/');
      Case& golden = cases[name.substr(0, slash)];
      golden.tensors[name.substr(slash + 1)] = tensor;
      golden.entrywise = entrywise.contains(file.path().stem());
    }
  }
  return cases;
}

std::map<std::string, Function> callables() {
  std::map<std::string, Function> result;
  for (const Row& row : golden_rows()) result.emplace(row.name, row.f);
  for (const Row& row : all_rows()) result.emplace(row.name, row.f);
  return result;
}

struct Difference {
  Index entries;  // how many
  const char* why;
};

// Where Regrad is not as PyTorch, on purpose.
std::map<std::string, Difference> differences() {
  const char* elu = "PyTorch subtracts 1 from e^x, which loses small x";
  const char* expm1 = "PyTorch adds 1 to the value again, which loses a small e^x";
  const char* mean = "PyTorch's mean over nothing is NaN";
  const char* relu = "Regrad's gradient is 1 where x > 0, else 0, so also at NaN";
  const char* nothing = "over nothing but -inf PyTorch gives NaN";
  const char* squares = "PyTorch's squares overflow or vanish";
  const char* unseen = "PyTorch takes 0 · NaN from keys that a causal query does not see";
  return {
      {"bce_with_logits sum/2/output", {1, "PyTorch subtracts inf t from inf"}},
      {"bce_with_logits/3/output", {1, mean}},
      {"cosine_similarity/7/output", {1, squares}},
      {"cosine_similarity/7/grad0", {2, squares}},
      {"cosine_similarity/7/grad1", {2, squares}},
      {"cross_entropy of ids/0/output", {1, mean}},
      {"elu/3/output", {2, elu}},
      {"elu/4/output", {1, elu}},
      {"elu 0.7/3/output", {1, elu}},
      {"elu 0.7/3/grad0", {2, elu}},
      {"elu 0.7/4/output", {1, elu}},
      {"elu 0.7/4/grad0", {1, elu}},
      {"expm1/3/grad0", {1, expm1}},
      {"expm1/4/grad0", {1, expm1}},
      {"head_weights/2/grad0", {2, "PyTorch multiplies an infinite key with its gradient of 0"}},
      {"kl_div of log q/0/output", {1, mean}},
      {"kl_div of a sure target/1/output", {1, "PyTorch multiplies p = 0 by log q = -inf"}},
      {"layer_norm weight and bias/1/grad0", {1, "PyTorch rounds; of one entry it is 0"}},
      {"log_softmax/5/output", {2, nothing}},
      {"log_softmax/5/grad0", {2, nothing}},
      {"logsumexp rows/4/grad0", {2, "PyTorch's e^(x - y) loses the log 2 in y = 1e300 + log 2"}},
      {"logsumexp rows/5/grad0", {7, "the gradient is softmax: with +inf NaN, of only -inf zeros"}},
      {"mse/4/output", {1, mean}},
      {"nll of ids/0/output", {1, mean}},
      {"norm rows/7/output", {3, squares}},
      {"norm rows/7/grad0", {7, squares}},
      {"relu/3/grad0", {1, relu}},
      {"relu/4/grad0", {1, relu}},
      {"rnn_gates relu/4/grad0", {2, relu}},
      {"rnn_gates relu/4/grad1", {2, relu}},
      {"scaled_dot_product_attention/1/output", {1, unseen}},
      {"smooth_l1/2/output", {1, mean}},
      {"softmax/5/output", {2, nothing}},
      {"softmax/5/grad0", {2, nothing}},
      {"topk/1/grad0", {2, "of equals Regrad takes the first, PyTorch any"}},
  };
}

// How far each entry may be from b: relative to it, or, of sums, to what is usual in the tensor;
// next to the smallest numbers kernels may flush to 0.
std::vector<double> allowed_errors(const Tensor& b, bool entrywise) {
  const bool wide = b.dtype() == DType::f64;
  std::vector<double> sizes = b.to_vector();
  for (double& size : sizes) size = std::isfinite(size) ? std::abs(size) : 0;
  std::vector<double> sorted = sizes;
  std::sort(sorted.begin(), sorted.end());
  const double median = sorted.empty() || entrywise ? 0 : sorted[sorted.size() / 2];
  for (double& size : sizes) {
    size = (wide ? 1e-12 : 1e-5) * std::max({size, median, wide ? 1e-290 : 1e-30});
  }
  return sizes;
}

// The number of entries that are too far from PyTorch's; NaN equals NaN and infinity itself.
Index different_entries(const Tensor& a, const Tensor& b, bool entrywise) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  const std::vector<double> allowed = allowed_errors(b, entrywise);
  Index count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (!(std::abs(x[i] - y[i]) <= allowed[i])) ++count;
  }
  return count;
}

// Output and gradients under the names that they have in a golden case.
Tensors computed(const Function& f, const Tensors& golden) {
  Tape tape;
  std::vector<Var> inputs;
  while (golden.contains("input" + std::to_string(inputs.size()))) {
    inputs.push_back(tape.variable(golden.at("input" + std::to_string(inputs.size()))));
  }
  const Var y = f(inputs);
  Tensors result{{"output", y.value()}};
  if (!golden.contains("projection")) return result;
  const Gradients gradients = tape.backward(y, golden.at("projection"));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    result["grad" + std::to_string(i)] = gradients[inputs[i]];
  }
  return result;
}

// Output and gradients; those that differ on purpose are taken off the list.
void check_case(const std::string& name, const Case& golden, const Function& f,
                std::map<std::string, Difference>& known) {
  CAPTURE(name);
  Tensors results;
  CHECK_NOTHROW(results = computed(f, golden.tensors));
  for (const auto& item : results) {
    const Tensor &value = item.second, &expected = golden.tensors.at(item.first);
    INFO(item.first << " for " << to_string(golden.tensors.at("input0")) << " is "
                    << to_string(value) << ", PyTorch's " << to_string(expected));
    REQUIRE(value.shape() == expected.shape());
    REQUIRE(value.dtype() == expected.dtype());
    const auto difference = known.extract(name + "/" + item.first);
    CHECK(different_entries(value, expected, golden.entrywise) ==
          (difference.empty() ? 0 : difference.mapped().entries));
  }
}

bool not_finite(double x) { return !std::isfinite(x); }

// Which of size 0, of size 1 and NaN or infinity are among the inputs.
std::set<std::string> kinds(const Tensors& tensors) {
  std::set<std::string> result;
  for (const auto& [name, tensor] : tensors) {
    if (!name.starts_with("input")) continue;
    for (int axis = 0; axis < tensor.rank(); ++axis) {
      if (tensor.shape()[axis] == 0) result.insert("size 0");
      if (tensor.shape()[axis] == 1) result.insert("size 1");
    }
    const std::vector<double> values = tensor.to_vector();
    if (std::any_of(values.begin(), values.end(), not_finite)) result.insert("special");
  }
  return result;
}

// Functions and kinds of cases for which PyTorch has no answer.
std::map<std::string, std::string> exceptions() {
  return {
      {"one_hot special", "ids are integers"},
  };
}

}  // namespace

TEST_CASE("every function has PyTorch's values and gradients") {
  const auto functions = callables();
  std::map<std::string, Difference> known = differences();
  for (const auto& [name, golden] : golden_cases()) {
    const std::string callable = name.substr(0, name.find('/'));
    if (functions.contains(callable)) {
      check_case(name, golden, functions.at(callable), known);
    } else {
      FAIL_CHECK("no callable for the golden case " << callable);
    }
  }
  for (const auto& [part, difference] : known) FAIL_CHECK(part << " is in no golden case");
}

TEST_CASE("every function has golden cases of size 0, of size 1 and of special values") {
  std::map<std::string, std::set<std::string>> found;
  for (const auto& [name, golden] : golden_cases()) {
    found[name.substr(0, name.find_first_of(" /"))].merge(kinds(golden.tensors));
  }
  std::map<std::string, std::string> excepted = exceptions();
  for (const auto& [function, has] : found) {
    for (const char* kind : {"size 0", "size 1", "special"}) {
      const std::string missing = function + " " + kind;
      CAPTURE(missing);
      CHECK(has.contains(kind) != (excepted.erase(missing) > 0));
    }
  }
  for (const auto& [missing, why] : excepted) FAIL_CHECK(missing << " is of no golden case");
}
