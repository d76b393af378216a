#pragma once
// Cloneable: gives a module class a `clone` by making its parameters anew with reset() and copying their values.

#include <memory>
#include <optional>

#include "cresset/nn/module/module.h"

namespace cresset::nn {

namespace detail {

// The part of cloning that is the same for every class.
class CRESSET_API CloneableBase : public Module {
 public:
  using Module::Module;

  // (Re)makes parameters, buffers and children from the options.
  virtual void reset() = 0;

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;

 private:
  virtual std::shared_ptr<CloneableBase> duplicate() const = 0;
  // Errors: `other` is of another class.
  virtual void assign(const Module& other) = 0;
  void clone_(Module& other, const std::optional<Device>& device) final;
};

[[noreturn]] CRESSET_API void throw_wrong_clone(const Module& from, const Module& to);

}  // namespace detail

template <class Derived> class CRESSET_API Cloneable : public detail::CloneableBase {
 public:
  using detail::CloneableBase::CloneableBase;

 private:
  std::shared_ptr<detail::CloneableBase> duplicate() const override;
  void assign(const Module& other) override;
};

template <class Derived> std::shared_ptr<detail::CloneableBase> Cloneable<Derived>::duplicate() const {
  return std::shared_ptr<CloneableBase>(static_cast<CloneableBase*>(new Derived(static_cast<const Derived&>(*this))));
}
template <class Derived> void Cloneable<Derived>::assign(const Module& other) {
  auto* same = dynamic_cast<const Derived*>(&other);
  if (!same) detail::throw_wrong_clone(other, *this);
  static_cast<Derived&>(*this) = *same;
}

}  // namespace cresset::nn
