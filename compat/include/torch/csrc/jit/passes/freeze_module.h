#pragma once
#include "torch/script.h"

namespace torch::jit {

// A module without attributes that methods do not change, whose methods have their values in place. Errors: it is in training.
inline Module freeze_module(const Module& module, std::vector<std::string> preserved = {}, bool freeze_interfaces = true, bool preserve_parameters = false) {
  TORCH_CHECK(freeze_interfaces && !preserve_parameters, "freeze_module: modules are frozen whole; expected freeze_interfaces and not preserve_parameters");
  return freeze(module, std::move(preserved));
}

}  // namespace torch::jit
