#pragma once
// The functions of `_cresset` that other extensions of the package call, through its capsule "_cresset._capi".

#include "python/common/reference.h"

#include "cresset/dispatch/values/value.h"

namespace cresset::python {

struct Capi {
  // The Python object of a tensor, the same one for as long as it lives; a new reference.
  PyObject* (*wrap_tensor)(const Tensor& t);
  bool (*is_tensor)(PyObject* o);
  const Tensor& (*tensor_of)(PyObject* o);
  // Dtypes, devices, layouts, memory formats, generators; a new reference. Null with Python's error set for other values.
  PyObject* (*wrap_constant)(const dispatch::Value& v);
  // The same way back; false where it is none of these.
  bool (*read_constant)(PyObject* o, dispatch::Value& out);
  // Sets Python's error from the C++ exception in flight.
  void (*set_error)();
};

}  // namespace cresset::python
