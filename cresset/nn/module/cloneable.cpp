#include "cresset/nn/module/cloneable.h"

#include "cresset/core/random/generator_scope.h"

namespace cresset::nn::detail {

std::shared_ptr<Module> CloneableBase::clone(const std::optional<Device>& device) const {
  const std::shared_ptr<CloneableBase> copy = duplicate();
  Module& base = *copy;
  base.clear_state();
  {
    // Draws of reset() are written over: a copy leaves the stream of random numbers as it is, as in Python.
    DefaultGeneratorScope scope(copy_of_default_generator());
    copy->reset();
  }
  copy_state_to(base, device);
  return copy;
}

void CloneableBase::clone_(Module& other, const std::optional<Device>& device) { assign(*other.clone(device)); }

void throw_wrong_clone(const Module& from, const Module& to) {
  CRESSET_CHECK(false, "clone: attempted to clone a submodule of type ", from.name(), " into one of type ", to.name());
  __builtin_unreachable();
}

}  // namespace cresset::nn::detail
