#pragma once
// A boxed call as Python sees it, and back: (entry, stack) to (operator, arguments, named arguments).

#include "python/bind/bind.h"

namespace cresset::python {

// The object `torch.ops.aten.add.Tensor` of an entry. Throws where the package has none. Borrowed: it lives as long as the process.
PyObject* overload_of(const dispatch::OpEntry& op);
// One value as PyTorch hands it to Python: lists are lists, numbers that stand for tensors are numbers.
Ref to_python(const dispatch::Value& value, const dispatch::Type& type);

struct PythonCall {
  Ref args, kwargs;
};
// The arguments on the stack, without those at the end that have their defaults; keyword-only ones by name, unless they have theirs.
PythonCall to_python(const dispatch::OpEntry& op, const dispatch::Stack& stack);
// Replaces the arguments on the stack by what Python returned. Errors: results that do not fit the schema.
void results_from_python(const dispatch::OpEntry& op, PyObject* result, dispatch::Stack& stack);

}  // namespace cresset::python
