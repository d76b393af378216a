#include "cresset/ops/layout/from_data.h"

#include "cresset/base/util/reach.h"
#include "cresset/core/fake_mode.h"
#include "cresset/ops/functions.h"

namespace cresset {

namespace {

Tensor wrap(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter, const TensorOptions& options) {
  CRESSET_CHECK(options.device().is_cpu(), "from_blob: only memory of the cpu can be wrapped, got device ", options.device());
  CRESSET_CHECK(sizes.size() == strides.size(), "from_blob: ", sizes.size(), " sizes but ", strides.size(), " strides");
  const size_t width = element_size(options.dtype()), bytes = static_cast<size_t>(checked_reach("from_blob", sizes, strides, 0, width)) * width;
  auto impl = make_intrusive<TensorImpl>(make_intrusive<StorageImpl>(data, bytes, Device(kCPU), std::move(deleter)), options.dtype(), Device(kCPU));
  impl->set_geometry(sizes, strides, 0);
  Tensor t(std::move(impl));
  if (options.requires_grad()) t.requires_grad_();
  return t;
}

}  // namespace

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) { return wrap(data, sizes, contiguous_strides(sizes), {}, options); }
Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter, const TensorOptions& options) {
  return wrap(data, sizes, contiguous_strides(sizes), std::move(deleter), options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) { return wrap(data, sizes, strides, {}, options); }
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter, const TensorOptions& options) {
  return wrap(data, sizes, strides, std::move(deleter), options);
}

Tensor TensorMaker::make_tensor() {
  if (release_) deleter_ = [release = release_, context = context_](void*) { release(context); };
  return strides_ ? from_blob(data_, sizes_, *strides_, std::move(deleter_), options_) : from_blob(data_, sizes_, std::move(deleter_), options_);
}

namespace detail {

TensorData::TensorData(const TensorData* list, size_t n) : sizes_{static_cast<int64_t>(n)} {
  for (size_t i = 0; i < n; i++) {
    CRESSET_CHECK(list[i].sizes_ == list[0].sizes_, "tensor: expected all sub-lists to have sizes ", list[0].sizes_, ", got sizes ", list[i].sizes_);
    CRESSET_CHECK(list[i].dtype_ == list[0].dtype_, "tensor: expected all elements to have the same type");
    values_.insert(values_.end(), list[i].values_.begin(), list[i].values_.end());
  }
  if (n == 0) return;
  sizes_.insert(sizes_.end(), list[0].sizes_.begin(), list[0].sizes_.end());
  dtype_ = list[0].dtype_;
}

Tensor TensorData::make(const TensorOptions& options) const {
  const ScalarType dtype = options.has_dtype() ? options.dtype() : dtype_ == ScalarType::Undefined ? get_default_dtype() : dtype_;
  if (!is_complex_type(dtype) && dtype != kBool)
    for (const Scalar& v : values_)
      CRESSET_CHECK(!v.isComplex() || v.to<complex<double>>().imag() == 0, "tensor: value cannot be converted to type ",
                    dtype == kFloat    ? "float"
                    : dtype == kDouble ? "double"
                                       : cresset::toString(dtype),
                    " without overflow, got ", v);
  FakeMode* const mode = layer_state().fake_mode;
  const FakeModeScope off(nullptr);
  Tensor t(make_dense(sizes_, compute_type(dtype), Device(kCPU)));
  switch (t.scalar_type()) {
#define CRESSET_FILL(T, Name)                                                                          \
  case ScalarType::Name:                                                                               \
    for (size_t i = 0; i < values_.size(); i++) static_cast<T*>(t.data_ptr())[i] = values_[i].as<T>(); \
    break;
    CRESSET_FOR_EACH_DTYPE(CRESSET_FILL)
#undef CRESSET_FILL
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "tensor: not implemented for dtype ", dtype);
  }
  if (t.scalar_type() != dtype) t = t.to(dtype);
  if (mode) t = Tensor(mode->constant(*t.impl(), options.device()));
  else if (!options.device().is_cpu()) t = t.to(TensorOptions(options.device()));
  if (options.requires_grad()) t.requires_grad_();
  return t;
}

}  // namespace detail

Tensor tensor(const detail::TensorData& data, const TensorOptions& options) { return data.make(options); }

}  // namespace cresset
