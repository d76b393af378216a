// Fused optimizer steps: one pass over memory per parameter, its state read from and kept in the optimizer's dictionaries.

#include <vector>

#include "cresset/kernels/optim.h"
#include "cresset/optim/fused.h"
#include "python/bind/bind.h"

namespace cresset::python {

namespace {

using optim::detail::can_fuse;
using optim::detail::elements;
using optim::detail::pointer;

// Work above which other Python threads may run meanwhile.
constexpr int64_t kReleaseAbove = 32768;

struct Job {
  Tensor param, grad, first, second, third;
  int64_t step = 0;
  bool fresh = false;
};

// The tensor under `key`; undefined where there is none.
Tensor entry(PyObject* state, PyObject* key) {
  PyObject* value = PyDict_GetItemWithError(state, key);
  if (!value && PyErr_Occurred()) throw PythonError();
  return value && is_tensor(value) ? tensor_of(value) : Tensor();
}

bool is_counter(const Tensor& step) {
  return step.defined() && step.is_cpu() && step.scalar_type() == kFloat && step.numel() == 1;
}
int64_t advance(Tensor step) {
  if (step.lacks_data()) {
    step.add_(1);
    return 1;
  }
  float& count = *static_cast<float*>(step.data_ptr());
  count += 1;
  step.impl()->bump_version();
  return static_cast<int64_t>(count);
}

PyObject* key_of(const char* name) { return PyUnicode_InternFromString(name); }

// Collects a job for each parameter that has a gradient and that `prepare(state, job)` accepts, runs `update` on them, and returns the
// list of the other parameters with gradients. `state` is the optimizer's: per parameter, a dictionary.
template <class Prepare, class Update>
PyObject* run(PyObject* params, PyObject* state, Prepare&& prepare, Update&& update) {
  CRESSET_CHECK_TYPE(PyList_Check(params) && PyDict_Check(state), "optimizer step: expected a list of parameters and a dictionary of states");
  Ref rest = checked(PyList_New(0));
  std::vector<Job> jobs;
  jobs.reserve(static_cast<size_t>(PyList_GET_SIZE(params)));
  int64_t work = 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(params); i++) {
    PyObject* object = PyList_GET_ITEM(params, i);
    CRESSET_CHECK_TYPE(is_tensor(object), "optimizer step: expected a tensor, got ", Py_TYPE(object)->tp_name);
    const Tensor& p = tensor_of(object);
    if (!p.grad().defined()) continue;
    Job job{p, p.grad(), {}, {}, {}};
    if (prepare(object, job)) {
      work += p.numel();
      jobs.push_back(std::move(job));
    } else if (PyList_Append(rest.get(), object) < 0) {
      throw PythonError();
    }
  }
  PyThreadState* thread = work > kReleaseAbove ? PyEval_SaveThread() : nullptr;
  for (Job& job : jobs) {
    update(job);
    job.param.impl()->bump_version();
  }
  if (thread) PyEval_RestoreThread(thread);
  return rest.release();
}

// What is kept for a parameter; null where there is nothing yet.
PyObject* state_of(PyObject* states, PyObject* param) {
  PyObject* found = PyDict_GetItemWithError(states, param);
  if (!found && PyErr_Occurred()) throw PythonError();
  return found && PyDict_Check(found) ? found : nullptr;
}

PyObject* fused_adam(PyObject*, PyObject* args) {
  PyObject *params, *states;
  kernels::AdamStep o{};
  int decoupled, amsgrad, maximize;
  if (!PyArg_ParseTuple(args, "OOdddddppp", &params, &states, &o.lr, &o.beta1, &o.beta2, &o.eps, &o.weight_decay, &decoupled, &amsgrad, &maximize))
    return nullptr;
  static PyObject *const step_key = key_of("step"), *const first_key = key_of("exp_avg"), *const second_key = key_of("exp_avg_sq"),
                         *const third_key = key_of("max_exp_avg_sq");
  o.decoupled = decoupled != 0;
  o.maximize = maximize != 0;
  return guarded([&] {
    return run(
        params, states,
        [&](PyObject* param, Job& job) {
          PyObject* state = state_of(states, param);
          if (!state) return false;
          const Tensor step = entry(state, step_key);
          job.first = entry(state, first_key);
          job.second = entry(state, second_key);
          if (amsgrad) job.third = entry(state, third_key);
          if (!is_counter(step) || !job.first.defined() || !job.second.defined() || (amsgrad && !job.third.defined())) return false;
          if (!can_fuse(job.param, {&job.grad, &job.first, &job.second, &job.third})) return false;
          job.step = advance(step);
          return true;
        },
        [&](Job& job) {
          kernels::AdamStep options = o;
          options.step = job.step;
          kernels::adam_step(job.param.scalar_type(), elements(job.param), job.param.data_ptr(), job.grad.data_ptr(), job.first.data_ptr(),
                             job.second.data_ptr(), pointer(job.third), options);
        });
  });
}

PyObject* fused_sgd(PyObject*, PyObject* args) {
  PyObject *params, *states;
  kernels::SgdStep o{};
  int nesterov, maximize;
  if (!PyArg_ParseTuple(args, "OOddddpp", &params, &states, &o.lr, &o.momentum, &o.dampening, &o.weight_decay, &nesterov, &maximize)) return nullptr;
  static PyObject* const buffer_key = key_of("momentum_buffer");
  o.nesterov = nesterov != 0;
  o.maximize = maximize != 0;
  return guarded([&] {
    return run(
        params, states,
        [&](PyObject* param, Job& job) {
          if (!can_fuse(job.param, {&job.grad})) return false;
          if (o.momentum == 0) return true;
          const Ref state = checked(PyObject_GetItem(states, param));  // made by the default dictionary at first
          if (!PyDict_Check(state.get())) return false;
          job.first = entry(state.get(), buffer_key);
          job.fresh = !job.first.defined();
          if (!job.fresh) return can_fuse(job.param, {&job.first});
          NoGradGuard guard;
          job.first = cresset::empty_like(job.param, MemoryFormat::Preserve);
          const Ref buffer = checked(wrap(job.first));
          if (PyDict_SetItem(state.get(), buffer_key, buffer.get()) < 0) throw PythonError();
          return true;
        },
        [&](Job& job) {
          kernels::SgdStep options = o;
          options.first = job.fresh;
          kernels::sgd_step(job.param.scalar_type(), elements(job.param), job.param.data_ptr(), job.grad.data_ptr(), pointer(job.first), options);
        });
  });
}

PyObject* fused_rmsprop(PyObject*, PyObject* args) {
  PyObject *params, *states;
  kernels::RmspropStep o{};
  int centered;
  if (!PyArg_ParseTuple(args, "OOdddddp", &params, &states, &o.lr, &o.alpha, &o.eps, &o.weight_decay, &o.momentum, &centered)) return nullptr;
  static PyObject *const step_key = key_of("step"), *const square_key = key_of("square_avg"), *const buffer_key = key_of("momentum_buffer"),
                         *const mean_key = key_of("grad_avg");
  return guarded([&] {
    return run(
        params, states,
        [&](PyObject* param, Job& job) {
          PyObject* state = state_of(states, param);
          if (!state) return false;
          const Tensor step = entry(state, step_key);
          job.first = entry(state, square_key);
          if (o.momentum > 0) job.second = entry(state, buffer_key);
          if (centered) job.third = entry(state, mean_key);
          if (!is_counter(step) || !job.first.defined() || (o.momentum > 0 && !job.second.defined()) || (centered && !job.third.defined())) return false;
          if (!can_fuse(job.param, {&job.grad, &job.first, &job.second, &job.third})) return false;
          advance(step);
          return true;
        },
        [&](Job& job) {
          kernels::rmsprop_step(job.param.scalar_type(), elements(job.param), job.param.data_ptr(), job.grad.data_ptr(), job.first.data_ptr(),
                                pointer(job.second), pointer(job.third), o);
        });
  });
}

PyObject* fused_adagrad(PyObject*, PyObject* args) {
  PyObject *params, *states;
  kernels::AdagradStep o{};
  double lr, lr_decay;
  if (!PyArg_ParseTuple(args, "OOdddd", &params, &states, &lr, &lr_decay, &o.eps, &o.weight_decay)) return nullptr;
  static PyObject *const step_key = key_of("step"), *const sum_key = key_of("sum");
  return guarded([&] {
    return run(
        params, states,
        [&](PyObject* param, Job& job) {
          PyObject* state = state_of(states, param);
          if (!state) return false;
          const Tensor step = entry(state, step_key);
          job.first = entry(state, sum_key);
          if (!is_counter(step) || !job.first.defined() || !can_fuse(job.param, {&job.grad, &job.first})) return false;
          job.step = advance(step);
          return true;
        },
        [&](Job& job) {
          kernels::AdagradStep options = o;
          options.rate = lr / (1 + static_cast<double>(job.step - 1) * lr_decay);
          kernels::adagrad_step(job.param.scalar_type(), elements(job.param), job.param.data_ptr(), job.grad.data_ptr(), job.first.data_ptr(), options);
        });
  });
}

PyMethodDef functions[] = {{"fused_adam", fused_adam, METH_VARARGS, nullptr},
                           {"fused_sgd", fused_sgd, METH_VARARGS, nullptr},
                           {"fused_rmsprop", fused_rmsprop, METH_VARARGS, nullptr},
                           {"fused_adagrad", fused_adagrad, METH_VARARGS, nullptr},
                           {}};

}  // namespace

bool add_optim(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
