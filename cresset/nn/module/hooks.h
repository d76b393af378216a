#pragma once
// Hooks for all modules, under Python's names.

#include "cresset/nn/module/module.h"

namespace cresset::nn {

CRESSET_API RemovableHandle register_module_forward_pre_hook(ForwardPreHook hook);
CRESSET_API RemovableHandle register_module_forward_hook(ForwardHook hook);
CRESSET_API RemovableHandle register_module_full_backward_pre_hook(BackwardPreHook hook);
CRESSET_API RemovableHandle register_module_full_backward_hook(BackwardHook hook);

// See, and may replace, what any module registers.
using TensorRegistrationHook = std::function<void(Module& module, const std::string& name, Tensor& tensor)>;
using ModuleRegistrationHook = std::function<void(Module& module, const std::string& name, std::shared_ptr<Module>& child)>;
CRESSET_API RemovableHandle register_module_parameter_registration_hook(TensorRegistrationHook hook);
CRESSET_API RemovableHandle register_module_buffer_registration_hook(TensorRegistrationHook hook);
CRESSET_API RemovableHandle register_module_module_registration_hook(ModuleRegistrationHook hook);

namespace detail {
// Called by registrations.
CRESSET_API void run_registration_hooks(Module& module, const std::string& name, Tensor& tensor, bool is_buffer);
CRESSET_API void run_registration_hooks(Module& module, const std::string& name, std::shared_ptr<Module>& child);
}  // namespace detail

}  // namespace cresset::nn
