// The Tensor type: identity, geometry, differentiation, data in and out, indexing. Operators are attached by the package.

#include <cstring>
#include <string>
#include <unordered_map>

#include "cresset/ops/from_data.h"
#include "python/bind/bind.h"

#include <structmember.h>

namespace cresset::python {

PyTypeObject* tensor_type;

namespace {

struct TensorObject {
  PyObject_HEAD
  PyObject* dict;
  PyObject* weak;
  Tensor tensor;
};

// The object of every tensor that has one; an entry lives as long as its object. The interpreter's lock protects it.
std::unordered_map<TensorImpl*, PyObject*>& objects() {
  static auto* map = new std::unordered_map<TensorImpl*, PyObject*>();
  return *map;
}

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<TensorObject*>(self)->dict);
  Py_VISIT(Py_TYPE(self));
  return traverse_autograd(tensor_of(self), visit, arg);
}
int tensor_clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<TensorObject*>(self)->dict);
  return 0;
}
void tensor_dealloc(PyObject* self) {
  auto* o = reinterpret_cast<TensorObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (o->weak) PyObject_ClearWeakRefs(self);
  Py_CLEAR(o->dict);
  objects().erase(o->tensor.impl());
  o->tensor.~Tensor();
  type->tp_free(self);
  Py_DECREF(type);
}

Tensor optional_tensor(PyObject* o) {
  if (o == Py_None) return {};
  return tensor_of(o);
}

// ---- properties --------------------------------------------------------------------------------------------------------

template <auto F> PyObject* property(PyObject* self, void*) {
  return guarded([&] { return F(tensor_of(self)); });
}
template <bool (Tensor::*F)() const> PyObject* flag(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong((tensor_of(self).*F)()); });
}
PyObject* get_dtype(const Tensor& t) { return Ref::share(constant(t.scalar_type())).release(); }
PyObject* get_layout(const Tensor& t) { return Ref::share(constant(t.layout())).release(); }
PyObject* get_device(const Tensor& t) { return wrap(t.device()); }
PyObject* get_sizes(const Tensor& t) { return wrap(t.sizes()); }
PyObject* get_strides(const Tensor& t) { return wrap(t.strides()); }
PyObject* get_grad(const Tensor& t) { return wrap(t.grad()); }
PyObject* get_data(const Tensor& t) { return wrap(t.data()); }
PyObject* get_base(const Tensor& t) { return t.is_view() ? wrap(t._base()) : Ref::share(Py_None).release(); }
PyObject* get_version(const Tensor& t) { return PyLong_FromLongLong(t._version()); }
PyObject* get_storage(const Tensor& t) {
  Ref tuple = checked(PyTuple_New(2));
  PyTuple_SET_ITEM(tuple.get(), 0, PyLong_FromVoidPtr(t.has_storage() ? t.storage().mutable_data() : nullptr));
  PyTuple_SET_ITEM(tuple.get(), 1, PyLong_FromSize_t(t.has_storage() ? t.storage().nbytes() : 0));
  return tuple.release();
}

int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    if (!value || value == Py_None) {
      t.mutable_grad().reset();
      return 0;
    }
    CRESSET_CHECK_TYPE(is_tensor(value), "grad: expected a tensor or None, got ", Py_TYPE(value)->tp_name);
    const Tensor& grad = tensor_of(value);
    CRESSET_CHECK(grad.sizes() == t.sizes(), "grad: got shape ", grad.sizes(), ", expected the tensor's ", t.sizes());
    CRESSET_CHECK(grad.scalar_type() == t.scalar_type(), "grad: got dtype ", grad.scalar_type(), ", expected the tensor's ", t.scalar_type());
    t.mutable_grad() = grad;
    return 0;
  }, -1);
}
int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded([&] { tensor_of(self).requires_grad_(PyObject_IsTrue(value) == 1); return 0; }, -1);
}
int set_data(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(value && is_tensor(value), "data: expected a tensor");
    tensor_of(self).set_data(tensor_of(value));
    return 0;
  }, -1);
}

