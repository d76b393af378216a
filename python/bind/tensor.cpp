// The Tensor type: its objects' life and identity, construction, properties.

#include "python/bind/tensor.h"
#include "cresset/autograd/autograd.h"
#include "cresset/base/warning.h"
#include "cresset/core/batched.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/conv/mkldnn.h"
#include "python/bind/modes/symbols.h"
#include "python/bind/objects.h"
#include "python/bind/op.h"

#include <structmember.h>

namespace cresset::python {

PyTypeObject* tensor_type;
PyTypeObject* parameter_type;

namespace {

ObjectTable& objects() {
  static auto* table = new ObjectTable();
  return *table;
}
TensorObject* object_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o); }

// ---- life --------------------------------------------------------------------------------------------------------------
// An object whose state Python could miss (attributes, a subclass, weak references) outlives its last reference while its tensor lives on in
// C++: the tensor then keeps the object, and the object holds no reference to the tensor.

Keepers<TensorImpl>& keepers() {
  static auto* all = new Keepers<TensorImpl>(object_hook());
  return *all;
}

bool has_state(PyObject* self) {
  const TensorObject* o = object_of(self);
  return Py_TYPE(self) != tensor_type || o->weak || (o->dict && PyDict_GET_SIZE(o->dict) > 0);
}

void tensor_finalize(PyObject* self) {
  TensorObject* o = object_of(self);
  if (o->kept || !o->tensor.defined() || o->tensor.use_count() < 2 || !has_state(self)) return;
  Py_INCREF(self);
  o->kept = true;
  keepers().add(o->tensor.impl());
  o->tensor.impl()->release();
}

// Python has a reference again: the object holds its tensor as usual.
void take_back(PyObject* self) {
  TensorObject* o = object_of(self);
  o->tensor.impl()->retain();
  o->kept = false;
  keepers().remove(o->tensor.impl());
  // The interpreter finalizes an object once and marks it when that is done; the mark, the lowest bit of the second word of the collector's
  // header, is taken back so that the object's next end asks again.
  static_assert(PY_VERSION_HEX < 0x030E0000, "the collector's header may look different");
  reinterpret_cast<uintptr_t*>(self)[-1] &= ~uintptr_t{1};
}

// The tensor of a kept object ends. Where a weak reference has been followed meanwhile, the object goes on with a tensor over the same data.
void release_kept(TensorImpl& ending) {
  if (!keepers().contain(&ending) || !Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* self = objects().find(&ending);
  if (self && object_of(self)->kept) {
    TensorObject* o = object_of(self);
    objects().erase(&ending);
    o->kept = false;
    keepers().remove(&ending);
    std::move(o->tensor).take().release();
    if (Py_REFCNT(self) > 1) {
      o->tensor = Tensor(ending.alias(true));
      objects().insert(o->tensor.impl(), self);
    }
    Py_DECREF(self);
  }
  PyGILState_Release(state);
}

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(object_of(self)->dict);
  Py_VISIT(Py_TYPE(self));
  const Tensor& t = object_of(self)->tensor;
  return t.defined() && !object_of(self)->kept ? traverse_autograd(t, visit, arg) : 0;
}
int tensor_clear(PyObject* self) {
  Py_CLEAR(object_of(self)->dict);
  return 0;
}
void tensor_dealloc(PyObject* self) {
  TensorObject* o = object_of(self);
  PyTypeObject* type = Py_TYPE(self);
  if (type == tensor_type && (o->weak || o->dict) && PyObject_CallFinalizerFromDealloc(self) < 0) return;
  PyObject_GC_UnTrack(self);
  if (o->weak) PyObject_ClearWeakRefs(self);
  Py_CLEAR(o->dict);
  Py_CLEAR(o->shape);
  if (o->tensor.defined()) objects().erase(o->tensor.impl());
  o->tensor.~Tensor();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* new_object(PyTypeObject* type, Tensor&& t) {
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) throw PythonError();
  TensorImpl* impl = t.impl();
  new (&object_of(o)->tensor) Tensor(std::move(t));
  if (impl) objects().insert(impl, o);
  return o;
}

// Tensor(...): sizes, or data, as PyTorch's old constructor reads them.
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    const Ref made = checked(PyObject_Call(package_function("_construct"), args, kwargs));
    CRESSET_CHECK_TYPE(is_tensor(made.get()), "Tensor: expected data or sizes");
    if (type == tensor_type) return Ref::share(made.get()).release();
    Tensor t = tensor_of(made.get()).alias();
    // The alias of a tensor whose class takes calls over is what the class gives, which has an object.
    if (PyObject* known = objects().find(t.impl()); known && PyType_IsSubtype(Py_TYPE(known), type)) return wrap(std::move(t));
    if (!objects().find(t.impl())) mark_subclass(type, t);
    return wrap_as(type, std::move(t));
  });
}

