// Subscripts of tensors, read and written.

#include "python/bind/override.h"

namespace cresset::python {

namespace {

indexing::TensorIndex one_index(PyObject* o) {
  if (o == Py_None) return std::nullopt;
  if (o == Py_Ellipsis) return indexing::Ellipsis;
  if (PyBool_Check(o)) return o == Py_True;
  if (is_tensor(o)) return tensor_of(o);
  if (PySlice_Check(o)) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    auto bound = [](PyObject* b) -> std::optional<int64_t> {
      if (b == Py_None) return std::nullopt;
      if (is_tensor(b)) return tensor_of(b).item().toLong();
      const Ref index = checked(PyNumber_Index(b));
      const long long v = PyLong_AsLongLong(index.get());
      if (v == -1 && PyErr_Occurred()) throw PythonError();
      return static_cast<int64_t>(v);
    };
    const std::optional<int64_t> step = bound(s->step);
    CRESSET_CHECK_VALUE(!step || *step > 0, "slice: the step must be greater than zero, got ", step ? static_cast<long>(*step) : 0L);
    return indexing::Slice(bound(s->start), bound(s->stop), step);
  }
  if (PySequence_Check(o)) {  // lists and arrays
    const Ref data = checked(PyObject_CallOneArg(package_function("as_index"), o));
    if (is_tensor(data.get())) return tensor_of(data.get());
  }
  CRESSET_CHECK_INDEX(PyIndex_Check(o), "index: expected integers, slices, None, ..., booleans or tensors, got ", Py_TYPE(o)->tp_name);
  const Ref integer = checked(PyNumber_Index(o));
  const long long v = PyLong_AsLongLong(integer.get());
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return static_cast<int64_t>(v);
}
std::vector<indexing::TensorIndex> indices_of(PyObject* index) {
  std::vector<indexing::TensorIndex> list;
  if (!PyTuple_Check(index)) return {one_index(index)};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++) list.push_back(one_index(PyTuple_GET_ITEM(index, i)));
  return list;
}

}  // namespace

PyObject* get_item(PyObject* self, PyObject* index) {
  return guarded([&] { return wrap(indexing::get_item(tensor_of(self), indices_of(index))); });
}

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  return guarded([&] {
    CRESSET_CHECK_TYPE(value, "tensor: elements cannot be deleted");
    const auto indices = indices_of(index);
    if (is_number(value)) {
      indexing::set_item(tensor_of(self), indices, to_scalar(value));
      return 0;
    }
    CRESSET_CHECK_TYPE(is_tensor(value), "cannot assign a ", Py_TYPE(value)->tp_name, " to elements of a tensor");
    indexing::set_item(tensor_of(self), indices, tensor_of(value));
    return 0;
  }, -1);
}

}  // namespace cresset::python
