// Graphs of ONNX nodes as files, for Python, and the attributes of their nodes.

#include "cresset/graph/onnx/export.h"
#include "python/bind_graph/script.h"

namespace cresset::graph::script {

namespace {

// Visits a dict. Errors: it is none.
template <class F> void each(PyObject* dict, F&& visit) {
  CRESSET_CHECK_TYPE(PyDict_Check(dict), "expected a dict, got ", Py_TYPE(dict)->tp_name);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) visit(key, value);
}
int64_t number_of_python(PyObject* o) {
  const long long n = PyLong_AsLongLong(o);
  if (n == -1 && PyErr_Occurred()) throw PythonError();
  return n;
}
std::map<std::string, Tensor> tensors_of(PyObject* dict) {
  std::map<std::string, Tensor> out;
  each(dict, [&](PyObject* key, PyObject* v) { out[string_of(key)] = to_datum(v, TypeKind::Tensor).to_tensor(); });
  return out;
}
void put(const Ref& dict, const std::string& key, const Ref& value) {
  if (PyDict_SetItemString(dict.get(), key.c_str(), value.get()) < 0) throw PythonError();
}

// (graph, {name: tensor}, opset, {value: {axis: name}}, defer, operators, strip, keep, {domain: version}, names, external, path, {node: {attribute: name}}):
// bytes, {name: tensor}, whether there are files, {node: name}
PyObject* export_onnx(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *initializers, *axes, *domains, *attributes;
    onnx::ExportOptions options;
    long long opset;
    int defer, operators, strip, keep, names, external;
    const char* path;
    if (!PyArg_ParseTuple(args, "OOLOpippOppsO", &o, &initializers, &opset, &axes, &defer, &operators, &strip, &keep, &domains, &names, &external, &path,
                          &attributes))
      throw PythonError();
    CRESSET_CHECK_VALUE(operators >= 0 && operators <= 3, "export_onnx: expected the kind of operators from 0 to 3, got ", operators);
    options.opset = opset;
    options.defer_weights = defer;
    options.operators = static_cast<onnx::OperatorExportTypes>(operators);
    options.strip_places = strip;
    options.initializers_are_inputs = keep;
    options.names_nodes = names;
    options.external_data = external;
    options.path = path;
    each(axes, [&](PyObject* value, PyObject* named) {
      auto& of_value = options.dynamic_axes[string_of(value)];
      each(named, [&](PyObject* axis, PyObject* name) { of_value[number_of_python(axis)] = string_of(name); });
    });
    each(domains, [&](PyObject* name, PyObject* version) { options.custom_opsets[string_of(name)] = static_cast<int>(number_of_python(version)); });
    each(attributes, [&](PyObject* node, PyObject* renamed) {
      auto& of_node = options.attribute_names[reinterpret_cast<const Node*>(static_cast<uintptr_t>(PyLong_AsUnsignedLongLong(node)))];
      each(renamed, [&](PyObject* name, PyObject* outer) { of_node[string_of(name)] = string_of(outer); });
    });
    const onnx::Exported made = onnx::export_graph(*handle(o, HandleKind::Graph).graph, tensors_of(initializers), options);
    const std::string bytes = made.model->bytes();
    const Ref weights = checked(PyDict_New()), nodes = checked(PyDict_New());
    for (const auto& [name, t] : made.weights) put(weights, name, to_python(Datum(t)));
    for (const auto& [node, name] : made.node_names) {
      const Ref address = checked(PyLong_FromUnsignedLongLong(reinterpret_cast<uintptr_t>(node)));
      if (PyDict_SetItem(nodes.get(), address.get(), text(name).get()) < 0) throw PythonError();
    }
    return checked(
        Py_BuildValue("(y#OOO)", bytes.data(), static_cast<Py_ssize_t>(bytes.size()), weights.get(), made.has_external_data ? Py_True : Py_False, nodes.get()));
  });
}

std::string_view bytes_of(PyObject* o) {
  char* data;
  Py_ssize_t n;
  if (PyBytes_AsStringAndSize(o, &data, &n) < 0) throw PythonError();
  return {data, static_cast<size_t>(n)};
}
// (bytes, whether all of it is wanted)
PyObject* print_onnx(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    int all;
    if (!PyArg_ParseTuple(args, "Op", &o, &all)) throw PythonError();
    const onnx::Message model = onnx::read_message(onnx::model_info(), bytes_of(o));
    return text(all ? model.print() : onnx::describe_model(model));
  });
}
PyObject* check_onnx(PyObject*, PyObject* o) {
  return guarded([&] {
    onnx::check_model(bytes_of(o));
    return Ref::share(Py_None);
  });
}

}  // namespace

Datum attribute_value(PyObject* v, const std::string& kind) {
  const auto graph = [](PyObject* g) { return Datum(intrusive_ptr<dispatch::Object>(make_intrusive<onnx::GraphObject>(handle(g, HandleKind::Graph).graph))); };
  if (kind == "g") return graph(v);
  if (kind == "gs") {
    std::vector<Datum> graphs;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(v); i++) graphs.push_back(graph(PyList_GET_ITEM(v, i)));
    return make_list(dispatch::ElementKind::Any, std::move(graphs));
  }
  const std::map<char, TypeKind> kTypes = {{'i', TypeKind::Int}, {'f', TypeKind::Float}, {'s', TypeKind::String}, {'t', TypeKind::Tensor}};
  const auto type = kTypes.find(kind.empty() ? ' ' : kind[0]);
  CRESSET_CHECK_VALUE(type != kTypes.end(), "expected the kind of an attribute i, f, s, t, g or a list of one of them, got '", kind, "'");
  return kind.size() > 1 ? to_datum(v, Type::list(type->second)) : to_datum(v, type->second);
}

Ref attribute_to_python(const Datum& v) {
  const auto graph_in = [](const Datum& d) { return d.object() ? dynamic_cast<const onnx::GraphObject*>(d.object()->get()) : nullptr; };
  const auto wrapped = [](const onnx::GraphObject& g) { return wrap(std::const_pointer_cast<Graph>(g.graph)); };
  if (const auto* g = graph_in(v)) return wrapped(*g);
  if (!v.isList()) return to_python(v);
  const std::vector<Datum> elements = v.toListVector();
  if (elements.empty() || !graph_in(elements[0])) return to_python(v);
  Ref out = checked(PyList_New(0));
  for (const Datum& e : elements)
    if (PyList_Append(out.get(), wrapped(*graph_in(e)).get()) < 0) throw PythonError();
  return out;
}

bool add_onnx(PyObject* module) {
  static PyMethodDef functions[] = {{"script_export_onnx", export_onnx, METH_VARARGS, nullptr},
                                    {"script_print_onnx", print_onnx, METH_VARARGS, nullptr},
                                    {"script_check_onnx", check_onnx, METH_O, nullptr},
                                    {nullptr, nullptr, 0, nullptr}};
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::graph::script
