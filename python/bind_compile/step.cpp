// Compiled graphs as the callables of regions: forward alone, or forward whose results have the compiled backward as their history. A call takes the
// graph's inputs and makes no Python object beyond the graph's own results.

#include "cresset/autograd/generated_support.h"
#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/variable.h"
#include "cresset/graph/codegen/history.h"
#include "cresset/graph/runtime/program.h"
#include "python/bind/modes/values_api.h"
#include "python/bind_compile/region.h"

namespace cresset::compile {

namespace {

using autograd::AutoGradMode;
using autograd::GradMode;

constexpr const char* kProgram = "cresset.graph.program";
const python::ValuesApi* api = nullptr;
PyTypeObject* step_type = nullptr;

const Tensor& tensor_of(PyObject* o) { return reinterpret_cast<python::TensorObject*>(o)->tensor; }

using graph::Program;
using Values = std::vector<dispatch::Value>;

// A program of C++, or a function of a tuple that gives a list.
struct Runner {
  std::shared_ptr<const Program> program;
  Ref function;
  explicit operator bool() const { return program || function; }
};

struct Step {
  Ref keep;                  // what the functions need
  Runner forward, backward;  // `backward` is empty where no gradients are wanted
  // The graphs as they were captured, for a program that fails the first time: they hold no writes, so that they may run after it.
  Runner plain_forward, plain_backward;
  size_t num_values = 0;                      // results of the graph that are not kept for backward: inputs as they are now, then values
  std::vector<int> mutated;                   // inputs that are written, in the order of the first values
  std::vector<int> kinds;                     // for each result: -1 for the next value, else the input that it is
  std::vector<bool> differentiable;           // for each of the values
  std::vector<bool> wanted;                   // for each input: whether a gradient is wanted
  std::vector<std::vector<int64_t>> strides;  // of the gradient of each differentiable value
};

struct StepObject {
  PyObject_HEAD Step* step;
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

Values values_of(PyObject* sequence) {
  const Ref items(PySequence_Fast(sequence, "torch.compile: expected a list of results"));
  if (!items) throw_python();
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
  Values values(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* const o = PySequence_Fast_GET_ITEM(items.get(), i);
    if (is_tensor_object(o)) values[static_cast<size_t>(i)] = tensor_of(o);
    else if (!api->to_value(o, values[static_cast<size_t>(i)])) throw_python();
  }
  return values;
}

Ref python_of(const dispatch::Value& value) {
  Ref o(api->to_python(value));
  if (!o) throw_python();
  return o;
}

Values run(const Runner& runner, Values&& inputs) {
  if (const std::shared_ptr<const Program> program = runner.program) {  // another thread may replace it meanwhile
    return python::without_interpreter([&] { return program->run(std::move(inputs)); });
  }
  const Ref args(PyTuple_New(static_cast<Py_ssize_t>(inputs.size())));
  if (!args) throw_python();
  for (size_t i = 0; i < inputs.size(); i++) PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), python_of(inputs[i]).release());
  inputs.clear();
  const Ref found(PyObject_CallOneArg(runner.function.get(), args.get()));
  if (!found) throw_python();
  return values_of(found.get());
}

// Runs a program; one that raises the first time is replaced by the graph as it was captured, whose error, if it raises one too, is the program's own.
Values attempt(Runner& runner, Runner& plain, Values&& inputs) {
  if (!plain) return run(runner, std::move(inputs));
  Runner other{plain.program, Ref::share(plain.function.get())};
  Values found;
  try {
    found = run(runner, Values(inputs));
  } catch (const std::exception&) {
    found = run(other, std::move(inputs));
    runner = std::move(other);
  }
  plain = Runner();
  return found;
}

struct PythonBackward final : graph::CompiledBackward {
  explicit PythonBackward(PyObject* owner) : owner_(Ref::share(owner)) {}
  ~PythonBackward() override {
    const python::Gil lock;
    owner_ = Ref();
  }

