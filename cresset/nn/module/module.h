#pragma once
// Module: parameters, buffers and child modules by name. Layers and networks derive from it (or from Cloneable) and add a `forward`.

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "cresset/base/std_function.h"

#include "cresset/core/named_tensors.h"
#include "cresset/nn/module/archive.h"
#include "cresset/tensor.h"

namespace cresset {

namespace nn {

template <class Contained> class ModuleHolder;
class Module;

namespace detail {
class CloneableBase;
struct Hooks;
struct HookedCall;
// Puts the name under which `module` is registered before the message of an error that passes through it.
CRESSET_API void add_module_path(Error& error, const Module& module);
}  // namespace detail

}  // namespace nn

extern template class CRESSET_API OrderedDict<std::string, std::shared_ptr<nn::Module>>;

namespace nn {

// Takes a hook away again: remove().
class CRESSET_API RemovableHandle {
 public:
  RemovableHandle() = default;
  // The function to call, a std::function<void()>.
  explicit RemovableHandle(std::shared_ptr<void> remover) : remover_(std::move(remover)) {}
  void remove();

 private:
  std::shared_ptr<void> remover_;
};

class Module;
// Hooks see, and may replace, the tensors among what goes through a call of a module: by its holder, in a Sequential or an AnyModule.
// A direct call of forward runs none.
using ForwardPreHook = std::function<void(Module& module, std::vector<Tensor>& inputs)>;
using ForwardHook = std::function<void(Module& module, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs)>;
using BackwardPreHook = std::function<void(Module& module, std::vector<Tensor>& grad_outputs)>;
using BackwardHook = std::function<void(Module& module, std::vector<Tensor>& grad_inputs, const std::vector<Tensor>& grad_outputs)>;

class CRESSET_API Module : public std::enable_shared_from_this<Module> {
 public:
  using ModuleApplyFunction = std::function<void(Module&)>;
  using ConstModuleApplyFunction = std::function<void(const Module&)>;
  using NamedModuleApplyFunction = std::function<void(const std::string&, Module&)>;
  using ConstNamedModuleApplyFunction = std::function<void(const std::string&, const Module&)>;
  using ModulePointerApplyFunction = std::function<void(const std::shared_ptr<Module>&)>;
  using NamedModulePointerApplyFunction = std::function<void(const std::string&, const std::shared_ptr<Module>&)>;

  explicit Module(std::string name);
  Module();
  Module(const Module&);
  Module& operator=(const Module&);
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;
  virtual ~Module();

  // The name given to the constructor, else that of the class.
  const std::string& name() const noexcept;
  // A deep copy on `device`. Errors: the class does not derive from Cloneable.
  virtual std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const;

  // Calls the function on this module and all below, parents first; with names relative to `name_prefix` where asked.
  void apply(const ModuleApplyFunction& function);
  void apply(const ConstModuleApplyFunction& function) const;
  void apply(const NamedModuleApplyFunction& function, const std::string& name_prefix = std::string());
  void apply(const ConstNamedModuleApplyFunction& function, const std::string& name_prefix = std::string()) const;
  void apply(const ModulePointerApplyFunction& function) const;
  void apply(const NamedModulePointerApplyFunction& function, const std::string& name_prefix = std::string()) const;

  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& name_prefix = std::string(), bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;

