#pragma once
// TorchScript's names in C++. Programs in that language are not read: what would compile or load one raises.

#include <istream>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "torch/torch.h"

namespace torch::jit {

using c10::IValue;
using Stack = std::vector<IValue>;
using ExtraFilesMap = std::unordered_map<std::string, std::string>;

namespace detail {
[[noreturn]] inline void raise(const char* name) {
  cresset::detail::throw_error<cresset::NotImplementedError>(std::string("torch::jit::") + name +
                                                             ": TorchScript is not supported; build the model from modules");
}
}  // namespace detail

// Made by load() or compile() only, so that no object exists.
class Module {
 public:
  template <class... Args> IValue run_method(const std::string& name, Args&&...) { detail::raise(name.c_str()); }
  IValue forward(std::vector<IValue>) { detail::raise("Module::forward"); }
  void eval() { detail::raise("Module::eval"); }
  void train(bool = true) { detail::raise("Module::train"); }
  void to(Device, bool = false) { detail::raise("Module::to"); }
  void save(const std::string&, const ExtraFilesMap& = {}) const { detail::raise("Module::save"); }
};
namespace script {
using jit::Module;
}

class CompilationUnit {
 public:
  template <class... Args> IValue run_method(const std::string& name, Args&&...) { detail::raise(name.c_str()); }
};

inline std::shared_ptr<CompilationUnit> compile(const std::string&) { detail::raise("compile"); }
inline Module load(const std::string&, std::optional<Device> = {}) { detail::raise("load"); }
inline Module load(std::istream&, std::optional<Device> = {}) { detail::raise("load"); }

}  // namespace torch::jit
