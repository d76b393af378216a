// Subscripts of tensors, read and written.

#include "cresset/dispatch/listen.h"
#include "cresset/ops/index/indexing_checks.h"
#include "python/bind/autograd.h"
#include "python/bind/modes/symbols.h"
#include "python/bind/override.h"

namespace cresset::python {

namespace {

using indexing::TensorIndex;

constexpr int64_t kReleaseElements = 32768;

int64_t integer_of(PyObject* o) {
  if (is_tensor(o)) return tensor_of(o).item().toLong();
  const Ref index = is_symbol(o) ? symbol_number(o) : checked(PyNumber_Index(o));
  const long long v = PyLong_AsLongLong(index.get());
  if (v == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    CRESSET_CHECK_VALUE(false, "index: the integer does not fit 64 bits");
  }
  return v;
}

// A bound of a slice: beyond 64 bits is as far as can be.
std::optional<int64_t> bound_of(PyObject* o) {
  if (o == Py_None) return std::nullopt;
  if (is_tensor(o)) return integer_of(o);
  if (!PyIndex_Check(o)) {
    PyErr_SetString(PyExc_TypeError, "slice indices must be integers or None or have an __index__ method");
    throw PythonError();
  }
  const Ref index = is_symbol(o) ? symbol_number(o) : checked(PyNumber_Index(o));
  int overflow;
  const long long v = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  return overflow == 0 ? v : overflow > 0 ? INT64_MAX : INT64_MIN;
}
indexing::Slice slice_of(PyObject* o) {
  auto* s = reinterpret_cast<PySliceObject*>(o);
  return indexing::Slice(bound_of(s->start), bound_of(s->stop), bound_of(s->step));
}

TensorIndex one_index(PyObject* o) {
  if (PyLong_CheckExact(o)) return integer_of(o);
  if (o == Py_None) return std::nullopt;
  if (o == Py_Ellipsis) return indexing::Ellipsis;
  if (PyBool_Check(o)) return o == Py_True;
  if (PySlice_Check(o)) return slice_of(o);
  if (is_tensor(o)) return tensor_of(o);
  if (PySequence_Check(o)) {  // lists and arrays
    const Ref data = checked(PyObject_CallOneArg(package_function("_as_index"), o));
    if (is_tensor(data.get())) return tensor_of(data.get());
    return integer_of(data.get());
  }
  CRESSET_CHECK_INDEX(PyIndex_Check(o), "expected an int, a slice, `...`, None, or an integer or bool tensor as index (got ", Py_TYPE(o)->tp_name, ")");
  return integer_of(o);
}

// A sequence that is no tuple stands for a tuple where that cannot be mistaken for a list of positions: it is short, and holds something
// that no list of positions holds.
bool is_tuple_in_disguise(PyObject* o) {
  if (!PyList_Check(o)) return false;
  const Py_ssize_t n = PyList_GET_SIZE(o);
  if (n >= 32) return false;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* item = PyList_GET_ITEM(o, i);
    if (is_tensor(item) || PySlice_Check(item) || item == Py_Ellipsis || item == Py_None) return true;
    if (PySequence_Check(item) && !PyUnicode_Check(item)) return true;
  }
  return false;
}

// How many dimensions an index takes.
int64_t dims_of(PyObject* o) {
  if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o)) return 0;
  if (!is_tensor(o)) return 1;
  const ScalarType t = tensor_of(o).scalar_type();
  return t == kBool || t == kByte ? tensor_of(o).dim() : 1;
}

// An index is no index: what is wrong with the number of all of them, or with those before it, is said first.
void complain_earlier(const Tensor& self, PyObject* index, std::vector<TensorIndex> before) {
  int64_t dims = 0;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(index); i++) dims += dims_of(PySequence_Fast_GET_ITEM(index, i));
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  Ref held_type(type), held_value(value), held_trace(trace);
  CRESSET_CHECK_INDEX(dims <= self.dim(), "more indices than dimensions of the tensor, ", self.dim(), ", got ", dims);
  indexing::check_views(self, before);
  PyErr_Restore(held_type.release(), held_value.release(), held_trace.release());
}

// Whether symbols among the indices of the tensor stay symbols.
bool takes_symbols(const Tensor& t) {
  const FakeMode* mode = layer_state().fake_mode;
  return has_symbols(t) || (mode && mode->shapes());
}

std::vector<TensorIndex> indices_of(const Tensor& self, PyObject* index) {
  std::optional<SymbolsAsNumbers> numbers;
  if (CRESSET_UNLIKELY(sym_int_type != nullptr) && !takes_symbols(self)) numbers.emplace();
  std::vector<TensorIndex> list;
  if (!PyTuple_Check(index) && !is_tuple_in_disguise(index)) {
    CRESSET_CHECK_INDEX(dims_of(index) <= self.dim(), "more indices than dimensions of the tensor, ", self.dim(), ", got ", dims_of(index));
    return {one_index(index)};
  }
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(index);
  list.reserve(static_cast<size_t>(n));
  try {
    for (Py_ssize_t i = 0; i < n; i++) list.push_back(one_index(PySequence_Fast_GET_ITEM(index, i)));
  } catch (...) {
    complain_earlier(self, index, std::move(list));
    throw;
  }
  // A boolean in a tuple indexes as a tensor does, which a boolean alone does not.
  if (n == 1 && list[0].type() == indexing::TensorIndexType::Boolean) list.push_back(indexing::Ellipsis);
  return list;
}

