#pragma once
// Shared by the files of the extension of the profiler.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

namespace cresset::profile {

// Sets Python's error from the C++ exception in flight.
void set_python_error();
template <class F> PyObject* guarded(F&& body) {
  try {
    return body();
  } catch (...) { set_python_error(); }
  return nullptr;
}
bool add_trace(PyObject* module);
bool add_execution_trace(PyObject* module);
// Where a call is made in Python, for events.
void install_place_of_call();

}  // namespace cresset::profile
