// Compiled graphs as the callables of regions: forward alone, or forward whose results have the compiled backward as their history. A call takes the
// graph's inputs and makes no Python object beyond the graph's own results.

#include "cresset/autograd/generated_support.h"
#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/node.h"
#include "cresset/autograd/variable.h"
#include "python/bind/modes/values_api.h"
#include "python/bind_compile/region.h"

namespace cresset::compile {

namespace {

using autograd::AutoGradMode;
using autograd::GradMode;
using autograd::Node;
using autograd::variable_list;

const python::ValuesApi* api = nullptr;
PyTypeObject* step_type = nullptr;

const Tensor& tensor_of(PyObject* o) { return reinterpret_cast<python::TensorObject*>(o)->tensor; }

struct Step {
  Ref keep;  // what the functions need
  // The graphs as they were captured, for a program that fails: they hold no writes, so that they may run after it.
  Ref plain_forward, plain_backward;
  Ref forward, backward;                      // functions of a tuple, which give lists; `backward` is null where no gradients are wanted
  size_t num_values = 0;                      // results of the graph that are not kept for backward: inputs as they are now, then values
  std::vector<int> mutated;                   // inputs that are written, in the order of the first values
  std::vector<int> kinds;                     // for each result: -1 for the next value, else the input that it is
  std::vector<bool> differentiable;           // for each of the values
  std::vector<bool> wanted;                   // for each input: whether a gradient is wanted
  std::vector<std::vector<int64_t>> strides;  // of the gradient of each differentiable value
};

// Runs a program; one that raises is replaced by the graph as it was captured, whose error, if it raises one too, is the program's own.
PyObject* attempt(Ref& program, Ref& plain, PyObject* args) {
  PyObject* found = PyObject_CallOneArg(program.get(), args);
  if (found || !plain) return found;
  PyErr_Clear();
  found = PyObject_CallOneArg(plain.get(), args);
  if (found) program = std::exchange(plain, Ref());
  return found;
}

struct StepObject {
  PyObject_HEAD Step* step;
};

class Locked {
 public:
  Locked() : state_(PyGILState_Ensure()) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

// The error that Python has set, as an exception of C++.
[[noreturn]] void throw_python() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Ref text(value ? PyObject_Str(value) : nullptr);
  const char* s = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  const std::string what = s ? s : "an error of Python";
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  throw Error(what);
}

// The history of a gradient that was computed by a compiled backward: it has none.
struct NoSecondDerivative final : Node {
  std::string name() const override { return "CompiledBackwardBackward"; }
  variable_list apply(variable_list&&) override {
    CRESSET_CHECK(false, "torch.compile: the backward of a compiled graph has no derivative of its own; use backend=\"eager\" for second derivatives");
  }
};

struct CompiledBackward final : Node {
  explicit CompiledBackward(PyObject* owner) : owner_(Ref::share(owner)) {}
  ~CompiledBackward() override {
    const Locked lock;
    owner_ = Ref();
    numbers_.clear();
  }
  std::string name() const override { return "CompiledBackward"; }
  Step& step() const { return *reinterpret_cast<StepObject*>(owner_.get())->step; }

  void keep(PyObject* value) {
    if (!is_tensor_object(value)) {
      numbers_.emplace_back(kept_.size(), Ref::share(value));
      kept_.emplace_back();
      versions_.push_back(0);
      return;
    }
    // Without a history: it may be a result, whose history holds this node.
    kept_.push_back(tensor_of(value).detach());
    versions_.push_back(kept_.back().impl()->version());
  }

  void release_variables() override {
    kept_.clear();
    released_ = true;
  }

