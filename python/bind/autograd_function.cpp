// Custom functions of Python: the context that forward and backward share, which is also the node's object.

#include "cresset/autograd/function.h"

#include "cresset/autograd/forward/forward_mode.h"
#include "cresset/autograd/generated_support.h"
#include "cresset/autograd/grad_mode.h"
#include "cresset/core/batched.h"
#include "cresset/core/functional.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/functions.h"
#include "cresset/transform/functionalize.h"
#include "cresset/transform/vmap.h"
#include "python/bind/autograd.h"

#include <structmember.h>
#include <algorithm>

namespace cresset::python {

using autograd::Node;
using autograd::SavedVariable;
using autograd::variable_list;

namespace {

struct State {
  std::vector<SavedVariable> saved;
  // For each argument of forward: whether it is a tensor, and so has an edge.
  std::vector<bool> is_tensor;
  weak_intrusive_ptr<Node> node;
};

// The interpreter's lock protects all of it.
struct ContextObject {
  PyObject_HEAD PyObject *dict, *weak;
  PyObject *to_save, *dirty, *non_differentiable, *needs_input_grad, *saved_for_forward;
  State* state;
  bool materialize, freed;
};
PyTypeObject* context_type;

ContextObject& context_of(PyObject* o) { return *reinterpret_cast<ContextObject*>(o); }

// Owns its context; the context only knows it, so that there is no cycle.
struct FunctionNode final : Node {
  explicit FunctionNode(PyObject* ctx) : context(Ref::share(ctx).release()) { wants_undefined_ = true; }
  ~FunctionNode() override { drop(); }
  std::string name() const override { return context ? Py_TYPE(context)->tp_name : "Function"; }

  void release_variables() override {
    std::vector<SavedVariable> saved;
    if (!context || !Py_IsInitialized()) return;
    Gil gil;
    ContextObject& c = context_of(context);
    std::swap(saved, c.state->saved);
    if (!saved.empty()) c.freed = true;
  }

  PyObject* context;

 protected:
  variable_list apply(variable_list&& grads) override;
  void release_resources() override {
    drop();
    Node::release_resources();
  }

