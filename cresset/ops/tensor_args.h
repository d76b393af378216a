#pragma once
// Checks of the arguments of a kernel by LibTorch's names: each says which function was called, and which argument of it does not fit.

#include <string>
#include <vector>

#include "cresset/base/error.h"
#include "cresset/core/tensor.h"

namespace cresset {

// The function that checks its arguments.
using CheckedFrom = const char*;

// Sizes and strides of a tensor, without its values.
struct TensorGeometry {
  TensorGeometry() = default;
  explicit TensorGeometry(IntArrayRef sizes) : sizes_(sizes), strides_(contiguous_strides(sizes)) { count(); }
  explicit TensorGeometry(const Tensor& t) : sizes_(t.sizes()), strides_(t.strides()), storage_offset_(t.storage_offset()) { count(); }
  int64_t dim() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t size(int64_t dim) const { return sizes_.at(static_cast<size_t>(dim < 0 ? dim + this->dim() : dim)); }
  int64_t stride(int64_t dim) const { return strides_.at(static_cast<size_t>(dim < 0 ? dim + this->dim() : dim)); }
  IntArrayRef sizes() const { return sizes_; }
  IntArrayRef strides() const { return strides_; }
  int64_t storage_offset() const { return storage_offset_; }
  int64_t numel() const { return numel_; }
  bool is_contiguous() const { return numel_ == 0 || IntArrayRef(strides_) == IntArrayRef(contiguous_strides(sizes_)); }

