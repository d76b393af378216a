// Execution traces as objects: ExecutionTrace(path) with start, stop, write and is_running.

#include "cresset/profile/execution_trace.h"

#include "python/bind_profile/bind_profile.h"

namespace cresset::profile {

namespace {

struct Object {
  PyObject_HEAD ExecutionTrace* trace;
};
ExecutionTrace& trace_of(PyObject* o) { return *reinterpret_cast<Object*>(o)->trace; }

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  const char* path;
  if (!PyArg_ParseTuple(args, "s:ExecutionTrace", &path)) return nullptr;
  PyObject* o = type->tp_alloc(type, 0);
  if (o) reinterpret_cast<Object*>(o)->trace = new ExecutionTrace(path);
  return o;
}
void dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  delete reinterpret_cast<Object*>(o)->trace;
  type->tp_free(o);
  Py_DECREF(type);
}
template <auto Method> PyObject* call(PyObject* self, PyObject*) {
  return guarded([&] {
    (trace_of(self).*Method)();
    return Py_NewRef(Py_None);
  });
}
PyObject* running(PyObject* self, PyObject*) { return PyBool_FromLong(trace_of(self).is_running()); }

PyMethodDef methods[] = {{"start", call<&ExecutionTrace::start>, METH_NOARGS, "Observes this thread from now on."},
                         {"stop", call<&ExecutionTrace::stop>, METH_NOARGS, "Observes no more."},
                         {"write", call<&ExecutionTrace::write>, METH_NOARGS, "Writes the file."},
                         {"is_running", running, METH_NOARGS, "Whether it observes."},
                         {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)}, {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)}, {Py_tp_methods, methods}, {}};

}  // namespace

bool add_execution_trace(PyObject* module) {
  PyType_Spec spec{"_cresset_profile.ExecutionTrace", sizeof(Object), 0, Py_TPFLAGS_DEFAULT, slots};
  PyObject* type = PyType_FromSpec(&spec);
  return type && PyModule_AddObject(module, "ExecutionTrace", type) == 0;
}

}  // namespace cresset::profile
