#pragma once
#include "cresset/base/util/interpreter_lock.h"
#include "torch/detail/macros.h"
namespace c10::impl {
using cresset::check_python_gil;
using cresset::PythonGILHooks;
using cresset::SetPythonGILHooks;
}  // namespace c10::impl
#define TORCH_ASSERT_NO_GIL_WITHOUT_PYTHON_DEP() \
  TORCH_INTERNAL_ASSERT(!::c10::impl::check_python_gil(), "the lock of the interpreter is held where another thread may wait for it")
