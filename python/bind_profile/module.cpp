// The Python extension of the profiler. A module of its own, so that programs that do not profile do not load its library.

#include "python/bind_profile/bind_profile.h"

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
PyObject* enter(PyObject*, PyObject* name) {
  if (!RecordFunction::is_active()) Py_RETURN_NONE;
  Py_ssize_t length = 0;
  const char* text = PyUnicode_AsUTF8AndSize(name, &length);
  if (!text) return nullptr;
  return guarded([&]() -> PyObject* {
    const Opened opened = open_event({text, static_cast<size_t>(length)});
    if (opened.event < 0) Py_RETURN_NONE;
    return Py_BuildValue("(Ki)", static_cast<unsigned long long>(opened.recording), static_cast<int>(opened.event));
  });
}
PyObject* leave(PyObject*, PyObject* opened) {
  if (opened == Py_None) Py_RETURN_NONE;
  unsigned long long recorded = 0;
  int event = -1;
  if (!PyArg_ParseTuple(opened, "Ki:leave", &recorded, &event)) return nullptr;
  return guarded([&] {
    close_event({recorded, event});
    return Py_NewRef(Py_None);
  });
}

PyMethodDef functions[] = {{"start", start_recording, METH_VARARGS, "Starts recording this thread: shapes, memory, flops, stack, modules."},
                           {"pause", pause_recording, METH_NOARGS, "Nothing is recorded from now on."},
                           {"resume", resume_recording, METH_NOARGS, "Records again."},
                           {"is_recording", recording, METH_NOARGS, "Whether a recording is under way."},
                           {"enter", enter, METH_O, "Begins a scope with a name."},
                           {"leave", leave, METH_O, "Ends the scope that enter() began."},
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