PyGetSetDef tensor_properties[] = {
    {"dtype", property<get_dtype>, nullptr, nullptr, nullptr},
    {"layout", property<get_layout>, nullptr, nullptr, nullptr},
    {"device", property<get_device>, nullptr, nullptr, nullptr},
    {"_sizes", property<get_sizes>, nullptr, nullptr, nullptr},
    {"_strides", property<get_strides>, nullptr, nullptr, nullptr},
    {"_storage", property<get_storage>, nullptr, nullptr, nullptr},
    {"_version", property<get_version>, nullptr, nullptr, nullptr},
    {"_base", property<get_base>, nullptr, nullptr, nullptr},
    {"grad", property<get_grad>, set_grad, nullptr, nullptr},
    {"data", property<get_data>, set_data, nullptr, nullptr},
    {"grad_fn", property<wrap_grad_fn>, nullptr, nullptr, nullptr},
    {"requires_grad", flag<&Tensor::requires_grad>, set_requires_grad, nullptr, nullptr},
    {"is_leaf", flag<&Tensor::is_leaf>, nullptr, nullptr, nullptr},
    {"retains_grad", flag<&Tensor::retains_grad>, nullptr, nullptr, nullptr},
    {"is_meta", flag<&Tensor::is_meta>, nullptr, nullptr, nullptr},
    {"is_sparse", flag<&Tensor::is_sparse>, nullptr, nullptr, nullptr},
    {"is_cuda", flag<&Tensor::is_cuda>, nullptr, nullptr, nullptr},
    {"is_cpu", flag<&Tensor::is_cpu>, nullptr, nullptr, nullptr},
    {}};
PyMemberDef tensor_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak), READONLY, nullptr},
    {}};

// ---- methods -----------------------------------------------------------------------------------------------------------

template <auto F> PyObject* method(PyObject* self, PyObject*) {
  return guarded([&] { return F(tensor_of(self)); });
}
template <bool (Tensor::*F)() const> PyObject* question(PyObject* self, PyObject*) { return flag<F>(self, nullptr); }
PyObject* storage_offset(const Tensor& t) { return PyLong_FromLongLong(t.storage_offset()); }
PyObject* numel(const Tensor& t) { return PyLong_FromLongLong(t.numel()); }
PyObject* dim(const Tensor& t) { return PyLong_FromLongLong(t.dim()); }
PyObject* tensor_element_size(const Tensor& t) { return PyLong_FromSize_t(t.element_size()); }
PyObject* data_ptr(const Tensor& t) { return PyLong_FromVoidPtr(t.data_ptr()); }
PyObject* item(const Tensor& t) { return wrap(t.item()); }
PyObject* detach(const Tensor& t) { return wrap(t.detach()); }
PyObject* text(const Tensor& t) { return PyUnicode_FromString(t.toString().c_str()); }
PyObject* retain_grad(const Tensor& t) {
  t.retain_grad();
  Py_RETURN_NONE;
}
PyObject* detach_in_place(PyObject* self, PyObject*) {
  return guarded([&] { tensor_ref(self).detach_(); return Ref::share(self).release(); });
}
PyObject* is_contiguous(PyObject* self, PyObject* format) {
  return guarded([&] {
    dispatch::Value value;
    dispatch::Type type;
    type.kind = dispatch::TypeKind::MemoryFormat;
    CRESSET_CHECK_TYPE(read_value(format, type, false, false, value), "is_contiguous: expected a memory format");
    return PyBool_FromLong(tensor_of(self).is_contiguous(value.to_memory_format()));
  });
}
PyObject* requires_grad_(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"requires_grad", nullptr};
  int on = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p", const_cast<char**>(names), &on)) return nullptr;
  return guarded([&] { tensor_of(self).requires_grad_(on != 0); return Ref::share(self).release(); });
}
// Nested lists of `t`, which is contiguous, from element `at` on.
PyObject* nested(const Tensor& t, size_t d, int64_t& at) {
  if (d == static_cast<size_t>(t.dim())) {
    const char* p = static_cast<const char*>(t.data_ptr()) + at++ * static_cast<int64_t>(t.element_size());
    switch (t.scalar_type()) {
#define CRESSET_ITEM(T, Name) \
  case ScalarType::Name: { T v; memcpy(static_cast<void*>(&v), p, sizeof(v)); return wrap(Scalar(v)); }
      CRESSET_FOR_EACH_DTYPE(CRESSET_ITEM)
#undef CRESSET_ITEM
      default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "tolist: no such dtype as ", t.scalar_type());
    }
  }
  Ref list = checked(PyList_New(t.sizes()[d]));
  for (int64_t i = 0; i < t.sizes()[d]; i++) PyList_SET_ITEM(list.get(), i, checked(nested(t, d + 1, at)).release());
  return list.release();
}
PyObject* tolist(const Tensor& t) {
  const Tensor plain = t.detach().resolve_conj().contiguous();
  int64_t at = 0;
  return nested(plain, 0, at);
}

