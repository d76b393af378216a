// TorchScript for Python: functions over handles, which the classes of cresset.jit are made of.

#include "python/bind_graph/script.h"

#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"

namespace cresset::graph::script {

namespace {

PyTypeObject* handle_type;
PyObject *helpers, *raised_error, *unsupported_error;
const python::Capi* table;

void free_handle(PyObject* o) {
  auto& h = *reinterpret_cast<HandleObject*>(o);
  PyTypeObject* const type = Py_TYPE(o);
  h.value.~Datum();
  h.graph.~shared_ptr();
  h.type.~Type();
  h.unit.~shared_ptr();
  type->tp_free(o);
  Py_DECREF(type);
}
HandleObject& make(HandleKind kind, Ref& out) {
  out = checked(handle_type->tp_alloc(handle_type, 0));
  auto& h = *reinterpret_cast<HandleObject*>(out.get());
  h.kind = kind;
  new (&h.unit) std::shared_ptr<CompilationUnit>();
  new (&h.value) Datum();
  new (&h.graph) std::shared_ptr<Graph>();
  new (&h.type) Type();
  return h;
}
Py_hash_t hash_handle(PyObject* o) {
  const auto& h = *reinterpret_cast<HandleObject*>(o);
  const void* key = h.cls              ? static_cast<const void*>(h.cls)
                    : h.function       ? static_cast<const void*>(h.function)
                    : h.value.object() ? static_cast<const void*>(h.value.object()->get())
                                       : h.unit.get();
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(key) >> 4);
}
PyObject* compare_handles(PyObject* a, PyObject* b, int op) {
  if (Py_TYPE(b) != handle_type || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  const auto &x = *reinterpret_cast<HandleObject*>(a), &y = *reinterpret_cast<HandleObject*>(b);
  const auto object = [](const HandleObject& h) { return h.value.object() ? h.value.object()->get() : nullptr; };
  const bool equal = x.kind == y.kind && x.cls == y.cls && x.function == y.function && object(x) == object(y) && x.graph == y.graph &&
                     (x.kind != HandleKind::Unit || x.unit == y.unit);
  return PyBool_FromLong(equal == (op == Py_EQ));
}

// An object of the library has the attributes and methods of its module, for those who work on what `_c` of a module is.
PyObject* handle_attribute(PyObject* o, PyObject* name) {
  PyObject* const found = PyObject_GenericGetAttr(o, name);
  if (found || reinterpret_cast<HandleObject*>(o)->kind != HandleKind::Object || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return guarded([&] { return checked(PyObject_CallFunctionObjArgs(helper("handle_attribute"), o, name, nullptr)); });
}

}  // namespace

const python::Capi& capi() {
  if (!table) {
    table = static_cast<const python::Capi*>(PyCapsule_Import("_cresset._capi", 0));
    if (!table) throw PythonError();
  }
  return *table;
}
PyObject* helper(const char* name) {
  // A program that loads an archive need not have imported the module that names them.
  if (!helpers) checked(PyImport_ImportModule("cresset.jit._api"));
  PyObject* const f = helpers ? PyDict_GetItemString(helpers, name) : nullptr;
  CRESSET_CHECK(f, "cresset.jit has not named its helper ", name);
  return f;
}
void set_script_error() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const ScriptRaise& e) { PyErr_SetString(raised_error ? raised_error : PyExc_RuntimeError, e.what()); } catch (const NotSupportedError& e) {
    PyErr_SetString(unsupported_error ? unsupported_error : PyExc_RuntimeError, e.what());
  } catch (const CompileError& e) { PyErr_SetString(PyExc_RuntimeError, e.what()); } catch (const ScriptFailure& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) { capi().set_error(); }
}

namespace {

// The class and the text of the error that is set, which is taken.
std::pair<std::string, std::string> python_error() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const Ref kept[] = {Ref(type), Ref(value), Ref(traceback)};
  const Ref message(value ? PyObject_Str(value) : nullptr);
  if (!message) PyErr_Clear();
  return {type ? reinterpret_cast<PyTypeObject*>(type)->tp_name : "RuntimeError", message ? string_of(message.get()) : "an error without a text"};
}

}  // namespace

