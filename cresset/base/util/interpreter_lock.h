#pragma once
// Whether this thread holds the lock of an interpreter, asked of hooks that the interpreter's library sets.

#include "cresset/base/macros.h"

namespace cresset {

struct PythonGILHooks {
  virtual ~PythonGILHooks() = default;
  virtual bool check_python_gil() const = 0;
};

// False without hooks.
CRESSET_API bool check_python_gil();
// Null takes them back. With TORCH_DISABLE_DEADLOCK_DETECTION in the environment they are never asked.
CRESSET_API void SetPythonGILHooks(PythonGILHooks* hooks);

}  // namespace cresset
