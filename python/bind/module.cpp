// The extension module `_cresset` and the mapping of errors.

#include <cstring>

#include "cresset/base/warning.h"
#include "python/bind/autograd.h"
#include "python/bind/bind.h"
#include "python/bind/modes/values_api.h"

namespace cresset::python {

namespace {

PyObject *package, *out_of_memory_error, *lin_alg_error;

PyObject* set_package(PyObject*, PyObject* module) {
  package = Ref::share(module).release();
  Py_RETURN_NONE;
}
PyObject* set_parameter_type(PyObject*, PyObject* type) {
  if (!PyType_Check(type)) return PyErr_Format(PyExc_TypeError, "expected a type");
  parameter_type = reinterpret_cast<PyTypeObject*>(Ref::share(type).release());
  Py_RETURN_NONE;
}

// Warnings of C++ are Python's: a filter that makes errors of them fails the call.
void warn_in_python(WarningKind kind, const std::string& text) {
  if (!Py_IsInitialized()) return;
  with_gil([&] {
    PyObject* const category = kind == WarningKind::deprecation ? PyExc_DeprecationWarning : PyExc_UserWarning;
    if (PyErr_WarnEx(category, text.c_str(), 1) < 0) throw PythonError();
  });
}
// _warn_always(bool or None): what was set until now.
PyObject* warn_always(PyObject*, PyObject* always) {
  const bool before = warns_always();
  if (always != Py_None) set_warns_always(always == Py_True);
  return PyBool_FromLong(before);
}

PyMethodDef functions[] = {{"_warn_always", warn_always, METH_O, nullptr},
                           {"set_package", set_package, METH_O, nullptr},
                           {"set_parameter_type", set_parameter_type, METH_O, nullptr},
                           {}};
PyModuleDef definition{PyModuleDef_HEAD_INIT, "_cresset", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyObject* package_function(const char* name) {
  PyObject* function = PyDict_GetItemString(PyModule_GetDict(package), name);
  CRESSET_CHECK(function, "the package has no function ", name);
  return function;
}

void set_python_error() {
  // Names in damaged files are no text in UTF-8.
  auto set = [](PyObject* type, const std::exception& e) {
    PyObject* text = PyUnicode_DecodeUTF8(e.what(), static_cast<Py_ssize_t>(std::strlen(e.what())), "replace");
    if (text) PyErr_SetObject(type, text);
    Py_XDECREF(text);
  };
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const PythonException& e) { e.restore(); } catch (const IndexError& e) {
    set(PyExc_IndexError, e);
  } catch (const ValueError& e) { set(PyExc_ValueError, e); } catch (const TypeError& e) {
    set(PyExc_TypeError, e);
  } catch (const NotImplementedError& e) { set(PyExc_NotImplementedError, e); } catch (const OutOfMemoryError& e) {
    set(out_of_memory_error, e);
  } catch (const ModuleNotFoundError& e) { set(PyExc_ModuleNotFoundError, e); } catch (const LinAlgError& e) {
    set(lin_alg_error, e);
  } catch (const std::bad_alloc& e) { PyErr_NoMemory(); } catch (const std::exception& e) {
    if (!set_fake_error(e) && !set_symbol_error(e) && !set_checkpoint_error(e) && !set_control_flow_error(e)) set(PyExc_RuntimeError, e);
  } catch (...) { PyErr_SetString(PyExc_RuntimeError, "C++ threw an object that is no std::exception, so that there is no text; throw std::runtime_error"); }
}

}  // namespace cresset::python

PyMODINIT_FUNC PyInit__cresset() {
  using namespace cresset::python;
  PyObject* module = PyModule_Create(&definition);
  if (!module) return nullptr;
  out_of_memory_error = PyErr_NewExceptionWithDoc("torch.OutOfMemoryError", "A device has not the memory that was asked for.", PyExc_RuntimeError, nullptr);
  lin_alg_error = PyErr_NewExceptionWithDoc(
      "_cresset._LinAlgError", "A matrix is not what a function of linear algebra needs: singular, or not\npositive definite.", PyExc_RuntimeError, nullptr);
  PyModule_AddObjectRef(module, "OutOfMemoryError", out_of_memory_error);
  PyModule_AddObjectRef(module, "LinAlgError", lin_alg_error);
  PyModule_AddObjectRef(module, "_LinAlgError", lin_alg_error);  // where pickle looks for it
  cresset::set_warning_handler(warn_in_python);
  const bool added = add_constants(module) && add_tensor(module) && add_storage(module) && add_override(module) && add_subclasses(module) &&
                     add_exchange(module) && add_state(module) && add_op(module) && add_io(module) && add_autograd(module) && add_optim(module) &&
                     add_autocast(module) && add_build_info(module) && add_fake(module) && add_batches(module) && add_listen(module) && add_symbols(module) &&
                     add_values_api(module) && add_shared(module) && add_extensions(module) && add_outside_ops(module);
  if (!added) return nullptr;
  return module;
}
