#pragma once
// Shared by the files of the extension: references, conversions between Python objects and values, error mapping.

#include "cresset/cresset.h"
#include "cresset/dispatch/op.h"
#include "python/common/reference.h"

namespace cresset::python {

// Sets Python's error indicator from the C++ exception in flight.
void set_python_error();
// Sets it for an error of fake tensors; false for any other.
bool set_fake_error(const std::exception& error);
// Whether Python's error indicator is set to that of an operator whose result depends on data that a fake tensor lacks.
bool has_fake_data_error();
bool set_symbol_error(const std::exception& error);
// Runs `body`; an exception becomes Python's and `failed` is returned.
template <class F, class R = decltype(std::declval<F>()())> R guarded(F&& body, R failed) {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return failed;
  }
}
template <class F> PyObject* guarded(F&& body) { return guarded(std::forward<F>(body), static_cast<PyObject*>(nullptr)); }

extern PyTypeObject *tensor_type, *dtype_type, *device_type, *layout_type, *memory_format_type, *generator_type, *size_type, *op_type;
// The package's Parameter: a subclass whose objects count as plain tensors. Null until the package names it.
extern PyTypeObject* parameter_type;
// The package's FakeTensor, of which all fake tensors are. Null until the package names it.
extern PyTypeObject* fake_type;

// A dtype, layout or memory format.
struct ConstantObject {
  PyObject_HEAD int value;
  const char* name;
};
// Python functions of the package that the extension calls: "tensor" (nested data to a tensor), "size" (the Size class).
PyObject* package_function(const char* name);

struct TensorObject {
  PyObject_HEAD PyObject* dict;
  PyObject* weak;
  PyObject* shape;  // the last Size that was asked for
  Tensor tensor;
  bool kept;  // by its tensor, and holds no reference to it
};
inline bool is_tensor(PyObject* o) { return PyObject_TypeCheck(o, tensor_type); }
inline bool is_plain_tensor(PyObject* o) { return Py_TYPE(o) == tensor_type || Py_TYPE(o) == parameter_type; }
inline Tensor& tensor_ref(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->tensor; }
inline const Tensor& tensor_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->tensor; }
// The Python object of a tensor: the same one for as long as it lives. None for an undefined tensor.
PyObject* wrap(Tensor t);
// A new object of a subclass over a tensor that has no object yet.
PyObject* wrap_as(PyTypeObject* type, Tensor t);
// Another tensor that is the same, for an object of another class. Layouts other than strided have no views: they are shared without a history.
Tensor another_of(const Tensor& t);
std::vector<Tensor> tensor_list(PyObject* sequence, bool none_allowed = false);

// A constant of one of the enumerations (dtype, layout, memory format).
template <class T> PyObject* constant(T value);
template <> PyObject* constant(ScalarType t);
template <> PyObject* constant(Layout l);
template <> PyObject* constant(MemoryFormat f);
// Errors: TypeError.
ScalarType to_dtype(PyObject* o);
Device to_device(PyObject* o);
PyObject* wrap(Device d);
PyObject* wrap(const Generator& g);
Generator& generator_of(PyObject* o);
uint64_t to_seed(PyObject* o);
PyObject* wrap_size(IntArrayRef sizes);
PyObject* wrap(const Scalar& s);
PyObject* wrap(IntArrayRef list);
PyObject* wrap(const dispatch::Value& v);
// A value that is a shared object: lists, tuples and dicts as Python's, objects of registered C++ classes as ScriptObject.
PyObject* wrap_object(const dispatch::Value& v);
extern PyTypeObject* script_object_type;
// Numbers, NumPy's included. Errors: TypeError.
Scalar to_scalar(PyObject* o);
bool is_number(PyObject* o);
// Of a class of NumPy's: an array or a scalar.
bool is_numpy(PyObject* o);

// Reads `o` as a value of `type`; false if it is none. Relaxed: a 0-d tensor is a number and, where `numbers`, a number a tensor.
bool read_value(PyObject* o, const dispatch::Type& type, bool relaxed, bool numbers, dispatch::Value& out);

// Any object that a value holds; false for others.
bool read_any(PyObject* o, dispatch::Value& out);
// Types that a schema knows by their text alone: Dict(str, Tensor), (int, Tensor), a class.
bool read_text_type(PyObject* o, const dispatch::Type& type, dispatch::Value& out);

PyObject* get_item(PyObject* self, PyObject* index);
int set_item(PyObject* self, PyObject* index, PyObject* value);

bool add_constants(PyObject* module);
bool add_tensor(PyObject* module);
bool add_storage(PyObject* module);
bool add_exchange(PyObject* module);
bool add_state(PyObject* module);
bool add_override(PyObject* module);
bool add_subclasses(PyObject* module);
bool add_op(PyObject* module);
bool add_io(PyObject* module);
bool add_autograd(PyObject* module);
bool add_optim(PyObject* module);
bool add_autocast(PyObject* module);
bool add_build_info(PyObject* module);
bool add_fake(PyObject* module);
bool add_batches(PyObject* module);
bool add_listen(PyObject* module);
bool add_symbols(PyObject* module);
bool add_shared(PyObject* module);
bool add_extensions(PyObject* module);
bool add_outside_ops(PyObject* module);

// `grad_fn` of a tensor as an object, or None.
PyObject* wrap_grad_fn(const Tensor& t);
// For the garbage collector: Python objects that only this tensor keeps alive, through its hooks and its history.
int traverse_autograd(const Tensor& t, visitproc visit, void* arg);

}  // namespace cresset::python
