// Data from outside: nested sequences of numbers, NumPy's arrays, buffers, DLPack.

#include <cstring>
#include <type_traits>

#include "cresset/core/fake_mode.h"
#include "cresset/core/observed.h"
#include "cresset/core/raw_bool.h"
#include "cresset/ops/layout/dlpack.h"
#include "cresset/ops/layout/from_data.h"
#include "python/bind/autograd.h"
#include "python/bind/outside/lent_buffer.h"
#include "python/bind/tensor.h"

namespace cresset::python {

namespace {

// ---- nested sequences --------------------------------------------------------------------------------------------------

constexpr size_t kMaxDims = 128;

[[noreturn]] void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw PythonError();
}

// Lists and tuples as they are, whatever else can be walked through as lists.
Ref items_of(PyObject* o) { return checked(PySequence_Fast(o, "not a sequence")); }

std::vector<int64_t> sizes_of(PyObject* data) {
  std::vector<int64_t> sizes;
  Ref at = Ref::share(data);
  while (!is_tensor(at.get()) && PySequence_Check(at.get())) {
    const Py_ssize_t n = PySequence_Size(at.get());
    if (n < 0) throw PythonError();
    sizes.push_back(n);
    if (sizes.size() > kMaxDims) raise(PyExc_ValueError, std::string("too many dimensions '") + Py_TYPE(at.get())->tp_name + "'");
    if (n == 0) break;
    Ref first(PySequence_GetItem(at.get(), 0));
    if (!first) {
      PyErr_Clear();
      raise(PyExc_ValueError, std::string("could not read the first item of a sequence of type '") + Py_TYPE(at.get())->tp_name + "', which gives its shape");
    }
    at = std::move(first);
  }
  return sizes;
}

ScalarType dtype_of_array(PyObject* array) {
  const Ref dtype = checked(PyObject_CallOneArg(package_function("_dtype_of_numpy"), array));
  return to_dtype(dtype.get());
}

ScalarType inferred(PyObject* o) {
  if (PyFloat_CheckExact(o)) return get_default_dtype();
  if (PyBool_Check(o)) return kBool;
  if (PyLong_CheckExact(o)) return kLong;
  if (is_tensor(o)) return tensor_of(o).scalar_type();
  if (is_numpy(o)) return dtype_of_array(o);
  if (PyFloat_Check(o)) return get_default_dtype();
  if (PyLong_Check(o)) return kLong;
  if (PyComplex_Check(o)) {
    CRESSET_CHECK(get_default_dtype() != kBFloat16, "invalid default scalar type for complex: there is none that goes with bfloat16");
    return to_complex_type(get_default_dtype());
  }
  if (PyUnicode_Check(o) || PyBytes_Check(o)) raise(PyExc_TypeError, std::string("new(): invalid data type '") + Py_TYPE(o)->tp_name + "'");
  if (!PySequence_Check(o)) raise(PyExc_RuntimeError, std::string("Could not infer dtype of ") + Py_TYPE(o)->tp_name);
  const Ref items = items_of(o);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
  if (n == 0) return get_default_dtype();
  ScalarType type = inferred(PySequence_Fast_GET_ITEM(items.get(), 0));
  for (Py_ssize_t i = 1; i < n && type != kComplexDouble; i++) {
    if (PySequence_Fast_GET_ITEM(items.get(), i) == o) raise(PyExc_TypeError, "new: a list contains itself");
    const ScalarType next = inferred(PySequence_Fast_GET_ITEM(items.get(), i));
    if (next != type) type = promote_types(type, next);
  }
  return type;
}

Scalar integer_in(PyObject* o) {
  const Ref index = checked(PyNumber_Index(o));
  int overflow;
  const long long v = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow == 0) return static_cast<int64_t>(v);
  const unsigned long long wide = overflow > 0 ? PyLong_AsUnsignedLongLong(index.get()) : 0;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    raise(PyExc_ValueError, "Overflow when unpacking long long");
  }
  return static_cast<uint64_t>(wide);
}

