// Fused kernels for the compiler in Python: the loop that an operator runs, and kernels of several.

#include "cresset/graph/codegen/fused.h"

#include "cresset/graph/codegen/machine/machine.h"
#include "cresset/graph/codegen/rows.h"
#include "python/bind/modes/values_api.h"
#include "python/bind_compile/region.h"

namespace cresset::compile {

namespace {

using graph::FusedKernel;
using graph::FusedStep;
using graph::Probe;

const Tensor& tensor_of(PyObject* o) { return reinterpret_cast<python::TensorObject*>(o)->tensor; }

bool fail(const std::exception& e) {
  PyErr_SetString(PyExc_RuntimeError, e.what());
  return false;
}

void release_step(PyObject* capsule) { delete static_cast<FusedStep*>(PyCapsule_GetPointer(capsule, "cresset.fused_step")); }

// probe(call, tensors): calls `call()`, an operator on these tensors without data. The step that it is, and which of the tensors its inputs are (None for
// numbers); None for an operator that is no single loop.
PyObject* probe(PyObject*, PyObject* args) {
  PyObject *call = nullptr, *list = nullptr;
  if (!PyArg_ParseTuple(args, "OO!", &call, &PyTuple_Type, &list)) return nullptr;
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list); i++) {
    if (!is_tensor_object(PyTuple_GET_ITEM(list, i))) Py_RETURN_NONE;
    tensors.push_back(tensor_of(PyTuple_GET_ITEM(list, i)));
  }
  Probe watch(tensors);
  const Ref result(PyObject_CallNoArgs(call));
  if (!result) return nullptr;
  if (!is_tensor_object(result.get()) || !watch.is_one_loop(tensor_of(result.get()))) Py_RETURN_NONE;
  const FusedStep& step = watch.step();
  const Ref inputs(PyTuple_New(static_cast<Py_ssize_t>(step.inputs.size())));
  for (size_t i = 0; inputs && i < step.inputs.size(); i++) {
    PyObject* index = step.inputs[i].kind == FusedStep::Input::Number ? Py_NewRef(Py_None) : PyLong_FromLong(step.inputs[i].index);
    if (!index) return nullptr;
    PyTuple_SET_ITEM(inputs.get(), static_cast<Py_ssize_t>(i), index);
  }
  const Ref capsule(PyCapsule_New(new FusedStep(step), "cresset.fused_step", release_step));
  return inputs && capsule ? PyTuple_Pack(2, capsule.get(), inputs.get()) : nullptr;
}

// Reads which values a step takes into it.
bool read_inputs(FusedStep& step, PyObject* inputs) {
  if (!PyTuple_Check(inputs) || PyTuple_GET_SIZE(inputs) != static_cast<Py_ssize_t>(step.inputs.size())) {
    PyErr_SetString(PyExc_ValueError, "fuse: a step has other inputs");
    return false;
  }
  for (size_t k = 0; k < step.inputs.size(); k++) {
    PyObject* index = PyTuple_GET_ITEM(inputs, static_cast<Py_ssize_t>(k));
    if (index == Py_None) continue;
    const long n = PyLong_AsLong(index);
    if (n == -1 && PyErr_Occurred()) return false;
    step.inputs[k].kind = n < 0 ? FusedStep::Input::Step : FusedStep::Input::Argument;
    step.inputs[k].index = static_cast<int>(n < 0 ? -1 - n : n);
  }
  return true;
}

// fuse(examples, steps, outputs): a kernel of steps (step, inputs), where an input is the number of an example, -1 - k for step k, or None for the number
// that the step has. Its number, for the operator cresset_fused::run.
PyObject* fuse(PyObject*, PyObject* args) {
  PyObject *examples = nullptr, *steps = nullptr, *outputs = nullptr;
  if (!PyArg_ParseTuple(args, "O!O!O!", &PyTuple_Type, &examples, &PyList_Type, &steps, &PyTuple_Type, &outputs)) return nullptr;
  std::vector<ScalarType> dtypes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(examples); i++) {
    if (!is_tensor_object(PyTuple_GET_ITEM(examples, i))) return PyErr_Format(PyExc_TypeError, "fuse: expected tensors as examples");
    dtypes.push_back(tensor_of(PyTuple_GET_ITEM(examples, i)).scalar_type());
  }
  std::vector<FusedStep> made;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(steps); i++) {
    PyObject *capsule = nullptr, *inputs = nullptr;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(steps, i), "OO!", &capsule, &PyTuple_Type, &inputs)) return nullptr;
    const auto* known = static_cast<const FusedStep*>(PyCapsule_GetPointer(capsule, "cresset.fused_step"));
    if (!known) return nullptr;
    FusedStep step = *known;
    if (!read_inputs(step, inputs)) return nullptr;
    made.push_back(std::move(step));
  }
  std::vector<int> results;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); i++) results.push_back(static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(outputs, i))));
  if (PyErr_Occurred()) return nullptr;
  try {
    return PyLong_FromLongLong(graph::keep_kernel(std::make_shared<FusedKernel>(std::move(dtypes), std::move(made), std::move(results))));
  } catch (const std::exception& e) { fail(e); }
  return nullptr;
}

