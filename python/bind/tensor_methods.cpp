// Methods of Tensor that have no row: inspection, conversion to Python's numbers and lists, subclasses, storages.

#include <algorithm>
#include <cstring>

#include "cresset/autograd/generated_support.h"
#include "cresset/core/batched.h"
#include "cresset/core/fake_mode.h"
#include "cresset/core/functional.h"
#include "cresset/core/observed.h"
#include "cresset/core/raw_bool.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/conv/mkldnn.h"
#include "cresset/transform/vmap.h"
#include "cresset/transform/vmap_layer.h"
#include "python/bind/modes/symbols.h"
#include "python/bind/override.h"
#include "python/bind/tensor.h"

namespace cresset::python {

namespace {

template <size_t N> struct Name {
  char text[N];
  constexpr Name(const char (&s)[N]) { std::copy_n(s, N, text); }
};

// A method without arguments that subclasses may take over.
template <auto F, Name name> PyObject* method(PyObject* self, PyObject*) {
  if (overridden(self)) return overridden_method(self, name.text);
  return guarded([&] { return F(tensor_of(self)); });
}
template <bool (Tensor::*F)() const> PyObject* question(const Tensor& t) { return PyBool_FromLong((t.*F)()); }
PyObject* is_neg(const Tensor& t) { return PyBool_FromLong(is_negative_view(*t.impl())); }
#define CRESSET_METHOD(name, function) \
  { name, method<function, name>, METH_NOARGS, nullptr }

// ---- geometry ----------------------------------------------------------------------------------------------------------

PyObject* size_number(const Tensor& t, int64_t v) { return has_symbolic_sizes(t) ? wrap_symbol(t, v) : PyLong_FromLongLong(v); }
PyObject* storage_offset(const Tensor& t) { return size_number(t, t.storage_offset()); }
// Of symbols: their product, which the number of elements may be too large for.
PyObject* numel(const Tensor& t) {
  if (!has_symbolic_sizes(t)) return PyLong_FromLongLong(t.numel());
  Ref product = checked(PyLong_FromLong(1));
  for (const int64_t size : t.sizes()) {
    const Ref factor = checked(wrap_symbol(t, size));
    product = checked(PyNumber_Multiply(product.get(), factor.get()));
  }
  return product.release();
}
PyObject* dim(const Tensor& t) { return PyLong_FromLongLong(t.dim()); }
PyObject* element_size_of(const Tensor& t) { return PyLong_FromSize_t(t.element_size()); }
PyObject* data_ptr(const Tensor& t) {
  check_has_memory(t);
  CRESSET_CHECK(t.layout() == Layout::Strided, "data_ptr: the tensor has no storage to point to");
  return PyLong_FromVoidPtr(t.numel() ? t.data_ptr() : nullptr);
}
PyObject* get_device(const Tensor& t) { return PyLong_FromLong(t.device().index()); }

bool is_given(PyObject* o) { return o && o != Py_None; }

// x.size(), x.size(d): the whole list or one entry.
template <bool Sizes> PyObject* list_or_entry(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  if (overridden(self)) {
    const Ref rest(PyTuple_New(n));
    for (Py_ssize_t i = 0; rest && i < n; i++) PyTuple_SET_ITEM(rest.get(), i, Ref::share(args[i]).release());
    const Ref named(names ? PyDict_New() : nullptr);
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) PyDict_SetItem(named.get(), PyTuple_GET_ITEM(names, i), args[n + i]);
    return overridden_method(self, Sizes ? "size" : "stride", rest.get(), named.get());
  }
  return guarded([&] {
    const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    CRESSET_CHECK_TYPE(n + named <= 1 && (!named || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "dim") == 0), Sizes ? "size" : "stride",
                       ": expected at most one argument, `dim`, got ", n + named);
    const Tensor& t = tensor_of(self);
    if (CRESSET_UNLIKELY(dispatch::is_subclass(t))) {
      static PyObject* const own = PyUnicode_InternFromString(Sizes ? "_own_size" : "_own_stride");
      if (PyObject* answer = _PyType_Lookup(Py_TYPE(self), own))
        return checked(n + named ? PyObject_CallFunctionObjArgs(answer, self, args[0], nullptr) : PyObject_CallOneArg(answer, self)).release();
    }
    CRESSET_CHECK(Sizes || t.layout() == Layout::Strided || t.layout() == Layout::Sparse,
                  is_mkldnn(t) ? "tensors in the mkldnn layout do not have strides" : "Sparse CSR tensors do not have strides");
    if (n + named == 0 || args[0] == Py_None)
      if (has_symbolic_sizes(t)) return wrap_symbols(t, Sizes ? t.sizes() : t.strides(), Sizes);
    if (n + named == 0 || args[0] == Py_None) return Sizes ? wrap_size(t.sizes()) : wrap(t.strides());
    const int64_t d = to_index(args[0], "dim");
    return size_number(t, Sizes ? t.size(d) : t.stride(d));
  });
}

