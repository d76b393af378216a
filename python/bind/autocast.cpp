// Mixed precision: the state of the thread, one for each device.

#include "cresset/transform/autocast.h"

#include "python/bind/bind.h"

namespace cresset::python {

namespace {

DeviceType device_type(const char* name) { return Device(name).type(); }

PyObject* is_available(PyObject*, PyObject* args) {
  const char* device;
  if (!PyArg_ParseTuple(args, "s", &device)) return nullptr;
  return guarded([&] { return PyBool_FromLong(amp::is_autocast_available(device_type(device))); });
}
PyObject* is_enabled(PyObject*, PyObject* args) {
  const char* device;
  if (!PyArg_ParseTuple(args, "s", &device)) return nullptr;
  return guarded([&] { return PyBool_FromLong(amp::is_autocast_enabled(device_type(device))); });
}
PyObject* set_enabled(PyObject*, PyObject* args) {
  const char* device;
  int enabled;
  if (!PyArg_ParseTuple(args, "sp", &device, &enabled)) return nullptr;
  return guarded([&]() -> PyObject* {
    amp::set_autocast_enabled(device_type(device), enabled);
    Py_RETURN_NONE;
  });
}
PyObject* get_dtype(PyObject*, PyObject* args) {
  const char* device;
  if (!PyArg_ParseTuple(args, "s", &device)) return nullptr;
  return guarded([&] { return Ref::share(constant(amp::get_autocast_dtype(device_type(device)))).release(); });
}
PyObject* set_dtype(PyObject*, PyObject* args) {
  const char* device;
  PyObject* dtype;
  if (!PyArg_ParseTuple(args, "sO", &device, &dtype)) return nullptr;
  return guarded([&]() -> PyObject* {
    amp::set_autocast_dtype(device_type(device), to_dtype(dtype));
    Py_RETURN_NONE;
  });
}
PyObject* is_cache_enabled(PyObject*, PyObject*) { return PyBool_FromLong(amp::is_autocast_cache_enabled()); }
PyObject* set_cache_enabled(PyObject*, PyObject* args) {
  int enabled;
  if (!PyArg_ParseTuple(args, "p", &enabled)) return nullptr;
  amp::set_autocast_cache_enabled(enabled);
  Py_RETURN_NONE;
}
PyObject* clear(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    amp::clear_cache();
    Py_RETURN_NONE;
  });
}
PyObject* increment(PyObject*, PyObject*) { return PyLong_FromLong(amp::increment_nesting()); }
PyObject* decrement(PyObject*, PyObject*) { return PyLong_FromLong(amp::decrement_nesting()); }
// _autocast_enter(device, enabled, dtype, cache_enabled): opens a region; returns what _autocast_exit takes after the device to close it.
PyObject* enter(PyObject*, PyObject* args) {
  const char* name;
  PyObject* dtype;
  int enabled, cache_enabled;
  if (!PyArg_ParseTuple(args, "spOp", &name, &enabled, &dtype, &cache_enabled)) return nullptr;
  return guarded([&] {
    const DeviceType device = device_type(name);
    const ScalarType to = to_dtype(dtype);
    PyObject* before = Py_BuildValue("(iOi)", amp::is_autocast_enabled(device), constant(amp::get_autocast_dtype(device)), amp::is_autocast_cache_enabled());
    amp::set_autocast_dtype(device, to);
    amp::set_autocast_enabled(device, enabled);
    amp::set_autocast_cache_enabled(cache_enabled);
    amp::increment_nesting();
    return before;
  });
}
PyObject* leave(PyObject*, PyObject* args) {
  const char* name;
  PyObject* dtype;
  int enabled, cache_enabled;
  if (!PyArg_ParseTuple(args, "s(iOi)", &name, &enabled, &dtype, &cache_enabled)) return nullptr;
  return guarded([&]() -> PyObject* {
    const DeviceType device = device_type(name);
    if (amp::decrement_nesting() == 0) amp::clear_cache();
    amp::set_autocast_enabled(device, enabled);
    amp::set_autocast_dtype(device, to_dtype(dtype));
    amp::set_autocast_cache_enabled(cache_enabled);
    Py_RETURN_NONE;
  });
}
// Whether any operator of this thread could be changed.
PyObject* is_awake(PyObject*, PyObject*) {
  const LayerState& state = layer_state();
  return PyBool_FromLong(state.included & ~state.excluded & layer_bit(Layer::Autocast));
}
PyObject* cached_cast(PyObject*, PyObject* args) {
  PyObject *tensor, *dtype;
  const char* device;
  if (!PyArg_ParseTuple(args, "O!Os", tensor_type, &tensor, &dtype, &device)) return nullptr;
  return guarded([&] { return wrap(amp::cached_cast(to_dtype(dtype), tensor_of(tensor), device_type(device))); });
}

PyMethodDef functions[] = {{"_autocast_available", is_available, METH_VARARGS, nullptr},
                           {"_autocast_enabled", is_enabled, METH_VARARGS, nullptr},
                           {"_set_autocast_enabled", set_enabled, METH_VARARGS, nullptr},
                           {"_autocast_dtype", get_dtype, METH_VARARGS, nullptr},
                           {"_set_autocast_dtype", set_dtype, METH_VARARGS, nullptr},
                           {"_autocast_cache_enabled", is_cache_enabled, METH_NOARGS, nullptr},
                           {"_set_autocast_cache_enabled", set_cache_enabled, METH_VARARGS, nullptr},
                           {"_clear_autocast_cache", clear, METH_NOARGS, nullptr},
                           {"_autocast_increment_nesting", increment, METH_NOARGS, nullptr},
                           {"_autocast_decrement_nesting", decrement, METH_NOARGS, nullptr},
                           {"_autocast_enter", enter, METH_VARARGS, nullptr},
                           {"_autocast_exit", leave, METH_VARARGS, nullptr},
                           {"_autocast_awake", is_awake, METH_NOARGS, nullptr},
                           {"_autocast_cast", cached_cast, METH_VARARGS, nullptr},
                           {}};

}  // namespace

bool add_autocast(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
