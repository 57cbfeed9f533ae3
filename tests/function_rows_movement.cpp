#include "function_rows.h"

namespace regrad::testing {

std::vector<Row> movement_rows() {
  return {
      {"reshape",
       {random({2, 3})},
       [](auto x) {
         return exp(reshape(x[0], {3, 2}));
       }},
      {"permute",
       {random({2, 3, 4})},
       [](auto x) {
         return exp(permute(x[0], {2, 0, 1}));
       }},
      {"transpose", {random({2, 3, 4})}, [](auto x) { return exp(transpose(x[0], 0, 2)); }},
      {"concat",
       {random({2, 3}), random({2, 1})},
       [](auto x) {
         return exp(concat({x[0], x[1], x[0]}, 1));
       }},
      {"stack",
       {random({2, 3}), random({2, 3})},
       [](auto x) {
         return exp(stack(std::vector<Var>{x[0], x[1]}, 1));
       }},
      {"slice", {random({3, 4})}, [](auto x) { return exp(slice(x[0], 1, 1, -1)); }},
      {"slice twice",
       {random({4})},
       [](auto x) { return slice(x[0], 0, 0, 2) * slice(x[0], 0, 1, 3) * slice(x[0], 0, 2); }},
      {"unslice",
       {random({2, 2})},
       [](auto x) {
         return exp(unslice(x[0], {2, 5}, 1, 2));
       }},
      {"select", {random({3, 4})}, [](auto x) { return exp(select(x[0], 0, -1)); }},
      {"rows",
       {random({4, 3})},
       [](auto x) {
         return exp(rows(x[0], Ids{2, 0, 2}));
       }},
      {"rows of sequences",
       {random({5, 2})},
       [](auto x) {
         return exp(rows(
             x[0],
             Ids(std::vector<std::int32_t>{1, 99, 1, 2, -7, 99, 4, 99, 99, 99, 99, 99}, {4, 3}),
             uneven));
       }},
      {"scatter_rows",
       {random({3, 2})},
       [](auto x) {
         return exp(scatter_rows(x[0], Ids{1, 1, 0}, {3, 2}));
       }},
      {"masked_fill",
       {random({4, 3, 2})},
       [](auto x) { return exp(masked_fill(x[0], uneven, 1)); }},
      {"squeeze", {random({1, 2, 1, 3})}, [](auto x) { return exp(squeeze(x[0])); }},
      {"squeeze axis", {random({1, 2, 1})}, [](auto x) { return exp(squeeze(x[0], -1)); }},
      {"unsqueeze", {random({2, 3})}, [](auto x) { return exp(unsqueeze(x[0], 1)); }},
      {"reshape -1",
       {random({2, 3, 2})},
       [](auto x) {
         return exp(reshape(x[0], {3, -1}));
       }},
      {"split",
       {random({2, 4})},
       [](auto x) {
         auto parts = split(x[0], 2, 1);
         return parts[0] * exp(parts[1]);
       }},
      {"split sizes",
       {random({4, 2})},
       [](auto x) {
         auto parts = split(x[0], {1, 0, 3}, 0);
         return parts[0] * exp(parts[2]);
       }},
      {"flip",
       {random({2, 3, 2})},
       [](auto x) {
         return exp(flip(x[0], {0, -1})) * x[0];
       }},
      {"flip size 1", {random({1, 3})}, [](auto x) { return exp(flip(x[0], {0})) * x[0]; }},
      {"pad",
       {random({2, 1, 3})},
       [](auto x) {
         return exp(pad(x[0], {{0, 1, 2}, {.axis = -1, .before = 2}}, 0.5));
       }},
      {"gather",
       {random({3, 4})},
       [](auto x) {
         return exp(gather(x[0], 1, Ids(std::vector<std::int32_t>{3, 3, 3, 0, 1, 2}, {2, 3})));
       }},
      {"gather axis 0",
       {random({3, 2, 2})},
       [](auto x) {
         return exp(gather(x[0], 0, Ids(std::vector<std::int32_t>{2, 2, 0, 1}, {2, 2, 1})));
       }},
      {"scatter_add",
       {random({3, 2}), random({3, 3})},
       [](auto x) {
         return exp(scatter_add(x[0], 0, Ids(std::vector<std::int32_t>{2, 2, 2, 0}, {2, 2}), x[1]));
       }},
      {"reverse", {random({4, 3, 2})}, [](auto x) { return exp(reverse(x[0], uneven)) * x[0]; }},
      {"reverse one step",
       {random({1, 2})},
       [](auto x) {
         return exp(reverse(x[0], Lengths({1, 0}, 1)));
       }},
  };
}

}  // namespace regrad::testing