PyObject* is_contiguous(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (overridden(self)) return overridden_method(self, "is_contiguous", args, kwargs);
  static const char* names[] = {"memory_format", nullptr};
  PyObject* format = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O!:is_contiguous", const_cast<char**>(names), memory_format_type, &format)) return nullptr;
  return guarded([&] {
    const auto wanted = format ? static_cast<MemoryFormat>(reinterpret_cast<ConstantObject*>(format)->value) : MemoryFormat::Contiguous;
    const Tensor& t = tensor_of(self);
    CRESSET_CHECK(t.layout() == Layout::Strided || t.layout() == Layout::Sparse || is_mkldnn(t), "is_contiguous: a tensor of layout ", t.layout(),
                  " has no strides");
    return PyBool_FromLong(t.is_contiguous(wanted));
  });
}

PyObject* is_set_to(PyObject* self, PyObject* other) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(is_tensor(other), "is_set_to: expected a tensor, got ", Py_TYPE(other)->tp_name);
    const Tensor &a = tensor_of(self), &b = tensor_of(other);
    return PyBool_FromLong(a.has_storage() && b.has_storage() && a.is_alias_of(b) && a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
                           a.strides() == b.strides());
  });
}

// ---- values ------------------------------------------------------------------------------------------------------------

PyObject* value_at(const char* p, ScalarType type) {
  switch (type) {
    case ScalarType::Float: {
      float v;
      memcpy(&v, p, sizeof(v));
      return PyFloat_FromDouble(v);
    }
    case ScalarType::Double: {
      double v;
      memcpy(&v, p, sizeof(v));
      return PyFloat_FromDouble(v);
    }
    case ScalarType::Long: {
      int64_t v;
      memcpy(&v, p, sizeof(v));
      return PyLong_FromLongLong(v);
    }
    case ScalarType::Bool:
      return PyBool_FromLong(*p != 0);
// clang-format off
#define CRESSET_ITEM(T, Kind)                     \
  case ScalarType::Kind: {                        \
    T v;                                          \
    memcpy(static_cast<void*>(&v), p, sizeof(v)); \
    return wrap(Scalar(v));                       \
  }
      CRESSET_ITEM(uint8_t, Byte) CRESSET_ITEM(int8_t, Char) CRESSET_ITEM(int16_t, Short) CRESSET_ITEM(int32_t, Int)
      CRESSET_ITEM(Half, Half) CRESSET_ITEM(BFloat16, BFloat16) CRESSET_ITEM(complex<float>, ComplexFloat)
      CRESSET_ITEM(complex<double>, ComplexDouble) CRESSET_ITEM(uint16_t, UInt16) CRESSET_ITEM(uint32_t, UInt32) CRESSET_ITEM(uint64_t, UInt64)
#undef CRESSET_ITEM
          // clang-format on
          default : CRESSET_CHECK_NOT_IMPLEMENTED(false, "no values of dtype ", type);
  }
  return nullptr;
}

