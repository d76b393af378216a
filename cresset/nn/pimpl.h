#pragma once
// ModuleHolder: value-like handles on shared modules. CRESSET_MODULE(Net) makes `Net` from `NetImpl`.

#include <iosfwd>
#include <memory>
#include <type_traits>
#include <utility>

#include "cresset/nn/module.h"

namespace cresset::nn {

namespace detail {

struct ModuleHolderIndicator {};
template <class T>
constexpr bool is_module_holder = std::is_base_of<ModuleHolderIndicator, std::decay_t<T>>::value;
template <class T, class Contained>
constexpr bool is_module_holder_of = std::is_base_of<ModuleHolder<Contained>, std::decay_t<T>>::value;
template <class T>
constexpr bool is_module = std::is_base_of<Module, std::decay_t<T>>::value;
[[noreturn]] CRESSET_API void throw_empty_holder();

// Whether a class can be made from nothing, also where its default constructor is deleted by hand.
template <class Contained>
std::shared_ptr<Contained> default_module() {
  static_assert(std::is_default_constructible<Contained>::value,
                "this module has no default constructor: give its options, or nullptr for an empty holder");
  return std::make_shared<Contained>();
}

}  // namespace detail

template <class Contained>
class ModuleHolder : detail::ModuleHolderIndicator {
 public:
  using ContainedType = Contained;

  ModuleHolder() : impl_(detail::default_module<Contained>()) {}
  ModuleHolder(std::nullptr_t) : impl_(nullptr) {}
  template <class Head, class... Tail,
            class = std::enable_if_t<!(sizeof...(Tail) == 0 && (detail::is_module_holder_of<Head, Contained> ||
                                                                std::is_convertible<Head, std::shared_ptr<Contained>>::value))>>
  explicit ModuleHolder(Head&& head, Tail&&... tail)
      : impl_(new Contained(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}
  ModuleHolder(std::shared_ptr<Contained> module) : impl_(std::move(module)) {}

  explicit operator bool() const noexcept { return !is_empty(); }
  Contained* operator->() { return get(); }
  const Contained* operator->() const { return get(); }
  Contained& operator*() { return *get(); }
  const Contained& operator*() const { return *get(); }
  // Errors of these three: the holder is empty.
  const std::shared_ptr<Contained>& ptr() const {
    if (CRESSET_UNLIKELY(!impl_)) detail::throw_empty_holder();
    return impl_;
  }
  Contained* get() {
    if (CRESSET_UNLIKELY(!impl_)) detail::throw_empty_holder();
    return impl_.get();
  }
  const Contained* get() const {
    if (CRESSET_UNLIKELY(!impl_)) detail::throw_empty_holder();
    return impl_.get();
  }
  bool is_empty() const noexcept { return impl_ == nullptr; }

  // Calls forward.
  template <class... Args, class M = Contained>
  auto operator()(Args&&... args) -> decltype(std::declval<M&>().forward(std::forward<Args>(args)...)) {
    M& module = *get();
    try {
      return module.forward(std::forward<Args>(args)...);
    } catch (Error& error) {
      detail::add_module_path(error, module);
      throw;
    }
  }
  // The holder may stand for its module as an argument: holder[0] and the like.
  template <class Arg>
  decltype(auto) operator[](Arg&& arg) { return (*get())[std::forward<Arg>(arg)]; }

 protected:
  std::shared_ptr<Contained> impl_;
};

template <class Contained>
std::ostream& operator<<(std::ostream& stream, const ModuleHolder<Contained>& module) {
  return stream << static_cast<const Module&>(*module);
}
template <class Contained>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const ModuleHolder<Contained>& module) {
  return archive << std::shared_ptr<Module>(module.ptr());
}
template <class Contained>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, ModuleHolder<Contained>& module) {
  return archive >> std::shared_ptr<Module>(module.ptr());
}

}  // namespace cresset::nn

#define CRESSET_MODULE_IMPL(Name, ImplType)                    \
  class Name : public ::cresset::nn::ModuleHolder<ImplType> {  \
   public:                                                     \
    using ::cresset::nn::ModuleHolder<ImplType>::ModuleHolder; \
    using Impl = ImplType;                                     \
  }
#define CRESSET_MODULE(Name) CRESSET_MODULE_IMPL(Name, Name##Impl)