// ---- properties --------------------------------------------------------------------------------------------------------

// Subclasses that override may take over the access.
template <auto F> PyObject* property(PyObject* self, void* name) {
  if (overridden(self)) return overridden_get(self, static_cast<const char*>(name));
  return guarded([&] { return F(tensor_of(self)); });
}
template <bool (Tensor::*F)() const> PyObject* flag_of(const Tensor& t) { return PyBool_FromLong((t.*F)()); }
template <bool Value> PyObject* always(const Tensor&) { return PyBool_FromLong(Value); }
PyObject* is_opaque(const Tensor& t) { return PyBool_FromLong(is_mkldnn(t)); }

PyObject* get_dtype(const Tensor& t) { return Ref::share(constant(t.scalar_type())).release(); }
PyObject* get_layout(const Tensor& t) { return Ref::share(constant(t.layout())).release(); }
PyObject* get_device(const Tensor& t) { return wrap(t.device()); }
// A size that was a symbol when it was asked for stays one, also where a guard has made it a number since.
PyObject* symbolic_shape(PyObject* self) {
  Ref shape = checked(wrap_symbols(tensor_of(self), tensor_of(self).sizes(), true));
  PyObject*& known = object_of(self)->shape;
  const Py_ssize_t n = PyTuple_GET_SIZE(shape.get());
  for (Py_ssize_t i = 0; known && PyTuple_GET_SIZE(known) == n && i < n; i++) {
    PyObject *const now = PyTuple_GET_ITEM(shape.get(), i), *const before = PyTuple_GET_ITEM(known, i);
    if (!PyLong_CheckExact(now) || !is_symbol(before)) continue;
    const bool same = PyLong_AsLongLong(symbol_number(before).get()) == PyLong_AsLongLong(now);
    symbols_read();
    if (!same) continue;
    PyTuple_SET_ITEM(shape.get(), i, Ref::share(before).release());
    Py_DECREF(now);
  }
  Py_XSETREF(known, Ref::share(shape.get()).release());
  return shape.release();
}
// The same Size again, as long as the sizes are the same.
PyObject* get_shape(PyObject* self, void*) {
  if (overridden(self)) return overridden_get(self, "shape");
  if (has_symbolic_sizes(tensor_of(self))) return guarded([&] { return symbolic_shape(self); });
  PyObject*& known = object_of(self)->shape;
  const IntArrayRef sizes = tensor_of(self).sizes();
  bool same = known && PyTuple_GET_SIZE(known) == static_cast<Py_ssize_t>(sizes.size());
  for (size_t i = 0; same && i < sizes.size(); i++) same = PyLong_AsLongLong(PyTuple_GET_ITEM(known, static_cast<Py_ssize_t>(i))) == sizes[i];
  if (!same) {
    PyObject* fresh = guarded([&] { return wrap_size(sizes); });
    if (!fresh) return nullptr;
    Py_XSETREF(known, fresh);
  }
  return Ref::share(known).release();
}
PyObject* get_strides(const Tensor& t) { return has_symbolic_sizes(t) ? wrap_symbols(t, t.strides(), false) : wrap(t.strides()); }
PyObject* get_ndim(const Tensor& t) { return PyLong_FromLongLong(t.dim()); }
PyObject* get_itemsize(const Tensor& t) { return PyLong_FromSize_t(t.element_size()); }
PyObject* get_nbytes(const Tensor& t) {
  CRESSET_CHECK(t.layout() == Layout::Strided, "nbytes: a sparse tensor has none of its own; add up those of its ",
                "indices and values, or take numel() * element_size() for the dense size");
  if (has_symbolic_sizes(t)) {
    const Ref numel = checked(wrap_symbol(t, t.numel()));
    const Ref itemsize = checked(PyLong_FromSize_t(t.element_size()));
    return PyNumber_Multiply(numel.get(), itemsize.get());
  }
  return PyLong_FromSize_t(t.nbytes());
}
PyObject* get_grad(const Tensor& t) { return wrap(t.grad()); }
// Who traces hears of an operator.
PyObject* get_data(const Tensor& t) {
  using dispatch::ListenPlace;
  const bool is_heard = dispatch::listener_at(ListenPlace::below_autograd) || dispatch::listener_at(ListenPlace::above_layers);
  return wrap(is_heard ? t.detach() : t.data());
}
PyObject* get_base(const Tensor& t) {
  if (t.is_view()) return wrap(t._base());
  Py_RETURN_NONE;
}
PyObject* get_version(const Tensor& t) {
  CRESSET_CHECK(!t.is_inference(), "_version: inference tensors do not count their versions");
  return PyLong_FromLongLong(t._version());
}
PyObject* get_cdata(const Tensor& t) { return PyLong_FromVoidPtr(t.impl()); }
// Looks at the history, which brings that of a view up to date.
PyObject* get_is_leaf(const Tensor& t) { return PyBool_FromLong(!t.grad_fn()); }
PyObject* get_output_nr(const Tensor& t) { return PyLong_FromLongLong(t.output_nr()); }
PyObject* get_name(const Tensor& t) {
  if (t.name().empty()) Py_RETURN_NONE;
  return PyUnicode_FromString(t.name().c_str());
}
PyObject* get_names(const Tensor& t) {
  Ref names = checked(PyTuple_New(t.dim()));
  for (Py_ssize_t i = 0; i < t.dim(); i++) PyTuple_SET_ITEM(names.get(), i, Ref::share(Py_None).release());
  return names.release();
}
PyObject* get_memory(const Tensor& t) {
  return Py_BuildValue("(nn)", reinterpret_cast<Py_ssize_t>(t.has_storage() ? t.storage().mutable_data() : nullptr),
                       static_cast<Py_ssize_t>(t.has_storage() ? t.storage().nbytes() : 0));
}

