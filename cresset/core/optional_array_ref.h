#pragma once
// An optional list of integers, as `int[]?` arguments take it: a list, one number, or nothing.

#include <optional>

#include "cresset/base/small_vector.h"

namespace cresset {

// Does not own its elements, except a single number given in place of a list.
class OptionalIntArrayRef {
 public:
  OptionalIntArrayRef() = default;
  OptionalIntArrayRef(std::nullopt_t) {}
  OptionalIntArrayRef(IntArrayRef list) : list_(list), kind_(Kind::list) {}
  OptionalIntArrayRef(const std::initializer_list<int64_t>& list) : OptionalIntArrayRef(IntArrayRef(list)) {}
  OptionalIntArrayRef(const std::vector<int64_t>& list) : OptionalIntArrayRef(IntArrayRef(list)) {}
  OptionalIntArrayRef(const DimVector& list) : OptionalIntArrayRef(IntArrayRef(list)) {}
  OptionalIntArrayRef(int64_t one) : one_(one), kind_(Kind::one) {}
  OptionalIntArrayRef(int one) : OptionalIntArrayRef(static_cast<int64_t>(one)) {}
  OptionalIntArrayRef(const std::optional<IntArrayRef>& list) {
    if (list) *this = OptionalIntArrayRef(*list);
  }

  bool has_value() const { return kind_ != Kind::none; }
  explicit operator bool() const { return has_value(); }
  IntArrayRef value() const { return kind_ == Kind::one ? IntArrayRef(&one_, 1) : list_; }
  IntArrayRef operator*() const { return value(); }
  IntArrayRef value_or(IntArrayRef other) const { return has_value() ? value() : other; }

 private:
  enum class Kind : uint8_t { none, list, one };
  IntArrayRef list_;
  int64_t one_ = 0;
  Kind kind_ = Kind::none;
};

}  // namespace cresset
