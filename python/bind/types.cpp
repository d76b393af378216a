// The small types: dtype, layout, memory_format, device, Size, Generator.

#include <cstring>
#include <string>

#include "cresset/core/fake_mode.h"
#include "python/bind/bind.h"
#include "python/bind/modes/symbols.h"

#include <structmember.h>

namespace cresset::python {

PyTypeObject *dtype_type, *device_type, *layout_type, *memory_format_type, *generator_type, *size_type;

namespace {

// Text of help().
constexpr const char* kDtypeDoc = R"(What kind of numbers a tensor holds: `torch.float32`, `torch.int64` and so on.

>>> torch.float16.itemsize, torch.float16.is_floating_point
(2, True)
)";
constexpr const char* kLayoutDoc = R"(How a tensor's elements are kept; every tensor here is `torch.strided`.

>>> torch.ones(1).layout
torch.strided
)";
constexpr const char* kFormatDoc =
    R"(In which order dimensions follow each other in memory: `torch.contiguous_format`, `torch.channels_last`, `torch.preserve_format`.

>>> torch.empty(1, 2, 3, 3, memory_format=torch.channels_last).stride()
(18, 1, 6, 2)
)";
constexpr const char* kDeviceDoc =
    R"(device(type, index=None): where a tensor lives, made of a name such as "cpu" or "meta". As a context, or around a function, the device of
factories that are told none. RuntimeError for a name that is none.

>>> torch.device("cpu")
device(type='cpu')
>>> with torch.device("meta"):
...     torch.ones(2).device
device(type='meta')
)";
constexpr const char* kSizeDoc = R"(Size(sizes=()): the sizes of a tensor, a tuple of ints.

>>> torch.ones(2, 3).shape.numel()
6
>>> torch.Size([2]) + (3,)
torch.Size([2, 3])
)";
constexpr const char* kGeneratorDoc =
    R"(Generator(device="cpu"): a stream of random numbers of its own, the same as PyTorch's for the same seed. RuntimeError for other devices.

>>> g = torch.Generator().manual_seed(0)
>>> torch.rand(2, generator=g)
tensor([0.4963, 0.7682])
)";

struct DeviceObject {
  PyObject_HEAD Device device;
};
struct GeneratorObject {
  PyObject_HEAD PyObject* weak;
  Generator generator;
};

constexpr int kJaggedLayout = 7;
PyObject* dtypes[kNumDTypes + 1];
PyObject* layouts[8];
PyObject* memory_formats[4];
PyObject* cpu_device;

// Dtypes of which there are the names alone: numbers of a few bits, packed and quantized ones. Programs list and compare them; no tensor has one.
struct NamedDtype {
  const char *name, *abbreviation;
  int size;
  bool is_floating;
  char sign;  // '+' or '-', '?' where the question has no answer
};
constexpr NamedDtype kNamedDtypes[] = {
    {"bits1x8", "b1x8", 1, false, '?'},
    {"bits2x4", "b2x4", 1, false, '?'},
    {"bits4x2", "b4x2", 1, false, '?'},
    {"bits8", "b8x1", 1, false, '?'},
    {"bits16", "b16x1", 2, false, '?'},
    {"int1", "int1", 1, false, '-'},
    {"int2", "int2", 1, false, '-'},
    {"int3", "int3", 1, false, '-'},
    {"int4", "int4", 1, false, '-'},
    {"int5", "int5", 1, false, '-'},
    {"int6", "int6", 1, false, '-'},
    {"int7", "int7", 1, false, '-'},
    {"uint1", "uint1", 1, false, '+'},
    {"uint2", "uint2", 1, false, '+'},
    {"uint3", "uint3", 1, false, '+'},
    {"uint4", "uint4", 1, false, '+'},
    {"uint5", "uint5", 1, false, '+'},
    {"uint6", "uint6", 1, false, '+'},
    {"uint7", "uint7", 1, false, '+'},
    {"qint8", "qint8", 1, false, '?'},
    {"quint8", "quint8", 1, false, '?'},
    {"qint32", "qint32", 4, false, '?'},
    {"quint4x2", "quint4x2", 1, false, '?'},
    {"quint2x4", "quint2x4", 1, false, '?'},
    {"float4_e2m1fn_x2", "f4e2m1fnx2", 1, true, '-'},
};

// ---- constants ---------------------------------------------------------------------------------------------------------

