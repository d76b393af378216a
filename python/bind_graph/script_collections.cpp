// Lists and dicts of TorchScript that Python holds by reference.

#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "python/bind_graph/script.h"

namespace cresset::graph::script {

namespace {

Type type_from(PyObject* name) { return type_of_text(string_of(name), nullptr); }
Datum& value_of(PyObject* o) { return handle(o, HandleKind::Object).value; }
[[noreturn]] void raise(PyObject* kind, PyObject* what) {
  PyErr_SetObject(kind, what);
  throw PythonError();
}

// The element of a list that the number from Python stands for.
size_t place_in(const dispatch::ListObject& list, PyObject* number) {
  const Ref index = checked(PyNumber_Index(number));
  const Py_ssize_t size = static_cast<Py_ssize_t>(list.elements.size());
  Py_ssize_t i = PyLong_AsSsize_t(index.get());
  if (i == -1 && PyErr_Occurred()) throw PythonError();
  if (i < 0) i += size;
  if (i < 0 || i >= size) raise(PyExc_IndexError, text(str("index ", string_of(checked(PyObject_Str(number)).get()), " of a list of ", size)).get());
  return static_cast<size_t>(i);
}
size_t place_in(const dispatch::DictObject& dict, PyObject* key, const Type& type) {
  const size_t at = dict.at(to_datum(key, type.elements()[0]));
  if (at >= dict.entries.size()) raise(PyExc_KeyError, key);
  return at;
}

// (value of Python, its type)
PyObject* make(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *type;
    if (!PyArg_ParseTuple(args, "OU", &o, &type)) throw PythonError();
    return wrap_object(to_datum(o, type_from(type)));
  });
}
PyObject* size(PyObject*, PyObject* o) {
  return guarded([&] {
    const Datum& v = value_of(o);
    return checked(PyLong_FromSize_t(v.isGenericDict() ? dict_of(v).entries.size() : list_of(v).elements.size()));
  });
}
// (handle, type): a list or dict of Python
PyObject* copy(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *type;
    if (!PyArg_ParseTuple(args, "OU", &o, &type)) throw PythonError();
    return to_python(value_of(o), type_from(type));
  });
}
// (handle, type, index or key)
PyObject* get(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *name, *key;
    if (!PyArg_ParseTuple(args, "OUO", &o, &name, &key)) throw PythonError();
    const Datum& v = value_of(o);
    const Type type = type_from(name);
    if (v.isGenericDict()) return to_python(dict_of(v).entries[place_in(dict_of(v), key, type)].value, type.elements()[1]);
    return to_python(list_of(v).elements[place_in(list_of(v), key)], type.elements()[0]);
  });
}
// (handle, type, index or key, value)
PyObject* set(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *name, *key, *item;
    if (!PyArg_ParseTuple(args, "OUOO", &o, &name, &key, &item)) throw PythonError();
    const Datum& v = value_of(o);
    const Type type = type_from(name);
    if (v.isGenericDict()) {
      auto& dict = dict_of(v);
      const auto [at, added] = dict.insert(to_datum(key, type.elements()[0]), to_datum(item, type.elements()[1]));
      if (!added) dict.entries[at].value = to_datum(item, type.elements()[1]);
    } else {
      auto& list = list_of(v);
      list.elements[place_in(list, key)] = to_datum(item, type.elements()[0]);
    }
    return Ref::share(Py_None);
  });
}
// (handle, type, index from 0 to the length, value)
PyObject* insert(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *name, *item;
    Py_ssize_t at = 0;
    if (!PyArg_ParseTuple(args, "OUnO", &o, &name, &at, &item)) throw PythonError();
    auto& list = list_of(value_of(o));
    list.elements.insert(list.elements.begin() + std::min<Py_ssize_t>(std::max<Py_ssize_t>(at, 0), static_cast<Py_ssize_t>(list.elements.size())),
                         to_datum(item, type_from(name).elements()[0]));
    return Ref::share(Py_None);
  });
}
// (handle, type, index or key)
PyObject* remove(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *o, *name, *key;
    if (!PyArg_ParseTuple(args, "OUO", &o, &name, &key)) throw PythonError();
    const Datum& v = value_of(o);
    if (v.isGenericDict()) {
      dict_of(v).erase(place_in(dict_of(v), key, type_from(name)));
    } else {
      auto& elements = list_of(v).elements;
      elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(place_in(list_of(v), key)));
    }
    return Ref::share(Py_None);
  });
}

PyMethodDef functions[] = {{"script_collection_new", make, METH_VARARGS, nullptr},      {"script_collection_size", size, METH_O, nullptr},
                           {"script_collection_copy", copy, METH_VARARGS, nullptr},     {"script_collection_get", get, METH_VARARGS, nullptr},
                           {"script_collection_set", set, METH_VARARGS, nullptr},       {"script_collection_insert", insert, METH_VARARGS, nullptr},
                           {"script_collection_remove", remove, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_collections(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::graph::script
