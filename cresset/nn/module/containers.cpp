#include "cresset/nn/module/containers.h"

#include <ostream>

namespace cresset::nn {

SequentialImpl::SequentialImpl(OrderedDict<std::string, AnyModule>&& modules) {
  for (auto& item : modules) push_back(item.key(), std::move(item.value()));
}
SequentialImpl::SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
  for (const NamedAnyModule& named : modules) push_back(named.name(), named.module());
}
SequentialImpl::~SequentialImpl() = default;

std::shared_ptr<Module> SequentialImpl::clone(const std::optional<Device>& device) const {
  auto clone = std::make_shared<SequentialImpl>();
  for (size_t i = 0; i < modules_.size(); i++) clone->push_back(children_[i].key(), modules_[i].clone(device));
  clone->train(is_training());
  return clone;
}
void SequentialImpl::reset() {}
void SequentialImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::Sequential"; }

void SequentialImpl::push_back(std::string name, AnyModule module) {
  register_module(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}

Tensor SequentialImpl::forward_tensor(Tensor input) {
  CRESSET_CHECK(!modules_.empty(), "Cannot call forward() on an empty Sequential");
  for (size_t i = 0; i < modules_.size(); i++) {
    detail::AnyModulePlaceholder& module = *modules_[i].content_;
    try {
      if (!module.maps_tensor && i + 1 < modules_.size()) {
        // From here on values of other types may flow.
        std::vector<AnyValue> values;
        values.emplace_back(std::move(input));
        AnyValue value = module.forward(std::move(values));
        if (Tensor* tensor = value.try_get<Tensor>()) {
          input = std::move(*tensor);
          continue;
        }
        for (size_t j = i + 1; j < modules_.size(); j++) value = modules_[j].any_forward(std::move(value));
        return value.get<Tensor>();
      }
      input = module.forward_tensor(input);
    } catch (Error& error) {
      detail::add_module_path(error, *module.ptr());
      throw;
    }
  }
  return input;
}

AnyValue SequentialImpl::forward_values(std::vector<AnyValue>&& inputs) {
  CRESSET_CHECK(!modules_.empty(), "Cannot call forward() on an empty Sequential");
  for (size_t i = 0;; i++) {
    detail::AnyModulePlaceholder& module = *modules_[i].content_;
    try {
      AnyValue value = module.forward(std::move(inputs));
      if (i + 1 == modules_.size()) return value;
      inputs.clear();
      inputs.push_back(std::move(value));
    } catch (Error& error) {
      detail::add_module_path(error, *module.ptr());
      throw;
    }
  }
}

const AnyModule& SequentialImpl::module_at(size_t index) const {
  CRESSET_CHECK_INDEX(index < size(), "Sequential: Index out of range, got ", index, " for ", size(), " modules");
  return modules_[index];
}

void SequentialImpl::throw_result(const std::type_info& got, const std::type_info& wanted) const { detail::throw_result_type(got, wanted); }

ModuleListImpl::~ModuleListImpl() = default;

std::shared_ptr<Module> ModuleListImpl::clone(const std::optional<Device>& device) const {
  auto clone = std::make_shared<ModuleListImpl>();
  for (const auto& module : modules_) clone->push_back(module->clone(device));
  clone->train(is_training());
  return clone;
}
void ModuleListImpl::reset() {}
void ModuleListImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::ModuleList"; }

void ModuleListImpl::push_back(std::shared_ptr<Module> module) {
  register_module(std::to_string(modules_.size()), module);
  modules_.push_back(std::move(module));
}

void ModuleListImpl::insert(size_t index, std::shared_ptr<Module> module) {
  CRESSET_CHECK_INDEX(index <= size(), "ModuleList: Index out of range, got ", index, " for ", size(), " modules");
  modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(index), std::move(module));
  for (size_t i = index; i + 1 < size(); i++) replace_module(std::to_string(i), modules_[i]);
  register_module(std::to_string(size() - 1), modules_.back());
}

std::shared_ptr<Module> ModuleListImpl::ptr(size_t index) const {
  CRESSET_CHECK_INDEX(index < size(), "ModuleList: Index out of range, got ", index, " for ", size(), " modules");
  return modules_[index];
}

