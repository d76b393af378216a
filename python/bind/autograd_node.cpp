// Nodes of the graph as Python objects: one type for each name, identity while the object lives, inspection and hooks.

#include <string>
#include <string_view>
#include <unordered_map>

#include "cresset/autograd/accumulate_grad.h"
#include "cresset/autograd/node_hooks.h"
#include "cresset/autograd/variable.h"
#include "python/bind/autograd.h"

#include <structmember.h>

namespace cresset::python {

using autograd::Node;
using autograd::variable_list;

namespace {

struct NodeObject {
  PyObject_HEAD PyObject* weak;
  intrusive_ptr<Node> node;
};
PyTypeObject *node_type, *accumulate_type;

// The object of every node that has one; the interpreter's lock protects it.
std::unordered_map<const Node*, PyObject*>& objects() {
  static auto* map = new std::unordered_map<const Node*, PyObject*>();
  return *map;
}

void node_dealloc(PyObject* self) {
  auto* o = reinterpret_cast<NodeObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (o->weak) PyObject_ClearWeakRefs(self);
  objects().erase(o->node.get());
  autograd::release_node(std::move(o->node));
  o->node.~intrusive_ptr<Node>();
  type->tp_free(self);
  Py_DECREF(type);
}

// Hooks of a node that nothing but this object holds belong to it; those of another are held by the graph.
int node_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const auto* o = reinterpret_cast<NodeObject*>(self);
  return o->node && o->node->use_count() == 1 ? traverse_node(*o->node, visit, arg) : 0;
}
int node_clear(PyObject* self) {
  Node& node = *reinterpret_cast<NodeObject*>(self)->node;
  if (node.use_count() == 1 && node.hooks_or_null()) node.hooks() = autograd::NodeHooks();
  return 0;
}

PyObject* node_repr(PyObject* self) {
  const char* name = strrchr(Py_TYPE(self)->tp_name, '.');
  return PyUnicode_FromFormat("<%s object at %p>", name ? name + 1 : Py_TYPE(self)->tp_name, static_cast<void*>(self));
}

// The node's name, numbers being tensors: x * 2 is a "MulBackward0" in Python, and not a "MulBackward1".
std::string python_name(const Node& node) {
  static const auto* others = new std::unordered_map<std::string, std::string>{
#include "cresset/ops/python_grad_names.inc"
  };
  std::string name = node.name();
  const auto found = others->find(name);
  return found == others->end() ? name : found->second;
}
// The same without namespaces.
std::string type_name(const Node& node) {
  std::string name = python_name(node);
  const std::string_view space = "torch::autograd::";
  if (name.compare(0, space.size(), space) == 0) name.erase(0, space.size());
  return name;
}

// The type of the objects of nodes of this name.
PyTypeObject* type_named(const std::string& name, PyTypeObject* base) {
  static auto* types = new std::unordered_map<std::string, PyTypeObject*>();
  PyTypeObject*& type = (*types)[name];
  if (!type) {
    const Ref made =
        checked(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(O){s:(),s:s}", name.c_str(), base, "__slots__", "__module__", "builtins"));
    type = reinterpret_cast<PyTypeObject*>(Ref::share(made.get()).release());
  }
  return type;
}

PyObject* node_attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  const char* text = PyUnicode_AsUTF8(name);
  if (!text || (strncmp(text, "_saved_", 7) && strncmp(text, "_raw_saved_", 11))) return nullptr;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  found = guarded([&] { return saved_field(to_node(self), text); });
  if (found || PyErr_Occurred()) {
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(traceback);
    return found;
  }
  PyErr_Restore(type, value, traceback);
  return nullptr;
}
PyObject* node_dir(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref names = checked(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__dir__", "O", self));
    add_saved_names(*to_node(self), names.get());
    return names.release();
  });
}

template <auto F> PyObject* method(PyObject* self, PyObject*) {
  return guarded([&] { return F(*to_node(self)); });
}
template <auto F> PyObject* property(PyObject* self, void*) { return method<F>(self, nullptr); }

