// The choice of values that forward keeps for backward.

#include "cresset/graph/passes/joint.h"
#include "python/bind_graph/bind_graph.h"

namespace cresset::graph {

namespace {

// (inputs, bytes, forward, needed, recompute, keep); false with Python's error set
bool read_joint_value(PyObject* row, JointValue& value) {
  PyObject* inputs;
  long long bytes;
  int forward, needed, recompute, keep;
  if (!PyArg_ParseTuple(row, "O!Lpppp", &PyList_Type, &inputs, &bytes, &forward, &needed, &recompute, &keep)) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(inputs); i++) {
    value.inputs.push_back(PyLong_AsSize_t(PyList_GET_ITEM(inputs, i)));
    if (PyErr_Occurred()) return false;
  }
  value.bytes = bytes;
  value.forward = forward != 0;
  value.needed = needed != 0;
  value.recompute = recompute != 0;
  value.keep = keep != 0;
  return true;
}

PyObject* choose(PyObject*, PyObject* rows) {
  if (!PyList_Check(rows)) return PyErr_Format(PyExc_TypeError, "choose_kept: expected a list of rows, got %s", Py_TYPE(rows)->tp_name);
  try {
    std::vector<JointValue> values(static_cast<size_t>(PyList_GET_SIZE(rows)));
    for (size_t i = 0; i < values.size(); i++)
      if (!read_joint_value(PyList_GET_ITEM(rows, static_cast<Py_ssize_t>(i)), values[i])) return nullptr;
    const std::vector<size_t> kept = choose_kept(values);
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(kept.size()));
    for (size_t i = 0; list && i < kept.size(); i++) PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), PyLong_FromSize_t(kept[i]));
    return list;
  } catch (...) { set_python_error(); }
  return nullptr;
}

PyObject* cheap(PyObject*, PyObject* args) {
  const char* name = nullptr;
  if (!PyArg_ParseTuple(args, "s:is_cheap", &name)) return nullptr;
  try {
    const dispatch::OpHandle op = dispatch::find_op_or_null(name);
    return PyBool_FromLong(op && is_cheap(op.entry()));
  } catch (...) { set_python_error(); }
  return nullptr;
}

PyMethodDef functions[] = {
    {"choose_kept", choose, METH_O, "Which values of a joint program to keep: rows (inputs, bytes, forward, needed, recompute, keep) to numbers."},
    {"is_cheap", cheap, METH_VARARGS, "Whether an operator, by the name of its entry, costs little to run again."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_joint(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::graph
