// Python objects to values and back.

#include <cstring>
#include <string>

#include "cresset/dispatch/schema_text.h"
#include "python/bind/modes/symbols.h"
#include "python/bind/tensor.h"

namespace cresset::python {

namespace {

// A NumPy scalar as Python's number; anything else as it is.
Ref plain_number(PyObject* o) {
  if (!is_numpy(o) || !strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray")) return Ref::share(o);
  Ref item = checked(PyObject_CallMethod(o, "item", nullptr));
  // NumPy's complex numbers that are none of Python's count by their real part, as in PyTorch.
  if (PyComplex_Check(item.get()) && !PyComplex_Check(o)) return checked(PyFloat_FromDouble(PyComplex_RealAsDouble(item.get())));
  // Neither do its booleans count as Python's.
  if (PyBool_Check(item.get())) return checked(PyFloat_FromDouble(item.get() == Py_True));
  return item;
}
bool is_numpy_bool(PyObject* o) { return !strcmp(Py_TYPE(o)->tp_name, "numpy.bool_") || !strcmp(Py_TYPE(o)->tp_name, "numpy.bool"); }
bool is_index(PyObject* o) { return PyLong_Check(o) && !PyBool_Check(o); }
bool is_scalar_tensor(PyObject* o) { return is_tensor(o) && tensor_of(o).dim() == 0 && !(tensor_of(o).requires_grad() && GradMode::is_enabled()); }

bool read_int(PyObject* given, int64_t& out) {
  if (is_tensor(given)) {
    if (tensor_of(given).dim() != 0 || !is_integral_type(tensor_of(given).scalar_type(), false)) return false;
    out = tensor_of(given).item().toLong();
    return true;
  }
  if (is_symbol(given)) {
    const Ref number = symbol_number(given);
    if (!PyLong_Check(number.get())) return false;
    out = PyLong_AsLongLong(number.get());
    return true;
  }
  Ref o = plain_number(given);
  if (!PyLong_Check(o.get()) && PyIndex_Check(o.get())) o = Ref(PyNumber_Index(o.get()));
  if (!o) PyErr_Clear();
  if (!o || !is_index(o.get())) return false;
  out = PyLong_AsLongLong(o.get());
  if (out == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    CRESSET_CHECK(false, "argument: the integer does not fit 64 bits");
  }
  return true;
}

bool read_scalar(PyObject* given, bool relaxed, Scalar& out) {
  if (is_tensor(given)) {
    if (!relaxed || !is_scalar_tensor(given)) return false;
    out = tensor_of(given).item();
    return true;
  }
  if (!is_number(given) && !is_symbol(given)) return false;
  out = to_scalar(given);
  return true;
}

bool read_list(PyObject* o, const dispatch::Type& type, dispatch::Value& out) {
  using dispatch::TypeKind;
  if (!PyTuple_Check(o) && !PyList_Check(o)) {
    int64_t one;
    Scalar number;
    if (type.list_size > 0 && type.kind == TypeKind::Int && read_int(o, one)) {
      out = std::vector<int64_t>(static_cast<size_t>(type.list_size), one);
      return true;
    }
    if (type.list_size > 0 && type.kind == TypeKind::Float && read_scalar(o, true, number)) {
      out = std::vector<double>(static_cast<size_t>(type.list_size), number.toDouble());
      return true;
    }
    return false;
  }
  const Ref fast = checked(PySequence_Fast(o, "a sequence"));
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
  PyObject** items = PySequence_Fast_ITEMS(fast.get());
  std::vector<int64_t> ints;
  std::vector<double> doubles;
  std::vector<bool> bools;
  std::vector<Scalar> scalars;
  std::vector<Tensor> tensors;
  std::vector<dispatch::Value::Optional> optionals;
  std::vector<std::string> texts;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* item = items[i];
    if (type.kind == TypeKind::Tensor) {
      if (!is_tensor(item) && !(type.element_optional && item == Py_None)) return false;
      if (type.element_optional) optionals.push_back(item == Py_None ? dispatch::Value::Optional() : tensor_of(item));
      else tensors.push_back(tensor_of(item));
    } else if (type.kind == TypeKind::Int) {
      int64_t v;
      if (!read_int(item, v)) return false;
      ints.push_back(v);
    } else if (type.kind == TypeKind::Bool) {
      if (!PyBool_Check(item)) return false;
      bools.push_back(item == Py_True);
    } else if (type.kind == TypeKind::String) {
      if (!PyUnicode_Check(item)) return false;
      texts.emplace_back(PyUnicode_AsUTF8(item));
    } else {
      Scalar v;
      if (!read_scalar(item, true, v)) return false;
      scalars.push_back(v);
      if (type.kind == TypeKind::Float) doubles.push_back(v.toDouble());
    }
  }
  if (type.kind == TypeKind::Tensor) out = type.element_optional ? dispatch::Value(optionals) : dispatch::Value(tensors);
  else if (type.kind == TypeKind::Int) out = ints;
  else if (type.kind == TypeKind::Bool) out = bools;
  else if (type.kind == TypeKind::String) out = texts;
  else if (type.kind == TypeKind::Float) out = doubles;
  else out = scalars;
  return true;
}

}  // namespace

bool is_numpy(PyObject* o) { return !strncmp(Py_TYPE(o)->tp_name, "numpy.", 6); }

bool is_number(PyObject* o) {
  if (is_symbol(o) || PyBool_Check(o) || PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o)) return true;
  if (!is_numpy(o) || !strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray")) return false;
  return PyObject_HasAttrString(o, "item") && PyNumber_Check(o);
}

int64_t to_index(PyObject* o, const char* name) {
  int64_t value;
  CRESSET_CHECK_TYPE(read_int(o, value), name, ": expected an int, got ", Py_TYPE(o)->tp_name);
  return value;
}
std::vector<int64_t> to_int_list(PyObject* o, const char* name) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return {to_index(o, name)};
  std::vector<int64_t> list;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++) list.push_back(to_index(PySequence_Fast_GET_ITEM(o, i), name));
  return list;
}