 private:
  Step& step() const { return *reinterpret_cast<StepObject*>(owner_.get())->step; }
  autograd::variable_list apply(autograd::variable_list&& grads) override {
    const python::Gil lock;
    return CompiledBackward::apply(std::move(grads));
  }
  Values backward(Values&& inputs) override { return attempt(step().backward, step().plain_backward, std::move(inputs)); }
  IntArrayRef strides(size_t i) const override { return step().strides[i]; }

  Ref owner_;
};

bool fail(const std::exception& e) {
  PyErr_SetString(PyExc_RuntimeError, e.what());
  return false;
}

// The results of a call: values of the graph and inputs, after the inputs have been written.
PyObject* results_of(const Step& step, PyObject* args, const Values& found) {
  for (size_t i = 0; i < step.mutated.size(); i++) {
    PyObject* const to = PyTuple_GET_ITEM(args, step.mutated[i]);
    if (!is_tensor_object(to) || !found[i].is_tensor()) continue;
    const Tensor& value = found[i].to_tensor();
    const AutoGradMode recorded(GradMode::is_enabled() && value.requires_grad());
    tensor_of(to).copy_(value);
  }
  Ref out(PyTuple_New(static_cast<Py_ssize_t>(step.kinds.size())));
  if (!out) return nullptr;
  size_t next = step.mutated.size();
  for (size_t i = 0; i < step.kinds.size(); i++) {
    PyObject* const value = step.kinds[i] < 0 ? python_of(found[next++]).release() : Py_NewRef(PyTuple_GET_ITEM(args, step.kinds[i]));
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), value);
  }
  return out.release();
}

// A result without a gradient that is one with it, as `detach` of it is, becomes a tensor of its own.
void set_apart(const Step& step, Values& found) {
  for (size_t i = 0; i < step.num_values; i++) {
    if (step.differentiable[i] || !found[i].is_tensor()) continue;
    for (size_t k = 0; k < step.num_values; k++) {
      if (!step.differentiable[k] || !found[k].is_tensor() || !found[k].to_tensor().is_same(found[i].to_tensor())) continue;
      found[i] = found[k].to_tensor().detach();
      break;
    }
  }
}

PyObject* call_step(PyObject* self, PyObject* args, PyObject*) {
  Step& step = *reinterpret_cast<StepObject*>(self)->step;
  try {
    Values found;
    {
      const AutoGradMode off(false);
      found = attempt(step.forward, step.plain_forward, values_of(args));
    }
    CRESSET_CHECK(found.size() >= step.num_values, "torch.compile: a compiled graph gives ", found.size(), " results, expected ", step.num_values);
    if (step.backward && GradMode::is_enabled()) {
      auto node = autograd::make_node<PythonBackward>(self);
      bool any = false;
      for (size_t i = 0; i < step.wanted.size(); i++) {
        PyObject* input = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
        const bool edge = step.wanted[i] && is_tensor_object(input) && tensor_of(input).requires_grad();
        any |= edge;
        node->add_next_edge(edge ? autograd::impl::gradient_edge(tensor_of(input)) : autograd::Edge{});
      }
      if (any) {
        for (size_t i = step.num_values; i < found.size(); i++) node->keep(std::move(found[i]));
        set_apart(step, found);
        for (size_t i = 0; i < step.num_values; i++)
          if (step.differentiable[i] && found[i].is_tensor()) autograd::set_history(found[i].to_tensor(), node);
      }
    }
    return results_of(step, args, found);
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

// Of a program's capsule, a function, or None.
Runner runner_of(PyObject* o) {
  Runner runner;
  if (PyCapsule_IsValid(o, kProgram)) runner.program = *static_cast<std::shared_ptr<const Program>*>(PyCapsule_GetPointer(o, kProgram));
  else if (o != Py_None) runner.function = Ref::share(o);
  return runner;
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
  step->forward = runner_of(forward);
  step->backward = runner_of(backward);
  step->plain_forward = runner_of(plain_forward);
  step->plain_backward = runner_of(plain_backward);
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
  const Step& step = *reinterpret_cast<StepObject*>(self)->step;
  Py_VISIT(step.keep.get());
  for (const Runner* runner : {&step.forward, &step.backward, &step.plain_forward, &step.plain_backward}) Py_VISIT(runner->function.get());
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
