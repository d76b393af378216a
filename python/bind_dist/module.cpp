// The Python extension of processes: stores, groups and their work as thin types, over which cresset/distributed puts PyTorch's classes.
// Times are in milliseconds. A module of its own, so that programs of one process do not load its library.

#include "cresset/dist/errors.h"
#include "python/bind/shared.h"
#include "python/bind_dist/bind_dist.h"

namespace cresset::python {

PyTypeObject* tensor_type = nullptr;

namespace {

const Shared* shared = nullptr;
PyObject* error_classes = nullptr;  // name to class

PyObject* set_errors(PyObject*, PyObject* classes) {
  if (!PyDict_Check(classes)) return PyErr_Format(PyExc_TypeError, "set_errors: expected a dict, got %s", Py_TYPE(classes)->tp_name);
  Py_INCREF(classes);
  Py_XSETREF(error_classes, classes);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"set_errors", set_errors, METH_O, "The classes of errors between processes, by name."}, {}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_cresset_dist", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyObject* wrap(Tensor t) { return shared->wrap(std::move(t)); }
std::vector<Tensor> tensor_list(PyObject* sequence, bool none_allowed) { return shared->tensor_list(sequence, none_allowed); }

ScalarType dtype_of(PyObject* o) {
  CRESSET_CHECK_TYPE(Py_TYPE(o) == shared->dtype_type, "distributed: expected a dtype, got ", Py_TYPE(o)->tp_name);
  return static_cast<ScalarType>(reinterpret_cast<ConstantObject*>(o)->value);
}

bool set_dist_error(const std::exception& error) {
  using namespace distributed;
  const char* name = dynamic_cast<const DistQueueEmptyError*>(&error) ? "DistQueueEmptyError"
                     : dynamic_cast<const DistStoreError*>(&error)    ? "DistStoreError"
                     : dynamic_cast<const DistNetworkError*>(&error)  ? "DistNetworkError"
                     : dynamic_cast<const DistBackendError*>(&error)  ? "DistBackendError"
                     : dynamic_cast<const DistError*>(&error)         ? "DistError"
                                                                      : nullptr;
  PyObject* const cls = name && error_classes ? PyDict_GetItemString(error_classes, name) : nullptr;
  if (!cls) return false;
  PyErr_SetString(cls, error.what());
  return true;
}

void set_python_error() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const std::exception& e) {
    if (!set_dist_error(e)) shared->set_python_error();
  }
}

void throw_python_error(const char* where) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const Ref text(value ? PyObject_Str(value) : nullptr);
  const char* chars = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  const std::string message = str(where, ": ", type ? reinterpret_cast<PyTypeObject*>(type)->tp_name : "error", ": ", chars ? chars : "");
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  PyErr_Clear();
  throw Error(message);
}

bool open_shared() {
  const Ref module(PyImport_ImportModule("_cresset"));
  shared = module ? static_cast<const Shared*>(PyCapsule_Import(kSharedName, 0)) : nullptr;
  if (!shared) return false;
  tensor_type = shared->tensor_type;
  return true;
}

int64_t Arguments::integer() {
  const long long n = PyLong_AsLongLong(object());
  if (n == -1 && PyErr_Occurred()) throw PythonError();
  return n;
}
double Arguments::number() {
  const double n = PyFloat_AsDouble(object());
  if (n == -1 && PyErr_Occurred()) throw PythonError();
  return n;
}
bool Arguments::truth() {
  const int t = PyObject_IsTrue(object());
  if (t < 0) throw PythonError();
  return t != 0;
}
std::vector<std::string> Arguments::texts() {
  PyObject* const o = object();
  CRESSET_CHECK_TYPE(!PyUnicode_Check(o) && !PyBytes_Check(o), "distributed: expected a list of texts, got ", Py_TYPE(o)->tp_name);
  const Ref list = checked(PySequence_Fast(o, "expected a list of texts"));
  std::vector<std::string> all;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) all.push_back(text_of(PySequence_Fast_GET_ITEM(list.get(), i)));
  return all;
}
std::vector<int64_t> Arguments::integers() {
  const Ref list = checked(PySequence_Fast(object(), "expected a list of integers"));
  std::vector<int64_t> all;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
    all.push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(list.get(), i)));
    if (all.back() == -1 && PyErr_Occurred()) throw PythonError();
  }
  return all;
}
Tensor Arguments::tensor() {
  PyObject* o = object();
  CRESSET_CHECK_TYPE(is_tensor(o), "distributed: expected a tensor, got ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}
std::string Arguments::text_of(PyObject* o) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_Check(o)) {
    if (PyBytes_AsStringAndSize(o, &data, &size) < 0) throw PythonError();
    return {data, static_cast<size_t>(size)};
  }
  if (PyByteArray_Check(o)) return {PyByteArray_AS_STRING(o), static_cast<size_t>(PyByteArray_GET_SIZE(o))};
  CRESSET_CHECK_TYPE(PyUnicode_Check(o), "distributed: expected text or bytes, got ", Py_TYPE(o)->tp_name);
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  if (!text) throw PythonError();
  return {text, static_cast<size_t>(size)};
}

PyObject* result(const std::string& text) { return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())); }
PyObject* result(const distributed::Bytes& bytes) {
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()), static_cast<Py_ssize_t>(bytes.size()));
}
PyObject* result(int64_t n) { return PyLong_FromLongLong(n); }
PyObject* result(bool b) { return PyBool_FromLong(b); }

PyObject* result(const std::vector<Tensor>& tensors) {
  return present_list(tensors, [](const Tensor& t) { return wrap(t); });
}
PyObject* result(const std::vector<std::string>& texts) {
  return present_list(texts, [](const std::string& t) { return result(t); });
}
PyObject* result(const std::vector<distributed::Bytes>& all) {
  return present_list(all, [](const distributed::Bytes& b) { return result(b); });
}

}  // namespace cresset::python

PyMODINIT_FUNC PyInit__cresset_dist() {
  using namespace cresset::python;
  if (!open_shared()) return nullptr;
  PyObject* module = PyModule_Create(&definition);
  if (module && !(add_stores(module) && add_groups(module) && add_ddp(module) && add_rpc(module) && add_rendezvous(module))) Py_CLEAR(module);
  return module;
}
