// Tensors of classes with `__torch_dispatch__`: their calls are taken over below autograd (cresset/dispatch/listen.h).

#include "cresset/dispatch/listen.h"
#include "python/bind/tensor.h"

namespace cresset::python {

namespace {

PyObject* disabled_dispatch;

// Whether the class has a `__torch_dispatch__` of its own, and not Tensor's, which takes nothing over.
bool takes_calls_over(PyTypeObject* type) {
  const Ref own(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__torch_dispatch__"));
  if (!own) PyErr_Clear();
  return own && own.get() != Py_None && own.get() != disabled_dispatch;
}
// _takes_calls_over(class)
PyObject* takes_over(PyObject*, PyObject* o) { return PyBool_FromLong(PyType_Check(o) && takes_calls_over(reinterpret_cast<PyTypeObject*>(o))); }

// Tensor.__torch_dispatch__(func, types, args=(), kwargs=None): the call itself, which neither classes nor modes take over.
PyObject* disabled(PyObject*, PyObject* given, PyObject* named) {
  static const char* names[] = {"func", "types", "args", "kwargs", nullptr};
  PyObject *func, *types, *args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTupleAndKeywords(given, named, "OO|OO:__torch_dispatch__", const_cast<char**>(names), &func, &types, &args, &kwargs)) return nullptr;
  const Ref list(args ? PySequence_Tuple(args) : PyTuple_New(0));
  if (!list) return nullptr;
  struct Unheard {
    dispatch::ListenScope above{dispatch::ListenPlace::above_layers, nullptr}, below{dispatch::ListenPlace::below_autograd, nullptr};
    const bool before = dispatch::set_subclasses_heard(false);
    ~Unheard() { dispatch::set_subclasses_heard(before); }
  } const unheard;
  return PyObject_Call(func, list.get(), kwargs == Py_None ? nullptr : kwargs);
}
PyMethodDef functions[] = {{"_takes_calls_over", takes_over, METH_O, nullptr},
                           {"_disabled_torch_dispatch_impl", reinterpret_cast<PyCFunction>(disabled), METH_VARARGS | METH_KEYWORDS, nullptr},
                           {}};

std::vector<int64_t> contiguous_strides(IntArrayRef sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
  return strides;
}

// The bytes that the geometry reaches.
size_t bytes_of(IntArrayRef sizes, IntArrayRef strides, int64_t offset, ScalarType dtype) {
  int64_t last = offset;
  for (size_t i = 0; i < sizes.size(); i++) {
    if (sizes[i] == 0) return 0;
    last += (sizes[i] - 1) * strides[i];
  }
  return static_cast<size_t>(last + 1) * element_size(dtype);
}

bool given(PyObject* o) { return o && o != Py_None; }

}  // namespace

bool add_subclasses(PyObject* module) {
  if (PyModule_AddFunctions(module, functions)) return false;
  disabled_dispatch = PyObject_GetAttrString(module, "_disabled_torch_dispatch_impl");
  return disabled_dispatch && !PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__torch_dispatch__", disabled_dispatch);
}

void mark_subclass(PyTypeObject* type, const Tensor& t) {
  if (!takes_calls_over(type)) return;
  static bool heard = false;
  if (!heard) {  // the package's part, which most programs never load
    const Ref module = checked(PyImport_ImportModule("cresset._modes.subclasses"));
    checked(PyObject_CallMethod(module.get(), "install", nullptr));
    heard = true;
  }
  t.impl()->set_backend(dispatch::kSubclassBackend);
  t.impl()->set_layer(Layer::LazyMath, true);
}

// _share_storage(a, b): the first looks at the memory of the second from now on; its geometry stays.
PyObject* share_storage(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "O!O!:_share_storage", tensor_type, &a, tensor_type, &b)) return nullptr;
  return guarded([&]() -> PyObject* {
    CRESSET_CHECK(tensor_of(b).has_storage(), "_share_storage: the tensor has no storage");
    tensor_of(a).impl()->set_storage(tensor_of(b).impl()->storage());
    Py_RETURN_NONE;
  });
}

// _take_geometry(a, b): the first has the sizes, strides and storage offset of the second from now on.
PyObject* take_geometry(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "O!O!:_take_geometry", tensor_type, &a, tensor_type, &b)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor like = tensor_of(b);
    tensor_of(a).impl()->set_geometry(like.sizes(), like.strides(), like.storage_offset());
    Py_RETURN_NONE;
  });
}

// _make_wrapper_subclass(cls, size, *, ...): a tensor without memory, whose class answers for it.
PyObject* make_wrapper_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"cls",    "size",   "strides",    "storage_offset", "memory_format", "dtype",
                                "layout", "device", "pin_memory", "requires_grad",  "storage_size",  nullptr};
  PyObject *cls, *size, *strides = nullptr, *offset = nullptr, *format = nullptr, *dtype = nullptr, *layout = nullptr, *device = nullptr, *bytes = nullptr;
  int pinned = 0, requires_grad = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$OOOOOOppO:_make_wrapper_subclass", const_cast<char**>(names), &cls, &size, &strides, &offset, &format,
                                   &dtype, &layout, &device, &pinned, &requires_grad, &bytes))
    return nullptr;
  return guarded([&] {
    CRESSET_CHECK_TYPE(PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), tensor_type),
                       "_make_wrapper_subclass: expected a class that derives from Tensor");
    auto* type = reinterpret_cast<PyTypeObject*>(cls);
    CRESSET_CHECK_TYPE(takes_calls_over(type), "_make_wrapper_subclass: ", type->tp_name, " must define __torch_dispatch__");
    CRESSET_CHECK(!pinned, "_make_wrapper_subclass: a tensor without memory cannot be pinned");
    const std::vector<int64_t> sizes = to_int_list(size, "size");
    const std::vector<int64_t> steps = given(strides) ? to_int_list(strides, "strides") : contiguous_strides(sizes);
    CRESSET_CHECK(steps.size() == sizes.size(), "_make_wrapper_subclass: got ", steps.size(), " strides for ", sizes.size(), " sizes");
    const int64_t at = given(offset) ? to_index(offset, "storage_offset") : 0;
    const ScalarType kind = given(dtype) ? to_dtype(dtype) : get_default_dtype();
    const Device where = given(device) ? to_device(device) : Device(kCPU);
    const size_t nbytes = given(bytes) ? static_cast<size_t>(to_index(bytes, "storage_size")) : bytes_of(sizes, steps, at, kind);
    auto storage = make_intrusive<StorageImpl>(nullptr, nbytes, where, std::function<void(void*)>([](void*) {}));
    auto impl = make_intrusive<TensorImpl>(std::move(storage), kind, where);
    impl->set_geometry(sizes, steps, at);
    impl->set_own_version();
    Tensor t{intrusive_ptr<TensorImpl>(std::move(impl))};
    mark_subclass(type, t);
    if (requires_grad) t.requires_grad_(true);
    return wrap_as(type, std::move(t));
  });
}

}  // namespace cresset::python
