#include "cresset/nn/module/cloneable.h"

namespace cresset::nn::detail {

std::shared_ptr<Module> CloneableBase::clone(const std::optional<Device>& device) const {
  const std::shared_ptr<CloneableBase> copy = duplicate();
  Module& base = *copy;
  base.clear_state();
  copy->reset();  // draws random numbers that are written over, as in LibTorch: what a program draws afterwards depends on it
  copy_state_to(base, device);
  return copy;
}

void CloneableBase::clone_(Module& other, const std::optional<Device>& device) { assign(*other.clone(device)); }

void throw_wrong_clone(const Module& from, const Module& to) {
  CRESSET_CHECK(false, "clone: attempted to clone a submodule of type ", from.name(), " into one of type ", to.name());
  __builtin_unreachable();
}

}  // namespace cresset::nn::detail
