// Operators on lists, called with what an optimizer keeps: its parameters, and a dictionary of tensors for each.

#include <deque>
#include <vector>

#include "cresset/dispatch/op.h"
#include "cresset/optim/lbfgs_state.h"
#include "cresset/optim/rates.h"
#include "python/bind/autograd.h"
#include "python/bind/bind.h"

namespace cresset::python {

namespace {

using dispatch::Stack;
using dispatch::Value;

// Work above which other Python threads may run meanwhile.
constexpr int64_t kReleaseElements = 32768;

PyObject* lookup(PyObject* dict, PyObject* key) {
  PyObject* found = PyDict_GetItemWithError(dict, key);
  if (!found && PyErr_Occurred()) throw PythonError();
  return found;
}
// State kept for a parameter; null where there is nothing yet.
PyObject* state_of(PyObject* states, PyObject* param) {
  PyObject* found = lookup(states, param);
  return found && PyDict_Check(found) ? found : nullptr;
}

// One more step; the count is read by the operator.
void advance(Tensor step) {
  const bool plain = step.is_cpu() && !step.lacks_data() && step.scalar_type() == kFloat && step.numel() == 1;
  if (!plain) {
    step.add_(1);
    return;
  }
  *static_cast<float*>(step.data_ptr()) += 1;
  step.impl()->bump_version();
}

struct Lists {
  std::vector<Tensor> params, grads, steps;
  std::vector<std::vector<Tensor>> kept;
  int64_t elements = 0;
  Ref unready;  // a list of parameters, made for the first
};

// Adds what is kept under `keys`, None standing for what is not, and the counter. False where something is missing.
bool add_state(Lists& lists, PyObject* state, PyObject* keys) {
  static PyObject* const step_key = PyUnicode_InternFromString("step");
  for (size_t k = 0; k < lists.kept.size(); k++) {
    PyObject* const key = PyTuple_GET_ITEM(keys, static_cast<Py_ssize_t>(k));
    if (key == Py_None) continue;
    PyObject* const value = state ? lookup(state, key) : nullptr;
    if (!value || !is_tensor(value)) return false;
    lists.kept[k].push_back(tensor_of(value));
  }
  PyObject* const step = state ? lookup(state, step_key) : nullptr;
  if (step && is_tensor(step)) lists.steps.push_back(tensor_of(step));
  return true;
}

Lists lists_of(PyObject* params, PyObject* states, PyObject* keys, bool takes_sparse) {
  const auto n = static_cast<size_t>(PyList_GET_SIZE(params));
  Lists lists;
  lists.params.reserve(n);
  lists.grads.reserve(n);
  lists.kept.resize(static_cast<size_t>(PyTuple_GET_SIZE(keys)));
  bool stateless = true;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keys); k++) {
    if (PyTuple_GET_ITEM(keys, k) == Py_None) continue;
    stateless = false;
    lists.kept[static_cast<size_t>(k)].reserve(n);
  }
  for (size_t i = 0; i < n; i++) {
    PyObject* const object = PyList_GET_ITEM(params, static_cast<Py_ssize_t>(i));
    CRESSET_CHECK_TYPE(is_tensor(object), "optimizer step: expected a tensor, got ", Py_TYPE(object)->tp_name);
    const Tensor& p = tensor_of(object);
    const Tensor& grad = p.grad();
    if (!grad.defined()) continue;
    if ((takes_sparse || grad.layout() == Layout::Strided) && (stateless || add_state(lists, state_of(states, object), keys))) {
      lists.params.push_back(p);
      lists.grads.push_back(grad);
      lists.elements += p.numel();
      continue;
    }
    if (!lists.unready.get()) lists.unready = checked(PyList_New(0));
    if (PyList_Append(lists.unready.get(), object) < 0) throw PythonError();
  }
  return lists;
}

bool is_list_of_tensors(const dispatch::Argument& a) { return a.type.list && a.type.kind == dispatch::TypeKind::Tensor; }

// Pushes an argument that is no list: the one that `numbers` has by its name, or its default.
void push_number(Stack& stack, const char* name, const dispatch::Argument& a, PyObject* numbers) {
  PyObject* const given = PyDict_GetItemString(numbers, a.name.c_str());
  if (!given) {
    stack.push_back(a.default_value);
    return;
  }
  CRESSET_CHECK_TYPE(read_value(given, a.type, true, true, stack.emplace_back()), name, ": argument `", a.name, "`: expected ", dispatch::type_name(a.type),
                     ", got ", Py_TYPE(given)->tp_name);
}