int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        const Tensor& t = tensor_of(self);
        if (!value || value == Py_None) {
          if (t.grad().defined()) t.mutable_grad().reset();
          return 0;
        }
        CRESSET_CHECK_TYPE(is_tensor(value), "grad: expected a tensor or None, got ", Py_TYPE(value)->tp_name);
        CRESSET_CHECK(value != self, "grad: a tensor cannot be its own gradient");
        const Tensor& grad = tensor_of(value);
        CRESSET_CHECK(grad.scalar_type() == t.scalar_type(), "grad: got dtype ", grad.scalar_type(), ", expected the tensor's ", t.scalar_type());
        CRESSET_CHECK(grad.device().type() == t.device().type(), "grad: got a tensor on ", grad.device(), ", expected the tensor's ", t.device());
        CRESSET_CHECK(grad.sizes() == t.sizes(), "grad: got shape ", grad.sizes(), ", expected the tensor's ", t.sizes());
        t.mutable_grad() = grad;
        return 0;
      },
      -1);
}
int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        CRESSET_CHECK(value && PyBool_Check(value), "requires_grad: expected a bool, got ", value ? Py_TYPE(value)->tp_name : "nothing");
        const bool on = value == Py_True;
        CRESSET_CHECK(tensor_of(self).is_leaf(), "requires_grad: can only be set on leaf tensors; detach() the result of an operator first");
        tensor_of(self).requires_grad_(on);
        return 0;
      },
      -1);
}
int set_data(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        CRESSET_CHECK(value, "data: the attribute of a tensor cannot be deleted");
        CRESSET_CHECK_TYPE(is_tensor(value), "data: expected a tensor, got ", Py_TYPE(value)->tp_name);
        tensor_of(self).set_data(tensor_of(value));
        return 0;
      },
      -1);
}
template <Tensor (*Part)(const Tensor&)> int set_part(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        const bool number = value && PyNumber_Check(value) && !is_tensor(value);
        CRESSET_CHECK_TYPE(number || (value && is_tensor(value)), "expected a tensor or a number, got ", value ? Py_TYPE(value)->tp_name : "nothing");
        Tensor part = Part(tensor_of(self));
        if (number) part.fill_(to_scalar(value));
        else part.copy_(tensor_of(value));
        return 0;
      },
      -1);
}
PyObject* get_real(const Tensor& t) { return wrap(real(t)); }
PyObject* get_imag(const Tensor& t) { return wrap(imag(t)); }
PyObject* get_is_batched(const Tensor& t) { return PyBool_FromLong(as_batched(t) != nullptr); }
PyObject* get_T(const Tensor& t) { return wrap(t.numpy_T()); }
PyObject* get_mT(const Tensor& t) { return wrap(t.mT()); }
PyObject* get_H(const Tensor& t) { return wrap(t.matrix_H()); }
PyObject* get_mH(const Tensor& t) { return wrap(t.mH()); }

#define CRESSET_PROPERTY(name, getter, setter) \
  { name, property<getter>, setter, nullptr, const_cast<char*>(name) }
