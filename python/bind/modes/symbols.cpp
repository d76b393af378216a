#include "python/bind/modes/symbols.h"

#include "cresset/core/batched.h"
#include "cresset/core/functional.h"

namespace cresset::python {

PyTypeObject *sym_int_type, *sym_float_type, *sym_bool_type;

namespace {

constexpr int64_t kLeastSymbol = 200;  // what is smaller stands for itself

PyObject *number_of, *specialized, *lift, *item, *guard_error, *restart_error;
thread_local bool t_read = false, t_as_numbers = false;
thread_local KeptTruth* t_kept = nullptr;

void name_types(PyObject* const* types) {
  PyTypeObject** named[] = {&sym_int_type, &sym_float_type, &sym_bool_type};
  for (int i = 0; i < 3; i++)
    if (!*named[i]) *named[i] = reinterpret_cast<PyTypeObject*>(Ref::share(types[i]).release());
}
// _name_symbols(SymInt, SymFloat, SymBool): these are sizes from now on; there need be no symbolic shapes, since nested integers are symbols too.
PyObject* name_symbols(PyObject*, PyObject* args) {
  PyObject* types[3];
  if (!PyArg_ParseTuple(args, "O!O!O!", &PyType_Type, &types[0], &PyType_Type, &types[1], &PyType_Type, &types[2])) return nullptr;
  name_types(types);
  Py_RETURN_NONE;
}
// _set_symbols(SymInt, SymFloat, SymBool, number, specialize, lift, item, GuardOnDataDependentSymNode, RestartTrace)
PyObject* set_symbols(PyObject*, PyObject* args) {
  PyObject *types[3], *functions[6];
  if (!PyArg_ParseTuple(args, "O!O!O!OOOOOO", &PyType_Type, &types[0], &PyType_Type, &types[1], &PyType_Type, &types[2], &functions[0], &functions[1],
                        &functions[2], &functions[3], &functions[4], &functions[5]))
    return nullptr;
  PyObject** kept[] = {&number_of, &specialized, &lift, &item, &guard_error, &restart_error};
  name_types(types);
  for (int i = 0; i < 6; i++) *kept[i] = Ref::share(functions[i]).release();
  Py_RETURN_NONE;
}
// _geometry(tensor): storage offset, sizes and strides as they are stored, numbers that may stand for symbols.
PyObject* geometry(PyObject*, PyObject* tensor) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(is_tensor(tensor), "_geometry: expected a tensor, got ", Py_TYPE(tensor)->tp_name);
    const Tensor& t = tensor_of(tensor);
    return Py_BuildValue("(LNN)", static_cast<long long>(t.storage_offset()), wrap(t.sizes()), wrap(t.strides()));
  });
}
PyMethodDef functions[] = {
    {"_geometry", geometry, METH_O, nullptr}, {"_name_symbols", name_symbols, METH_VARARGS, nullptr}, {"_set_symbols", set_symbols, METH_VARARGS, nullptr}, {}};

}  // namespace

Ref symbol_number(PyObject* symbol) {
  t_read = true;
  if (!number_of) return checked(PyNumber_Index(symbol));  // a nested integer, which says that it is no number
  return checked(PyObject_CallOneArg(t_as_numbers ? specialized : number_of, symbol));
}
bool symbols_read() { return std::exchange(t_read, false); }
SymbolsAsNumbers::SymbolsAsNumbers() : before_(std::exchange(t_as_numbers, true)) {}
SymbolsAsNumbers::~SymbolsAsNumbers() { t_as_numbers = before_; }

KeptTruth::KeptTruth() : before_(std::exchange(t_kept, this)) {}
KeptTruth::~KeptTruth() { t_kept = before_; }
bool KeptTruth::keep(PyObject* symbol) {
  if (!t_kept || Py_TYPE(symbol) != sym_bool_type) return false;
  t_kept->symbol = Ref::share(symbol);
  return true;
}

SymbolicShapes* shapes_of(const Tensor& t) {
  if (const BatchedImpl* const batched = as_batched(t)) return shapes_of(batched->value());
  if (FunctionalImpl* const wrapper = as_functional(t)) return shapes_of(wrapper->value());
  return t.defined() && has_symbols(t) ? mode_of_fake(*t.impl())->shapes() : nullptr;
}

PyObject* wrap_symbol(const Tensor& t, int64_t value) {
  Ref number = checked(PyLong_FromLongLong(value));
  if (!lift || (value < kLeastSymbol && value > -kLeastSymbol)) return number.release();
  const Ref env = checked(PyLong_FromVoidPtr(shapes_of(t)));
  return checked(PyObject_CallFunctionObjArgs(lift, env.get(), number.get(), nullptr)).release();
}

PyObject* wrap_symbol(const Tensor& t, const Scalar& value) {
  if (value.isIntegral(false)) return wrap_symbol(t, value.toLong());
  const Ref number = checked(wrap(value));
  if (!lift || !value.isFloatingPoint()) return Ref::share(number.get()).release();
  const Ref env = checked(PyLong_FromVoidPtr(shapes_of(t)));
  return checked(PyObject_CallFunctionObjArgs(lift, env.get(), number.get(), nullptr)).release();
}

PyObject* wrap_symbols(const Tensor& t, IntArrayRef values, bool size) {
  PyTypeObject* type = size ? size_type : &PyTuple_Type;
  Ref tuple = checked(size ? type->tp_alloc(type, static_cast<Py_ssize_t>(values.size())) : PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_symbol(t, values[i]));
  return tuple.release();
}

PyObject* symbol_item(const Tensor& t) {
  const Ref env = checked(PyLong_FromVoidPtr(shapes_of(t)));
  return checked(PyObject_CallFunctionObjArgs(item, env.get(), constant(t.scalar_type()), nullptr)).release();
}

bool set_symbol_error(const std::exception& error) {
  const bool restart = dynamic_cast<const RestartTraceError*>(&error) != nullptr;
  if (!guard_error || !(restart || dynamic_cast<const DataDependentGuardError*>(&error))) return false;
  PyErr_SetString(restart ? restart_error : guard_error, error.what());
  return true;
}

bool add_symbols(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
