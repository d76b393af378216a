#pragma once
// Python in the graph: the interpreter's lock around the engine, errors that cross it, nodes and hooks as objects.

#include <exception>
#include <memory>

#include "cresset/autograd/saved/saved_variable.h"
#include "python/bind/bind.h"

namespace cresset::python {

// A reference that code without the interpreter's lock may copy and drop.
using Shared = std::shared_ptr<PyObject>;
Shared shared(PyObject* borrowed);

// A Python exception on its way through C++, with its type and traceback; set_python_error makes it current again.
class PythonException : public std::exception {
 public:
  // Takes over the current exception.
  PythonException();
  const char* what() const noexcept override { return text_.c_str(); }
  void restore() const;

 private:
  Shared type_, value_, traceback_;
  std::string text_;
};

// Runs `body` under the interpreter's lock on behalf of C++ that does not hold it: PythonError becomes PythonException.
template <class F> auto with_gil(F&& body) {
  Gil gil;
  try {
    return body();
  } catch (const PythonError&) { throw PythonException(); }
}

// ---- hooks: one entry in C++ for a table of functions in Python, which handles take functions out of

struct TensorHookTable {
  Shared table;
  Tensor operator()(const Tensor& grad) const;
};
struct PostAccumulateTable {
  Shared table;
  void operator()(const Tensor& leaf) const;
};
struct NodePreHookTable {
  Shared table;
  autograd::variable_list operator()(const autograd::variable_list& grads) const;
};
struct NodePostHookTable {
  Shared table;
  autograd::variable_list operator()(const autograd::variable_list& grad_inputs, const autograd::variable_list& grad_outputs) const;
};
Ref new_hook_table();

// ---- nodes

// The Python object of a node: the same one while it lives; a custom function's is its context. None for no node.
PyObject* wrap(const intrusive_ptr<autograd::Node>& node);
// Errors: TypeError; RuntimeError for the context of a function whose graph is gone.
intrusive_ptr<autograd::Node> to_node(PyObject* o);
bool is_node(PyObject* o);
// A tuple; None for undefined tensors.
Ref tuple_of(const autograd::variable_list& tensors);
// Methods and properties that nodes and the contexts of custom functions share.
extern PyMethodDef node_methods[];
extern PyGetSetDef node_properties[];

// For the garbage collector: Python objects that only `node` keeps alive, and the nodes that only it does; `node` itself has one
// owner.
int traverse_node(const autograd::Node& node, visitproc visit, void* arg);

// ---- custom functions: the context of one is the object of its node

bool is_context(PyObject* o);
// Null once the graph is gone.
intrusive_ptr<autograd::Node> node_of_context(PyObject* context);
// Null where it has been released.
autograd::SavedVariable* saved_of_context(PyObject* context, size_t i);

// ---- what nodes keep: `_saved_self` and the like

autograd::PackHook pack_hook(PyObject* function);
autograd::UnpackHook unpack_hook(PyObject* function);
// The objects of single saved tensors, which take hooks.
PyObject* wrap_saved_of_context(PyObject* context, size_t i);
// The field `_saved_x` or `_raw_saved_x` of a node; null without an error where it has none.
PyObject* saved_field(const intrusive_ptr<autograd::Node>& node, const char* name);
// The names of these fields, appended to a list.
void add_saved_names(autograd::Node& node, PyObject* list);
bool add_autograd_fields(PyObject* module);

// Borrowed; null for any other node.
PyObject* context_of_node(const autograd::Node& node);

inline const Tensor& tensor_argument(PyObject* o) {
  CRESSET_CHECK_TYPE(is_tensor(o), "expected a tensor, got ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}

bool add_autograd_nodes(PyObject* module);
bool add_autograd_function(PyObject* module);
bool add_autograd_saved(PyObject* module);
bool add_forward_mode(PyObject* module);
bool add_vmap(PyObject* module);
bool add_functions(PyObject* module);
// Sets Python's error indicator for an error of checkpointing; false for any other.
bool set_checkpoint_error(const std::exception& error);
// Sets Python's error of control flow; false for any other.
bool set_control_flow_error(const std::exception& error);

}  // namespace cresset::python
