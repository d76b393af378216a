// Graphs as objects: `_cresset_graph.Graph` holds a module of graphs, `_cresset_graph.Program` an exported program.

#include <memory>

#include "cresset/graph/io/document.h"
#include "cresset/graph/io/names.h"
#include "cresset/graph/io/open.h"
#include "cresset/graph/io/pt2.h"
#include "cresset/graph/passes/describe.h"
#include "cresset/graph/passes/passes.h"
#include "python/bind/modes/values_api.h"
#include "python/bind_graph/bind_graph.h"

namespace cresset::graph {

namespace {

using python::present_list, python::present, python::PythonError, python::text_of, python::without_interpreter;

PyTypeObject *graph_type, *program_type;
const python::ValuesApi* api;

template <class F> PyObject* guarded(F&& body) { return python::or_error(body, set_python_error); }
PyObject* wrap(const std::string& s) { return present(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace")); }
std::vector<Datum> inputs_of(PyObject* sequence) { return python::values_of(*api, sequence); }
PyObject* outputs_of(const std::vector<Datum>& outputs) {
  return present_list(outputs, [](const Datum& v) { return api->to_python(v); });
}

// ---- Graph ----------------------------------------------------------------------------------------------------------------

struct GraphParts {
  Module module;
  std::shared_ptr<const Program> program;  // of the module as it is now

  Graph& first() {
    program.reset();
    return *module.graphs.front();
  }
};
struct GraphObject {
  PyObject_HEAD GraphParts* parts;
};
GraphParts& parts_of(PyObject* self) { return *reinterpret_cast<GraphObject*>(self)->parts; }

PyObject* wrap_module(Module module) {
  PyObject* o = present(graph_type->tp_alloc(graph_type, 0));
  reinterpret_cast<GraphObject*>(o)->parts = new GraphParts{std::move(module), nullptr};
  return o;
}
void free_graph(PyObject* self) {
  delete reinterpret_cast<GraphObject*>(self)->parts;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* parse(PyObject*, PyObject* text) {
  return guarded([&] {
    ParseOptions options;
    options.allow_foreign = true;
    Module m = parse_module(text_of(text), options);
    CRESSET_CHECK_VALUE(!m.graphs.empty(), "graph text: expected a graph");
    return wrap_module(std::move(m));
  });
}
PyObject* operator_name(PyObject*, PyObject* target) {
  return guarded([&] {
    const std::string name = operator_of(text_of(target));
    return present(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
  });
}
// Constants: {input: (name, tensor)}.
PyObject* read(PyObject*, PyObject* args) {
  PyObject *json = nullptr, *constants = nullptr;
  if (!PyArg_ParseTuple(args, "UO!:read", &json, &PyDict_Type, &constants)) return nullptr;
  return guarded([&] {
    std::map<std::string, DocumentConstant> by_input;
    PyObject *key = nullptr, *pair = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(constants, &at, &key, &pair);) {
      const char* name = nullptr;
      PyObject* tensor = nullptr;
      Datum value;
      if (!PyArg_ParseTuple(pair, "sO:read", &name, &tensor) || !api->to_value(tensor, value)) throw PythonError();
      by_input[text_of(key)] = {name, value.to_tensor()};
    }
    Module m;
    m.graphs.push_back(read_document(text_of(json), by_input));
    return wrap_module(std::move(m));
  });
}
PyObject* open_file(PyObject*, PyObject* path) {
  return guarded([&] { return wrap_module(open_module(text_of(path))); });
}

template <class F> PyObject* each_graph(PyObject* self, F&& text) {
  return guarded([&] {
    std::string s;
    for (const auto& g : parts_of(self).module.graphs) s += (s.empty() ? "" : "\n") + text(*g);
    return wrap(s);
  });
}
PyObject* graph_text(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(parts_of(self).module.text()); });
}
PyObject* graph_describe(PyObject* self, PyObject*) {
  return each_graph(self, [](const Graph& g) { return describe(g); });
}
PyObject* graph_dot(PyObject* self, PyObject*) {
  return each_graph(self, [](const Graph& g) { return dot(g); });
}

PyObject* constants(PyObject* self, PyObject*) {
  return guarded([&] {
    PyObject* dict = present(PyDict_New());
    for (const auto& c : parts_of(self).module.graphs.front()->constants()) {
      if (c->name().empty()) continue;
      PyObject* value = api->to_python(*c->constant());
      const bool added = value && PyDict_SetItemString(dict, c->name().c_str(), value) == 0;
      Py_XDECREF(value);
      if (!added) {
        Py_DECREF(dict);
        throw PythonError();
      }
    }
    return dict;
  });
}
PyObject* bind(PyObject* self, PyObject* args) {
  const char* name = nullptr;
  PyObject* tensor = nullptr;
  if (!PyArg_ParseTuple(args, "sO:bind", &name, &tensor)) return nullptr;
  return guarded([&] {
    Datum value;
    if (!api->to_value(tensor, value)) throw PythonError();
    CRESSET_CHECK_TYPE(value.is_tensor(), "bind: expected a tensor for @", name, ", got ", value.kind());
    Graph& g = parts_of(self).first();
    Value* c = g.find_constant(name);
    CRESSET_CHECK_VALUE(c, "bind: the graph ", g.name(), " has no tensor @", name);
    c->set_type(Type::of(value));
    c->bind(std::move(value));
    g.verify();
    Py_RETURN_NONE;
  });
}

PyObject* apply_pass(PyObject* self, PyObject* name) {
  return guarded([&] { return present(PyLong_FromSize_t(run_pass(parts_of(self).first(), text_of(name)))); });
}
std::unique_ptr<Graph> pattern_of(PyObject* text) { return parse_graph(text_of(text)); }
PyObject* apply_rewrite(PyObject* self, PyObject* args) {
  PyObject *pattern = nullptr, *replacement = nullptr;
  if (!PyArg_ParseTuple(args, "UU:rewrite", &pattern, &replacement)) return nullptr;
  return guarded([&] {
    const auto from = pattern_of(pattern), to = pattern_of(replacement);
    return present(PyLong_FromSize_t(rewrite(parts_of(self).first(), *from, *to)));
  });
}
PyObject* apply_decompose(PyObject* self, PyObject* table) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(PyDict_Check(table), "decompose: expected a dict from names of operators to texts of graphs, got ", Py_TYPE(table)->tp_name);
    Decompositions by_name;
    PyObject *key = nullptr, *text = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(table, &at, &key, &text);) by_name[text_of(key)] = pattern_of(text);
    return present(PyLong_FromSize_t(decompose(parts_of(self).first(), by_name)));
  });
}
PyObject* apply_partition(PyObject* self, PyObject* args) {
  PyObject* names = nullptr;
  Py_ssize_t min_nodes = 1;
  if (!PyArg_ParseTuple(args, "On:partition", &names, &min_nodes)) return nullptr;
  return guarded([&] {
    PyObject* const wanted = present(PyFrozenSet_New(names));
    const std::unique_ptr<PyObject, void (*)(PyObject*)> owned(wanted, [](PyObject* o) { Py_DECREF(o); });
    const auto supports = [&](const Node& n) {
      const std::unique_ptr<PyObject, void (*)(PyObject*)> name(wrap(n.op_name()), [](PyObject* o) { Py_DECREF(o); });
      const int found = PySet_Contains(wanted, name.get());
      if (found < 0) throw PythonError();
      return found == 1;
    };
    return wrap_module(partition(*parts_of(self).module.graphs.front(), supports, static_cast<size_t>(std::max<Py_ssize_t>(min_nodes, 1))));
  });
}

