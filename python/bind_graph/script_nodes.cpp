// The nodes, values and blocks of graphs for Python, which names them by their addresses: each is looked up before it is used.

#include <algorithm>

#include "cresset/graph/script/ir/ir_text.h"
#include "cresset/graph/script/print.h"
#include "python/bind_graph/script.h"

namespace cresset::graph::script {

namespace {

// All that lives in the graph that was asked for last, until something changes a graph.
struct Living {
  const Graph* graph = nullptr;
  std::unordered_set<const void*> nodes, values, blocks;
} living;

void collect(const Block& b) {
  living.blocks.insert(&b);
  for (const auto& p : b.parameters()) living.values.insert(p.get());
  for (const auto& n : b.nodes()) {
    living.nodes.insert(n.get());
    for (const auto& o : n->outputs()) living.values.insert(o.get());
    for (const auto& inner : n->blocks()) collect(*inner);
  }
}
void look_at(const Graph& g) {
  if (living.graph == &g) return;
  living = {};
  living.graph = &g;
  for (const auto& c : g.constants()) living.values.insert(c.get());
  collect(g.block());
}
Graph& graph_of(PyObject* o) {
  Graph& g = *handle(o, HandleKind::Graph).graph;
  look_at(g);
  return g;
}
template <class T> T& alive(const std::unordered_set<const void*>& set, unsigned long long address, const char* what) {
  auto* const p = reinterpret_cast<T*>(static_cast<uintptr_t>(address));
  CRESSET_CHECK(set.count(p), what, " is no longer part of its graph");
  return *p;
}
Node& node_at(unsigned long long a) { return alive<Node>(living.nodes, a, "the node"); }
Value& value_at(unsigned long long a) { return alive<Value>(living.values, a, "the value"); }
Block& block_at(Graph& g, unsigned long long a) { return a ? alive<Block>(living.blocks, a, "the block") : g.block(); }
Ref address(const void* p) { return checked(PyLong_FromUnsignedLongLong(reinterpret_cast<uintptr_t>(p))); }
template <class List, class Get> Ref addresses(const List& list, Get get) {
  Ref out = checked(PyList_New(0));
  for (const auto& e : list)
    if (PyList_Append(out.get(), address(get(e)).get()) < 0) throw PythonError();
  return out;
}
constexpr auto kItself = [](const auto& p) { return &*p; };
bool is_detached(const Node& n) { return n.attributes().count(kDetachedNote) && n.attributes().at(kDetachedNote).toBool(); }

// The function whose graph it is runs the changed one.
PyObject* changed(PyObject* o, Ref out = Ref::share(Py_None)) {
  forget_living();
  if (Function* const f = handle(o, HandleKind::Graph).function) f->forget_program();
  return out.release();
}

// A function of a graph and the place of a part of it.
template <class F> PyObject* at_place(PyObject* args, F&& f) {
  return guarded([&] {
    PyObject* o;
    unsigned long long at;
    if (!PyArg_ParseTuple(args, "OK", &o, &at)) throw PythonError();
    return f(o, at);
  });
}

// (graph, block or 0): parameters, results, nodes, owner
PyObject* read_block(PyObject*, PyObject* args) {
  return at_place(args, [&](PyObject* o, unsigned long long at) {
    Graph& g = graph_of(o);
    const Block& b = block_at(g, at);
    Ref nodes = checked(PyList_New(0));
    for (const auto& n : b.nodes())
      if (n->kind() != NodeKind::Return && !is_detached(*n) && PyList_Append(nodes.get(), address(n.get()).get()) < 0) throw PythonError();
    return checked(
        Py_BuildValue("(OOOO)", addresses(b.parameters(), kItself).get(), addresses(b.results(), kItself).get(), nodes.get(), address(b.owner()).get()));
  });
}
// The constants that are more than attributes of nodes.
PyObject* read_constants(PyObject*, PyObject* o) {
  return guarded([&] {
    Ref out = checked(PyList_New(0));
    for (const auto& c : graph_of(o).constants())
      if (!c->uses().empty() && !is_only_attribute(*c) && PyList_Append(out.get(), address(c.get()).get()) < 0) throw PythonError();
    return out;
  });
}
// (graph, node): kind, inputs, outputs, blocks, {attribute: value}, place, block, next, previous
PyObject* read_node(PyObject*, PyObject* args) {
  return at_place(args, [&](PyObject* o, unsigned long long at) {
    graph_of(o);
    const Node& n = node_at(at);
    const NodeView view = view_of(n);
    Ref attributes = checked(PyDict_New());
    for (const auto& [name, v] : view.attributes)
      if (PyDict_SetItemString(attributes.get(), name.c_str(), attribute_to_python(v).get()) < 0) throw PythonError();
    const auto& l = n.location();
    const Ref place = l ? text(l->file + ":" + std::to_string(l->line) + ":" + std::to_string(l->column - 1)) : text("");
    const Ref inputs = addresses(view.inputs, [&](size_t i) { return n.input(i); });
    return checked(Py_BuildValue("(sOOOOOOOO)", view.kind.c_str(), inputs.get(), addresses(n.outputs(), kItself).get(), addresses(n.blocks(), kItself).get(),
                                 attributes.get(), place.get(), address(&n.owner()).get(), address(n.next()).get(), address(n.previous()).get()));
  });
}
// The schema of the operator or builtin; None: it has none.
PyObject* node_schema(PyObject*, PyObject* args) {
  return at_place(args, [&](PyObject* o, unsigned long long at) {
    graph_of(o);
    const Node& n = node_at(at);
    for (const Candidate& c : find_candidates(kind_of(n)))
      if ((c.op && c.op == n.op()) || (c.builtin && c.builtin == n.builtin())) return text(kind_of(n) + c.schema.text().substr(c.schema.text().find('(')));
    return Ref::share(Py_None);
  });
}
// (graph, value): name, type, node, index, is constant, [(node, input)]
PyObject* read_value(PyObject*, PyObject* args) {
  return at_place(args, [&](PyObject* o, unsigned long long at) {
    Graph& g = graph_of(o);
    const Value& v = value_at(at);
    Ref uses = checked(PyList_New(0));
    for (const Use& u : v.uses()) {
      const std::vector<size_t> inputs = view_of(*u.node).inputs;
      const auto place = std::find(inputs.begin(), inputs.end(), u.input);
      if (place == inputs.end() || is_detached(*u.node)) continue;
      const Ref use = checked(Py_BuildValue("(On)", address(u.node).get(), static_cast<Py_ssize_t>(place - inputs.begin())));
      if (PyList_Append(uses.get(), use.get()) < 0) throw PythonError();
    }
    const std::string name = v.is_constant() ? constant_names(g).at(&v) : v.name();
    const bool is_none = v.is_constant() && v.constant()->is_none();
    return checked(Py_BuildValue("(sOOnOO)", name.c_str(), wrap(is_none ? Type(TypeKind::None) : v.type()).get(), address(v.node()).get(),
                                 static_cast<Py_ssize_t>(v.index()), v.is_constant() ? Py_True : Py_False, uses.get()));
  });
}
PyObject* constant_value(PyObject*, PyObject* args) {
  return at_place(args, [&](PyObject* o, unsigned long long at) {
    graph_of(o);
    const Value& v = value_at(at);
    CRESSET_CHECK(v.is_constant(), "the value is no constant");
    return to_python(*v.constant(), v.type());
  });
}
// (graph, value, name or None, type or None)
PyObject* change_value(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *name, *type;
    unsigned long long at;
    if (!PyArg_ParseTuple(args, "OKOO", &o, &at, &name, &type)) throw PythonError();
    graph_of(o);
    Value& v = value_at(at);
    if (name != Py_None) v.set_name(string_of(name));
    if (type != Py_None) v.set_type(handle(type, HandleKind::Type).type);
    return Ref(changed(o));
  });
}
// (graph, value, other, node or 0): uses of a value become those of another; with a node those behind it alone.
PyObject* replace_uses(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    unsigned long long from, to, after;
    if (!PyArg_ParseTuple(args, "OKKK", &o, &from, &to, &after)) throw PythonError();
    graph_of(o);
    Value &v = value_at(from), &other = value_at(to);
    if (after == 0) {
      v.replace_uses_with(&other);
      return Ref(changed(o));
    }
    std::unordered_set<const Node*> behind;
    for (const Node* n = node_at(after).next(); n; n = n->next()) behind.insert(n);
    const auto is_behind = [&](const Node* n) {
      while (n && !behind.count(n)) n = n->owner().owner();
      return n != nullptr;
    };
    for (const Use& u : std::vector<Use>(v.uses()))
      if (is_behind(u.node)) u.node->set_input(u.input, &other);
    return Ref(changed(o));
  });
}
// (graph, node, [values]): the inputs that are no attributes
PyObject* set_inputs(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *list;
    unsigned long long at;
    if (!PyArg_ParseTuple(args, "OKO!", &o, &at, &PyList_Type, &list)) throw PythonError();
    Graph& g = graph_of(o);
    // The return node of a block is named by the block.
    Node& n = living.blocks.count(reinterpret_cast<void*>(static_cast<uintptr_t>(at))) || at == 0 ? *block_at(g, at).return_node() : node_at(at);
    std::vector<Value*> given, all;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) given.push_back(&value_at(PyLong_AsUnsignedLongLong(PyList_GET_ITEM(list, i))));
    const std::vector<size_t> shown = view_of(n).inputs;
    size_t next = 0;
    for (size_t i = 0; i < n.inputs().size(); i++) {
      if (std::find(shown.begin(), shown.end(), i) == shown.end()) all.push_back(n.input(i));
      else if (next < given.size()) all.push_back(given[next++]);
    }
    while (next < given.size()) all.push_back(given[next++]);
    n.remove_inputs();
    for (Value* v : all) n.add_input(v);
    return Ref(changed(o));
  });
}
PyObject* destroy_node(PyObject*, PyObject* args) {
  return at_place(args, [&](PyObject* o, unsigned long long at) {
    graph_of(o);
    node_at(at).erase();
    return Ref(changed(o));
  });
}
// (graph, node, other node or 0, block or 0): before another node, or to the end of a block
PyObject* move_node(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    unsigned long long at, other, block;
    if (!PyArg_ParseTuple(args, "OKKK", &o, &at, &other, &block)) throw PythonError();
    Graph& g = graph_of(o);
    Node& n = node_at(at);
    n.move_before(other ? &node_at(other) : block_at(g, block).return_node());
    n.set_attribute(kDetachedNote, Datum(false));
    return Ref(changed(o));
  });
}
// (graph, kind, [inputs], {attribute: value}, number of outputs, or -1 for those of the operator): a node that stands nowhere yet
PyObject* create_node(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *list, *dict;
    const char* kind;
    Py_ssize_t outputs;
    if (!PyArg_ParseTuple(args, "OsO!O!n", &o, &kind, &PyList_Type, &list, &PyDict_Type, &dict, &outputs)) throw PythonError();
    Graph& g = graph_of(o);
    std::vector<Value*> inputs;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) inputs.push_back(&value_at(PyLong_AsUnsignedLongLong(PyList_GET_ITEM(list, i))));
    std::vector<std::pair<std::string, Datum>> attributes;
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) attributes.emplace_back(string_of(key), to_datum(value));
    const std::string name = kind;
    Node* n;
    if (name == "prim::If" || name == "prim::Loop") n = g.create(name == "prim::If" ? NodeKind::If : NodeKind::Loop, inputs);
    else if (name == "prim::TupleUnpack" || name == "prim::ListUnpack") n = g.create(NodeKind::Unpack, inputs);
    else if (find_candidates(name).empty() && !find_builtin(name) && name.compare(0, 6, "prim::") != 0) n = g.create_foreign(name, inputs);
    else n = create_by_kind(g, name, inputs, attributes, nullptr);
    while (outputs > static_cast<Py_ssize_t>(n->outputs().size())) n->add_output(TypeKind::Tensor);
    n->set_attribute(kDetachedNote, Datum(true));
    return Ref(changed(o, address(n)));
  });
}
PyObject* insert_constant(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *value;
    if (!PyArg_ParseTuple(args, "OO", &o, &value)) throw PythonError();
    Graph& g = graph_of(o);
    Value* c = g.constant(to_datum(value));
    return Ref(changed(o, address(c)));
  });
}
// (graph, block, name): a parameter
PyObject* add_parameter(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    unsigned long long block;
    const char* name;
    if (!PyArg_ParseTuple(args, "OKs", &o, &block, &name)) throw PythonError();
    Graph& g = graph_of(o);
    Value* v = block_at(g, block).add_parameter(TypeKind::Tensor, name);
    return Ref(changed(o, address(v)));
  });
}
PyObject* remove_parameter(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    unsigned long long block;
    Py_ssize_t i;
    if (!PyArg_ParseTuple(args, "OKn", &o, &block, &i)) throw PythonError();
    Graph& g = graph_of(o);
    Block& b = block_at(g, block);
    CRESSET_CHECK_INDEX(i >= 0 && static_cast<size_t>(i) < b.parameters().size(), "expected a parameter from 0 to ", b.parameters().size(), ", got ", i);
    b.remove_parameter(static_cast<size_t>(i));
    return Ref(changed(o));
  });
}
// (graph, block, [numbers]): the parameters in another order
PyObject* permute_parameters(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *list;
    unsigned long long block;
    if (!PyArg_ParseTuple(args, "OKO!", &o, &block, &PyList_Type, &list)) throw PythonError();
    std::vector<size_t> order;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
      const size_t place = PyLong_AsSize_t(PyList_GET_ITEM(list, i));
      if (PyErr_Occurred()) throw PythonError();
      order.push_back(place);
    }
    Graph& g = graph_of(o);
    block_at(g, block).permute_parameters(order);
    return Ref(changed(o));
  });
}
// (graph, node, name): an output
PyObject* add_output(PyObject*, PyObject* args) {
  return at_place(args, [&](PyObject* o, unsigned long long at) {
    graph_of(o);
    Value* v = node_at(at).add_output(TypeKind::Tensor);
    return Ref(changed(o, address(v)));
  });
}
PyObject* remove_output(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    unsigned long long at;
    Py_ssize_t i;
    if (!PyArg_ParseTuple(args, "OKn", &o, &at, &i)) throw PythonError();
    graph_of(o);
    Node& n = node_at(at);
    CRESSET_CHECK_INDEX(i >= 0 && static_cast<size_t>(i) < n.outputs().size(), "expected an output from 0 to ", n.outputs().size(), ", got ", i);
    n.remove_output(static_cast<size_t>(i));
    return Ref(changed(o));
  });
}
PyObject* add_block(PyObject*, PyObject* args) {
  return at_place(args, [&](PyObject* o, unsigned long long at) {
    graph_of(o);
    Block* b = node_at(at).add_block();
    return Ref(changed(o, address(b)));
  });
}
// (graph, other graph, [values], node or 0): the nodes of another graph before a node; the values of its results
PyObject* insert_graph(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *from, *list;
    unsigned long long before;
    if (!PyArg_ParseTuple(args, "OOO!K", &o, &from, &PyList_Type, &list, &before)) throw PythonError();
    const Graph& inner = *handle(from, HandleKind::Graph).graph;
    Graph& g = graph_of(o);
    CRESSET_CHECK(&g != &inner, "insertGraph: expected another graph");
    const auto& parameters = inner.block().parameters();
    CRESSET_CHECK(static_cast<size_t>(PyList_GET_SIZE(list)) == parameters.size(), "insertGraph: expected ", parameters.size(), " values, got ",
                  PyList_GET_SIZE(list));
    std::unordered_map<const Value*, Value*> map;
    for (size_t i = 0; i < parameters.size(); i++)
      map[parameters[i].get()] = &value_at(PyLong_AsUnsignedLongLong(PyList_GET_ITEM(list, static_cast<Py_ssize_t>(i))));
    const auto find = [&](Value* v) -> Value* {
      if (const auto found = map.find(v); found != map.end()) return found->second;
      Value* c = g.constant(*v->constant());
      c->set_type(v->type());
      return map[v] = c;
    };
    Node* const place = before ? &node_at(before) : g.block().return_node();
    for (const auto& n : inner.block().nodes()) {
      if (n->kind() == NodeKind::Return) break;
      Node* copy = g.copy(*n, find, place);
      for (size_t i = 0; i < n->outputs().size(); i++) map[n->output(i)] = copy->output(i);
    }
    const Ref results = addresses(inner.block().results(), [&](Value* v) { return find(v); });
    return Ref(changed(o, Ref::share(results.get())));
  });
}
// (graph, node, name, kind, value): sets an attribute of a node of another format, or takes it away where the kind is "".
PyObject* set_attribute(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *value;
    unsigned long long at;
    const char *name, *kind;
    if (!PyArg_ParseTuple(args, "OKssO", &o, &at, &name, &kind, &value)) throw PythonError();
    graph_of(o);
    Node& n = node_at(at);
    CRESSET_CHECK(n.kind() == NodeKind::Foreign, kind_of(n), " takes its attributes as inputs; expected a node of an operator that is not known here");
    CRESSET_CHECK_VALUE(std::string_view(name) != kDetachedNote, "'", name, "' cannot be the name of an attribute");
    if (*kind) n.set_attribute(name, attribute_value(value, kind));
    else n.remove_attribute(name);
    return Ref(changed(o));
  });
}
PyObject* empty_graph(PyObject*, PyObject*) {
  return guarded([&] { return wrap(std::make_shared<Graph>()); });
}

