#pragma once
// Types and functions of this extension that the others of the package use: handed over in a capsule, `_cresset._shared`.

#include "python/bind/bind.h"

namespace cresset::python {

struct Shared {
  PyTypeObject *tensor_type, *dtype_type, *device_type;
  PyObject* (*wrap)(Tensor t);
  std::vector<Tensor> (*tensor_list)(PyObject* sequence, bool none_allowed);
  void (*set_python_error)();
};
constexpr const char* kSharedName = "_cresset._shared";

}  // namespace cresset::python