// call_on_lists(operator, lists, numbers): an operator of ops/optim.toml on lists of tensors, in the order of its arguments, and `numbers` by name.
PyObject* call_on_lists(PyObject*, PyObject* args) {
  const char* name;
  PyObject *lists, *numbers;
  if (!PyArg_ParseTuple(args, "sO!O!", &name, &PyTuple_Type, &lists, &PyDict_Type, &numbers)) return nullptr;
  return guarded([&]() -> PyObject* {
    const dispatch::OpEntry& op = dispatch::find_op(name).entry();
    Stack stack;
    Py_ssize_t next = 0;
    for (const dispatch::Argument& a : op.function_schema().arguments) {
      if (!is_list_of_tensors(a)) {
        push_number(stack, name, a, numbers);
        continue;
      }
      CRESSET_CHECK(next < PyTuple_GET_SIZE(lists), name, ": expected a list for `", a.name, "`, got ", next, " lists");
      PyObject* const given = PyTuple_GET_ITEM(lists, next++);
      CRESSET_CHECK_TYPE(read_value(given, a.type, true, false, stack.emplace_back()), name, ": argument `", a.name, "`: expected a list of tensors, got ",
                         Py_TYPE(given)->tp_name);
    }
    {
      const NoGil free;
      dispatch::call_boxed(op, stack);
    }
    Py_RETURN_NONE;
  });
}

// list_step(operator, params, states, keys, numbers, takes_sparse): calls an operator of ops/optim.toml on the parameters that have
// a gradient, with the lists of their states under `keys`, their counters moved on by one, and `numbers` by name. Where there are
// parameters of which a state is missing or the gradient is not dense, it does nothing and returns them; without an operator that
// is all it does.
PyObject* list_step(PyObject*, PyObject* args) {
  const char* name;
  PyObject *params, *states, *keys, *numbers;
  int takes_sparse;
  if (!PyArg_ParseTuple(args, "zO!O!O!O!p", &name, &PyList_Type, &params, &PyDict_Type, &states, &PyTuple_Type, &keys, &PyDict_Type, &numbers, &takes_sparse))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Lists lists = lists_of(params, states, keys, takes_sparse != 0);
    if (lists.unready.get()) return lists.unready.release();
    if (!name || lists.params.empty()) Py_RETURN_NONE;
    const dispatch::OpEntry& op = dispatch::find_op(name).entry();
    const auto& arguments = op.function_schema().arguments;
    Stack stack;
    stack.reserve(arguments.size());
    size_t next = 0;
    for (const dispatch::Argument& a : arguments) {
      const bool list = is_list_of_tensors(a);
      if (stack.empty()) stack.emplace_back(std::move(lists.params));
      else if (stack.size() == 1) stack.emplace_back(std::move(lists.grads));
      else if (list && a.name == "state_steps") stack.emplace_back(lists.steps);
      else if (list) stack.emplace_back(std::move(lists.kept.at(next++)));
      else push_number(stack, name, a, numbers);
    }
    for (const Tensor& step : lists.steps) advance(step);
    if (lists.elements < kReleaseElements) {
      dispatch::call_boxed(op, stack);
    } else {
      const NoGil free;
      dispatch::call_boxed(op, stack);
    }
    Py_RETURN_NONE;
  });
}

// ---- L-BFGS, whose state is a dictionary between steps ---------------------------------------------------------------------------

// A number, or a tensor of one element.
double number_of(PyObject* o) { return is_tensor(o) ? tensor_of(o).item().toDouble() : to_scalar(o).toDouble(); }

PyObject* field(PyObject* dict, const char* name) {
  PyObject* const found = PyDict_GetItemString(dict, name);
  return found == Py_None ? nullptr : found;
}
template <class Set> void read(PyObject* dict, const char* name, Set set) {
  if (PyObject* const found = field(dict, name)) set(found);
}
void write(PyObject* dict, const char* name, PyObject* value) {
  const Ref kept = checked(value);
  if (PyDict_SetItemString(dict, name, kept.get()) != 0) throw PythonError();
}

