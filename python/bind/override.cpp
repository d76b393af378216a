// __torch_function__: classes and modes that take calls over.

#include <algorithm>
#include <string>

#include "python/bind/override.h"

namespace cresset::python {

bool g_modes_active = false;

namespace {

PyObject *override_name, *disabled_override;
// Classes that the running thread has switched off, and its stack of modes, innermost last.
thread_local bool t_subclasses_off = false, t_all_off = false, t_skip_once = false;
thread_local std::vector<PyObject*>* t_modes = nullptr;

std::vector<PyObject*>& modes() {
  if (!t_modes) t_modes = new std::vector<PyObject*>();
  return *t_modes;
}

struct Flag {
  bool& flag;
  bool before;
  explicit Flag(bool& f) : flag(f), before(f) { f = true; }
  ~Flag() { flag = before; }
};

Ref type_list(const std::vector<PyObject*>& overloaded) {
  Ref types = checked(PyTuple_New(static_cast<Py_ssize_t>(overloaded.size())));
  for (size_t i = 0; i < overloaded.size(); i++)
    PyTuple_SET_ITEM(types.get(), static_cast<Py_ssize_t>(i), Ref::share(reinterpret_cast<PyObject*>(Py_TYPE(overloaded[i]))).release());
  return types;
}

// Left to right, one of each type, subclasses before their bases.
void add_overloaded(std::vector<PyObject*>& list, PyObject* o) {
  size_t at = list.size();
  for (size_t i = 0; i < list.size(); i++) {
    if (Py_TYPE(list[i]) == Py_TYPE(o)) return;
    if (at == list.size() && PyType_IsSubtype(Py_TYPE(o), Py_TYPE(list[i]))) at = i;
  }
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), o);
}

void collect(std::vector<PyObject*>& list, PyObject* o, int depth) {
  if (o == Py_None || is_plain_tensor(o)) return;
  if (overrides(o)) add_overloaded(list, o);
  else if (depth > 0 && (PyTuple_Check(o) || PyList_Check(o)))
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++) collect(list, PySequence_Fast_GET_ITEM(o, i), depth - 1);
}

}  // namespace

bool overrides(PyObject* o) {
  if (t_subclasses_off || t_all_off || t_skip_once) return false;
  // A class that is no tensor's may be an argument itself.
  const bool is_class = CRESSET_UNLIKELY(PyType_Check(o)) && !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(o), tensor_type);
  PyObject* f = _PyType_Lookup(is_class ? reinterpret_cast<PyTypeObject*>(o) : Py_TYPE(o), override_name);
  return f && f != disabled_override && f != Py_None;
}

bool any_mode() { return t_modes && !t_modes->empty() && !t_all_off && !t_skip_once; }

void overrides_asked() { t_skip_once = false; }

PyObject* call_overridden(PyObject* function, PyObject* args, PyObject* kwargs, PyObject* relevant) {
  std::vector<PyObject*> overloaded;
  collect(overloaded, relevant ? relevant : args, 2);
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (!relevant && kwargs && PyDict_Next(kwargs, &at, &key, &value)) collect(overloaded, value, 1);
  const Ref types = type_list(overloaded);
  // Operators without keywords leave the hook its own default, as in PyTorch; functions of Python always have them.
  if (kwargs && PyDict_GET_SIZE(kwargs) == 0 && (!PyFunction_Check(function) || PyObject_HasAttrString(function, "_is_operator"))) kwargs = nullptr;
  if (any_mode()) {
    // The mode's own calls go to the modes around it.
    const Ref mode(modes().back());
    modes().pop_back();
    const size_t around = modes().size();
    const Ref hook(PyObject_GetAttr(mode.get(), override_name));
    Ref result(hook ? PyObject_CallFunctionObjArgs(hook.get(), function, types.get(), args, kwargs, nullptr) : nullptr);
    for (; modes().size() > around; modes().pop_back()) Py_DECREF(modes().back());  // entered in the hook, and not left
    modes().push_back(Ref::share(mode.get()).release());
    g_modes_active = true;
    if (!result) throw PythonError();
    if (result.get() != Py_NotImplemented) return result.release();
  }
  for (PyObject* o : overloaded) {
    const Ref method = checked(PyObject_GetAttr(o, override_name));
    Ref result = checked(PyObject_CallFunctionObjArgs(method.get(), function, types.get(), args, kwargs, nullptr));
    if (result.get() != Py_NotImplemented) return result.release();
  }
  const Ref name(PyObject_GetAttrString(function, "__name__"));
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "no implementation found for '%S' on types that implement __torch_function__: %R", name ? name.get() : function, types.get());
  throw PythonError();
}

