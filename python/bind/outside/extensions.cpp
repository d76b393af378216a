// The table of functions that C++ extensions get (cresset/python/api.h), and registered C++ classes as Python objects.

#include <cstring>

#include "cresset/dispatch/custom_class.h"
#include "cresset/python/api.h"
#include "python/bind/autograd.h"
#include "python/bind/tensor.h"

#include <structmember.h>

namespace cresset::python {

PyTypeObject* script_object_type;

namespace {

using dispatch::ClassInfo;
using dispatch::ClassMethod;
using dispatch::Object;
using dispatch::Stack;
using dispatch::Value;

PyTypeObject* script_object_class;  // the package's, with attributes; the type here until it is named

struct ScriptObject {
  PyObject_HEAD PyObject* dict;
  PyObject* weak;
  Value value;
  const ClassInfo* info;
};
ScriptObject& script_object(PyObject* o) { return *reinterpret_cast<ScriptObject*>(o); }

// ---- any object as a value -------------------------------------------------------------------------------------------------

bool read_sequence(PyObject* o, std::vector<Value>& out) {
  const Ref items = checked(PySequence_Fast(o, "a sequence"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); i++)
    if (!read_any(PySequence_Fast_GET_ITEM(items.get(), i), out.emplace_back())) return false;
  return true;
}

Value generic_list(std::vector<Value> elements) {
  auto list = make_intrusive<dispatch::ListObject>(dispatch::ElementKind::Any);
  list->elements = std::move(elements);
  return Value(intrusive_ptr<Object>(std::move(list)));
}

}  // namespace

bool read_any(PyObject* o, Value& out) {
  if (o == Py_None) {
    out = Value();
  } else if (is_tensor(o)) {
    out = tensor_of(o);
  } else if (is_number(o)) {
    out = Value(to_scalar(o));
  } else if (PyUnicode_Check(o)) {
    out = std::string(PyUnicode_AsUTF8(o));
  } else if (PyObject_TypeCheck(o, dtype_type)) {
    out = to_dtype(o);
  } else if (PyObject_TypeCheck(o, device_type)) {
    out = to_device(o);
  } else if (PyObject_TypeCheck(o, generator_type)) {
    out = generator_of(o);
  } else if (PyObject_TypeCheck(o, script_object_type)) {
    out = script_object(o).value;
  } else if (PyTuple_Check(o) || PyList_Check(o)) {
    std::vector<Value> elements;
    if (!read_sequence(o, elements)) return false;
    out = PyTuple_Check(o) ? Value(intrusive_ptr<Object>(dispatch::TupleObject::create(std::move(elements)))) : generic_list(std::move(elements));
  } else if (PyDict_Check(o)) {
    auto dict = make_intrusive<dispatch::DictObject>(dispatch::ElementKind::Any, dispatch::ElementKind::Any);
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);) {
      Value k, v;
      if (!read_any(key, k) || !read_any(value, v)) return false;
      dict->insert(std::move(k), std::move(v));
    }
    out = Value(intrusive_ptr<Object>(std::move(dict)));
  } else {
    return false;
  }
  return true;
}

bool read_text_type(PyObject* o, const dispatch::Type& type, Value& out) {
  const std::string text = dispatch::type_name([&] {
    dispatch::Type plain = type;
    plain.optional = false;
    return plain;
  }());
  if (text.compare(0, 10, "__torch__.") == 0) {
    if (!PyObject_TypeCheck(o, script_object_type) || script_object(o).info->qualified_name() != text) return false;
    out = script_object(o).value;
    return true;
  }
  if (text.compare(0, 5, "Dict(") == 0 && !PyDict_Check(o)) return false;
  if (text[0] == '(' && !PyTuple_Check(o)) return false;
  if (type.list && !PyTuple_Check(o) && !PyList_Check(o)) return false;
  if (!read_any(o, out)) return false;
  if (type.list && PyTuple_Check(o)) out = generic_list(out.toTupleRef().elements());
  return true;
}

