#pragma once
// Registering ops: TORCH_LIBRARY(ns, m) { m.def("…", &function); }.

#include "cresset/dispatch/registration.h"
#include "torch/detail/tensor.h"

namespace torch {
using cresset::dispatch::Library;
}
#define TORCH_LIBRARY(ns, m) CRESSET_LIBRARY(ns, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) CRESSET_LIBRARY_FRAGMENT(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) CRESSET_LIBRARY_IMPL(ns, key, m)
#define TORCH_FN(function) &function
