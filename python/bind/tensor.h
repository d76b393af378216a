#pragma once
// Shared by the files of the Tensor type.

#include "python/bind/bind.h"

namespace cresset::python {

extern PyMethodDef tensor_methods[];
extern PyType_Slot conversion_slots[];
Py_ssize_t tensor_length(PyObject* self);
// The buffer protocol. Errors: BufferError where the values do not lie in memory as they are.
int lend_buffer(PyObject* self, Py_buffer* view, int flags);
void return_buffer(PyObject* self, Py_buffer* view);

PyObject* wrap(const intrusive_ptr<StorageImpl>& storage);
bool is_storage(PyObject* o);
const intrusive_ptr<StorageImpl>& storage_of(PyObject* o);

// Where the class takes calls over by `__torch_dispatch__`: calls with the tensor go there.
void mark_subclass(PyTypeObject* type, const Tensor& t);
PyObject* share_storage(PyObject* module, PyObject* args);
PyObject* take_geometry(PyObject* module, PyObject* args);
PyObject* make_wrapper_subclass(PyObject* module, PyObject* args, PyObject* kwargs);

// Integers, NumPy's and 0-d tensors included. Errors: TypeError that names the argument.
int64_t to_index(PyObject* o, const char* name);
std::vector<int64_t> to_int_list(PyObject* o, const char* name);

}  // namespace cresset::python
