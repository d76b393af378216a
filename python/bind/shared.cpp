#include "python/bind/shared.h"

#include "python/bind_graph/capi.h"

namespace cresset::python {

namespace {

PyObject* wrap_tensor(const Tensor& t) { return wrap(t); }
bool tensor_object(PyObject* o) { return is_tensor(o); }
const Tensor& tensor_in(PyObject* o) { return tensor_of(o); }
PyObject* shared_constant(PyObject* o) {
  Py_XINCREF(o);
  return o;
}
PyObject* wrap_constant(const dispatch::Value& v) {
  return guarded([&]() -> PyObject* {
    if (v.is<ScalarType>()) return shared_constant(constant(v.to_dtype()));
    if (v.is<Layout>()) return shared_constant(constant(v.to_layout()));
    if (v.is<MemoryFormat>()) return shared_constant(constant(v.to_memory_format()));
    if (v.is<Device>()) return wrap(v.to_device());
    if (v.isGenerator()) return wrap(v.to_generator());
    return PyErr_Format(PyExc_TypeError, "expected a dtype, device, layout, memory format or generator, got %s", v.kind());
  });
}
bool read_constant(PyObject* o, dispatch::Value& out) {
  PyTypeObject* const type = Py_TYPE(o);
  const auto number = [&] { return reinterpret_cast<ConstantObject*>(o)->value; };
  if (type == dtype_type) out = static_cast<ScalarType>(number());
  else if (type == layout_type) out = static_cast<Layout>(number());
  else if (type == memory_format_type) out = static_cast<MemoryFormat>(number());
  else if (type == device_type) out = to_device(o);
  else if (PyObject_TypeCheck(o, generator_type)) out = generator_of(o);
  else return false;
  return true;
}

Capi table{wrap_tensor, tensor_object, tensor_in, wrap_constant, read_constant, set_python_error};

}  // namespace

bool add_shared(PyObject* module) {
  static Shared shared;
  shared = {tensor_type, dtype_type, device_type, static_cast<PyObject* (*)(Tensor)>(wrap), tensor_list, set_python_error};
  PyObject* capsule = PyCapsule_New(&shared, kSharedName, nullptr);
  return capsule && PyModule_AddObject(module, "_shared", capsule) == 0 &&
         PyModule_AddObject(module, "_capi", PyCapsule_New(&table, "_cresset._capi", nullptr)) == 0;
}

}  // namespace cresset::python