template <class T> T number_in(PyObject* o) {
  if (!is_complex<T>::value && CRESSET_UNLIKELY(is_numpy(o)) && !PyFloat_Check(o) && !PyComplex_Check(o) && (std::is_integral_v<T>)&&!PyIndex_Check(o) &&
      strcmp(Py_TYPE(o)->tp_name, "numpy.bool_") != 0 && strcmp(Py_TYPE(o)->tp_name, "numpy.bool") != 0)
    raise(PyExc_TypeError, str("'", Py_TYPE(o)->tp_name, "' is no integer"));
  if constexpr (std::is_same_v<T, bool>) {
    if (!PyNumber_Check(o) || is_tensor(o)) return integer_in(o).to<bool>();
    const int on = PyObject_IsTrue(o);
    if (on < 0) throw PythonError();
    return on == 1;
  } else if constexpr (std::is_integral_v<T>) {
    if (PyFloat_Check(o)) {
      if (std::is_same_v<T, uint64_t>) raise(PyExc_TypeError, "an integer is required");
      return Scalar(PyFloat_AS_DOUBLE(o)).to<T>();
    }
    const Scalar v = integer_in(o);
    if (v.tag() == Scalar::Tag::UInt64 && !std::is_same_v<T, uint64_t>) raise(PyExc_ValueError, "Overflow when unpacking long long");
    return v.to<T>();
  } else if constexpr (is_complex<T>::value) {
    const Py_complex v = PyComplex_AsCComplex(o);
    if (v.real == -1.0 && PyErr_Occurred()) throw PythonError();
    return Scalar(complex<double>(v.real, v.imag)).as<T>();
  } else {
    const double v = PyFloat_AsDouble(o);
    if (v == -1.0 && PyErr_Occurred()) throw PythonError();
    return Scalar(v).as<T>();
  }
}

template <class T> void store(T*& out, IntArrayRef sizes, size_t d, PyObject* data) {
  if (d == sizes.size()) {
    if (CRESSET_UNLIKELY(is_tensor(data)) && tensor_of(data).numel() != 1)
      std::is_integral_v<T> ? raise(PyExc_TypeError, "__index__: expected one element of an integer dtype")
                            : raise(PyExc_ValueError, "expected a tensor of one element to make a Python number of");
    *out++ = number_in<T>(data);
    return;
  }
  const Ref items = items_of(data);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
  if (n != sizes[d])
    raise(PyExc_ValueError, str("expected sequence of length ", sizes[d], " at dim ", static_cast<int64_t>(d), " (got ", static_cast<int64_t>(n), ")"));
  for (Py_ssize_t i = 0; i < n; i++) store(out, sizes, d + 1, PySequence_Fast_GET_ITEM(items.get(), i));
}

// Fake tensor for one made from numbers, under a mode that makes tensors fake.
Tensor in_mode(FakeMode* mode, const Tensor& real) { return mode ? Tensor(mode->constant(*real.impl(), real.device())) : real; }

// from_nested(data, dtype or None): numbers, and sequences of sequences of them.
PyObject* from_nested(PyObject*, PyObject* args) {
  PyObject *data, *dtype;
  if (!PyArg_ParseTuple(args, "OO", &data, &dtype)) return nullptr;
  return guarded([&]() -> PyObject* {
    if (PyUnicode_Check(data)) raise(PyExc_TypeError, "new(): invalid data type 'str'");
    const std::vector<int64_t> sizes = sizes_of(data);
    const ScalarType type = dtype == Py_None ? inferred(data) : to_dtype(dtype);
    if (dtype != Py_None && PyBytes_Check(data)) inferred(data);
    FakeMode* const fake = layer_state().fake_mode;
    const FakeModeScope off(nullptr);
    // Memory of its own to write to, whatever calls are made into.
    const ExcludeLayers none(layer_bit(Layer::Functionalize));
    const Tensor t = empty(sizes, compute_type(type));
    if (t.numel() == 0 && !sizes.empty()) return wrap(in_mode(fake, t.to(type)));
    switch (t.scalar_type()) {
#define CRESSET_STORE(T, Name)              \
  case ScalarType::Name: {                  \
    T* out = static_cast<T*>(t.data_ptr()); \
    store<T>(out, sizes, 0, data);          \
    break;                                  \
  }
      CRESSET_FOR_EACH_DTYPE(CRESSET_STORE)
#undef CRESSET_STORE
      default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "tensor: no such dtype as ", type);
    }
    const Tensor made = t.to(type);
    observe_method("lift_fresh", made);
    observe_method("detach_", made);
    return wrap(in_mode(fake, made));
  });
}

