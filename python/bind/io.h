#pragma once
// Shared by reading and writing of files within the extension.

#include "cresset/io/checkpoint.h"
#include "python/bind/tensor.h"

namespace cresset::python {

// Objects that the package lends to the functions here; set once by cresset.serialization.
struct IoNames {
  PyObject *ordered_dict, *default_dict, *counter, *size, *parameter, *unpickling_error;
  PyObject* make_parameter;  // (tensor, requires_grad, attributes or None)
  PyObject* make_subclass;   // (tensor, class or None, attributes)
  PyObject* typed_storage;   // the class of storages with a dtype
  PyObject* typed_of;        // (storage, dtype): one of that class
  PyObject* call;            // (callable, arguments)
  PyObject* make;            // (class, arguments): without its __init__
  PyObject* change;          // (object, what, value[, value])
  PyObject* device_of;       // (text, index or None)
  PyObject* default_place;   // (a tag): the device that it names
  PyObject* attributes;      // (tensor of a subclass): its state, a dict or a pair of a dict and slots
  PyObject* reduce;          // (object): what it is made of, as __reduce_ex__(2) tells
  PyObject* global_name;     // (object): its module and name
  PyObject* layout;          // (text): a layout
};
const IoNames& io_names();

// As `guarded`, with the errors of reading pickles.
PyObject* io_guarded(const std::function<PyObject*()>& body);
// A file as bytes: a descriptor (duplicated), or an object with a buffer, which `keep` keeps alive.
std::shared_ptr<io::ByteSource> source_of(PyObject* from, const std::string& name);
// A sink: a function of bytes.
io::WriteBytes sink_of(PyObject* write);

PyObject* io_save(PyObject*, PyObject* args);
bool add_io(PyObject* module);
bool add_io_formats(PyObject* module);
bool add_io_image(PyObject* module);
bool add_io_inspect(PyObject* module);
// Calls `produce` with a sink into `to`: a path (text or bytes), replaced in one step, or a function of bytes.
void write_to(PyObject* to, const std::function<void(const io::WriteBytes&)>& produce);

}  // namespace cresset::python
