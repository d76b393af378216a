// Formulas of learning rate schedules.

#include "cresset/optim/rates.h"

#include "python/bind/bind.h"

namespace cresset::python {

namespace {

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

PyMethodDef functions[] = {{"learning_rate", learning_rate<rates::rate>, METH_VARARGS, nullptr},
                           {"closed_learning_rate", learning_rate<rates::closed_rate>, METH_VARARGS, nullptr},
                           {"warm_restart", warm_restart, METH_VARARGS, nullptr},
                           {"next_restart", next_restart, METH_VARARGS, nullptr},
                           {"one_cycle_phase", one_cycle_phase, METH_VARARGS, nullptr},
                           {}};

}  // namespace

bool add_rates(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