PyGetSetDef tensor_properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                                   CRESSET_PROPERTY("dtype", get_dtype, nullptr),
                                   CRESSET_PROPERTY("layout", get_layout, nullptr),
                                   CRESSET_PROPERTY("device", get_device, nullptr),
                                   {"shape", get_shape, nullptr, nullptr, nullptr},
                                   CRESSET_PROPERTY("ndim", get_ndim, nullptr),
                                   CRESSET_PROPERTY("itemsize", get_itemsize, nullptr),
                                   CRESSET_PROPERTY("nbytes", get_nbytes, nullptr),
                                   CRESSET_PROPERTY("_strides", get_strides, nullptr),
                                   CRESSET_PROPERTY("_memory", get_memory, nullptr),
                                   CRESSET_PROPERTY("_version", get_version, nullptr),
                                   CRESSET_PROPERTY("_cdata", get_cdata, nullptr),
                                   CRESSET_PROPERTY("_base", get_base, nullptr),
                                   CRESSET_PROPERTY("grad", get_grad, set_grad),
                                   CRESSET_PROPERTY("_grad", get_grad, set_grad),
                                   CRESSET_PROPERTY("data", get_data, set_data),
                                   CRESSET_PROPERTY("grad_fn", wrap_grad_fn, nullptr),
                                   CRESSET_PROPERTY("requires_grad", flag_of<&Tensor::requires_grad>, set_requires_grad),
                                   CRESSET_PROPERTY("is_leaf", get_is_leaf, nullptr),
                                   CRESSET_PROPERTY("retains_grad", flag_of<&Tensor::retains_grad>, nullptr),
                                   CRESSET_PROPERTY("output_nr", get_output_nr, nullptr),
                                   CRESSET_PROPERTY("name", get_name, nullptr),
                                   CRESSET_PROPERTY("names", get_names, nullptr),
                                   CRESSET_PROPERTY("real", get_real, set_part<real>),
                                   CRESSET_PROPERTY("imag", get_imag, set_part<imag>),
                                   CRESSET_PROPERTY("T", get_T, nullptr),
                                   CRESSET_PROPERTY("mT", get_mT, nullptr),
                                   CRESSET_PROPERTY("H", get_H, nullptr),
                                   CRESSET_PROPERTY("mH", get_mH, nullptr),
                                   CRESSET_PROPERTY("is_meta", flag_of<&Tensor::is_meta>, nullptr),
                                   CRESSET_PROPERTY("_lacks_data", flag_of<&Tensor::lacks_data>, nullptr),
                                   CRESSET_PROPERTY("_is_batched", get_is_batched, nullptr),
                                   CRESSET_PROPERTY("_is_non_overlapping_and_dense", flag_of<&Tensor::is_non_overlapping_and_dense>, nullptr),
                                   CRESSET_PROPERTY("is_sparse", flag_of<&Tensor::is_sparse>, nullptr),
                                   CRESSET_PROPERTY("is_cuda", flag_of<&Tensor::is_cuda>, nullptr),
                                   CRESSET_PROPERTY("is_cpu", flag_of<&Tensor::is_cpu>, nullptr),
                                   CRESSET_PROPERTY("is_quantized", always<false>, nullptr),
                                   CRESSET_PROPERTY("is_mps", always<false>, nullptr),
                                   CRESSET_PROPERTY("is_xpu", always<false>, nullptr),
                                   CRESSET_PROPERTY("is_mkldnn", is_opaque, nullptr),
                                   CRESSET_PROPERTY("is_nested", always<false>, nullptr),
                                   CRESSET_PROPERTY("is_sparse_csr", flag_of<&Tensor::is_sparse_csr>, nullptr),
                                   CRESSET_PROPERTY("volatile", always<false>, nullptr),
                                   {}};
Py_hash_t tensor_hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<intptr_t>(self));  // id(self)
}
PyMemberDef tensor_members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
                                {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak), READONLY, nullptr},
                                {}};

constexpr const char* kTensorDoc =
    R"(Tensor(*sizes) or Tensor(data): an array of numbers of one dtype with as many dimensions as it has sizes, which records what is computed
from it where `requires_grad` says so. Make tensors with `torch.tensor`, `torch.zeros` and the like; this old constructor takes sizes or data
in the default dtype. TypeError for anything else.

