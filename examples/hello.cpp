#include <regrad/autograd/functions.h>
#include <regrad/autograd/tape.h>

using namespace regrad;

int main() {
  Tape tape;  // records until the end of this scope
  Var x = tape.variable(tensor({1, 2, 3}));
  Var y = sum(x * tanh(x));
  Gradients grads = tape.backward(y);
  fmt::print("y = {:.4f}\ndy/dx = {}\n", y.item(), grads[x]);
}
