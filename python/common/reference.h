#pragma once
// Shared by the extensions of the package: owned references, errors on their way to Python, and the interpreter's lock.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <utility>

namespace cresset::python {

// An owned reference; null where a call failed.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  static Ref share(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    return Ref(borrowed);
  }
  Ref(Ref&& o) noexcept : object_(o.release()) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(object_, o.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// Thrown where Python's error indicator is already set.
struct PythonError {};

// The object behind a call's result; throws PythonError for null.
inline Ref checked(PyObject* owned) {
  if (!owned) throw PythonError();
  return Ref(owned);
}
inline Ref checked(Ref owned) {
  if (!owned) throw PythonError();
  return owned;
}
// As `checked`, for a caller that hands the object on.
inline PyObject* present(PyObject* owned) { return checked(owned).release(); }

// Runs `body`; `set_error` sets Python's error from the C++ exception in flight, and null is returned.
template <class F, class Set> PyObject* or_error(F&& body, Set&& set_error) {
  try {
    return body();
  } catch (const PythonError&) { return nullptr; } catch (...) {
    set_error();
  }
  return nullptr;
}
// A string's text in UTF-8. Errors: PythonError for what is no string.
inline std::string text_of(PyObject* string) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(string, &size);
  if (!text) throw PythonError();
  return {text, static_cast<size_t>(size)};
}
// A list of what `each` makes of the items: new references, or null with Python's error set.
template <class Items, class F> Ref list_of(const Items& items, F&& each) {
  Ref list = checked(PyList_New(static_cast<Py_ssize_t>(items.size())));
  Py_ssize_t next = 0;
  for (const auto& item : items) PyList_SET_ITEM(list.get(), next++, checked(each(item)).release());
  return list;
}
template <class Items, class F> PyObject* present_list(const Items& items, F&& each) { return list_of(items, std::forward<F>(each)).release(); }

// Holds the interpreter's lock for a scope, whatever thread this is.
class Gil {
 public:
  Gil() : state_(PyGILState_Ensure()) {}
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  PyGILState_STATE state_;
};

// Lets other threads of the interpreter run for a scope.
class NoGil {
 public:
  NoGil() : state_(PyEval_SaveThread()) {}
  ~NoGil() { PyEval_RestoreThread(state_); }
  NoGil(const NoGil&) = delete;
  NoGil& operator=(const NoGil&) = delete;

 private:
  PyThreadState* state_;
};

// Runs `body` while other threads of the interpreter may run.
template <class F> auto without_interpreter(F&& body) {
  const NoGil released;
  return body();
}

}  // namespace cresset::python
