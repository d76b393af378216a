#pragma once
// Modules of the lite interpreter, whose methods run bytecode.

#include "torch/script.h"

namespace torch::jit::mobile {

using jit::Method;

class Module {
 public:
  Module() = default;
  // A module as _load_for_mobile reads it, and the version of its bytecode.
  explicit Module(jit::Module module, int64_t bytecode_version) : module_(std::move(module)), bytecode_version_(bytecode_version) {}

  IValue forward(std::vector<IValue> inputs) const { return get_method("forward")(std::move(inputs)); }
  IValue operator()(std::vector<IValue> inputs) const { return forward(std::move(inputs)); }
  template <class... Args> IValue run_method(const std::string& name, Args&&... args) const { return get_method(name)({IValue(std::forward<Args>(args))...}); }
  // Errors: there is no such method.
  Method get_method(const std::string& name) const {
    const auto found = find_method(name);
    TORCH_CHECK(found.has_value(), "Method '", name, "' is not defined.");
    return *found;
  }
  std::optional<Method> find_method(const std::string& name) const { return module_.find_method(name); }
  std::vector<Method> get_methods() const { return module_.get_methods(); }

  std::string name() const { return module_.type()->name; }
  const std::vector<IValue>& slots() const { return module_.object().slots(); }
  IValue attr(const std::string& name, IValue otherwise) const { return module_.attr(name, std::move(otherwise)); }
  c10::intrusive_ptr<cresset::dispatch::Object> _ivalue() const { return *module_._ivalue().object(); }
  // The tensors of this module and of those within it; files do not say which of them are parameters.
  std::vector<at::Tensor> parameters() const {
    std::vector<at::Tensor> out;
    each_tensor(module_.object(), "", [&](const std::string&, const at::Tensor& t) { out.push_back(t); });
    return out;
  }
  std::map<std::string, at::Tensor> named_parameters() const {
    std::map<std::string, at::Tensor> out;
    each_tensor(module_.object(), "", [&](const std::string& name, const at::Tensor& t) { out.emplace(name, t); });
    return out;
  }
  void train(bool on = true) {
    if (module_.hasattr("training")) module_.setattr("training", on);
  }
  void eval() { train(false); }
  bool is_training() const { return module_.is_training(); }
  int64_t bytecode_version() const { return bytecode_version_; }

 private:
  static void each_tensor(cresset::graph::script::ScriptObject& object, const std::string& prefix,
                          const std::function<void(const std::string&, const at::Tensor&)>& visit) {
    for (const auto& attribute : object.cls->attributes) {
      const IValue value = object.slot(attribute.name);
      if (value.isTensor()) visit(prefix + attribute.name, value.toTensor());
      else if (auto* inner = cresset::graph::script::object_of(value)) each_tensor(*inner, prefix + attribute.name + ".", visit);
    }
  }

  jit::Module module_;
  int64_t bytecode_version_ = 0;
};

}  // namespace torch::jit::mobile