std::deque<Tensor> tensors_of(PyObject* list) {
  std::deque<Tensor> tensors;
  const Ref items = checked(PySequence_Fast(list, "L-BFGS: expected a list of tensors in the state"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); i++) tensors.push_back(tensor_of(PySequence_Fast_GET_ITEM(items.get(), i)));
  return tensors;
}
template <class Tensors> PyObject* list_of(const Tensors& tensors, size_t size = 0) {
  const Ref list = checked(PyList_New(0));
  for (const Tensor& tensor : tensors)
    if (PyList_Append(list.get(), checked(wrap(tensor)).get()) != 0) throw PythonError();
  for (size_t i = tensors.size(); i < size; i++)
    if (PyList_Append(list.get(), Py_None) != 0) throw PythonError();
  return Py_NewRef(list.get());
}

optim::LBFGSOptions lbfgs_options(PyObject* group) {
  optim::LBFGSOptions o;
  const auto whole = [](PyObject* value) { return static_cast<int64_t>(number_of(value)); };
  read(group, "lr", [&](PyObject* v) { o.lr(number_of(v)); });
  read(group, "max_iter", [&](PyObject* v) { o.max_iter(whole(v)); });
  read(group, "max_eval", [&](PyObject* v) { o.max_eval(whole(v)); });
  read(group, "tolerance_grad", [&](PyObject* v) { o.tolerance_grad(number_of(v)); });
  read(group, "tolerance_change", [&](PyObject* v) { o.tolerance_change(number_of(v)); });
  read(group, "history_size", [&](PyObject* v) { o.history_size(whole(v)); });
  read(group, "line_search_fn", [&](PyObject* v) {
    const char* name = PyUnicode_AsUTF8(v);
    if (!name) throw PythonError();
    o.line_search_fn(name);
  });
  return o;
}

optim::LBFGSParamState lbfgs_state(PyObject* dict) {
  optim::LBFGSParamState state;
  read(dict, "func_evals", [&](PyObject* v) { state.func_evals(static_cast<int64_t>(number_of(v))); });
  read(dict, "n_iter", [&](PyObject* v) { state.n_iter(static_cast<int64_t>(number_of(v))); });
  read(dict, "t", [&](PyObject* v) { state.t(number_of(v)); });
  read(dict, "prev_loss", [&](PyObject* v) { state.prev_loss(number_of(v)); });
  read(dict, "d", [&](PyObject* v) { state.d(tensor_of(v)); });
  read(dict, "prev_flat_grad", [&](PyObject* v) { state.prev_flat_grad(tensor_of(v)); });
  read(dict, "H_diag", [&](PyObject* v) { state.H_diag(is_tensor(v) ? tensor_of(v) : cresset::full({}, number_of(v), TensorOptions(kDouble))); });
  read(dict, "old_dirs", [&](PyObject* v) { state.old_dirs(tensors_of(v)); });
  read(dict, "old_stps", [&](PyObject* v) { state.old_stps(tensors_of(v)); });
  read(dict, "ro", [&](PyObject* v) { state.ro(tensors_of(v)); });
  return state;
}

// The length of a step as Python's optimizer keeps it: the rate itself, a tensor where it came from gradients, else a number.
PyObject* step_length(PyObject* group, const optim::LBFGSParamState& state, bool is_tensor) {
  if (is_tensor) return wrap(cresset::full({}, state.t(), state.d().options()));
  PyObject* rate = PyDict_GetItemString(group, "lr");  // borrowed
  const bool is_rate = rate && number_of(rate) == state.t() && (state.n_iter() > 1 || !PyLong_Check(rate));
  return is_rate ? Py_NewRef(rate) : PyFloat_FromDouble(state.t());
}

void keep_lbfgs_state(PyObject* dict, PyObject* group, const optim::LBFGSParamState& state, int64_t history, std::optional<bool> t_is_tensor) {
  write(dict, "func_evals", PyLong_FromLongLong(state.func_evals()));
  write(dict, "n_iter", PyLong_FromLongLong(state.n_iter()));
  if (!state.d().defined()) return;
  if (t_is_tensor) write(dict, "t", step_length(group, state, *t_is_tensor));
  write(dict, "prev_loss", PyFloat_FromDouble(state.prev_loss()));
  write(dict, "d", wrap(state.d()));
  if (state.prev_flat_grad().defined()) write(dict, "prev_flat_grad", wrap(state.prev_flat_grad()));
  write(dict, "H_diag", state.old_dirs().empty() ? PyLong_FromLong(1) : wrap(state.H_diag()));
  write(dict, "old_dirs", list_of(state.old_dirs()));
  write(dict, "old_stps", list_of(state.old_stps()));
  write(dict, "ro", list_of(state.ro()));
  if (state.al()) write(dict, "al", list_of(*state.al(), static_cast<size_t>(history)));
}

