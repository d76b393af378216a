// Fake tensors for `torch._subclasses.fake_tensor`: a mode is a capsule, tensors that belong to one are objects of a class that the package
// names, and errors are those of the package.

#include "cresset/transform/fake.h"
#include "cresset/dispatch/listen.h"
#include "cresset/transform/functionalize.h"
#include "python/bind/tensor.h"

namespace cresset::python {

PyTypeObject* fake_type;

namespace {

constexpr const char* kName = "cresset.FakeMode";
PyObject *data_dependent, *dynamic_shape, *device_mismatch;

FakeMode& mode_of(PyObject* capsule) {
  auto* mode = static_cast<FakeMode*>(PyCapsule_GetPointer(capsule, kName));
  if (!mode) throw PythonError();
  return *mode;
}

PyObject* capsule_of(FakeMode* mode) {
  if (!mode) Py_RETURN_NONE;
  mode->retain();
  PyObject* capsule = PyCapsule_New(mode, kName, [](PyObject* c) { static_cast<FakeMode*>(PyCapsule_GetPointer(c, kName))->release(); });
  if (!capsule) mode->release();
  return capsule;
}

PyObject* make(PyObject*, PyObject* allow) {
  return guarded([&] {
    const auto mode = make_intrusive<FakeMode>(PyObject_IsTrue(allow) == 1);
    return capsule_of(mode.get());
  });
}

// refuse_unknown_counts(mode): numbers of elements of sparse tensors that only data tells are errors from now on.
PyObject* refuse_unknown_counts(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    mode_of(capsule).refuse_unknown_counts();
    Py_RETURN_NONE;
  });
}

// swap(mode or None): what makes tensors fake in this thread from now on. Returns what did. The caller keeps the mode.
PyObject* swap(PyObject*, PyObject* capsule) {
  return guarded([&] {
    FakeMode* const mode = capsule == Py_None ? nullptr : &mode_of(capsule);
    LayerState& state = layer_state();
    const Ref before = checked(capsule_of(state.fake_mode));
    state.fake_mode = mode;
    const bool heard = mode || dispatch::listener_at(dispatch::ListenPlace::below_autograd);
    state.included = static_cast<uint8_t>(heard ? state.included | kLazyMathLayer : state.included & ~kLazyMathLayer);
    return Ref::share(before.get()).release();
  });
}

struct KeptObject final : RefCounted {
  explicit KeptObject(PyObject* o) : object(Ref::share(o).release()) {}
  ~KeptObject() override {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE held = PyGILState_Ensure();
    Py_DECREF(object);
    PyGILState_Release(held);
  }
  PyObject* object;
};

// shape_env(mode): the object given to set_shapes, or None.
PyObject* shape_env(PyObject*, PyObject* capsule) {
  return guarded([&] {
    auto* const kept = static_cast<KeptObject*>(mode_of(capsule).shapes_front());
    return Ref::share(kept ? kept->object : Py_None).release();
  });
}

// set_shapes(mode, capsule of symbolic shapes, the environment that owns them)
PyObject* set_shapes(PyObject*, PyObject* args) {
  PyObject *capsule, *shapes, *env;
  if (!PyArg_ParseTuple(args, "OOO", &capsule, &shapes, &env)) return nullptr;
  return guarded([&]() -> PyObject* {
    auto* const given = static_cast<SymbolicShapes*>(PyCapsule_GetPointer(shapes, "cresset.SymbolicShapes"));
    if (!given) throw PythonError();
    mode_of(capsule).set_shapes(intrusive_ptr<SymbolicShapes>::share(given), make_intrusive<KeptObject>(env));
    Py_RETURN_NONE;
  });
}

// set_geometry(fake tensor, sizes, strides, storage offset): numbers that stand for symbols; the storage takes what the geometry needs.
PyObject* set_geometry(PyObject*, PyObject* args) {
  PyObject *tensor, *sizes, *strides;
  long long offset;
  if (!PyArg_ParseTuple(args, "O!OOL", tensor_type, &tensor, &sizes, &strides, &offset)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(tensor);
    CRESSET_CHECK(is_fake(t), "set_geometry: expected a fake tensor, got ", t);
    const std::vector<int64_t> n = to_int_list(sizes, "sizes"), step = to_int_list(strides, "strides");
    t.impl()->set_geometry(n, step, offset);
    int64_t last = offset;
    for (size_t d = 0; d < n.size(); d++) last += (n[d] - 1) * step[d];
    const size_t bytes = t.numel() ? static_cast<size_t>(last + 1) * t.element_size() : 0;
    if (t.impl()->storage()->nbytes() < bytes) t.impl()->storage()->resize(bytes);
    if (SymbolicShapes* s = t.impl()->storage()->fake_mode()->shapes()) s->made(intrusive_ptr<TensorImpl>::share(t.impl()));
    Py_RETURN_NONE;
  });
}

