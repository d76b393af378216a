// The pass that joins operators, for the compiler in Python.

#include "cresset/graph/codegen/fuse.h"

#include "cresset/graph/codegen/machine/machine.h"
#include "python/bind_compile/region.h"

namespace cresset::compile {

namespace {

// Errors: no capsule of a module.
graph::Graph* graph_of(PyObject* capsule) {
  auto* module = static_cast<graph::Module*>(PyCapsule_GetPointer(capsule, "cresset.graph.module"));
  return module ? module->graphs.front().get() : nullptr;
}
PyObject* fail(const std::exception& e) {
  PyErr_SetString(PyExc_RuntimeError, e.what());
  return nullptr;
}

// fuse(module, freezing): joins operators of a graph. Gives an object that keeps the kernels, and (number, names of operators) of each.
PyObject* fuse(PyObject*, PyObject* args) {
  PyObject* module = nullptr;
  int freezing = 0;
  if (!PyArg_ParseTuple(args, "Op", &module, &freezing)) return nullptr;
  graph::Graph* const g = graph_of(module);
  if (!g) return nullptr;
  try {
    graph::FuseOptions options;
    options.freezing = freezing != 0;
    auto kernels = std::make_unique<graph::Kernels>(graph::fuse(*g, options));
    const Ref list(PyList_New(0));
    for (const auto& n : g->block().nodes()) {
      const auto at = n->attributes().find("fused");
      if (at == n->attributes().end()) continue;
      const Ref names(PyList_New(0));
      for (const std::string& name : std::get<std::vector<std::string>>(at->second.data())) {
        const Ref text(PyUnicode_FromString(name.c_str()));
        if (!names || !text || PyList_Append(names.get(), text.get()) != 0) return nullptr;
      }
      const Ref row(Py_BuildValue("(LO)", static_cast<long long>(n->input(0)->constant()->to_int()), names.get()));
      if (!list || !row || PyList_Append(list.get(), row.get()) != 0) return nullptr;
    }
    const Ref keeper(PyCapsule_New(kernels.get(), "cresset.graph.kernels",
                                   [](PyObject* c) { delete static_cast<graph::Kernels*>(PyCapsule_GetPointer(c, "cresset.graph.kernels")); }));
    if (!keeper) return nullptr;
    kernels.release();
    return PyTuple_Pack(2, keeper.get(), list.get());
  } catch (const std::exception& e) { return fail(e); }
}

// cheap(module): the names of values that are cheaper to compute again than to keep in memory.
PyObject* cheap(PyObject*, PyObject* module) {
  graph::Graph* const g = graph_of(module);
  if (!g) return nullptr;
  try {
    const Ref names(PySet_New(nullptr));
    for (const graph::Node* n : graph::cheaper_than_memory(*g)) {
      const Ref text(PyUnicode_FromString(n->output()->name().c_str()));
      if (!names || !text || PySet_Add(names.get(), text.get()) != 0) return nullptr;
    }
    return Py_NewRef(names.get());
  } catch (const std::exception& e) { return fail(e); }
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

Ref list_of(const std::vector<std::string>& names) {
  Ref list(PyList_New(0));
  for (const std::string& name : names) {
    const Ref text(PyUnicode_FromString(name.c_str()));
    if (!list || !text || PyList_Append(list.get(), text.get()) != 0) return Ref();
  }
  return list;
}

PyObject* save_artifacts(PyObject*, PyObject*) {
  const graph::machine::Artifacts found = graph::machine::save_artifacts();
  const Ref names = list_of(found.names);
  return names ? Py_BuildValue("y#O", found.bytes.data(), static_cast<Py_ssize_t>(found.bytes.size()), names.get()) : nullptr;
}
PyObject* load_artifacts(PyObject*, PyObject* bytes) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) != 0) return nullptr;
  try {
    return list_of(graph::machine::load_artifacts(std::string(data, static_cast<size_t>(size)))).release();
  } catch (const std::exception& e) { return fail(e); }
}
PyObject* set_caching(PyObject*, PyObject* args) {
  int on = 0;
  const char* tag = nullptr;
  if (!PyArg_ParseTuple(args, "ps", &on, &tag)) return nullptr;
  graph::machine::set_caching(on != 0, tag);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"save_artifacts", save_artifacts, METH_NOARGS, "save_artifacts(): machine code of this process as bytes, and its names."},
    {"load_artifacts", load_artifacts, METH_O, "load_artifacts(bytes): takes machine code from such bytes; its names."},
    {"set_caching", set_caching, METH_VARARGS, "set_caching(on, tag): whether machine code is kept on disk, and what it is told apart by."},
    {"machine_code", machine_code, METH_NOARGS,
     "machine_code(): whether it is available, and how many programs were compiled, read from disk, and found in packages."},
    {"fuse", fuse, METH_VARARGS, "fuse(module, freezing): joins operators of a graph; what keeps its kernels, and (number, names of operators) of each."},
    {"cheap", cheap, METH_O, "cheap(module): the names of values that are cheaper to compute again than to keep."},
    {"drop", drop, METH_O, "drop(kernel): forgets a kernel."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_fused(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::compile
