#include "cresset/nn/module/module.h"

#include <cxxabi.h>

#include <cstdlib>
#include <ostream>
#include <string_view>
#include <typeinfo>

#include "cresset/base/warning.h"
#include "cresset/nn/module/archive_contents.h"
#include "cresset/nn/module/hooks.h"
#include "cresset/nn/module/pimpl.h"

namespace cresset {

template class OrderedDict<std::string, std::shared_ptr<nn::Module>>;

namespace nn {

namespace {

std::string demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : name;
  std::free(text);
  // Models print as programs written for LibTorch expect it, whichever name their headers use.
  const std::string_view own = "cresset::nn::";
  if (result.compare(0, own.size(), own) == 0) result.replace(0, own.size(), "torch::nn::");
  return result;
}

std::string join_name(const std::string& prefix, const std::string& name) { return prefix.empty() ? name : prefix + "." + name; }

void check_name(const char* what, const std::string& name) {
  CRESSET_CHECK(!name.empty(), what, " name must not be empty");
  CRESSET_CHECK(name.find('.') == std::string::npos, what, " name must not contain a dot (got '", name, "')");
}

void move_tensor(Tensor& tensor, std::optional<Device> device, std::optional<ScalarType> dtype, bool non_blocking) {
  if (!tensor.defined()) return;
  TensorOptions options = tensor.options().requires_grad(std::nullopt);
  if (device) options = options.device(*device);
  if (dtype) options = options.dtype(*dtype);
  Tensor grad = tensor.grad();
  if (grad.defined()) tensor.mutable_grad().reset();
  tensor.set_data(tensor.detach().to(options, non_blocking));
  if (grad.defined()) {
    const bool grad_requires_grad = grad.requires_grad();
    tensor.mutable_grad() = grad.detach().to(options, non_blocking).set_requires_grad(grad_requires_grad);
  }
}

}  // namespace

namespace detail {

void add_module_path(Error& error, const Module& module) {
  if (!module.registered_name_.empty()) error.add_module(module.registered_name_);
}
void throw_empty_holder() { cresset::detail::throw_error<Error>("module: Accessing empty ModuleHolder (made from nullptr), assign a module before using it"); }

}  // namespace detail

Module::Module(std::string name) : name_(std::move(name)) {}
Module::Module() = default;
Module::Module(const Module&) = default;
Module& Module::operator=(const Module&) = default;
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;
Module::~Module() = default;

const std::string& Module::name() const noexcept {
  // The class is not known yet in our constructor.
  if (name_.empty()) name_ = demangled(typeid(*this).name());
  return name_;
}

std::shared_ptr<Module> Module::clone(const std::optional<Device>&) const {
  CRESSET_CHECK(false, "clone() has not been implemented by ", name(), ", derive it from cresset::nn::Cloneable<", name(), "> instead of Module");
}

void Module::clone_(Module&, const std::optional<Device>&) {
  CRESSET_CHECK(false, "clone() has not been implemented for submodule ", name(), ", derive it from cresset::nn::Cloneable");
}

void Module::clear_state() {
  parameters_.clear();
  buffers_.clear();
  children_.clear();
  hooks_.reset();
}

void Module::copy_state_to(Module& copy, const std::optional<Device>& device) const {
  auto check_count = [&](const char* what, size_t got, size_t expected) {
    CRESSET_CHECK(got == expected, "clone: ", name(), " has ", expected, " ", what, " but its copy has ", got, " after reset(); register them in reset()");
  };
  check_count("parameters", copy.parameters_.size(), parameters_.size());
  check_count("buffers", copy.buffers_.size(), buffers_.size());
  check_count("submodules", copy.children_.size(), children_.size());
  NoGradGuard guard;
  auto copy_tensor = [&](Tensor& to, const Tensor& from) {
    if (!from.defined()) {
      to = Tensor();
      return;
    }
    Tensor data = device && from.device() != *device ? from.detach().to(*device) : from.detach().clone();
    if (to.defined()) to.set_data(data);
    else to = data.set_requires_grad(from.requires_grad());
  };
  for (const auto& item : parameters_) copy_tensor(copy.parameters_[item.key()], item.value());
  for (const auto& item : buffers_) copy_tensor(copy.buffers_[item.key()], item.value());
  for (const auto& item : children_) copy.children_[item.key()]->clone_(*item.value(), device);
  copy.is_training_ = is_training_;
}

std::shared_ptr<Module> Module::shared_self() const {
  auto self = std::const_pointer_cast<Module>(weak_from_this().lock());
  CRESSET_CHECK(self != nullptr, "It looks like you attempted to retrieve your top-level module as a shared_ptr, but ", name(), " is not held by one; ",
                "make it with std::make_shared, or call modules() with include_self = false");
  return self;
}

void Module::visit_children(const std::string& prefix, const NamedModulePointerApplyFunction& function) const {
  for (const auto& child : children_) {
    const std::string name = join_name(prefix, child.key());
    function(name, child.value());
    child.value()->visit_children(name, function);
  }
}

void Module::apply(const ModuleApplyFunction& function) {
  function(*this);
  visit_children("", [&](const std::string&, const std::shared_ptr<Module>& module) { function(*module); });
}
void Module::apply(const ConstModuleApplyFunction& function) const {
  function(*this);
  visit_children("", [&](const std::string&, const std::shared_ptr<Module>& module) { function(*module); });
}
void Module::apply(const NamedModuleApplyFunction& function, const std::string& name_prefix) {
  function(name_prefix, *this);
  visit_children(name_prefix, [&](const std::string& name, const std::shared_ptr<Module>& module) { function(name, *module); });
}
void Module::apply(const ConstNamedModuleApplyFunction& function, const std::string& name_prefix) const {
  function(name_prefix, *this);
  visit_children(name_prefix, [&](const std::string& name, const std::shared_ptr<Module>& module) { function(name, *module); });
}
void Module::apply(const ModulePointerApplyFunction& function) const {
  function(shared_self());
  visit_children("", [&](const std::string&, const std::shared_ptr<Module>& module) { function(module); });
}
void Module::apply(const NamedModulePointerApplyFunction& function, const std::string& name_prefix) const {
  function(name_prefix, shared_self());
  visit_children(name_prefix, function);
}

std::vector<Tensor> Module::parameters(bool recurse) const {
  std::vector<Tensor> all;
  auto add = [&](const Module& module) {
    for (const auto& item : module.parameters_)
      if (item.value().defined()) all.push_back(item.value());
  };
  add(*this);
  if (recurse) visit_children("", [&](const std::string&, const std::shared_ptr<Module>& module) { add(*module); });
  return all;
}

OrderedDict<std::string, Tensor> Module::named_parameters(bool recurse) const {
  OrderedDict<std::string, Tensor> all("Parameter");
  auto add = [&](const std::string& prefix, const Module& module) {
    for (const auto& item : module.parameters_)
      if (item.value().defined()) all.insert(join_name(prefix, item.key()), item.value());
  };
  add("", *this);
  if (recurse) visit_children("", [&](const std::string& name, const std::shared_ptr<Module>& module) { add(name, *module); });
  return all;
}

std::vector<Tensor> Module::buffers(bool recurse) const {
  std::vector<Tensor> all;
  auto add = [&](const Module& module) {
    for (const auto& item : module.buffers_)
      if (item.value().defined()) all.push_back(item.value());
  };
  add(*this);
  if (recurse) visit_children("", [&](const std::string&, const std::shared_ptr<Module>& module) { add(*module); });
  return all;
}

OrderedDict<std::string, Tensor> Module::named_buffers(bool recurse) const {
  OrderedDict<std::string, Tensor> all("Buffer");
  auto add = [&](const std::string& prefix, const Module& module) {
    for (const auto& item : module.buffers_)
      if (item.value().defined()) all.insert(join_name(prefix, item.key()), item.value());
  };
  add("", *this);
  if (recurse) visit_children("", [&](const std::string& name, const std::shared_ptr<Module>& module) { add(name, *module); });
  return all;
}

std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  std::vector<std::shared_ptr<Module>> all;
  if (include_self) all.push_back(shared_self());
  visit_children("", [&](const std::string&, const std::shared_ptr<Module>& module) { all.push_back(module); });
  return all;
}

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& name_prefix, bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> all("Submodule");
  if (include_self) all.insert(name_prefix, shared_self());
  visit_children(name_prefix, [&](const std::string& name, const std::shared_ptr<Module>& module) { all.insert(name, module); });
  return all;
}