// lbfgs_step(params, state, group, evaluate): the iterations of one step; evaluate() gives the loss, and makes the gradients.
PyObject* lbfgs_step(PyObject*, PyObject* args) {
  PyObject *params, *dict, *group, *evaluate;
  if (!PyArg_ParseTuple(args, "OO!O!O", &params, &PyDict_Type, &dict, &PyDict_Type, &group, &evaluate)) return nullptr;
  return guarded([&] {
    const optim::LBFGSOptions options = lbfgs_options(group);
    optim::LBFGSParamState state = lbfgs_state(dict);
    const std::deque<Tensor> listed = tensors_of(params);
    const auto loss = [&] { return number_of(checked(PyObject_CallNoArgs(evaluate)).get()); };
    const int64_t before = state.n_iter();
    bool t_is_tensor = false;
    const auto keep = [&] {
      keep_lbfgs_state(dict, group, state, options.history_size(), state.n_iter() > before ? std::optional(t_is_tensor) : std::nullopt);
    };
    try {
      optim::detail::lbfgs_step({listed.begin(), listed.end()}, state, options, loss, &t_is_tensor);
    } catch (...) {
      keep();
      throw;
    }
    keep();
    Py_RETURN_NONE;
  });
}

// ---- formulas of learning rates -----------------------------------------------------------------------------------------

namespace rates = optim::rates;

rates::Settings settings_of(PyObject* tuple) {
  rates::Settings settings;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    settings.push_back(PyFloat_AsDouble(PyTuple_GET_ITEM(tuple, i)));
    if (settings.back() == -1 && PyErr_Occurred()) throw PythonError();
  }
  return settings;
}

// learning_rate(name, settings, now, base, epoch, initial, restarted): the chained formula; closed_learning_rate: the closed one.
template <double (*formula)(std::string_view, const rates::Point&, const rates::Settings&)> PyObject* learning_rate(PyObject*, PyObject* args) {
  const char* name;
  PyObject* settings;
  int initial = 0, restarted = 0;
  rates::Point at;
  if (!PyArg_ParseTuple(args, "sO!|dddpp", &name, &PyTuple_Type, &settings, &at.now, &at.base, &at.epoch, &initial, &restarted)) return nullptr;
  at.initial = initial != 0;
  at.restarted = restarted != 0;
  return guarded([&] { return PyFloat_FromDouble(formula(name, at, settings_of(settings))); });
}
PyObject* warm_restart(PyObject*, PyObject* args) {
  double epoch, first, factor;
  if (!PyArg_ParseTuple(args, "ddd", &epoch, &first, &factor)) return nullptr;
  return guarded([&] {
    const auto [since, period] = rates::warm_restart(epoch, first, factor);
    return Py_BuildValue("(dd)", since, period);
  });
}
PyObject* next_restart(PyObject*, PyObject* args) {
  double since, period, factor;
  if (!PyArg_ParseTuple(args, "ddd", &since, &period, &factor)) return nullptr;
  const auto [next, length] = rates::next_restart(since, period, factor);
  return Py_BuildValue("(dd)", next, length);
}
PyObject* one_cycle_phase(PyObject*, PyObject* args) {
  double epoch;
  PyObject* ends;
  if (!PyArg_ParseTuple(args, "dO!", &epoch, &PyTuple_Type, &ends)) return nullptr;
  return guarded([&] {
    const auto [phase, share] = rates::one_cycle_phase(epoch, settings_of(ends));
    return Py_BuildValue("(nd)", static_cast<Py_ssize_t>(phase), share);
  });
}

PyMethodDef functions[] = {{"list_step", list_step, METH_VARARGS, nullptr},
                           {"call_on_lists", call_on_lists, METH_VARARGS, nullptr},
                           {"lbfgs_step", lbfgs_step, METH_VARARGS, nullptr},
                           {"learning_rate", learning_rate<rates::rate>, METH_VARARGS, nullptr},
                           {"closed_learning_rate", learning_rate<rates::closed_rate>, METH_VARARGS, nullptr},
                           {"warm_restart", warm_restart, METH_VARARGS, nullptr},
                           {"next_restart", next_restart, METH_VARARGS, nullptr},
                           {"one_cycle_phase", one_cycle_phase, METH_VARARGS, nullptr},
                           {}};

}  // namespace

bool add_optim(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
