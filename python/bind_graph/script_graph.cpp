// Graphs, code and archives of TorchScript for Python.

#include "cresset/graph/passes/passes.h"
#include "cresset/graph/script/archive.h"
#include "cresset/graph/script/ir_text.h"
#include "cresset/graph/script/passes.h"
#include "cresset/graph/script/print.h"
#include "python/bind_graph/script.h"

namespace cresset::graph::script {

namespace {

// (function, whether calls are replaced by what they do)
PyObject* function_graph(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    int inlined;
    if (!PyArg_ParseTuple(args, "Op", &o, &inlined)) throw PythonError();
    Function& f = *handle(o, HandleKind::Function).function;
    f.ensure_defined();
    return wrap(std::shared_ptr<Graph>(inlined ? f.inlined().clone() : f.graph->clone()));
  });
}

// The graph that the function ran last, and the instructions of its program; None before the first run.
PyObject* function_executed(PyObject*, PyObject* o) {
  return guarded([&] {
    Function& f = *handle(o, HandleKind::Function).function;
    const auto graph = f.executed();
    return graph ? checked(Py_BuildValue("(NN)", wrap(std::shared_ptr<Graph>(graph->clone())).release(), text(f.program()->text()).release()))
                 : Ref::share(Py_None);
  });
}
// The graph that this thread ran last, or None.
PyObject* last_graph(PyObject*, PyObject*) {
  return guarded([&] {
    const auto graph = last_executed_graph();
    return graph ? wrap(std::shared_ptr<Graph>(graph->clone())) : Ref::share(Py_None);
  });
}

Ref row_of(const Value* v) { return checked(Py_BuildValue("(ss)", v->name().c_str(), annotation_text(v->type()).c_str())); }
void append(const Ref& list, Ref item) {
  if (PyList_Append(list.get(), item.get()) < 0) throw PythonError();
}
Ref rows_of(const Block& b, const Ref& constants) {
  Ref parameters = checked(PyList_New(0)), results = checked(PyList_New(0)), nodes = checked(PyList_New(0));
  if (constants) nodes = Ref::share(constants.get());
  for (const auto& p : b.parameters()) append(parameters, row_of(p.get()));
  for (const Value* v : b.results()) append(results, row_of(v));
  for (const auto& n : b.nodes()) {
    if (n->kind() == NodeKind::Return) break;
    Ref inputs = checked(PyList_New(0)), outputs = checked(PyList_New(0)), blocks = checked(PyList_New(0));
    for (const Value* v : n->inputs()) append(inputs, row_of(v));
    for (const auto& o : n->outputs()) append(outputs, row_of(o.get()));
    for (const auto& inner : n->blocks()) append(blocks, rows_of(*inner, Ref()));
    append(nodes, checked(Py_BuildValue("(sOOO)", kind_of(*n).c_str(), inputs.get(), outputs.get(), blocks.get())));
  }
  return checked(Py_BuildValue("(OOO)", parameters.get(), results.get(), nodes.get()));
}
// (parameters, results, nodes), text. Constants stand first, each once.
PyObject* graph_rows(PyObject*, PyObject* o) {
  return guarded([&] {
    const Graph& g = *handle(o, HandleKind::Graph).graph;
    Ref constants = checked(PyList_New(0));
    for (const auto& c : g.constants()) {
      if (c->uses().empty()) continue;
      // The names of attributes and classes are no constants of the program.
      const bool is_name = std::all_of(c->uses().begin(), c->uses().end(), [&](const Use& u) {
        if (u.node->kind() != NodeKind::Builtin) return false;
        const std::string& b = u.node->builtin()->name;
        return ((b == "prim::GetAttr" || b == "prim::SetAttr") && u.input == 1) || b == "prim::CreateObject" || (b == "prim::isinstance" && u.input > 0) ||
               ((b == "prim::fork" || b == "prim::CallNative") && u.input == 0);
      });
      if (is_name) continue;
      const Ref outputs = checked(Py_BuildValue("[(ss)]", c->name().c_str(), annotation_text(c->type()).c_str()));
      append(constants, checked(Py_BuildValue("(s[]O[])", "prim::Constant", outputs.get())));
    }
    const Ref rows = rows_of(g.block(), constants);
    return checked(Py_BuildValue("(OO)", rows.get(), text(graph_text(g)).get()));
  });
}
// (text, tensors)
PyObject* function_code(PyObject*, PyObject* o) {
  return guarded([&] {
    Referred referred;
    const std::string code = code_of(*handle(o, HandleKind::Function).function, referred, false);
    Ref constants = checked(PyList_New(0));
    for (const Datum& v : referred.constants) append(constants, to_python(v));
    return checked(Py_BuildValue("(OO)", text(code).get(), constants.get()));
  });
}
// (object or function, {name: bytes}, name of the folder)
PyObject* save(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *extra;
    const char* folder;
    if (!PyArg_ParseTuple(args, "OO!s", &o, &PyDict_Type, &extra, &folder)) throw PythonError();
    std::map<std::string, std::string> files;
    PyObject *key, *content;
    Py_ssize_t at = 0;
    while (PyDict_Next(extra, &at, &key, &content)) {
      char* data;
      Py_ssize_t n;
      if (PyBytes_AsStringAndSize(content, &data, &n) < 0) throw PythonError();
      files[string_of(key)] = std::string(data, static_cast<size_t>(n));
    }
    const Datum module =
        is_handle(o, HandleKind::Function) ? module_of_function(*handle(o, HandleKind::Function).function) : handle(o, HandleKind::Object).value;
    std::string out;
    save_archive(module, files, folder, [&](const void* data, size_t n) { out.append(static_cast<const char*>(data), n); });
    return checked(PyBytes_FromStringAndSize(out.data(), static_cast<Py_ssize_t>(out.size())));
  });
}
// (path or bytes, device or None, [names of extra files]): object, {name: bytes}; None for an archive that holds no program.
PyObject* load(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *place, *device, *wanted;
    if (!PyArg_ParseTuple(args, "OOO!", &place, &device, &PyList_Type, &wanted)) throw PythonError();
    struct Bytes {
      Py_buffer buffer{};
      ~Bytes() { PyBuffer_Release(&buffer); }
    } bytes;
    std::shared_ptr<io::ByteSource> source;
    std::string file = "<bytes>";
    if (PyUnicode_Check(place)) {
      const Ref encoded = checked(PyUnicode_EncodeFSDefault(place));
      file = PyBytes_AS_STRING(encoded.get());
      source = std::make_shared<io::FileSource>(file);
    } else {
      if (PyObject_GetBuffer(place, &bytes.buffer, PyBUF_SIMPLE) < 0) throw PythonError();
      source = std::make_shared<io::MemorySource>(bytes.buffer.buf, static_cast<size_t>(bytes.buffer.len));
    }
    if (!holds_program(*source, file)) return Ref::share(Py_None);
    LoadOptions options;
    if (device != Py_None) options.device = Device(string_of(device));
    std::map<std::string, std::string> files;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(wanted); i++) files[string_of(PyList_GET_ITEM(wanted, i))];
    const Datum module = load_archive(std::move(source), file, options, &files);
    Ref extra = checked(PyDict_New());
    for (const auto& [name, content] : files)
      if (PyDict_SetItemString(extra.get(), name.c_str(), checked(PyBytes_FromStringAndSize(content.data(), static_cast<Py_ssize_t>(content.size()))).get()) <
          0)
        throw PythonError();
    return checked(Py_BuildValue("(OO)", wrap_object(module).get(), extra.get()));
  });
}
std::vector<std::string> strings_of(PyObject* list) {
  std::vector<std::string> out;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) out.push_back(string_of(PyList_GET_ITEM(list, i)));
  return out;
}
PyObject* freeze(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *preserved;
    int numerics;
    if (!PyArg_ParseTuple(args, "OO!p", &o, &PyList_Type, &preserved, &numerics)) throw PythonError();
    const Datum frozen = freeze_module(handle(o, HandleKind::Object).value, strings_of(preserved));
    if (numerics) optimize_frozen(frozen);
    return wrap_object(frozen);
  });
}
PyObject* optimize(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *methods;
    int numerics;
    if (!PyArg_ParseTuple(args, "OpO!", &o, &numerics, &PyList_Type, &methods)) throw PythonError();
    if (numerics) optimize_frozen(handle(o, HandleKind::Object).value);
    return Ref::share(Py_None);
  });
}
PyObject* pack(PyObject*, PyObject* o) {
  return guarded([&] { return checked(PyLong_FromSize_t(pack_weights(handle(o, HandleKind::Object).value))); });
}
PyObject* opnames(PyObject*, PyObject* o) {
  return guarded([&] {
    Ref out = checked(PyList_New(0));
    for (const std::string& s : operator_names(handle(o, HandleKind::Object).value)) append(out, text(s));
    return out;
  });
}

