#pragma once
// ModuleHolder: value-like handles on shared modules. CRESSET_MODULE(Net) makes `Net` from `NetImpl`.

#include <iosfwd>
#include <memory>
#include <type_traits>
#include <utility>

#include "cresset/nn/module/module.h"

namespace cresset::nn {

namespace detail {

struct ModuleHolderIndicator {};
template <class T> constexpr bool is_module_holder = std::is_base_of<ModuleHolderIndicator, std::decay_t<T>>::value;
// Whether arguments make a module, and are not one holder or pointer that a holder copies. Most classes are never asked whether they convert.
template <class Contained, class Head, class... Tail> constexpr bool makes_module() {
  if constexpr (sizeof...(Tail) > 0) return true;
  else if constexpr (__is_base_of(ModuleHolder<Contained>, std::remove_cv_t<std::remove_reference_t<Head>>)) return false;
  else return !std::is_convertible<Head, std::shared_ptr<Contained>>::value;
}
template <class T> constexpr bool is_module = std::is_base_of<Module, std::decay_t<T>>::value;
[[noreturn]] CRESSET_API void throw_empty_holder();

// A std::shared_ptr<Contained> that costs the compiler nothing until it is asked for one.
template <class Contained> class SharedModule {
 public:
  SharedModule() = default;
  SharedModule(std::nullptr_t) {}
  SharedModule(std::shared_ptr<Contained> module) : module_(std::move(module)) {}
  explicit SharedModule(Contained* fresh) : module_(static_cast<Module*>(fresh)) {}

  Contained* get() const { return static_cast<Contained*>(module_.get()); }
  Contained* operator->() const { return get(); }
  Contained& operator*() const { return *get(); }
  explicit operator bool() const { return module_ != nullptr; }
  operator std::shared_ptr<Contained>() const { return std::static_pointer_cast<Contained>(module_); }

 private:
  std::shared_ptr<Module> module_;
};

// Whether a class can be made from nothing, also where its default constructor is deleted by hand.
template <class Contained> Contained* default_module() {
  static_assert(std::is_default_constructible<Contained>::value, "this module has no default constructor: give its options, or nullptr for an empty holder");
  return new Contained();
}

}  // namespace detail

template <class Contained> class ModuleHolder : detail::ModuleHolderIndicator {
 public:
  using ContainedType = Contained;

  ModuleHolder() : impl_(detail::default_module<Contained>()) {}
  ModuleHolder(std::nullptr_t) : impl_(nullptr) {}
  template <class Head, class... Tail, class = std::enable_if_t<detail::makes_module<Contained, Head, Tail...>()>>
  explicit ModuleHolder(Head&& head, Tail&&... tail) : impl_(new Contained(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}
  ModuleHolder(std::shared_ptr<Contained> module) : impl_(std::move(module)) {}

  explicit operator bool() const noexcept { return !is_empty(); }
  Contained* operator->() { return get(); }
  const Contained* operator->() const { return get(); }
  Contained& operator*() { return *get(); }
  const Contained& operator*() const { return *get(); }
  // Errors of these three: the holder is empty.
  std::shared_ptr<Contained> ptr() const {
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
  bool is_empty() const noexcept { return impl_.get() == nullptr; }

  // Calls forward, and the hooks of the module.
  template <class... Args, class M = Contained> auto operator()(Args&&... args) -> decltype(std::declval<M&>().forward(std::forward<Args>(args)...)) {
    M& module = *get();
    try {
      if constexpr (!std::is_reference<decltype(module.forward(std::forward<Args>(args)...))>::value &&
                    !std::is_void<decltype(module.forward(std::forward<Args>(args)...))>::value) {
        if (CRESSET_UNLIKELY(detail::HookedCall::wanted(module))) return detail::call_hooked<M, std::decay_t<Args>...>(module, std::forward<Args>(args)...);
      }
      return module.forward(std::forward<Args>(args)...);
    } catch (Error& error) {
      detail::add_module_path(error, module);
      throw;
    }
  }
  // The holder may stand for its module as an argument: holder[0] and the like.
  template <class Arg> decltype(auto) operator[](Arg&& arg) { return (*get())[std::forward<Arg>(arg)]; }

 protected:
  detail::SharedModule<Contained> impl_;
};

template <class Contained> std::ostream& operator<<(std::ostream& stream, const ModuleHolder<Contained>& module) {
  return stream << static_cast<const Module&>(*module);
}
template <class Contained> serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const ModuleHolder<Contained>& module) {
  return archive << std::shared_ptr<Module>(module.ptr());
}
template <class Contained> serialize::InputArchive& operator>>(serialize::InputArchive& archive, ModuleHolder<Contained>& module) {
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
