// backward and grad, hooks on tensors, and what garbage collection must know of a tensor's history.

#include "cresset/autograd/engine.h"
#include "cresset/autograd/graph.h"
#include "cresset/autograd/meta_extras.h"
#include "cresset/autograd/run_backward.h"

#include "cresset/autograd/variable.h"
#include "python/bind/autograd.h"

namespace cresset::python {

using autograd::Edge;
using autograd::Node;
using autograd::variable_list;

Shared shared(PyObject* borrowed) {
  return Shared(Ref::share(borrowed).release(), [](PyObject* o) {
    if (!o || !Py_IsInitialized()) return;
    Gil gil;
    Py_DECREF(o);
  });
}

PythonException::PythonException() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const Ref held_type(type), held_value(value), held_traceback(traceback);
  type_ = shared(type);
  value_ = shared(value);
  traceback_ = shared(traceback);
  text_ = type && PyType_Check(type) ? reinterpret_cast<PyTypeObject*>(type)->tp_name : "an exception in Python";
}

void PythonException::restore() const {
  PyErr_Restore(Ref::share(type_.get()).release(), Ref::share(value_.get()).release(), Ref::share(traceback_.get()).release());
}

Ref tuple_of(const variable_list& tensors) {
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(wrap(tensors[i])).release());
  return tuple;
}

// ---- hooks -------------------------------------------------------------------------------------------------------------

Ref new_hook_table() {
  static PyObject* const type = PyObject_GetAttrString(checked(PyImport_ImportModule("collections")).get(), "OrderedDict");
  return checked(PyObject_CallNoArgs(type));
}

namespace {

// A copy, as a hook may register or remove hooks.
Ref functions_of(const Shared& table) {
  const Ref values = checked(PyMapping_Values(table.get()));
  return checked(PySequence_List(values.get()));
}

Ref call_hook(PyObject* list, Py_ssize_t i, PyObject* a, PyObject* b = nullptr) {
  PyObject* arguments[] = {a, b};
  return checked(PyObject_Vectorcall(PyList_GET_ITEM(list, i), arguments, b ? 2 : 1, nullptr));
}

// Gradients that a hook returned: as many, each a tensor or None; empty for None.
variable_list replacement(PyObject* result, size_t expected, const char* what) {
  if (result == Py_None) return {};
  const Ref tuple = PyTuple_Check(result) || PyList_Check(result) ? Ref::share(result) : checked(PyTuple_Pack(1, result));
  variable_list grads = tensor_list(tuple.get(), true);
  CRESSET_CHECK(grads.size() == expected, what, ": returned ", grads.size(), " gradients, expected ", expected);
  return grads;
}

}  // namespace

Tensor TensorHookTable::operator()(const Tensor& grad) const {
  return with_gil([&]() -> Tensor {
    if (PyObject_Size(table.get()) == 0) return {};
    const Ref hooks = functions_of(table);
    Tensor current = grad;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.get()); i++) {
      const Ref argument = checked(wrap(current));
      const Ref result = call_hook(hooks.get(), i, argument.get());
      if (result.get() == Py_None) continue;
      CRESSET_CHECK_TYPE(is_tensor(result.get()), "hook: expected to return a tensor or None, got ", Py_TYPE(result.get())->tp_name);
      autograd::check_hook_result(current, tensor_of(result.get()), "a tensor");
      current = tensor_of(result.get());
    }
    return current.is_same(grad) ? Tensor() : current;
  });
}

void PostAccumulateTable::operator()(const Tensor& leaf) const {
  with_gil([&] {
    const Ref hooks = functions_of(table), argument = checked(wrap(leaf));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.get()); i++) {
      const Ref result = call_hook(hooks.get(), i, argument.get());
      CRESSET_CHECK(!is_tensor(result.get()), "post accumulate grad hook: expected to return None, got a tensor, which would go nowhere");
      CRESSET_CHECK_TYPE(result.get() == Py_None, "post accumulate grad hook: expected to return None, got ", Py_TYPE(result.get())->tp_name);
    }
  });
}

