// Types of values in graphs for Python, with what they say of tensors.

#include "cresset/graph/script/print.h"
#include "python/bind_graph/script.h"

namespace cresset::graph::script {

namespace {

const Type& type_in(PyObject* o) { return handle(o, HandleKind::Type).type; }

// A type that an annotation says.
PyObject* type_named(PyObject*, PyObject* annotation) {
  return guarded([&] { return wrap(type_of_text(string_of(annotation), nullptr)); });
}
// That of a tensor, with all that is known of it.
PyObject* type_of_tensor(PyObject*, PyObject* o) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(capi().is_tensor(o), "create_from_tensor: expected a tensor, got ", Py_TYPE(o)->tp_name);
    const Tensor& t = capi().tensor_of(o);
    TensorFacts facts = TensorFacts::of(t);
    facts.requires_grad = t.requires_grad();
    return wrap(Type::tensor(std::move(facts)));
  });
}

Ref list_of(const std::optional<std::vector<Sym>>& sizes) {
  if (!sizes) return Ref::share(Py_None);
  Ref out = checked(PyList_New(static_cast<Py_ssize_t>(sizes->size())));
  for (size_t i = 0; i < sizes->size(); i++) {
    const auto n = (*sizes)[i].constant();
    PyList_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), (n ? checked(PyLong_FromLongLong(*n)) : Ref::share(Py_None)).release());
  }
  return out;
}
std::optional<std::vector<Sym>> sizes_of(PyObject* o) {
  if (o == Py_None) return std::nullopt;
  const Ref list = checked(PySequence_Fast(o, "expected a list of sizes"));
  std::vector<Sym> out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
    PyObject* const n = PySequence_Fast_GET_ITEM(list.get(), i);
    out.push_back(n == Py_None ? Sym::unknown() : Sym(to_datum(n, TypeKind::Int).toInt()));
  }
  return out;
}
// (annotation, text in graphs, "Float" or None, dtype, device, sizes, strides, requires_grad), of which each may be None.
PyObject* read_type(PyObject*, PyObject* o) {
  return guarded([&] {
    const Type& t = type_in(o);
    const TensorFacts& f = t.facts();
    const Ref none = Ref::share(Py_None);
    const Ref name = f.dtype ? text(toString(*f.dtype)) : Ref::share(Py_None);
    const Ref dtype = f.dtype ? checked(capi().wrap_constant(Datum(*f.dtype))) : Ref::share(Py_None);
    const Ref device = f.device ? checked(capi().wrap_constant(Datum(*f.device))) : Ref::share(Py_None);
    PyObject* const grad = !f.requires_grad ? Py_None : *f.requires_grad ? Py_True : Py_False;
    return checked(Py_BuildValue("(OOOOOOOO)", text(annotation_text(t)).get(), text(graph_type_text(t)).get(), name.get(), dtype.get(), device.get(),
                                 list_of(f.sizes).get(), list_of(f.strides).get(), grad));
  });
}
// (dtype, device, sizes, strides, requires_grad), of which each may be None: the type of such tensors.
PyObject* tensor_type(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *dtype, *device, *sizes, *strides, *grad;
    if (!PyArg_ParseTuple(args, "OOOOO", &dtype, &device, &sizes, &strides, &grad)) throw PythonError();
    TensorFacts f;
    if (dtype != Py_None) f.dtype = to_datum(dtype, TypeKind::DType).to_dtype();
    if (device != Py_None) f.device = to_datum(device, TypeKind::Device).to_device();
    f.sizes = sizes_of(sizes);
    f.strides = sizes_of(strides);
    if (grad != Py_None) f.requires_grad = grad == Py_True;
    return wrap(Type::tensor(std::move(f)));
  });
}
// The types that a type is made of.
PyObject* type_parts(PyObject*, PyObject* o) {
  return guarded([&] {
    Ref out = checked(PyList_New(0));
    for (const Type& t : type_in(o).elements())
      if (PyList_Append(out.get(), wrap(t).get()) < 0) throw PythonError();
    return out;
  });
}
// (type, type): whether they say the same.
PyObject* same_types(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "OO", &a, &b)) throw PythonError();
    return Ref::share(graph_type_text(type_in(a)) == graph_type_text(type_in(b)) ? Py_True : Py_False);
  });
}
// Gives a value a type, or a future of it; other values keep theirs.
void set_type(Value& v, PyObject* type) {
  if (v.type().is_tensor()) v.set_type(type_in(type));
  else if (v.type() == Type::future(TypeKind::Tensor)) v.set_type(Type::future(type_in(type)));
}
// The last node of each line that makes values. Results of calls show in the graphs of their functions.
std::map<int, Node*> ends_of_lines(const Graph& g) {
  std::map<int, Node*> last;
  g.for_each([&](Node& n) {
    const bool is_structure = n.kind() == NodeKind::List || n.kind() == NodeKind::Tuple || n.kind() == NodeKind::Call || n.outputs().empty();
    if (n.location() && !is_structure) last[n.location()->line] = &n;
  });
  return last;
}
// (function, {name: type}, {line of the text: [types]}): gives types of tensors to parameters and to what lines make, where there are as many, and to
// tuples and constants.
PyObject* type_values(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *parameters, *lines;
    if (!PyArg_ParseTuple(args, "OO!O!", &o, &PyDict_Type, &parameters, &PyDict_Type, &lines)) throw PythonError();
    const Graph& g = *handle(o, HandleKind::Function).function->graph;
    for (const auto& p : g.block().parameters())
      if (PyObject* const type = PyDict_GetItemString(parameters, p->name().c_str())) set_type(*p, type);
    for (const auto& [line, node] : ends_of_lines(g)) {
      const Ref key = checked(PyLong_FromLong(line));
      PyObject* const types = PyDict_GetItem(lines, key.get());
      if (!types || PyList_GET_SIZE(types) != static_cast<Py_ssize_t>(node->outputs().size())) continue;
      for (size_t i = 0; i < node->outputs().size(); i++) set_type(*node->output(i), PyList_GET_ITEM(types, static_cast<Py_ssize_t>(i)));
    }
    g.for_each([](Node& n) {
      if (n.kind() != NodeKind::Tuple || n.output()->type().kind() != TypeKind::Tuple) return;
      std::vector<Type> parts;
      for (const Value* v : n.inputs()) parts.push_back(v->type());
      n.output()->set_type(Type::tuple(std::move(parts), n.output()->type().fields(), n.output()->type().name()));
    });
    for (const auto& c : g.constants()) {
      if (!c->constant()->is_tensor() || !c->constant()->to_tensor().defined()) continue;
      TensorFacts facts = TensorFacts::of(c->constant()->to_tensor());
      facts.requires_grad = false;
      c->set_type(Type::tensor(std::move(facts)));
    }
    return Ref::share(Py_None);
  });
}

PyMethodDef functions[] = {{"script_type", type_named, METH_O, nullptr},
                           {"script_type_of_tensor", type_of_tensor, METH_O, nullptr},
                           {"script_type_facts", read_type, METH_O, nullptr},
                           {"script_tensor_type", tensor_type, METH_VARARGS, nullptr},
                           {"script_type_parts", type_parts, METH_O, nullptr},
                           {"script_same_types", same_types, METH_VARARGS, nullptr},
                           {"script_type_values", type_values, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_types(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::graph::script