PyObject* graph_copy(PyObject*, PyObject* o) {
  return guarded([&] { return wrap(std::shared_ptr<Graph>(handle(o, HandleKind::Graph).graph->clone())); });
}
// (graph, name): how much a pass changed it.
PyObject* graph_pass(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    const char* name;
    if (!PyArg_ParseTuple(args, "Os", &o, &name)) throw PythonError();
    Graph& g = *handle(o, HandleKind::Graph).graph;
    const std::string pass = name;
    if (pass == "verify") {
      g.verify();
      return checked(PyLong_FromLong(0));
    }
    const size_t changed = pass == "fold_builtins" ? fold_builtins(g) : pass == "peephole" ? peephole(g) : run_pass(g, pass);
    return checked(PyLong_FromSize_t(changed));
  });
}

PyObject* parse_text(PyObject*, PyObject* o) {
  return guarded([&] { return wrap(std::shared_ptr<Graph>(parse_ir(string_of(o)))); });
}
// (unit, qualified name, graph)
PyObject* graph_function(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *unit, *graph;
    const char* name;
    if (!PyArg_ParseTuple(args, "OsO", &unit, &name, &graph)) throw PythonError();
    return wrap(function_of_graph(*handle(unit, HandleKind::Unit).unit, name, *handle(graph, HandleKind::Graph).graph));
  });
}

PyMethodDef functions[] = {{"script_parse_ir", parse_text, METH_O, nullptr},
                           {"script_graph_function", graph_function, METH_VARARGS, nullptr},
                           {"script_function_graph", function_graph, METH_VARARGS, nullptr},
                           {"script_function_executed", function_executed, METH_O, nullptr},
                           {"script_last_graph", last_graph, METH_NOARGS, nullptr},
                           {"script_graph_copy", graph_copy, METH_O, nullptr},
                           {"script_graph_pass", graph_pass, METH_VARARGS, nullptr},
                           {"script_graph_rows", graph_rows, METH_O, nullptr},
                           {"script_function_code", function_code, METH_O, nullptr},
                           {"script_save", save, METH_VARARGS, nullptr},
                           {"script_load", load, METH_VARARGS, nullptr},
                           {"script_freeze", freeze, METH_VARARGS, nullptr},
                           {"script_optimize", optimize, METH_VARARGS, nullptr},
                           {"script_pack_weights", pack, METH_O, nullptr},
                           {"script_opnames", opnames, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_script_graph(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::graph::script