PyMethodDef tensor_methods[] = {
    {"storage_offset", method<storage_offset>, METH_NOARGS, nullptr},
    {"numel", method<numel>, METH_NOARGS, nullptr},
    {"nelement", method<numel>, METH_NOARGS, nullptr},
    {"dim", method<dim>, METH_NOARGS, nullptr},
    {"ndimension", method<dim>, METH_NOARGS, nullptr},
    {"element_size", method<tensor_element_size>, METH_NOARGS, nullptr},
    {"data_ptr", method<data_ptr>, METH_NOARGS, nullptr},
    {"item", method<item>, METH_NOARGS, nullptr},
    {"tolist", method<tolist>, METH_NOARGS, nullptr},
    {"detach", method<detach>, METH_NOARGS, nullptr},
    {"detach_", detach_in_place, METH_NOARGS, nullptr},
    {"retain_grad", method<retain_grad>, METH_NOARGS, nullptr},
    {"_text", method<text>, METH_NOARGS, nullptr},
    {"is_floating_point", question<&Tensor::is_floating_point>, METH_NOARGS, nullptr},
    {"is_complex", question<&Tensor::is_complex>, METH_NOARGS, nullptr},
    {"is_signed", question<&Tensor::is_signed>, METH_NOARGS, nullptr},
    {"is_conj", question<&Tensor::is_conj>, METH_NOARGS, nullptr},
    {"is_neg", question<&Tensor::is_neg>, METH_NOARGS, nullptr},
    {"is_inference", question<&Tensor::is_inference>, METH_NOARGS, nullptr},
    {"_is_contiguous", is_contiguous, METH_O, nullptr},
    {"requires_grad_", reinterpret_cast<PyCFunction>(requires_grad_), METH_VARARGS | METH_KEYWORDS, nullptr},
    {}};

// ---- indexing ----------------------------------------------------------------------------------------------------------

indexing::TensorIndex one_index(PyObject* o) {
  if (o == Py_None) return std::nullopt;
  if (o == Py_Ellipsis) return indexing::Ellipsis;
  if (PyBool_Check(o)) return o == Py_True;
  if (is_tensor(o)) return tensor_of(o);
  if (PySlice_Check(o)) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    auto bound = [](PyObject* b) -> std::optional<int64_t> {
      if (b == Py_None) return std::nullopt;
      if (is_tensor(b)) return tensor_of(b).item().toLong();
      const Ref index = checked(PyNumber_Index(b));
      const long long v = PyLong_AsLongLong(index.get());
      if (v == -1 && PyErr_Occurred()) throw PythonError();
      return static_cast<int64_t>(v);
    };
    const std::optional<int64_t> step = bound(s->step);
    CRESSET_CHECK_VALUE(!step || *step > 0, "slice: the step must be greater than zero, got ", step ? static_cast<long>(*step) : 0L);
    return indexing::Slice(bound(s->start), bound(s->stop), step);
  }
  if (PySequence_Check(o)) {  // lists and arrays
    const Ref data = checked(PyObject_CallOneArg(package_function("as_index"), o));
    if (is_tensor(data.get())) return tensor_of(data.get());
  }
  CRESSET_CHECK_INDEX(PyIndex_Check(o), "index: expected integers, slices, None, ..., booleans or tensors, got ", Py_TYPE(o)->tp_name);
  const Ref integer = checked(PyNumber_Index(o));
  const long long v = PyLong_AsLongLong(integer.get());
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return static_cast<int64_t>(v);
}
std::vector<indexing::TensorIndex> indices_of(PyObject* index) {
  std::vector<indexing::TensorIndex> list;
  if (!PyTuple_Check(index)) return {one_index(index)};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++) list.push_back(one_index(PyTuple_GET_ITEM(index, i)));
  return list;
}

