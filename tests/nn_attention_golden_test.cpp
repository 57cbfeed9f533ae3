#include <map>
#include <string>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "nn/attention.h"
#include "nn/safetensors.h"
#include "tests/nn_check.h"

// Values and gradients from PyTorch; tests/golden/make_attention.py wrote the file.
namespace regrad {
namespace {

using testing::contains;
using testing::difference;

const Lengths lengths({5, 0, 3, 1}, 5);

const AttentionOptions options{.query_size = 4,
                               .key_size = 4,
                               .attention_size = 6,
                               .location_filters = 2,
                               .location_width = 3,
                               .window = 2,
                               .monotonic_noise = 0};

class Golden {
 public:
  explicit Golden(DType dtype)
      : dtype_(dtype),
        tensors_(load_safetensors(std::string(REGRAD_SOURCE_DIR) +
                                  "/tests/golden/attentions_f64.safetensors")
                     .tensors) {}

  Tensor operator[](const std::string& name) const { return tensors_.at(name).to(dtype_); }
  void check(const std::string& name, const Tensor& value) const {
    CAPTURE(name);
    CHECK(difference(value, (*this)[name]) < (dtype_ == DType::f32 ? 1e-5 : 1e-12));
  }
  // `score/alignment` of each case
  std::vector<std::string> cases() const {
    std::vector<std::string> names;
    for (const auto& item : tensors_) {
      const std::size_t end = item.first.find("/weights");
      if (end != std::string::npos) names.push_back(item.first.substr(0, end));
    }
    return names;
  }

 private:
  DType dtype_;
  std::map<std::string, Tensor> tensors_;
};

void check_case(const Golden& golden, const std::string& name, DType dtype) {
  const std::size_t slash = name.find('/');
  Rng rng(1);
  const Attention attention(name.substr(0, slash), name.substr(slash + 1), options, rng, dtype);
  for (const NamedParameter& named : parameters(attention)) {
    named.parameter.assign(golden[name + "/parameter." + named.path]);
  }
  Tape tape;
  const Var query = tape.variable(golden["query"]), before = tape.variable(golden["before"]);
  const Var annotations = tape.variable(golden["annotations"]);
  const AttentionMemory memory = attention.prepare(annotations, lengths);
  const AttentionOutput y = attention(query, memory, {before, golden["step"]}, &rng);
  golden.check(name + "/weights", y.weights.value());
  golden.check(name + "/context", y.context.value());
  if (name.ends_with("hard-marginal")) {
    const Var log_weights = y.log_weights.detach();
    golden.check("marginal",
                 marginal_log_likelihood(log_weights, golden["log_p"], lengths).value());
  }
  const Gradients gradients =
      tape.backward(sum(y.weights * Var(golden[name + "/projection.weights"])) +
                    sum(y.context * Var(golden[name + "/projection.context"])));
  golden.check(name + "/grad.query", gradients[query]);
  golden.check(name + "/grad.annotations", gradients[annotations]);
  golden.check(name + "/grad.before", gradients[before]);
  for (const NamedParameter& named : parameters(attention)) {
    golden.check(name + "/grad.parameter." + named.path, gradients[named.parameter]);
  }
}

}  // namespace

TEST_CASE("every score and every alignment without chance agrees with PyTorch") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Golden golden(dtype);
    CHECK(golden.cases().size() == 12);
    for (const std::string& name : golden.cases()) check_case(golden, name, dtype);
  }
}

}  // namespace regrad
