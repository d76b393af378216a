// Data from outside: foreign memory and lists of numbers.

#include <type_traits>

#include "cresset/ops/from_data.h"
#include "python/bind/bind.h"

namespace cresset::python {

namespace {

// from_pointer(address, sizes, strides in elements, dtype, owner): memory of `owner`, which lives as long as the tensor.
PyObject* from_pointer(PyObject*, PyObject* args) {
  Py_ssize_t address;
  PyObject *sizes, *strides, *dtype, *owner;
  if (!PyArg_ParseTuple(args, "nOOOO", &address, &sizes, &strides, &dtype, &owner)) return nullptr;
  return guarded([&] {
    dispatch::Type ints;
    ints.kind = dispatch::TypeKind::Int;
    ints.list = true;
    dispatch::Value size_list, stride_list;
    CRESSET_CHECK_TYPE(read_value(sizes, ints, false, false, size_list) && read_value(strides, ints, false, false, stride_list),
                       "from_pointer: expected tuples of integers");
    PyObject* kept = Ref::share(owner).release();
    auto release = [kept](void*) {
      const PyGILState_STATE state = PyGILState_Ensure();
      Py_DECREF(kept);
      PyGILState_Release(state);
    };
    return wrap(from_blob(reinterpret_cast<void*>(address), size_list.to_int_list(), stride_list.to_int_list(), release, to_dtype(dtype)));
  });
}

// from_numbers(flat list, dtype): a 1-d tensor.
PyObject* from_numbers(PyObject*, PyObject* args) {
  PyObject *list, *dtype;
  if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &list, &dtype)) return nullptr;
  return guarded([&]() -> PyObject* {
    const ScalarType type = to_dtype(dtype);
    const Py_ssize_t n = PyList_GET_SIZE(list);
    Tensor t = empty({n}, type);
    for (Py_ssize_t i = 0; i < n; i++) {
      const Scalar s = to_scalar(PyList_GET_ITEM(list, i));
      CRESSET_CHECK_TYPE(!s.isComplex() || is_complex_type(type), "tensor: got a complex number for dtype ", type);
      switch (type) {
#define CRESSET_PUT(T, Name) \
  case ScalarType::Name: t.data_ptr<T>()[i] = s.isIntegral(false) && std::is_integral_v<T> ? s.to<T>() : s.as<T>(); break;
        CRESSET_FOR_EACH_DTYPE(CRESSET_PUT)
#undef CRESSET_PUT
        default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "tensor: no such dtype as ", type);
      }
    }
    return wrap(t);
  });
}

PyMethodDef functions[] = {
    {"from_pointer", from_pointer, METH_VARARGS, nullptr},
    {"from_numbers", from_numbers, METH_VARARGS, nullptr},
    {}};

}  // namespace

bool add_exchange(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