PyObject* wrap_object(const Value& v) {
  const Object& object = **v.object();
  switch (object.kind()) {
    case Object::Kind::Tuple:
    case Object::Kind::List: {
      const std::vector<Value> elements = object.kind() == Object::Kind::Tuple ? v.toTupleRef().elements() : v.toListVector();
      const Ref list = checked(PyList_New(static_cast<Py_ssize_t>(elements.size())));
      for (size_t i = 0; i < elements.size(); i++) PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), checked(wrap(elements[i])).release());
      return object.kind() == Object::Kind::Tuple ? PyList_AsTuple(list.get()) : Ref::share(list.get()).release();
    }
    case Object::Kind::Dict: {
      Ref dict = checked(PyDict_New());
      for (const auto& entry : static_cast<const dispatch::DictObject&>(object).entries)
        if (PyDict_SetItem(dict.get(), checked(wrap(entry.key)).get(), checked(wrap(entry.value)).get())) throw PythonError();
      return dict.release();
    }
    case Object::Kind::Storage: return wrap(intrusive_ptr<StorageImpl>(v.toStorage().impl()));
    default: break;
  }
  const ClassInfo* info = dispatch::find_class(typeid(object));
  CRESSET_CHECK_TYPE(info, "an object of C++ whose class is not registered, ", object.kind_name(), ", is nothing that Python sees");
  PyTypeObject* type = script_object_class ? script_object_class : script_object_type;
  PyObject* o = checked(type->tp_alloc(type, 0)).release();
  new (&script_object(o).value) Value(v);
  script_object(o).info = info;
  return o;
}

namespace {

// ---- classes ---------------------------------------------------------------------------------------------------------------

void script_object_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (script_object(o).weak) PyObject_ClearWeakRefs(o);
  Py_CLEAR(script_object(o).dict);
  script_object(o).value.~Value();
  type->tp_free(o);
  Py_DECREF(type);
}
PyObject* script_object_qualified(PyObject* o, void*) { return PyUnicode_FromString(script_object(o).info->qualified_name().c_str()); }
PyGetSetDef script_object_properties[] = {{"_qualified_name", script_object_qualified, nullptr, nullptr, nullptr}, {}};
PyMemberDef script_object_members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(ScriptObject, weak), READONLY, nullptr},
                                       {"__dictoffset__", T_PYSSIZET, offsetof(ScriptObject, dict), READONLY, nullptr},
                                       {}};
PyType_Slot script_object_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(script_object_dealloc)}, {Py_tp_getset, script_object_properties}, {Py_tp_members, script_object_members}, {}};

const ClassInfo& info_named(PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) throw PythonError();
  const ClassInfo* info = dispatch::find_class(text);
  CRESSET_CHECK(info, "torch.classes: no class ", text, " is registered; open the library that has its torch::class_");
  return *info;
}

std::string schema_of(const ClassMethod& m) {
  const dispatch::DetailedSchema detailed(m.schema);
  return dispatch::schema_text(detailed);
}

// _custom_class(name): (namespace, name, documentation, [(method, schema, documentation, static)], [(property, writable)], constructible, kept in files).
PyObject* custom_class(PyObject*, PyObject* name) {
  return guarded([&] {
    const ClassInfo& info = info_named(name);
    const Ref methods = checked(PyList_New(0)), properties = checked(PyList_New(0));
    for (const ClassMethod& m : info.methods) {
      const Ref row = checked(Py_BuildValue("(sssO)", m.name.c_str(), schema_of(m).c_str(), m.doc.c_str(), m.is_static ? Py_True : Py_False));
      if (PyList_Append(methods.get(), row.get())) throw PythonError();
    }
    for (const dispatch::ClassProperty& p : info.properties) {
      const Ref row = checked(Py_BuildValue("(sO)", p.name.c_str(), p.set ? Py_True : Py_False));
      if (PyList_Append(properties.get(), row.get())) throw PythonError();
    }
    return Py_BuildValue("(sssOOOO)", info.ns.c_str(), info.name.c_str(), info.doc.c_str(), methods.get(), properties.get(),
                         info.constructor ? Py_True : Py_False, info.set_state ? Py_True : Py_False);
  });
}