 private:
  void drop() {
    if (!context || !Py_IsInitialized()) return;
    std::vector<SavedVariable> saved;
    Gil gil;
    // Who has kept the context sees that the graph is gone.
    std::swap(saved, context_of(context).state->saved);
    if (!saved.empty()) context_of(context).freed = true;
    Py_CLEAR(context);
  }
};

// Zeros for a gradient that is missing. A class that takes operators over makes its own (a nested tensor's sizes stand for none that zeros could
// have): like a gradient of the same sizes.
Tensor zeros_for(const autograd::InputMetadata& wanted, const variable_list& grads) {
  for (const Tensor& grad : grads)
    if (dispatch::is_subclass(grad) && grad.sizes() == wanted.sizes()) return cresset::zeros_like(grad);
  return wanted.zeros_like();
}

variable_list FunctionNode::apply(variable_list&& grads) {
  return with_gil([&] {
    const Ref self = Ref::share(context);
    ContextObject& c = context_of(context);
    if (c.materialize)
      for (size_t i = 0; i < grads.size(); i++)
        if (!grads[i].defined() && input_metadata(i).defined()) grads[i] = zeros_for(input_metadata(i), grads);
    const Ref arguments = tuple_of(grads);
    grads.clear();
    const Ref method = checked(PyObject_GetAttrString(context, "apply"));
    Ref result = checked(PyObject_CallObject(method.get(), arguments.get()));
    if (!PyTuple_Check(result.get())) result = checked(PyTuple_Pack(1, result.get()));
    const std::vector<bool>& is_tensor = c.state->is_tensor;
    Py_ssize_t given = PyTuple_GET_SIZE(result.get());
    const Py_ssize_t expected = static_cast<Py_ssize_t>(is_tensor.size());
    while (given > expected && PyTuple_GET_ITEM(result.get(), given - 1) == Py_None) given--;
    CRESSET_CHECK(given == expected, name(), ": returned an incorrect number of gradients, got ", given, ", expected ", expected,
                  ", one for each argument of forward");
    variable_list out;
    for (Py_ssize_t i = 0; i < expected; i++) {
      PyObject* item = PyTuple_GET_ITEM(result.get(), i);
      if (is_tensor[static_cast<size_t>(i)]) {
        CRESSET_CHECK(item == Py_None || python::is_tensor(item), name(), ": expected a tensor or None as gradient ", i, ", got ", Py_TYPE(item)->tp_name);
        out.push_back(item == Py_None ? Tensor() : tensor_of(item));
      } else {
        CRESSET_CHECK(item == Py_None, name(), ": returned a gradient different from None at position ", i + 1,
                      ", but the corresponding argument of forward was not a tensor");
      }
    }
    return out;
  });
}

// ---- apply -------------------------------------------------------------------------------------------------------------

std::vector<const TensorImpl*> marked(PyObject* tuple, const char* what) {
  std::vector<const TensorImpl*> list;
  if (!tuple || tuple == Py_None) return list;
  CRESSET_CHECK_TYPE(PyTuple_Check(tuple), what, ": expected a tuple, got ", Py_TYPE(tuple)->tp_name);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    CRESSET_CHECK(is_tensor(item), what, ": only tensors can be marked, argument ", i, " is of type ", Py_TYPE(item)->tp_name);
    list.push_back(tensor_of(item).impl());
  }
  return list;
}

// An argument that comes back does so as another tensor, which setup_context has not seen and so cannot save.
void check_saved(const ContextObject& c, const variable_list& inputs, const variable_list& outputs, const autograd::ForwardMarks& marks) {
  for (PyObject* saved : {c.to_save, c.saved_for_forward}) {
    if (!saved || !PyTuple_Check(saved)) continue;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(saved); i++) {
      PyObject* item = PyTuple_GET_ITEM(saved, i);
      if (!is_tensor(item)) continue;
      const TensorImpl* const impl = tensor_of(item).impl();
      const auto is_it = [&](const Tensor& t) { return t.impl() == impl; };
      const bool comes_back = std::any_of(inputs.begin(), inputs.end(), is_it) && std::any_of(outputs.begin(), outputs.end(), is_it);
      CRESSET_CHECK(!comes_back || std::find(marks.dirty.begin(), marks.dirty.end(), impl) != marks.dirty.end(), "setup_context: saved tensor ", i,
                    " is an argument that forward returned as it is, which cannot be saved; return x.view_as(x) from forward");
    }
  }
}

void save_variables(ContextObject& c, const Node* node) {
  if (!c.to_save || c.to_save == Py_None) return;
  CRESSET_CHECK_TYPE(PyTuple_Check(c.to_save), "save_for_backward: expected a tuple, got ", Py_TYPE(c.to_save)->tp_name);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(c.to_save); i++) {
    PyObject* item = PyTuple_GET_ITEM(c.to_save, i);
    CRESSET_CHECK_TYPE(item == Py_None || is_tensor(item), "save_for_backward: can only save tensors, argument ", i, " is of type ", Py_TYPE(item)->tp_name);
    if (!node) continue;
    const Tensor t = item == Py_None ? Tensor() : tensor_of(item);
    c.state->saved.emplace_back(t, t.defined() && t.grad_fn().get() == node);
  }
  Py_CLEAR(c.to_save);
}

