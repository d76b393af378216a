// Transforms of Python functions of tensors: derivatives, their comparison with finite differences, and recomputation. Trees of tensors are
// the package's matter; here functions take tensors and return sequences of them.

#include "cresset/core/fake_mode.h"
#include "cresset/ops/linalg/subscripts.h"
#include "cresset/transform/control_flow.h"
#include "cresset/transform/func_aux.h"
#include "cresset/transform/functional.h"
#include "cresset/transform/gradcheck.h"
#include "cresset/transform/recorder.h"
#include "python/bind/autograd.h"

namespace cresset::python {

namespace {

using func::Tensors;
using utils::CheckpointRecorder;

// A function of tensors, undefined ones being None.
std::function<Tensors(const Tensors&)> function_of(PyObject* f) {
  return [kept = shared(f)](const Tensors& arguments) {
    return with_gil([&] {
      const Ref given = tuple_of(arguments), result = checked(PyObject_CallObject(kept.get(), given.get()));
      return tensor_list(result.get(), true);
    });
  };
}

// A function that returns (results, aux).
func::AuxFunction aux_function_of(PyObject* f) {
  return [kept = shared(f)](const Tensors& arguments) {
    return with_gil([&] {
      const Ref given = tuple_of(arguments), result = checked(PyObject_CallObject(kept.get(), given.get()));
      CRESSET_CHECK_TYPE(PyTuple_Check(result.get()) && PyTuple_GET_SIZE(result.get()) == 2, "expected a pair of results and aux");
      return func::Results{tensor_list(PyTuple_GET_ITEM(result.get(), 0)), tensor_list(PyTuple_GET_ITEM(result.get(), 1))};
    });
  };
}

// Runs `body` without the interpreter's lock, which functions that it calls take.
template <class F> auto released(F&& body) {
  const NoGil others_may_run;
  return body();
}

Ref tuple_of_lists(const std::vector<Tensors>& lists) {
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(lists.size())));
  for (size_t i = 0; i < lists.size(); i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), tuple_of(lists[i]).release());
  return tuple;
}

PyObject* packed(std::initializer_list<const Tensors*> lists) {
  std::vector<Tensors> copies;
  for (const Tensors* list : lists) copies.push_back(*list);
  return tuple_of_lists(copies).release();
}

// ---- functions that transforms return

using Pull = decltype(func::Pullback::pull);

// (vectors, retain_graph=True, create_graph=None)
PyObject* call_pull(PyObject* self, PyObject* args, PyObject* names) {
  static const char* const keywords[] = {"", "retain_graph", "create_graph", nullptr};
  PyObject *vectors, *create = Py_None;
  int retain = 1;
  if (!PyArg_ParseTupleAndKeywords(args, names, "O|pO", const_cast<char**>(keywords), &vectors, &retain, &create)) return nullptr;
  return guarded([&] {
    const auto* pull = static_cast<const Pull*>(PyCapsule_GetPointer(self, nullptr));
    const Tensors given = tensor_list(vectors);
    const std::optional<bool> create_graph = create == Py_None ? std::nullopt : std::optional<bool>(PyObject_IsTrue(create) == 1);
    return tuple_of(released([&] { return (*pull)(given, retain != 0, create_graph); })).release();
  });
}
PyMethodDef pull_method = {"pull", reinterpret_cast<PyCFunction>(call_pull), METH_VARARGS | METH_KEYWORDS, nullptr};

Ref wrap_pull(Pull pull) {
  auto* kept = new Pull(std::move(pull));
  const Ref capsule(PyCapsule_New(kept, nullptr, [](PyObject* o) { delete static_cast<Pull*>(PyCapsule_GetPointer(o, nullptr)); }));
  if (!capsule) {
    delete kept;
    throw PythonError();
  }
  return checked(PyCFunction_New(&pull_method, capsule.get()));
}

// ---- torch.func: `f` returns (results, aux)

// func_vjp(f, primals): results, aux, and the function of vectors
PyObject* func_vjp(PyObject*, PyObject* args) {
  PyObject *f, *primals;
  if (!PyArg_ParseTuple(args, "OO", &f, &primals)) return nullptr;
  return guarded([&] {
    const Tensors at = tensor_list(primals);
    func::Pullback found = released([&] { return func::vjp(aux_function_of(f), at); });
    const Ref values = tuple_of(found.results.values), aux = tuple_of(found.results.aux), pull = wrap_pull(std::move(found.pull));
    return PyTuple_Pack(3, values.get(), aux.get(), pull.get());
  });
}