ConstantObject* constant_of(PyObject* o) { return reinterpret_cast<ConstantObject*>(o); }
PyObject* constant_repr(PyObject* self) { return PyUnicode_FromFormat("torch.%s", constant_of(self)->name); }
// The dtype that is a name alone, or null.
const NamedDtype* named_dtype(PyObject* o) {
  const int value = constant_of(o)->value;
  return value > kNumDTypes ? &kNamedDtypes[value - kNumDTypes - 1] : nullptr;
}
ScalarType dtype_value(PyObject* self) {
  const NamedDtype* named = named_dtype(self);
  CRESSET_CHECK_NOT_IMPLEMENTED(!named, "torch.", named ? named->name : "",
                                ": there are no tensors of this dtype, only its name; keep the numbers in uint8 or int8");
  return static_cast<ScalarType>(constant_of(self)->value);
}
PyObject* constant_reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(constant_of(self)->name); }
PyObject* dtype_of_value(ScalarType t) { return Ref::share(constant(t)).release(); }
PyMethodDef constant_methods[] = {{"__reduce__", constant_reduce, METH_NOARGS, nullptr}, {}};
PyObject* dtype_to_complex(PyObject* self, PyObject*) {
  return guarded([&] {
    const ScalarType t = dtype_value(self);
    const bool fits = is_complex_type(t) || t == kHalf || t == kBFloat16 || t == kFloat || t == kDouble;
    CRESSET_CHECK(fits, "to_complex: only floating-point dtypes have a complex one, got ", t);
    return dtype_of_value(to_complex_type(t));
  });
}
PyObject* dtype_to_real(PyObject* self, PyObject*) {
  if (named_dtype(self)) return Py_NewRef(self);
  return guarded([&] { return dtype_of_value(to_real_type(dtype_value(self))); });
}
PyObject* dtype_is_signed(PyObject* self, void*) {
  return guarded([&] {
    const NamedDtype* named = named_dtype(self);
    CRESSET_CHECK(!named || named->sign != '?', "is_signed: numbers of torch.", named ? named->name : "", " have a sign only once they are unpacked");
    return PyBool_FromLong(named ? named->sign == '-' : is_signed_type(dtype_value(self)));
  });
}
// The kind of number by its first letters, the bits, and what tells formats of the same size apart.
PyObject* dtype_abbreviation(PyObject* self, void*) {
  if (const NamedDtype* named = named_dtype(self)) return PyUnicode_FromString(named->abbreviation);
  const std::string_view name = constant_of(self)->name;
  if (name == "bool") return PyUnicode_FromString("b8");
  static constexpr std::string_view kKinds[][2] = {{"bfloat", "bf"}, {"float8_", "f8"}, {"float", "f"}, {"complex", "c"}, {"int", "i"}, {"uint", "u"}};
  for (const auto& [kind, letters] : kKinds)
    if (name.substr(0, kind.size()) == kind) return PyUnicode_FromString((std::string(letters) + std::string(name.substr(kind.size()))).c_str());
  return PyUnicode_FromString(constant_of(self)->name);
}
PyMethodDef dtype_methods[] = {{"__reduce__", constant_reduce, METH_NOARGS, nullptr},
                               {"to_real", dtype_to_real, METH_NOARGS, nullptr},
                               {"to_complex", dtype_to_complex, METH_NOARGS, nullptr},
                               {}};
PyType_Slot layout_slots[] = {
    {Py_tp_doc, const_cast<char*>(kLayoutDoc)}, {Py_tp_repr, reinterpret_cast<void*>(constant_repr)}, {Py_tp_methods, constant_methods}, {}};
PyType_Slot format_slots[] = {
    {Py_tp_doc, const_cast<char*>(kFormatDoc)}, {Py_tp_repr, reinterpret_cast<void*>(constant_repr)}, {Py_tp_methods, constant_methods}, {}};

