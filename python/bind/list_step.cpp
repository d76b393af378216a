// Operators on lists, called with what an optimizer keeps: its parameters, and a dictionary of tensors for each.

#include <vector>

#include "cresset/dispatch/op.h"
#include "cresset/optim/line_search.h"
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
      const bool list = a.type.list && a.type.kind == dispatch::TypeKind::Tensor;
      if (stack.empty()) stack.emplace_back(std::move(lists.params));
      else if (stack.size() == 1) stack.emplace_back(std::move(lists.grads));
      else if (list && a.name == "state_steps") stack.emplace_back(lists.steps);
      else if (list) stack.emplace_back(std::move(lists.kept.at(next++)));
      else if (PyObject* given = PyDict_GetItemString(numbers, a.name.c_str())) {
        CRESSET_CHECK_TYPE(read_value(given, a.type, true, false, stack.emplace_back()), name, ": argument `", a.name, "`: expected ",
                           dispatch::type_name(a.type), ", got ", Py_TYPE(given)->tp_name);
      } else {
        stack.push_back(a.default_value);
      }
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

// ---- the line search of L-BFGS

using optim::detail::LinePoint;
using optim::detail::StepNumber;

// Python's optimizer has numbers and tensors of one, with the precision of their own.
StepNumber step_number(PyObject* o) {
  if (!is_tensor(o)) return to_scalar(o).toDouble();
  return {tensor_of(o).item().toDouble(), tensor_of(o).scalar_type() == kFloat};
}
PyObject* wrap_step_number(StepNumber n) { return n.single ? wrap(cresset::full({}, n.value, TensorOptions(kFloat))) : PyFloat_FromDouble(n.value); }

// strong_wolfe(evaluate, loss, gradient, slope, first step, greatest element of the direction, tolerance): step, loss, gradient and the number of
// evaluations; evaluate(step) gives loss, gradient and slope
PyObject* strong_wolfe(PyObject*, PyObject* args) {
  PyObject *evaluate, *loss, *grad, *slope, *first, *largest;
  double tolerance;
  if (!PyArg_ParseTuple(args, "OOOOOOd", &evaluate, &loss, &grad, &slope, &first, &largest, &tolerance)) return nullptr;
  return guarded([&] {
    const auto point = [](StepNumber t, PyObject* f, PyObject* g, PyObject* gtd) {
      CRESSET_CHECK_TYPE(is_tensor(g), "strong_wolfe: expected a tensor as gradient, got ", Py_TYPE(g)->tp_name);
      return LinePoint{t, step_number(f), tensor_of(g), step_number(gtd)};
    };
    const auto run = [&](StepNumber t) {
      const Ref step = checked(wrap_step_number(t)), found = checked(PyObject_CallOneArg(evaluate, step.get()));
      PyObject *f, *g, *gtd;
      if (!PyArg_ParseTuple(found.get(), "OOO", &f, &g, &gtd)) throw PythonError();
      return point(t, f, g, gtd);
    };
    const auto found = optim::detail::strong_wolfe(run, point(0, loss, grad, slope), step_number(first), step_number(largest), tolerance);
    const Ref t = checked(wrap_step_number(found.best.t)), f = checked(wrap_step_number(found.best.f)), g = checked(wrap(found.best.g));
    return Py_BuildValue("(OOOL)", t.get(), f.get(), g.get(), static_cast<long long>(found.evaluations));
  });
}

PyMethodDef functions[] = {{"list_step", list_step, METH_VARARGS, nullptr}, {"strong_wolfe", strong_wolfe, METH_VARARGS, nullptr}, {}};

}  // namespace

bool add_optim(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0 && add_rates(module); }

}  // namespace cresset::python