// func_linearize(f, primals): results, and the function of tangents; `f` returns results alone
PyObject* func_linearize(PyObject*, PyObject* args) {
  PyObject *f, *primals;
  if (!PyArg_ParseTuple(args, "OO", &f, &primals)) return nullptr;
  return guarded([&] {
    const Tensors at = tensor_list(primals);
    func::ValueAndDerivative found = released([&] { return func::linearize(function_of(f), at); });
    const Ref values = tuple_of(found.value);
    const Ref along =
        wrap_pull([derivative = std::move(found.derivative)](const Tensors& tangents, bool, std::optional<bool>) { return derivative(tangents); });
    return PyTuple_Pack(2, values.get(), along.get());
  });
}

// func_grad_and_value(f, primals): gradient, results, aux
PyObject* func_grad_and_value(PyObject*, PyObject* args) {
  PyObject *f, *primals;
  if (!PyArg_ParseTuple(args, "OO", &f, &primals)) return nullptr;
  return guarded([&] {
    const Tensors at = tensor_list(primals);
    const func::Gradient found = released([&] { return func::grad_and_value(aux_function_of(f), at); });
    return packed({&found.gradient, &found.results.values, &found.results.aux});
  });
}

// func_jvp(f, primals, tangents, strict): results, tangents, aux
PyObject* func_jvp(PyObject*, PyObject* args) {
  PyObject *f, *primals, *tangents;
  int strict;
  if (!PyArg_ParseTuple(args, "OOOp", &f, &primals, &tangents, &strict)) return nullptr;
  return guarded([&] {
    const Tensors at = tensor_list(primals), along = tensor_list(tangents);
    const func::Tangents found = released([&] { return func::jvp(aux_function_of(f), at, along, strict != 0); });
    return packed({&found.results.values, &found.tangent, &found.results.aux});
  });
}

func::Randomness randomness_of(const char* name) {
  return *name == 'e' ? func::Randomness::Error : *name == 'd' ? func::Randomness::Different : func::Randomness::Same;
}

// func_jacobian(f, primals, forward, chunk size or 0, preallocate, randomness): blocks by result and primal, aux
PyObject* func_jacobian(PyObject*, PyObject* args) {
  PyObject *f, *primals;
  int forward, preallocate;
  long long chunk_size;
  const char* randomness;
  if (!PyArg_ParseTuple(args, "OOpLps", &f, &primals, &forward, &chunk_size, &preallocate, &randomness)) return nullptr;
  return guarded([&] {
    func::JacobianOptions options;
    options.chunk_size = chunk_size;
    options.preallocate = preallocate != 0;
    options.randomness = randomness_of(randomness);
    const Tensors at = tensor_list(primals);
    const func::Jacobians found =
        released([&] { return forward ? func::jacfwd(aux_function_of(f), at, options) : func::jacrev(aux_function_of(f), at, options); });
    const Ref blocks = tuple_of_lists(found.blocks), aux = tuple_of(found.aux);
    return PyTuple_Pack(2, blocks.get(), aux.get());
  });
}

