#pragma once
// Cloneable: gives a module class a `clone` by making its parameters anew with reset() and copying their values.

#include <memory>
#include <optional>

#include "cresset/nn/module.h"

namespace cresset::nn {

template <class Derived>
class Cloneable : public Module {
 public:
  using Module::Module;

  // (Re)makes parameters, buffers and children from the options.
  virtual void reset() = 0;

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override {
    auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
    Module& base = *copy;
    base.clear_state();
    copy->reset();
    copy_state_to(base, device);
    return copy;
  }

 private:
  void clone_(Module& other, const std::optional<Device>& device) final {
    auto clone = std::dynamic_pointer_cast<Derived>(other.clone(device));
    CRESSET_CHECK(clone != nullptr, "clone: attempted to clone a submodule of type ", other.name(), " into one of type ", name());
    static_cast<Derived&>(*this) = *clone;
  }
};

}  // namespace cresset::nn
