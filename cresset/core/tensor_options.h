#pragma once
// dtype, layout, device, requires_grad, pinned_memory and memory_format of a tensor to be made, each optional.

#include <optional>

#include "cresset/base/device.h"
#include "cresset/base/type_meta.h"
#include "cresset/core/default_dtype.h"
#include "cresset/core/layout.h"

namespace cresset {

enum class Backend;

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType t) : dtype_(t), has_dtype_(true) {}
  TensorOptions(TypeMeta t) : TensorOptions(t.toScalarType()) {}
  TensorOptions(Layout l) : layout_(l), has_layout_(true) {}
  // A template, so that braces of a type and an index are never taken for a device.
  template <class D, class = std::enable_if_t<std::is_same<std::decay_t<D>, Device>::value>> TensorOptions(D&& d) : device_(d), has_device_(true) {}
  TensorOptions(DeviceType d) : TensorOptions(Device(d)) {}
  TensorOptions(DeviceType d, DeviceIndex index) : TensorOptions(Device(d, index)) {}
  TensorOptions(const char* d) : TensorOptions(Device(d)) {}
  TensorOptions(MemoryFormat f) : memory_format_(f), has_memory_format_(true) {}

  TensorOptions dtype(std::optional<ScalarType> t) const {
    auto o = *this;
    o.has_dtype_ = t.has_value();
    if (t) o.dtype_ = *t;
    return o;
  }
  template <class T> TensorOptions& dtype() {
    dtype_ = dtype_of<T>;
    has_dtype_ = true;
    return *this;
  }
  TensorOptions layout(std::optional<Layout> l) const {
    auto o = *this;
    o.has_layout_ = l.has_value();
    if (l) o.layout_ = *l;
    return o;
  }
  TensorOptions device(std::optional<Device> d) const {
    auto o = *this;
    o.has_device_ = d.has_value();
    if (d) o.device_ = *d;
    return o;
  }
  TensorOptions device(DeviceType type, DeviceIndex index = -1) const { return device(std::optional<Device>(Device(type, index))); }
  // A CUDA device, as the index alone has come to mean.
  TensorOptions device_index(DeviceIndex index) const { return device(DeviceType::CUDA, index); }
  TensorOptions requires_grad(std::optional<bool> r) const {
    auto o = *this;
    o.has_requires_grad_ = r.has_value();
    o.requires_grad_ = r.value_or(false);
    return o;
  }
  TensorOptions pinned_memory(std::optional<bool> p) const {
    auto o = *this;
    o.has_pinned_ = p.has_value();
    o.pinned_ = p.value_or(false);
    return o;
  }
  TensorOptions memory_format(std::optional<MemoryFormat> f) const {
    auto o = *this;
    o.has_memory_format_ = f.has_value();
    if (f) o.memory_format_ = *f;
    return o;
  }

  TypeMeta dtype() const { return TypeMeta::fromScalarType(has_dtype_ ? dtype_ : get_default_dtype()); }
  Layout layout() const { return layout_; }
  Backend backend() const;  // in type_properties.h
  Device device() const { return device_; }
  DeviceIndex device_index() const { return device_.index(); }
  bool is_sparse() const { return layout_ == Layout::Sparse; }
  bool is_sparse_csr() const { return layout_ == Layout::SparseCsr; }
  bool requires_grad() const { return requires_grad_; }
  bool pinned_memory() const { return pinned_; }
  bool has_dtype() const { return has_dtype_; }
  bool has_layout() const { return has_layout_; }
  bool has_device() const { return has_device_; }
  bool has_requires_grad() const { return has_requires_grad_; }
  bool has_pinned_memory() const { return has_pinned_; }
  bool has_memory_format() const { return has_memory_format_; }
  std::optional<TypeMeta> dtype_opt() const { return has_dtype_ ? std::optional<TypeMeta>(TypeMeta::fromScalarType(dtype_)) : std::nullopt; }
  std::optional<Layout> layout_opt() const { return has_layout_ ? std::optional<Layout>(layout_) : std::nullopt; }
  std::optional<Device> device_opt() const { return has_device_ ? std::optional<Device>(device_) : std::nullopt; }
  std::optional<bool> requires_grad_opt() const { return has_requires_grad_ ? std::optional<bool>(requires_grad_) : std::nullopt; }
  std::optional<bool> pinned_memory_opt() const { return has_pinned_ ? std::optional<bool>(pinned_) : std::nullopt; }
  std::optional<MemoryFormat> memory_format_opt() const { return has_memory_format_ ? std::optional<MemoryFormat>(memory_format_) : std::nullopt; }

  bool type_equal(const TensorOptions& o) const { return dtype() == o.dtype() && layout_ == o.layout_ && device_.type() == o.device_.type(); }
  // These options, with what `o` states put over them.
  TensorOptions merge_in(const TensorOptions& o) const {
    auto r = *this;
    if (o.has_dtype_) r = r.dtype(o.dtype_);
    if (o.has_layout_) r = r.layout(o.layout_);
    if (o.has_device_) r = r.device(o.device_);
    if (o.has_requires_grad_) r = r.requires_grad(o.requires_grad_);
    if (o.has_pinned_) r = r.pinned_memory(o.pinned_);
    if (o.has_memory_format_) r = r.memory_format(o.memory_format_);
    return r;
  }

 private:
  Device device_ = Device(DeviceType::CPU);
  ScalarType dtype_ = ScalarType::Float;
  Layout layout_ = Layout::Strided;
  MemoryFormat memory_format_ = MemoryFormat::Contiguous;
  bool requires_grad_ = false, pinned_ = false;
  bool has_dtype_ = false, has_layout_ = false, has_device_ = false, has_requires_grad_ = false, has_pinned_ = false, has_memory_format_ = false;
};

inline TensorOptions dtype(ScalarType t) { return TensorOptions().dtype(t); }
inline TensorOptions dtype(TypeMeta t) { return TensorOptions(t); }
template <class T> TensorOptions dtype() { return TensorOptions(dtype_of<T>); }
inline TensorOptions device_index(DeviceIndex index) { return TensorOptions().device_index(index); }
inline TensorOptions layout(Layout l) { return TensorOptions().layout(l); }
inline TensorOptions device(Device d) { return TensorOptions().device(d); }
inline TensorOptions requires_grad(bool r = true) { return TensorOptions().requires_grad(r); }
inline TensorOptions memory_format(MemoryFormat f) { return TensorOptions().memory_format(f); }

}  // namespace cresset
