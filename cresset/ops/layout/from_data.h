#pragma once
// Tensors from data that already exists: memory of the caller's, and lists of numbers.

#include <initializer_list>
#include <vector>
#include "cresset/base/std_function.h"

#include "cresset/core/tensor.h"

namespace cresset {

// A tensor over memory of the caller's, contiguous or with strides in elements; `deleter` runs when the last tensor over it is gone.
// Errors: dtype and sizes that do not fit 64 bits; a device other than the CPU.
CRESSET_API Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
CRESSET_API Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter, const TensorOptions& options = {});
CRESSET_API Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
CRESSET_API Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter, const TensorOptions& options = {});

// The same step by step: for_blob(data, sizes).strides(strides).deleter(free).options(kFloat).make_tensor().
class TensorMaker {
 public:
  TensorMaker(void* data, IntArrayRef sizes) : data_(data), sizes_(sizes) {}
  TensorMaker& strides(OptionalIntArrayRef strides) {
    strides_ = strides;
    return *this;
  }
  TensorMaker& deleter(std::function<void(void*)> deleter) {
    deleter_ = std::move(deleter);
    return *this;
  }
  // `release` is called with the context, and not with the data.
  TensorMaker& context(void* context, void (*release)(void*) = nullptr) {
    context_ = context;
    release_ = release;
    return *this;
  }
  TensorMaker& target_device(std::optional<Device> device) {
    if (device) options_ = options_.device(*device);
    return *this;
  }
  TensorMaker& options(TensorOptions options) {
    options_ = options;
    return *this;
  }
  CRESSET_API Tensor make_tensor();

 private:
  void *data_, *context_ = nullptr;
  IntArrayRef sizes_;
  OptionalIntArrayRef strides_;
  std::function<void(void*)> deleter_;
  void (*release_)(void*) = nullptr;
  TensorOptions options_;
};
inline TensorMaker for_blob(void* data, IntArrayRef sizes) { return {data, sizes}; }

namespace detail {

template <class T> using IfNumber = std::enable_if_t<std::is_arithmetic<T>::value || (HasDtype<T>::value && std::is_constructible<Scalar, T>::value)>;

// Nested lists of numbers: `torch::tensor({{1, 2}, {3, 4}})`.
class CRESSET_API TensorData {
 public:
  template <class T, class = IfNumber<T>> TensorData(T value) : values_{Scalar(value)}, dtype_(dtype_of_literal<T>()) {}
  TensorData(std::initializer_list<TensorData> list) : TensorData(list.begin(), list.size()) {}
  template <class T, class = IfNumber<T>> TensorData(const std::vector<T>& list) : sizes_{static_cast<int64_t>(list.size())}, dtype_(dtype_of_literal<T>()) {
    for (const T v : list) values_.emplace_back(static_cast<T>(v));
  }
  template <class T, class = IfNumber<T>> TensorData(ArrayRef<T> list) : TensorData(list.vec()) {}

  Tensor make(const TensorOptions& options) const;

 private:
  TensorData(const TensorData* list, size_t n);
  // As in LibTorch: floating point numbers have the default dtype, int and long are int64, other C++ types keep their own.
  template <class T> static ScalarType dtype_of_literal() {
    if constexpr (std::is_floating_point<T>::value) return ScalarType::Undefined;
    else if constexpr (std::is_same<T, int>::value || std::is_same<T, long long>::value) return ScalarType::Long;
    else return dtype_of<T>;
  }
  std::vector<int64_t> sizes_;
  std::vector<Scalar> values_;
  ScalarType dtype_ = ScalarType::Undefined;
};

}  // namespace detail

// Errors: nested lists of different lengths.
CRESSET_API Tensor tensor(const detail::TensorData& data, const TensorOptions& options = {});
inline Tensor tensor(std::initializer_list<detail::TensorData> data, const TensorOptions& options = {}) { return tensor(detail::TensorData(data), options); }

}  // namespace cresset