Py_ssize_t tensor_length(PyObject* self) {
  return guarded([&]() -> Py_ssize_t {
    CRESSET_CHECK_TYPE(tensor_of(self).dim() > 0, "len: a tensor without dimensions has no length");
    return tensor_of(self).sizes()[0];
  }, Py_ssize_t{-1});
}

PyType_Slot tensor_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(tensor_dealloc)},
                              {Py_tp_traverse, reinterpret_cast<void*>(tensor_traverse)},
                              {Py_tp_clear, reinterpret_cast<void*>(tensor_clear)},
                              {Py_tp_getset, tensor_properties},
                              {Py_tp_members, tensor_members},
                              {Py_tp_methods, tensor_methods},
                              {Py_mp_length, reinterpret_cast<void*>(tensor_length)},
                              {Py_mp_subscript, reinterpret_cast<void*>(get_item)},
                              {Py_mp_ass_subscript, reinterpret_cast<void*>(set_item)},
                              {}};

// ---- module functions --------------------------------------------------------------------------------------------------

// from_pointer(address, sizes, strides in elements, dtype, owner): memory of `owner`, which lives as long as the tensor.
PyObject* from_pointer(PyObject*, PyObject* args) {
  Py_ssize_t address;
  PyObject *sizes, *strides, *dtype, *owner;
  if (!PyArg_ParseTuple(args, "nOOOO", &address, &sizes, &strides, &dtype, &owner)) return nullptr;
  return guarded([&] {
    dispatch::Type ints;
    ints.kind = dispatch::TypeKind::Int;
    ints.list = true;
    dispatch::Value size_list, stride_list;
    CRESSET_CHECK_TYPE(read_value(sizes, ints, false, false, size_list) && read_value(strides, ints, false, false, stride_list),
                       "from_pointer: expected tuples of integers");
    PyObject* kept = Ref::share(owner).release();
    auto release = [kept](void*) {
      const PyGILState_STATE state = PyGILState_Ensure();
      Py_DECREF(kept);
      PyGILState_Release(state);
    };
    return wrap(from_blob(reinterpret_cast<void*>(address), size_list.to_int_list(), stride_list.to_int_list(), release, to_dtype(dtype)));
  });
}

// from_numbers(flat list, dtype): a 1-d tensor.
PyObject* from_numbers(PyObject*, PyObject* args) {
  PyObject *list, *dtype;
  if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &list, &dtype)) return nullptr;
  return guarded([&]() -> PyObject* {
    const ScalarType type = to_dtype(dtype);
    const Py_ssize_t n = PyList_GET_SIZE(list);
    Tensor t = empty({n}, type);
    for (Py_ssize_t i = 0; i < n; i++) {
      const Scalar s = to_scalar(PyList_GET_ITEM(list, i));
      CRESSET_CHECK_TYPE(!s.isComplex() || is_complex_type(type), "tensor: got a complex number for dtype ", type);
      switch (type) {
#define CRESSET_PUT(T, Name) \
  case ScalarType::Name: t.data_ptr<T>()[i] = s.isIntegral(false) && std::is_integral_v<T> ? s.to<T>() : s.as<T>(); break;
        CRESSET_FOR_EACH_DTYPE(CRESSET_PUT)
#undef CRESSET_PUT
        default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "tensor: no such dtype as ", type);
      }
    }
    return wrap(t);
  });
}

