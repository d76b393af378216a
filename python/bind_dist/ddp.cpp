// The reducer of DistributedDataParallel.

#include "cresset/dist/ddp/reducer.h"
#include "python/bind_dist/bind_dist.h"

namespace cresset::python {

namespace {

using namespace distributed;

struct HeldReducer final : RefCounted {
  template <class... Args> explicit HeldReducer(Args&&... args) : reducer(std::forward<Args>(args)...) {}
  Reducer reducer;
};
using ReducerPtr = intrusive_ptr<HeldReducer>;

// Backward runs with the interpreter's lock, which the callbacks of other threads need while it waits.
void while_waiting(const std::function<void()>& f) {
  if (PyGILState_Check()) without_interpreter(f);
  else f();
}

// The tensor that a hook's future holds, or its first.
Tensor row_of(PyObject* o) {
  PyObject* row = o;
  if ((PyList_Check(o) || PyTuple_Check(o)) && PySequence_Fast_GET_SIZE(o) > 0) row = PySequence_Fast_GET_ITEM(o, 0);
  CRESSET_CHECK_TYPE(is_tensor(row), "DistributedDataParallel: expected a tensor from the future of a communication hook, got ", Py_TYPE(row)->tp_name);
  return tensor_of(row);
}

// hook(index, buffer, gradients, parameters, is_last) gives a future.
CommHook python_hook(PyObject* function) {
  return [function = share_object(function)](GradBucket& bucket) -> std::function<Tensor()> {
    const Gil locked;
    const Ref buffer = checked(wrap(bucket.buffer)), gradients = checked(result(bucket.gradients)), parameters = checked(result(bucket.parameters));
    PyObject* const future = PyObject_CallFunction(function.get(), "nOOOO", static_cast<Py_ssize_t>(bucket.index), buffer.get(), gradients.get(),
                                                   parameters.get(), bucket.is_last ? Py_True : Py_False);
    if (!future) throw PythonError();
    const SharedObject held = share_object(future);
    Py_DECREF(future);
    return [held]() -> Tensor {
      const Gil again;
      const Ref value = checked(PyObject_CallMethod(held.get(), "wait", nullptr));
      return row_of(value.get());
    };
  };
}

PyMethodDef reducer_methods[] = {
    entry<HeldReducer, 1, [](ReducerPtr r, Arguments& a) { return [r, t = a.tensors()] { r->reducer.prepare_for_backward(t); }; }>("prepare_for_backward"),
    entry<HeldReducer, 0, [](ReducerPtr r, Arguments&) { return [r] { r->reducer.prepare_for_forward(); }; }>("prepare_for_forward"),
    entry<HeldReducer, 0, [](ReducerPtr r, Arguments&) { return [r] { r->reducer.restore_parameters(); }; }>("restore_parameters"),
    entry<HeldReducer, 0, [](ReducerPtr r, Arguments&) { return [r] { r->reducer.skip_next_backward(); }; }>("skip_next_backward"),
    entry<HeldReducer, 1, [](ReducerPtr r, Arguments& a) { return [r, n = a.integer()] { r->reducer.set_divisor(n); }; }>("set_divisor"),
    entry<HeldReducer, 0, [](ReducerPtr r, Arguments&) { return [r] { r->reducer.shadow_backward(); }; }>("shadow_backward"),
    entry<HeldReducer, 0, [](ReducerPtr r, Arguments&) { return [r] { return r->reducer.rebuild_buckets(); }; }>("rebuilt"),
    entry<HeldReducer, 1,
          [](ReducerPtr r, Arguments& a) {
            const CommHook hook = python_hook(a.object());
            return [r, hook] { r->reducer.register_comm_hook(hook); };
          }>("register_comm_hook"),
    entry<HeldReducer, 1,
          [](ReducerPtr r, Arguments& a) {
            return [r, type = static_cast<BuiltinCommHookType>(a.integer())] { r->reducer.register_builtin_comm_hook(type); };
          }>("register_builtin_comm_hook"),
    {}};

std::optional<ScalarType> dtype_or_none(PyObject* o) { return o == Py_None ? std::nullopt : std::optional<ScalarType>(dtype_of(o)); }

// reducer(parameters, names, group, bucket_bytes, find_unused_parameters, static_graph, gradient_as_bucket_view, param_dtype, reduce_dtype, frozen)
PyObject* make_reducer(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("Reducer", args, count, 10);
    Tensors parameters = a.tensors();
    std::vector<std::string> names = a.texts();
    const intrusive_ptr<ProcessGroup> group = held<EngineGroup>(a.object());
    ReducerOptions o;
    o.bucket_bytes = a.integers();
    o.find_unused_parameters = a.truth();
    o.static_graph = a.truth();
    o.gradient_as_bucket_view = a.truth();
    o.mixed_precision.param_dtype = dtype_or_none(a.object());
    o.mixed_precision.reduce_dtype = dtype_or_none(a.object());
    o.frozen = a.tensors();
    o.while_waiting = while_waiting;
    return hold<HeldReducer>(make_intrusive<HeldReducer>(std::move(parameters), std::move(names), group, std::move(o)));
  });
}
PyObject* verify_parameters(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("verify_parameters", args, count, 2);
    const intrusive_ptr<EngineGroup> group = held<EngineGroup>(a.object());
    const Tensors parameters = a.tensors();
    without_interpreter([&] { Reducer::verify_parameters(*group, parameters); });
    return Py_NewRef(Py_None);
  });
}
// broadcast_coalesced(group, tensors, root)
PyObject* broadcast_all(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("broadcast_coalesced", args, count, 3);
    const intrusive_ptr<EngineGroup> group = held<EngineGroup>(a.object());
    const Tensors tensors = a.tensors();
    const int64_t root = a.integer();
    without_interpreter([&] { broadcast_coalesced(*group, tensors, root); });
    return Py_NewRef(Py_None);
  });
}

// cast_in_place(tensors, dtype)
PyObject* cast_all(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    Arguments a("cast_in_place", args, count, 2);
    const Tensors tensors = a.tensors();
    cast_in_place(tensors, dtype_or_none(a.object()));
    return Py_NewRef(Py_None);
  });
}

PyMethodDef functions[] = {{"cast_in_place", reinterpret_cast<PyCFunction>(cast_all), METH_FASTCALL, nullptr},
                           {"reducer", reinterpret_cast<PyCFunction>(make_reducer), METH_FASTCALL, nullptr},
                           {"verify_parameters", reinterpret_cast<PyCFunction>(verify_parameters), METH_FASTCALL, nullptr},
                           {"broadcast_coalesced", reinterpret_cast<PyCFunction>(broadcast_all), METH_FASTCALL, nullptr},
                           {}};

}  // namespace

bool add_ddp(PyObject* module) {
  return add_held<HeldReducer>(module, "_cresset_dist._Reducer", reducer_methods) && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
