// A finished recording as an object, and the frames of Python that a call is made in.

#include "cresset/profile/chrome_trace.h"
#include "cresset/profile/recorder.h"
#include "python/bind_profile/bind_profile.h"

namespace cresset::profile {

namespace {

using python::present_list;

struct TraceObject {
  PyObject_HEAD Trace* trace;
};
Trace& trace_of(PyObject* o) { return *reinterpret_cast<TraceObject*>(o)->trace; }
PyTypeObject* trace_type;

void trace_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  delete reinterpret_cast<TraceObject*>(o)->trace;
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* text(const std::string& s) { return PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"); }
PyObject* numbers(const std::vector<int64_t>& list) {
  return present_list(list, [](int64_t v) { return PyLong_FromLongLong(v); });
}

// (sizes, strides, whether they are of a list of tensors, type, value)
PyObject* row_of(const InputFact& fact) {
  return Py_BuildValue("(NNNNN)", present_list(fact.sizes, numbers), present_list(fact.strides, numbers), PyBool_FromLong(fact.is_list), text(fact.type),
                       text(fact.value));
}

PyObject* row_of(const ThreadLog& log, const Event& e) {
  return Py_BuildValue(
      "(NNiLLiLKLLKLNNNN)", text(e.full_name()), text(e.overload()), static_cast<int>(e.scope), static_cast<long long>(e.start_ns),
      static_cast<long long>(e.end_ns), static_cast<int>(e.parent), static_cast<long long>(e.sequence_nr), static_cast<unsigned long long>(e.forward_thread),
      static_cast<long long>(e.flops), static_cast<long long>(e.memory), static_cast<unsigned long long>(log.thread), static_cast<long long>(log.system_thread),
      present_list(e.inputs, [](const InputFact& f) { return row_of(f); }), present_list(e.stack, text), text(e.module), PyBool_FromLong(e.is_step));
}

// threads(): for each thread the rows of its events, whose parents are places in the same list.
PyObject* trace_threads(PyObject* self, PyObject*) {
  return guarded([&] {
    return present_list(trace_of(self).threads, [](const ThreadLog& log) { return present_list(log.events, [&](const Event& e) { return row_of(log, e); }); });
  });
}

// memory(): rows (thread, time_ns, bytes, total, address, device, event).
PyObject* trace_memory(PyObject* self, PyObject*) {
  return guarded([&] {
    return present_list(trace_of(self).threads, [](const ThreadLog& log) {
      return present_list(log.memory, [&](const MemoryEvent& e) {
        return Py_BuildValue("(KLLLKNi)", static_cast<unsigned long long>(log.thread), static_cast<long long>(e.time_ns), static_cast<long long>(e.bytes),
                             static_cast<long long>(e.total), static_cast<unsigned long long>(e.address), text(e.device.str()), static_cast<int>(e.event));
      });
    });
  });
}

PyObject* trace_chrome(PyObject* self, PyObject* args) {
  const char* path;
  PyObject* metadata;
  if (!PyArg_ParseTuple(args, "sO!:write_chrome_trace", &path, &PyDict_Type, &metadata)) return nullptr;
  std::map<std::string, std::string> fields;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(metadata, &at, &key, &value);) {
    const char *k = PyUnicode_AsUTF8(key), *v = PyUnicode_AsUTF8(value);
    if (!k || !v) return nullptr;
    fields[k] = v;
  }
  return guarded([&] {
    write_chrome_trace(trace_of(self), path, fields);
    return Py_NewRef(Py_None);
  });
}

PyObject* trace_start(PyObject* self, void*) { return PyLong_FromLongLong(trace_of(self).start_unix_ns); }
PyObject* trace_length(PyObject* self, void*) { return PyLong_FromLongLong(trace_of(self).length_ns); }

PyMethodDef methods[] = {{"threads", trace_threads, METH_NOARGS, "The events of each thread."},
                         {"memory", trace_memory, METH_NOARGS, "What happened to the memory of storages, for each thread."},
                         {"write_chrome_trace", trace_chrome, METH_VARARGS, "Writes the file, with more fields of JSON."},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {{"start_unix_ns", trace_start, nullptr, nullptr, nullptr}, {"length_ns", trace_length, nullptr, nullptr, nullptr}, {}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(trace_dealloc)}, {Py_tp_methods, methods}, {Py_tp_getset, properties}, {}};

PyObject* stop_recording(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    auto trace = std::make_unique<Trace>(stop());
    PyObject* o = trace_type->tp_alloc(trace_type, 0);
    if (o) reinterpret_cast<TraceObject*>(o)->trace = trace.release();
    return o;
  });
}

// ---- frames

std::string utf8(PyObject* o) {
  const char* s = o ? PyUnicode_AsUTF8(o) : nullptr;
  if (!s) PyErr_Clear();
  return s ? s : "?";
}

// The class of the module whose call a frame is; empty for other frames.
std::string module_of(PyFrameObject* frame, const std::string& function) {
  if (function != "_call_impl" && function != "__call__") return {};
  PyObject* locals = PyFrame_GetLocals(frame);
  PyObject* self = locals ? PyMapping_GetItemString(locals, "self") : nullptr;
  if (!self) PyErr_Clear();
  const bool is_module = self && PyObject_HasAttrString(self, "_parameters");
  std::string name = is_module ? Py_TYPE(self)->tp_name : "";
  Py_XDECREF(self);
  Py_XDECREF(locals);
  return name;
}

void place_of_call(const Options& options, Event& event) {
  if (!Py_IsInitialized()) return;
  const python::Gil gil;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const std::string function = utf8(code->co_name);
    if (options.stack) event.stack.push_back(utf8(code->co_filename) + "(" + std::to_string(PyFrame_GetLineNumber(frame)) + "): " + function);
    if (options.modules)
      if (const std::string module = module_of(frame, function); !module.empty()) event.module = event.module.empty() ? module : module + "." + event.module;
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
}

PyMethodDef functions[] = {{"stop", stop_recording, METH_NOARGS, "Ends the recording and gives it."}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

void install_place_of_call() { set_place_of_call(place_of_call); }

bool add_trace(PyObject* module) {
  PyType_Spec spec{"_cresset_profile.Trace", sizeof(TraceObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  trace_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return trace_type && PyModule_AddObjectRef(module, "Trace", reinterpret_cast<PyObject*>(trace_type)) == 0 && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::profile