PyObject* item(const Tensor& t) {
  const TensorImpl& impl = *t.impl();
  observe_method("item", t);
  if (CRESSET_LIKELY(impl.numel() == 1 && impl.backend() == kCpuBackend && !impl.is_lazy() && impl.has_storage() && !dispatch::is_listening()))
    return value_at(static_cast<const char*>(impl.data()), impl.dtype());
  CRESSET_CHECK(t.numel() == 1, "a Tensor with ", t.numel(), " elements is no single number");
  if (has_symbols(t) && !known_values(impl)) {
    if (!dispatch::is_listening()) return symbol_item(t);
    KeptTruth truth;
    const Scalar made = t.item();  // by a listener
    return truth.symbol ? truth.symbol.release() : wrap_symbol(t, made);
  }
  return wrap(t.item());
}

// Nested lists of `t` from its element at `p` on.
PyObject* nested(const Tensor& t, size_t d, const char* p) {
  if (d == static_cast<size_t>(t.dim())) return value_at(p, t.scalar_type());
  const int64_t n = t.sizes()[d], step = t.strides()[d] * static_cast<int64_t>(t.element_size());
  Ref list = checked(PyList_New(n));
  for (int64_t i = 0; i < n; i++) PyList_SET_ITEM(list.get(), i, checked(nested(t, d + 1, p + i * step)).release());
  return list.release();
}
// Numbers of the data, one by one: symbols.
PyObject* symbols_of(const Tensor& t) {
  if (t.dim() == 0) return checked(PyObject_CallMethod(checked(wrap(t)).get(), "item", nullptr)).release();
  checked(PyNumber_Index(checked(wrap_symbol(t, t.sizes()[0])).get()));  // a list has a length: a guard, or an error where only the data tells it
  const std::vector<Tensor> parts = t.unbind(0);
  Ref list = checked(PyList_New(static_cast<Py_ssize_t>(parts.size())));
  for (size_t i = 0; i < parts.size(); i++) PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), checked(symbols_of(parts[i])).release());
  return list.release();
}
// Of a constant among fake tensors: its own numbers; no listener is called.
struct Unheard {
  dispatch::ListenScope above{dispatch::ListenPlace::above_layers, nullptr}, below{dispatch::ListenPlace::below_autograd, nullptr};
  FakeModeScope real{nullptr};
};
PyObject* tolist(const Tensor& t) {
  if (FunctionalImpl* f = as_functional(t)) return tolist(f->value());
  check_has_memory(t);
  CRESSET_CHECK(!dispatch::is_subclass(t), "tolist: a tensor of a class with __torch_dispatch__ has no numbers of its own; look at the tensors within it");
  if (has_symbols(t) && !known_values(*t.impl())) return symbols_of(t);
  std::optional<Unheard> unheard;
  if (CRESSET_UNLIKELY(layer_state().fake_mode != nullptr) && !is_fake(*t.impl())) unheard.emplace();
  const Tensor known(is_fake(*t.impl()) ? known_values(*t.impl()) : intrusive_ptr<TensorImpl>());
  if (known.defined()) unheard.emplace();
  Tensor plain = (known.defined() ? known : t.detach()).resolve_conj().resolve_neg();
  if (is_storage_type(plain.scalar_type())) plain = plain.to(compute_type(plain.scalar_type()));
  if (CRESSET_UNLIKELY(is_fake(*plain.impl()))) {
    if (t.dim() == 0) return wrap(t.item());
    throw DataDependentOutputError("aten._local_scalar_dense.default", "tolist: a fake tensor has no values");
  }
  CRESSET_CHECK(plain.layout() == Layout::Strided, "tolist: the tensor has no storage; use to_dense() first");
  CRESSET_CHECK_NOT_IMPLEMENTED(!plain.is_meta(), "tolist: a tensor on the meta device has no values");
  if (!plain.is_cpu()) plain = plain.cpu();
  return nested(plain, 0, static_cast<const char*>(plain.data_ptr()));
}

