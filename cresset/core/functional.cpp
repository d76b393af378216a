#include "cresset/core/functional.h"

#include <typeinfo>

namespace cresset {

FunctionalImpl::FunctionalImpl(intrusive_ptr<FunctionalBase> base, std::vector<View> views, Tensor value)
    : TensorImpl({}, value.scalar_type(), value.device(), value.layout()), base_(std::move(base)), views_(std::move(views)) {
  set_layer(Layer::Functionalize, true);
  set_layer(Layer::Autograd, true);
  follow(value);
  // PyTorch's streams: a view of what has been changed is computed again when it is used.
  if (!views_.empty()) seen_ = 0;
}

void FunctionalBase::take(Tensor v) {
  value = std::move(v);
  changes++;
  unrecorded += !layer_state().grad_mode || layer_state().inference_mode;
}

void FunctionalImpl::follow(const Tensor& value) {
  const TensorImpl& t = *value.impl();
  if (!keeps_strides_) set_geometry(t.sizes(), t.strides(), t.storage_offset());
  set_dtype(t.dtype());
  set_conj(t.is_conj());
  set_neg(t.is_neg());
  set_inference(t.is_inference());
  set_backend(t.backend());
  share_version_of(t);
  value_ = value;
  seen_ = base_->changes;
}

const Tensor& FunctionalImpl::value() {
  if (seen_ != base_->changes) {
    // Whoever looks at a value: views of it are computed below the layer, as they were made.
    const ExcludeLayers below(layer_bit(Layer::Functionalize));
    Tensor t = base_->value;
    for (const View& view : views_) t = view(t);
    follow(t);
  }
  return value_;
}

void FunctionalImpl::set_value(Tensor value) {
  base_->take(std::move(value));
  follow(base_->value);
}

void FunctionalImpl::keep_strides(IntArrayRef strides) {
  keeps_strides_ = true;
  set_geometry(value_.sizes(), strides, 0);
}

void FunctionalImpl::set_base(Tensor base) {
  base_->take(std::move(base));
  value();
}

void FunctionalImpl::become(const FunctionalImpl& other) {
  views_ = other.views_;
  keeps_strides_ = false;
  follow(other.value_);
  seen_ = other.seen_;
  if (other.keeps_strides_) keep_strides(other.strides());
}

void FunctionalImpl::release_resources() {
  TensorImpl::release_resources();
  base_.reset();
  views_.clear();
  value_.reset();
}

FunctionalImpl* as_functional_slow(const TensorImpl& t) {
  return typeid(t) == typeid(FunctionalImpl) ? static_cast<FunctionalImpl*>(const_cast<TensorImpl*>(&t)) : nullptr;
}

}  // namespace cresset