Ref run_forward(PyObject* cls, PyObject* ctx, PyObject* args, bool separate) {
  AutoGradMode no_grad(false);
  const Ref forward = checked(PyObject_GetAttrString(cls, "forward"));
  if (separate) {
    Ref output = checked(PyObject_CallObject(forward.get(), args));
    checked(PyObject_CallMethod(cls, "setup_context", "OOO", ctx, args, output.get()));
    return output;
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  const Ref with_context = checked(PyTuple_New(n + 1));
  PyTuple_SET_ITEM(with_context.get(), 0, Ref::share(ctx).release());
  for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(with_context.get(), i + 1, Ref::share(PyTuple_GET_ITEM(args, i)).release());
  return checked(PyObject_CallObject(forward.get(), with_context.get()));
}

// One argument in forward mode: its tangent, undefined where there is none, and the version that jvp was given of it.
struct Direction {
  Tensor argument, tangent;
  int64_t version = 0;
};

// Where an argument that forward changed comes back, jvp changes its tangent in the same way: in place.
void check_changed_tangents(const std::vector<Direction>& directions, PyObject* outputs, const std::vector<const TensorImpl*>& dirty,
                            const variable_list& tangents) {
  for (size_t i = 0; i < tangents.size(); i++) {
    PyObject* output = PyTuple_GET_ITEM(outputs, static_cast<Py_ssize_t>(i));
    if (!is_tensor(output) || std::find(dirty.begin(), dirty.end(), tensor_of(output).impl()) == dirty.end()) continue;
    for (size_t k = 0; k < directions.size(); k++) {
      const Direction& d = directions[k];
      if (!d.tangent.defined() || d.argument.impl() != tensor_of(output).impl()) continue;
      CRESSET_CHECK(tangents[i].defined() && tangents[i].impl() == d.tangent.impl() && tangents[i]._version() > d.version, "jvp: forward changed argument ", k,
                    " in place, so jvp has to change its tangent in place and return it, got another tensor, or the tangent as it was, for output ", i);
    }
  }
}

Tensor memory_owner(const Tensor& t) { return t.is_view() ? t._base() : t; }

// Where forward gives an argument back, or a view of it, jvp gives a view of its tangent: changes in place of one reach the other.
void check_viewing_tangents(const std::vector<Direction>& directions, PyObject* outputs, const std::vector<const TensorImpl*>& dirty,
                            const variable_list& tangents) {
  for (size_t i = 0; i < tangents.size(); i++) {
    PyObject* item = PyTuple_GET_ITEM(outputs, static_cast<Py_ssize_t>(i));
    if (!is_tensor(item) || !tangents[i].defined()) continue;
    const Tensor& output = tensor_of(item);
    if (std::find(dirty.begin(), dirty.end(), output.impl()) != dirty.end()) continue;
    for (size_t k = 0; k < directions.size(); k++) {
      const Direction& d = directions[k];
      if (!d.tangent.defined()) continue;
      const bool comes_back = d.argument.impl() == output.impl();
      if (!comes_back && !(output.is_view() && output._base().impl() == memory_owner(d.argument).impl())) continue;
      CRESSET_CHECK(tangents[i].is_view() && tangents[i]._base().impl() == memory_owner(d.tangent).impl(), "jvp: output ", i, " of forward is ",
                    comes_back ? "argument " : "a view of argument ", k, ", so its tangent has to be a view of that argument's tangent, got ",
                    tangents[i].is_view() ? "a view of another tensor" : "a tensor that is no view");
    }
  }
}

// The derivatives of the results, by the class's jvp, along the tangents of one level.
void run_jvp(PyObject* cls, PyObject* ctx, PyObject* args, PyObject* outputs, const autograd::ForwardMarks& marks, const variable_list& results,
             uint64_t level) {
  ContextObject& c = context_of(ctx);
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  const Ref call = checked(PyTuple_New(n + 1));
  PyTuple_SET_ITEM(call.get(), 0, Ref::share(ctx).release());
  std::vector<Direction> directions(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* item = PyTuple_GET_ITEM(args, i);
    Tensor tangent;
    if (is_tensor(item)) {
      const Tensor& t = tensor_of(item);
      tangent = autograd::tangent_of(t, level);
      directions[static_cast<size_t>(i)] = {t, tangent, tangent.defined() ? tangent._version() : 0};
      if (!tangent.defined() && c.materialize && is_differentiable_type(t.scalar_type())) tangent = zeros_like(t);
    }
    PyTuple_SET_ITEM(call.get(), i + 1, tangent.defined() ? checked(wrap(tangent)).release() : Ref::share(Py_None).release());
  }
  const Ref jvp = checked(PyObject_GetAttrString(cls, "jvp"));
  const Ref given = checked(PyObject_CallObject(jvp.get(), call.get()));
  Py_CLEAR(c.saved_for_forward);
  const Ref tuple = PyTuple_Check(given.get()) ? Ref::share(given.get()) : checked(PyTuple_Pack(1, given.get()));
  const variable_list tangents = tensor_list(tuple.get(), true);
  CRESSET_CHECK(tangents.size() == results.size(), "jvp: returned ", tangents.size(), " tangents, expected ", results.size(), ", one for each output");
  check_changed_tangents(directions, outputs, marks.dirty, tangents);
  check_viewing_tangents(directions, outputs, marks.dirty, tangents);
  for (size_t i = 0; i < results.size(); i++) {
    if (!tangents[i].defined() || !results[i].defined()) continue;
    const TensorImpl* const returned = tensor_of(PyTuple_GET_ITEM(outputs, static_cast<Py_ssize_t>(i))).impl();
    const bool marked = std::find(marks.non_differentiable.begin(), marks.non_differentiable.end(), returned) != marks.non_differentiable.end();
    CRESSET_CHECK(!marked && is_differentiable_type(results[i].scalar_type()), "jvp: returned a tangent for output ", i,
                  ", which is not differentiable; expected None");
    CRESSET_CHECK(tangents[i].sizes() == results[i].sizes(), "jvp: tangent ", i, " has shape ", tangents[i].sizes(), ", expected that of the output, ",
                  results[i].sizes());
    autograd::set_tangent(results[i], level, tangents[i]);
  }
}

PyObject* function_apply(PyObject*, PyObject* all);

// Whether a gradient is wanted of a tensor that is wrapped by functionalize.
bool any_functional(PyObject* args) {
  if (!autograd::GradMode::is_enabled()) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
    PyObject* const item = PyTuple_GET_ITEM(args, i);
    if (is_tensor(item) && as_functional(tensor_of(item)) && tensor_of(item).requires_grad()) return true;
  }
  return false;
}

