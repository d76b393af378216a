// Graphs, code and archives of TorchScript for Python.

#include "cresset/graph/passes/passes.h"
#include "cresset/graph/script/archive.h"
#include "cresset/graph/script/ir/ir_text.h"
#include "cresset/graph/script/ir/rewrite.h"
#include "cresset/graph/script/lite/lite.h"
#include "cresset/graph/script/module.h"
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
    if (inlined) return wrap(std::shared_ptr<Graph>(f.inlined().clone()));
    CRESSET_CHECK(f.graph, short_name(f.name), " is a function of Python, which has no graph");
    // The graph itself, which those who change it change for the function.
    Ref out = wrap(std::shared_ptr<Graph>(f.unit->shared_from_this(), f.graph.get()));
    handle(out.get(), HandleKind::Graph).function = &f;
    return out;
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

void append(const Ref& list, Ref item) {
  if (PyList_Append(list.get(), item.get()) < 0) throw PythonError();
}
PyObject* text_of_graph(PyObject*, PyObject* o) {
  return guarded([&] { return text(graph_text(*handle(o, HandleKind::Graph).graph)); });
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
std::map<std::string, std::string> extra_files(PyObject* dict) {
  std::map<std::string, std::string> files;
  PyObject *key, *content;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &content)) {
    char* data;
    Py_ssize_t n;
    if (PyBytes_AsStringAndSize(content, &data, &n) < 0) throw PythonError();
    files[string_of(key)] = std::string(data, static_cast<size_t>(n));
  }
  return files;
}
// (object or function, {name: bytes}, name of the folder, whether it is for the lite interpreter)
PyObject* save(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *extra;
    const char* folder;
    int lite = 0;
    if (!PyArg_ParseTuple(args, "OO!s|p", &o, &PyDict_Type, &extra, &folder, &lite)) throw PythonError();
    const auto files = extra_files(extra);
    const Datum module =
        is_handle(o, HandleKind::Function) ? module_of_function(*handle(o, HandleKind::Function).function) : handle(o, HandleKind::Object).value;
    std::string out;
    const io::WriteBytes write = [&](const void* data, size_t n) { out.append(static_cast<const char*>(data), n); };
    if (lite) save_lite(module, files, folder, write);
    else save_archive(module, files, folder, write);
    return checked(PyBytes_FromStringAndSize(out.data(), static_cast<Py_ssize_t>(out.size())));
  });
}
// The bytes of a path or of a buffer, which is held as long.
struct Source {
  explicit Source(PyObject* place) {
    if (PyUnicode_Check(place)) {
      const Ref encoded = checked(PyUnicode_EncodeFSDefault(place));
      file = PyBytes_AS_STRING(encoded.get());
      bytes = std::make_shared<io::FileSource>(file);
    } else {
      if (PyObject_GetBuffer(place, &buffer, PyBUF_SIMPLE) < 0) throw PythonError();
      bytes = std::make_shared<io::MemorySource>(buffer.buf, static_cast<size_t>(buffer.len));
    }
  }
  ~Source() { PyBuffer_Release(&buffer); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  Py_buffer buffer{};
  std::shared_ptr<io::ByteSource> bytes;
  std::string file = "<bytes>";
};
// (path or bytes, device or None, [names of extra files], whether it is for the lite interpreter): object, {name: bytes}; None for an archive that holds no
// program.
PyObject* load(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *place, *device, *wanted;
    int lite = 0;
    if (!PyArg_ParseTuple(args, "OOO!|p", &place, &device, &PyList_Type, &wanted, &lite)) throw PythonError();
    const Source source(place);
    if (!lite && !holds_program(*source.bytes, source.file)) return Ref::share(Py_None);
    LoadOptions options;
    if (device != Py_None) options.device = Device(string_of(device));
    std::map<std::string, std::string> files;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(wanted); i++) files[string_of(PyList_GET_ITEM(wanted, i))];
    const Datum module = lite ? load_lite(source.bytes, source.file, options, &files) : load_archive(source.bytes, source.file, options, &files);
    Ref extra = checked(PyDict_New());
    for (const auto& [name, content] : files)
      if (PyDict_SetItemString(extra.get(), name.c_str(), checked(PyBytes_FromStringAndSize(content.data(), static_cast<Py_ssize_t>(content.size()))).get()) <
          0)
        throw PythonError();
    return checked(Py_BuildValue("(OO)", wrap_object(module).get(), extra.get()));
  });
}
// Of a file of the lite interpreter: its version, {operator: number of arguments}, [types].
PyObject* facts_of_lite(PyObject*, PyObject* place) {
  return guarded([&] {
    const Source source(place);
    const LiteFacts facts = lite_facts(*source.bytes, source.file);
    Ref operators = checked(PyDict_New()), types = checked(PyList_New(0));
    for (const auto& [name, given] : facts.operators)
      if (PyDict_SetItemString(operators.get(), name.c_str(), checked(PyLong_FromLongLong(given)).get()) < 0) throw PythonError();
    for (const std::string& t : facts.types) append(types, text(t));
    return checked(Py_BuildValue("(LOO)", static_cast<long long>(facts.version), operators.get(), types.get()));
  });
}
std::vector<std::string> strings_of(PyObject* list) {
  std::vector<std::string> out;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) out.push_back(string_of(PyList_GET_ITEM(list, i)));
  return out;
}
// ([(is dynamic, depth)] or None): the former one
PyObject* exchange_fusion(PyObject*, PyObject* given) {
  return guarded([&] {
    FusionStrategy strategy = getFusionStrategy();
    const FusionStrategy before = strategy;
    if (given != Py_None) {
      strategy.clear();
      const Ref list = checked(PySequence_Fast(given, "expected a list"));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
        int dynamic;
        Py_ssize_t depth;
        if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(list.get(), i), "pn", &dynamic, &depth)) throw PythonError();
        strategy.emplace_back(dynamic ? FusionBehavior::DYNAMIC : FusionBehavior::STATIC, static_cast<size_t>(depth));
      }
      setFusionStrategy(strategy);
    }
    Ref out = checked(PyList_New(0));
    for (const auto& [behavior, depth] : before)
      append(out, checked(Py_BuildValue("(Nn)", PyBool_FromLong(behavior == FusionBehavior::DYNAMIC), static_cast<Py_ssize_t>(depth))));
    return out;
  });
}
// (object, [names of attributes and methods])
PyObject* copy_without(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *names;
    if (!PyArg_ParseTuple(args, "OO!", &o, &PyList_Type, &names)) throw PythonError();
    return wrap_object(Module(handle(o, HandleKind::Object).value).copy_without(strings_of(names))._ivalue());
  });
}
// (object, name, type, value): an attribute more
PyObject* register_attribute(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *value;
    const char *name, *type;
    if (!PyArg_ParseTuple(args, "OssO", &o, &name, &type, &value)) throw PythonError();
    const Type t = type_of_text(type, nullptr);
    Module(handle(o, HandleKind::Object).value).register_attribute(name, t, to_datum(value, t));
    return Ref::share(Py_None);
  });
}
PyObject* freeze(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *preserved;
    int numerics, parameters = 0;
    if (!PyArg_ParseTuple(args, "OO!p|p", &o, &PyList_Type, &preserved, &numerics, &parameters)) throw PythonError();
    const Datum frozen = freeze_module(handle(o, HandleKind::Object).value, strings_of(preserved), parameters);
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
PyObject* graph_inline(PyObject*, PyObject* o) {
  return guarded([&] {
    HandleObject& h = handle(o, HandleKind::Graph);
    forget_living();
    inline_functions(*h.graph);
    if (h.function) h.function->forget_program();
    return Ref::share(Py_None);
  });
}
// (annotation, annotation): whether all values of the first are values of the second.
PyObject* subtype(PyObject*, PyObject* args) {
  return guarded([&] {
    const char *a, *b;
    if (!PyArg_ParseTuple(args, "ss", &a, &b)) throw PythonError();
    return Ref::share(is_subtype(type_of_text(a, nullptr), type_of_text(b, nullptr)) ? Py_True : Py_False);
  });
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
    forget_living();
    if (Function* const f = handle(o, HandleKind::Graph).function) f->forget_program();
    const size_t changed = is_script_pass(pass) ? run_script_pass(g, pass) : run_pass(g, pass);
    return checked(PyLong_FromSize_t(changed));
  });
}