int tensor_bool(PyObject* self) {
  if (overridden(self)) {
    const Ref result(overridden_method(self, "__bool__"));
    return result ? PyObject_IsTrue(result.get()) : -1;
  }
  return guarded(
      [&] {
        const Tensor& t = tensor_of(self);
        CRESSET_CHECK(!as_batched(t), "vmap: a batch has no single truth value to branch on; use torch.where, which takes both values");
        CRESSET_CHECK(t.numel() != 0, "bool: a tensor without elements is neither true nor false");
        CRESSET_CHECK(t.numel() == 1, "bool: a tensor of several elements is neither true nor false");
        if (has_symbols(t)) return PyObject_IsTrue(checked(item(t)).get());
        observe_method("is_nonzero", t);
        const ExcludeLayers quiet(are_methods_observed() ? layer_bit(Layer::Profiler) : uint8_t{0});
        return static_cast<int>(t.item().toBool());
      },
      -1);
}
void check_one_element(const Tensor& t) { CRESSET_CHECK_VALUE(t.numel() == 1, "expected a tensor of one element to make a Python number of"); }
PyObject* tensor_float(PyObject* self) {
  if (overridden(self)) return overridden_method(self, "__float__");
  return guarded([&] {
    check_one_element(tensor_of(self));
    const Ref value(item(tensor_of(self)));
    if (PyComplex_Check(value.get())) CRESSET_CHECK(PyComplex_ImagAsDouble(value.get()) == 0, "the value overflows a double");
    if (PyComplex_Check(value.get())) return PyFloat_FromDouble(PyComplex_RealAsDouble(value.get()));
    return PyNumber_Float(value.get());
  });
}
PyObject* tensor_int(PyObject* self) {
  if (overridden(self)) return overridden_method(self, "__int__");
  return guarded([&] {
    check_one_element(tensor_of(self));
    const Ref value(item(tensor_of(self)));
    if (!PyComplex_Check(value.get())) return PyNumber_Long(value.get());
    CRESSET_CHECK(PyComplex_ImagAsDouble(value.get()) == 0, "the value overflows an int64");
    return PyLong_FromDouble(PyComplex_RealAsDouble(value.get()));
  });
}
PyObject* tensor_complex(const Tensor& t) {
  check_one_element(t);
  const complex<double> v = t.item().toComplexDouble();
  return PyComplex_FromDoubles(v.real(), v.imag());
}
PyObject* tensor_index(PyObject* self) {
  if (overridden(self)) return overridden_method(self, "__index__");
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    CRESSET_CHECK_TYPE(t.numel() == 1 && is_integral_type(t.scalar_type(), true), "__index__: expected one element of an integer dtype, got ", t);
    const Ref value(item(t));
    return PyNumber_Index(value.get());
  });
}

// ---- history -----------------------------------------------------------------------------------------------------------

PyObject* detach(const Tensor& t) {
  if (as_batched(t) && !func::current_vmap()) func::refuse_escaped("detach");
  observe_method("detach", t);
  return wrap(t.detach());
}
PyObject* retain_grad(const Tensor& t) {
  t.retain_grad();
  Py_RETURN_NONE;
}
PyObject* detach_in_place(PyObject* self, PyObject*) {
  if (overridden(self)) return overridden_method(self, "detach_");
  return guarded([&] {
    observe_method("detach_", tensor_of(self));
    tensor_ref(self).detach_();
    return Ref::share(self).release();
  });
}
PyObject* requires_grad_(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (overridden(self)) return overridden_method(self, "requires_grad_", args, kwargs);
  static const char* names[] = {"requires_grad", nullptr};
  PyObject* on = Py_True;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O!:requires_grad_", const_cast<char**>(names), &PyBool_Type, &on)) return nullptr;
  return guarded([&] {
    tensor_of(self).requires_grad_(on == Py_True);
    return Ref::share(self).release();
  });
}

