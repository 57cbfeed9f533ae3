#include "function_rows.h"

namespace regrad::testing {

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (auto* part : {elementwise_rows, activation_rows, reductions_rows, linear_algebra_rows,
                     movement_rows, convolution_rows, normalised_rows, losses_rows, recurrent_rows,
                     attention_rows, self_attention_rows}) {
    row_numbers = Rng(11);
    for (Row& row : part()) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace regrad::testing