// ---- memory of others --------------------------------------------------------------------------------------------------

Tensor over_memory(void* data, IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, PyObject* owner) {
  PyObject* kept = Ref::share(owner).release();
  auto release = [kept](void*) {
    if (!Py_IsInitialized()) return;
    const Gil gil;
    Py_DECREF(kept);
  };
  return in_mode(layer_state().fake_mode, from_blob(data, sizes, strides, release, dtype));
}

// from_pointer(address, sizes, strides in elements, dtype, owner): memory of `owner`, which lives as long as the tensor.
PyObject* from_pointer(PyObject*, PyObject* args) {
  Py_ssize_t address;
  PyObject *sizes, *strides, *dtype, *owner;
  if (!PyArg_ParseTuple(args, "nOOOO", &address, &sizes, &strides, &dtype, &owner)) return nullptr;
  return guarded([&] {
    return wrap(over_memory(reinterpret_cast<void*>(address), to_int_list(sizes, "sizes"), to_int_list(strides, "strides"), to_dtype(dtype), owner));
  });
}

// from_buffer(object, dtype, count, offset, shared=False): `shared` memory is a worker's, which lends it (`LentBuffer`).
PyObject* from_buffer(PyObject*, PyObject* args) {
  PyObject *object, *dtype;
  Py_ssize_t count, offset;
  int shared = 0;
  if (!PyArg_ParseTuple(args, "OOnn|p", &object, &dtype, &count, &offset, &shared)) return nullptr;
  return guarded([&] {
    CRESSET_CHECK_VALUE(PyObject_CheckBuffer(object), "frombuffer: expected an object with the buffer protocol");
    const ScalarType type = to_dtype(dtype);
    const auto item = static_cast<Py_ssize_t>(element_size(type));
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE)) throw PythonError();
    const Py_ssize_t bytes = view.len;
    void* data = view.buf;
    const bool readonly = view.readonly != 0;
    PyBuffer_Release(&view);
    CRESSET_CHECK_VALUE(bytes > 0 && count != 0, "both buffer length (", bytes, ") and count (", count, ") must not be 0");
    CRESSET_CHECK_VALUE(offset >= 0 && offset < bytes, "offset (", offset, " bytes) lies outside the buffer of (", bytes, " bytes) minus 1");
    CRESSET_CHECK_VALUE(count > 0 || (bytes - offset) % item == 0, "buffer length (", bytes - offset, " bytes) after offset (", offset,
                        " bytes) is no multiple of the element's size (", item, ")");
    const Py_ssize_t n = count < 0 ? (bytes - offset) / item : count;
    CRESSET_CHECK_VALUE(offset + n * item <= bytes, "requested buffer length (", n, " * ", item, " bytes) after offset (", offset,
                        " bytes) goes beyond the buffer of (", bytes, " bytes)");
    if (readonly && PyErr_WarnEx(PyExc_UserWarning, "the buffer is not writable: writing to the tensor is undefined", 1)) throw PythonError();
    // The view is held, so that the object cannot move its memory.
    const Ref held = checked(PyMemoryView_FromObject(object));
    if (!shared) return wrap(over_memory(static_cast<char*>(data) + offset, {n}, {1}, type, held.get()));
    const auto owner = make_intrusive<LentBuffer>(held.get());
    const auto storage = make_intrusive<StorageImpl>(static_cast<char*>(data) + offset, static_cast<size_t>(n * item), Device(kCPU), owner);
    auto impl = make_intrusive<TensorImpl>(storage, type, Device(kCPU));
    impl->set_geometry({n}, {1}, 0);
    return wrap(in_mode(layer_state().fake_mode, Tensor(std::move(impl))));
  });
}