// Puts the arguments in the order of the schema. Errors: what does not fit.
Stack arguments_of(const ClassInfo& info, const ClassMethod& m, PyObject* args, PyObject* kwargs) {
  const auto& arguments = m.schema.arguments;
  const std::string title = info.name + "." + m.name + "()";
  const size_t given = static_cast<size_t>(PyTuple_GET_SIZE(args));
  CRESSET_CHECK(given <= arguments.size(), title, ": expected at most ", arguments.size(), " argument(s), got ", given);
  Py_ssize_t named = kwargs ? PyDict_GET_SIZE(kwargs) : 0;
  Stack stack;
  for (size_t i = 0; i < arguments.size(); i++) {
    const dispatch::Argument& a = arguments[i];
    PyObject* by_name = named ? PyDict_GetItemString(kwargs, a.name.c_str()) : nullptr;
    CRESSET_CHECK(!(by_name && i < given), title, ": got the argument `", a.name, "` twice");
    named -= by_name != nullptr;
    PyObject* o = i < given ? PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i)) : by_name;
    if (!o) {
      CRESSET_CHECK(a.has_default, title, ": misses the argument `", a.name, "`");
      stack.push_back(a.default_value);
      if (by_name) break;
      continue;
    }
    CRESSET_CHECK(read_value(o, a.type, true, false, stack.emplace_back()), title, ": expected ", dispatch::type_name(a.type), " for the argument `", a.name,
                  "`, got ", Py_TYPE(o)->tp_name);
  }
  CRESSET_CHECK(named == 0, title, ": got arguments of names that it has not");
  return stack;
}

PyObject* results_of(const ClassMethod& m, Stack& stack) {
  if (stack.empty() || m.schema.returns.empty()) Py_RETURN_NONE;
  if (stack.size() == 1) return wrap(stack[0]);
  const Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(stack.size())));
  for (size_t i = 0; i < stack.size(); i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(wrap(stack[i])).release());
  return Ref::share(tuple.get()).release();
}

PyObject* run(const ClassInfo& info, const ClassMethod& m, PyObject* args, PyObject* kwargs) {
  Stack stack = arguments_of(info, m, args, kwargs);
  m.call(stack);
  return results_of(m, stack);
}

// _call_custom_class(name, method, args, kwargs): of an object, which then is the first argument, or of the class.
PyObject* call_custom_class(PyObject*, PyObject* given) {
  return guarded([&] {
    PyObject *name, *args, *kwargs;
    const char* method;
    if (!PyArg_ParseTuple(given, "UsO!O!", &name, &method, &PyTuple_Type, &args, &PyDict_Type, &kwargs)) throw PythonError();
    const ClassInfo& info = info_named(name);
    const ClassMethod* m = info.find_method(method);
    CRESSET_CHECK(m, info.name, ": has no method ", method);
    return run(info, *m, args, kwargs);
  });
}

// _custom_class_property(object, name, value...): reads it, or writes the value.
PyObject* custom_class_property(PyObject*, PyObject* given) {
  return guarded([&] {
    PyObject *o, *value = nullptr;
    const char* name;
    if (!PyArg_ParseTuple(given, "O!s|O", script_object_type, &o, &name, &value)) throw PythonError();
    const ClassInfo& info = *script_object(o).info;
    const dispatch::ClassProperty* p = info.find_property(name);
    CRESSET_CHECK(p && (!value || p->set), info.name, ": the property ", name, p ? " cannot be written" : " is not there");
    const Ref args = checked(value ? PyTuple_Pack(2, o, value) : PyTuple_Pack(1, o));
    return run(info, value ? *p->set : p->get, args.get(), nullptr);
  });
}

PyObject* custom_class_names(PyObject*, PyObject*) {
  return guarded([&] {
    Ref list = checked(PyList_New(0));
    for (const ClassInfo* info : dispatch::all_classes())
      if (PyList_Append(list.get(), checked(PyUnicode_FromString((info->ns + "." + info->name).c_str())).get())) throw PythonError();
    return list.release();
  });
}