// The function of the values behind wrappers, whose history is below these. An input that it has changed in place is the wrapper that was given.
PyObject* apply_below_wrappers(PyObject* cls, PyObject* args, bool separate) {
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  const Ref values = checked(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* const item = PyTuple_GET_ITEM(args, i);
    const bool wrapped = is_tensor(item) && as_functional(tensor_of(item));
    PyTuple_SET_ITEM(values.get(), i, wrapped ? checked(wrap(func::from_functional(tensor_of(item)))).release() : Py_NewRef(item));
  }
  const Ref all = checked(Py_BuildValue("OOi", cls, values.get(), separate ? 1 : 0));
  Ref found;
  {
    const ExcludeLayers below(layer_bit(Layer::Functionalize));
    found = checked(function_apply(nullptr, all.get()));
  }
  const auto wrapper_of = [&](PyObject* out) -> PyObject* {
    if (!is_tensor(out)) return Py_NewRef(out);
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject *const given = PyTuple_GET_ITEM(args, i), *const value = PyTuple_GET_ITEM(values.get(), i);
      if (given == value || tensor_of(value).impl() != tensor_of(out).impl()) continue;
      func::set_functional(tensor_of(given), tensor_of(out));
      return Py_NewRef(given);
    }
    return wrap(func::to_functional(tensor_of(out)));
  };
  if (!PyTuple_Check(found.get())) return wrapper_of(found.get());
  Ref tuple = checked(PyTuple_New(PyTuple_GET_SIZE(found.get())));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); i++)
    PyTuple_SET_ITEM(tuple.get(), i, checked(wrapper_of(PyTuple_GET_ITEM(found.get(), i))).release());
  return tuple.release();
}

// Whether a tensor of a batch is the value or among its items, however deep they are nested.
bool holds_batched(PyObject* value) {
  if (is_tensor(value)) return as_batched(tensor_of(value)) != nullptr;
  if (PyDict_Check(value)) {
    PyObject *key, *item;
    for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item);)
      if (holds_batched(item)) return true;
    return false;
  }
  if (!PyList_Check(value) && !PyTuple_Check(value)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++)
    if (holds_batched(PySequence_Fast_GET_ITEM(value, i))) return true;
  return false;
}