std::vector<std::optional<int64_t>> dims_of(PyObject* list) {
  std::vector<std::optional<int64_t>> dims;
  const Ref fast = checked(PySequence_Fast(list, "expected a sequence of dimensions"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) {
    PyObject* o = PySequence_Fast_GET_ITEM(fast.get(), i);
    const long long dim = o == Py_None ? 0 : PyLong_AsLongLong(o);
    if (dim == -1 && PyErr_Occurred()) throw PythonError();
    dims.push_back(o == Py_None ? std::nullopt : std::optional<int64_t>(dim));
  }
  return dims;
}
// vmap(f, arguments or None, in_dims, chunk size or 0, randomness): results; `f` returns (results, out_dims)
PyObject* vmap(PyObject*, PyObject* args) {
  PyObject *f, *arguments, *in_dims;
  long long chunk_size;
  const char* randomness;
  if (!PyArg_ParseTuple(args, "OOOLs", &f, &arguments, &in_dims, &chunk_size, &randomness)) return nullptr;
  return guarded([&] {
    func::VmapOptions options;
    options.in_dims = dims_of(in_dims);
    options.chunk_size = chunk_size;
    options.randomness = randomness_of(randomness);
    const auto mapped = [kept = shared(f)](const Tensors& elements) {
      return with_gil([&] {
        const Ref given = tuple_of(elements), result = checked(PyObject_CallObject(kept.get(), given.get()));
        CRESSET_CHECK_TYPE(PyTuple_Check(result.get()) && PyTuple_GET_SIZE(result.get()) == 2, "expected a pair of results and dimensions");
        return func::Mapped{tensor_list(PyTuple_GET_ITEM(result.get(), 0)), dims_of(PyTuple_GET_ITEM(result.get(), 1))};
      });
    };
    const Tensors at = tensor_list(arguments, true);
    return tuple_of(released([&] { return func::map_over_batch(mapped, at, options); })).release();
  });
}

// ---- control flow

PyObject* control_flow_error;

// set_control_flow_error(class)
PyObject* set_control_flow_class(PyObject*, PyObject* error) {
  control_flow_error = Ref::share(error).release();
  Py_RETURN_NONE;
}

// A function whose errors for want of data are those of C++.
std::function<Tensors(const Tensors&)> branch_of(PyObject* f) {
  return [kept = shared(f)](const Tensors& arguments) {
    return with_gil([&] {
      const Ref given = tuple_of(arguments), result(PyObject_CallObject(kept.get(), given.get()));
      if (!result && has_fake_data_error()) {
        PyErr_Clear();
        throw UnsupportedFakeTensorError("cond", "a branch asks for a value of a tensor that has none");
      }
      if (!result) throw PythonError();
      return tensor_list(result.get(), true);
    });
  };
}

// control_cond(predicate or None, true function, false function, operands): results
PyObject* control_cond(PyObject*, PyObject* args) {
  PyObject *predicate, *true_fn, *false_fn, *operands;
  if (!PyArg_ParseTuple(args, "OOOO", &predicate, &true_fn, &false_fn, &operands)) return nullptr;
  return guarded([&] {
    const Tensor p = predicate == Py_None ? Tensor() : tensor_argument(predicate);
    const Tensors at = tensor_list(operands);
    return tuple_of(released([&] { return func::cond(p, branch_of(true_fn), branch_of(false_fn), at); })).release();
  });
}
// control_while_loop(condition, body, carried): the carried tensors
PyObject* control_while_loop(PyObject*, PyObject* args) {
  PyObject *condition, *body, *carried;
  if (!PyArg_ParseTuple(args, "OOO", &condition, &body, &carried)) return nullptr;
  return guarded([&] {
    const Tensors at = tensor_list(carried);
    return tuple_of(released([&] { return func::while_loop(function_of(condition), function_of(body), at); })).release();
  });
}
// control_map(f, xs, others): results
PyObject* control_map(PyObject*, PyObject* args) {
  PyObject *f, *xs, *others;
  if (!PyArg_ParseTuple(args, "OOO", &f, &xs, &others)) return nullptr;
  return guarded([&] {
    const Tensors over = tensor_list(xs), with = tensor_list(others);
    return tuple_of(released([&] { return func::map(function_of(f), over, with); })).release();
  });
}
// control_scan(combine, init, xs, dim, reverse): carry, outputs
PyObject* control_scan(PyObject*, PyObject* args) {
  PyObject *combine, *init, *xs;
  long long dim;
  int reverse;
  if (!PyArg_ParseTuple(args, "OOOLp", &combine, &init, &xs, &dim, &reverse)) return nullptr;
  return guarded([&] {
    const Tensors first = tensor_list(init), over = tensor_list(xs);
    const func::ScanResult found = released([&] { return func::scan(function_of(combine), first, over, dim, reverse != 0); });
    return packed({&found.carry, &found.outputs});
  });
}
// control_associative_scan(combine, xs, dim, reverse): results
PyObject* control_associative_scan(PyObject*, PyObject* args) {
  PyObject *combine, *xs;
  long long dim;
  int reverse;
  if (!PyArg_ParseTuple(args, "OOLp", &combine, &xs, &dim, &reverse)) return nullptr;
  return guarded([&] {
    const Tensors over = tensor_list(xs);
    return tuple_of(released([&] { return func::associative_scan(function_of(combine), over, dim, reverse != 0); })).release();
  });
}

// ---- torch.autograd.functional

// functional_product(name, f, inputs, v or None, create_graph, strict): outputs, products
PyObject* functional_product(PyObject*, PyObject* args) {
  namespace functional = autograd::functional;
  const char* name;
  PyObject *f, *inputs, *v;
  int create, strict;
  if (!PyArg_ParseTuple(args, "sOOOpp", &name, &f, &inputs, &v, &create, &strict)) return nullptr;
  return guarded([&] {
    const std::string which = name;
    const auto product = which == "vjp" ? functional::vjp : which == "jvp" ? functional::jvp : which == "vhp" ? functional::vhp : functional::hvp;
    const Tensors at = tensor_list(inputs);
    const std::optional<Tensors> along = v == Py_None ? std::nullopt : std::optional<Tensors>(tensor_list(v));
    const functional::OutputsAndProducts found = released([&] { return product(function_of(f), at, along, {create != 0, strict != 0}); });
    return packed({&found.outputs, &found.products});
  });
}

// functional_jacobian(of the gradient, f, inputs, create_graph, strict, vectorize, forward): blocks by output and input
PyObject* functional_jacobian(PyObject*, PyObject* args) {
  PyObject *f, *inputs;
  int second, create, strict, vectorize, forward;
  if (!PyArg_ParseTuple(args, "pOOpppp", &second, &f, &inputs, &create, &strict, &vectorize, &forward)) return nullptr;
  return guarded([&] {
    const auto derivative = second ? autograd::functional::hessian : autograd::functional::jacobian;
    const Tensors at = tensor_list(inputs);
    return tuple_of_lists(released([&] { return derivative(function_of(f), at, {create != 0, strict != 0}, vectorize != 0, forward != 0); })).release();
  });
}

// ---- finite differences

// gradcheck(f, inputs, gradients of outputs or None, whether of the gradients, eps, atol, rtol, nondet_tol, then GradcheckOptions' switches): None, or
// a description of the gradient that is wrong
PyObject* gradcheck(PyObject*, PyObject* args) {
  PyObject *f, *inputs, *grads;
  autograd::GradcheckOptions o;
  int second, backward, forward, undefined, dtypes, batched, batched_forward, fast, gaps;
  if (!PyArg_ParseTuple(args, "OOOpddddpppppppp", &f, &inputs, &grads, &second, &o.eps, &o.atol, &o.rtol, &o.nondeterministic_tol, &backward, &forward,
                        &undefined, &dtypes, &batched, &batched_forward, &fast, &gaps))
    return nullptr;
  return guarded([&]() -> PyObject* {
    o.check_backward_ad = backward != 0;
    o.check_forward_ad = forward != 0;
    o.check_undefined_grad = undefined != 0;
    o.check_grad_dtypes = dtypes != 0;
    o.check_batched_grad = batched != 0;
    o.check_batched_forward_grad = batched_forward != 0;
    o.fast_mode = fast != 0;
    o.gen_non_contig_grad_outputs = gaps != 0;
    const Tensors at = tensor_list(inputs, true), given = grads == Py_None ? Tensors() : tensor_list(grads);
    try {
      released([&] { return second ? autograd::gradgradcheck(function_of(f), at, given, o) : autograd::gradcheck(function_of(f), at, o); });
    } catch (const autograd::GradcheckError& error) {
      PyErr_Clear();  // of an exception that the check took for a problem
      return PyUnicode_FromString(error.what());
    }
    Py_RETURN_NONE;
  });
}

// numerical_jacobian(f, input, eps): for each result of f() a matrix (its real components, those of the input)
PyObject* numerical_jacobian(PyObject*, PyObject* args) {
  PyObject *f, *input;
  double eps;
  if (!PyArg_ParseTuple(args, "OOd", &f, &input, &eps)) return nullptr;
  return guarded([&] {
    const Tensor x = tensor_argument(input);
    const auto run = [call = function_of(f)] { return call({}); };
    return tuple_of(released([&] { return autograd::numerical_jacobian(run, x, eps); })).release();
  });
}

// ---- checkpoints

PyObject *done_error, *checkpoint_error;

// Runs a function of tensors whose result it keeps itself.
struct Call {
  Shared function;
  Tensors operator()(const Tensors& inputs) const {
    const Gil gil;
    const Ref given = Ref(PyTuple_New(static_cast<Py_ssize_t>(inputs.size())));
    if (!given) throw PythonException();
    for (size_t i = 0; i < inputs.size(); i++) PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i), wrap(inputs[i]));
    if (const Ref result{PyObject_CallObject(function.get(), given.get())}) return {};
    if (!PyErr_ExceptionMatches(done_error)) throw PythonException();
    PyErr_Clear();
    throw CheckpointRecorder::Done();
  }
};