 private:
  void count() {
    for (const int64_t size : sizes_) numel_ *= size;
  }
  DimVector sizes_, strides_;
  int64_t storage_offset_ = 0, numel_ = 1;
};

// A tensor as an argument: its name and place.
template <class T> struct NamedArgument {
  T tensor;
  const char* name;
  int pos;
  NamedArgument(T t, const char* argument, int place) : tensor(std::move(t)), name(argument), pos(place) {}
  const T* operator->() const { return &tensor; }
  const T& operator*() const { return tensor; }
};
struct TensorArg : NamedArgument<Tensor> {
  using NamedArgument<Tensor>::NamedArgument;
};
struct TensorGeometryArg : NamedArgument<TensorGeometry> {
  using NamedArgument<TensorGeometry>::NamedArgument;
  TensorGeometryArg(const TensorArg& arg) : NamedArgument<TensorGeometry>(TensorGeometry(arg.tensor), arg.name, arg.pos) {}
};

namespace detail {
template <class T> std::string argument_text(const NamedArgument<T>& arg) { return "argument #" + std::to_string(arg.pos) + " '" + arg.name + "'"; }
template <class Check> void check_pairs(ArrayRef<TensorArg> tensors, Check check) {
  const TensorArg* first = nullptr;
  for (const TensorArg& arg : tensors) {
    if (!arg->defined()) continue;
    if (first) check(*first, arg);
    else first = &arg;
  }
}
template <class A, class B>
void check_alike(CheckedFrom c, bool alike, const NamedArgument<Tensor>& a, const A& of_a, const NamedArgument<Tensor>& b, const B& of_b, const char* what) {
  CRESSET_CHECK(alike, c, ": expected ", what, " of ", argument_text(a), " and ", argument_text(b), " to be the same, got ", of_a, " and ", of_b);
}
}  // namespace detail

inline void checkDefined(CheckedFrom c, const TensorArg& t) {
  CRESSET_CHECK(t->defined(), c, ": expected a tensor as ", detail::argument_text(t), ", got an undefined one");
}
inline void checkAllDefined(CheckedFrom c, ArrayRef<TensorArg> tensors) {
  for (const TensorArg& t : tensors) checkDefined(c, t);
}
inline void checkDim(CheckedFrom c, const TensorGeometryArg& t, int64_t dim) {
  CRESSET_CHECK(t->dim() == dim, c, ": expected ", dim, " dimensions of ", detail::argument_text(t), ", got ", t->dim(), " in ", t->sizes());
}
inline void checkDim(CheckedFrom c, const Tensor& tensor, const char* name, int pos, int64_t dim) {
  checkDim(c, TensorGeometryArg(TensorGeometry(tensor), name, pos), dim);
}
// From `begin` to below `end` dimensions.
inline void checkDimRange(CheckedFrom c, const TensorGeometryArg& t, int64_t begin, int64_t end) {
  CRESSET_CHECK(t->dim() >= begin && t->dim() < end, c, ": expected ", begin, " to ", end - 1, " dimensions of ", detail::argument_text(t), ", got ", t->dim());
}
inline void checkSameDim(CheckedFrom c, const TensorGeometryArg& a, const TensorGeometryArg& b) {
  CRESSET_CHECK(a->dim() == b->dim(), c, ": expected as many dimensions of ", detail::argument_text(a), " as of ", detail::argument_text(b), ", got ", a->dim(),
                " and ", b->dim());
}
inline void checkSize(CheckedFrom c, const TensorGeometryArg& t, IntArrayRef sizes) {
  CRESSET_CHECK(t->sizes() == sizes, c, ": expected ", detail::argument_text(t), " to be ", sizes, ", got ", t->sizes());
}
inline void checkSize(CheckedFrom c, const TensorGeometryArg& t, int64_t dim, int64_t size) {
  checkDimRange(c, t, dim + 1, INT64_MAX);
  CRESSET_CHECK(t->size(dim) == size, c, ": expected ", size, " in dimension ", dim, " of ", detail::argument_text(t), ", got ", t->sizes());
}
inline void checkNumel(CheckedFrom c, const TensorGeometryArg& t, int64_t numel) {
  CRESSET_CHECK(t->numel() == numel, c, ": expected ", numel, " elements of ", detail::argument_text(t), ", got ", t->sizes());
}
inline void checkContiguous(CheckedFrom c, const TensorGeometryArg& t) {
  CRESSET_CHECK(t->is_contiguous(), c, ": expected ", detail::argument_text(t), " to be contiguous, got strides ", t->strides(), " for ", t->sizes());
}
inline void checkAllContiguous(CheckedFrom c, ArrayRef<TensorArg> tensors) {
  for (const TensorArg& t : tensors)
    if (t->defined()) checkContiguous(c, t);
}
inline void checkSameSize(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
  detail::check_alike(c, a->sizes() == b->sizes(), a, a->sizes(), b, b->sizes(), "shapes");
}
inline void checkSameNumel(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
  detail::check_alike(c, a->numel() == b->numel(), a, a->numel(), b, b->numel(), "numbers of elements");
}
inline void checkSameType(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
  detail::check_alike(c, a->scalar_type() == b->scalar_type() && a->layout() == b->layout(), a, a->scalar_type(), b, b->scalar_type(), "dtypes and layouts");
}
inline void checkSameGPU(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
  detail::check_alike(c, !a->is_cpu() && a->device() == b->device(), a, a->device(), b, b->device(), "accelerators");
}
inline void checkAllSameSize(CheckedFrom c, ArrayRef<TensorArg> tensors) {
  detail::check_pairs(tensors, [&](const TensorArg& a, const TensorArg& b) { checkSameSize(c, a, b); });
}
inline void checkAllSameNumel(CheckedFrom c, ArrayRef<TensorArg> tensors) {
  detail::check_pairs(tensors, [&](const TensorArg& a, const TensorArg& b) { checkSameNumel(c, a, b); });
}
inline void checkAllSameType(CheckedFrom c, ArrayRef<TensorArg> tensors) {
  detail::check_pairs(tensors, [&](const TensorArg& a, const TensorArg& b) { checkSameType(c, a, b); });
}
inline void checkAllSameGPU(CheckedFrom c, ArrayRef<TensorArg> tensors) {
  detail::check_pairs(tensors, [&](const TensorArg& a, const TensorArg& b) { checkSameGPU(c, a, b); });
}
inline void checkScalarType(CheckedFrom c, const TensorArg& t, ScalarType type) {
  CRESSET_CHECK(t->scalar_type() == type, c, ": expected ", detail::argument_text(t), " to be of ", type, ", got ", t->scalar_type());
}
inline void checkScalarTypes(CheckedFrom c, const TensorArg& t, ArrayRef<ScalarType> types) {
  for (const ScalarType type : types)
    if (t->scalar_type() == type) return;
  std::string listed;
  for (const ScalarType type : types) listed += (listed.empty() ? "" : ", ") + std::string(toString(type));
  CRESSET_CHECK(false, c, ": expected ", detail::argument_text(t), " to be of one of ", listed, ", got ", t->scalar_type());
}
inline void checkDeviceType(CheckedFrom c, const Tensor& t, DeviceType type) {
  CRESSET_CHECK(!t.defined() || t.device().type() == type, c, ": expected a tensor on ", Device(type), ", got one on ", t.device());
}
inline void checkDeviceType(CheckedFrom c, ArrayRef<Tensor> tensors, DeviceType type) {
  for (const Tensor& t : tensors) checkDeviceType(c, t, type);
}
inline void checkLayout(CheckedFrom c, const Tensor& t, Layout layout) {
  CRESSET_CHECK(!t.defined() || t.layout() == layout, c, ": expected a tensor of layout ", layout, ", got ", t.layout());
}
// The memory of a tensor; null for an undefined one.
inline void* maybe_data_ptr(const Tensor& t) { return t.defined() ? t.data_ptr() : nullptr; }
inline void* maybe_data_ptr(const TensorArg& t) { return maybe_data_ptr(t.tensor); }

}  // namespace cresset