bool add_handle_type(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(free_handle)},
                                {Py_tp_hash, reinterpret_cast<void*>(hash_handle)},
                                {Py_tp_richcompare, reinterpret_cast<void*>(compare_handles)},
                                {Py_tp_getattro, reinterpret_cast<void*>(handle_attribute)},
                                {Py_tp_doc, const_cast<char*>("A function, class, object, graph or type of TorchScript.")},
                                {0, nullptr}};
  static PyType_Spec spec{"_cresset_graph.ScriptHandle", sizeof(HandleObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  handle_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return handle_type && PyModule_AddObjectRef(module, "ScriptHandle", reinterpret_cast<PyObject*>(handle_type)) == 0;
}
Ref wrap(std::shared_ptr<CompilationUnit> unit) {
  Ref out;
  make(HandleKind::Unit, out).unit = std::move(unit);
  return out;
}
Ref wrap(ClassType* cls) {
  Ref out;
  HandleObject& h = make(HandleKind::Class, out);
  h.cls = cls;
  h.unit = cls->unit->shared_from_this();
  return out;
}
Ref wrap(Function* f) {
  Ref out;
  HandleObject& h = make(HandleKind::Function, out);
  h.function = f;
  h.unit = f->unit->shared_from_this();
  return out;
}
Ref wrap_object(const Datum& v) {
  Ref out;
  HandleObject& h = make(HandleKind::Object, out);
  h.value = v;
  if (ScriptObject* o = object_of(v)) h.unit = o->unit;
  return out;
}
Ref wrap(std::shared_ptr<Graph> graph) {
  forget_living();
  Ref out;
  make(HandleKind::Graph, out).graph = std::move(graph);
  return out;
}
Ref wrap(const Type& type) {
  Ref out;
  make(HandleKind::Type, out).type = type;
  return out;
}
bool is_handle(PyObject* o, HandleKind kind) { return Py_TYPE(o) == handle_type && reinterpret_cast<HandleObject*>(o)->kind == kind; }
HandleObject& handle(PyObject* o, HandleKind kind) {
  CRESSET_CHECK_TYPE(is_handle(o, kind), "expected another handle of TorchScript, got ", Py_TYPE(o)->tp_name);
  return *reinterpret_cast<HandleObject*>(o);
}

// ---- names

namespace {

// The meaning of a name, which Python describes. Errors that have no place get that of the name.
template <class Describe> SugarPtr described(const Range& range, const Describe& describe) {
  try {
    return sugar_of(describe().get());
  } catch (const CompileError& e) { throw CompileError(e.what(), range); } catch (const PythonError&) {
    const std::string place = "  File \"";
    if (!PyErr_ExceptionMatches(PyExc_RuntimeError) || !range.source) throw;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    const Ref kept[] = {Ref(type), Ref(value), Ref(traceback)};
    const std::string message = string_of(checked(PyObject_Str(value)).get());
    PyErr_Restore(Ref::share(type).release(),
                  message.find(place) == std::string::npos ? text(message + ":\n" + range.show()).release() : Ref::share(value).release(),
                  Ref::share(traceback).release());
    throw;
  }
}

}  // namespace

namespace {

SugarPtr attribute_of(const Held& owner, const std::string& name, const Range& range) {
  const Gil gil;
  return described(range, [&] { return checked(PyObject_CallFunctionObjArgs(helper("attribute_of"), owner.object, text(name).get(), nullptr)); });
}

// The compiler's names, and those that only the module of Python has: functions whose text is compiled. Those in `own` are Python's though the compiler has them, too.
SugarPtr with_names_of(const SugarPtr& known, PyObject* module, PyObject* own) {
  const SugarPtr s = sugar_text(SugarKind::Namespace, known->text);
  s->attribute = [known, module = std::make_shared<Held>(module), own = std::make_shared<Held>(own)](const std::string& name, const Range& range) {
    const Gil gil;
    const bool is_own = own->object != Py_None && PySequence_Contains(own->object, text(name).get()) == 1;
    const SugarPtr found = is_own ? nullptr : known->attribute(name, range);
    if (found && found->kind != SugarKind::Namespace) return found;
    const Ref inner = Ref(PyObject_GetAttrString(module->object, name.c_str()));
    if (!inner) PyErr_Clear();
    if (!inner) return found;
    return found ? with_names_of(found, inner.get(), Py_None) : attribute_of(*module, name, range);
  };
  return s;
}

}  // namespace

SugarPtr sugar_of(PyObject* o) {
  if (o == Py_None) return nullptr;
  if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) < 2) throw TypeError("expected a pair that describes a name");
  const std::string kind = string_of(PyTuple_GET_ITEM(o, 0));
  PyObject* const what = PyTuple_GET_ITEM(o, 1);
  if (kind == "function") return sugar(handle(what, HandleKind::Function).function);
  if (kind == "class") return sugar(handle(what, HandleKind::Class).cls);
  if (kind == "type") return sugar_type(type_of_text(string_of(what), nullptr));
  if (kind == "builtin") return sugar_text(SugarKind::Builtin, string_of(what));
  if (kind == "special") return sugar_text(SugarKind::Special, string_of(what));
  if (kind == "exception") return sugar_text(SugarKind::Exception, string_of(what));
  if (kind == "constant") return sugar_constant(to_datum(what));
  if (kind == "overloads") {
    const SugarPtr s = sugar(SugarKind::Overloads);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(what); i++) s->overloads.push_back(handle(PyTuple_GET_ITEM(what, i), HandleKind::Function).function);
    return s;
  }
  if (kind == "flags") {  // (names of arguments, a function for each choice of theirs: the first is the lowest bit)
    const SugarPtr s = sugar(SugarKind::Overloads);
    PyObject *const names = PyTuple_GET_ITEM(what, 0), *const forms = PyTuple_GET_ITEM(what, 1);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) s->keys.push_back(string_of(PyTuple_GET_ITEM(names, i)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(forms); i++) s->overloads.push_back(handle(PyTuple_GET_ITEM(forms, i), HandleKind::Function).function);
    return s;
  }
  if (kind == "torch") return what == Py_None ? torch_namespace() : with_names_of(torch_namespace(), what, PyTuple_GET_ITEM(o, 2));
  if (kind == "ops") return ops_namespace();
  if (kind == "tuple") {
    const SugarPtr s = sugar(SugarKind::Tuple);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(what); i++) s->items.push_back(sugar_of(PyTuple_GET_ITEM(what, i)));
    return s;
  }
  if (kind == "error") throw CompileError(string_of(what), {});
  CRESSET_CHECK(kind == "namespace", "a name of an unknown kind: ", kind);
  const SugarPtr s = sugar_text(SugarKind::Namespace, string_of(checked(PyObject_Str(PyTuple_GET_ITEM(o, 2))).get()));
  auto held = std::make_shared<Held>(what);
  s->attribute = [held](const std::string& name, const Range& range) { return attribute_of(*held, name, range); };
  return s;
}