// checkpoint(function, inputs, preserve_rng_state, check, early_stop, debug): calls the function, and again in backward
PyObject* checkpoint(PyObject*, PyObject* args) {
  PyObject *function, *inputs;
  int random, check, early_stop, debug;
  if (!PyArg_ParseTuple(args, "OOpppp", &function, &inputs, &random, &check, &early_stop, &debug)) return nullptr;
  return guarded([&]() -> PyObject* {
    utils::CheckpointOptions options;
    options.preserve_rng_state = random != 0;
    options.determinism_check = check ? "default" : "none";
    options.early_stop = early_stop != 0;
    options.debug = debug != 0;
    utils::checkpoint(Call{shared(function)}, tensor_list(inputs), options);
    Py_RETURN_NONE;
  });
}

// set_exec_group(bool): whether a group of backward passes is open
PyObject* set_exec_group(PyObject*, PyObject* open) {
  return guarded([&]() -> PyObject* {
    static std::unique_ptr<utils::GraphExecGroup> group;
    if (open == Py_True) group = std::make_unique<utils::GraphExecGroup>();
    else group.reset();
    Py_RETURN_NONE;
  });
}

// (subscripts of each operand, and of the result where they are given; number of operands): numbers, and Ellipsis.
PyObject* equation_of_subscripts(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* lists;
    Py_ssize_t operands;
    if (!PyArg_ParseTuple(args, "O!n", &PyTuple_Type, &lists, &operands)) throw PythonError();
    std::vector<std::vector<int64_t>> subscripts;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(lists); i++) {
      const Ref list = checked(PySequence_Fast(PyTuple_GET_ITEM(lists, i), "einsum: expected a list of subscripts after each tensor"));
      std::vector<int64_t>& numbers = subscripts.emplace_back();
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(list.get()); k++) {
        PyObject* const number = PySequence_Fast_GET_ITEM(list.get(), k);
        const long long value = number == Py_Ellipsis ? ops::kSubscriptDots : PyLong_AsLongLong(number);
        if (value == -1 && PyErr_Occurred()) throw PythonError();
        numbers.push_back(value);
      }
    }
    const std::string equation = ops::einsum_equation(subscripts, static_cast<size_t>(operands));
    return PyUnicode_FromStringAndSize(equation.data(), static_cast<Py_ssize_t>(equation.size()));
  });
}