// The module as instructions, for callers in C++: a shared pointer in a capsule. Its intermediate values have places of their own in memory only where
// `planned`.
PyObject* graph_program(PyObject* self, PyObject* planned) {
  return guarded([&] {
    ProgramOptions options;
    options.plan_memory = PyObject_IsTrue(planned) == 1;
    using Shared = std::shared_ptr<const Program>;
    auto program = std::make_unique<Shared>(std::make_shared<const Program>(parts_of(self).module, options));
    PyObject* const capsule = present(PyCapsule_New(program.get(), "cresset.graph.program",
                                                    [](PyObject* c) { delete static_cast<Shared*>(PyCapsule_GetPointer(c, "cresset.graph.program")); }));
    parts_of(self).program = *program.release();
    return capsule;
  });
}
// The module itself, for passes of other extensions: it is this object's, which the capsule keeps.
PyObject* graph_module(PyObject* self, PyObject*) {
  return guarded([&] {
    parts_of(self).program.reset();
    PyObject* const capsule = present(
        PyCapsule_New(&parts_of(self).module, "cresset.graph.module", [](PyObject* c) { Py_XDECREF(static_cast<PyObject*>(PyCapsule_GetContext(c))); }));
    PyCapsule_SetContext(capsule, Py_NewRef(self));
    return capsule;
  });
}
PyObject* run_graph(PyObject* self, PyObject* inputs) {
  return guarded([&] {
    GraphParts& parts = parts_of(self);
    if (!parts.program) parts.program = std::make_shared<const Program>(parts.module);
    std::vector<Datum> values = inputs_of(inputs);
    const std::shared_ptr<const Program> program = parts.program;
    return outputs_of(without_interpreter([&] { return program->run(std::move(values)); }));
  });
}
PyObject* memory_dict(const ProgramMemory& m) {
  return present(Py_BuildValue("{s:n,s:n,s:n,s:O}", "blocks", static_cast<Py_ssize_t>(m.blocks), "block_bytes", static_cast<Py_ssize_t>(m.block_bytes),
                               "arena_bytes", static_cast<Py_ssize_t>(m.arena_bytes), "planned", m.planned ? Py_True : Py_False));
}
PyObject* graph_memory(PyObject* self, PyObject*) {
  return guarded([&] { return memory_dict(parts_of(self).program ? parts_of(self).program->memory() : ProgramMemory()); });
}

