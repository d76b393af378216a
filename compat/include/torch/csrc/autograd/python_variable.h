#pragma once
#include "cresset/python/api.h"
#include "torch/detail/tensor.h"

inline bool THPVariable_Check(PyObject* o) { return o && cresset::python_api::table().to_tensor(o) != nullptr; }
// A new reference; null with Python's error set.
inline PyObject* THPVariable_Wrap(const at::Tensor& t) { return cresset::python_api::table().from_tensor(t); }
// Errors: TypeError for an object that is no tensor.
inline const at::Tensor& THPVariable_Unpack(PyObject* o) {
  const at::Tensor* t = o ? cresset::python_api::table().to_tensor(o) : nullptr;
  TORCH_CHECK_TYPE(t, "THPVariable_Unpack: expected a tensor, got ", o ? Py_TYPE(o)->tp_name : "null");
  return *t;
}
