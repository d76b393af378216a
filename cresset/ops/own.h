#pragma once
// Results that were reshaped on the way out.

#include "cresset/core/batched.h"
#include "cresset/tensor.h"

namespace cresset::ops {

// A view of a tensor that nothing else refers to is a tensor of its own.
inline Tensor own(Tensor view) {
  TensorImpl& t = *view.impl();
  t.clear_view();
  // An element of a batch asks its value for its history.
  if (!t.autograd() && !as_batched(view)) t.set_layer(Layer::Autograd, false);
  return view;
}

}  // namespace cresset::ops