variable_list NodePreHookTable::operator()(const variable_list& grads) const {
  return with_gil([&] {
    const Ref hooks = functions_of(table);
    variable_list current = grads;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.get()); i++) {
      const Ref argument = tuple_of(current);
      const Ref result = call_hook(hooks.get(), i, argument.get());
      variable_list next = replacement(result.get(), grads.size(), "pre-hook");
      if (!next.empty()) current = std::move(next);
    }
    return current;
  });
}

variable_list NodePostHookTable::operator()(const variable_list& grad_inputs, const variable_list& grad_outputs) const {
  return with_gil([&] {
    const Ref hooks = functions_of(table), given = tuple_of(grad_outputs);
    variable_list current = grad_inputs;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.get()); i++) {
      const Ref argument = tuple_of(current);
      const Ref result = call_hook(hooks.get(), i, argument.get(), given.get());
      variable_list next = replacement(result.get(), grad_inputs.size(), "hook");
      if (!next.empty()) current = std::move(next);
    }
    return current;
  });
}

namespace {

// ---- backward and grad -------------------------------------------------------------------------------------------------

Ref sequence(PyObject* o, const char* op, const char* what) {
  if (is_tensor(o)) return checked(PyTuple_Pack(1, o));
  Ref fast(PySequence_Fast(o, ""));
  if (!fast) {
    PyErr_Clear();
    CRESSET_CHECK_TYPE(false, op, ": expected ", what, " to be a tensor or a sequence of tensors, got ", Py_TYPE(o)->tp_name);
  }
  return fast;
}

// GradientEdge is a named tuple (node, output_nr, ...).
bool is_edge(PyObject* o) { return PyTuple_Check(o) && PyTuple_GET_SIZE(o) >= 2 && is_node(PyTuple_GET_ITEM(o, 0)); }

Edge edge_of(PyObject* o) {
  const long long nr = PyLong_AsLongLong(PyTuple_GET_ITEM(o, 1));
  if (nr == -1 && PyErr_Occurred()) throw PythonError();
  Edge edge(to_node(PyTuple_GET_ITEM(o, 0)), static_cast<uint32_t>(nr));
  CRESSET_CHECK_INDEX(nr >= 0 && nr < edge.function->num_inputs(), "gradient edge: no output ", nr, " of ", edge.function->name());
  return edge;
}

autograd::PassEnds ends_of(const char* op, bool is_output, PyObject* given) {
  const Ref list = is_edge(given) ? checked(PyTuple_Pack(1, given)) : sequence(given, op, is_output ? "outputs" : "inputs");
  autograd::PassEnds ends;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
    PyObject* o = PySequence_Fast_GET_ITEM(list.get(), i);
    if (!is_tensor(o) && !is_edge(o)) {
      CRESSET_CHECK_TYPE(!is_output, op, ": expected tensors or gradient edges, got ", Py_TYPE(o)->tp_name);
      CRESSET_CHECK(false, op, ": all inputs have to be tensors or gradient edges, got ", Py_TYPE(o)->tp_name);
    }
    ends.push_back(is_tensor(o) ? autograd::PassEnd(tensor_of(o)) : autograd::PassEnd(edge_of(o)));
  }
  return ends;
}