// ---- subclasses --------------------------------------------------------------------------------------------------------

PyTypeObject* subclass(PyObject* cls) {
  CRESSET_CHECK_TYPE(PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), tensor_type), "cls must be a type that derives from Tensor");
  return reinterpret_cast<PyTypeObject*>(cls);
}
// _make_subclass(cls, data, require_grad=False, *, dispatch_...): over the same memory, outside its graph; the class answers for what the last ones name.
PyObject* make_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"cls", "data", "require_grad", "dispatch_sizes_strides_policy", "dispatch_device", "dispatch_layout", nullptr};
  PyObject *cls, *data, *policy = Py_None;
  int requires_grad = 0, device = 0, layout = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!|p$Opp:_make_subclass", const_cast<char**>(names), &cls, tensor_type, &data, &requires_grad, &policy,
                                   &device, &layout))
    return nullptr;
  return guarded([&] {
    Tensor t;
    {
      const dispatch::ListenScope quiet(dispatch::ListenPlace::below_autograd, nullptr);
      t = tensor_of(data).detach();
    }
    observe_method("detach", t);
    mark_subclass(subclass(cls), t);
    if (requires_grad) t.requires_grad_(true);
    if (policy != Py_None || device || layout) {
      const Ref module = checked(PyImport_ImportModule("cresset._modes.subclasses"));
      checked(PyObject_CallMethod(module.get(), "answer", "OOii", cls, policy, device, layout));
    }
    return wrap_as(subclass(cls), std::move(t));
  });
}
PyObject* as_subclass(PyObject* self, PyObject* cls) {
  return guarded([&] {
    Tensor t = another_of(tensor_of(self));
    mark_subclass(subclass(cls), t);
    return wrap_as(subclass(cls), std::move(t));
  });
}

// ---- storages ----------------------------------------------------------------------------------------------------------

PyObject* untyped_storage(const Tensor& t) {
  CRESSET_CHECK_NOT_IMPLEMENTED(t.has_storage(), "untyped_storage: the tensor has none");
  return wrap(t.impl()->storage());
}

// set_(source, storage_offset, size, stride): the tensor looks at other memory from now on.
PyObject* set_in_place(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (overridden(self)) return overridden_method(self, "set_", args, kwargs);
  static const char* names[] = {"source", "storage_offset", "size", "stride", nullptr};
  PyObject *source = nullptr, *offset = nullptr, *size = nullptr, *stride = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO:set_", const_cast<char**>(names), &source, &offset, &size, &stride)) return nullptr;
  return guarded([&] {
    Tensor t = tensor_of(self);
    check_has_memory(t);
    if (!is_given(source)) {
      t.set_();
      return Ref::share(self).release();
    }
    // A storage that knows its dtype is a Python object around one that does not.
    Ref bytes, kind;
    if (!is_tensor(source) && !is_storage(source)) {
      bytes = Ref(PyObject_GetAttrString(source, "_untyped_storage"));
      kind = Ref(bytes ? PyObject_GetAttrString(source, "dtype") : nullptr);
      PyErr_Clear();
      CRESSET_CHECK_TYPE(bytes && kind && is_storage(bytes.get()), "set_: expected a tensor or a storage, got ", Py_TYPE(source)->tp_name);
      CRESSET_CHECK(kind.get() == constant(t.scalar_type()), "set_: expected a storage of dtype ", t.scalar_type(), ", or of bytes, got one of another");
      source = bytes.get();
    }
    if (!size) {
      if (is_tensor(source)) t.set_(tensor_of(source));
      else t.set_(Storage(storage_of(source)));
      return Ref::share(self).release();
    }
    const std::vector<int64_t> sizes = to_int_list(size, "size");
    const int64_t first = is_given(offset) ? to_index(offset, "storage_offset") : 0;
    const std::vector<int64_t> strides = is_given(stride) ? to_int_list(stride, "stride") : std::vector<int64_t>();
    if (is_tensor(source)) t.set_(tensor_of(source), first, sizes, strides);
    else t.set_(Storage(storage_of(source)), first, sizes, strides);
    return Ref::share(self).release();
  });
}

}  // namespace

