#include "python/bind/modes/values_api.h"

#include <algorithm>

#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "python/bind/bind.h"

namespace cresset::python {

namespace {

using dispatch::Value;

Ref object_of(const Value& v);

Ref tuple_of(const std::vector<Value>& elements) {
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(elements.size())));
  for (size_t i = 0; i < elements.size(); i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), object_of(elements[i]).release());
  return tuple;
}

Ref object_of(const Value& v) {
  if (v.is<std::vector<Tensor>>()) return list_of(v.to_tensor_list(), [](const Tensor& t) { return checked(wrap(t)); });
  if (v.is<std::vector<Value::Optional>>())
    return list_of(v.to_optional_tensor_list(), [](const Value::Optional& t) { return t ? checked(wrap(*t)) : Ref::share(Py_None); });
  if (v.is<std::vector<int64_t>>()) return list_of(v.to_int_list(), [](int64_t i) { return checked(PyLong_FromLongLong(i)); });
  if (v.is<std::vector<double>>()) return list_of(v.to_double_list(), [](double d) { return checked(PyFloat_FromDouble(d)); });
  if (v.is<std::vector<bool>>()) return list_of(v.to_bool_list(), [](bool b) { return checked(PyBool_FromLong(b)); });
  if (v.is<std::vector<Scalar>>()) return list_of(v.to_scalar_list(), [](const Scalar& s) { return checked(wrap(s)); });
  if (const auto* strings = std::get_if<std::vector<std::string>>(&v.data()))
    return list_of(*strings, [](const std::string& s) { return checked(PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()))); });
  if (v.is<Layout>()) return Ref::share(constant(v.to_layout()));
  if (v.is<MemoryFormat>()) return Ref::share(constant(v.to_memory_format()));
  if (v.is<Device>()) return checked(wrap(v.to_device()));
  if (v.isTuple()) return tuple_of(v.toTupleRef().elements());
  if (v.isList()) return list_of(v.toListVector(), [](const Value& each) { return object_of(each); });
  if (v.isGenericDict()) {
    Ref dict = checked(PyDict_New());
    for (const auto& item : v.toGenericDict())
      if (PyDict_SetItem(dict.get(), object_of(item.key()).get(), object_of(item.value()).get())) throw PythonError();
    return dict;
  }
  return checked(wrap(v));
}

Value value_of(PyObject* o);

template <class T, class F> Value typed_list(const std::vector<Value>& values, F&& read) {
  std::vector<T> list;
  list.reserve(values.size());
  for (const Value& v : values) list.push_back(read(v));
  return list;
}

Value list_value(PyObject* sequence) {
  const Ref items = checked(PySequence_Fast(sequence, "expected a list"));
  std::vector<Value> values;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); i++) values.push_back(value_of(PySequence_Fast_GET_ITEM(items.get(), i)));
  const auto all = [&](auto&& holds) { return !values.empty() && std::all_of(values.begin(), values.end(), holds); };
  if (values.empty()) return std::vector<int64_t>();
  if (all([](const Value& v) { return v.is_tensor(); })) return typed_list<Tensor>(values, [](const Value& v) { return v.to_tensor(); });
  if (all([](const Value& v) { return v.is<int64_t>(); })) return typed_list<int64_t>(values, [](const Value& v) { return v.to_int(); });
  if (all([](const Value& v) { return v.is<double>(); })) return typed_list<double>(values, [](const Value& v) { return v.to_double(); });
  if (all([](const Value& v) { return v.is<bool>(); })) return typed_list<bool>(values, [](const Value& v) { return v.to_bool(); });
  if (all([](const Value& v) { return v.is_number(); })) return typed_list<Scalar>(values, [](const Value& v) { return v.to_scalar(); });
  if (all([](const Value& v) { return v.is_none() || v.is_tensor(); }))
    return typed_list<Value::Optional>(values, [](const Value& v) { return v.is_none() ? Value::Optional() : Value::Optional(v.to_tensor()); });
  dispatch::GenericList list(dispatch::ElementKind::Any);
  for (Value& v : values) list.push_back(std::move(v));
  return list;
}

Value value_of(PyObject* o) {
  if (o == Py_None) return {};
  if (is_tensor(o)) return tensor_of(o);
  if (PyBool_Check(o)) return o == Py_True;
  if (PyLong_Check(o)) {
    const long long number = PyLong_AsLongLong(o);
    if (number == -1 && PyErr_Occurred()) throw PythonError();
    return static_cast<int64_t>(number);
  }
  if (PyUnicode_Check(o)) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(o, &size);
    if (!text) throw PythonError();
    return std::string(text, static_cast<size_t>(size));
  }
  if (PyFloat_Check(o) || PyComplex_Check(o) || is_number(o)) return to_scalar(o);
  if (PyObject_TypeCheck(o, dtype_type)) return to_dtype(o);
  if (PyObject_TypeCheck(o, device_type)) return to_device(o);
  if (PyObject_TypeCheck(o, layout_type)) return static_cast<Layout>(reinterpret_cast<ConstantObject*>(o)->value);
  if (PyObject_TypeCheck(o, memory_format_type)) return static_cast<MemoryFormat>(reinterpret_cast<ConstantObject*>(o)->value);
  CRESSET_CHECK_TYPE(PyList_Check(o) || PyTuple_Check(o), "graph: expected tensors, numbers, strings and lists of them, got ", Py_TYPE(o)->tp_name);
  return list_value(o);
}

PyObject* to_python(const Value& v) {
  return guarded([&] { return object_of(v).release(); });
}
bool to_value(PyObject* o, Value& v) {
  return guarded([&] { return v = value_of(o), true; }, false);
}

const ValuesApi kApi{to_python, to_value, set_python_error};

}  // namespace

bool add_values_api(PyObject* module) {
  PyObject* capsule = PyCapsule_New(const_cast<ValuesApi*>(&kApi), ValuesApi::kName, nullptr);
  return capsule && PyModule_AddObject(module, "_values", capsule) == 0;
}

}  // namespace cresset::python