PyGetSetDef dtype_properties[] = {
    {"itemsize",
     [](PyObject* s, void*) {
       const NamedDtype* named = named_dtype(s);
       return PyLong_FromSize_t(named ? static_cast<size_t>(named->size) : element_size(dtype_value(s)));
     },
     nullptr, nullptr, nullptr},
    {"is_floating_point",
     [](PyObject* s, void*) {
       const NamedDtype* named = named_dtype(s);
       return PyBool_FromLong(named ? named->is_floating : is_floating_type(dtype_value(s)));
     },
     nullptr, nullptr, nullptr},
    {"is_complex", [](PyObject* s, void*) { return PyBool_FromLong(!named_dtype(s) && is_complex_type(dtype_value(s))); }, nullptr, nullptr, nullptr},
    {"is_signed", dtype_is_signed, nullptr, nullptr, nullptr},
    {"abbr", dtype_abbreviation, nullptr, nullptr, nullptr},
    {}};
PyType_Slot dtype_slots[] = {{Py_tp_doc, const_cast<char*>(kDtypeDoc)},
                             {Py_tp_repr, reinterpret_cast<void*>(constant_repr)},
                             {Py_tp_methods, dtype_methods},
                             {Py_tp_getset, dtype_properties},
                             {}};

// ---- device ------------------------------------------------------------------------------------------------------------

Device& device_of(PyObject* o) { return reinterpret_cast<DeviceObject*>(o)->device; }
PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"type", "index", nullptr};
  PyObject *type, *index = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &type, &index)) return nullptr;
  return guarded([&] {
    Device d = to_device(type);
    if (index != Py_None) {
      CRESSET_CHECK(!PyUnicode_Check(type) || !d.has_index(), "device: the index is given twice, in the text and as a number");
      const int64_t i = to_scalar(index).toLong();
      CRESSET_CHECK(i >= 0 && i < 128, "device: expected an index from 0 to 127, got ", i);
      d = Device(d.type(), static_cast<DeviceIndex>(i));
    }
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
PyObject* device_reduce(PyObject* self, PyObject*) {
  const Device d = device_of(self);
  if (!d.has_index()) return Py_BuildValue("O(s)", device_type, device_type_name(d.type()));
  return Py_BuildValue("O(si)", device_type, device_type_name(d.type()), d.index());
}
// As a context, and around a function: the device that factories use when none is named.
PyObject* device_delegate(const char* function, PyObject* self, PyObject* argument) {
  return guarded([&] { return PyObject_CallFunctionObjArgs(package_function(function), self, argument, nullptr); });
}
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr},
                                {"__enter__", [](PyObject* s, PyObject*) { return device_delegate("_enter_device", s, nullptr); }, METH_NOARGS, nullptr},
                                {"__exit__", [](PyObject* s, PyObject*) { return device_delegate("_exit_device", s, nullptr); }, METH_VARARGS, nullptr},
                                {}};
PyObject* device_call(PyObject* self, PyObject* args, PyObject*) {
  PyObject* function;
  if (!PyArg_ParseTuple(args, "O", &function)) return nullptr;
  return device_delegate("_device_decorator", self, function);
}
PyGetSetDef device_properties[] = {
    {"type", [](PyObject* s, void*) { return PyUnicode_FromString(device_type_name(device_of(s).type())); }, nullptr, nullptr, nullptr},
    {"index",
     [](PyObject* s, void*) -> PyObject* {
       if (!device_of(s).has_index()) Py_RETURN_NONE;
       return PyLong_FromLong(device_of(s).index());
     },
     nullptr, nullptr, nullptr},
    {}};
