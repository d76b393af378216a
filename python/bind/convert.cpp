// Python objects to values and back; the small types: dtype, layout, memory_format, device, Generator.

#include <cstring>
#include <string>

#include "python/bind/bind.h"

namespace cresset::python {

PyTypeObject *dtype_type, *device_type, *layout_type, *memory_format_type, *generator_type;

namespace {

struct ConstantObject {
  PyObject_HEAD
  int value;
  const char* name;
};
struct DeviceObject {
  PyObject_HEAD
  Device device;
};
struct GeneratorObject {
  PyObject_HEAD
  Generator generator;
};

PyObject* dtypes[kNumDTypes + 1];
PyObject* layouts[8];
PyObject* memory_formats[4];

PyObject* constant_repr(PyObject* self) { return PyUnicode_FromFormat("torch.%s", reinterpret_cast<ConstantObject*>(self)->name); }
ScalarType dtype_value(PyObject* self) { return static_cast<ScalarType>(reinterpret_cast<ConstantObject*>(self)->value); }
PyObject* constant_reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(reinterpret_cast<ConstantObject*>(self)->name); }
PyMethodDef constant_methods[] = {{"__reduce__", constant_reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot constant_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(constant_repr)}, {Py_tp_methods, constant_methods}, {}};

PyGetSetDef dtype_properties[] = {
    {"itemsize", [](PyObject* s, void*) { return PyLong_FromSize_t(element_size(dtype_value(s))); }, nullptr, nullptr, nullptr},
    {"is_floating_point", [](PyObject* s, void*) { return PyBool_FromLong(is_floating_type(dtype_value(s))); }, nullptr, nullptr, nullptr},
    {"is_complex", [](PyObject* s, void*) { return PyBool_FromLong(is_complex_type(dtype_value(s))); }, nullptr, nullptr, nullptr},
    {"is_signed", [](PyObject* s, void*) { return PyBool_FromLong(is_signed_type(dtype_value(s))); }, nullptr, nullptr, nullptr},
    {}};
PyType_Slot dtype_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(constant_repr)},
                             {Py_tp_methods, constant_methods},
                             {Py_tp_getset, dtype_properties},
                             {}};

