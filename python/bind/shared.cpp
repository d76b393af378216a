#include "python/bind/shared.h"

namespace cresset::python {

bool add_shared(PyObject* module) {
  static Shared shared;
  shared = {tensor_type, dtype_type, device_type, static_cast<PyObject* (*)(Tensor)>(wrap), tensor_list, set_python_error};
  PyObject* capsule = PyCapsule_New(&shared, kSharedName, nullptr);
  return capsule && PyModule_AddObject(module, "_shared", capsule) == 0;
}

}  // namespace cresset::python
