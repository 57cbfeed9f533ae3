#include "ops/ids.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace regrad {

Ids::Ids(const Shape& shape, std::int32_t fill)
    : storage_(static_cast<std::size_t>(shape.size()) * sizeof(std::int32_t)),
      data_(reinterpret_cast<std::int32_t*>(storage_.data())),
      shape_(shape) {
  std::fill_n(data_, size(), fill);
}

Ids::Ids(std::span<const std::int32_t> values, const Shape& shape) : Ids(shape) {
  if (static_cast<Index>(values.size()) != shape.size()) {
    fail("Ids: {} values for shape {} of {}", values.size(), shape, shape.size());
  }
  std::copy(values.begin(), values.end(), data_);
}

Ids::Ids(std::initializer_list<std::int32_t> values)
    : Ids(std::span(values.begin(), values.size()), Shape{static_cast<Index>(values.size())}) {}

std::int32_t* Ids::mutable_data() {
  if (!storage_.unique()) *this = Ids(std::span(begin(), end()), shape_);
  return data_;
}

std::int32_t& Ids::at(Index t, Index b) {
  if (shape_.rank() != 2 || t < 0 || b < 0 || t >= shape_[0] || b >= shape_[1]) {
    fail("Ids::at: [{}, {}] is outside of shape {}", t, b, shape_);
  }
  return mutable_data()[t * shape_[1] + b];
}

Ids Ids::narrow(Index begin, Index end) const {
  if (begin < 0 || end < begin || end > shape_[0]) {
    fail("Ids::narrow: rows [{}, {}) are outside of shape {}", begin, end, shape_);
  }
  Ids result = *this;
  result.data_ += begin * shape_.product(1, shape_.rank());
  result.shape_ = shape_.with(0, end - begin);
  return result;
}

Ids Ids::row(Index i) const {
  if (i < 0 || i >= shape_[0]) fail("Ids::row: row {} is outside of shape {}", i, shape_);
  Ids result = narrow(i, i + 1);
  result.shape_ = shape_.without(0);
  return result;
}

namespace {

void require_time(Index time) {
  constexpr Index most = std::numeric_limits<std::int32_t>::max();
  if (time < 0 || time > most) fail("Lengths: time is {}, outside of 0 to {}", time, most);
}

}  // namespace

Lengths::Lengths(std::span<const std::int32_t> lengths, Index time)
    : ids_(lengths, Shape{static_cast<Index>(lengths.size())}), time_(time) {
  require_time(time);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] < 0 || lengths[b] > time) {
      fail("Lengths: sequence {} has length {}, outside of 0 to {}", b, lengths[b], time);
    }
    total_ += lengths[b];
  }
}

Lengths Lengths::full(Index time, Index batch) {
  require_time(time);
  Lengths result;
  result.ids_ = Ids(Shape{batch}, static_cast<std::int32_t>(time));
  result.time_ = time;
  result.total_ = time * batch;
  return result;
}

void require_lengths(const Lengths& lengths, Index time, Index batch, std::string_view operation) {
  if (lengths.time() != time || lengths.batch() != batch) {
    fail("{}: lengths are of {} sequences of up to {} steps, the input of {} of {}", operation,
         lengths.batch(), lengths.time(), batch, time);
  }
}

}  // namespace regrad