Device& device_of(PyObject* o) { return reinterpret_cast<DeviceObject*>(o)->device; }
PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"type", "index", nullptr};
  PyObject *type, *index = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", const_cast<char**>(names), &type, &index)) return nullptr;
  return guarded([&] {
    Device d = to_device(type);
    if (index != Py_None) d = Device(d.type(), static_cast<DeviceIndex>(to_scalar(index).toInt()));
    return wrap(d);
  });
}
PyObject* device_repr(PyObject* self) {
  const Device d = device_of(self);
  if (!d.has_index()) return PyUnicode_FromFormat("device(type='%s')", device_type_name(d.type()));
  return PyUnicode_FromFormat("device(type='%s', index=%d)", device_type_name(d.type()), d.index());
}
PyObject* device_compare(PyObject* a, PyObject* b, int operation) {
  if (!PyObject_TypeCheck(b, device_type) || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((device_of(a) == device_of(b)) == (operation == Py_EQ));
}
Py_hash_t device_hash(PyObject* self) { return static_cast<Py_hash_t>(std::hash<Device>()(device_of(self))); }
PyGetSetDef device_properties[] = {
    {"type", [](PyObject* s, void*) { return PyUnicode_FromString(device_type_name(device_of(s).type())); }, nullptr, nullptr, nullptr},
    {"index", [](PyObject* s, void*) -> PyObject* {
       if (!device_of(s).has_index()) Py_RETURN_NONE;
       return PyLong_FromLong(device_of(s).index());
     }, nullptr, nullptr, nullptr},
    {}};
PyType_Slot device_slots[] = {{Py_tp_new, reinterpret_cast<void*>(device_new)},
                              {Py_tp_repr, reinterpret_cast<void*>(device_repr)},
                              {Py_tp_str, reinterpret_cast<void*>(+[](PyObject* s) { return PyUnicode_FromString(device_of(s).str().c_str()); })},
                              {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
                              {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
                              {Py_tp_getset, device_properties},
                              {}};

Generator& generator_of(PyObject* o) { return reinterpret_cast<GeneratorObject*>(o)->generator; }
PyObject* generator_new(PyTypeObject*, PyObject*, PyObject*) { return guarded([] { return wrap(make_generator()); }); }
void generator_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  generator_of(self).~Generator();
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* generator_manual_seed(PyObject* self, PyObject* seed) {
  return guarded([&]() -> PyObject* {
    const unsigned long long value = PyLong_AsUnsignedLongLongMask(seed);
    if (PyErr_Occurred()) throw PythonError();
    generator_of(self).set_current_seed(value);
    Py_INCREF(self);
    return self;
  });
}
PyObject* generator_get_state(PyObject* self, PyObject*) {
  const std::vector<uint8_t> state = generator_of(self).get_state();
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(state.data()), static_cast<Py_ssize_t>(state.size()));
}
PyObject* generator_set_state(PyObject* self, PyObject* bytes) {
  return guarded([&]() -> PyObject* {
    char* data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(bytes, &data, &size)) throw PythonError();
    generator_of(self).set_state(std::vector<uint8_t>(data, data + size));
    Py_RETURN_NONE;
  });
}
PyMethodDef generator_methods[] = {
    {"manual_seed", generator_manual_seed, METH_O, nullptr},
    {"initial_seed", [](PyObject* s, PyObject*) { return PyLong_FromUnsignedLongLong(generator_of(s).current_seed()); }, METH_NOARGS, nullptr},
    {"seed", [](PyObject* s, PyObject*) { return PyLong_FromUnsignedLongLong(generator_of(s).seed()); }, METH_NOARGS, nullptr},
    {"_get_state", generator_get_state, METH_NOARGS, nullptr},
    {"_set_state", generator_set_state, METH_O, nullptr},
    {}};
PyType_Slot generator_slots[] = {{Py_tp_new, reinterpret_cast<void*>(generator_new)},
                                 {Py_tp_dealloc, reinterpret_cast<void*>(generator_dealloc)},
                                 {Py_tp_methods, generator_methods},
                                 {}};

PyTypeObject* make_type(PyObject* module, const char* name, int size, PyType_Slot* slots) {
  PyType_Spec spec{name, size, 0, Py_TPFLAGS_DEFAULT, slots};
  auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type) PyModule_AddObjectRef(module, strrchr(name, '.') + 1, reinterpret_cast<PyObject*>(type));
  return type;
}
PyObject* add_constant(PyObject* module, PyTypeObject* type, int value, const char* name) {
  auto* o = PyObject_New(ConstantObject, type);
  o->value = value;
  o->name = name;
  PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(o));
  return reinterpret_cast<PyObject*>(o);
}

bool is_numpy(PyObject* o) { return !strncmp(Py_TYPE(o)->tp_name, "numpy.", 6); }
// A NumPy scalar as Python's number; anything else as it is.
Ref plain_number(PyObject* o) {
  if (!is_numpy(o) || !strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray")) return Ref::share(o);
  return checked(PyObject_CallMethod(o, "item", nullptr));
}
bool is_index(PyObject* o) { return PyLong_Check(o) && !PyBool_Check(o); }
bool is_scalar_tensor(PyObject* o) { return is_tensor(o) && tensor_of(o).dim() == 0 && !(tensor_of(o).requires_grad() && GradMode::is_enabled()); }

bool read_int(PyObject* given, int64_t& out) {
  if (is_tensor(given)) {
    if (tensor_of(given).dim() != 0 || !is_integral_type(tensor_of(given).scalar_type(), false)) return false;
    out = tensor_of(given).item().toLong();
    return true;
  }
  const Ref o = plain_number(given);
  if (!is_index(o.get())) return false;
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
  if (!is_number(given)) return false;
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
  else if (type.kind == TypeKind::Float) out = doubles;
  else out = scalars;
  return true;
}

}  // namespace

template <> PyObject* constant(ScalarType t) { return dtypes[static_cast<int>(t)]; }
template <> PyObject* constant(Layout l) { return layouts[static_cast<int>(l)]; }
template <> PyObject* constant(MemoryFormat f) { return memory_formats[static_cast<int>(f)]; }