  variable_list apply(variable_list&& grads) override {
    CRESSET_CHECK(!released_, "backward: the graph has been freed by an earlier call; pass retain_graph=true to the first call to go through it again");
    const bool again = GradMode::is_enabled();
    variable_list found(num_outputs());
    {
      const AutoGradMode off(false);
      const Locked lock;
      const Ref args(PyTuple_New(static_cast<Py_ssize_t>(kept_.size() + step().strides.size())));
      if (!args) throw_python();
      Py_ssize_t at = 0;
      for (size_t i = 0; i < kept_.size(); i++) {
        if (!kept_[i].defined()) {
          PyTuple_SET_ITEM(args.get(), at++, Py_NewRef(number(i)));
          continue;
        }
        CRESSET_CHECK(kept_[i].impl()->version() == versions_[i],
                      "torch.compile: one of the variables needed for gradient computation has been modified by an inplace operation: a tensor of sizes ",
                      kept_[i].sizes(), " that a compiled graph has kept for backward");
        put(args.get(), at++, kept_[i]);
      }
      for (size_t i = 0, k = 0; i < grads.size(); i++) {
        const auto& strides = step().strides[k++];
        Tensor g = grads[i].defined() ? grads[i].detach() : input_metadata(i).zeros_like();
        if (g.strides() != IntArrayRef(strides)) g = cresset::empty_strided(g.sizes(), strides, g.options()).copy_(g);
        put(args.get(), at++, g);
      }
      const Ref results(attempt(step().backward, step().plain_backward, args.get()));
      if (!results) throw_python();
      const Ref list(PySequence_Fast(results.get(), "torch.compile: expected a list of gradients"));
      if (!list) throw_python();
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(list.get());
      CRESSET_CHECK(static_cast<size_t>(n) == found.size(), "torch.compile: a compiled backward gives ", n, " gradients, expected ", found.size());
      for (Py_ssize_t i = 0; i < n; i++) {
        PyObject* g = PySequence_Fast_GET_ITEM(list.get(), i);
        if (is_tensor_object(g) && should_compute_output(static_cast<size_t>(i))) found[static_cast<size_t>(i)] = tensor_of(g);
      }
    }
    if (again) {
      auto refusal = autograd::make_node<NoSecondDerivative>();
      for (const Tensor& g : grads) refusal->add_next_edge(g.defined() && g.requires_grad() ? autograd::impl::gradient_edge(g) : autograd::Edge{});
      for (const auto& edge : next_edges()) refusal->add_next_edge(edge);
      for (Tensor& g : found) {
        if (!g.defined()) continue;
        g = g.detach();
        autograd::set_history(g, refusal);
      }
    }
    return found;
  }

 private:
  static void put(PyObject* tuple, Py_ssize_t at, const Tensor& t) {
    PyObject* o = api->to_python(dispatch::Value(t));
    if (!o) throw_python();
    PyTuple_SET_ITEM(tuple, at, o);
  }
  PyObject* number(size_t i) const {
    for (const auto& [at, value] : numbers_)
      if (at == i) return value.get();
    return Py_None;
  }