// run_backward(op, outputs, gradients or None, retain_graph or None, create_graph, inputs or None, accumulate): a tuple of
// gradients of the inputs, None where nothing arrived; accumulating, the gradients go to `grad` and None is returned.
PyObject* run_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    CRESSET_CHECK_TYPE(count == 7, "run_backward: expected 7 arguments");
    const char* op = PyUnicode_AsUTF8(args[0]);
    const int create = PyObject_IsTrue(args[4]);
    const int keep = args[3] == Py_None ? create : PyObject_IsTrue(args[3]);
    const int accumulate = PyObject_IsTrue(args[6]);
    if (create < 0 || keep < 0 || accumulate < 0) throw PythonError();
    const autograd::PassEnds roots = ends_of(op, true, args[1]);
    const variable_list grads = args[2] == Py_None ? variable_list() : tensor_list(sequence(args[2], op, "gradients").get(), true);
    // An empty list of gradients is not the same as none.
    CRESSET_CHECK(args[2] == Py_None || grads.size() == roots.size(), op, ": got ", roots.size(), " tensors and ", grads.size(), " gradients");
    const autograd::PassEnds inputs = args[5] == Py_None ? autograd::PassEnds() : ends_of(op, false, args[5]);
    variable_list found;
    {
      const NoGil released;
      found = autograd::run_backward(op, roots, grads, args[5] == Py_None ? nullptr : &inputs, {keep != 0, create != 0, accumulate != 0});
    }
    if (accumulate) Py_RETURN_NONE;
    return tuple_of(found).release();
  });
}

// ---- hooks on tensors --------------------------------------------------------------------------------------------------

// The table of hooks on the gradient of a tensor's current value, or null.
PyObject* find_tensor_hooks(const Tensor& t) {
  const auto list = autograd::impl::hooks(t);
  if (!list) return nullptr;
  for (const autograd::TensorHook& hook : *list)
    if (const auto* table = hook.target<TensorHookTable>()) return table->table.get();
  return nullptr;
}
PyObject* find_post_accumulate_hooks(const Tensor& t) {
  const autograd::AutogradMeta* meta = autograd::impl::get_autograd_meta(t);
  if (!meta || !meta->extras_) return nullptr;
  for (const autograd::PostAccumulateHook& hook : meta->extras_->post_accumulate_hooks)
    if (const auto* table = hook.target<PostAccumulateTable>()) return table->table.get();
  return nullptr;
}

// tensor_hooks(tensor, make, post_accumulate): the table of its hooks; None, or a fresh one, where it has none.
PyObject* tensor_hooks(PyObject*, PyObject* args) {
  PyObject* object;
  int make, post;
  if (!PyArg_ParseTuple(args, "Opp", &object, &make, &post)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_argument(object);
    if (PyObject* found = post ? find_post_accumulate_hooks(t) : find_tensor_hooks(t)) return Ref::share(found).release();
    if (!make) Py_RETURN_NONE;
    Ref table = new_hook_table();
    if (post) autograd::register_post_accumulate_grad_hook(t, PostAccumulateTable{shared(table.get())});
    else t.register_hook_function(TensorHookTable{shared(table.get())});
    return table.release();
  });
}

PyObject* get_output_nr(PyObject*, PyObject* o) {
  return guarded([&] { return PyLong_FromLongLong(tensor_argument(o).output_nr()); });
}

// gradient_edge(tensor): (node, output number).
PyObject* gradient_edge(PyObject*, PyObject* o) {
  return guarded([&] {
    const Edge edge = autograd::impl::gradient_edge(tensor_argument(o));
    const Ref node = checked(wrap(edge.function));
    return Py_BuildValue("(OI)", node.get(), edge.input_nr);
  });
}

PyObject* increment_version(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    autograd::graph::increment_version(tensor_argument(o));
    Py_RETURN_NONE;
  });
}

PyObject* queue_callback(PyObject*, PyObject* function) {
  return guarded([&]() -> PyObject* {
    autograd::Engine::get_default_engine().queue_callback([kept = shared(function)] { with_gil([&] { checked(PyObject_CallNoArgs(kept.get())); }); });
    Py_RETURN_NONE;
  });
}

PyObject* current_pass(PyObject*, PyObject*) { return PyLong_FromLongLong(autograd::Engine::current_pass()); }
PyObject* will_execute(PyObject*, PyObject* node) {
  return guarded([&] { return PyBool_FromLong(autograd::Engine::will_execute(*to_node(node))); });
}