PyObject* overridden_get(PyObject* self, const char* name) {
  return guarded([&] {
    const Ref property = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
    const Ref getter = checked(PyObject_GetAttrString(property.get(), "__get__"));
    const Ref args = checked(PyTuple_Pack(1, self));
    return call_overridden(getter.get(), args.get(), nullptr);
  });
}

PyObject* overridden_method(PyObject* self, const char* name, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    const Ref method = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
    Ref all = checked(PyTuple_Pack(1, self));
    if (args) all = checked(PySequence_Concat(all.get(), args));
    return call_overridden(method.get(), all.get(), kwargs);
  });
}

namespace {

// The default of Tensor: the call as it is, with results turned into the class.
PyObject* converted(PyObject* result, PyTypeObject* cls) {
  if (is_tensor(result)) {
    if (PyObject_TypeCheck(result, cls)) return Ref::share(result).release();
    return guarded([&] { return wrap_as(cls, another_of(tensor_of(result))); });
  }
  if (PyTuple_CheckExact(result) || PyList_CheckExact(result)) {
    const bool list = PyList_CheckExact(result);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(result);
    Ref out(list ? PyList_New(n) : PyTuple_New(n));
    for (Py_ssize_t i = 0; out && i < n; i++) {
      PyObject* item = converted(PySequence_Fast_GET_ITEM(result, i), cls);
      if (!item) return nullptr;
      if (list) PyList_SET_ITEM(out.get(), i, item);
      else PyTuple_SET_ITEM(out.get(), i, item);
    }
    return out.release();
  }
  if (PyTuple_Check(result) && Py_TYPE(result) != size_type && PyObject_HasAttrString(result, "n_sequence_fields")) {
    Ref items(PyTuple_New(PyTuple_GET_SIZE(result)));
    for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(result); i++) {
      PyObject* item = converted(PyTuple_GET_ITEM(result, i), cls);
      if (!item) return nullptr;
      PyTuple_SET_ITEM(items.get(), i, item);
    }
    return items ? PyObject_CallOneArg(reinterpret_cast<PyObject*>(Py_TYPE(result)), items.get()) : nullptr;
  }
  return Ref::share(result).release();
}

bool keeps_class(PyObject* function) {
  const Ref owner(PyObject_GetAttrString(function, "__self__"));
  const Ref name(owner ? PyObject_GetAttrString(owner.get(), "__name__") : nullptr);
  PyErr_Clear();
  if (!name || !PyUnicode_Check(name.get())) return false;
  const std::string text = PyUnicode_AsUTF8(name.get());
  return text == "grad" || text == "_base" || text == "_grad";
}

PyObject* default_override(PyObject* cls, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"func", "types", "args", "kwargs", nullptr};
  PyObject *function, *types, *call_args = nullptr, *call_kwargs = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO", const_cast<char**>(names), &function, &types, &call_args, &call_kwargs)) return nullptr;
  const Ref list(PySequence_Fast(types, "types: expected a sequence"));
  if (!list) return nullptr;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
    const int fits = PyObject_IsSubclass(cls, PySequence_Fast_GET_ITEM(list.get(), i));
    if (fits < 0) return nullptr;
    if (!fits) Py_RETURN_NOTIMPLEMENTED;
  }
  const Ref plain_args(call_args && call_args != Py_None ? PySequence_Tuple(call_args) : PyTuple_New(0));
  Ref result;
  {
    const Flag off(t_subclasses_off);
    result = Ref(plain_args ? PyObject_Call(function, plain_args.get(), call_kwargs == Py_None ? nullptr : call_kwargs) : nullptr);
  }
  if (!result || keeps_class(function)) return result.release();
  return converted(result.get(), reinterpret_cast<PyTypeObject*>(cls));
}

