#pragma once
// The arguments besides tensors that generated nodes keep: geometry without the data, owned lists, absent optionals.

#include "cresset/core/tensor.h"

namespace cresset {
namespace autograd {

// Shape and kind of a tensor whose values the gradient does not need; spelled like the tensor's own methods.
class SavedGeometry {
 public:
  SavedGeometry() = default;
  explicit SavedGeometry(const Tensor& t) {
    if (!t.defined()) return;
    sizes_ = t.sizes();
    strides_ = t.strides();
    offset_ = t.storage_offset();
    options_ = t.options();
  }
  explicit SavedGeometry(const std::optional<Tensor>& t) : SavedGeometry(t ? *t : Tensor()) {}
  IntArrayRef sizes() const { return sizes_; }
  IntArrayRef strides() const { return strides_; }
  int64_t storage_offset() const { return offset_; }
  TensorOptions options() const { return options_; }
  ScalarType scalar_type() const { return options_.dtype(); }
  Device device() const { return options_.device(); }
  bool is_complex() const { return is_complex_type(scalar_type()); }
  int64_t dim() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t size(int64_t d) const { return sizes_[static_cast<size_t>(d < 0 ? d + dim() : d)]; }
  int64_t numel() const {
    int64_t n = 1;
    for (const int64_t s : sizes_) n *= s;
    return n;
  }

 private:
  DimVector sizes_, strides_;
  int64_t offset_ = 0;
  TensorOptions options_;
};

inline std::vector<DimVector> sizes_of(TensorList tensors) {
  std::vector<DimVector> sizes;
  for (const Tensor& t : tensors) sizes.emplace_back(t.sizes());
  return sizes;
}

inline std::optional<Tensor> optional_of(Tensor t) { return t.defined() ? std::optional<Tensor>(std::move(t)) : std::nullopt; }
inline std::vector<std::optional<Tensor>> optionals_of(const std::vector<Tensor>& list) {
  std::vector<std::optional<Tensor>> result;
  for (const Tensor& t : list) result.push_back(optional_of(t));
  return result;
}

// The tensor that an in-place op is about to overwrite.
CRESSET_API Tensor cloned(const Tensor& t);

inline std::optional<DimVector> owned(const OptionalIntArrayRef& list) { return list ? std::optional<DimVector>(DimVector(list.value())) : std::nullopt; }
inline OptionalIntArrayRef borrowed(const std::optional<DimVector>& list) { return list ? OptionalIntArrayRef(IntArrayRef(*list)) : OptionalIntArrayRef(); }
inline std::optional<std::vector<double>> owned(const std::optional<ArrayRef<double>>& list) {
  return list ? std::optional<std::vector<double>>(list->vec()) : std::nullopt;
}
inline std::optional<ArrayRef<double>> borrowed(const std::optional<std::vector<double>>& list) {
  return list ? std::optional<ArrayRef<double>>(ArrayRef<double>(*list)) : std::nullopt;
}

}  // namespace autograd
}  // namespace cresset
