#include "ops/gather.h"

#include "autograd/functions.h"
#include "autograd/record.h"
#include "ops/elementwise.h"

namespace regrad {

Var gather(const Var& x, int axis, const Ids& index) {
  return record("gather", ops::gather(x.value(), axis, index),
                AddingEdge{x,
                           [axis, index, shape = x.shape()](const Var& g) {
                             return scatter_add(Var(zeros(shape, g.dtype())), axis, index, g);
                           },
                           [axis, index](const Tensor& g, Tensor& sum) {
                             ops::add_gathered(sum, g, axis, index);
                           }});
}

Var scatter_add(const Var& x, int axis, const Ids& index, const Var& source) {
  if (source.rank() != index.shape().rank()) {
    fail("scatter_add: source {} and index {} differ in rank", source.shape(), index.shape());
  }
  Var used = source;
  for (int i = 0; i < source.rank(); ++i) {
    Index wanted = index.shape()[i];
    if (wanted > source.shape()[i]) {
      fail("scatter_add: source {} has no entry for each of index {}", source.shape(),
           index.shape());
    }
    if (wanted < source.shape()[i]) used = slice(used, i, 0, wanted);
  }
  Tensor y = x.value();
  ops::add_gathered(y, used.value(), axis, index);
  return record("scatter_add", std::move(y), PassEdge{x},
                Edge{used, [axis, index](const Var& g) { return gather(g, axis, index); }});
}

Tensor one_hot(const Ids& ids, Index classes, DType dtype) {
  return ops::one_hot(ids, nullptr, classes, dtype);
}

Tensor one_hot(const Ids& ids, const Lengths& lengths, Index classes, DType dtype) {
  return ops::one_hot(ids, &lengths, classes, dtype);
}

}  // namespace regrad