PyType_Slot device_slots[] = {{Py_tp_doc, const_cast<char*>(kDeviceDoc)},
                              {Py_tp_new, reinterpret_cast<void*>(device_new)},
                              {Py_tp_repr, reinterpret_cast<void*>(device_repr)},
                              {Py_tp_str, reinterpret_cast<void*>(+[](PyObject* s) { return PyUnicode_FromString(device_of(s).str().c_str()); })},
                              {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
                              {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
                              {Py_tp_call, reinterpret_cast<void*>(device_call)},
                              {Py_tp_methods, device_methods},
                              {Py_tp_getset, device_properties},
                              {}};

// ---- Size --------------------------------------------------------------------------------------------------------------

PyObject* as_size(PyObject* tuple) {
  if (!tuple || !PyTuple_CheckExact(tuple)) return tuple;
  const Ref owned(tuple);
  const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  PyObject* size = size_type->tp_alloc(size_type, n);
  for (Py_ssize_t i = 0; size && i < n; i++) PyTuple_SET_ITEM(size, i, Ref::share(PyTuple_GET_ITEM(tuple, i)).release());
  return size;
}
PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  Ref self(PyTuple_Type.tp_new(type, args, kwargs));
  if (!self) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self.get()); i++) {
    PyObject* item = PyTuple_GET_ITEM(self.get(), i);
    if (PyLong_Check(item) || is_symbol(item)) continue;
    PyObject* number = is_tensor(item) && tensor_of(item).numel() != 1 ? nullptr : PyNumber_Index(item);
    if (!number) {
      PyErr_Clear();
      return PyErr_Format(PyExc_TypeError, "torch.Size: expected ints (item %zd is '%s')", i, Py_TYPE(item)->tp_name);
    }
    PyTuple_SET_ITEM(self.get(), i, number);
    Py_DECREF(item);
  }
  return self.release();
}
PyObject* size_repr(PyObject* self) {
  Ref list(PySequence_List(self));
  return list ? PyUnicode_FromFormat("torch.Size(%R)", list.get()) : nullptr;
}
PyObject* size_numel(PyObject* self, PyObject*) {
  Ref product(PyLong_FromLong(1));
  for (Py_ssize_t i = 0; product && i < PyTuple_GET_SIZE(self); i++) product = Ref(PyNumber_Multiply(product.get(), PyTuple_GET_ITEM(self, i)));
  return product.release();
}
PyObject* size_reduce(PyObject* self, PyObject*) {
  Ref list(PySequence_List(self));
  Ref plain(list ? PyList_AsTuple(list.get()) : nullptr);
  return plain ? Py_BuildValue("O(O)", size_type, plain.get()) : nullptr;
}
PyObject* size_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* size_concat(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(b)) return PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not %s) to torch.Size", Py_TYPE(b)->tp_name);
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* size_repeat(PyObject* a, Py_ssize_t n) { return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(a, n)); }
PyObject* size_subscript(PyObject* self, PyObject* index) {
  PyObject* item = PyTuple_Type.tp_as_mapping->mp_subscript(self, index);
  return PySlice_Check(index) ? as_size(item) : item;
}
PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS, nullptr}, {"__reduce__", size_reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot size_slots[] = {{Py_tp_doc, const_cast<char*>(kSizeDoc)},
                            {Py_tp_new, reinterpret_cast<void*>(size_new)},
                            {Py_tp_repr, reinterpret_cast<void*>(size_repr)},
                            {Py_nb_add, reinterpret_cast<void*>(size_add)},
                            {Py_sq_concat, reinterpret_cast<void*>(size_concat)},
                            {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
                            {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
                            {Py_tp_methods, size_methods},
                            {}};

// ---- Generator ---------------------------------------------------------------------------------------------------------

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"device", nullptr};
  PyObject* device = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &device)) return nullptr;
  return guarded([&] {
    const Device d = device == Py_None ? Device(kCPU) : to_device(device);
    CRESSET_CHECK(d.is_cpu(), "generator: no random numbers are made on ", d, ", expected cpu");
    Ref self = checked(type->tp_alloc(type, 0));
    new (&reinterpret_cast<GeneratorObject*>(self.get())->generator) Generator(make_generator());
    return self.release();
  });
}
void generator_dealloc(PyObject* self) {
  auto* o = reinterpret_cast<GeneratorObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  if (o->weak) PyObject_ClearWeakRefs(self);
  o->generator.~Generator();
  type->tp_free(self);
  Py_DECREF(type);
}
uint64_t seed_of(PyObject* seed) {
  const Ref plain = PyIndex_Check(seed) && !PyBool_Check(seed) ? checked(PyNumber_Index(seed)) : Ref();
  if (!plain) {
    PyErr_Format(PyExc_RuntimeError, "manual_seed expected a long, but got %s", Py_TYPE(seed)->tp_name);
    throw PythonError();
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(plain.get(), &overflow);
  if (overflow == 0) return static_cast<uint64_t>(value);
  const unsigned long long wide = overflow > 0 ? PyLong_AsUnsignedLongLong(plain.get()) : 0;
  const bool failed = overflow < 0 || PyErr_Occurred();
  PyErr_Clear();
  CRESSET_CHECK_VALUE(!failed, "manual_seed: the seed must lie within [-0x8000000000000000, 0xffffffffffffffff]");
  return wide;
}
// A generator that no other thread uses while this is there.
struct LockedGenerator {
  Generator& generator;
  std::lock_guard<std::mutex> lock;
};
LockedGenerator locked(PyObject* self) {
  Generator& generator = generator_of(self);
  return {generator, std::lock_guard<std::mutex>(generator.mutex())};
}

PyObject* generator_manual_seed(PyObject* self, PyObject* seed) {
  return guarded([&] {
    const uint64_t value = seed_of(seed);
    locked(self).generator.set_current_seed(value);
    return Ref::share(self).release();
  });
}
PyObject* generator_get_state(PyObject* self, PyObject*) {
  return guarded([&] {
    const std::vector<uint8_t> state = locked(self).generator.get_state();
    const FakeModeScope off(nullptr);
    const ExcludeLayers none(layer_bit(Layer::Functionalize) | layer_bit(Layer::Profiler));
    const Tensor t = empty({static_cast<int64_t>(state.size())}, kByte);
    memcpy(t.data_ptr(), state.data(), state.size());
    return wrap(t);
  });
}
PyObject* generator_set_state(PyObject* self, PyObject* state) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(is_tensor(state), "set_state: expected a torch.ByteTensor, got ", Py_TYPE(state)->tp_name);
    const Tensor& t = tensor_of(state);
    CRESSET_CHECK_TYPE(t.scalar_type() == kByte && t.is_cpu() && !t.lacks_data() && t.is_contiguous(),
                       "set_state: expected a contiguous torch.ByteTensor, got ", t);
    const auto* bytes = static_cast<const uint8_t*>(t.data_ptr());
    locked(self).generator.set_state(std::vector<uint8_t>(bytes, bytes + t.numel()));
    return Ref::share(self).release();
  });
}
PyObject* generator_clone(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(locked(self).generator.clone()); });
}
PyObject* generator_reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    const Ref rebuild = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(generator_type), "_rebuild"));
    const Ref state(generator_get_state(self, nullptr));
    return Py_BuildValue("O(O)", rebuild.get(), state.get());
  });
}
PyObject* generator_rebuild(PyObject*, PyObject* state) {
  return guarded([&] {
    const Ref made(wrap(make_generator()));
    return generator_set_state(made.get(), state);
  });
}
PyObject* generator_no_offset(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_RuntimeError, "offset: the generator of the CPU has a state, no offset; use get_state() and set_state()");
  return nullptr;
}
PyObject* generator_no_graph(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_NotImplementedError, "graphsafe state: only generators of devices that record graphs have one; use get_state() and set_state()");
  return nullptr;
}
PyMethodDef generator_methods[] = {
    {"manual_seed", generator_manual_seed, METH_O, nullptr},
    {"initial_seed", [](PyObject* s, PyObject*) { return PyLong_FromUnsignedLongLong(locked(s).generator.current_seed()); }, METH_NOARGS, nullptr},
    {"seed", [](PyObject* s, PyObject*) { return PyLong_FromUnsignedLongLong(locked(s).generator.seed()); }, METH_NOARGS, nullptr},
    {"get_state", generator_get_state, METH_NOARGS, nullptr},
    {"set_state", generator_set_state, METH_O, nullptr},
    {"clone_state", generator_clone, METH_NOARGS, nullptr},
    {"get_offset", generator_no_offset, METH_NOARGS, nullptr},
    {"set_offset", generator_no_offset, METH_O, nullptr},
    {"graphsafe_get_state", generator_no_graph, METH_NOARGS, nullptr},
    {"graphsafe_set_state", generator_no_graph, METH_O, nullptr},
    {"__reduce__", generator_reduce, METH_NOARGS, nullptr},
    {"_rebuild", generator_rebuild, METH_O | METH_STATIC, nullptr},
    {}};
