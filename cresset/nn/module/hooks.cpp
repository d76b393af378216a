#include "cresset/nn/module/hooks.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "cresset/autograd/function.h"
#include "cresset/autograd/node.h"

namespace cresset::nn {

namespace detail {

namespace {

// Hooks by the order of their registration.
template <class Hook> using HookList = std::map<size_t, std::shared_ptr<Hook>>;

std::mutex& hook_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

struct Hooks {
  size_t next = 0;
  HookList<ForwardPreHook> forward_pre;
  HookList<ForwardHook> forward;
  HookList<BackwardPreHook> backward_pre;
  HookList<BackwardHook> backward;
  HookList<TensorRegistrationHook> parameter, buffer;
  HookList<ModuleRegistrationHook> child;
  bool in_calls() const { return !(forward_pre.empty() && forward.empty() && backward_pre.empty() && backward.empty()); }
};

namespace {

std::shared_ptr<Hooks>& global_hooks() {
  static std::shared_ptr<Hooks> hooks = std::make_shared<Hooks>();
  return hooks;
}
void note_global() { HookedCall::any_global = global_hooks()->in_calls(); }

template <class Hook> RemovableHandle add(const std::shared_ptr<Hooks>& hooks, HookList<Hook> Hooks::*list, Hook hook) {
  CRESSET_CHECK_TYPE(hook, "module: the hook is empty");
  std::lock_guard<std::mutex> guard(hook_mutex());
  const size_t key = hooks->next++;
  ((*hooks).*list)[key] = std::make_shared<Hook>(std::move(hook));
  note_global();
  return RemovableHandle(std::make_shared<std::function<void()>>([hooks, list, key] {
    std::lock_guard<std::mutex> guard(hook_mutex());
    ((*hooks).*list).erase(key);
    note_global();
  }));
}

template <class Hook> std::vector<std::shared_ptr<Hook>> collect_hooks(const std::shared_ptr<void>& own, HookList<Hook> Hooks::*list) {
  std::lock_guard<std::mutex> guard(hook_mutex());
  std::vector<std::shared_ptr<Hook>> all;
  for (const Hooks* hooks : {global_hooks().get(), static_cast<Hooks*>(own.get())})
    if (hooks)
      for (const auto& item : hooks->*list) all.push_back(item.second);
  return all;
}

// The same tensors with one node in their history.
struct Passage : autograd::Function<Passage> {
  static autograd::variable_list forward(autograd::AutogradContext* ctx, autograd::variable_list tensors) {
    ctx->set_materialize_grads(false);
    for (Tensor& t : tensors)
      if (t.defined()) t = t.view_as(t);
    return tensors;
  }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list grads) { return grads; }
};

autograd::Node* node_of(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    if (t.defined() && t.grad_fn()) return t.grad_fn().get();
  return nullptr;
}

bool records(const std::vector<Tensor>& tensors) {
  return GradMode::is_enabled() && std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.defined() && t.requires_grad(); });
}

}  // namespace

// Shared in backward by the two passages of a call.
struct HookedBackward {
  Module* module;
  std::vector<std::shared_ptr<BackwardPreHook>> pre;
  std::vector<std::shared_ptr<BackwardHook>> full;
  std::vector<Tensor> grad_outputs;
  bool has_inputs = false;

  std::vector<Tensor> at_outputs(const std::vector<Tensor>& grads) {
    grad_outputs = grads;
    for (const auto& hook : pre) (*hook)(*module, grad_outputs);
    if (!has_inputs) at_inputs({});
    return grad_outputs;
  }
  std::vector<Tensor> at_inputs(std::vector<Tensor> grads) {
    for (const auto& hook : full) (*hook)(*module, grads, grad_outputs);
    return grads;
  }
};

bool HookedCall::any_global = false;

void HookedCall::before() {
  for (const auto& hook : collect_hooks(module.hooks_, &Hooks::forward_pre)) (*hook)(module, inputs);
  auto backward = std::make_shared<HookedBackward>();
  backward->module = &module;
  backward->pre = collect_hooks(module.hooks_, &Hooks::backward_pre);
  backward->full = collect_hooks(module.hooks_, &Hooks::backward);
  if (backward->pre.empty() && backward->full.empty()) return;
  backward_ = backward;
  if (backward->full.empty() || !records(inputs)) return;
  inputs = Passage::apply(inputs);
  backward->has_inputs = true;
  // Before the passage hands them on, gradients of the inputs are complete.
  node_of(inputs)->add_pre_hook([backward](autograd::variable_list grads) { return backward->at_inputs(std::move(grads)); });
}

void HookedCall::after() {
  for (const auto& hook : collect_hooks(module.hooks_, &Hooks::forward)) (*hook)(module, inputs, outputs);
  if (!backward_ || !records(outputs)) return;
  outputs = Passage::apply(outputs);
  node_of(outputs)->add_pre_hook(
      [backward = std::static_pointer_cast<HookedBackward>(backward_)](autograd::variable_list grads) { return backward->at_outputs(grads); });
}

void run_registration_hooks(Module& module, const std::string& name, Tensor& tensor, bool is_buffer) {
  for (const auto& hook : collect_hooks({}, is_buffer ? &Hooks::buffer : &Hooks::parameter)) (*hook)(module, name, tensor);
}
void run_registration_hooks(Module& module, const std::string& name, std::shared_ptr<Module>& child) {
  for (const auto& hook : collect_hooks({}, &Hooks::child)) (*hook)(module, name, child);
}

}  // namespace detail

void RemovableHandle::remove() {
  if (remover_) (*static_cast<std::function<void()>*>(remover_.get()))();
  remover_.reset();
}

using detail::Hooks;

#define CRESSET_DEFINE_CALL_HOOK(name, Hook, list)                                              \
  RemovableHandle Module::register_##name(Hook hook) {                                          \
    if (!hooks_) hooks_ = std::make_shared<Hooks>();                                            \
    return detail::add(std::static_pointer_cast<Hooks>(hooks_), &Hooks::list, std::move(hook)); \
  }                                                                                             \
  RemovableHandle register_module_##name(Hook hook) { return detail::add(detail::global_hooks(), &Hooks::list, std::move(hook)); }
CRESSET_DEFINE_CALL_HOOK(forward_pre_hook, ForwardPreHook, forward_pre)
CRESSET_DEFINE_CALL_HOOK(forward_hook, ForwardHook, forward)
CRESSET_DEFINE_CALL_HOOK(full_backward_pre_hook, BackwardPreHook, backward_pre)
CRESSET_DEFINE_CALL_HOOK(full_backward_hook, BackwardHook, backward)

RemovableHandle register_module_parameter_registration_hook(TensorRegistrationHook hook) {
  return detail::add(detail::global_hooks(), &Hooks::parameter, std::move(hook));
}
RemovableHandle register_module_buffer_registration_hook(TensorRegistrationHook hook) {
  return detail::add(detail::global_hooks(), &Hooks::buffer, std::move(hook));
}
RemovableHandle register_module_module_registration_hook(ModuleRegistrationHook hook) {
  return detail::add(detail::global_hooks(), &Hooks::child, std::move(hook));
}

}  // namespace cresset::nn
