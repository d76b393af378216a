#pragma once
// Shared by the files of the extension of processes: types that hold objects of the library, their methods, and errors.

#include <memory>

#include "cresset/dist/group/process_group.h"
#include "cresset/dist/store/store.h"
#include "python/bind/bind.h"

namespace cresset::python {

// Takes what `_cresset` hands over. False with Python's error set.
bool open_shared();
// The package's classes for errors between processes: "DistStoreError" and the like.
bool set_dist_error(const std::exception& error);

template <class T> struct Held { PyObject_HEAD intrusive_ptr<T> value; };
template <class T> inline PyTypeObject* type_of = nullptr;

template <class T> PyObject* hold(intrusive_ptr<T> value) {
  if (!value) Py_RETURN_NONE;
  auto* self = reinterpret_cast<Held<T>*>(checked(type_of<T>->tp_alloc(type_of<T>, 0)).release());
  new (&self->value) intrusive_ptr<T>(std::move(value));
  return reinterpret_cast<PyObject*>(self);
}
template <class T> void release(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  // The end of a store or group waits for its threads.
  Py_BEGIN_ALLOW_THREADS;
  reinterpret_cast<Held<T>*>(self)->value.~intrusive_ptr<T>();
  Py_END_ALLOW_THREADS;
  type->tp_free(self);
  Py_DECREF(type);
}
template <class T> bool holds(PyObject* o) { return Py_TYPE(o) == type_of<T>; }
template <class T> const intrusive_ptr<T>& held(PyObject* o) {
  CRESSET_CHECK_TYPE(holds<T>(o), "distributed: expected a ", type_of<T>->tp_name, ", got ", Py_TYPE(o)->tp_name);
  return reinterpret_cast<Held<T>*>(o)->value;
}

// Errors: TypeError for an object that is no dtype.
ScalarType dtype_of(PyObject* o);

// A Python object that may be dropped on any thread.
using SharedObject = std::shared_ptr<PyObject>;
inline SharedObject share_object(PyObject* o) {
  Py_INCREF(o);
  return {o, [](PyObject* p) {
            if (!Py_IsInitialized()) return;
            const Gil locked;
            Py_DECREF(p);
          }};
}

// The error that Python's indicator holds as a C++ one, with its text; the indicator is cleared.
[[noreturn]] void throw_python_error(const char* where);

// The arguments of a method, one read after another.
class Arguments {
 public:
  Arguments(const char* method, PyObject* const* args, Py_ssize_t count, Py_ssize_t wanted) : args_(args) {
    CRESSET_CHECK_TYPE(count == wanted, method, ": expected ", wanted, " arguments, got ", count);
  }
  PyObject* object() { return *args_++; }
  int64_t integer();
  double number();
  bool truth();
  // Text, or bytes.
  std::string text() { return text_of(object()); }
  distributed::Bytes bytes() { return distributed::to_bytes(text()); }
  std::vector<std::string> texts();
  std::vector<int64_t> integers();
  Tensor tensor();
  std::vector<Tensor> tensors() { return tensor_list(object()); }
  std::chrono::milliseconds time() { return std::chrono::milliseconds(integer()); }
  static std::string text_of(PyObject* o);

 private:
  PyObject* const* args_;
};

PyObject* result(const std::string& text);
PyObject* result(const distributed::Bytes& bytes);
PyObject* result(int64_t n);
PyObject* result(bool b);
PyObject* result(const std::vector<Tensor>& tensors);
PyObject* result(const std::vector<std::string>& texts);
PyObject* result(const std::vector<distributed::Bytes>& all);
inline PyObject* result(int n) { return result(static_cast<int64_t>(n)); }
template <class T> PyObject* result(intrusive_ptr<T> value) { return hold<T>(std::move(value)); }

// A method: reads its arguments with the interpreter's lock, then runs what it gets without.
template <class T, Py_ssize_t kCount, auto kRead> PyObject* method(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    Arguments arguments(type_of<T>->tp_name, args, count, kCount);
    auto run = kRead(held<T>(self), arguments);
    if constexpr (std::is_void_v<decltype(run())>) {
      without_interpreter(run);
      Py_RETURN_NONE;
    } else {
      return result(without_interpreter(run));
    }
  });
}
template <class T, Py_ssize_t kCount, auto kRead> constexpr PyMethodDef entry(const char* name) {
  return {name, reinterpret_cast<PyCFunction>(method<T, kCount, kRead>), METH_FASTCALL, nullptr};
}

template <class T> bool add_held(PyObject* module, const char* name, PyMethodDef* methods) {
  PyType_Slot slots[] = {{Py_tp_methods, methods}, {Py_tp_dealloc, reinterpret_cast<void*>(release<T>)}, {}};
  PyType_Spec spec{name, sizeof(Held<T>), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  type_of<T> = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return type_of<T> && PyModule_AddType(module, type_of<T>) == 0;
}

bool add_stores(PyObject* module);
bool add_groups(PyObject* module);
bool add_ddp(PyObject* module);
bool add_rpc(PyObject* module);
bool add_rendezvous(PyObject* module);

}  // namespace cresset::python