std::vector<std::shared_ptr<Module>> Module::children() const { return children_.values(); }
OrderedDict<std::string, std::shared_ptr<Module>> Module::named_children() const { return children_; }

void Module::train(bool on) {
  for (auto& child : children_) child.value()->train(on);
  is_training_ = on;
}
void Module::eval() { train(false); }
bool Module::is_training() const noexcept { return is_training_; }

void Module::to(Device device, ScalarType dtype, bool non_blocking) {
  for (auto& child : children_) child.value()->to(device, dtype, non_blocking);
  for (auto& item : parameters_) move_tensor(item.value(), device, dtype, non_blocking);
  for (auto& item : buffers_) move_tensor(item.value(), device, dtype, non_blocking);
}
void Module::to(ScalarType dtype, bool non_blocking) {
  for (auto& child : children_) child.value()->to(dtype, non_blocking);
  for (auto& item : parameters_) move_tensor(item.value(), std::nullopt, dtype, non_blocking);
  for (auto& item : buffers_) move_tensor(item.value(), std::nullopt, dtype, non_blocking);
}
void Module::to(Device device, bool non_blocking) {
  for (auto& child : children_) child.value()->to(device, non_blocking);
  for (auto& item : parameters_) move_tensor(item.value(), device, std::nullopt, non_blocking);
  for (auto& item : buffers_) move_tensor(item.value(), device, std::nullopt, non_blocking);
}