PyGetSetDef generator_properties[] = {{"device", [](PyObject* s, void*) { return wrap(generator_of(s).device()); }, nullptr, nullptr, nullptr}, {}};
PyMemberDef generator_members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(GeneratorObject, weak), READONLY, nullptr}, {}};
PyType_Slot generator_slots[] = {{Py_tp_doc, const_cast<char*>(kGeneratorDoc)},
                                 {Py_tp_new, reinterpret_cast<void*>(generator_new)},
                                 {Py_tp_dealloc, reinterpret_cast<void*>(generator_dealloc)},
                                 {Py_tp_methods, generator_methods},
                                 {Py_tp_getset, generator_properties},
                                 {Py_tp_members, generator_members},
                                 {}};

PyTypeObject* make_type(PyObject* module, const char* name, size_t size, PyType_Slot* slots, unsigned flags = 0, PyTypeObject* base = nullptr) {
  PyType_Spec spec{name, static_cast<int>(size), 0, Py_TPFLAGS_DEFAULT | flags, slots};
  auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(base)));
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

}  // namespace

template <> PyObject* constant(ScalarType t) { return dtypes[static_cast<int>(t)]; }
template <> PyObject* constant(Layout l) { return layouts[static_cast<int>(l)]; }
template <> PyObject* constant(MemoryFormat f) { return memory_formats[static_cast<int>(f)]; }

