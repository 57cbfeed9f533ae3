#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "ops/error.h"
#include "ops/shape.h"
#include "ops/storage.h"

namespace regrad {

// Integer tokens with a shape, row-major. Copies share the storage; a write copies what is shared.
// A batch of sequences is time-major: [T, B].
class Ids {
 public:
  Ids() : Ids(Shape{0}) {}
  explicit Ids(const Shape& shape, std::int32_t fill = 0);
  Ids(std::initializer_list<std::int32_t> values);  // rank 1
  Ids(std::span<const std::int32_t> values, const Shape& shape);

  const Shape& shape() const { return shape_; }
  Index size() const { return shape_.size(); }
  const std::int32_t* data() const { return data_; }
  std::int32_t operator[](Index i) const { return data_[i]; }  // row-major position, not checked
  const std::int32_t* begin() const { return data_; }
  const std::int32_t* end() const { return data_ + size(); }

  std::int32_t* mutable_data();
  std::int32_t& at(Index t, Index b);  // of [T, B]; throws Error outside

  Ids narrow(Index begin, Index end) const;  // rows [begin, end) of axis 0, a view
  Ids row(Index i) const;                    // row i of axis 0, a view without that axis

 private:
  Storage storage_;
  std::int32_t* data_ = nullptr;
  Shape shape_;
};

// How many leading time steps of each sequence of a batch are real; what lies behind them is
// padding that no result and no gradient may depend on.
class Lengths {
 public:
  Lengths() = default;
  // Throws Error for a length below 0 or above `time`, which is at most 2³¹ - 1.
  Lengths(std::span<const std::int32_t> lengths, Index time);
  Lengths(std::initializer_list<std::int32_t> lengths, Index time)
      : Lengths(std::span(lengths.begin(), lengths.size()), time) {}
  static Lengths full(Index time, Index batch);  // no padding

  Index batch() const { return ids_.size(); }
  Index time() const { return time_; }
  Index total() const { return total_; }  // number of valid positions
  bool has_padding() const { return total_ < time_ * batch(); }
  Index operator[](Index b) const { return ids_[b]; }
  bool valid(Index t, Index b) const { return t < ids_[b]; }
  const std::int32_t* data() const { return ids_.data(); }

 private:
  Ids ids_;
  Index time_ = 0;
  Index total_ = 0;
};

// Throws Error naming the operation unless the lengths are those of [time, batch] sequences.
void require_lengths(const Lengths& lengths, Index time, Index batch, std::string_view operation);

}  // namespace regrad