>>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([[2., 4.],
        [6., 8.]])
)";
// NumPy takes lists of objects apart that are sequences.
PyObject* sequence_item(PyObject* self, Py_ssize_t i) {
  PyObject* index = PyLong_FromSsize_t(i);
  if (!index) return nullptr;
  PyObject* item = get_item(self, index);
  Py_DECREF(index);
  return item;
}
PyType_Slot tensor_slots[] = {{Py_tp_doc, const_cast<char*>(kTensorDoc)},
                              {Py_tp_new, reinterpret_cast<void*>(tensor_new)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(tensor_dealloc)},
                              {Py_tp_finalize, reinterpret_cast<void*>(tensor_finalize)},
                              {Py_tp_traverse, reinterpret_cast<void*>(tensor_traverse)},
                              {Py_tp_clear, reinterpret_cast<void*>(tensor_clear)},
                              {Py_tp_hash, reinterpret_cast<void*>(tensor_hash)},
                              {Py_tp_getset, tensor_properties},
                              {Py_tp_members, tensor_members},
                              {Py_tp_methods, tensor_methods},
                              {Py_mp_length, reinterpret_cast<void*>(tensor_length)},
                              {Py_mp_subscript, reinterpret_cast<void*>(get_item)},
                              {Py_sq_item, reinterpret_cast<void*>(sequence_item)},
                              {Py_mp_ass_subscript, reinterpret_cast<void*>(set_item)},
                              {Py_bf_getbuffer, reinterpret_cast<void*>(lend_buffer)},
                              {Py_bf_releasebuffer, reinterpret_cast<void*>(return_buffer)},
                              {}};

// _swap_tensors(a, b): each object stands for the other's tensor from now on.
PyObject* swap_tensors(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "O!O!", tensor_type, &a, tensor_type, &b)) return nullptr;
  if (a == b) Py_RETURN_NONE;
  for (PyObject* o : {a, b})
    if (object_of(o)->tensor.defined()) objects().erase(object_of(o)->tensor.impl());
  std::swap(object_of(a)->tensor, object_of(b)->tensor);
  std::swap(object_of(a)->shape, object_of(b)->shape);
  for (PyObject* o : {a, b})
    if (object_of(o)->tensor.defined()) objects().insert(object_of(o)->tensor.impl(), o);
  Py_RETURN_NONE;
}
// _holders(t): how many refer to the tensor, its object among them. The sink of its gradient, which a graph keeps, is none.
PyObject* holders(PyObject*, PyObject* o) {
  return guarded([&] {
    const Tensor& t = tensor_of(o);
    return PyLong_FromSize_t(t.use_count() - (autograd::impl::try_get_grad_accumulator(t) ? 1 : 0));
  });
}
PyMethodDef functions[] = {{"_swap_tensors", swap_tensors, METH_VARARGS, nullptr}, {"_holders", holders, METH_O, nullptr}, {}};

}  // namespace

PyObject* wrap(Tensor t) {
  TensorImpl* impl = t.impl();
  if (!impl) Py_RETURN_NONE;
  if (PyObject* known = objects().find(impl)) {
    Py_INCREF(known);
    // The kept object's own reference becomes the caller's.
    if (CRESSET_UNLIKELY(object_of(known)->kept)) {
      take_back(known);
      Py_DECREF(known);
    }
    return known;
  }
  return new_object(CRESSET_UNLIKELY(impl->backend() == kFakeBackend) && fake_type ? fake_type : tensor_type, std::move(t));
}

Tensor another_of(const Tensor& t) { return t.layout() == Layout::Strided ? t.alias() : t.requires_grad() ? t.clone() : t.detach(); }
PyObject* wrap_as(PyTypeObject* type, Tensor t) {
  const PyObject* known = objects().find(t.impl());
  CRESSET_CHECK(!known, "a tensor has one object, and this one is a ", Py_TYPE(known)->tp_name, " already: it cannot be a ", type->tp_name, " too");
  return new_object(type, std::move(t));
}

std::vector<Tensor> tensor_list(PyObject* sequence, bool none_allowed) {
  std::vector<Tensor> list;
  const Ref fast = checked(PySequence_Fast(sequence, "expected a sequence of tensors"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), i);
    CRESSET_CHECK_TYPE(is_tensor(item) || (none_allowed && item == Py_None), "expected a tensor, got ", Py_TYPE(item)->tp_name);
    list.push_back(item == Py_None ? Tensor() : tensor_of(item));
  }
  return list;
}

bool add_tensor(PyObject* module) {
  object_hook().release = release_kept;
  std::vector<PyType_Slot> slots;
  for (const PyType_Slot* list : {tensor_slots, conversion_slots, operator_slots})
    for (; list->slot; list++) slots.push_back(*list);
  slots.push_back({});
  PyType_Spec spec{"cresset.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!tensor_type) return false;
  name_operator_arguments(tensor_type);
  PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type));
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