// The object of a program's function keeps its name when its node is gone.
PyObject* get_name(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (!is_context(self) || node_of_context(self)) return PyUnicode_FromString(python_name(*to_node(self)).c_str());
    const char* name = strrchr(Py_TYPE(self)->tp_name, '.');
    return PyUnicode_FromString(name ? name + 1 : Py_TYPE(self)->tp_name);
  });
}
PyObject* get_sequence_nr(Node& node) { return PyLong_FromUnsignedLongLong(node.sequence_nr()); }
PyObject* get_next_functions(Node& node) {
  Ref tuple = checked(PyTuple_New(node.num_outputs()));
  for (uint32_t i = 0; i < node.num_outputs(); i++) {
    const Ref next = checked(wrap(node.next_edge(i).function));
    PyTuple_SET_ITEM(tuple.get(), i, checked(Py_BuildValue("(OI)", next.get(), node.next_edge(i).input_nr)).release());
  }
  return tuple.release();
}

// A dict that lives as long as the node: a hook that does nothing holds it.
struct Metadata {
  Shared dict;
  variable_list operator()(const variable_list&) const { return {}; }
};
PyObject* get_metadata(Node& node) {
  if (const autograd::NodeHooks* hooks = node.hooks_or_null())
    for (const auto& hook : hooks->pre_hooks)
      if (const auto* found = hook.target<Metadata>()) return Ref::share(found->dict.get()).release();
  Ref dict = checked(PyDict_New());
  node.add_pre_hook(Metadata{shared(dict.get())});
  return dict.release();
}

PyObject* get_input_metadata(Node& node) {
  Ref tuple = checked(PyTuple_New(node.num_inputs()));
  for (uint32_t i = 0; i < node.num_inputs(); i++) {
    const autograd::InputMetadata& m = node.input_metadata(i);
    if (!m.defined()) {
      PyTuple_SET_ITEM(tuple.get(), i, Ref::share(Py_None).release());
      continue;
    }
    const Ref shape = checked(wrap(m.sizes())), device = checked(wrap(m.device()));
    PyTuple_SET_ITEM(tuple.get(), i, checked(Py_BuildValue("(OOO)", shape.get(), constant(m.dtype()), device.get())).release());
  }
  return tuple.release();
}

// hook_table(before): the table of a node's hooks, made at need.
template <class Table, class Hooks> PyObject* find_table(const Hooks& hooks) {
  for (const auto& hook : hooks)
    if (const auto* found = hook.template target<Table>()) return found->table.get();
  return nullptr;
}
PyObject* hook_table(PyObject* self, PyObject* before) {
  return guarded([&]() -> PyObject* {
    const intrusive_ptr<Node> node = to_node(self);
    const bool pre = PyObject_IsTrue(before) == 1;
    autograd::NodeHooks& hooks = node->hooks();
    PyObject* found = pre ? find_table<NodePreHookTable>(hooks.pre_hooks) : find_table<NodePostHookTable>(hooks.post_hooks);
    if (found) return Ref::share(found).release();
    Ref table = new_hook_table();
    if (pre) node->add_pre_hook(NodePreHookTable{shared(table.get())});
    else node->add_post_hook(NodePostHookTable{shared(table.get())});
    return table.release();
  });
}

// Calling a node runs its gradient, without hooks.
PyObject* node_call(PyObject* self, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    const intrusive_ptr<Node> node = to_node(self);
    variable_list grads = tensor_list(args, true);
    CRESSET_CHECK_TYPE(grads.size() == node->num_inputs(), node->name(), ": expected ", node->num_inputs(), " gradients, got ", grads.size());
    variable_list result;
    {
      NoGil released;
      result = (*node)(std::move(grads));
    }
    if (result.size() == 1) return wrap(result[0]);
    return tuple_of(result).release();
  });
}

PyObject* get_variable(PyObject* self, void*) {
  return guarded([&] { return wrap(static_cast<autograd::AccumulateGrad&>(*to_node(self)).variable()); });
}
PyGetSetDef accumulate_properties[] = {{"variable", get_variable, nullptr, "The leaf whose `grad` the node adds to.", nullptr}, {}};

PyMemberDef node_members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(NodeObject, weak), READONLY, nullptr}, {}};

}  // namespace

PyMethodDef node_methods[] = {{"name", get_name, METH_NOARGS, "The name of the operator's gradient, `MulBackward0`."},
                              {"_sequence_nr", method<get_sequence_nr>, METH_NOARGS, "Order of recording on its thread."},
                              {"_hook_table", hook_table, METH_O, nullptr},
                              {}};
