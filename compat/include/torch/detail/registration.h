#pragma once
// Registering ops: TORCH_LIBRARY(ns, m) { m.def("…", &function); }. <torch/torch.h> brings this part; <torch/library.h> has the rest.

#include "c10/core/CompileTimeFunctionPointer.h"
#include "cresset/dispatch/registration.h"
#include "torch/detail/dispatch_keys.h"
#include "torch/detail/tensor.h"

namespace at {
using cresset::dispatch::Tag;
}
namespace torch {
using cresset::dispatch::CppFunction;
using cresset::dispatch::dispatch;
using cresset::dispatch::Library;
}  // namespace torch
#define TORCH_LIBRARY(ns, m) CRESSET_LIBRARY(ns, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) CRESSET_LIBRARY_FRAGMENT(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) CRESSET_LIBRARY_IMPL(ns, key, m)
#define MAKE_TORCH_LIBRARY(ns) torch::Library(torch::Library::DEF, #ns, std::nullopt, __FILE__, __LINE__)
#define MAKE_TORCH_LIBRARY_IMPL(ns, k) torch::Library(torch::Library::IMPL, #ns, std::make_optional(c10::DispatchKey::k), __FILE__, __LINE__)
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(schema) schema