// An object whose class takes calls over, alone or in a list or tuple of such objects.
bool index_overrides(PyObject* o, int depth = 1) {
  if (PyLong_CheckExact(o) || PySlice_Check(o) || o == Py_None || o == Py_Ellipsis || PyBool_Check(o) || is_plain_tensor(o)) return false;
  if (depth == 0 || !(PyTuple_Check(o) || PyList_Check(o))) return overrides(o);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
    if (index_overrides(PySequence_Fast_GET_ITEM(o, i), depth - 1)) return true;
  return false;
}

bool takes_over(PyObject* self, PyObject* index, PyObject* value) {
  if (CRESSET_UNLIKELY(g_modes_active) && any_mode()) return true;
  return overridden(self) || (value && !is_number(value) && overridden(value)) || index_overrides(index, 2);
}

// The call, as the classes of the tensor, of the value and of the indices have it.
PyObject* overridden_subscript(const char* name, PyObject* self, PyObject* index, PyObject* value) {
  return guarded([&] {
    const Ref method = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
    const Ref args = checked(PyTuple_Pack(value ? 3 : 2, self, index, value));
    Ref relevant = Ref::share(args.get());
    if (PyTuple_Check(index)) relevant = checked(PySequence_Concat(args.get(), index));  // lists among the indices are searched too
    return call_overridden(method.get(), args.get(), nullptr, relevant.get());
  });
}

void check_fits(const Scalar& value, ScalarType type) {
  switch (type) {
#define CRESSET_FITS(T, Name) \
  case ScalarType::Name: static_cast<void>(value.to<T>()); break;
    CRESSET_FOR_EACH_DTYPE(CRESSET_FITS)
#undef CRESSET_FITS
    default: break;
  }
}

}  // namespace

PyObject* get_item(PyObject* self, PyObject* index) {
  if (CRESSET_UNLIKELY(takes_over(self, index, nullptr))) { return overridden_subscript("__getitem__", self, index, nullptr); }
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    if (PyLong_CheckExact(index)) {
      CRESSET_CHECK_INDEX(t.dim() > 0, "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a number");
      return wrap(t[integer_of(index)]);
    }
    const std::vector<TensorIndex> indices = indices_of(t, index);
    if (t.numel() < kReleaseElements) return wrap(indexing::get_item(t, indices));
    Tensor result;
    {
      const NoGil free;
      result = indexing::get_item(t, indices);
    }
    return wrap(std::move(result));
  });
}

// Where calls are heard a number is a fresh tensor first, as PyTorch has it.
static int set_heard_number(const Tensor& t, PyObject* self, PyObject* index, PyObject* value) {
  const Ref args(Py_BuildValue("(O)", value)), kwargs(Py_BuildValue("{s:O}", "dtype", constant(t.scalar_type())));
  const Ref fresh = checked(PyObject_Call(package_function("_fresh"), args.get(), kwargs.get()));
  return set_item(self, index, fresh.get());
}

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  if (value && CRESSET_UNLIKELY(takes_over(self, index, value))) {
    const Ref done(overridden_subscript("__setitem__", self, index, value));
    return done ? 0 : -1;
  }
  return guarded(
      [&] {
        CRESSET_CHECK_TYPE(value, "del: elements of a tensor cannot be deleted");
        const Tensor& t = tensor_of(self);
        CRESSET_CHECK_TYPE(t.layout() == Layout::Strided || t.is_mkldnn(), "cannot assign to places of a sparse tensor of layout ", t.layout(),
                           "; convert it with to_dense()");
        const bool number = is_number(value);
        CRESSET_CHECK_TYPE(number || is_tensor(value), "can't assign a ", Py_TYPE(value)->tp_name, " to a tensor of dtype ", t.scalar_type());
        if (number) check_fits(to_scalar(value), t.scalar_type());
        if (number && CRESSET_UNLIKELY(dispatch::listener_at(dispatch::ListenPlace::below_autograd) != nullptr)) return set_heard_number(t, self, index, value);
        const auto indices = indices_of(t, index);
        if (number) {
          indexing::set_item(t, indices, to_scalar(value));
          return 0;
        }
        const Tensor& source = tensor_of(value);
        if (t.numel() < kReleaseElements) {
          indexing::set_item(t, indices, source);
        } else {
          const NoGil free;
          indexing::set_item(t, indices, source);
        }
        return 0;
      },
      -1);
}

}  // namespace cresset::python