namespace {

class PythonResolver final : public Resolver {
 public:
  explicit PythonResolver(PyObject* o) : held_(o) {}
  SugarPtr value(const std::string& name, const Range& range) override {
    const Gil gil;
    return described(range, [&] { return checked(PyObject_CallMethod(held_.object, "value", "s", name.c_str())); });
  }
  std::optional<Type> type(const std::string& expression, const Range& range) override {
    const Gil gil;
    const Ref t = checked(PyObject_CallMethod(held_.object, "type", "s", expression.c_str()));
    if (t.get() == Py_None) return std::nullopt;
    return type_of_text(string_of(t.get()), nullptr, range);
  }
  std::optional<bool> is_module_of(const std::string& expression, const std::string& cls) override {
    const Gil gil;
    if (!PyObject_HasAttrString(held_.object, "is_module_of")) return std::nullopt;
    const Ref found = checked(PyObject_CallMethod(held_.object, "is_module_of", "ss", expression.c_str(), cls.c_str()));
    return found.get() == Py_None ? std::nullopt : std::optional<bool>(found.get() == Py_True);
  }

 private:
  Held held_;
};
std::shared_ptr<Resolver> resolver_of(PyObject* o) { return o == Py_None ? nullptr : std::make_shared<PythonResolver>(o); }

// ---- units and classes

PyObject* unit_new(PyObject*, PyObject*) {
  return guarded([] { return wrap(std::make_shared<CompilationUnit>()); });
}
// (unit, text, resolver, prefix)
PyObject* unit_define_text(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *unit, *source, *resolver;
    const char* prefix;
    if (!PyArg_ParseTuple(args, "OUOs", &unit, &source, &resolver, &prefix)) throw PythonError();
    try {
      handle(unit, HandleKind::Unit).unit->define_text(string_of(source), resolver_of(resolver), prefix);
    } catch (const NotSupportedError& e) { throw CompileError(e.what(), {}); }  // of texts, all errors are of one kind
    return Ref::share(Py_None);
  });
}
PyObject* unit_find(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* unit;
    const char* name;
    if (!PyArg_ParseTuple(args, "Os", &unit, &name)) throw PythonError();
    Function* f = handle(unit, HandleKind::Unit).unit->find(name);
    return f ? wrap(f) : Ref::share(Py_None);
  });
}
PyObject* unit_functions(PyObject*, PyObject* unit) {
  return guarded([&] {
    Ref out = checked(PyList_New(0));
    for (const auto& [name, f] : handle(unit, HandleKind::Unit).unit->functions)
      if (PyList_Append(out.get(), wrap(f.get()).get()) < 0) throw PythonError();
    return out;
  });
}
PyObject* unit_drop_functions(PyObject*, PyObject* unit) {
  return guarded([&] {
    handle(unit, HandleKind::Unit).unit->drop_all_functions();
    return Ref::share(Py_None);
  });
}
// (unit, qualified name): the class of the unit, or None
PyObject* unit_class(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* unit;
    const char* name;
    if (!PyArg_ParseTuple(args, "Os", &unit, &name)) throw PythonError();
    const auto& classes = handle(unit, HandleKind::Unit).unit->classes;
    const auto found = classes.find(name);
    return found == classes.end() ? Ref::share(Py_None) : wrap(found->second.get());
  });
}
std::map<std::string, Datum> defaults_of(PyObject* o, const std::function<Type(const std::string&)>&) {
  std::map<std::string, Datum> out;
  PyObject *key, *item;
  Py_ssize_t at = 0;
  while (PyDict_Next(o, &at, &key, &item)) out[string_of(key)] = to_datum(item);
  return out;
}
// (unit, qualified name, source, file, first line, resolver, class or None, defaults, types)
PyObject* unit_define(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *unit, *source_text, *resolver, *cls, *defaults;
    const char *name, *file;
    int line;
    if (!PyArg_ParseTuple(args, "OsUsiOOO!", &unit, &name, &source_text, &file, &line, &resolver, &cls, &PyDict_Type, &defaults)) throw PythonError();
    auto source = std::make_shared<Source>();
    source->text = string_of(source_text);
    source->file = file;
    source->first_line = line;
    auto parsed = parse_source(source);
    for (AstPtr& a : parsed)
      if (a->kind == AstKind::Def) {
        Function* f = handle(unit, HandleKind::Unit)
                          .unit->define(name, std::move(a), resolver_of(resolver), cls == Py_None ? nullptr : handle(cls, HandleKind::Class).cls,
                                        defaults_of(defaults, {}));
        return wrap(f);
      }
    throw NotSupportedError("expected a function", {source, 0, 1});
  });
}
// (unit, qualified name, arguments [(name, type, has default, default)], result type, function of Python, whether it takes more values)
PyObject* unit_native(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *unit, *arguments, *function;
    const char *name, *result;
    int is_variadic = 0;
    if (!PyArg_ParseTuple(args, "OsO!sO|p", &unit, &name, &PyList_Type, &arguments, &result, &function, &is_variadic)) throw PythonError();
    Schema s;
    s.is_variadic = is_variadic;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(arguments); i++) {
      const char *argument, *type;
      PyObject* default_value;
      int has_default;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(arguments, i), "sspO", &argument, &type, &has_default, &default_value)) throw PythonError();
      SchemaArgument a;
      a.name = argument;
      a.type = type_of_text(type, nullptr);
      if (has_default) a.default_value = to_datum(default_value, a.type);
      s.arguments.push_back(std::move(a));
    }
    s.returns = {type_of_text(result, nullptr)};
    const Type returns = s.returns[0];
    Function* f = handle(unit, HandleKind::Unit).unit->create_function(name, std::move(s));
    auto held = std::make_shared<Held>(function);
    f->is_ignored = true;
    f->native = [held, returns, f](std::vector<Datum>& values) {
      const Gil gil;
      Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
      const auto& declared = f->schema.arguments;
      for (size_t i = 0; i < values.size(); i++)
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), to_python(values[i], i < declared.size() ? declared[i].type : Type()).release());
      const Ref result(PyObject_CallObject(held->object, tuple.get()));
      if (!result && runs_apart()) {
        const auto [name, message] = python_error();
        throw ScriptRaise(name + ": " + message, name, message);
      }
      if (!result) throw PythonError();
      return to_datum(result.get(), returns);
    };
    return wrap(f);
  });
}
// (function, whether calls of it may have more values by position, which it never sees) -> function
PyObject* function_takes_more(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* function;
    int is_variadic;
    if (!PyArg_ParseTuple(args, "Op", &function, &is_variadic)) throw PythonError();
    handle(function, HandleKind::Function).function->schema.is_variadic = is_variadic;
    return Ref::share(function);
  });
}
// (unit, qualified name, kind, container)
PyObject* class_new(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* unit;
    const char *name, *kind, *container;
    if (!PyArg_ParseTuple(args, "Osss", &unit, &name, &kind, &container)) throw PythonError();
    const std::string k = kind;
    ClassType* cls = handle(unit, HandleKind::Unit)
                         .unit->create_class(name, k == "module"      ? ClassKind::Module
                                                   : k == "interface" ? ClassKind::Interface
                                                   : k == "enum"      ? ClassKind::Enum
                                                                      : ClassKind::Class);
    cls->container = container;
    cls->is_module_interface = k == "module_interface";
    if (cls->is_module_interface) cls->kind = ClassKind::Interface;
    return wrap(cls);
  });
}
// (class, what, ...)
PyObject* class_add(PyObject*, PyObject* args) {
  return guarded([&] {
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    ClassType& cls = *handle(PyTuple_GET_ITEM(args, 0), HandleKind::Class).cls;
    const std::string what = string_of(PyTuple_GET_ITEM(args, 1));
    const auto item = [&](Py_ssize_t i) {
      CRESSET_CHECK(i + 2 < n, "class_add ", what, ": too few arguments");
      return PyTuple_GET_ITEM(args, i + 2);
    };
    const auto strings = [](PyObject* list) {
      std::vector<std::string> out;
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) out.push_back(string_of(PyList_GET_ITEM(list, i)));
      return out;
    };
    if (what == "attribute") {
      cls.add_attribute({string_of(item(0)), type_of_text(string_of(item(1)), nullptr), PyObject_IsTrue(item(2)) == 1, PyObject_IsTrue(item(3)) == 1});
    } else if (what == "constant") {
      cls.constants[string_of(item(0))] = to_datum(item(1));
    } else if (what == "method") {
      Function* f = handle(item(1), HandleKind::Function).function;
      cls.methods[string_of(item(0))] = f;
      cls.method_order.push_back(string_of(item(0)));
      f->cls = &cls;
    } else if (what == "static") {
      cls.statics[string_of(item(0))] = handle(item(1), HandleKind::Function).function;
    } else if (what == "function") {
      cls.functions[string_of(item(0))] = sugar_of(item(1));
    } else if (what == "finder") {
      auto held = std::make_shared<Held>(item(0));
      cls.find_more = [held](const std::string& name) -> Function* {
        const Gil gil;
        const Ref f = checked(PyObject_CallFunction(held->object, "s", name.c_str()));
        return f.get() == Py_None ? nullptr : handle(f.get(), HandleKind::Function).function;
      };
    } else if (what == "property") {
      cls.properties.push_back({string_of(item(0)), string_of(item(1)), string_of(item(2))});
    } else if (what == "overloads") {
      cls.overloads[string_of(item(0))] = strings(item(1));
    } else if (what == "pre_hook") {
      cls.pre_hooks.push_back(string_of(item(0)));
    } else if (what == "hook") {
      cls.hooks.push_back(string_of(item(0)));
    } else if (what == "failed") {
      cls.failed_attributes[string_of(item(0))] = string_of(item(1));
    } else if (what == "member") {
      cls.members.emplace_back(string_of(item(0)), to_datum(item(1)));
      cls.member_type = type_of_python(item(1));
    } else if (what == "interface") {
      cls.interface.push_back(handle(item(0), HandleKind::Function).function->schema);
    } else {
      CRESSET_CHECK(false, "class_add: no such thing as ", what);
    }
    return Ref::share(Py_None);
  });
}
PyObject* class_info(PyObject*, PyObject* o) {
  return guarded([&] {
    const ClassType& cls = *handle(o, HandleKind::Class).cls;
    Ref attributes = checked(PyList_New(0)), methods = checked(PyList_New(0)), constants = checked(PyDict_New()), members = checked(PyDict_New());
    for (const Attribute& a : cls.attributes) {
      const ClassType* part = class_of(a.type);
      const Ref row =
          checked(Py_BuildValue("(ssNNN)", a.name.c_str(), annotation_text(a.type).c_str(), PyBool_FromLong(a.is_parameter), PyBool_FromLong(a.is_buffer),
                                PyBool_FromLong(part && (part->kind == ClassKind::Module || part->is_module_interface))));
      if (PyList_Append(attributes.get(), row.get()) < 0) throw PythonError();
    }
    for (const std::string& m : cls.method_order)
      if (PyList_Append(methods.get(), text(m).get()) < 0) throw PythonError();
    for (const auto& [name, v] : cls.constants)
      if (PyDict_SetItemString(constants.get(), name.c_str(), to_python(v).get()) < 0) throw PythonError();
    for (const auto& [name, v] : cls.members)
      if (PyDict_SetItemString(members.get(), name.c_str(), to_python(v).get()) < 0) throw PythonError();
    Ref interface = checked(PyList_New(0));
    for (const Schema& s : cls.interface)
      if (PyList_Append(interface.get(), checked(Py_BuildValue("(ss)", short_name(s.name).c_str(), s.text().c_str())).get()) < 0) throw PythonError();
    static const char* const kKinds[] = {"class", "module", "interface", "enum"};
    return checked(Py_BuildValue("{s:s,s:s,s:s,s:O,s:O,s:O,s:O,s:O}", "name", cls.name.c_str(), "kind", kKinds[static_cast<int>(cls.kind)], "container",
                                 cls.container.c_str(), "attributes", attributes.get(), "methods", methods.get(), "constants", constants.get(), "members",
                                 members.get(), "interface", interface.get()));
  });
}
PyObject* class_method(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    const char* name;
    if (!PyArg_ParseTuple(args, "Os", &o, &name)) throw PythonError();
    Function* f = handle(o, HandleKind::Class).cls->method(name);
    return f ? wrap(f) : Ref::share(Py_None);
  });
}
PyObject* class_find(PyObject*, PyObject* name) {
  return guarded([&] {
    ClassType* cls = find_class(string_of(name));
    return cls ? wrap(cls) : Ref::share(Py_None);
  });
}
PyObject* enum_value(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    const char* name;
    if (!PyArg_ParseTuple(args, "Os", &o, &name)) throw PythonError();
    ClassType* cls = handle(o, HandleKind::Class).cls;
    for (size_t i = 0; i < cls->members.size(); i++)
      if (cls->members[i].first == name) return wrap_object(Datum(intrusive_ptr<dispatch::Object>(make_intrusive<EnumObject>(cls, i))));
    throw ValueError(str(cls->name, " has no member ", name));
  });
}
// (name, [types], [fields], {defaults}): the type's text
PyObject* named_tuple_new(PyObject*, PyObject* args) {
  return guarded([&] {
    const char* name;
    PyObject *types, *fields, *defaults;
    if (!PyArg_ParseTuple(args, "sO!O!O!", &name, &PyList_Type, &types, &PyList_Type, &fields, &PyDict_Type, &defaults)) throw PythonError();
    std::vector<Type> t;
    std::vector<std::string> f;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(types); i++) t.push_back(type_of_text(string_of(PyList_GET_ITEM(types, i)), nullptr));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(fields); i++) f.push_back(string_of(PyList_GET_ITEM(fields, i)));
    return text(define_named_tuple(name, std::move(t), std::move(f), defaults_of(defaults, {})).name());
  });
}