// from_tensor(mode, tensor)
PyObject* from_tensor(PyObject*, PyObject* args) {
  PyObject *capsule, *tensor;
  if (!PyArg_ParseTuple(args, "OO!", &capsule, tensor_type, &tensor)) return nullptr;
  return guarded([&] { return wrap(fake_like(mode_of(capsule), tensor_of(tensor))); });
}

// snapshot(mode, tensor): a fake tensor of the geometry that it has now, without a history, unheard by listeners. None for real ones of other layouts, and for
// batches.
PyObject* snapshot(PyObject*, PyObject* args) {
  PyObject *capsule, *tensor;
  if (!PyArg_ParseTuple(args, "OO!", &capsule, tensor_type, &tensor)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor t = func::from_functional(tensor_of(tensor));
    if (!mode_of_fake(*t.impl()) && (t.layout() != Layout::Strided || !t.has_storage())) Py_RETURN_NONE;
    Tensor made(is_fake(t) ? t.impl()->alias(true) : mode_of(capsule).fake_of(*t.impl()));
    if (SymbolicShapes* s = mode_of_fake(*made.impl())->shapes()) s->made(intrusive_ptr<TensorImpl>::share(made.impl()));
    return wrap(std::move(made));
  });
}

// from_meta(mode, meta tensor, device)
PyObject* from_meta(PyObject*, PyObject* args) {
  PyObject *capsule, *tensor, *device;
  if (!PyArg_ParseTuple(args, "OO!O", &capsule, tensor_type, &tensor, &device)) return nullptr;
  return guarded([&] { return wrap(fake_on(mode_of(capsule), tensor_of(tensor), to_device(device))); });
}

// know(fake tensor, tensor): from now on the fake one knows these values. For one without views, of the same geometry.
PyObject* know(PyObject*, PyObject* args) {
  PyObject *fake, *real;
  if (!PyArg_ParseTuple(args, "O!O!", tensor_type, &fake, tensor_type, &real)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor &f = tensor_of(fake), &r = tensor_of(real);
    CRESSET_CHECK(is_fake(f) && !is_fake(r) && r.is_cpu() && f.storage_offset() == 0 && r.storage_offset() == 0 && f.sizes() == r.sizes() &&
                      f.strides() == r.strides() && f.scalar_type() == r.scalar_type(),
                  "know: expected a fake tensor and a CPU tensor of the same sizes, strides and dtype");
    f.impl()->storage()->set_constant(r.impl()->storage());
    Py_RETURN_NONE;
  });
}

// known(fake tensor): a copy of the values that it knows, or None.
PyObject* known(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    const Tensor values(is_fake(tensor_of(tensor)) ? known_values(*tensor_of(tensor).impl()) : intrusive_ptr<TensorImpl>());
    if (!values.defined()) Py_RETURN_NONE;
    const FakeModeScope off(nullptr);
    return wrap(values.detach().clone());
  });
}

// mode(tensor): None for real ones.
PyObject* mode(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    CRESSET_CHECK_TYPE(is_tensor(tensor), "fake mode: expected a tensor, got ", Py_TYPE(tensor)->tp_name);
    return capsule_of(fake_mode_of(tensor_of(tensor)).get());
  });
}

// faking(tensor): whether what is made of it now is fake.
PyObject* faking(PyObject*, PyObject* tensor) {
  return PyBool_FromLong(layer_state().fake_mode != nullptr || (is_tensor(tensor) && is_fake(tensor_of(tensor))));
}

PyObject* address(PyObject*, PyObject* capsule) {
  return guarded([&] { return PyLong_FromVoidPtr(&mode_of(capsule)); });
}

// memory(mode, device): bytes in use and their peak.
PyObject* memory(PyObject*, PyObject* args) {
  PyObject *capsule, *device;
  if (!PyArg_ParseTuple(args, "OO", &capsule, &device)) return nullptr;
  return guarded([&] {
    const FakeMode::Memory m = mode_of(capsule).memory(to_device(device));
    return Py_BuildValue("LL", static_cast<long long>(m.allocated_bytes), static_cast<long long>(m.peak_allocated_bytes));
  });
}