PyGetSetDef node_properties[] = {
    {"next_functions", property<get_next_functions>, nullptr, "Pairs of a node and the number of its input, one for each input of the operator.", nullptr},
    {"metadata", property<get_metadata>, nullptr, "A dict for the user's own use.", nullptr},
    {"_input_metadata", property<get_input_metadata>, nullptr, "Shape, dtype and device of each output of the operator.", nullptr},
    {"requires_grad", [](PyObject*, void*) { return Ref::share(Py_True).release(); }, nullptr, nullptr, nullptr},
    {}};

bool is_node(PyObject* o) { return PyObject_TypeCheck(o, node_type) || is_context(o); }
intrusive_ptr<Node> to_node(PyObject* o) {
  CRESSET_CHECK_TYPE(is_node(o), "expected a node of the graph, got ", Py_TYPE(o)->tp_name);
  if (!is_context(o)) return reinterpret_cast<NodeObject*>(o)->node;
  intrusive_ptr<Node> node = node_of_context(o);
  CRESSET_CHECK(node, Py_TYPE(o)->tp_name, ": nothing was recorded, or the graph is gone already");
  return node;
}

PyObject* wrap(const intrusive_ptr<Node>& node) {
  if (!node) Py_RETURN_NONE;
  if (PyObject* context = context_of_node(*node)) return Ref::share(context).release();
  const auto found = objects().find(node.get());
  if (found != objects().end()) return Ref::share(found->second).release();
  PyTypeObject* type = type_named(type_name(*node), node->is_accumulate_grad() ? accumulate_type : node_type);
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) throw PythonError();
  new (&reinterpret_cast<NodeObject*>(o)->node) intrusive_ptr<Node>(node);
  objects().emplace(node.get(), o);
  return o;
}

namespace {

template <class Table, class Hooks> int visit_tables(const Hooks& hooks, visitproc visit, void* arg) {
  for (const auto& hook : hooks) {
    const auto* found = hook.template target<Table>();
    if (!found || found->table.use_count() != 1) continue;
    if (const int stop = visit(found->table.get(), arg)) return stop;
  }
  return 0;
}

}  // namespace

int traverse_node(const Node& first, visitproc visit, void* arg) {
  // Far enough for the cycles that people make; a collection that follows every graph to its end would be slow.
  constexpr size_t kMost = 32;
  SmallVector<const Node*, kMost> nodes;
  nodes.push_back(&first);
  for (size_t i = 0; i < nodes.size(); i++) {
    const Node& node = *nodes[i];
    if (PyObject* context = context_of_node(node)) Py_VISIT(context);
    if (const autograd::NodeHooks* hooks = node.hooks_or_null()) {
      if (const int stop = visit_tables<NodePreHookTable>(hooks->pre_hooks, visit, arg)) return stop;
      if (const int stop = visit_tables<NodePostHookTable>(hooks->post_hooks, visit, arg)) return stop;
      for (const auto& entry : hooks->tensor_hooks) {
        if (entry.hooks.use_count() != 1) continue;
        if (const int stop = visit_tables<TensorHookTable>(*entry.hooks, visit, arg)) return stop;
      }
    }
    for (const autograd::Edge& e : node.next_edges())
      if (e.function.use_count() == 1 && nodes.size() < kMost) nodes.push_back(e.function.get());
  }
  return 0;
}

bool add_autograd_nodes(PyObject* module) {
  static PyMethodDef methods[] = {node_methods[0], node_methods[1], node_methods[2], {"__dir__", node_dir, METH_NOARGS, nullptr}, {}};
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
                         {Py_tp_getattro, reinterpret_cast<void*>(node_attribute)},
                         {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
                         {Py_tp_call, reinterpret_cast<void*>(node_call)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, node_properties},
                         {Py_tp_members, node_members},
                         {}};
  PyType_Spec spec{"torch.autograd._Node", sizeof(NodeObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  node_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!node_type) return false;
  PyType_Slot leaf_slots[] = {{Py_tp_getset, accumulate_properties}, {}};
  PyType_Spec leaf_spec{"torch.autograd._Leaf", sizeof(NodeObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        leaf_slots};
  const Ref bases(PyTuple_Pack(1, node_type));
  accumulate_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&leaf_spec, bases.get()));
  if (!accumulate_type) return false;
  return PyModule_AddObjectRef(module, "_Node", reinterpret_cast<PyObject*>(node_type)) == 0;
}

}  // namespace cresset::python