Scalar to_scalar(PyObject* given) {
  if (is_symbol(given)) return KeptTruth::keep(given) ? Scalar(true) : to_scalar(symbol_number(given).get());
  CRESSET_CHECK_TYPE(is_number(given), "expected a number, got ", Py_TYPE(given)->tp_name);
  const Ref o = plain_number(given);
  if (PyBool_Check(o.get())) return o.get() == Py_True;
  if (PyFloat_Check(o.get())) return PyFloat_AS_DOUBLE(o.get());
  if (PyComplex_Check(o.get())) return complex<double>(PyComplex_RealAsDouble(o.get()), PyComplex_ImagAsDouble(o.get()));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(o.get(), &overflow);
  if (!overflow) return static_cast<int64_t>(value);
  const unsigned long long wide = overflow > 0 ? PyLong_AsUnsignedLongLong(o.get()) : 0;
  if (overflow < 0) PyErr_SetString(PyExc_OverflowError, "can't convert negative int to unsigned: it does not fit 64 bits");
  if (PyErr_Occurred()) throw PythonError();
  return static_cast<uint64_t>(wide);
}

bool read_value(PyObject* o, const dispatch::Type& type, bool relaxed, bool numbers, dispatch::Value& out) {
  using dispatch::TypeKind;
  if (o == Py_None) {
    out = dispatch::Value();
    return type.optional || type.kind == TypeKind::Generator;
  }
  if (CRESSET_UNLIKELY(dispatch::is_text_type(type))) return read_text_type(o, type, out);
  if (type.list) return read_list(o, type, out);
  Scalar number;
  int64_t integer;
  switch (type.kind) {
    case TypeKind::Tensor:
      if (is_tensor(o)) out = tensor_of(o);
      else if (relaxed && numbers && is_number(o)) out = wrapped_scalar_tensor(to_scalar(o));
      else return false;
      return true;
    case TypeKind::Int:
      if ((is_tensor(o) && !relaxed) || !read_int(o, integer)) return false;
      out = integer;
      return true;
    case TypeKind::Float:
      if (!read_scalar(o, relaxed, number) || number.isComplex()) return false;
      out = number.as<double>();
      return true;
    case TypeKind::Bool: {
      if (!PyBool_Check(o) && !is_numpy_bool(o) && Py_TYPE(o) != sym_bool_type) return false;
      const int truth = PyObject_IsTrue(o);
      if (truth < 0) throw PythonError();
      out = truth == 1;
      return true;
    }
    case TypeKind::Scalar:
      if (!read_scalar(o, relaxed, number)) return false;
      out = dispatch::Value(number);
      return true;
    case TypeKind::String:
      if (!PyUnicode_Check(o)) return false;
      out = std::string(PyUnicode_AsUTF8(o));
      return true;
    case TypeKind::DType:
      if (!PyObject_TypeCheck(o, dtype_type) && !PyType_Check(o)) return false;
      out = to_dtype(o);
      return true;
    case TypeKind::Device:
      if (!PyObject_TypeCheck(o, device_type) && !PyUnicode_Check(o) && (!PyLong_Check(o) || PyBool_Check(o))) return false;
      out = to_device(o);
      return true;
    case TypeKind::Layout:
      if (!PyObject_TypeCheck(o, layout_type)) return false;
      CRESSET_CHECK_NOT_IMPLEMENTED(reinterpret_cast<ConstantObject*>(o)->value <= static_cast<int>(Layout::Mkldnn),
                                    "torch.nested makes the tensors of the layout torch.jagged; an operator that makes dense ones cannot");
      out = static_cast<Layout>(reinterpret_cast<ConstantObject*>(o)->value);
      return true;
    case TypeKind::MemoryFormat:
      if (!PyObject_TypeCheck(o, memory_format_type)) return false;
      out = static_cast<MemoryFormat>(reinterpret_cast<ConstantObject*>(o)->value);
      return true;
    case TypeKind::Generator:
      if (!PyObject_TypeCheck(o, generator_type)) return false;
      out = generator_of(o);
      return true;
  }
  return false;
}