PyObject* reset_peak(PyObject*, PyObject* args) {
  PyObject *capsule, *device;
  if (!PyArg_ParseTuple(args, "OO", &capsule, &device)) return nullptr;
  return guarded([&]() -> PyObject* {
    mode_of(capsule).reset_peak(to_device(device));
    Py_RETURN_NONE;
  });
}

// Figures of the allocator of real memory, for comparison.
PyObject* cpu_memory(PyObject*, PyObject*) {
  const AllocatorStats s = cpu_allocator_stats();
  return Py_BuildValue("{sLsLsLsLsL}", "allocated_bytes", static_cast<long long>(s.allocated_bytes), "peak_allocated_bytes",
                       static_cast<long long>(s.peak_allocated_bytes), "reserved_bytes", static_cast<long long>(s.reserved_bytes), "num_allocs",
                       static_cast<long long>(s.num_allocs), "num_system_allocs", static_cast<long long>(s.num_system_allocs));
}
PyObject* reset_cpu_peak(PyObject*, PyObject*) {
  reset_cpu_allocator_peak();
  Py_RETURN_NONE;
}

// set_names(FakeTensor, DataDependentOutputException, DynamicOutputShapeException, FakeTensorDeviceMismatchError)
PyObject* set_names(PyObject*, PyObject* args) {
  PyObject *type, *data, *shape, *device;
  if (!PyArg_ParseTuple(args, "O!OOO", &PyType_Type, &type, &data, &shape, &device)) return nullptr;
  fake_type = reinterpret_cast<PyTypeObject*>(Ref::share(type).release());
  data_dependent = Ref::share(data).release();
  dynamic_shape = Ref::share(shape).release();
  device_mismatch = Ref::share(device).release();
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"_fake_mode", make, METH_O, nullptr},
                           {"_fake_refuse_unknown_counts", refuse_unknown_counts, METH_O, nullptr},
                           {"_fake_swap", swap, METH_O, nullptr},
                           {"_fake_set_shapes", set_shapes, METH_VARARGS, nullptr},
                           {"_fake_shape_env", shape_env, METH_O, nullptr},
                           {"_fake_set_geometry", set_geometry, METH_VARARGS, nullptr},
                           {"_fake_from_tensor", from_tensor, METH_VARARGS, nullptr},
                           {"_fake_snapshot", snapshot, METH_VARARGS, nullptr},
                           {"_fake_from_meta", from_meta, METH_VARARGS, nullptr},
                           {"_fake_know", know, METH_VARARGS, nullptr},
                           {"_fake_known", known, METH_O, nullptr},
                           {"_fake_mode_of", mode, METH_O, nullptr},
                           {"_faking", faking, METH_O, nullptr},
                           {"_fake_address", address, METH_O, nullptr},
                           {"_fake_memory", memory, METH_VARARGS, nullptr},
                           {"_fake_reset_peak", reset_peak, METH_VARARGS, nullptr},
                           {"_cpu_memory", cpu_memory, METH_NOARGS, nullptr},
                           {"_reset_cpu_peak", reset_cpu_peak, METH_NOARGS, nullptr},
                           {"_set_fake_names", set_names, METH_VARARGS, nullptr},
                           {}};

}  // namespace

bool set_fake_error(const std::exception& error) {
  const auto* unsupported = dynamic_cast<const UnsupportedFakeTensorError*>(&error);
  if (unsupported && data_dependent) {
    const Ref made(
        PyObject_CallFunction(dynamic_cast<const DataDependentOutputError*>(&error) ? data_dependent : dynamic_shape, "s", unsupported->op().c_str()));
    if (made) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.get())), made.get());
    return true;
  }
  const bool mixed = dynamic_cast<const MixedFakeError*>(&error) != nullptr;
  const bool devices = device_mismatch && dynamic_cast<const FakeDeviceMismatchError*>(&error) != nullptr;
  if (mixed || devices) PyErr_SetString(mixed ? PyExc_AssertionError : device_mismatch, error.what());
  return mixed || devices;
}

bool has_fake_data_error() { return data_dependent && PyErr_Occurred() && (PyErr_ExceptionMatches(data_dependent) || PyErr_ExceptionMatches(dynamic_shape)); }

bool add_fake(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
