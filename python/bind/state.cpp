// State of the process and of the thread: recording of gradients, default dtype, random numbers, threads, determinism.

#include <execinfo.h>

#include "cresset/autograd/autograd.h"
#include "cresset/base/numbers/denormal.h"
#include "cresset/base/util/interop.h"
#include "cresset/ops/conv/mkldnn.h"
#include "cresset/ops/layout/uninitialized.h"
#include "python/bind/bind.h"
#include "python/bind/override.h"

namespace cresset::python {

namespace {

bool truth(PyObject* o, const char* what) {
  CRESSET_CHECK_TYPE(PyBool_Check(o), what, ": expected a bool, got ", Py_TYPE(o)->tp_name);
  return o == Py_True;
}

// Modes of the front end hear of it, as in PyTorch.
PyObject* set_grad_enabled(PyObject* module, PyObject* on) {
  return guarded([&]() -> PyObject* {
    if (CRESSET_UNLIKELY(g_modes_active) && any_mode()) {
      const Ref function = checked(PyObject_GetAttrString(module, "_set_grad_enabled"));
      const Ref args = checked(PyTuple_Pack(1, on));
      const Ref before = Ref::share(PyBool_FromLong(GradMode::is_enabled()));
      checked(call_overridden(function.get(), args.get(), nullptr));
      return PyBool_FromLong(before.get() == Py_True);
    }
    const bool before = GradMode::is_enabled();
    GradMode::set_enabled(truth(on, "set_grad_enabled"));
    return PyBool_FromLong(before);
  });
}
PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(GradMode::is_enabled()); }
PyObject* is_inference_mode_enabled(PyObject*, PyObject*) { return PyBool_FromLong(InferenceMode::is_enabled()); }
// enter_inference_mode(on): returns what leave_inference_mode takes to undo it.
PyObject* enter_inference_mode(PyObject*, PyObject* on) {
  return guarded([&] {
    LayerState& state = layer_state();
    const long before = (state.inference_mode ? 2 : 0) | (state.grad_mode ? 1 : 0);
    const bool inference = truth(on, "inference_mode");
    state.set_inference_mode(inference, !inference);
    return PyLong_FromLong(before);
  });
}
PyObject* leave_inference_mode(PyObject*, PyObject* before) {
  const long bits = PyLong_AsLong(before);
  if (PyErr_Occurred()) return nullptr;
  layer_state().set_inference_mode((bits & 2) != 0, (bits & 1) != 0);
  Py_RETURN_NONE;
}

PyObject* seed_default(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    manual_seed(to_seed(value));
    Py_RETURN_NONE;
  });
}
PyObject* wrapped_default_generator(PyObject*, PyObject*) {
  return guarded([] { return wrap(default_generator()); });
}
PyObject* set_default(PyObject*, PyObject* dtype) {
  return guarded([&]() -> PyObject* {
    const ScalarType type = to_dtype(dtype);
    CRESSET_CHECK_TYPE(is_floating_type(type), "set_default_dtype: expected a floating dtype, got ", type);
    set_default_dtype(type);
    Py_RETURN_NONE;
  });
}
PyObject* set_fill(PyObject*, PyObject* on) {
  return guarded([&]() -> PyObject* {
    ops::set_fill_uninitialized(truth(on, "fill_uninitialized_memory"));
    Py_RETURN_NONE;
  });
}

// cpp_backtrace(frames_to_skip, maximum_number_of_frames).
PyObject* cpp_backtrace(PyObject*, PyObject* args) {
  Py_ssize_t skip, most;
  if (!PyArg_ParseTuple(args, "nn", &skip, &most)) return nullptr;
  return guarded([&]() -> PyObject* {
    CRESSET_CHECK_VALUE(skip >= 0 && most >= 0, "get_cpp_backtrace: numbers of frames must not be negative");
    void* frames[256];
    const int count = backtrace(frames, 256);
    const std::unique_ptr<char*, void (*)(void*)> names(backtrace_symbols(frames, count), std::free);
    std::string text;
    for (Py_ssize_t i = 0; i < most && i + skip < count; i++) text += str("frame #", i, ": ", names.get()[i + skip], "\n");
    return PyUnicode_FromString(text.c_str());
  });
}

PyObject* get_default(PyObject*, PyObject*) { return Ref::share(constant(get_default_dtype())).release(); }

PyObject* threads(PyObject*, PyObject*) { return PyLong_FromLong(get_num_threads()); }
PyObject* set_threads(PyObject*, PyObject* n) {
  return guarded([&]() -> PyObject* {
    CRESSET_CHECK(PyLong_Check(n) && !PyBool_Check(n), "set_num_threads: expected an int, got ", Py_TYPE(n)->tp_name);
    const long count = PyLong_AsLong(n);
    CRESSET_CHECK(count > 0 && count < 100000, "set_num_threads expects a positive integer, got ", count);
    set_num_threads(static_cast<int>(count));
    Py_RETURN_NONE;
  });
}

PyObject* set_flush_denormal(PyObject*, PyObject* on) {
  return guarded([&] {
    detail::flush_denormals(truth(on, "set_flush_denormal"));
    return PyBool_FromLong(detail::kFlushesDenormals);
  });
}

PyObject* interop_threads(PyObject*, PyObject*) { return PyLong_FromLong(get_num_interop_threads()); }
PyObject* set_interop_threads(PyObject*, PyObject* n) {
  return guarded([&]() -> PyObject* {
    CRESSET_CHECK(PyLong_Check(n) && !PyBool_Check(n), "set_num_interop_threads: expected an int, got ", Py_TYPE(n)->tp_name);
    const long count = PyLong_AsLong(n);
    CRESSET_CHECK(count > 0 && count < 100000, "set_num_interop_threads expects a positive integer, got ", count);
    set_num_interop_threads(static_cast<int>(count));
    Py_RETURN_NONE;
  });
}

