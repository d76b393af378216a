#pragma once
// Shared by the files of the extension of graphs.

#include "python/common/reference.h"

namespace cresset::graph {

// Sets Python's error from the C++ exception in flight: errors of ours become the Python types of the same names.
void set_python_error();
bool add_graph(PyObject* module);
bool add_joint(PyObject* module);
bool add_symbolic(PyObject* module);

}  // namespace cresset::graph
