// Levels of vmap, and tensors as elements of a batch.

#include "cresset/transform/vmap.h"

#include "cresset/core/batched.h"
#include "cresset/core/functional.h"
#include "cresset/transform/functionalize.h"
#include "python/bind/autograd.h"

namespace cresset::python {

namespace {

const Tensor& tensor_argument(PyObject* o) {
  CRESSET_CHECK_TYPE(is_tensor(o), "vmap: expected a tensor, got ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}

long long number_argument(PyObject* o) {
  const long long n = PyLong_AsLongLong(o);
  if (n == -1 && PyErr_Occurred()) throw PythonError();
  return n;
}

const func::VmapLevel& innermost() {
  const func::VmapLevel* level = func::current_vmap();
  CRESSET_CHECK(level, "vmap: no level is open on this thread");
  return *level;
}

// enter_vmap(batch size, randomness): the number of the level
PyObject* enter_vmap(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(count == 2 && PyUnicode_Check(args[1]), "enter_vmap: expected a size and a mode of randomness");
    const std::string mode = PyUnicode_AsUTF8(args[1]);
    const func::Randomness randomness = mode == "error" ? func::Randomness::Error : mode == "different" ? func::Randomness::Different : func::Randomness::Same;
    // Belongs to the thread until exit_vmap.
    const auto* level = new func::VmapLevel(number_argument(args[0]), randomness);
    return PyLong_FromUnsignedLongLong(level->number());
  });
}

PyObject* exit_vmap(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const func::VmapLevel& level = innermost();
    CRESSET_CHECK(static_cast<long long>(level.number()) == number_argument(number), "vmap: levels end in the order in which they began");
    delete &level;
    Py_RETURN_NONE;
  });
}

const func::VmapLevel& level_of(PyObject* number) {
  const auto wanted = static_cast<uint64_t>(number_argument(number));
  for (const func::VmapLevel* level = func::current_vmap(); level; level = level->outer())
    if (level->number() == wanted) return *level;
  CRESSET_CHECK(false, "vmap: no level ", wanted, " is open on this thread");
  __builtin_unreachable();
}

PyObject* vmap_randomness(PyObject*, PyObject* number) {
  return guarded([&] {
    static const char* const names[] = {"error", "different", "same"};
    return PyUnicode_FromString(names[static_cast<int>(level_of(number).randomness())]);
  });
}

// vmap_level(): the number of the innermost level, or None
PyObject* vmap_level(PyObject*, PyObject*) {
  if (const func::VmapLevel* level = func::current_vmap()) return PyLong_FromUnsignedLongLong(level->number());
  Py_RETURN_NONE;
}

PyObject* in_vmap(PyObject*, PyObject*) { return PyBool_FromLong(func::current_vmap() != nullptr); }

// leave_vmap(level): neither that level nor those within it are there until return_to_vmap gets what this returns
PyObject* leave_vmap(PyObject*, PyObject* number) {
  return guarded([&] { return PyLong_FromVoidPtr(const_cast<func::VmapLevel*>(func::set_current_vmap(level_of(number).outer()))); });
}
PyObject* return_to_vmap(PyObject*, PyObject* saved) {
  return guarded([&]() -> PyObject* {
    func::set_current_vmap(static_cast<const func::VmapLevel*>(PyLong_AsVoidPtr(saved)));
    Py_RETURN_NONE;
  });
}

// wrap_batched(tensor, dim, level=innermost): one element of the batch
PyObject* wrap_batched(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(count == 2 || count == 3, "wrap_batched: expected 2 or 3 arguments, got ", count);
    const func::VmapLevel& level = count == 3 ? level_of(args[2]) : innermost();
    return wrap(level.wrap(tensor_argument(args[0]), number_argument(args[1])));
  });
}
// unwrap_batched(tensor, dim): the batch along `dim`; with None the tensor itself, or None if it depends on the element
PyObject* unwrap_batched(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    CRESSET_CHECK_TYPE(count == 2, "unwrap_batched: expected 2 arguments, got ", count);
    const Tensor& t = tensor_argument(args[0]);
    if (args[1] != Py_None) return wrap(innermost().unwrap(t, number_argument(args[1])));
    const BatchedImpl* b = as_batched(t);
    if (b && b->level() == innermost().number()) Py_RETURN_NONE;
    return Ref::share(args[0]).release();
  });
}

PyObject* batched_at_all_levels(PyObject*, PyObject* t) {
  return guarded([&] { return wrap(func::batched_at_all_levels(tensor_argument(t))); });
}

// batched_parts(tensor): (depth, dimension, value, level), or None
PyObject* batched_parts(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    const BatchedImpl* b = as_batched(tensor_argument(o));
    if (!b) Py_RETURN_NONE;
    int depth = 1;
    for (const BatchedImpl* at = as_batched(b->value()); at; at = as_batched(at->value())) depth++;
    const Ref value = checked(wrap(Tensor(b->value())));
    return Py_BuildValue("(iLOK)", depth, static_cast<long long>(b->batch_dim()), value.get(), static_cast<unsigned long long>(b->level()));
  });
}

PyObject* innermost_value(PyObject*, PyObject* t) {
  return guarded([&] { return wrap(Tensor(physical(tensor_argument(t)))); });
}

// ---- functionalize