// ("%", name) of a value, ("@", name) of a constant tensor, ("=", value) of another constant.
PyObject* operand(const Value* v) {
  if (!v->is_constant()) return present(Py_BuildValue("(ss)", "%", v->name().c_str()));
  if (!v->name().empty()) return present(Py_BuildValue("(ss)", "@", v->name().c_str()));
  return present(Py_BuildValue("(sN)", "=", api->to_python(*v->constant())));
}
PyObject* named(const Value* v) { return present(Py_BuildValue("(ss)", v->name().c_str(), v->type().text().c_str())); }
const char* kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::Op: return "op";
    case NodeKind::Builtin: return "builtin";
    case NodeKind::List: return "list";
    case NodeKind::Tuple: return "tuple";
    case NodeKind::Dict: return "dict";
    case NodeKind::Unpack: return "unpack";
    case NodeKind::Foreign: return "foreign";
    default: return nullptr;
  }
}
PyObject* row(const Node& n) {
  const char* kind = kind_name(n.kind());
  CRESSET_CHECK_NOT_IMPLEMENTED(kind, "graph ", n.graph().name(), ", node ", n.text_name(),
                                ": branches, loops and calls have no form in torch.fx; expected a graph of operators alone");
  const std::string name = n.kind() == NodeKind::Foreign ? n.target() : n.op_name();
  return present(Py_BuildValue(
      "(ssNNN)", kind, name.c_str(), present_list(n.inputs(), operand), present_list(n.outputs(), [](const auto& v) { return named(v.get()); }),
      present_list(n.attributes(), [](const auto& item) { return present(Py_BuildValue("(sN)", item.first.c_str(), api->to_python(item.second))); })));
}
PyObject* rows(PyObject* self, PyObject*) {
  return guarded([&] {
    const Graph& g = *parts_of(self).module.graphs.front();
    std::vector<const Node*> nodes;
    for (const auto& n : g.block().nodes())
      if (n->kind() != NodeKind::Return) nodes.push_back(n.get());
    return present(Py_BuildValue("(NNN)", present_list(g.block().parameters(), [](const auto& p) { return named(p.get()); }),
                                 present_list(nodes, [](const Node* n) { return row(*n); }), present_list(g.block().results(), operand)));
  });
}

PyMethodDef graph_methods[] = {
    {"parse", parse, METH_O | METH_STATIC, "A module from its text; operators that this library lacks are kept."},
    {"read", read, METH_VARARGS | METH_STATIC, "A module from a graph as .pt2 files have it, and the tensors among its inputs."},
    {"operator_of", operator_name, METH_O | METH_STATIC, "Our operator of a name in a .pt2 file."},
    {"open", open_file, METH_O | METH_STATIC, "A module from a .pt2 file or a file of text."},
    {"text", graph_text, METH_NOARGS, "The text, which reads back."},
    {"describe", graph_describe, METH_NOARGS, "A table of the nodes with costs."},
    {"dot", graph_dot, METH_NOARGS, "A drawing in the language of Graphviz."},
    {"constants", constants, METH_NOARGS, "The named tensors of the first graph; None where one is not bound."},
    {"bind", bind, METH_VARARGS, "Gives a named tensor its data."},
    {"run_pass", apply_pass, METH_O, "Runs a pass by name on the first graph and returns how much it changed."},
    {"rewrite", apply_rewrite, METH_VARARGS, "Replaces each match of a pattern by a replacement, both as text, and returns how many there were."},
    {"decompose", apply_decompose, METH_O, "Replaces operators by graphs, given as text by name."},
    {"partition", apply_partition, METH_VARARGS, "A module whose graphs of their own hold the operators of these names."},
    {"program", graph_program, METH_O, "program(planned): the module as a program for callers in C++. Errors: as the first run."},
    {"module", graph_module, METH_NOARGS, "The module for passes of other extensions."},
    {"run", run_graph, METH_O, "Runs the module on a list of inputs."},
    {"memory", graph_memory, METH_NOARGS, "Figures of the plan of memory of the last run."},
    {"rows", rows, METH_NOARGS, "(parameters, nodes, results) of a first graph without structure."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot graph_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(free_graph)}, {Py_tp_methods, graph_methods}, {0, nullptr}};
