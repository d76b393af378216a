#pragma once
// D numbers that may be given as one number or as D of them: kernel sizes, strides, paddings.

#include <array>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <vector>

#include "cresset/base/array_ref.h"
#include "cresset/base/error.h"

namespace cresset {

namespace detail {
[[noreturn]] CRESSET_API void expanding_array_size_error(size_t expected, size_t got);
CRESSET_API void print_list(std::ostream& stream, IntArrayRef values);
CRESSET_API void print_list(std::ostream& stream, ArrayRef<double> values);
// A list of one as the number itself.
CRESSET_API void print_expanded(std::ostream& stream, IntArrayRef values);
CRESSET_API void print_expanded(std::ostream& stream, ArrayRef<double> values);
CRESSET_API void print_expanded(std::ostream& stream, ArrayRef<std::optional<int64_t>> values);
}  // namespace detail

template <size_t D, class T = int64_t> class ExpandingArray {
 public:
  ExpandingArray(std::initializer_list<T> list) : ExpandingArray(ArrayRef<T>(list)) {}
  ExpandingArray(const std::vector<T>& values) : ExpandingArray(ArrayRef<T>(values)) {}
  ExpandingArray(ArrayRef<T> values) {
    if (values.size() != D) detail::expanding_array_size_error(D, values.size());
    for (size_t i = 0; i < D; i++) values_[i] = values[i];
  }
  ExpandingArray(T one) { values_.fill(one); }
  ExpandingArray(const std::array<T, D>& values) : values_(values) {}

  std::array<T, D>& operator*() { return values_; }
  const std::array<T, D>& operator*() const { return values_; }
  std::array<T, D>* operator->() { return &values_; }
  const std::array<T, D>* operator->() const { return &values_; }
  operator ArrayRef<T>() const { return ArrayRef<T>(values_.data(), D); }
  size_t size() const noexcept { return D; }

 protected:
  std::array<T, D> values_;
};

template <size_t D, class T> std::ostream& operator<<(std::ostream& stream, const ExpandingArray<D, T>& array) {
  detail::print_expanded(stream, ArrayRef<T>(array));
  return stream;
}

// D numbers each of which may be absent: output sizes of adaptive pooling.
template <size_t D, class T = int64_t> class ExpandingArrayWithOptionalElem : public ExpandingArray<D, std::optional<T>> {
 public:
  using Base = ExpandingArray<D, std::optional<T>>;
  using Base::Base;
  ExpandingArrayWithOptionalElem(std::initializer_list<T> list) : ExpandingArrayWithOptionalElem(ArrayRef<T>(list)) {}
  ExpandingArrayWithOptionalElem(const std::vector<T>& values) : ExpandingArrayWithOptionalElem(ArrayRef<T>(values)) {}
  ExpandingArrayWithOptionalElem(ArrayRef<T> values) : Base(std::optional<T>()) {
    if (values.size() != D) detail::expanding_array_size_error(D, values.size());
    for (size_t i = 0; i < D; i++) this->values_[i] = values[i];
  }
  ExpandingArrayWithOptionalElem(T one) : Base(std::optional<T>(one)) {}
  ExpandingArrayWithOptionalElem(const std::array<T, D>& values) : ExpandingArrayWithOptionalElem(ArrayRef<T>(values.data(), D)) {}
};

}  // namespace cresset
