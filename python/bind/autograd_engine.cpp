// backward and grad, hooks on tensors, and what garbage collection must know of a tensor's history.

#include "cresset/autograd/batched.h"
#include "cresset/autograd/engine.h"
#include "cresset/autograd/graph.h"

#include "cresset/autograd/variable.h"
#include "cresset/ops/functions.h"
#include "python/bind/autograd.h"

namespace cresset::python {

using autograd::Edge;
using autograd::edge_list;
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

void add_root(const char* op, Py_ssize_t i, PyObject* output, PyObject* grad, bool create_graph, edge_list& roots, variable_list& grads) {
  CRESSET_CHECK_TYPE(grad == Py_None || is_tensor(grad), op, ": gradients can be tensors or None, got ", Py_TYPE(grad)->tp_name);
  const Tensor given = grad == Py_None ? Tensor() : tensor_of(grad);
  if (is_edge(output)) {
    CRESSET_CHECK(given.defined(), op, ": a gradient can be left out only for tensors, but output ", i, " is a gradient edge");
    roots.push_back(edge_of(output));
    grads.push_back(given);
    return;
  }
  CRESSET_CHECK_TYPE(is_tensor(output), op, ": expected tensors or gradient edges, got ", Py_TYPE(output)->tp_name);
  const Tensor& out = tensor_of(output);
  Edge edge = autograd::impl::gradient_edge(out);
  if (given.defined()) {
    CRESSET_CHECK(given.sizes() == out.sizes(), op, ": mismatch in shape: gradient ", i, " has shape ", given.sizes(), ", expected that of tensor ", i, ", ",
                  out.sizes());
    CRESSET_CHECK(given.is_complex() == out.is_complex(), op, ": gradient ", i, " has dtype ", given.scalar_type(), ", but tensor ", i, " has dtype ",
                  out.scalar_type(), "; complex tensors need complex gradients and real ones real gradients");
  }
  const bool differentiable = out.requires_grad();
  if (!given.defined() && differentiable) {
    CRESSET_CHECK(out.numel() == 1, op, ": expected a gradient for an output of several elements, got none for ", out);
    CRESSET_CHECK(!out.is_complex(), op, ": expected a gradient for a complex output, got none for ", out);
  }
  CRESSET_CHECK(edge.is_valid(), op, ": element ", i, " of the tensors has no gradient: it requires none and no op recorded it");
  roots.push_back(std::move(edge));
  if (!given.defined()) grads.push_back(cresset::ones_like(out.detach()));
  else grads.push_back(!create_graph && given.requires_grad() ? given.detach() : given);
  if (as_batched(out)) grads.back() = autograd::without_levels_of(grads.back(), out);
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
    const Ref outputs = is_edge(args[1]) ? checked(PyTuple_Pack(1, args[1])) : sequence(args[1], op, "outputs");
    const Ref given = args[2] == Py_None ? Ref() : sequence(args[2], op, "gradients");
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(outputs.get());
    CRESSET_CHECK(!given || PySequence_Fast_GET_SIZE(given.get()) == n, op, ": got ", n, " tensors and ", given ? PySequence_Fast_GET_SIZE(given.get()) : 0,
                  " gradients");
    edge_list roots, wanted;
    variable_list grads, batched;
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject* grad = given ? PySequence_Fast_GET_ITEM(given.get(), i) : Py_None;
      PyObject* output = PySequence_Fast_GET_ITEM(outputs.get(), i);
      if (is_tensor(output) && as_batched(tensor_of(output))) batched.push_back(tensor_of(output));
      CRESSET_CHECK(!accumulate || !is_tensor(output) || !as_batched(tensor_of(output)), op, ": cannot be called inside of a function ",
                    "under vmap; use func.grad or func.vjp there, or call backward() outside");
      add_root(op, i, output, grad, create != 0, roots, grads);
    }
    std::vector<int> place;
    variable_list like;
    if (args[5] != Py_None) {
      const Ref inputs = is_edge(args[5]) ? checked(PyTuple_Pack(1, args[5])) : sequence(args[5], op, "inputs");
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(inputs.get()); i++) {
        PyObject* input = PySequence_Fast_GET_ITEM(inputs.get(), i);
        Edge edge;
        if (is_edge(input)) {
          edge = edge_of(input);
        } else {
          CRESSET_CHECK(is_tensor(input), op, ": all inputs have to be tensors or gradient edges, got ", Py_TYPE(input)->tp_name);
          const Tensor& t = tensor_of(input);
          CRESSET_CHECK(t.requires_grad(), op, ": one of the differentiated tensors does not require grad, input ", static_cast<long long>(i));
          autograd::check_batched_as(op, batched, t);
          like.resize(place.size());
          like.push_back(t);
          if (accumulate) t.retain_grad();
          edge = autograd::impl::gradient_edge(t);
        }
        // A view made without recording, of a base that requires grad: nothing arrives there.
        place.push_back(edge.is_valid() ? static_cast<int>(wanted.size()) : -1);
        if (edge.is_valid()) wanted.push_back(std::move(edge));
      }
    }
    variable_list found;
    if (args[5] == Py_None || !wanted.empty()) {
      NoGil released;
      found = autograd::Engine::get_default_engine().execute(roots, std::move(grads), keep != 0, create != 0, accumulate != 0, wanted);
    }
    if (accumulate) Py_RETURN_NONE;
    variable_list result;
    like.resize(place.size());
    for (size_t i = 0; i < place.size(); i++) {
      Tensor grad = place[i] < 0 ? Tensor() : found[static_cast<size_t>(place[i])];
      result.push_back(grad.defined() && like[i].defined() && as_batched(like[i]) ? autograd::with_levels_of(grad, like[i]) : grad);
    }
    return tuple_of(result).release();
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
                           {"queue_callback", queue_callback, METH_O, nullptr},
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
