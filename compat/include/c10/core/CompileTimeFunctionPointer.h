#pragma once
#include "cresset/dispatch/function_pointer.h"
namespace c10 {
using cresset::dispatch::CompileTimeFunctionPointer;
using cresset::dispatch::is_compile_time_function_pointer;
}  // namespace c10
#define TORCH_FN_TYPE(func) ::c10::CompileTimeFunctionPointer<std::remove_pointer_t<std::remove_reference_t<decltype(func)>>, func>
#define TORCH_FN(func) TORCH_FN_TYPE(func)()