// ---- the buffer protocol: a tensor's memory for memoryview, NumPy, hashlib, files -----------------------------------------

// Whether the values lie in the memory of the CPU: not those of wrappers, other layouts, meta and fake tensors.
bool has_memory(const Tensor& t) { return t.impl()->has_storage() && t.impl()->backend() == kCpuBackend; }

// Owner behind a Py_buffer: the storage, whatever becomes of the tensor, and the geometry at the time.
struct LentMemory {
  explicit LentMemory(const Tensor& t) : storage(t.impl()->storage()), shape(t.sizes().begin(), t.sizes().end()) {
    const auto item = static_cast<Py_ssize_t>(t.element_size());
    for (const int64_t s : t.strides()) strides.push_back(t.numel() ? s * item : 0);
    storage->lend();
  }
  ~LentMemory() { storage->take_back(); }
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  intrusive_ptr<StorageImpl> storage;
  std::vector<Py_ssize_t> shape, strides;
};

// Of PEP 3118; null where it has no code for the dtype.
const char* buffer_format(ScalarType t) {
  switch (t) {
    case kBool: return "?";
    case kByte: return "B";
    case kChar: return "b";
    case kShort: return "h";
    case kUInt16: return "H";
    case kInt: return "i";
    case kUInt32: return "I";
    case kLong: return "l";
    case kUInt64: return "L";
    case kHalf: return "e";
    case kFloat: return "f";
    case kDouble: return "d";
    case kComplexFloat: return "Zf";
    case kComplexDouble: return "Zd";
    default: return nullptr;
  }
}
static_assert(sizeof(long) == 8, "the codes l and L stand for 64 bits");

bool is_column_major(const Tensor& t) {
  int64_t dense = 1;
  for (int64_t d = 0; d < t.dim(); d++) {
    if (t.size(d) != 1 && t.stride(d) != dense) return t.numel() == 0;
    dense *= t.size(d);
  }
  return true;
}

// A subclass that says itself what NumPy gets, or watches what is called on it, does not lend its memory behind its own back.
bool is_plain(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (type == tensor_type) return true;
  for (const char* name : {"__array__", "__torch_function__", "__torch_dispatch__"}) {
    const Ref key = checked(PyUnicode_InternFromString(name));
    if (_PyType_Lookup(type, key.get()) != _PyType_Lookup(tensor_type, key.get())) return false;
  }
  return true;
}

// ---- DLPack ------------------------------------------------------------------------------------------------------------

template <class Managed> constexpr const char* kCapsule = "dltensor";
template <> constexpr const char* kCapsule<DLManagedTensorVersioned> = "dltensor_versioned";

template <class Managed> void drop_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kCapsule<Managed>)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kCapsule<Managed>));
  if (managed->deleter) managed->deleter(managed);
}

template <class Managed> PyObject* capsule_of(Managed* managed) { return PyCapsule_New(managed, kCapsule<Managed>, drop_capsule<Managed>); }

// to_dlpack(tensor, versioned, copied)
PyObject* to_dlpack(PyObject*, PyObject* args) {
  PyObject* object;
  int versioned, copied;
  if (!PyArg_ParseTuple(args, "O!pp", tensor_type, &object, &versioned, &copied)) return nullptr;
  return guarded([&] {
    const Tensor& t = tensor_of(object);
    if (!has_memory(t)) raise(PyExc_BufferError, "__dlpack__: the values of the tensor do not lie in the memory of the CPU");
    if (!versioned) return capsule_of(toDLPack(t));
    DLManagedTensorVersioned* managed = toDLPackVersioned(t);
    if (copied) managed->flags = DLPACK_FLAG_BITMASK_IS_COPIED;
    return capsule_of(managed);
  });
}

