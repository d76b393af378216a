// The table of operators that the package makes its functions and methods from, and what was built.

#include "cresset/ops/build_info.h"

#include "python/bind/bind.h"

namespace cresset::python {

namespace {

struct Operator {
  const char *name, *overload, *form, *home, *aliases;  // aliases: separated by spaces
  bool method;
};
constexpr Operator kOperators[] = {
#include "cresset/ops/python_operators.inc"
};

// operators(): tuples (name, overload, form, module, aliases, whether it is a method), in the order of the rows.
PyObject* operators(PyObject*, PyObject*) {
  Ref list(PyList_New(std::size(kOperators)));
  if (!list) return nullptr;
  Py_ssize_t i = 0;
  for (const Operator& op : kOperators) {
    PyObject* row = Py_BuildValue("(sssssO)", op.name, op.overload, op.form, op.home, op.aliases, op.method ? Py_True : Py_False);
    if (!row) return nullptr;
    PyList_SET_ITEM(list.get(), i++, row);
  }
  return list.release();
}

PyObject* info(PyObject*, PyObject*) {
  const BuildInfo built = build_info();
  return Py_BuildValue("{s:s,s:s,s:s,s:O}", "version", built.version, "compiler", built.compiler, "isa", built.isa, "onednn",
                       built.onednn ? Py_True : Py_False);
}

// Abilities of the processor, by PyTorch's names for them.
PyObject* processor(PyObject*, PyObject*) {
  Ref found(PyDict_New());
  if (!found) return nullptr;
  const auto add = [&](const char* name, bool has) { return PyDict_SetItemString(found.get(), name, has ? Py_True : Py_False) == 0; };
#ifdef __x86_64__
  const bool added = add("avx2", __builtin_cpu_supports("avx2")) && add("avx512_f", __builtin_cpu_supports("avx512f")) &&
                     add("avx512_bf16", __builtin_cpu_supports("avx512bf16")) && add("avx512_vnni", __builtin_cpu_supports("avx512vnni"));
#else
  const bool added = add("avx2", false) && add("avx512_f", false) && add("avx512_bf16", false) && add("avx512_vnni", false);
#endif
  return added ? found.release() : nullptr;
}

PyObject* onednn_enabled_now(PyObject*, PyObject*) { return PyBool_FromLong(onednn_enabled()); }

PyObject* onednn_found_now(PyObject*, PyObject*) { return PyBool_FromLong(onednn_found()); }

PyObject* lapack_found_now(PyObject*, PyObject*) { return PyBool_FromLong(lapack_found()); }

PyObject* enable_onednn(PyObject*, PyObject* enabled) {
  const int on = PyObject_IsTrue(enabled);
  if (on < 0) return nullptr;
  set_onednn_enabled(on != 0);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"operators", operators, METH_NOARGS, nullptr},
                           {"build_info", info, METH_NOARGS, nullptr},
                           {"_processor", processor, METH_NOARGS, nullptr},
                           {"_onednn_enabled", onednn_enabled_now, METH_NOARGS, nullptr},
                           {"_onednn_found", onednn_found_now, METH_NOARGS, nullptr},
                           {"_lapack_found", lapack_found_now, METH_NOARGS, nullptr},
                           {"_set_onednn_enabled", enable_onednn, METH_O, nullptr},
                           {}};

}  // namespace

bool add_build_info(PyObject* module) {
  return PyModule_AddStringConstant(module, "__version__", CRESSET_VERSION) == 0 && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
