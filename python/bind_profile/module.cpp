// The Python extension of the profiler. A module of its own, so that programs that do not profile do not load its library.

#include "python/bind_profile/bind_profile.h"

#include <memory>

#include "cresset/profile/recorder.h"

namespace cresset::profile {

void set_python_error() {
  try {
    throw;
  } catch (const ValueError& e) { PyErr_SetString(PyExc_ValueError, e.what()); } catch (const TypeError& e) {
    PyErr_SetString(PyExc_TypeError, e.what());
  } catch (const std::exception& e) { PyErr_SetString(PyExc_RuntimeError, e.what()); }
}

namespace {

PyObject* start_recording(PyObject*, PyObject* args) {
  int shapes, memory, flops, stack, modules;
  if (!PyArg_ParseTuple(args, "ppppp:start", &shapes, &memory, &flops, &stack, &modules)) return nullptr;
  return guarded([&] {
    start({shapes != 0, memory != 0, flops != 0, stack != 0, modules != 0});
    return Py_NewRef(Py_None);
  });
}
PyObject* pause_recording(PyObject*, PyObject*) {
  pause();
  Py_RETURN_NONE;
}
PyObject* resume_recording(PyObject*, PyObject*) {
  resume();
  Py_RETURN_NONE;
}
PyObject* recording(PyObject*, PyObject*) { return PyBool_FromLong(is_recording()); }

// enter(name): what leave() takes; None where nothing is recorded.
constexpr const char* kScope = "cresset.profile.scope";
struct OpenScope {
  explicit OpenScope(std::string_view name) : scope(name) {}
  RecordFunction scope;
  std::function<void()> end = [this] { scope.end(); };
};
OpenScope* scope_of(PyObject* capsule) { return static_cast<OpenScope*>(PyCapsule_GetPointer(capsule, kScope)); }
void end_scope(PyObject* capsule) { delete scope_of(capsule); }

PyObject* enter(PyObject*, PyObject* name) {
  if (!RecordFunction::is_active()) Py_RETURN_NONE;
  Py_ssize_t length = 0;
  const char* text = PyUnicode_AsUTF8AndSize(name, &length);
  if (!text) return nullptr;
  return guarded([&]() -> PyObject* {
    auto scope = std::make_unique<OpenScope>(std::string_view(text, static_cast<size_t>(length)));
    PyObject* const held = PyCapsule_New(scope.get(), kScope, end_scope);
    if (held) scope.release();
    return held;
  });
}
PyObject* leave(PyObject*, PyObject* scope) {
  if (scope == Py_None) Py_RETURN_NONE;
  OpenScope* const opened = scope_of(scope);
  if (!opened) return nullptr;
  return guarded([&] {
    opened->end();
    return Py_NewRef(Py_None);
  });
}
PyObject* detach(PyObject*, PyObject* scope) {
  OpenScope* const opened = scope_of(scope);
  if (!opened) return nullptr;
  return guarded([&] {
    opened->end = opened->scope.detach();
    return Py_NewRef(Py_None);
  });
}

PyMethodDef functions[] = {{"start", start_recording, METH_VARARGS, "Starts recording this thread: shapes, memory, flops, stack, modules."},
                           {"pause", pause_recording, METH_NOARGS, "Nothing is recorded from now on."},
                           {"resume", resume_recording, METH_NOARGS, "Records again."},
                           {"is_recording", recording, METH_NOARGS, "Whether a recording is under way."},
                           {"enter", enter, METH_O, "Begins a scope with a name."},
                           {"leave", leave, METH_O, "Ends the scope that enter() began."},
                           {"detach", detach, METH_O, "The scope ends with leave() in any thread; the one around is the innermost again."},
                           {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_cresset_profile", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

}  // namespace cresset::profile

PyMODINIT_FUNC PyInit__cresset_profile() {
  PyObject* module = PyModule_Create(&cresset::profile::definition);
  if (module && !(cresset::profile::add_trace(module) && cresset::profile::add_execution_trace(module))) Py_CLEAR(module);
  if (module) cresset::profile::install_place_of_call();
  return module;
}