// function_apply(class, arguments, separate): what forward returns, with the class's backward as its gradient.
PyObject* function_apply(PyObject*, PyObject* all) {
  PyObject *cls, *args;
  int separate;
  if (!PyArg_ParseTuple(all, "OO!p", &cls, &PyTuple_Type, &args, &separate)) return nullptr;
  return guarded([&]() -> PyObject* {
    if (func::current_vmap() && holds_batched(args)) {
      const Ref module = checked(PyImport_ImportModule("cresset.autograd._function_vmap"));
      const Ref takes = checked(PyObject_CallMethod(module.get(), "takes", "OO", cls, args));
      if (takes.get() == Py_True) return PyObject_CallMethod(module.get(), "apply", "OO", cls, args);
    }
    if (any_functional(args)) return apply_below_wrappers(cls, args, separate != 0);
    const Ref type = checked(PyObject_GetAttrString(cls, "_backward_cls"));
    const Ref ctx = checked(PyObject_CallNoArgs(type.get()));
    CRESSET_CHECK_TYPE(PyObject_TypeCheck(ctx.get(), context_type), "apply: ", Py_TYPE(ctx.get())->tp_name, " is no context of a function");
    ContextObject& c = context_of(ctx.get());
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    variable_list inputs;
    Ref needs = checked(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject* item = PyTuple_GET_ITEM(args, i);
      const bool tensor = is_tensor(item);
      if (tensor) inputs.push_back(tensor_of(item));
      PyTuple_SET_ITEM(needs.get(), i, PyBool_FromLong(tensor && inputs.back().requires_grad()));
      c.state->is_tensor.push_back(tensor);
    }
    Py_XSETREF(c.needs_input_grad, needs.release());
    intrusive_ptr<Node> node;
    if (autograd::any_requires_grad(TensorList(inputs))) {
      node = make_intrusive<FunctionNode>(ctx.get());
      autograd::set_next_edges(*node, TensorList(inputs));
      c.state->node = weak_intrusive_ptr<Node>(node);
    }
    uint64_t level = 0;
    if (autograd::is_forward_mode_enabled())
      for (const Tensor& t : inputs) level = std::max(level, autograd::innermost_level(t));
    std::optional<autograd::HideTangents> outer;
    if (level) outer.emplace(level - 1);
    const Ref result = run_forward(cls, ctx.get(), args, separate != 0);
    const bool several = PyTuple_Check(result.get());
    const Ref outputs = several ? Ref::share(result.get()) : checked(PyTuple_Pack(1, result.get()));
    variable_list tensors;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs.get()); i++) {
      PyObject* item = PyTuple_GET_ITEM(outputs.get(), i);
      tensors.push_back(is_tensor(item) ? tensor_of(item) : Tensor());
    }
    const autograd::ForwardMarks marks{marked(c.dirty, "mark_dirty"), marked(c.non_differentiable, "mark_non_differentiable")};
    if (separate) check_saved(c, inputs, tensors, marks);
    autograd::finish_forward(node, Py_TYPE(ctx.get())->tp_name, marks, inputs, tensors);
    if (level) run_jvp(cls, ctx.get(), args, outputs.get(), marks, tensors, level);
    save_variables(c, node.get());
    Py_CLEAR(c.dirty);
    Py_CLEAR(c.non_differentiable);
    // An input that comes back does so as another tensor, of the same class.
    const auto wrap_result = [&](size_t i) -> PyObject* {
      PyObject* given = PyTuple_GET_ITEM(outputs.get(), static_cast<Py_ssize_t>(i));
      PyTypeObject* const kind = Py_TYPE(given);
      const bool subclass = kind != tensor_type && !PyType_IsSubtype(kind, parameter_type) && tensor_of(given).impl() != tensors[i].impl();
      return subclass ? wrap_as(kind, tensors[i]) : wrap(tensors[i]);
    };
    if (!several && tensors[0].defined()) return wrap_result(0);
    if (!several) return Ref::share(result.get()).release();
    Ref tuple = checked(PyTuple_New(PyTuple_GET_SIZE(outputs.get())));
    for (size_t i = 0; i < tensors.size(); i++) {
      const Py_ssize_t at = static_cast<Py_ssize_t>(i);
      PyObject* item = tensors[i].defined() ? checked(wrap_result(i)).release() : Ref::share(PyTuple_GET_ITEM(outputs.get(), at)).release();
      PyTuple_SET_ITEM(tuple.get(), at, item);
    }
    return tuple.release();
  });
}

// ---- the context's type --------------------------------------------------------------------------------------------------