bool is_number(PyObject* o) {
  if (PyBool_Check(o) || PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o)) return true;
  if (!is_numpy(o) || !strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray")) return false;
  return PyObject_HasAttrString(o, "item") && PyNumber_Check(o);
}

Scalar to_scalar(PyObject* given) {
  CRESSET_CHECK_TYPE(is_number(given), "expected a number, got ", Py_TYPE(given)->tp_name);
  const Ref o = plain_number(given);
  if (PyBool_Check(o.get())) return o.get() == Py_True;
  if (PyFloat_Check(o.get())) return PyFloat_AS_DOUBLE(o.get());
  if (PyComplex_Check(o.get())) return complex<double>(PyComplex_RealAsDouble(o.get()), PyComplex_ImagAsDouble(o.get()));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(o.get(), &overflow);
  if (!overflow) return static_cast<int64_t>(value);
  const unsigned long long wide = overflow > 0 ? PyLong_AsUnsignedLongLong(o.get()) : 0;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    CRESSET_CHECK(false, "number: the integer does not fit 64 bits");
  }
  return static_cast<uint64_t>(wide);
}

ScalarType to_dtype(PyObject* o) {
  if (PyObject_TypeCheck(o, dtype_type)) return dtype_value(o);
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return ScalarType::Double;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return ScalarType::Bool;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return ScalarType::Long;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return ScalarType::ComplexDouble;
  CRESSET_CHECK_TYPE(false, "dtype: expected a dtype, got ", Py_TYPE(o)->tp_name);
  return ScalarType::Undefined;
}

Device to_device(PyObject* o) {
  if (PyObject_TypeCheck(o, device_type)) return device_of(o);
  CRESSET_CHECK_TYPE(PyUnicode_Check(o), "device: expected a device or its name, got ", Py_TYPE(o)->tp_name);
  return Device(std::string(PyUnicode_AsUTF8(o)));
}

bool read_value(PyObject* o, const dispatch::Type& type, bool relaxed, bool numbers, dispatch::Value& out) {
  using dispatch::TypeKind;
  if (o == Py_None) {
    out = dispatch::Value();
    return type.optional || type.kind == TypeKind::Generator;
  }
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
      const Ref plain = plain_number(o);
      if (!PyBool_Check(plain.get())) return false;
      out = plain.get() == Py_True;
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
      if (!PyObject_TypeCheck(o, device_type) && !PyUnicode_Check(o)) return false;
      out = to_device(o);
      return true;
    case TypeKind::Layout:
      if (!PyObject_TypeCheck(o, layout_type)) return false;
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

PyObject* wrap(Device d) {
  auto* o = PyObject_New(DeviceObject, device_type);
  o->device = d;
  return reinterpret_cast<PyObject*>(o);
}

PyObject* wrap(const Generator& g) {
  auto* o = PyObject_New(GeneratorObject, generator_type);
  new (&o->generator) Generator(g);
  return reinterpret_cast<PyObject*>(o);
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
  const std::vector<Tensor> list = v.to_tensor_list();
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(list[i]));
  return tuple.release();
}

bool add_constants(PyObject* module) {
  dtype_type = make_type(module, "torch.dtype", sizeof(ConstantObject), dtype_slots);
  layout_type = make_type(module, "torch.layout", sizeof(ConstantObject), constant_slots);
  memory_format_type = make_type(module, "torch.memory_format", sizeof(ConstantObject), constant_slots);
  device_type = make_type(module, "torch.device", sizeof(DeviceObject), device_slots);
  generator_type = make_type(module, "torch.Generator", sizeof(GeneratorObject), generator_slots);
  if (!dtype_type || !layout_type || !memory_format_type || !device_type || !generator_type) return false;
  for (int t = 0; t < kNumDTypes; t++) dtypes[t] = add_constant(module, dtype_type, t, dtype_name(static_cast<ScalarType>(t)));
  static const char* layout_names[] = {"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "_mkldnn"};
  for (int l = 0; l < 7; l++) layouts[l] = add_constant(module, layout_type, l, layout_names[l]);
  static const char* format_names[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  for (int f = 0; f < 4; f++) memory_formats[f] = add_constant(module, memory_format_type, f, format_names[f]);
  return true;
}

}  // namespace cresset::python
