// The Python extension of graphs: files as text. A module of its own, so that programs without graphs do not load their library.

#include "cresset/graph/io/open.h"
#include "cresset/graph/passes/describe.h"
#include "python/bind_graph/bind_graph.h"
#include "python/bind_graph/script.h"

namespace {

using cresset::graph::Module;

// Calls `text` with the module in a file and gives its result as a str.
template <class F> PyObject* text_of(PyObject* args, const char* format, F&& text) {
  const char* path = nullptr;
  if (!PyArg_ParseTuple(args, format, &path)) return nullptr;
  try {
    const std::string s = text(cresset::graph::open_module(path));
    return PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace");
  } catch (...) { cresset::graph::set_python_error(); }
  return nullptr;
}

template <class F> std::string each(const Module& m, F&& text) {
  std::string s;
  for (const auto& g : m.graphs) s += (s.empty() ? "" : "\n") + text(*g);
  return s;
}

PyObject* describe(PyObject*, PyObject* args) {
  return text_of(args, "s:describe", [](const Module& m) { return each(m, [](const auto& g) { return cresset::graph::describe(g); }); });
}
PyObject* dot(PyObject*, PyObject* args) {
  return text_of(args, "s:dot", [](const Module& m) { return each(m, [](const auto& g) { return cresset::graph::dot(g); }); });
}
PyObject* text(PyObject*, PyObject* args) {
  return text_of(args, "s:text", [](const Module& m) { return m.text(); });
}

PyMethodDef functions[] = {{"describe", describe, METH_VARARGS, "A table of the nodes of a graph file, with types, multiply-adds and bytes."},
                           {"dot", dot, METH_VARARGS, "A drawing of a graph file in the language of Graphviz."},
                           {"text", text, METH_VARARGS, "The text of a graph file, which reads back."},
                           {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_cresset_graph", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__cresset_graph() {
  PyObject* module = PyModule_Create(&definition);
  using namespace cresset::graph;
  if (module && !(add_graph(module) && add_joint(module) && add_symbolic(module) && script::add_script(module) && script::add_nodes(module) &&
                  script::add_types(module) && script::add_script_graph(module) && script::add_file_check(module) && script::add_collections(module) &&
                  script::add_onnx(module)))
    Py_CLEAR(module);
  return module;
}