void Module::zero_grad(bool set_to_none) {
  for (auto& child : children_) child.value()->zero_grad(set_to_none);
  for (auto& item : parameters_) {
    if (!item.value().defined()) continue;
    Tensor& grad = item.value().mutable_grad();
    if (!grad.defined()) continue;
    if (set_to_none) {
      grad.reset();
      continue;
    }
    grad = grad.detach();
    grad.zero_();
  }
}

void Module::save(serialize::OutputArchive& archive) const {
  for (const auto& item : parameters_)
    if (item.value().defined()) archive.write(item.key(), item.value());
  for (const auto& item : buffers_)
    if (item.value().defined()) archive.write(item.key(), item.value(), true);
  for (const auto& item : children_) {
    if (!item.value()->is_serializable()) continue;
    serialize::OutputArchive nested;
    item.value()->save(nested);
    archive.write(item.key(), nested);
  }
}

void Module::load(serialize::InputArchive& archive) {
  // Everything is looked at first: the state of another model changes nothing.
  serialize::LoadProblems problems;
  if (archive.look_only(&problems)) {
    read_state(archive);
    archive.look_only(nullptr);
    const auto listed = [](const char* what, const std::vector<std::string>& names, const char* quote) {
      std::string text;
      for (const std::string& name : names) text += (text.empty() ? what : ", ") + (quote + name + quote);
      return text;
    };
    CRESSET_CHECK(problems.missing.empty() && problems.wrong.empty(), "load: the archive is not the state of ", name(),
                  listed("; No such serialized tensor ", problems.missing, "'"), listed("; of another shape: ", problems.wrong, ""));
  }
  read_state(archive);
}

void Module::read_state(serialize::InputArchive& archive) {
  for (auto& item : parameters_)
    if (item.value().defined()) archive.read(item.key(), item.value());
  for (auto& item : buffers_)
    if (item.value().defined()) archive.read(item.key(), item.value(), true);
  for (const auto& item : children_) {
    if (!item.value()->is_serializable()) continue;
    serialize::InputArchive nested;
    archive.read(item.key(), nested);
    item.value()->load(nested);
  }
}

bool Module::is_serializable() const { return true; }
void Module::pretty_print(std::ostream& stream) const { stream << name(); }

Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  check_name("Parameter", name);
  if (tensor.defined()) tensor.set_requires_grad(requires_grad);
  else if (requires_grad) warn(str("register_parameter: '", name, "' is an undefined tensor. Ignoring the `requires_grad=true` function parameter"));
  detail::run_registration_hooks(*this, name, tensor, false);
  return parameters_.insert(std::move(name), std::move(tensor));
}

Tensor& Module::register_buffer(std::string name, Tensor tensor) {
  check_name("Buffer", name);
  detail::run_registration_hooks(*this, name, tensor, true);
  return buffers_.insert(std::move(name), std::move(tensor));
}

void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_name("Submodule", name);
  detail::run_registration_hooks(*this, name, module);
  if (module) module->registered_name_ = name;
  children_.insert(std::move(name), std::move(module));
}

void Module::set_child(const std::string& name, std::shared_ptr<Module> module) {
  if (module) module->registered_name_ = name;
  children_[name] = std::move(module);
}

void Module::unregister_module(const std::string& name) {
  CRESSET_CHECK(children_.contains(name), "No Module with name `", name, "` is registered with ", this->name());
  children_.erase(name);
}

void Module::unregister_parameter(const std::string& name) {
  CRESSET_CHECK(parameters_.contains(name), "unregister_parameter: ", this->name(), " has no parameter named '", name, "'");
  parameters_.erase(name);
}

void Module::unregister_buffer(const std::string& name) {
  CRESSET_CHECK(buffers_.contains(name), "unregister_buffer: ", this->name(), " has no buffer named '", name, "'");
  buffers_.erase(name);
}

void Module::print_tree(std::ostream& stream, const std::string& indentation) const {
  pretty_print(stream);
  if (children_.is_empty()) return;
  stream << "(\n";
  const std::string inner = indentation + "  ";
  for (const auto& child : children_) {
    stream << inner << "(" << child.key() << "): ";
    child.value()->print_tree(stream, inner);
    stream << '\n';
  }
  stream << indentation << ")";
}

std::ostream& operator<<(std::ostream& stream, const Module& module) {
  module.print_tree(stream, "");
  return stream;
}

serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const std::shared_ptr<Module>& module) {
  CRESSET_CHECK(module != nullptr, "save: the module is empty");
  module->save(archive);
  return archive;
}

serialize::InputArchive& operator>>(serialize::InputArchive& archive, const std::shared_ptr<Module>& module) {
  CRESSET_CHECK(module != nullptr, "load: the module is empty");
  module->load(archive);
  return archive;
}

}  // namespace nn
}  // namespace cresset