  virtual void train(bool on = true);
  void eval();
  virtual bool is_training() const noexcept;
  // All parameters and buffers, those of integers too.
  virtual void to(Device device, ScalarType dtype, bool non_blocking = false);
  virtual void to(ScalarType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  virtual void zero_grad(bool set_to_none = true);

  virtual void save(serialize::OutputArchive& archive) const;
  // Errors: entries that are missing or have other shapes, all of them listed; nothing has been loaded then.
  virtual void load(serialize::InputArchive& archive);
  // Prints this module only; operator<< prints the tree.
  virtual void pretty_print(std::ostream& stream) const;
  virtual bool is_serializable() const;

  // This module as a ModuleType (or as what a holder holds), else null.
  template <class ModuleType> typename ModuleType::ContainedType* as() noexcept { return as<typename ModuleType::ContainedType>(); }
  template <class ModuleType> const typename ModuleType::ContainedType* as() const noexcept { return as<typename ModuleType::ContainedType>(); }
  template <class ModuleType, class = std::enable_if_t<std::is_base_of<Module, ModuleType>::value>> ModuleType* as() noexcept {
    return dynamic_cast<ModuleType*>(this);
  }
  template <class ModuleType, class = std::enable_if_t<std::is_base_of<Module, ModuleType>::value>> const ModuleType* as() const noexcept {
    return dynamic_cast<const ModuleType*>(this);
  }

  // Errors of all registrations: an empty name, one with a dot, one that is taken.
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor tensor);
  template <class ModuleType> std::shared_ptr<ModuleType> register_module(std::string name, std::shared_ptr<ModuleType> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class ModuleType> std::shared_ptr<ModuleType> register_module(std::string name, ModuleHolder<ModuleType> holder) {
    return register_module(std::move(name), holder.ptr());
  }
  template <class ModuleType> std::shared_ptr<ModuleType> replace_module(const std::string& name, std::shared_ptr<ModuleType> module) {
    set_child(name, module);
    return module;
  }
  template <class ModuleType> std::shared_ptr<ModuleType> replace_module(const std::string& name, ModuleHolder<ModuleType> holder) {
    return replace_module(name, holder.ptr());
  }
  void unregister_module(const std::string& name);
  void unregister_parameter(const std::string& name);
  void unregister_buffer(const std::string& name);

  // Hooks run in the order of registration, those for all modules (cresset/nn/module/hooks.h) first. Those of backward get undefined tensors
  // where there is no gradient. Copies of a module share none.
  RemovableHandle register_forward_pre_hook(ForwardPreHook hook);
  RemovableHandle register_forward_hook(ForwardHook hook);
  RemovableHandle register_full_backward_pre_hook(BackwardPreHook hook);
  RemovableHandle register_full_backward_hook(BackwardHook hook);

 protected:
  virtual void clone_(Module& other, const std::optional<Device>& device);
  // Makes `copy`, a fresh module of the same class after its reset(), equal to this one.
  void copy_state_to(Module& copy, const std::optional<Device>& device) const;
  // Drops what a copy-constructed module shares with its source, before reset() makes its own.
  void clear_state();

  OrderedDict<std::string, Tensor> parameters_{"Parameter"};
  OrderedDict<std::string, Tensor> buffers_{"Buffer"};
  OrderedDict<std::string, std::shared_ptr<Module>> children_{"Submodule"};

 private:
  friend class detail::CloneableBase;
  friend struct detail::HookedCall;
  friend CRESSET_API void detail::add_module_path(Error& error, const Module& module);
  friend CRESSET_API std::ostream& operator<<(std::ostream& stream, const Module& module);

  void add_child(std::string name, std::shared_ptr<Module> module);
  void set_child(const std::string& name, std::shared_ptr<Module> module);
  CRESSET_LOCAL void visit_children(const std::string& prefix, const NamedModulePointerApplyFunction& function) const;
  CRESSET_LOCAL void read_state(serialize::InputArchive& archive);
  CRESSET_LOCAL void print_tree(std::ostream& stream, const std::string& indentation) const;
  CRESSET_LOCAL std::shared_ptr<Module> shared_self() const;

  mutable std::string name_;
  std::string registered_name_;
  bool is_training_ = true;
  std::shared_ptr<void> hooks_;  // detail::Hooks
};

namespace detail {

// One call of a module that has hooks.
struct CRESSET_API HookedCall {
  static bool wanted(const Module& module) { return module.hooks_ || any_global; }
  explicit HookedCall(Module& m) : module(m) {}
  void before();
  void after();

  Module& module;
  std::vector<Tensor> inputs, outputs;

  static bool any_global;

 private:
  std::shared_ptr<void> backward_;  // HookedBackward
};

inline void note_tensor(std::vector<Tensor>& list, const Tensor& t) { list.push_back(t); }
template <class T> void note_tensor(std::vector<Tensor>&, const T&) {}
template <class... T> void note_tensor(std::vector<Tensor>& list, const std::tuple<T...>& values) {
  std::apply([&](const auto&... one) { (note_tensor(list, one), ...); }, values);
}
inline void replace_tensors(const std::vector<Tensor>& list, size_t& next, Tensor& value) { value = list[next++]; }
template <class T> void replace_tensors(const std::vector<Tensor>&, size_t&, T&) {}
template <class... T> void replace_tensors(const std::vector<Tensor>& list, size_t& next, std::tuple<T...>& values) {
  std::apply([&](auto&... one) { (replace_tensors(list, next, one), ...); }, values);
}

// module.forward(args...), with the hooks of the module around it.
template <class M, class... Args> auto call_hooked(M& module, Args... args) {
  HookedCall call(module);
  (note_tensor(call.inputs, args), ...);
  call.before();
  size_t next = 0;
  (replace_tensors(call.inputs, next, args), ...);
  auto output = module.forward(std::move(args)...);
  note_tensor(call.outputs, output);
  call.after();
  next = 0;
  replace_tensors(call.outputs, next, output);
  return output;
}

}  // namespace detail

CRESSET_API std::ostream& operator<<(std::ostream& stream, const Module& module);

CRESSET_API serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const std::shared_ptr<Module>& module);
CRESSET_API serialize::InputArchive& operator>>(serialize::InputArchive& archive, const std::shared_ptr<Module>& module);

}  // namespace nn
}  // namespace cresset