PyMethodDef functions[] = {{"einsum_equation", equation_of_subscripts, METH_VARARGS, nullptr},
                           {"checkpoint", checkpoint, METH_VARARGS, nullptr},
                           {"set_exec_group", set_exec_group, METH_O, nullptr},
                           {"func_vjp", func_vjp, METH_VARARGS, nullptr},
                           {"func_linearize", func_linearize, METH_VARARGS, nullptr},
                           {"func_grad_and_value", func_grad_and_value, METH_VARARGS, nullptr},
                           {"func_jvp", func_jvp, METH_VARARGS, nullptr},
                           {"func_jacobian", func_jacobian, METH_VARARGS, nullptr},
                           {"vmap", vmap, METH_VARARGS, nullptr},
                           {"set_control_flow_error", set_control_flow_class, METH_O, nullptr},
                           {"control_cond", control_cond, METH_VARARGS, nullptr},
                           {"control_while_loop", control_while_loop, METH_VARARGS, nullptr},
                           {"control_map", control_map, METH_VARARGS, nullptr},
                           {"control_scan", control_scan, METH_VARARGS, nullptr},
                           {"control_associative_scan", control_associative_scan, METH_VARARGS, nullptr},
                           {"functional_product", functional_product, METH_VARARGS, nullptr},
                           {"functional_jacobian", functional_jacobian, METH_VARARGS, nullptr},
                           {"gradcheck", gradcheck, METH_VARARGS, nullptr},
                           {"numerical_jacobian", numerical_jacobian, METH_VARARGS, nullptr},
                           {}};

}  // namespace

bool set_checkpoint_error(const std::exception& error) {
  if (dynamic_cast<const CheckpointRecorder::Done*>(&error)) PyErr_SetString(done_error, error.what());
  else if (dynamic_cast<const utils::CheckpointError*>(&error)) PyErr_SetString(checkpoint_error, error.what());
  else return false;
  return true;
}

bool set_control_flow_error(const std::exception& error) {
  if (!control_flow_error || !dynamic_cast<const func::ControlFlowError*>(&error)) return false;
  PyErr_SetString(control_flow_error, error.what());
  return true;
}

static bool add_errors(PyObject* module) {
  done_error = PyErr_NewException("_cresset.CheckpointDone", nullptr, nullptr);
  checkpoint_error = PyErr_NewExceptionWithDoc("torch.utils.checkpoint.CheckpointError", "The recomputation did not save what the forward pass saved.",
                                               PyExc_RuntimeError, nullptr);
  return done_error && checkpoint_error && PyModule_AddObjectRef(module, "_CheckpointError", checkpoint_error) == 0;
}

bool add_functions(PyObject* module) { return add_errors(module) && PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