template <class Managed> PyObject* taken_from(PyObject* capsule) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kCapsule<Managed>));
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
    if (managed->version.major != 1) raise(PyExc_BufferError, str("from_dlpack: got a capsule of DLPack version ", managed->version.major, ", expected 1"));
    if ((managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) &&
        PyErr_WarnEx(PyExc_UserWarning, "from_dlpack: the memory is read-only: writing to the tensor is undefined", 1))
      throw PythonError();
  }
  const auto release = [managed](void*) {
    if (!managed->deleter || !Py_IsInitialized()) return;
    const Gil gil;  // the deleter may belong to Python
    managed->deleter(managed);
  };
  Tensor t;
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) t = fromDLPackVersioned(managed, release);
  else t = fromDLPack(managed, release);
  PyCapsule_SetName(capsule, std::is_same_v<Managed, DLManagedTensorVersioned> ? "used_dltensor_versioned" : "used_dltensor");
  return wrap(t);
}

PyObject* from_dlpack(PyObject*, PyObject* capsule) {
  return guarded([&] {
    if (PyCapsule_IsValid(capsule, kCapsule<DLManagedTensorVersioned>)) return taken_from<DLManagedTensorVersioned>(capsule);
    if (!PyCapsule_IsValid(capsule, kCapsule<DLManagedTensor>))
      raise(PyExc_RuntimeError, "from_dlpack: expected a capsule that was not read yet; each can be read once");
    return taken_from<DLManagedTensor>(capsule);
  });
}

PyMethodDef functions[] = {{"from_nested", from_nested, METH_VARARGS, nullptr}, {"from_pointer", from_pointer, METH_VARARGS, nullptr},
                           {"from_buffer", from_buffer, METH_VARARGS, nullptr}, {"to_dlpack", to_dlpack, METH_VARARGS, nullptr},
                           {"from_dlpack", from_dlpack, METH_O, nullptr},       {}};

}  // namespace

int lend_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded(
      [&] {
        const Tensor& t = tensor_of(self);
        const char* format = buffer_format(t.scalar_type());
        const auto refuse = [](const std::string& why) { raise(PyExc_BufferError, "the memory of a tensor cannot be lent as a buffer: " + why); };
        if (!is_plain(self)) refuse(std::string("the class ") + Py_TYPE(self)->tp_name + " has methods of its own for it");
        if (!has_memory(t) || t.impl()->is_conj() || is_negative_view(*t.impl())) refuse("its values do not lie in the memory of the CPU as they are");
        if (t.requires_grad()) refuse("it requires grad. Use tensor.detach()");
        if (!format) refuse(str("there is no format for ", t.scalar_type()));
        const bool rows = t.is_contiguous(), columns = is_column_major(t);
        const auto wants = [flags](int flag) { return (flags & flag) == flag; };
        if (wants(PyBUF_C_CONTIGUOUS)     ? !rows
            : wants(PyBUF_F_CONTIGUOUS)   ? !columns
            : wants(PyBUF_ANY_CONTIGUOUS) ? !rows && !columns
                                          : !wants(PyBUF_STRIDES) && !rows)
          refuse(str("it is not contiguous, strides ", t.strides()));
        auto lent = std::make_unique<LentMemory>(t);
        static char nothing[16];
        view->buf = t.numel() ? t.data_ptr() : nothing;
        view->itemsize = static_cast<Py_ssize_t>(t.element_size());
        view->len = static_cast<Py_ssize_t>(t.numel()) * view->itemsize;
        view->readonly = 0;
        view->ndim = static_cast<int>(t.dim());
        view->format = wants(PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
        view->shape = wants(PyBUF_ND) ? lent->shape.data() : nullptr;
        view->strides = wants(PyBUF_STRIDES) ? lent->strides.data() : nullptr;
        view->suboffsets = nullptr;
        view->internal = lent.release();
        view->obj = Ref::share(self).release();
        return 0;
      },
      -1);
}
void return_buffer(PyObject*, Py_buffer* view) { delete static_cast<LentMemory*>(view->internal); }

bool add_exchange(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
