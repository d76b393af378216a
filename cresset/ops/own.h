#pragma once
// Results that were reshaped on the way out.

#include "cresset/tensor.h"

namespace cresset::ops {

// A view of a tensor that nothing else refers to is a tensor of its own.
inline Tensor own(Tensor view) {
  TensorImpl& t = *view.impl();
  t.clear_view();
  if (!t.autograd()) t.set_layer(Layer::Autograd, false);
  return view;
}

}  // namespace cresset::ops