PyMethodDef functions[] = {{"ir_block", read_block, METH_VARARGS, nullptr},
                           {"ir_constants", read_constants, METH_O, nullptr},
                           {"ir_node", read_node, METH_VARARGS, nullptr},
                           {"ir_node_schema", node_schema, METH_VARARGS, nullptr},
                           {"ir_value", read_value, METH_VARARGS, nullptr},
                           {"ir_constant", constant_value, METH_VARARGS, nullptr},
                           {"ir_change_value", change_value, METH_VARARGS, nullptr},
                           {"ir_replace_uses", replace_uses, METH_VARARGS, nullptr},
                           {"ir_set_inputs", set_inputs, METH_VARARGS, nullptr},
                           {"ir_destroy", destroy_node, METH_VARARGS, nullptr},
                           {"ir_move", move_node, METH_VARARGS, nullptr},
                           {"ir_create", create_node, METH_VARARGS, nullptr},
                           {"ir_insert_constant", insert_constant, METH_VARARGS, nullptr},
                           {"ir_add_parameter", add_parameter, METH_VARARGS, nullptr},
                           {"ir_remove_parameter", remove_parameter, METH_VARARGS, nullptr},
                           {"ir_permute_parameters", permute_parameters, METH_VARARGS, nullptr},
                           {"ir_add_output", add_output, METH_VARARGS, nullptr},
                           {"ir_remove_output", remove_output, METH_VARARGS, nullptr},
                           {"ir_add_block", add_block, METH_VARARGS, nullptr},
                           {"ir_insert_graph", insert_graph, METH_VARARGS, nullptr},
                           {"ir_set_attribute", set_attribute, METH_VARARGS, nullptr},
                           {"ir_empty_graph", empty_graph, METH_NOARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void forget_living() { living = {}; }
bool add_nodes(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::graph::script