PyObject* set_grad_enabled(PyObject*, PyObject* on) {
  const bool before = GradMode::is_enabled();
  GradMode::set_enabled(PyObject_IsTrue(on) == 1);
  return PyBool_FromLong(before);
}
PyObject* seed(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    const unsigned long long seed_value = PyLong_AsUnsignedLongLongMask(value);
    if (PyErr_Occurred()) throw PythonError();
    manual_seed(seed_value);
    Py_RETURN_NONE;
  });
}
PyObject* set_default_dtype_of_module(PyObject*, PyObject* dtype) {
  return guarded([&]() -> PyObject* {
    set_default_dtype(to_dtype(dtype));
    Py_RETURN_NONE;
  });
}
template <auto F> PyObject* of_two_dtypes(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "OO", &a, &b)) return nullptr;
  return guarded([&] { return wrap(dispatch::Value(F(to_dtype(a), to_dtype(b)))); });
}
PyMethodDef functions[] = {
    {"can_cast", of_two_dtypes<can_cast>, METH_VARARGS, nullptr},
    {"promote_types", of_two_dtypes<promote_types>, METH_VARARGS, nullptr},
    {"from_pointer", from_pointer, METH_VARARGS, nullptr},
    {"from_numbers", from_numbers, METH_VARARGS, nullptr},
    {"set_grad_enabled", set_grad_enabled, METH_O, nullptr},
    {"is_grad_enabled", [](PyObject*, PyObject*) { return PyBool_FromLong(GradMode::is_enabled()); }, METH_NOARGS, nullptr},
    {"manual_seed", seed, METH_O, nullptr},
    {"default_generator", [](PyObject*, PyObject*) { return wrap(default_generator()); }, METH_NOARGS, nullptr},
    {"set_default_dtype", set_default_dtype_of_module, METH_O, nullptr},
    {"get_default_dtype", [](PyObject*, PyObject*) { return Ref::share(constant(get_default_dtype())).release(); }, METH_NOARGS, nullptr},
    {}};

}  // namespace

bool is_tensor(PyObject* o) { return PyObject_TypeCheck(o, tensor_type); }
Tensor& tensor_ref(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->tensor; }
const Tensor& tensor_of(PyObject* o) { return tensor_ref(o); }

PyObject* wrap(const Tensor& t) {
  if (!t.defined()) Py_RETURN_NONE;
  const auto found = objects().find(t.impl());
  if (found != objects().end()) return Ref::share(found->second).release();
  PyObject* o = tensor_type->tp_alloc(tensor_type, 0);
  if (!o) throw PythonError();
  new (&tensor_ref(o)) Tensor(t);
  objects().emplace(t.impl(), o);
  return o;
}

std::vector<Tensor> tensor_list(PyObject* sequence, bool none_allowed) {
  std::vector<Tensor> list;
  const Ref fast = checked(PySequence_Fast(sequence, "expected a sequence of tensors"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), i);
    CRESSET_CHECK_TYPE(is_tensor(item) || (none_allowed && item == Py_None), "expected a tensor, got ", Py_TYPE(item)->tp_name);
    list.push_back(optional_tensor(item));
  }
  return list;
}

PyObject* get_item(PyObject* self, PyObject* index) {
  return guarded([&] { return wrap(indexing::get_item(tensor_of(self), indices_of(index))); });
}

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(value, "tensor: elements cannot be deleted");
    const auto indices = indices_of(index);
    if (is_number(value)) {
      indexing::set_item(tensor_of(self), indices, to_scalar(value));
      return 0;
    }
    CRESSET_CHECK_TYPE(is_tensor(value), "cannot assign a ", Py_TYPE(value)->tp_name, " to elements of a tensor");
    indexing::set_item(tensor_of(self), indices, tensor_of(value));
    return 0;
  }, -1);
}

bool add_tensor(PyObject* module) {
  PyType_Spec spec{"torch.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, tensor_slots};
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!tensor_type) return false;
  PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type));
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