PyObject* wrap(const Scalar& s) {
  switch (s.tag()) {
    case Scalar::Tag::Double: return PyFloat_FromDouble(s.as<double>());
    case Scalar::Tag::Bool: return PyBool_FromLong(s.as<bool>());
    case Scalar::Tag::UInt64: return PyLong_FromUnsignedLongLong(s.as<uint64_t>());
    case Scalar::Tag::Complex: return PyComplex_FromDoubles(s.as<complex<double>>().real(), s.as<complex<double>>().imag());
    default: return PyLong_FromLongLong(s.as<int64_t>());
  }
}

PyObject* wrap(IntArrayRef list) {
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(list[i]));
  return tuple.release();
}

PyObject* wrap(const dispatch::Value& v) {
  if (v.is_none()) Py_RETURN_NONE;
  if (v.is_tensor()) return wrap(v.to_tensor());
  if (v.is_number()) return wrap(v.to_scalar());
  if (v.is<std::string>()) return PyUnicode_FromString(v.to_string().c_str());
  if (v.is<ScalarType>()) {
    PyObject* o = constant(v.to_dtype());
    Py_INCREF(o);
    return o;
  }
  if (v.is<std::vector<int64_t>>()) return wrap(IntArrayRef(v.to_int_list()));
  if (v.is<Device>()) return wrap(v.to_device());
  if (v.is<Generator>()) return wrap(v.to_generator());
  if (v.is<Layout>()) return Ref::share(constant(v.to_layout())).release();
  if (v.is<MemoryFormat>()) return Ref::share(constant(v.to_memory_format())).release();
  if (v.is<std::vector<std::string>>())
    return present_list(std::get<std::vector<std::string>>(v.data()), [](const std::string& s) { return PyUnicode_FromString(s.c_str()); });
  if (v.is<std::vector<double>>()) return present_list(v.to_double_list(), PyFloat_FromDouble);
  if (v.is<std::vector<bool>>()) return present_list(v.to_bool_list(), [](bool b) { return PyBool_FromLong(b); });
  if (v.is<std::vector<Scalar>>()) return present_list(v.to_scalar_list(), [](const Scalar& s) { return wrap(s); });
  if (v.is<std::vector<dispatch::Value::Optional>>())
    return present_list(v.to_optional_tensor_list(), [](const dispatch::Value::Optional& t) { return wrap(t ? *t : Tensor()); });
  if (v.object()) return wrap_object(v);
  const std::vector<Tensor> list = v.to_tensor_list();
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(list[i]));
  return tuple.release();
}

}  // namespace cresset::python