PyObject* disabled(PyObject*, PyObject* args, PyObject* kwargs) {
  PyObject *function, *types, *call_args = nullptr, *call_kwargs = nullptr;
  static const char* names[] = {"func", "types", "args", "kwargs", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO", const_cast<char**>(names), &function, &types, &call_args, &call_kwargs)) return nullptr;
  const Flag off(t_subclasses_off);
  const Ref plain_args(call_args && call_args != Py_None ? PySequence_Tuple(call_args) : PyTuple_New(0));
  return plain_args ? PyObject_Call(function, plain_args.get(), call_kwargs == Py_None ? nullptr : call_kwargs) : nullptr;
}

PyObject* push_mode(PyObject*, PyObject* mode) {
  modes().push_back(Ref::share(mode).release());
  g_modes_active = true;
  Py_RETURN_NONE;
}
PyObject* pop_mode(PyObject*, PyObject*) {
  if (modes().empty()) return PyErr_Format(PyExc_RuntimeError, "no mode is active");
  PyObject* mode = modes().back();
  modes().pop_back();
  return mode;
}
PyObject* mode_list(PyObject*, PyObject*) {
  Ref list(PyList_New(0));
  for (PyObject* m : modes())
    if (!list || PyList_Append(list.get(), m)) return nullptr;
  return list.release();
}
// For other extensions: whether a mode takes the calls of this thread.
PyObject* any_mode_of_thread(PyObject*, PyObject*) { return PyCapsule_New(reinterpret_cast<void*>(&any_mode), "cresset.any_mode", nullptr); }
template <bool* (*Which)()> PyObject* set_flag(PyObject*, PyObject* on) {
  bool* flag = Which();
  const bool before = *flag;
  *flag = PyObject_IsTrue(on) == 1;
  return PyBool_FromLong(before);
}
bool* subclasses_flag() { return &t_subclasses_off; }
bool* all_flag() { return &t_all_off; }

PyObject* answer(bool found) {
  const bool yes = found || any_mode();
  overrides_asked();
  return PyBool_FromLong(yes);
}
PyObject* has_torch_function(PyObject*, PyObject* const* args, Py_ssize_t n) {
  bool found = false;
  for (Py_ssize_t i = 0; i < n && !found; i++) found = !is_plain_tensor(args[i]) && overrides(args[i]);
  return answer(found);
}
PyObject* has_torch_function_in(PyObject*, PyObject* sequence) {
  const Ref list(PySequence_Fast(sequence, "expected a sequence"));
  return list ? has_torch_function(nullptr, PySequence_Fast_ITEMS(list.get()), PySequence_Fast_GET_SIZE(list.get())) : nullptr;
}
bool any_overrides(PyObject* o, int depth) {
  if (is_plain_tensor(o)) return false;
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    for (Py_ssize_t i = 0; depth > 0 && i < PySequence_Fast_GET_SIZE(o); i++)
      if (any_overrides(PySequence_Fast_GET_ITEM(o, i), depth - 1)) return true;
    return false;
  }
  return overrides(o);
}
// taken_over(args, kwargs): whether a call of a function of the package is handed over.
PyObject* taken_over(PyObject*, PyObject* const* both, Py_ssize_t n) {
  if (n != 2 || !PyTuple_Check(both[0]) || !PyDict_Check(both[1])) return PyErr_Format(PyExc_TypeError, "expected a tuple and a dict");
  bool found = false;
  for (Py_ssize_t i = 0; !found && i < PyTuple_GET_SIZE(both[0]); i++) found = any_overrides(PyTuple_GET_ITEM(both[0], i), 1);
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (!found && PyDict_Next(both[1], &at, &key, &value)) found = any_overrides(value, 1);
  return answer(found);
}
PyObject* hand_over(PyObject*, PyObject* args) {
  PyObject *function, *positional, *named;
  if (!PyArg_ParseTuple(args, "OO!O!", &function, &PyTuple_Type, &positional, &PyDict_Type, &named)) return nullptr;
  return guarded([&] { return call_overridden(function, positional, named); });
}
// redispatch(function, args, kwargs): the call itself, whatever would take it over; calls within it are handed over again.
PyObject* redispatch(PyObject*, PyObject* args) {
  PyObject *function, *positional, *named;
  if (!PyArg_ParseTuple(args, "OO!O!", &function, &PyTuple_Type, &positional, &PyDict_Type, &named)) return nullptr;
  // An object that is no function has nothing within it that could be handed over.
  const bool calls_more = Py_TYPE(function) == op_type || PyFunction_Check(function);
  const bool before = std::exchange(t_skip_once, calls_more);
  PyObject* result;
  if (calls_more) {
    result = PyObject_Call(function, positional, named);
  } else {
    const Flag off(t_all_off);
    result = PyObject_Call(function, positional, named);
  }
  t_skip_once = before;
  return result;
}
// handle_torch_function(public function, relevant arguments, *args, **kwargs)
PyObject* handle_torch_function(PyObject*, PyObject* args, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(args) < 2) return PyErr_Format(PyExc_TypeError, "handle_torch_function: expected a function and its relevant arguments");
  return guarded([&] {
    const Ref rest = checked(PyTuple_GetSlice(args, 2, PyTuple_GET_SIZE(args)));
    const Ref relevant = checked(PySequence_Tuple(PyTuple_GET_ITEM(args, 1)));
    return call_overridden(PyTuple_GET_ITEM(args, 0), rest.get(), kwargs, relevant.get());
  });
}