ModuleDictImpl::ModuleDictImpl(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) { update(modules); }
ModuleDictImpl::ModuleDictImpl(const OrderedDict<std::string, std::shared_ptr<Module>>& modules) { update(modules); }
ModuleDictImpl::~ModuleDictImpl() = default;
std::vector<std::pair<std::string, std::shared_ptr<Module>>> ModuleDictImpl::items() const { return children_.pairs(); }
std::vector<std::string> ModuleDictImpl::keys() const { return children_.keys(); }
std::vector<std::shared_ptr<Module>> ModuleDictImpl::values() const { return children_.values(); }

std::shared_ptr<Module> ModuleDictImpl::clone(const std::optional<Device>& device) const {
  auto clone = std::make_shared<ModuleDictImpl>();
  for (const auto& item : children_) clone->put(item.key(), item.value()->clone(device));
  clone->train(is_training());
  return clone;
}
void ModuleDictImpl::reset() {}
void ModuleDictImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::ModuleDict"; }

std::shared_ptr<Module> ModuleDictImpl::pop(const std::string& key) {
  auto module = children_[key];
  unregister_module(key);
  return module;
}

void ModuleDictImpl::put(const std::string& key, const std::shared_ptr<Module>& module) {
  if (children_.contains(key)) replace_module(key, module);
  else register_module(key, module);
}
void ModuleDictImpl::update(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
  for (const auto& item : modules) put(item.first, item.second);
}
void ModuleDictImpl::update(const OrderedDict<std::string, std::shared_ptr<Module>>& modules) {
  for (const auto& item : modules) put(item.key(), item.value());
}

namespace {

void print_parameter(std::ostream& stream, const std::string& key, const Tensor& param) {
  stream << "(" << key << "): Parameter containing: [" << toString(param.scalar_type()) << " of size [";
  for (int64_t i = 0; i < param.dim(); i++) stream << (i ? ", " : "") << param.size(i);
  stream << "]]";
}

}  // namespace

ParameterListImpl::~ParameterListImpl() = default;

const Tensor& ParameterListImpl::at(size_t index) const {
  CRESSET_CHECK_INDEX(index < size(), "ParameterList: Index out of range, got ", index, " for ", size(), " parameters");
  return parameters_[index].value();
}
Tensor& ParameterListImpl::at(size_t index) { return const_cast<Tensor&>(std::as_const(*this).at(index)); }
void ParameterListImpl::reset() {}
void ParameterListImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::ParameterList(\n";
  for (const auto& item : parameters_) {
    print_parameter(stream, item.key(), item.value());
    stream << '\n';
  }
  stream << ")";
}
void ParameterListImpl::append(const Tensor& param) { register_parameter(std::to_string(size()), param, param.requires_grad()); }

std::shared_ptr<Module> ParameterListImpl::clone(const std::optional<Device>& device) const {
  auto clone = std::make_shared<ParameterListImpl>();
  for (const auto& item : parameters_) clone->register_parameter(item.key(), item.value().detach(), item.value().requires_grad());
  copy_state_to(*clone, device);
  return clone;
}

ParameterDictImpl::ParameterDictImpl(const OrderedDict<std::string, Tensor>& params) {
  for (const auto& item : params) insert(item.key(), item.value());
}
ParameterDictImpl::~ParameterDictImpl() = default;
std::vector<std::string> ParameterDictImpl::keys() const { return parameters_.keys(); }
std::vector<Tensor> ParameterDictImpl::values() const { return parameters_.values(); }
void ParameterDictImpl::reset() {}
void ParameterDictImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::ParameterDict(\n";
  for (const auto& item : parameters_) {
    print_parameter(stream, item.key(), item.value());
    stream << '\n';
  }
  stream << ")";
}
Tensor& ParameterDictImpl::insert(const std::string& key, const Tensor& param) { return register_parameter(key, param, param.requires_grad()); }
Tensor ParameterDictImpl::pop(const std::string& key) {
  Tensor param = parameters_[key];
  parameters_.erase(key);
  return param;
}
std::shared_ptr<Module> ParameterDictImpl::clone(const std::optional<Device>& device) const {
  auto clone = std::make_shared<ParameterDictImpl>();
  for (const auto& item : parameters_) clone->register_parameter(item.key(), item.value().detach(), item.value().requires_grad());
  copy_state_to(*clone, device);
  return clone;
}

FunctionalImpl::FunctionalImpl(Function function) : function_(std::move(function)) {}
FunctionalImpl::~FunctionalImpl() = default;
void FunctionalImpl::reset() {}
void FunctionalImpl::pretty_print(std::ostream& stream) const { stream << "torch::nn::Functional()"; }
Tensor FunctionalImpl::forward(Tensor input) { return function_(std::move(input)); }

}  // namespace cresset::nn