// ---- objects

PyObject* object_new(PyObject*, PyObject* o) {
  return guarded([&] {
    ClassType* cls = handle(o, HandleKind::Class).cls;
    return wrap_object(Datum(intrusive_ptr<dispatch::Object>(make_intrusive<ScriptObject>(cls, cls->unit->shared_from_this()))));
  });
}
ScriptObject& script_object(PyObject* o) {
  ScriptObject* s = object_of(handle(o, HandleKind::Object).value);
  CRESSET_CHECK_TYPE(s, "expected an object of a class");
  return *s;
}
PyObject* object_class(PyObject*, PyObject* o) {
  return guarded([&] { return wrap(script_object(o).cls); });
}
// The attribute; an object among them as its handle.
PyObject* object_get(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    const char* name;
    int raw = 0;
    if (!PyArg_ParseTuple(args, "Os|p", &o, &name, &raw)) throw PythonError();
    ScriptObject& s = script_object(o);
    const Datum& v = s.slot(name);
    if (raw && object_of(v)) return wrap_object(v);
    return to_python(v, s.cls->attribute(name)->type);
  });
}
PyObject* object_set(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *v;
    const char* name;
    if (!PyArg_ParseTuple(args, "OsO", &o, &name, &v)) throw PythonError();
    ScriptObject& s = script_object(o);
    CRESSET_CHECK(s.cls->attribute(name), short_name(s.cls->name), " has no attribute '", name, "'");
    try {
      s.slot(name) = to_datum(v, s.cls->attribute(name)->type);
    } catch (const TypeError& e) { throw Error(str("attribute '", name, "' of ", short_name(s.cls->name), ": ", e.what())); }
    return Ref::share(Py_None);
  });
}
PyObject* object_copy(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* o;
    int deep;
    if (!PyArg_ParseTuple(args, "Op", &o, &deep)) throw PythonError();
    const ScriptObject& s = script_object(o);
    if (deep) {
      dispatch::Object::Memo memo;
      return wrap_object(Datum(s.deepcopy(memo)));
    }
    auto copy = make_intrusive<ScriptObject>(s.cls, s.unit);
    copy->slots() = s.slots();
    return wrap_object(Datum(intrusive_ptr<dispatch::Object>(std::move(copy))));
  });
}