PyType_Spec graph_spec{"_cresset_graph.Graph", sizeof(GraphObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, graph_slots};

// ---- Program --------------------------------------------------------------------------------------------------------------

struct ProgramObject {
  PyObject_HEAD ExportedProgram* program;
};
ExportedProgram& program_of(PyObject* self) { return *reinterpret_cast<ProgramObject*>(self)->program; }

PyObject* load(PyObject*, PyObject* args) {
  return guarded([&] {
    const char *path = nullptr, *model = nullptr;
    if (!PyArg_ParseTuple(args, "ss:load", &path, &model)) throw PythonError();
    LoadOptions options;
    options.model = model;
    auto program = std::make_unique<ExportedProgram>(load_program(path, options));
    PyObject* o = present(program_type->tp_alloc(program_type, 0));
    reinterpret_cast<ProgramObject*>(o)->program = program.release();
    return o;
  });
}
void free_program(PyObject* self) {
  delete reinterpret_cast<ProgramObject*>(self)->program;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* run_program(PyObject* self, PyObject* inputs) {
  return guarded([&] {
    std::vector<Datum> values = inputs_of(inputs);
    const ExportedProgram& program = program_of(self);
    return outputs_of(without_interpreter([&] { return program.run(std::move(values)); }));
  });
}
PyObject* trees(PyObject* self, PyObject*) {
  return guarded([&] {
    const ExportedProgram& p = program_of(self);
    return present(Py_BuildValue("(NN)", wrap(p.input_tree()), wrap(p.output_tree())));
  });
}
PyObject* program_inputs(PyObject* self, PyObject*) {
  return guarded([&] {
    return present_list(program_of(self).inputs(),
                        [](const ExportedInput& in) { return present(Py_BuildValue("(ss)", in.name.c_str(), in.type.text().c_str())); });
  });
}
PyObject* program_text(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(program_of(self).graph().text()); });
}
PyObject* program_memory(PyObject* self, PyObject*) {
  return guarded([&] { return memory_dict(program_of(self).program().memory()); });
}

PyMethodDef program_methods[] = {{"load", load, METH_VARARGS | METH_STATIC, "A program of a .pt2 file: that of a name, or with an empty one the only one."},
                                 {"run", run_program, METH_O, "Runs it on flat inputs."},
                                 {"trees", trees, METH_NOARGS, "How arguments and results are nested, as the file has it."},
                                 {"inputs", program_inputs, METH_NOARGS, "(name, type) of each flat input."},
                                 {"text", program_text, METH_NOARGS, "The text of the graph."},
                                 {"memory", program_memory, METH_NOARGS, "Figures of the plan of memory of the last run."},
                                 {nullptr, nullptr, 0, nullptr}};
PyType_Slot program_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(free_program)}, {Py_tp_methods, program_methods}, {0, nullptr}};
PyType_Spec program_spec{"_cresset_graph.Program", sizeof(ProgramObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, program_slots};

bool add_type(PyObject* module, const char* name, PyType_Spec& spec, PyTypeObject*& type) {
  PyObject* o = PyType_FromSpec(&spec);
  type = reinterpret_cast<PyTypeObject*>(o);
  return o && PyModule_AddObjectRef(module, name, o) == 0;
}

}  // namespace

void set_python_error() { api->set_error(); }

bool add_graph(PyObject* module) {
  api = static_cast<const python::ValuesApi*>(PyCapsule_Import(python::ValuesApi::kName, 0));
  return api && add_type(module, "Graph", graph_spec, graph_type) && add_type(module, "Program", program_spec, program_type);
}

}  // namespace cresset::graph
