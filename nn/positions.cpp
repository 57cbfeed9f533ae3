#include "nn/positions.h"

#include <cmath>
#include <limits>
#include <vector>

#include "autograd/functions.h"
#include "nn/sizes.h"

namespace regrad {

Tensor sinusoidal(Index time, Index size, DType dtype, Index first) {
  require_size("sinusoidal", "size", size);
  if (time < 0 || first < 0 || first > std::numeric_limits<Index>::max() - time) {
    fail("sinusoidal: {} steps from {} on are no positions", time, first);
  }
  std::vector<double> frequencies;
  for (Index i = 0; i < size; i += 2) {
    frequencies.push_back(std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(size)));
  }
  std::vector<double> values;
  for (Index t = first; t < first + time; ++t) {
    for (Index i = 0; i < size; ++i) {
      const double angle = static_cast<double>(t) * frequencies[static_cast<std::size_t>(i / 2)];
      values.push_back(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return tensor(values, {time, size}, dtype);
}

Var Positions::operator()(const Var& x, Index first) const {
  if (x.rank() != 3) fail("positions: the input must be [T, B, E], not {}", x.shape());
  return x + unsqueeze(vectors(first, x), 1);
}

Var SinusoidalPositions::vectors(Index first, const Var& x) const {
  return sinusoidal(x.shape()[0], x.shape()[2], x.dtype(), first);
}

LearnedPositions::LearnedPositions(Index longest, Index size, Rng& rng, DType dtype) {
  require_size("positions", "longest", longest);
  require_size("positions", "size", size);
  weight =
      Parameter(normal({longest, size}, 0, 1 / std::sqrt(static_cast<double>(size)), rng, dtype));
}

Var LearnedPositions::vectors(Index first, const Var& x) const {
  const Index longest = weight.shape()[0], time = x.shape()[0];
  if (first < 0 || first > longest - time) {
    fail(
        "positions: {} steps from {} on are not among the {} learned ones; learn more or use "
        "sinusoidal",
        time, first, longest);
  }
  if (x.shape()[2] != weight.shape()[1]) {
    fail("positions: input {} does not fit learned positions {}", x.shape(), weight.shape());
  }
  return slice(weight, 0, first, first + time);
}

void LearnedPositions::visit(Visitor& visitor) const { visitor("weight", weight); }

std::unique_ptr<Positions> make_positions(std::string_view name, Index longest, Index size,
                                          Rng& rng, DType dtype) {
  if (name == "sinusoidal") return std::make_unique<SinusoidalPositions>();
  if (name == "learned") return std::make_unique<LearnedPositions>(longest, size, rng, dtype);
  fail("positions: unknown kind `{}`; known: learned, sinusoidal", name);
}

}  // namespace regrad
