// Hooks on what the graph saves, and anomaly mode with the stacks of Python.

#include "cresset/autograd/anomaly_mode.h"
#include "cresset/autograd/node_hooks.h"
#include "cresset/autograd/saved/saved_variable.h"
#include "python/bind/autograd.h"

namespace cresset::python {

using autograd::AnomalyMode;
using autograd::Node;
using autograd::PackedTensor;
using autograd::SavedTensorDefaultHooks;

autograd::PackHook pack_hook(PyObject* function) {
  return [kept = shared(function)](const Tensor& t) -> PackedTensor {
    return with_gil([&] {
      const auto version = t._version();
      const Ref argument = checked(wrap(t));
      const Ref packed = checked(PyObject_CallOneArg(kept.get(), argument.get()));
      CRESSET_CHECK(t._version() == version, "saved tensor hooks: the pack hook changed its argument in place, which is not allowed");
      return PackedTensor(shared(packed.get()));
    });
  };
}

autograd::UnpackHook unpack_hook(PyObject* function) {
  return [kept = shared(function)](const PackedTensor& packed) -> Tensor {
    return with_gil([&] {
      const Ref result = checked(PyObject_CallOneArg(kept.get(), static_cast<PyObject*>(packed.get())));
      CRESSET_CHECK_TYPE(is_tensor(result.get()), "saved tensor hooks: the unpack hook was expected to return a tensor, got ", Py_TYPE(result.get())->tp_name);
      return tensor_of(result.get());
    });
  };
}

namespace {

PyObject* push_hooks(PyObject*, PyObject* args) {
  PyObject *pack, *unpack;
  if (!PyArg_ParseTuple(args, "OO", &pack, &unpack)) return nullptr;
  return guarded([&]() -> PyObject* {
    SavedTensorDefaultHooks::push_hooks(pack_hook(pack), unpack_hook(unpack));
    Py_RETURN_NONE;
  });
}
PyObject* pop_hooks(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    SavedTensorDefaultHooks::pop_hooks();
    Py_RETURN_NONE;
  });
}
// disable_saved_tensors_hooks(message or None): the message until now, or None.
PyObject* disable_hooks(PyObject*, PyObject* message) {
  return guarded([&]() -> PyObject* {
    const std::optional<std::string> before = SavedTensorDefaultHooks::disabled_message();
    if (message == Py_None) {
      SavedTensorDefaultHooks::enable();
    } else {
      const char* text = PyUnicode_AsUTF8(message);
      if (!text) throw PythonError();
      SavedTensorDefaultHooks::disable(text);
    }
    if (!before) Py_RETURN_NONE;
    return PyUnicode_FromString(before->c_str());
  });
}

// ---- anomaly mode ------------------------------------------------------------------------------------------------------

std::string python_stack() {
  return with_gil([] {
    const Ref module = checked(PyImport_ImportModule("traceback"));
    const Ref lines = checked(PyObject_CallMethod(module.get(), "format_stack", nullptr));
    std::string text;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines.get()); i++) text += PyUnicode_AsUTF8(PyList_GET_ITEM(lines.get(), i));
    return text;
  });
}

void warn_of(const std::string& what, const Node& node) {
  const std::string text =
      what + (node.trace() ? "recorded here:\n" + node.trace()->stack
                           : "recorded without anomaly detection. No forward pass information available; enable it during the forward pass too.");
  // A filter may turn the warning into an error: the one on its way counts more.
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1)) PyErr_Clear();
}

// A warning of the place where the node ran forward, and one of each node in whose gradient it was recorded.
void report(const Node& node) {
  Gil gil;
  warn_of("error detected in " + node.name() + ", which was ", node);
  intrusive_ptr<Node> parent = node.trace() ? node.trace()->parent : nullptr;
  while (parent) {
    warn_of("the node was made by the backward of " + parent->name() + ", which was ", *parent);
    parent = parent->trace() ? intrusive_ptr<Node>(parent->trace()->parent) : nullptr;
  }
}

PyObject* set_anomaly(PyObject*, PyObject* args) {
  int on, check_nan;
  if (!PyArg_ParseTuple(args, "pp", &on, &check_nan)) return nullptr;
  AnomalyMode::set_enabled(on != 0, check_nan != 0);
  Py_RETURN_NONE;
}
PyObject* anomaly(PyObject*, PyObject*) {
  return Py_BuildValue("(NN)", PyBool_FromLong(AnomalyMode::is_enabled()), PyBool_FromLong(AnomalyMode::should_check_nan()));
}

PyMethodDef functions[] = {{"push_saved_tensors_hooks", push_hooks, METH_VARARGS, nullptr},
                           {"pop_saved_tensors_hooks", pop_hooks, METH_NOARGS, nullptr},
                           {"disable_saved_tensors_hooks", disable_hooks, METH_O, nullptr},
                           {"set_anomaly", set_anomaly, METH_VARARGS, nullptr},
                           {"anomaly", anomaly, METH_NOARGS, nullptr},
                           {}};

}  // namespace

bool add_autograd_saved(PyObject* module) {
  AnomalyMode::set_stack_provider(python_stack);
  AnomalyMode::set_reporter(report);
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
