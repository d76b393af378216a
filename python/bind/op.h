#pragma once
// Operators as Python objects: their overloads as parsing plans, and the unboxed shortcuts tried before them.

#include <string>
#include <vector>

#include "python/bind/override.h"

namespace cresset::python {

// Arguments as a vector call passes them: `n` positional ones, then one for each of `names` (may be null).
struct Call {
  PyObject* const* args;
  Py_ssize_t n;
  PyObject* names;
  bool method = false;  // the first argument is the method's tensor
  Py_ssize_t named() const { return names ? PyTuple_GET_SIZE(names) : 0; }
};

struct ArgumentPlan {
  PyObject* name;
  PyObject* others[4];  // further names that users may give, NumPy's among them
  const dispatch::Argument* argument;
  bool numbers;           // a Python number counts as a tensor
  bool is_index = false;  // "int" in the schema, and not "SymInt": a symbol given for it is its number in the example
};

struct Overload {
  const dispatch::OpEntry* entry = nullptr;
  const dispatch::FunctionSchema* schema = nullptr;
  std::vector<ArgumentPlan> arguments;
  Py_ssize_t positional = 0;            // how many arguments may be given without a name
  Py_ssize_t self = -1;                 // the argument that a method's tensor is
  size_t outs = 0;                      // written keyword arguments
  Py_ssize_t out = -1;                  // the argument called `out`
  Py_ssize_t device = -1;               // of a factory
  PyTypeObject* result_type = nullptr;  // of several named results
};

// Handles the call, or returns `pass` without side effects. Only for plain tensors while no mode is active.
using Shortcut = PyObject* (*)(const Call& call);
extern PyObject* const pass;
// Factories that are told no device make their tensors elsewhere than on the CPU.
bool has_default_device();
Shortcut find_shortcut(const std::string& name);

struct OpData {
  std::string name;
  std::vector<std::string> entries;
  Shortcut shortcut = nullptr;
  PyObject* function = nullptr;
  PyObject* method = nullptr;
  bool parsed = false;
  bool numbers_as_tensors = false;
  bool bodies = false;   // runs the bodies of composite and fused operators, not the operators
  bool factory = false;  // makes tensors of a dtype that may be named
  std::vector<Overload> overloads;
  bool warned = false;  // of numbers in old places
};

// The operator of this name; null if there is none.
OpData* find_op_data(const char* name);
// The text that help() shows for an operator.
std::string operator_doc(const std::string& name);
// Throws.
PyObject* call_op(OpData& op, const Call& call);

// Slots of Tensor: a + b and the like.
extern PyType_Slot operator_slots[];
// Makes the operators' methods tell PyTorch's names of their arguments; they stay the slots that they are.
void name_operator_arguments(PyTypeObject* type);

}  // namespace cresset::python