// ---- functions

PyObject* function_compile(PyObject*, PyObject* o) {
  return guarded([&] {
    handle(o, HandleKind::Function).function->ensure_defined();
    return Ref::share(Py_None);
  });
}
// How many compiled functions run on this thread.
thread_local int running = 0;
struct Running {
  Running() { running++; }
  ~Running() { running--; }
};
PyObject* functions_running(PyObject*, PyObject*) { return PyLong_FromLong(running); }

// A number for a parameter that takes a list of `count`: so many of it. Other values are themselves.
Ref repeated(PyObject* v, int count) {
  if (!PyLong_Check(v) && !PyFloat_Check(v)) return Ref::share(v);
  Ref list = checked(PyList_New(count));
  for (Py_ssize_t i = 0; i < count; i++) PyList_SET_ITEM(list.get(), i, Ref::share(v).release());
  return list;
}

// (function, object or None, args, kwargs)
PyObject* function_run(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *self, *positional, *keywords;
    if (!PyArg_ParseTuple(args, "OOO!O!", &o, &self, &PyTuple_Type, &positional, &PyDict_Type, &keywords)) throw PythonError();
    Function& f = *handle(o, HandleKind::Function).function;
    f.ensure_defined();
    const Schema& s = f.schema;
    std::vector<Datum> values;
    size_t next = 0, used = 0;
    const auto given = static_cast<size_t>(PyTuple_GET_SIZE(positional));
    for (size_t i = 0; i < s.arguments.size(); i++) {
      const SchemaArgument& a = s.arguments[i];
      if (i == 0 && self != Py_None) {
        values.push_back(handle(self, HandleKind::Object).value);
        continue;
      }
      PyObject* v = nullptr;
      if (next < given && !a.keyword_only) v = PyTuple_GET_ITEM(positional, static_cast<Py_ssize_t>(next++));
      else if ((v = PyDict_GetItemString(keywords, a.name.c_str()))) used++;
      if (!v) {
        CRESSET_CHECK(a.default_value, short_name(f.name), "() is missing value for argument '", a.name, "'. Declaration: ", s.text());
        values.push_back(*a.default_value);
        continue;
      }
      try {
        values.push_back(to_datum(a.broadcast > 0 ? repeated(v, a.broadcast).get() : v, a.type));
      } catch (const TypeError& e) {
        throw Error(str(short_name(f.name), "() Expected a value of type '", annotation_text(a.type), "' for argument '", a.name, "' but instead found type '",
                        Py_TYPE(v)->tp_name, "'.\nPosition: ", i, "\nDeclaration: ", s.text()));
      }
    }
    CRESSET_CHECK(next == given, short_name(f.name), "() expected at most ", s.arguments.size(), " argument(s) but received ", given + (self != Py_None),
                  " argument(s). Declaration: ", s.text());
    if (used != static_cast<size_t>(PyDict_GET_SIZE(keywords))) {
      PyObject *key, *item;
      Py_ssize_t at = 0;
      while (PyDict_Next(keywords, &at, &key, &item)) {
        const int i = s.index_of(string_of(key));
        CRESSET_CHECK(i >= 0, short_name(f.name), "() got an unknown keyword argument '", string_of(key), "'. Declaration: ", s.text());
      }
      CRESSET_CHECK(false, short_name(f.name), "() got an argument twice. Declaration: ", s.text());
    }
    Datum result;
    {
      const Running here;
      const NoGil released;
      result = f.run(std::move(values));
    }
    return to_python(result, s.returns[0]);
  });
}
// (trips, instructions, memory, calls) of this thread from now on -> the former ones
PyObject* exchange_limits(PyObject*, PyObject* args) {
  return guarded([&] {
    RunLimits limits;
    long long trips, instructions, memory;
    if (!PyArg_ParseTuple(args, "LLLi", &trips, &instructions, &memory, &limits.max_calls)) throw PythonError();
    limits.max_trips = trips;
    limits.max_instructions = instructions;
    limits.max_memory = memory;
    const RunLimits former = LimitScope::exchange(limits);
    return checked(Py_BuildValue("(LLLi)", static_cast<long long>(former.max_trips), static_cast<long long>(former.max_instructions),
                                 static_cast<long long>(former.max_memory), former.max_calls));
  });
}
// Whether functions of this thread are optimized before they run, from now on -> whether they were before
PyObject* exchange_optimize(PyObject*, PyObject* on) {
  return guarded([&] { return Ref::share(std::exchange(optimizes_execution(), PyObject_IsTrue(on) == 1) ? Py_True : Py_False); });
}
// Whether functions hold what they call in place of the calls, those that are compiled from now on -> whether they did before
PyObject* exchange_inlining(PyObject*, PyObject* on) {
  return guarded([&] { return Ref::share(std::exchange(getInlineEverythingMode(), PyObject_IsTrue(on) == 1) ? Py_True : Py_False); });
}
PyObject* function_info(PyObject*, PyObject* o) {
  return guarded([&] {
    Function& f = *handle(o, HandleKind::Function).function;
    f.ensure_defined();
    Ref arguments = checked(PyList_New(0)), returns = checked(PyList_New(0));
    for (const SchemaArgument& a : f.schema.arguments) {
      const Ref row =
          checked(Py_BuildValue("(ssNNN)", a.name.c_str(), annotation_text(a.type).c_str(), PyBool_FromLong(a.default_value.has_value()),
                                (a.default_value ? to_python(*a.default_value, a.type) : Ref::share(Py_None)).release(), PyBool_FromLong(a.keyword_only)));
      if (PyList_Append(arguments.get(), row.get()) < 0) throw PythonError();
    }
    for (const Type& t : f.schema.returns)
      if (PyList_Append(returns.get(), text(annotation_text(t)).get()) < 0) throw PythonError();
    return checked(Py_BuildValue("{s:s,s:s,s:O,s:O,s:O}", "name", f.name.c_str(), "schema", f.schema.text().c_str(), "arguments", arguments.get(), "returns",
                                 returns.get(), "ignored", f.is_ignored ? Py_True : Py_False));
  });
}
// The class that the object of a method has, or None.
PyObject* function_class(PyObject*, PyObject* o) {
  return guarded([&] {
    Function& f = *handle(o, HandleKind::Function).function;
    return f.cls ? wrap(f.cls) : Ref::share(Py_None);
  });
}
PyObject* value_type(PyObject*, PyObject* o) {
  return guarded([&] { return text(annotation_text(type_of_python(o))); });
}
PyObject* canonical_type(PyObject*, PyObject* o) {
  return guarded([&] { return text(annotation_text(type_of_text(string_of(o), nullptr))); });
}
PyObject* has_operator(PyObject*, PyObject* name) {
  return guarded([&] {
    const std::string wanted = string_of(name);
    const bool written = wanted.compare(0, 6, "aten::") == 0 && library_function(wanted.substr(6));
    return Ref::share(written || !find_candidates(wanted).empty() || find_builtin(wanted) ? Py_True : Py_False);
  });
}
// (helpers as a dict, class of raised errors, class of unsupported programs)
PyObject* set_helpers(PyObject*, PyObject* args) {
  PyObject *h, *raised, *unsupported;
  if (!PyArg_ParseTuple(args, "O!OO", &PyDict_Type, &h, &raised, &unsupported)) return nullptr;
  helpers = Ref::share(h).release();
  raised_error = Ref::share(raised).release();
  unsupported_error = Ref::share(unsupported).release();
  foreign_operators() = [](const std::string& ns, const std::string& name) -> Function* {
    const Gil gil;
    const Ref found = checked(PyObject_CallFunction(helper("operator_of"), "ss", ns.c_str(), name.c_str()));
    return found.get() == Py_None ? nullptr : handle(found.get(), HandleKind::Function).function;
  };
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"script_unit_new", unit_new, METH_NOARGS, nullptr},
                           {"script_unit_define_text", unit_define_text, METH_VARARGS, nullptr},
                           {"script_unit_find", unit_find, METH_VARARGS, nullptr},
                           {"script_unit_functions", unit_functions, METH_O, nullptr},
                           {"script_unit_drop_functions", unit_drop_functions, METH_O, nullptr},
                           {"script_unit_class", unit_class, METH_VARARGS, nullptr},
                           {"script_unit_define", unit_define, METH_VARARGS, nullptr},
                           {"script_unit_native", unit_native, METH_VARARGS, nullptr},
                           {"script_function_takes_more", function_takes_more, METH_VARARGS, nullptr},
                           {"script_class_new", class_new, METH_VARARGS, nullptr},
                           {"script_class_add", class_add, METH_VARARGS, nullptr},
                           {"script_class_info", class_info, METH_O, nullptr},
                           {"script_class_method", class_method, METH_VARARGS, nullptr},
                           {"script_class_find", class_find, METH_O, nullptr},
                           {"script_enum_value", enum_value, METH_VARARGS, nullptr},
                           {"script_named_tuple", named_tuple_new, METH_VARARGS, nullptr},
                           {"script_object_new", object_new, METH_O, nullptr},
                           {"script_object_class", object_class, METH_O, nullptr},
                           {"script_object_get", object_get, METH_VARARGS, nullptr},
                           {"script_object_set", object_set, METH_VARARGS, nullptr},
                           {"script_object_copy", object_copy, METH_VARARGS, nullptr},
                           {"script_function_compile", function_compile, METH_O, nullptr},
                           {"script_function_run", function_run, METH_VARARGS, nullptr},
                           {"script_functions_running", functions_running, METH_NOARGS, nullptr},
                           {"script_function_info", function_info, METH_O, nullptr},
                           {"script_exchange_limits", exchange_limits, METH_VARARGS, nullptr},
                           {"script_exchange_optimize", exchange_optimize, METH_O, nullptr},
                           {"script_exchange_inlining", exchange_inlining, METH_O, nullptr},
                           {"script_function_class", function_class, METH_O, nullptr},
                           {"script_value_type", value_type, METH_O, nullptr},
                           {"script_type", canonical_type, METH_O, nullptr},
                           {"script_has_operator", has_operator, METH_O, nullptr},
                           {"script_set_helpers", set_helpers, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

namespace {

// To Python's own output, which programs redirect.
void print_line(const std::string& line) {
  const Gil gil;
  PyObject* const out = PySys_GetObject("stdout");  // borrowed; none in programs without a console
  if (!out || out == Py_None) return;
  if (PyFile_WriteObject(text(line).get(), out, Py_PRINT_RAW) != 0) throw PythonError();
  if (PyObject_HasAttrString(out, "flush")) checked(PyObject_CallMethod(out, "flush", nullptr));
}

}  // namespace

bool add_script(PyObject* module) {
  set_print_handler(print_line);
  return add_handle_type(module) && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::graph::script