PyMethodDef functions[] = {{"_disabled_torch_function_impl", reinterpret_cast<PyCFunction>(disabled), METH_VARARGS | METH_KEYWORDS, nullptr},
                           {"_push_mode", push_mode, METH_O, nullptr},
                           {"_pop_mode", pop_mode, METH_NOARGS, nullptr},
                           {"_modes", mode_list, METH_NOARGS, nullptr},
                           {"_any_mode", any_mode_of_thread, METH_NOARGS, nullptr},
                           {"_set_subclasses_off", set_flag<subclasses_flag>, METH_O, nullptr},
                           {"_set_overrides_off", set_flag<all_flag>, METH_O, nullptr},
                           {"_has_torch_function", has_torch_function_in, METH_O, nullptr},
                           {"_has_torch_function_variadic", reinterpret_cast<PyCFunction>(has_torch_function), METH_FASTCALL, nullptr},
                           {"_taken_over", reinterpret_cast<PyCFunction>(taken_over), METH_FASTCALL, nullptr},
                           {"_hand_over", hand_over, METH_VARARGS, nullptr},
                           {"_redispatch", redispatch, METH_VARARGS, nullptr},
                           {"_handle_torch_function", reinterpret_cast<PyCFunction>(handle_torch_function), METH_VARARGS | METH_KEYWORDS, nullptr},
                           {}};
PyMethodDef default_method = {"__torch_function__", reinterpret_cast<PyCFunction>(default_override), METH_VARARGS | METH_KEYWORDS | METH_CLASS, nullptr};

}  // namespace

bool add_override(PyObject* module) {
  override_name = PyUnicode_InternFromString("__torch_function__");
  if (PyModule_AddFunctions(module, functions)) return false;
  disabled_override = PyObject_GetAttrString(module, "_disabled_torch_function_impl");
  const Ref method(PyDescr_NewClassMethod(tensor_type, &default_method));
  return disabled_override && method && !PyObject_SetAttr(reinterpret_cast<PyObject*>(tensor_type), override_name, method.get());
}

}  // namespace cresset::python
