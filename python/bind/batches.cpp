// Batches of a loader: whether items stack plainly, and items copied into their batch as soon as they are read.

#include <cstring>

#include "python/bind/autograd.h"
#include "python/bind/bind.h"

namespace cresset::python {

namespace {

bool plain(PyObject* o) { return Py_TYPE(o) == tensor_type && tensor_of(o).defined(); }

// Elements one after the other in memory of the CPU, without a graph: a batch of such tensors is their bytes.
bool dense(const Tensor& t) {
  return t.layout() == Layout::Strided && t.device().type() == DeviceType::CPU && !t.lacks_data() && !t.requires_grad() && !t.is_conj() && !t.is_neg() &&
         t.is_contiguous();
}

// _uniform(items) -> (dtype, shape of an item), or None where stacking is more than putting bytes together
PyObject* uniform(PyObject*, PyObject* items) {
  return guarded([&]() -> PyObject* {
    if ((!PyList_CheckExact(items) && !PyTuple_CheckExact(items)) || PySequence_Fast_GET_SIZE(items) == 0) Py_RETURN_NONE;
    const Tensor* first = nullptr;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); i++) {
      PyObject* o = PySequence_Fast_GET_ITEM(items, i);
      if (!plain(o) || !dense(tensor_of(o))) Py_RETURN_NONE;
      const Tensor& t = tensor_of(o);
      if (!first) first = &t;
      if (t.scalar_type() != first->scalar_type() || t.sizes() != first->sizes()) Py_RETURN_NONE;
    }
    return Py_BuildValue("(ON)", constant(first->scalar_type()), wrap_size(first->sizes()));
  });
}

void put(const Tensor& batch, Py_ssize_t number, const Tensor& t) {
  const size_t bytes = static_cast<size_t>(t.numel()) * t.element_size();
  if (bytes) std::memcpy(static_cast<char*>(batch.data_ptr()) + static_cast<size_t>(number) * bytes, t.data_ptr(), bytes);
}

// _put_all(batch, items): the items, which are `_uniform`, become the rows of the batch
PyObject* put_all(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !plain(args[0]) || (!PyList_CheckExact(args[1]) && !PyTuple_CheckExact(args[1]))) {
    PyErr_SetString(PyExc_TypeError, "_put_all(batch, items)");
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    const Tensor& batch = tensor_of(args[0]);
    const std::vector<Tensor> items = tensor_list(args[1]);
    CRESSET_CHECK(batch.dim() > 0 && batch.size(0) == static_cast<int64_t>(items.size()), "_put_all: expected ", items.size(), " rows");
    for (const Tensor& t : items)
      CRESSET_CHECK(dense(t) && t.scalar_type() == batch.scalar_type() && t.sizes() == batch.sizes().slice(1), "_put_all: an item is not like its row");
    {
      const NoGil free;
      for (size_t i = 0; i < items.size(); i++) put(batch, static_cast<Py_ssize_t>(i), items[i]);
    }
    Py_RETURN_NONE;
  });
}

// The item is the only owner of the tensor and its memory: it may be copied at any time.
bool known_to_item_alone(PyObject* o) {
  const Tensor& t = tensor_of(o);
  const auto* object = reinterpret_cast<const TensorObject*>(o);
  const StorageImpl& memory = *t.impl()->storage();
  return Py_REFCNT(o) == 1 && !object->weak && t.use_count() == 1 && memory.use_count() == 1 && memory.resizable();
}

// _put_row(columns, number, item) -> columns, or the item where it was not put. A column is a batch tensor, whose row `number` the
// item's tensor becomes, or a list, to which the item's value is appended. An item of one column may be the tensor itself.
PyObject* put_row(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 3 || !PyTuple_CheckExact(args[0])) {
    PyErr_SetString(PyExc_TypeError, "_put_row(columns, number, item)");
    return nullptr;
  }
  PyObject *columns = args[0], *item = args[2];
  const Py_ssize_t number = PyLong_AsSsize_t(args[1]), count = PyTuple_GET_SIZE(columns);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  const bool sequence = PyTuple_CheckExact(item) || PyList_CheckExact(item);
  const bool fits = sequence ? PySequence_Fast_GET_SIZE(item) == count && Py_REFCNT(item) == 1 : count == 1;
  PyObject* const* values = sequence ? PySequence_Fast_ITEMS(item) : args + 2;
  return guarded([&]() -> PyObject* {
    bool good = fits;
    for (Py_ssize_t i = 0; good && i < count; i++) {
      PyObject* column = PyTuple_GET_ITEM(columns, i);
      if (PyList_CheckExact(column)) {
        good = sequence;
        continue;
      }
      good = plain(values[i]) && dense(tensor_of(values[i])) && known_to_item_alone(values[i]);
      if (!good) break;
      const Tensor &batch = tensor_of(column), &t = tensor_of(values[i]);
      good = t.scalar_type() == batch.scalar_type() && t.sizes() == batch.sizes().slice(1) && number < batch.size(0);
    }
    if (!good) return Ref::share(item).release();
    for (Py_ssize_t i = 0; i < count; i++) {
      PyObject* column = PyTuple_GET_ITEM(columns, i);
      if (PyList_CheckExact(column)) {
        if (PyList_Append(column, values[i]) < 0) return nullptr;
        continue;
      }
      const Tensor& t = tensor_of(values[i]);
      const size_t bytes = static_cast<size_t>(t.numel()) * t.element_size();
      if (bytes) std::memcpy(static_cast<char*>(tensor_of(column).data_ptr()) + static_cast<size_t>(number) * bytes, t.data_ptr(), bytes);
    }
    return Ref::share(columns).release();
  });
}

PyMethodDef functions[] = {{"_uniform", uniform, METH_O, nullptr},
                           {"_put_all", reinterpret_cast<PyCFunction>(put_all), METH_FASTCALL, nullptr},
                           {"_put_row", reinterpret_cast<PyCFunction>(put_row), METH_FASTCALL, nullptr},
                           {}};

}  // namespace

bool add_batches(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace cresset::python