// enter_functional(views are copies): a scope, for exit_functional
PyObject* enter_functional(PyObject*, PyObject* copies) {
  return guarded([&] {
    const int truth = PyObject_IsTrue(copies);
    if (truth < 0) throw PythonError();
    return PyLong_FromVoidPtr(new func::FunctionalScope(truth ? func::Remove::MutationsAndViews : func::Remove::Mutations));
  });
}
PyObject* exit_functional(PyObject*, PyObject* scope) {
  return guarded([&]() -> PyObject* {
    delete static_cast<func::FunctionalScope*>(PyLong_AsVoidPtr(scope));
    Py_RETURN_NONE;
  });
}
PyObject* to_functional(PyObject*, PyObject* t) {
  return guarded([&] { return wrap(func::to_functional(tensor_argument(t))); });
}
PyObject* from_functional(PyObject*, PyObject* t) {
  return guarded([&] { return wrap(func::from_functional(tensor_argument(t))); });
}
// below_functional(function, tensor): what the function makes of it; under functionalize a wrapper of what it makes of the value, out of its sight
PyObject* below_functional(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    CRESSET_CHECK_VALUE(count == 2, "below_functional: expected 2 arguments, got ", count);
    const LayerState& state = layer_state();
    if (!(state.included & ~state.excluded & layer_bit(Layer::Functionalize))) return checked(PyObject_CallOneArg(args[0], args[1])).release();
    Ref made = checked(wrap(func::from_functional(tensor_argument(args[1]))));
    {
      const ExcludeLayers below(layer_bit(Layer::Functionalize));
      made = checked(PyObject_CallOneArg(args[0], made.get()));
    }
    return wrap(func::to_functional(tensor_argument(made.get())));
  });
}
// with_functional(on, function): what the function returns, with the layer of the scope that it runs in left out (0), or back in (1); with 2 listeners
// above all layers hear calls on values, and not those on wrappers that they come from
PyObject* with_functional(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    CRESSET_CHECK_VALUE(count == 2, "with_functional: expected 2 arguments, got ", count);
    const long on = PyLong_AsLong(args[0]);
    if (on < 0) throw PythonError();
    LayerState& state = layer_state();
    const uint8_t hidden = state.hidden, bit = layer_bit(Layer::Functionalize), above = layer_bit(Layer::Capture);
    state.set_hidden(static_cast<uint8_t>(on ? (hidden & ~bit) | (on == 2 ? above : 0) : hidden | bit));
    const bool heard = func::set_values_heard_above(on == 2);
    PyObject* const found = PyObject_CallNoArgs(args[1]);
    func::set_values_heard_above(heard);
    state.set_hidden(hidden);
    return checked(found).release();
  });
}
PyObject* is_functional(PyObject*, PyObject* t) {
  return guarded([&] { return PyBool_FromLong(as_functional(tensor_argument(t)) != nullptr); });
}
PyObject* set_functional(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    CRESSET_CHECK_VALUE(count == 2, "set_functional: expected 2 arguments, got ", count);
    func::set_functional(tensor_argument(args[0]), tensor_argument(args[1]));
    Py_RETURN_NONE;
  });
}
PyObject* is_changed(PyObject*, PyObject* t) {
  return guarded([&] { return PyBool_FromLong(func::is_changed(tensor_argument(t))); });
}

FunctionalImpl& wrapper_argument(PyObject* t) {
  FunctionalImpl* const f = as_functional(tensor_argument(t));
  CRESSET_CHECK_VALUE(f, "expected a wrapper of functionalize");
  return *f;
}
// functional_changes(wrapper): how often the tensor behind it was changed, how many of these changes are hidden from autograd, how many were made with
// gradients off; and whether the wrapper is a view
PyObject* functional_changes(PyObject*, PyObject* t) {
  return guarded([&] {
    const FunctionalImpl& f = wrapper_argument(t);
    const FunctionalBase& base = *f.base();
    return Py_BuildValue("(KKKN)", base.changes, base.hidden, base.unrecorded, PyBool_FromLong(!f.views().empty()));
  });
}
PyObject* hide_functional_change(PyObject*, PyObject* t) {
  return guarded([&]() -> PyObject* {
    wrapper_argument(t).base()->hidden++;
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {{"in_vmap", in_vmap, METH_NOARGS, nullptr},
                           {"enter_functional", enter_functional, METH_O, nullptr},
                           {"exit_functional", exit_functional, METH_O, nullptr},
                           {"to_functional", to_functional, METH_O, nullptr},
                           {"from_functional", from_functional, METH_O, nullptr},
                           {"is_functional", is_functional, METH_O, nullptr},
                           {"below_functional", reinterpret_cast<PyCFunction>(below_functional), METH_FASTCALL, nullptr},
                           {"set_functional", reinterpret_cast<PyCFunction>(set_functional), METH_FASTCALL, nullptr},
                           {"with_functional", reinterpret_cast<PyCFunction>(with_functional), METH_FASTCALL, nullptr},
                           {"is_changed", is_changed, METH_O, nullptr},
                           {"functional_changes", functional_changes, METH_O, nullptr},
                           {"hide_functional_change", hide_functional_change, METH_O, nullptr},
                           {"innermost_value", innermost_value, METH_O, nullptr},
                           {"vmap_level", vmap_level, METH_NOARGS, nullptr},
                           {"vmap_randomness", vmap_randomness, METH_O, nullptr},
                           {"leave_vmap", leave_vmap, METH_O, nullptr},
                           {"return_to_vmap", return_to_vmap, METH_O, nullptr},
                           {"enter_vmap", reinterpret_cast<PyCFunction>(enter_vmap), METH_FASTCALL, nullptr},
                           {"exit_vmap", exit_vmap, METH_O, nullptr},
                           {"wrap_batched", reinterpret_cast<PyCFunction>(wrap_batched), METH_FASTCALL, nullptr},
                           {"unwrap_batched", reinterpret_cast<PyCFunction>(unwrap_batched), METH_FASTCALL, nullptr},
                           {"batched_at_all_levels", batched_at_all_levels, METH_O, nullptr},
                           {"batched_parts", batched_parts, METH_O, nullptr},
                           {}};

}  // namespace

bool add_vmap(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
