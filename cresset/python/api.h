#pragma once
// Tensors and the like as Python objects, for C++ that is loaded into the interpreter.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <exception>

#include "cresset/core/tensor.h"
#include "cresset/dispatch/values/value.h"

namespace cresset::python_api {

// Functions are only added, at the end; a change of what exists raises the version.
constexpr uint32_t kVersion = 1;
constexpr const char* kCapsule = "_cresset._python_api";

// A failure sets Python's error and gives null or false. The interpreter's lock is held.
struct Table {
  uint32_t version, size;
  const char* build;  // the Cresset that it comes from

  PyObject* (*from_tensor)(const Tensor& t);  // a new reference, to the tensor's own object
  const Tensor* (*to_tensor)(PyObject* o);    // null, without an error, for any other object
  PyObject* (*from_value)(const dispatch::Value& v);
  // Any object that a value can hold: numbers, text, tensors, lists, tuples and dicts of them, objects of registered classes.
  bool (*to_value)(PyObject* o, dispatch::Value& out);

  PyObject* (*from_dtype)(ScalarType t);
  PyObject* (*from_device)(Device d);
  PyObject* (*from_layout)(Layout l);
  PyObject* (*from_memory_format)(MemoryFormat f);
  PyObject* (*from_generator)(const Generator& g);
  PyObject* (*from_scalar)(const Scalar& s);
  PyObject* (*from_storage)(const Storage& s);
  PyObject* (*from_size)(IntArrayRef sizes);
  // False, without an error, for an object of another class.
  bool (*to_dtype)(PyObject* o, ScalarType& out);
  bool (*to_device)(PyObject* o, Device& out);
  bool (*to_layout)(PyObject* o, Layout& out);
  bool (*to_memory_format)(PyObject* o, MemoryFormat& out);
  bool (*to_generator)(PyObject* o, Generator& out);
  bool (*to_scalar)(PyObject* o, Scalar& out);
  bool (*to_storage)(PyObject* o, Storage& out);

  // Makes the exception in flight Python's, where it is one of Cresset's or comes from Python; false for any other.
  bool (*set_error)(std::exception_ptr error);
};

// Null with an ImportError: `_cresset` is not there, or of another version.
inline const Table* load() {
  const auto* table = static_cast<const Table*>(PyCapsule_Import(kCapsule, 0));
  if (!table) return nullptr;
  if (table->version == kVersion && table->size >= sizeof(Table)) return table;
  PyErr_Format(PyExc_ImportError,
               "this extension was built for version %u of Cresset's interface (%zu bytes), and Cresset %s has version %u (%u bytes): build it again", kVersion,
               sizeof(Table), table->build, table->version, table->size);
  return nullptr;
}

// Thrown where Python's error is set.
struct ErrorIsSet : std::exception {
  const char* what() const noexcept override { return "Python's error is set"; }
};

inline const Table& table() {
  static const Table* loaded = nullptr;
  if (!loaded) loaded = load();
  if (!loaded) throw ErrorIsSet();
  return *loaded;
}

}  // namespace cresset::python_api