Generator& generator_of(PyObject* o) { return reinterpret_cast<GeneratorObject*>(o)->generator; }

ScalarType to_dtype(PyObject* o) {
  if (Py_TYPE(o) == dtype_type) return dtype_value(o);
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return ScalarType::Double;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return ScalarType::Bool;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return ScalarType::Long;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return ScalarType::ComplexDouble;
  CRESSET_CHECK_TYPE(false, "dtype: expected a dtype, got ", Py_TYPE(o)->tp_name);
  return ScalarType::Undefined;
}

Device to_device(PyObject* o) {
  if (PyObject_TypeCheck(o, device_type)) return device_of(o);
  if (PyLong_Check(o) && !PyBool_Check(o)) {
    const long i = PyLong_AsLong(o);
    CRESSET_CHECK(i >= 0 && i < 128, "device: expected an index from 0 to 127, got ", i);
    return Device(kCUDA, static_cast<DeviceIndex>(i));
  }
  CRESSET_CHECK_TYPE(PyUnicode_Check(o), "device: expected a device or its name, got ", Py_TYPE(o)->tp_name);
  return Device(std::string(PyUnicode_AsUTF8(o)));
}

PyObject* wrap(Device d) {
  if (CRESSET_LIKELY(d == Device(kCPU) && cpu_device)) return Ref::share(cpu_device).release();
  auto* o = PyObject_New(DeviceObject, device_type);
  o->device = d;
  return reinterpret_cast<PyObject*>(o);
}

PyObject* wrap(const Generator& g) {
  PyObject* o = checked(generator_type->tp_alloc(generator_type, 0)).release();
  new (&reinterpret_cast<GeneratorObject*>(o)->generator) Generator(g);
  return o;
}

uint64_t to_seed(PyObject* o) { return seed_of(o); }

PyObject* wrap_size(IntArrayRef sizes) {
  PyObject* size = size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(sizes.size()));
  if (!size) throw PythonError();
  for (size_t i = 0; i < sizes.size(); i++) PyTuple_SET_ITEM(size, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  return size;
}

bool add_constants(PyObject* module) {
  dtype_type = make_type(module, "cresset.dtype", sizeof(ConstantObject), dtype_slots);
  layout_type = make_type(module, "cresset.layout", sizeof(ConstantObject), layout_slots);
  memory_format_type = make_type(module, "cresset.memory_format", sizeof(ConstantObject), format_slots);
  device_type = make_type(module, "cresset.device", sizeof(DeviceObject), device_slots);
  size_type = make_type(module, "cresset.Size", 0, size_slots, 0, &PyTuple_Type);
  generator_type = make_type(module, "cresset.Generator", sizeof(GeneratorObject), generator_slots, Py_TPFLAGS_BASETYPE);
  if (!dtype_type || !layout_type || !memory_format_type || !device_type || !generator_type || !size_type) return false;
  cpu_device = wrap(Device(kCPU));
  for (int t = 0; t < kNumDTypes; t++) dtypes[t] = add_constant(module, dtype_type, t, dtype_name(static_cast<ScalarType>(t)));
  int named = kNumDTypes;
  for (const NamedDtype& d : kNamedDtypes) add_constant(module, dtype_type, ++named, d.name);
  static const char* layout_names[] = {"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "_mkldnn"};
  for (int l = 0; l < 7; l++) layouts[l] = add_constant(module, layout_type, l, layout_names[l]);
  // No tensor of the library has this layout; torch.nested answers it for its own.
  layouts[kJaggedLayout] = add_constant(module, layout_type, kJaggedLayout, "jagged");
  static const char* format_names[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  for (int f = 0; f < 4; f++) memory_formats[f] = add_constant(module, memory_format_type, f, format_names[f]);
  return true;
}

}  // namespace cresset::python
