#include <memory>

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/tape.h"

using namespace regrad;

TEST_CASE("gradients of a consumed tape are an error") {
  Tape tape;
  Var x = tape.variable(scalar(3)), y = square(x);
  tape.backward(y);
  CHECK_THROWS_WITH_AS(gradients(y, {x}),
                       "gradients: this tape was consumed by backward; ask before it, or open a "
                       "new Tape",
                       Error);
}

TEST_CASE("a tape may end while another or a pause lives") {
  auto outer = std::make_unique<Tape>();
  {
    Paused paused;
    outer.reset();
    CHECK(Tape::active() == nullptr);
    Tape inner;
    CHECK(Tape::active() == &inner);
  }
  CHECK(Tape::active() == nullptr);
}

TEST_CASE("a parameter that holds nothing is an error") {
  Tape tape;
  Parameter w(scalar(3)), none;
  Gradients gradients = tape.backward(square(Var(w)));
  CHECK_THROWS_WITH_AS(gradients[none], "gradients: this parameter holds nothing", Error);
  CHECK_THROWS_AS(none.value(), Error);
  CHECK_THROWS_AS(none.assign(scalar(1)), Error);
  CHECK_THROWS_AS(none.name(), Error);
}