bool read_row_step(PyObject* row, graph::RowStep& step) {
  PyObject *what = nullptr, *inputs = nullptr, *rest = nullptr;
  int wide = 0, dtype = 0;
  if (!PyArg_ParseTuple(row, "OOpOi", &what, &inputs, &wide, &rest, &dtype)) return false;
  step.wide = wide != 0;
  if (!PyUnicode_Check(what)) {
    const auto* known = static_cast<const FusedStep*>(PyCapsule_GetPointer(what, "cresset.fused_step"));
    if (!known) return false;
    step.loop = *known;
    return read_inputs(step.loop, inputs);
  }
  const auto* api = static_cast<const python::ValuesApi*>(PyCapsule_Import(python::ValuesApi::kName, 0));
  if (!api || !PyTuple_Check(rest)) return false;
  step.reduction = &dispatch::find_op(PyUnicode_AsUTF8(what)).entry();
  step.loop.result = static_cast<ScalarType>(dtype);
  step.loop.inputs.resize(1);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rest); i++)
    if (!api->to_value(PyTuple_GET_ITEM(rest, i), step.rest.emplace_back())) return false;
  return read_inputs(step.loop, inputs);
}

// fuse_rows(examples, kinds, steps, outputs): steps are (step or name of a reduction, inputs, wide, further arguments, dtype of a reduction).
PyObject* fuse_rows(PyObject*, PyObject* args) {
  PyObject *examples = nullptr, *kinds = nullptr, *steps = nullptr, *outputs = nullptr;
  if (!PyArg_ParseTuple(args, "O!O!O!O!", &PyTuple_Type, &examples, &PyTuple_Type, &kinds, &PyList_Type, &steps, &PyTuple_Type, &outputs)) return nullptr;
  try {
    std::vector<ScalarType> dtypes;
    std::vector<graph::RowArgument> which;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(examples); i++) {
      if (!is_tensor_object(PyTuple_GET_ITEM(examples, i))) return PyErr_Format(PyExc_TypeError, "fuse_rows: expected tensors as examples");
      dtypes.push_back(tensor_of(PyTuple_GET_ITEM(examples, i)).scalar_type());
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kinds); i++) which.push_back(static_cast<graph::RowArgument>(PyLong_AsLong(PyTuple_GET_ITEM(kinds, i)) & 3));
    std::vector<graph::RowStep> made(static_cast<size_t>(PyList_GET_SIZE(steps)));
    for (size_t i = 0; i < made.size(); i++)
      if (!read_row_step(PyList_GET_ITEM(steps, static_cast<Py_ssize_t>(i)), made[i])) return nullptr;
    std::vector<int> results;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); i++) results.push_back(static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(outputs, i))));
    if (PyErr_Occurred()) return nullptr;
    return PyLong_FromLongLong(
        graph::keep_kernel(std::make_shared<graph::RowKernel>(std::move(dtypes), std::move(which), std::move(made), std::move(results))));
  } catch (const std::exception& e) { fail(e); }
  return nullptr;
}

// dtype(tensor): its number, as fuse_rows takes it
PyObject* dtype(PyObject*, PyObject* t) {
  if (!is_tensor_object(t)) return PyErr_Format(PyExc_TypeError, "dtype: expected a tensor");
  return PyLong_FromLong(static_cast<long>(tensor_of(t).scalar_type()));
}

PyObject* cost(PyObject*, PyObject* capsule) {
  const auto* step = static_cast<const FusedStep*>(PyCapsule_GetPointer(capsule, "cresset.fused_step"));
  return step ? PyFloat_FromDouble(graph::cost_of(*step)) : nullptr;
}

PyObject* drop(PyObject*, PyObject* number) {
  const long long n = PyLong_AsLongLong(number);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  graph::drop_kernel(n);
  Py_RETURN_NONE;
}

PyObject* machine_code(PyObject*, PyObject*) {
  const graph::machine::Counts counts = graph::machine::counts();
  return Py_BuildValue("OLLL", graph::machine::is_available() ? Py_True : Py_False, static_cast<long long>(counts.made), static_cast<long long>(counts.read),
                       static_cast<long long>(counts.packaged));
}

PyMethodDef functions[] = {{"machine_code", machine_code, METH_NOARGS,
                            "machine_code(): whether it is available, and how many programs were compiled, read from disk, and found in packages."},
                           {"probe", probe, METH_VARARGS, "probe(call, tensors): the loop that an operator runs, or None."},
                           {"fuse", fuse, METH_VARARGS, "fuse(examples, steps, outputs): the number of a kernel of several loops."},
                           {"fuse_rows", fuse_rows, METH_VARARGS, "fuse_rows(examples, kinds, steps, outputs): the number of a kernel over blocks of rows."},
                           {"dtype", dtype, METH_O, "dtype(tensor): the number of its dtype."},
                           {"cost", cost, METH_O, "cost(step): nanoseconds for an element in cache."},
                           {"drop", drop, METH_O, "drop(kernel): forgets a kernel."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_fused(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::compile