PyObject* context_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  context_of(self).state = new State;
  context_of(self).materialize = true;
  return self;
}
int context_traverse(PyObject* self, visitproc visit, void* arg) {
  ContextObject& c = context_of(self);
  for (PyObject* o : {c.dict, c.to_save, c.dirty, c.non_differentiable, c.needs_input_grad, c.saved_for_forward}) Py_VISIT(o);
  Py_VISIT(Py_TYPE(self));
  return 0;
}
int context_clear(PyObject* self) {
  ContextObject& c = context_of(self);
  for (PyObject** o : {&c.dict, &c.to_save, &c.dirty, &c.non_differentiable, &c.needs_input_grad, &c.saved_for_forward}) Py_CLEAR(*o);
  return 0;
}
void context_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (context_of(self).weak) PyObject_ClearWeakRefs(self);
  context_clear(self);
  delete context_of(self).state;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* saved_tensors(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    ContextObject& c = context_of(self);
    if (c.saved_for_forward && c.saved_for_forward != Py_None) return Ref::share(c.saved_for_forward).release();
    CRESSET_CHECK(!c.freed, "backward: the graph of ", Py_TYPE(self)->tp_name, " has been freed by an earlier call, and its saved tensors with it; ",
                  "pass retain_graph=True to the first call to go through the graph a second time");
    return tuple_of(autograd::unpack_list(c.state->saved, c.state->node.lock().get())).release();
  });
}
PyObject* saved_variables(PyObject* self, void* data) {
  if (PyErr_WarnEx(PyExc_DeprecationWarning, "ctx.saved_variables is deprecated; use ctx.saved_tensors", 1)) return nullptr;
  return saved_tensors(self, data);
}
PyObject* raw_saved_tensors(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    ContextObject& c = context_of(self);
    CRESSET_CHECK(!c.freed, Py_TYPE(self)->tp_name, ": its saved tensors have been freed by an earlier backward");
    Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(c.state->saved.size())));
    for (size_t i = 0; i < c.state->saved.size(); i++)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(wrap_saved_of_context(self, i)).release());
    return tuple.release();
  });
}
int set_materialize(PyObject* self, PyObject* value, void*) {
  const int on = value ? PyObject_IsTrue(value) : 1;
  if (on < 0) return -1;
  context_of(self).materialize = on != 0;
  return 0;
}

PyMemberDef context_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(ContextObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ContextObject, weak), READONLY, nullptr},
    {"to_save", T_OBJECT, offsetof(ContextObject, to_save), 0, nullptr},
    {"dirty_tensors", T_OBJECT, offsetof(ContextObject, dirty), 0, nullptr},
    {"non_differentiable", T_OBJECT, offsetof(ContextObject, non_differentiable), 0, nullptr},
    {"needs_input_grad", T_OBJECT, offsetof(ContextObject, needs_input_grad), 0, "For each argument of forward: whether it is a tensor that requires grad."},
    {"saved_for_forward", T_OBJECT, offsetof(ContextObject, saved_for_forward), 0, nullptr},
    {}};
PyGetSetDef context_properties[] = {{"saved_tensors", saved_tensors, nullptr, "What save_for_backward was given; changes in place since are errors.", nullptr},
                                    {"_raw_saved_tensors", raw_saved_tensors, nullptr, nullptr, nullptr},
                                    {"saved_variables", saved_variables, nullptr, nullptr, nullptr},
                                    {"materialize_grads", nullptr, set_materialize, nullptr, nullptr},
                                    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                                    {}};
PyMethodDef functions[] = {{"function_apply", function_apply, METH_VARARGS, nullptr}, {}};

}  // namespace

bool is_context(PyObject* o) { return PyObject_TypeCheck(o, context_type); }
intrusive_ptr<Node> node_of_context(PyObject* o) { return context_of(o).state->node.lock(); }
SavedVariable* saved_of_context(PyObject* o, size_t i) {
  std::vector<SavedVariable>& saved = context_of(o).state->saved;
  return i < saved.size() ? &saved[i] : nullptr;
}
PyObject* context_of_node(const Node& node) {
  const auto* function = dynamic_cast<const FunctionNode*>(&node);
  return function ? function->context : nullptr;
}

bool add_autograd_function(PyObject* module) {
  std::vector<PyGetSetDef>& properties = *new std::vector<PyGetSetDef>;
  for (const PyGetSetDef* p = context_properties; p->name; p++) properties.push_back(*p);
  for (const PyGetSetDef* p = node_properties; p->name; p++) properties.push_back(*p);
  properties.push_back({});
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(context_new)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(context_dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(context_traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(context_clear)},
                         {Py_tp_methods, node_methods},
                         {Py_tp_getset, properties.data()},
                         {Py_tp_members, context_members},
                         {}};
  PyType_Spec spec{"torch._C._FunctionBase", sizeof(ContextObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  context_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!context_type) return false;
  PyModule_AddObjectRef(module, "_FunctionBase", reinterpret_cast<PyObject*>(context_type));
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
