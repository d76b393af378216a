#pragma once
// Python's indexing in C++: integers, slices, None, Ellipsis, booleans and tensors, mixed as NumPy and PyTorch mix them.

#include "cresset/core/tensor.h"

namespace cresset::indexing {

struct NoneType {};
struct EllipsisIndexType {};
constexpr std::nullopt_t None = std::nullopt;
constexpr EllipsisIndexType Ellipsis{};
constexpr int64_t INDEX_MIN = INT64_MIN, INDEX_MAX = INT64_MAX;

// start:stop:step, each may be None: then it is the first element, the end, and 1.
struct Slice {
  Slice(std::optional<int64_t> start = std::nullopt, std::optional<int64_t> stop = std::nullopt, std::optional<int64_t> step = std::nullopt)
      : step_(step.value_or(1)) {
    start_ = start.value_or(step_ < 0 ? INDEX_MAX : 0);
    stop_ = stop.value_or(step_ < 0 ? INDEX_MIN : INDEX_MAX);
  }
  int64_t start() const { return start_; }
  int64_t stop() const { return stop_; }
  int64_t step() const { return step_; }

 private:
  int64_t start_, stop_, step_;
};

enum class TensorIndexType { None, Ellipsis, Integer, Boolean, Slice, Tensor };

// One entry of an index list.
struct TensorIndex {
  TensorIndex(std::nullopt_t) : type_(TensorIndexType::None) {}
  TensorIndex(EllipsisIndexType) : type_(TensorIndexType::Ellipsis) {}
  // "..." only. Errors: any other text.
  CRESSET_API TensorIndex(const char* text);
  template <class T, class = std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value>> TensorIndex(T i)
      : integer_(static_cast<int64_t>(i)), type_(TensorIndexType::Integer) {}
  template <class T, class = std::enable_if_t<std::is_same<T, bool>::value>, class = void> TensorIndex(T b) : integer_(b), type_(TensorIndexType::Boolean) {}
  TensorIndex(Slice s) : slice_(s), type_(TensorIndexType::Slice) {}
  TensorIndex(Tensor t) : tensor_(std::move(t)), type_(TensorIndexType::Tensor) {}

  TensorIndexType type() const { return type_; }
  bool is_none() const { return type_ == TensorIndexType::None; }
  bool is_ellipsis() const { return type_ == TensorIndexType::Ellipsis; }
  bool is_integer() const { return type_ == TensorIndexType::Integer; }
  bool is_boolean() const { return type_ == TensorIndexType::Boolean; }
  bool is_slice() const { return type_ == TensorIndexType::Slice; }
  bool is_tensor() const { return type_ == TensorIndexType::Tensor; }
  int64_t integer() const { return integer_; }
  bool boolean() const { return integer_ != 0; }
  const Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Slice slice_;
  Tensor tensor_;
  int64_t integer_ = 0;
  TensorIndexType type_;
};

// "0:3:1"; None, "...", a number, true, a slice or the tensor.
CRESSET_API std::ostream& operator<<(std::ostream& out, const Slice& slice);
CRESSET_API std::ostream& operator<<(std::ostream& out, const TensorIndex& index);
CRESSET_API std::ostream& operator<<(std::ostream& out, const std::vector<TensorIndex>& indices);

// self[indices]: a view if no tensor or boolean is among them, else a copy.
// Errors: IndexError for out-of-range integers, too many indices, or masks of another shape.
CRESSET_API Tensor get_item(const Tensor& self, ArrayRef<TensorIndex> indices);
// self[indices] = value, with value broadcast to the indexed shape.
CRESSET_API void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Tensor& value);
CRESSET_API void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Scalar& value);

}  // namespace cresset::indexing