PyObject* parse_text(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    int tensors = 0;
    if (!PyArg_ParseTuple(args, "U|p", &o, &tensors)) throw PythonError();
    return wrap(std::shared_ptr<Graph>(parse_ir(string_of(o), tensors)));
  });
}
// (graph, text of the pattern, text of the replacement, pairs of names of values): how often
PyObject* rewrite_graph(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *pattern, *replacement, *pairs;
    if (!PyArg_ParseTuple(args, "OUUO!", &o, &pattern, &replacement, &PyList_Type, &pairs)) throw PythonError();
    NamePairs places;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs); i++) {
      const char *made, *found;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(pairs, i), "ss", &made, &found)) throw PythonError();
      places.emplace_back(made, found);
    }
    HandleObject& h = handle(o, HandleKind::Graph);
    forget_living();
    if (h.function) h.function->forget_program();
    return checked(PyLong_FromSize_t(rewrite_by_text(*h.graph, string_of(pattern), string_of(replacement), places)));
  });
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

PyMethodDef functions[] = {{"script_parse_ir", parse_text, METH_VARARGS, nullptr},
                           {"script_graph_rewrite", rewrite_graph, METH_VARARGS, nullptr},
                           {"script_graph_function", graph_function, METH_VARARGS, nullptr},
                           {"script_function_graph", function_graph, METH_VARARGS, nullptr},
                           {"script_function_executed", function_executed, METH_O, nullptr},
                           {"script_last_graph", last_graph, METH_NOARGS, nullptr},
                           {"script_graph_inline", graph_inline, METH_O, nullptr},
                           {"script_is_subtype", subtype, METH_VARARGS, nullptr},
                           {"script_graph_copy", graph_copy, METH_O, nullptr},
                           {"script_graph_pass", graph_pass, METH_VARARGS, nullptr},
                           {"script_graph_text", text_of_graph, METH_O, nullptr},
                           {"script_function_code", function_code, METH_O, nullptr},
                           {"script_save", save, METH_VARARGS, nullptr},
                           {"script_load", load, METH_VARARGS, nullptr},
                           {"script_lite_facts", facts_of_lite, METH_O, nullptr},
                           {"script_exchange_fusion", exchange_fusion, METH_O, nullptr},
                           {"script_copy_without", copy_without, METH_VARARGS, nullptr},
                           {"script_register_attribute", register_attribute, METH_VARARGS, nullptr},
                           {"script_freeze", freeze, METH_VARARGS, nullptr},
                           {"script_optimize", optimize, METH_VARARGS, nullptr},
                           {"script_pack_weights", pack, METH_O, nullptr},
                           {"script_opnames", opnames, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_script_graph(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::graph::script