// current_node(): the node whose gradient is being computed in this thread, or None.
PyObject* current_node(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    const intrusive_ptr<Node> node = autograd::get_current_node();
    if (!node) Py_RETURN_NONE;
    return wrap(node);
  });
}

// wanted_gradients(name): a flag for each argument of that node, where it is of this name; None where it is not.
PyObject* wanted_gradients(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const intrusive_ptr<Node> node = autograd::get_current_node();
    const char* expected = PyUnicode_AsUTF8(name);
    if (!expected) throw PythonError();
    if (!node || node->name() != expected) Py_RETURN_NONE;
    Ref flags = checked(PyList_New(0));
    for (size_t i = 0; i < node->num_outputs(); i++)
      if (PyList_Append(flags.get(), node->should_compute_output(i) ? Py_True : Py_False) < 0) throw PythonError();
    return flags.release();
  });
}

PyObject* is_checkpoint_valid(PyObject*, PyObject*) { return PyBool_FromLong(autograd::Engine::is_checkpoint_valid()); }

// set_multithreading_enabled(bool): what it was before.
PyObject* set_multithreading(PyObject*, PyObject* enabled) {
  return PyBool_FromLong(autograd::Engine::set_multithreading_enabled(PyObject_IsTrue(enabled) == 1));
}

PyMethodDef functions[] = {{"run_backward", reinterpret_cast<PyCFunction>(run_backward), METH_FASTCALL, nullptr},
                           {"tensor_hooks", tensor_hooks, METH_VARARGS, nullptr},
                           {"output_nr", get_output_nr, METH_O, nullptr},
                           {"gradient_edge", gradient_edge, METH_O, nullptr},
                           {"increment_version", increment_version, METH_O, nullptr},
                           {"current_pass", current_pass, METH_NOARGS, nullptr},
                           {"will_execute", will_execute, METH_O, nullptr},
                           {"current_node", current_node, METH_NOARGS, nullptr},
                           {"wanted_gradients", wanted_gradients, METH_O, nullptr},
                           {"queue_callback", queue_callback, METH_O, nullptr},
                           {"is_checkpoint_valid", is_checkpoint_valid, METH_NOARGS, nullptr},
                           {"set_multithreading_enabled", set_multithreading, METH_O, nullptr},
                           {}};

}  // namespace

PyObject* wrap_grad_fn(const Tensor& t) { return wrap(t.grad_fn()); }

int traverse_autograd(const Tensor& t, visitproc visit, void* arg) {
  const autograd::AutogradMeta* meta = t.defined() && t.use_count() == 1 ? autograd::impl::get_autograd_meta(t) : nullptr;
  if (!meta) return 0;
  const bool owns_node = meta->grad_fn_.use_count() == 1;
  // A value with a second owner may be needed elsewhere.
  auto visit_table = [&](const Shared& table) { return table.use_count() == 1 ? visit(table.get(), arg) : 0; };
  if (meta->extras_) {
    if (meta->extras_->hooks && meta->extras_->hooks.use_count() <= (owns_node ? 2 : 1))
      for (const autograd::TensorHook& hook : *meta->extras_->hooks)
        if (const auto* found = hook.target<TensorHookTable>())
          if (const int stop = visit_table(found->table)) return stop;
    for (const autograd::PostAccumulateHook& hook : meta->extras_->post_accumulate_hooks)
      if (const auto* found = hook.target<PostAccumulateTable>())
        if (const int stop = visit_table(found->table)) return stop;
  }
  return owns_node ? traverse_node(*meta->grad_fn_, visit, arg) : 0;
}

bool add_autograd(PyObject* module) {
  return add_autograd_nodes(module) && add_autograd_function(module) && add_autograd_saved(module) && add_autograd_fields(module) && add_forward_mode(module) &&
         add_vmap(module) && add_functions(module) && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
