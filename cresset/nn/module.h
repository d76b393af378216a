#pragma once
// Module: parameters, buffers and child modules by name. Layers and networks derive from it (or from Cloneable) and add a `forward`.

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cresset/nn/archive.h"
#include "cresset/nn/ordered_dict.h"
#include "cresset/tensor.h"

namespace cresset {

extern template class CRESSET_API OrderedDict<std::string, Tensor>;

namespace nn {

template <class Contained> class ModuleHolder;
class Module;

namespace detail {
class CloneableBase;
// Puts the name under which `module` is registered before the message of an error that passes through it.
CRESSET_API void add_module_path(Error& error, const Module& module);
}  // namespace detail

}  // namespace nn

extern template class CRESSET_API OrderedDict<std::string, std::shared_ptr<nn::Module>>;

namespace nn {

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
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& name_prefix = std::string(),
                                                                  bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;

  virtual void train(bool on = true);
  void eval();
  virtual bool is_training() const noexcept;
  // Integer parameters and buffers keep their dtype.
  virtual void to(Device device, ScalarType dtype, bool non_blocking = false);
  virtual void to(ScalarType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  virtual void zero_grad(bool set_to_none = true);

  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);
  // Prints this module only; operator<< prints the tree.
  virtual void pretty_print(std::ostream& stream) const;
  virtual bool is_serializable() const;

  // This module as a ModuleType (or as what a holder holds), else null.
  template <class ModuleType>
  typename ModuleType::ContainedType* as() noexcept { return as<typename ModuleType::ContainedType>(); }
  template <class ModuleType>
  const typename ModuleType::ContainedType* as() const noexcept { return as<typename ModuleType::ContainedType>(); }
  template <class ModuleType, class = std::enable_if_t<std::is_base_of<Module, ModuleType>::value>>
  ModuleType* as() noexcept { return dynamic_cast<ModuleType*>(this); }
  template <class ModuleType, class = std::enable_if_t<std::is_base_of<Module, ModuleType>::value>>
  const ModuleType* as() const noexcept { return dynamic_cast<const ModuleType*>(this); }

  // Errors of all registrations: an empty name, one with a dot, one that is taken.
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor tensor);
  template <class ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name, std::shared_ptr<ModuleType> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name, ModuleHolder<ModuleType> holder) {
    return register_module(std::move(name), holder.ptr());
  }
  template <class ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string& name, std::shared_ptr<ModuleType> module) {
    set_child(name, module);
    return module;
  }
  template <class ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string& name, ModuleHolder<ModuleType> holder) {
    return replace_module(name, holder.ptr());
  }
  void unregister_module(const std::string& name);

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
  friend CRESSET_API void detail::add_module_path(Error& error, const Module& module);
  friend CRESSET_API std::ostream& operator<<(std::ostream& stream, const Module& module);

  void add_child(std::string name, std::shared_ptr<Module> module);
  void set_child(const std::string& name, std::shared_ptr<Module> module);
  void visit_children(const std::string& prefix, const NamedModulePointerApplyFunction& function) const;
  void print_tree(std::ostream& stream, const std::string& indentation) const;
  std::shared_ptr<Module> shared_self() const;

  mutable std::string name_;
  std::string registered_name_;
  bool is_training_ = true;
};

CRESSET_API std::ostream& operator<<(std::ostream& stream, const Module& module);

CRESSET_API serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const std::shared_ptr<Module>& module);
CRESSET_API serialize::InputArchive& operator>>(serialize::InputArchive& archive, const std::shared_ptr<Module>& module);

}  // namespace nn
}  // namespace cresset
