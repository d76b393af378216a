#pragma once
// Registering ops: TORCH_LIBRARY(ns, m) { m.def("…", &function); }.

#include "cresset/dispatch/registration.h"
#include "torch/detail/tensor.h"

namespace c10 {
// The table of ops, as custom gradients look up what they call:
//   static auto op = torch::Dispatcher::singleton().findSchemaOrThrow("ns::op", "").typed<Tensor(const Tensor&)>();
class Dispatcher {
 public:
  static const Dispatcher& singleton() {
    static const Dispatcher dispatcher;
    return dispatcher;
  }
  cresset::dispatch::OpHandle findSchemaOrThrow(const char* name, const char* overload) const {
    const std::string full = *overload ? std::string(name) + "." + overload : name;
    return cresset::dispatch::find_op(full);
  }
};
}  // namespace c10

namespace torch {
using c10::Dispatcher;
using cresset::dispatch::Library;
}  // namespace torch
#define TORCH_LIBRARY(ns, m) CRESSET_LIBRARY(ns, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) CRESSET_LIBRARY_FRAGMENT(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) CRESSET_LIBRARY_IMPL(ns, key, m)
#define TORCH_FN(function) &function