  Ref owner_;
  std::vector<Tensor> kept_;
  std::vector<uint32_t> versions_;
  std::vector<std::pair<size_t, Ref>> numbers_;
  bool released_ = false;
};

bool fail(const std::exception& e) {
  PyErr_SetString(PyExc_RuntimeError, e.what());
  return false;
}

// The results of a call: values of the graph and inputs, after the inputs have been written.
PyObject* results_of(const Step& step, PyObject* args, PyObject* found) {
  for (size_t i = 0; i < step.mutated.size(); i++) {
    PyObject *to = PyTuple_GET_ITEM(args, step.mutated[i]), *value = PySequence_Fast_GET_ITEM(found, static_cast<Py_ssize_t>(i));
    if (!is_tensor_object(to) || !is_tensor_object(value)) continue;
    const AutoGradMode recorded(GradMode::is_enabled() && tensor_of(value).requires_grad());
    tensor_of(to).copy_(tensor_of(value));
  }
  PyObject* out = PyTuple_New(static_cast<Py_ssize_t>(step.kinds.size()));
  if (!out) return nullptr;
  Py_ssize_t next = static_cast<Py_ssize_t>(step.mutated.size());
  for (size_t i = 0; i < step.kinds.size(); i++) {
    PyObject* value = step.kinds[i] < 0 ? PySequence_Fast_GET_ITEM(found, next++) : PyTuple_GET_ITEM(args, step.kinds[i]);
    PyTuple_SET_ITEM(out, static_cast<Py_ssize_t>(i), Py_NewRef(value));
  }
  return out;
}

PyObject* call_step(PyObject* self, PyObject* args, PyObject*) {
  Step& step = *reinterpret_cast<StepObject*>(self)->step;
  try {
    Ref found;
    {
      const AutoGradMode off(false);
      found = Ref(attempt(step.forward, step.plain_forward, args));
    }
    if (!found) return nullptr;
    found = Ref(PySequence_Fast(found.get(), "torch.compile: expected a list of results"));
    if (!found) return nullptr;
    const auto n = static_cast<size_t>(PySequence_Fast_GET_SIZE(found.get()));
    if (n < step.num_values) {
      PyErr_Format(PyExc_RuntimeError, "torch.compile: a compiled graph gives %zu results, expected %zu", n, step.num_values);
      return nullptr;
    }
    if (step.backward && GradMode::is_enabled()) {
      auto node = autograd::make_node<CompiledBackward>(self);
      bool any = false;
      for (size_t i = 0; i < step.wanted.size(); i++) {
        PyObject* input = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
        const bool edge = step.wanted[i] && is_tensor_object(input) && tensor_of(input).requires_grad();
        any |= edge;
        node->add_next_edge(edge ? autograd::impl::gradient_edge(tensor_of(input)) : autograd::Edge{});
      }
      if (any) {
        for (size_t i = step.num_values; i < n; i++) node->keep(PySequence_Fast_GET_ITEM(found.get(), static_cast<Py_ssize_t>(i)));
        for (size_t i = 0; i < step.num_values; i++) {
          PyObject* value = PySequence_Fast_GET_ITEM(found.get(), static_cast<Py_ssize_t>(i));
          if (step.differentiable[i] && is_tensor_object(value)) autograd::set_history(tensor_of(value), node);
        }
      }
    }
    return results_of(step, args, found.get());
  } catch (const std::exception& e) { fail(e); }
  return nullptr;
}

template <class F> bool each(PyObject* tuple, F&& use) {
  if (!PyTuple_Check(tuple)) {
    PyErr_SetString(PyExc_TypeError, "Step: expected tuples");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
    if (!use(PyTuple_GET_ITEM(tuple, i))) return false;
  return true;
}
bool add_number(PyObject* o, std::vector<int>& to) {
  const long n = PyLong_AsLong(o);
  to.push_back(static_cast<int>(n));
  return !(n == -1 && PyErr_Occurred());
}

// Step(forward, backward, num_values, mutated, kinds, differentiable, wanted, strides, keep, plain_forward, plain_backward)
PyObject* make_step(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *forward, *backward, *mutated, *kinds, *differentiable, *wanted, *strides, *keep, *plain_forward, *plain_backward;
  auto step = std::make_unique<Step>();
  Py_ssize_t num_values = 0;
  if (!PyArg_ParseTuple(args, "OOnOOOOOOOO", &forward, &backward, &num_values, &mutated, &kinds, &differentiable, &wanted, &strides, &keep, &plain_forward,
                        &plain_backward))
    return nullptr;
  step->keep = Ref::share(keep);
  if (plain_forward != Py_None) step->plain_forward = Ref::share(plain_forward);
  if (plain_backward != Py_None) step->plain_backward = Ref::share(plain_backward);
  step->forward = Ref::share(forward);
  if (backward != Py_None) step->backward = Ref::share(backward);
  step->num_values = static_cast<size_t>(num_values);
  const bool read = each(mutated, [&](PyObject* o) { return add_number(o, step->mutated); }) &&
                    each(kinds, [&](PyObject* o) { return add_number(o, step->kinds); }) &&
                    each(differentiable, [&](PyObject* o) { return step->differentiable.push_back(PyObject_IsTrue(o) == 1), true; }) &&
                    each(wanted, [&](PyObject* o) { return step->wanted.push_back(PyObject_IsTrue(o) == 1), true; }) && each(strides, [&](PyObject* list) {
                      auto& into = step->strides.emplace_back();
                      return each(list, [&](PyObject* o) { return into.push_back(PyLong_AsLongLong(o)), !PyErr_Occurred(); });
                    });
  if (!read) return nullptr;
  size_t values = step->mutated.size();
  for (const int k : step->kinds) values += k < 0;
  if (values != step->num_values || step->differentiable.size() != values) {
    PyErr_Format(PyExc_ValueError, "Step: expected %zu values, got %zd", values, num_values);
    return nullptr;
  }
  auto* self = reinterpret_cast<StepObject*>(type->tp_alloc(type, 0));
  if (self) self->step = step.release();
  return reinterpret_cast<PyObject*>(self);
}
void release_step(PyObject* self) {
  PyObject_GC_UnTrack(self);
  delete reinterpret_cast<StepObject*>(self)->step;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
int visit_step(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<StepObject*>(self)->step->keep.get());
  Py_VISIT(reinterpret_cast<StepObject*>(self)->step->plain_forward.get());
  Py_VISIT(reinterpret_cast<StepObject*>(self)->step->plain_backward.get());
  Py_VISIT(reinterpret_cast<StepObject*>(self)->step->forward.get());
  Py_VISIT(reinterpret_cast<StepObject*>(self)->step->backward.get());
  return 0;
}
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make_step)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(release_step)},
                       {Py_tp_traverse, reinterpret_cast<void*>(visit_step)},
                       {Py_tp_call, reinterpret_cast<void*>(call_step)},
                       {0, nullptr}};
PyType_Spec spec = {"_cresset_compile.Step", sizeof(StepObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

bool add_step(PyObject* module) {
  api = static_cast<const python::ValuesApi*>(PyCapsule_Import(python::ValuesApi::kName, 0));
  step_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return api && step_type && PyModule_AddObjectRef(module, "Step", reinterpret_cast<PyObject*>(step_type)) == 0;
}

}  // namespace cresset::compile
