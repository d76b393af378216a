#pragma once
// Where modules keep the tensors that their forward reads. A layer has a member beside the entry in its table of parameters; what puts
// another tensor in its place (parametrisations, pruning, functional_call) has to change both.

#include <string>
#include <type_traits>
#include <typeinfo>

#include "cresset/nn/module/pimpl.h"

namespace cresset::nn {

namespace detail {

using MemberGetter = Tensor* (*)(Module& module, const void* member);
CRESSET_API void declare_member(const std::type_info& type, const std::string& name, MemberGetter getter, const void* member, size_t size);
// Null: the class is none of ours, or has no such member, and none was declared.
CRESSET_API Tensor* find_member(Module& module, const std::string& name);

template <class M, class = void> struct HasWeight : std::false_type {};
template <class M> struct HasWeight<M, std::enable_if_t<std::is_same<decltype(std::declval<M&>().weight), Tensor>::value>> : std::true_type {};
template <class M, class = void> struct HasBias : std::false_type {};
template <class M> struct HasBias<M, std::enable_if_t<std::is_same<decltype(std::declval<M&>().bias), Tensor>::value>> : std::true_type {};

// The module behind a holder or a pointer.
template <class M> M& module_of(const std::shared_ptr<M>& module) { return *module; }
template <class M> M& module_of(const ModuleHolder<M>& holder) { return *holder.ptr(); }
template <class M, class = std::enable_if_t<std::is_base_of<Module, M>::value>> M& module_of(M& module) { return module; }

// Any class may have a weight and a bias.
template <class M> Tensor* member_of(M& module, const std::string& name) {
  if constexpr (HasWeight<M>::value)
    if (name == "weight") return &module.weight;
  if constexpr (HasBias<M>::value)
    if (name == "bias") return &module.bias;
  return find_member(module, name);
}

// The same, where the class is known no more.
template <class M> Tensor* member_of_module(Module& module, const std::string& name) { return member_of(static_cast<M&>(module), name); }

}  // namespace detail

// Says that a module of your class keeps what it registers as `name` in a member: declare_member("scale", &NetImpl::scale). Own layers are known.
template <class M> void declare_member(const std::string& name, Tensor M::*member) {
  detail::declare_member(
      typeid(M), name,
      [](Module& module, const void* place) {
        auto* own = dynamic_cast<M*>(&module);
        return own ? &(own->**static_cast<Tensor M::*const*>(place)) : nullptr;
      },
      &member, sizeof member);
}

}  // namespace cresset::nn