PyMethodDef tensor_methods[] = {
    CRESSET_METHOD("storage_offset", storage_offset),
    CRESSET_METHOD("numel", numel),
    CRESSET_METHOD("nelement", numel),
    CRESSET_METHOD("dim", dim),
    CRESSET_METHOD("ndimension", dim),
    CRESSET_METHOD("element_size", element_size_of),
    CRESSET_METHOD("data_ptr", data_ptr),
    CRESSET_METHOD("get_device", get_device),
    CRESSET_METHOD("item", item),
    CRESSET_METHOD("tolist", tolist),
    CRESSET_METHOD("detach", detach),
    CRESSET_METHOD("retain_grad", retain_grad),
    CRESSET_METHOD("untyped_storage", untyped_storage),
    CRESSET_METHOD("is_floating_point", question<&Tensor::is_floating_point>),
    CRESSET_METHOD("is_complex", question<&Tensor::is_complex>),
    CRESSET_METHOD("is_signed", question<&Tensor::is_signed>),
    CRESSET_METHOD("is_conj", question<&Tensor::is_conj>),
    CRESSET_METHOD("is_neg", is_neg),
    CRESSET_METHOD("is_inference", question<&Tensor::is_inference>),
    CRESSET_METHOD("_is_view", question<&Tensor::is_view>),
    CRESSET_METHOD("__complex__", tensor_complex),
    {"size", reinterpret_cast<PyCFunction>(list_or_entry<true>), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"stride", reinterpret_cast<PyCFunction>(list_or_entry<false>), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"is_contiguous", reinterpret_cast<PyCFunction>(is_contiguous), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"is_set_to", is_set_to, METH_O, nullptr},
    {"detach_", detach_in_place, METH_NOARGS, nullptr},
    {"requires_grad_", reinterpret_cast<PyCFunction>(requires_grad_), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"set_", reinterpret_cast<PyCFunction>(set_in_place), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"_make_subclass", reinterpret_cast<PyCFunction>(make_subclass), METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
    {"_share_storage", share_storage, METH_VARARGS | METH_STATIC, nullptr},
    {"_take_geometry", take_geometry, METH_VARARGS | METH_STATIC, nullptr},
    {"_make_wrapper_subclass", reinterpret_cast<PyCFunction>(make_wrapper_subclass), METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
    {"as_subclass", as_subclass, METH_O, nullptr},
    {}};

Py_ssize_t tensor_length(PyObject* self) {
  if (overridden(self)) {
    const Ref n(overridden_method(self, "__len__"));
    return n ? PyLong_AsSsize_t(n.get()) : -1;
  }
  return guarded(
      [&]() -> Py_ssize_t {
        CRESSET_CHECK_TYPE(tensor_of(self).dim() > 0, "len() of a 0-d tensor");
        if (!has_symbolic_sizes(tensor_of(self))) return tensor_of(self).sizes()[0];
        const Ref n = checked(wrap_symbol(tensor_of(self), tensor_of(self).sizes()[0]));
        const Py_ssize_t number = PyNumber_AsSsize_t(n.get(), PyExc_OverflowError);
        if (number == -1 && PyErr_Occurred()) throw PythonError();
        return number;
      },
      Py_ssize_t{-1});
}

PyType_Slot conversion_slots[] = {{Py_nb_bool, reinterpret_cast<void*>(tensor_bool)},
                                  {Py_nb_int, reinterpret_cast<void*>(tensor_int)},
                                  {Py_nb_float, reinterpret_cast<void*>(tensor_float)},
                                  {Py_nb_index, reinterpret_cast<void*>(tensor_index)},
                                  {}};

}  // namespace cresset::python