PyObject* set_script_object_class(PyObject*, PyObject* type) {
  if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), script_object_type))
    return PyErr_Format(PyExc_TypeError, "expected a class derived from ScriptObject");
  script_object_class = reinterpret_cast<PyTypeObject*>(Ref::share(type).release());
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"_custom_class", custom_class, METH_O, nullptr},
                           {"_custom_class_names", custom_class_names, METH_NOARGS, nullptr},
                           {"_call_custom_class", call_custom_class, METH_VARARGS, nullptr},
                           {"_custom_class_property", custom_class_property, METH_VARARGS, nullptr},
                           {"_set_script_object_class", set_script_object_class, METH_O, nullptr},
                           {}};

// ---- the table -------------------------------------------------------------------------------------------------------------

template <class T> PyObject* constant_of(T value) { return Ref::share(constant(value)).release(); }

bool set_error(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const python_api::ErrorIsSet&) { return true; } catch (const PythonException&) {
  } catch (const Error&) {
  } catch (...) { return false; }
  try {
    std::rethrow_exception(error);
  } catch (...) { set_python_error(); }
  return true;
}

const python_api::Table kTable{python_api::kVersion,
                               sizeof(python_api::Table),
                               CRESSET_VERSION,
                               [](const Tensor& t) { return guarded([&] { return wrap(t); }); },
                               [](PyObject* o) { return is_tensor(o) ? &tensor_of(o) : nullptr; },
                               [](const Value& v) { return guarded([&] { return wrap(v); }); },
                               [](PyObject* o, Value& out) { return guarded([&] { return read_any(o, out); }, false); },
                               [](ScalarType t) { return constant_of(t); },
                               [](Device d) { return guarded([&] { return wrap(d); }); },
                               [](Layout l) { return constant_of(l); },
                               [](MemoryFormat f) { return constant_of(f); },
                               [](const Generator& g) { return guarded([&] { return wrap(g); }); },
                               [](const Scalar& s) { return guarded([&] { return wrap(s); }); },
                               [](const Storage& s) { return guarded([&] { return wrap(intrusive_ptr<StorageImpl>(s.impl())); }); },
                               [](IntArrayRef sizes) { return guarded([&] { return wrap_size(sizes); }); },
                               [](PyObject* o, ScalarType& out) {
                                 if (!PyObject_TypeCheck(o, dtype_type)) return false;
                                 out = to_dtype(o);
                                 return true;
                               },
                               [](PyObject* o, Device& out) {
                                 if (!PyObject_TypeCheck(o, device_type)) return false;
                                 out = to_device(o);
                                 return true;
                               },
                               [](PyObject* o, Layout& out) {
                                 if (!PyObject_TypeCheck(o, layout_type)) return false;
                                 out = static_cast<Layout>(reinterpret_cast<ConstantObject*>(o)->value);
                                 return true;
                               },
                               [](PyObject* o, MemoryFormat& out) {
                                 if (!PyObject_TypeCheck(o, memory_format_type)) return false;
                                 out = static_cast<MemoryFormat>(reinterpret_cast<ConstantObject*>(o)->value);
                                 return true;
                               },
                               [](PyObject* o, Generator& out) {
                                 if (!PyObject_TypeCheck(o, generator_type)) return false;
                                 out = generator_of(o);
                                 return true;
                               },
                               [](PyObject* o, Scalar& out) {
                                 return guarded(
                                     [&] {
                                       if (is_tensor(o) ? tensor_of(o).dim() != 0 : !is_number(o)) return false;
                                       out = is_tensor(o) ? tensor_of(o).item() : to_scalar(o);
                                       return true;
                                     },
                                     false);
                               },
                               [](PyObject* o, Storage& out) {
                                 if (!is_storage(o)) return false;
                                 out = Storage(storage_of(o));
                                 return true;
                               },
                               set_error};

}  // namespace

bool add_extensions(PyObject* module) {
  PyType_Spec spec{"cresset.ScriptObject", sizeof(ScriptObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   script_object_slots};
  script_object_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!script_object_type || PyModule_AddObjectRef(module, "_ScriptObject", reinterpret_cast<PyObject*>(script_object_type))) return false;
  PyObject* capsule = PyCapsule_New(const_cast<python_api::Table*>(&kTable), python_api::kCapsule, nullptr);
  return capsule && PyModule_AddObject(module, "_python_api", capsule) == 0 && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
