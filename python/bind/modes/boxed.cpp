#include "python/bind/modes/boxed.h"

#include "cresset/dispatch/schema_text.h"

namespace cresset::python {

namespace {

using dispatch::Argument;
using dispatch::FunctionSchema;
using dispatch::OpEntry;
using dispatch::Stack;
using dispatch::Type;
using dispatch::TypeKind;
using dispatch::Value;

Ref tensor_or_number(const Tensor& t) {
  if (t.defined() && t.impl()->is_wrapped_number()) return checked(wrap(t.item()));
  return checked(wrap(t));
}

bool is_default(const Argument& a, const Value& v) {
  if (!a.has_default) return false;
  if (v.is_none() || a.default_value.is_none()) return v.is_none() && a.default_value.is_none();
  if (a.type.kind == TypeKind::Tensor || a.type.kind == TypeKind::Generator) return false;
  if (a.type.list && a.type.kind == TypeKind::Int) return v.to_int_list() == a.default_value.to_int_list();
  return v == a.default_value;
}

Value from_python(const OpEntry& op, const Type& type, PyObject* o) {
  Value v;
  if (o == Py_None && type.kind == TypeKind::Tensor && !type.list) return Tensor();
  const bool is_number = type.kind == TypeKind::Tensor && !type.list && !is_tensor(o);
  CRESSET_CHECK(!is_number && read_value(o, type, true, true, v), op.name, ": __torch_dispatch__ returned ", Py_TYPE(o)->tp_name, " where the schema has ",
                dispatch::type_name(type));
  return v;
}

}  // namespace

Ref to_python(const Value& v, const Type& type) {
  if (v.is_none()) return Ref::share(Py_None);
  if (CRESSET_UNLIKELY(dispatch::is_text_type(type) || type.kind == TypeKind::String || v.object())) return checked(wrap(v));
  if (type.list) {
    const auto number = [](auto n) { return checked(wrap(Scalar(n))); };
    if (type.kind == TypeKind::Tensor && type.element_optional)
      return list_of(v.to_optional_tensor_list(), [](const Value::Optional& t) { return t && t->defined() ? checked(wrap(*t)) : Ref::share(Py_None); });
    if (type.kind == TypeKind::Tensor) return list_of(v.to_tensor_list(), [](const Tensor& t) { return tensor_or_number(t); });
    if (type.kind == TypeKind::Int) return list_of(v.to_int_list(), number);
    if (type.kind == TypeKind::Bool) return list_of(v.to_bool_list(), [&](bool b) { return number(b); });
    if (type.kind == TypeKind::Float) return list_of(v.to_double_list(), number);
    return list_of(v.to_scalar_list(), number);
  }
  switch (type.kind) {
    case TypeKind::Tensor: return tensor_or_number(v.to_tensor());
    case TypeKind::Int: return checked(PyLong_FromLongLong(v.to_int()));
    case TypeKind::Float: return checked(PyFloat_FromDouble(v.to_double()));
    case TypeKind::Bool: return checked(PyBool_FromLong(v.to_bool()));
    case TypeKind::Scalar: return checked(wrap(v.to_scalar()));
    case TypeKind::String: return checked(PyUnicode_FromString(v.to_string().c_str()));
    case TypeKind::DType: return Ref::share(constant(v.to_dtype()));
    case TypeKind::Device: return checked(wrap(v.to_device()));
    case TypeKind::Layout: return Ref::share(constant(v.to_layout()));
    case TypeKind::MemoryFormat: return Ref::share(constant(v.to_memory_format()));
    case TypeKind::Generator: return checked(wrap(v.to_generator()));
  }
  return Ref::share(Py_None);
}

PythonCall to_python(const OpEntry& op, const Stack& stack) {
  const FunctionSchema& schema = op.function_schema();
  const size_t n = schema.arguments.size();
  size_t positional = 0;
  while (positional < n && !schema.arguments[positional].keyword_only) positional++;
  size_t given = positional;
  while (given > 0 && is_default(schema.arguments[given - 1], stack[given - 1])) given--;
  PythonCall call{checked(PyTuple_New(static_cast<Py_ssize_t>(given))), checked(PyDict_New())};
  // A number that is all an operator has stays a tensor: its functions take no other.
  if (n == 1 && given == 1 && stack[0].is_tensor()) {
    PyTuple_SET_ITEM(call.args.get(), 0, checked(wrap(stack[0].to_tensor())).release());
    return call;
  }
  for (size_t i = 0; i < given; i++) PyTuple_SET_ITEM(call.args.get(), static_cast<Py_ssize_t>(i), to_python(stack[i], schema.arguments[i].type).release());
  for (size_t i = positional; i < n; i++) {
    const Argument& a = schema.arguments[i];
    if (is_default(a, stack[i])) continue;
    if (PyDict_SetItemString(call.kwargs.get(), a.name.c_str(), to_python(stack[i], a.type).get())) throw PythonError();
  }
  return call;
}

void results_from_python(const OpEntry& op, PyObject* result, Stack& stack) {
  const auto& returns = op.function_schema().returns;
  Stack results;
  if (returns.size() == 1) {
    results.push_back(from_python(op, returns[0].type, result));
  } else if (!returns.empty()) {
    CRESSET_CHECK((PyTuple_Check(result) || PyList_Check(result)) && PySequence_Fast_GET_SIZE(result) == static_cast<Py_ssize_t>(returns.size()), op.name,
                  ": __torch_dispatch__ returned ", Py_TYPE(result)->tp_name, ", expected ", returns.size(), " results");
    for (size_t i = 0; i < returns.size(); i++)
      results.push_back(from_python(op, returns[i].type, PySequence_Fast_GET_ITEM(result, static_cast<Py_ssize_t>(i))));
  }
  stack = std::move(results);
}

}  // namespace cresset::python