constexpr const char* kCastNames[] = {"from_", "to", nullptr};
constexpr const char* kPromoteNames[] = {"type1", "type2", nullptr};
template <auto F, auto& Names> PyObject* of_two_dtypes(PyObject*, PyObject* args, PyObject* kwargs) {
  PyObject *a, *b;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", const_cast<char**>(Names), &a, &b)) return nullptr;
  return guarded([&] { return wrap(dispatch::Value(F(to_dtype(a), to_dtype(b)))); });
}

constexpr const char* kCanCastDoc = R"(Whether values of one dtype may be stored in another without changing their kind.

>>> torch.can_cast(torch.int64, torch.float16), torch.can_cast(torch.float32, torch.int64)
(True, False)
)";
constexpr const char* kPromoteTypesDoc = R"(The smallest dtype that holds the values of both. TypeError for anything but dtypes.

>>> torch.promote_types(torch.int64, torch.float16)
torch.float16
)";
constexpr const char* kIsGradEnabledDoc = R"(Whether operators of this thread record the graph.

>>> with torch.no_grad():
...     torch.is_grad_enabled()
False
)";
constexpr const char* kIsInferenceDoc = R"(Whether this thread is inside `inference_mode`.

>>> torch.is_inference_mode_enabled()
False
)";
constexpr const char* kGetDefaultDtypeDoc = R"(The dtype of floating-point results whose dtype nothing else says.

>>> torch.get_default_dtype()
torch.float32
)";
constexpr const char* kGetNumThreadsDoc = R"(How many threads an operator may use.

>>> torch.get_num_threads() >= 1
True
)";
constexpr const char* kSetNumThreadsDoc =
    R"(Sets how many threads an operator may use; results do not depend on it. RuntimeError for anything but an int of at least one.

>>> before = torch.get_num_threads()
>>> torch.set_num_threads(1); torch.get_num_threads()
1
>>> torch.set_num_threads(before)
)";

constexpr const char* kSetFlushDenormalDoc =
    R"(set_flush_denormal(mode) -> bool

Whether numbers too small for full precision are taken for zero, which some processors compute with much faster: for what this thread calls.
Returns whether the processor can do so. TypeError for anything but a bool.

>>> torch.set_flush_denormal(True)
True
>>> torch.tensor(1e-323, dtype=torch.float64) * 1
tensor(0., dtype=torch.float64)
>>> torch.set_flush_denormal(False)
True
>>> torch.tensor(1e-323, dtype=torch.float64) * 1
tensor(9.8813e-324, dtype=torch.float64)
)";

constexpr const char* kGetNumInteropThreadsDoc = R"(How many functions that `torch.jit.fork` starts may run at once, or tasks of `at::launch`.

>>> torch.get_num_interop_threads() >= 1
True
)";
constexpr const char* kSetNumInteropThreadsDoc =
    R"(Sets how many functions that `torch.jit.fork` starts may run at once. RuntimeError for anything but an int of at least
one, where the number was set before, and behind the first of these functions.

>>> torch.set_num_interop_threads(0)
Traceback (most recent call last):
    ...
RuntimeError: set_num_interop_threads expects a positive integer, got 0
)";

// _to_mkldnn(tensor, dtype or None)
PyObject* to_opaque(PyObject*, PyObject* args) {
  PyObject *tensor, *dtype;
  if (!PyArg_ParseTuple(args, "O!O", tensor_type, &tensor, &dtype)) return nullptr;
  return guarded([&] { return wrap(to_mkldnn(tensor_of(tensor), dtype == Py_None ? std::nullopt : std::optional(to_dtype(dtype)))); });
}

PyMethodDef functions[] = {
    {"can_cast", reinterpret_cast<PyCFunction>(of_two_dtypes<can_cast, kCastNames>), METH_VARARGS | METH_KEYWORDS, kCanCastDoc},
    {"promote_types", reinterpret_cast<PyCFunction>(of_two_dtypes<promote_types, kPromoteNames>), METH_VARARGS | METH_KEYWORDS, kPromoteTypesDoc},
    {"_to_mkldnn", to_opaque, METH_VARARGS, nullptr},
    {"_set_grad_enabled", set_grad_enabled, METH_O, nullptr},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, kIsGradEnabledDoc},
    {"is_inference_mode_enabled", is_inference_mode_enabled, METH_NOARGS, kIsInferenceDoc},
    {"_enter_inference_mode", enter_inference_mode, METH_O, nullptr},
    {"_leave_inference_mode", leave_inference_mode, METH_O, nullptr},
    {"_manual_seed", seed_default, METH_O, nullptr},
    {"_default_generator", wrapped_default_generator, METH_NOARGS, nullptr},
    {"_set_default_dtype", set_default, METH_O, nullptr},
    {"_set_fill_uninitialized", set_fill, METH_O, nullptr},
    {"_cpp_backtrace", cpp_backtrace, METH_VARARGS, nullptr},
    {"get_default_dtype", get_default, METH_NOARGS, kGetDefaultDtypeDoc},
    {"get_num_threads", threads, METH_NOARGS, kGetNumThreadsDoc},
    {"set_num_threads", set_threads, METH_O, kSetNumThreadsDoc},
    {"set_flush_denormal", set_flush_denormal, METH_O, kSetFlushDenormalDoc},
    {"get_num_interop_threads", interop_threads, METH_NOARGS, kGetNumInteropThreadsDoc},
    {"set_num_interop_threads", set_interop_threads, METH_O, kSetNumInteropThreadsDoc},
    {}};

}  // namespace

bool add_state(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
