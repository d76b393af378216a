#pragma once
// Shared by the files of the extension of the profiler.

#include "python/common/reference.h"

namespace cresset::profile {

// Sets Python's error from the C++ exception in flight.
void set_python_error();
template <class F> PyObject* guarded(F&& body) { return python::or_error(body, set_python_error); }
bool add_trace(PyObject* module);
bool add_execution_trace(PyObject* module);
// Where a call is made in Python, for events.
void install_place_of_call();

}  // namespace cresset::profile
