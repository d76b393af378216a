// Levels and duals of forward mode, and what the transforms of functions ask of the graph.

#include "cresset/autograd/forward/forward_mode.h"

#include "python/bind/autograd.h"

namespace cresset::python {

namespace {

const Tensor& tensor_argument(PyObject* o) {
  CRESSET_CHECK_TYPE(is_tensor(o), "forward mode: expected a tensor, got ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}

uint64_t level_argument(PyObject* o) {
  const uint64_t level = PyLong_AsUnsignedLongLong(o);
  if (PyErr_Occurred()) throw PythonError();
  return level;
}

PyObject* enter_dual_level(PyObject*, PyObject*) {
  return guarded([] { return PyLong_FromUnsignedLongLong(autograd::enter_dual_level()); });
}

PyObject* exit_dual_level(PyObject*, PyObject* level) {
  return guarded([&]() -> PyObject* {
    autograd::exit_dual_level(level_argument(level));
    Py_RETURN_NONE;
  });
}

// make_dual(primal, tangent, level)
PyObject* make_dual(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(count == 3, "make_dual: expected 3 arguments, got ", count);
    return wrap(autograd::make_dual(tensor_argument(args[0]), tensor_argument(args[1]), level_argument(args[2])));
  });
}

// unpack_dual(tensor, level): the primal, and the tangent or None
PyObject* unpack_dual(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(count == 2, "unpack_dual: expected 2 arguments, got ", count);
    autograd::UnpackedDual dual = autograd::unpack_dual(tensor_argument(args[0]), level_argument(args[1]));
    const Ref primal = checked(wrap(std::move(dual.primal)));
    const Ref tangent = dual.tangent.defined() ? checked(wrap(std::move(dual.tangent))) : Ref::share(Py_None);
    return PyTuple_Pack(2, primal.get(), tangent.get());
  });
}

PyObject* without_history(PyObject*, PyObject* t) {
  return guarded([&] { return wrap(autograd::without_history(tensor_argument(t))); });
}
PyObject* has_tangent(PyObject*, PyObject* t) {
  return guarded([&] { return PyBool_FromLong(autograd::has_tangent(tensor_argument(t))); });
}
PyObject* is_forward_mode_enabled(PyObject*, PyObject*) { return PyBool_FromLong(autograd::is_forward_mode_enabled()); }
PyObject* set_forward_mode_enabled(PyObject*, PyObject* on) {
  return guarded([&]() -> PyObject* {
    const int truth = PyObject_IsTrue(on);
    if (truth < 0) throw PythonError();
    autograd::set_forward_mode_enabled(truth != 0);
    Py_RETURN_NONE;
  });
}

// depends_on_others(tensors, own): whether the history of a tensor reaches a leaf that is none of `own`.
PyObject* depends_on_others(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(count == 2, "depends_on_others: expected 2 arguments, got ", count);
    return PyBool_FromLong(autograd::depends_on_others(tensor_list(args[0], true), tensor_list(args[1], true)));
  });
}

PyMethodDef functions[] = {{"enter_dual_level", enter_dual_level, METH_NOARGS, nullptr},
                           {"exit_dual_level", exit_dual_level, METH_O, nullptr},
                           {"make_dual", reinterpret_cast<PyCFunction>(make_dual), METH_FASTCALL, nullptr},
                           {"unpack_dual", reinterpret_cast<PyCFunction>(unpack_dual), METH_FASTCALL, nullptr},
                           {"without_history", without_history, METH_O, nullptr},
                           {"has_tangent", has_tangent, METH_O, nullptr},
                           {"is_forward_mode_enabled", is_forward_mode_enabled, METH_NOARGS, nullptr},
                           {"set_forward_mode_enabled", set_forward_mode_enabled, METH_O, nullptr},
                           {"depends_on_others", reinterpret_cast<PyCFunction>(depends_on_others), METH_FASTCALL, nullptr},
                           {}};

}  // namespace

bool add_forward_mode(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
