#pragma once
#include <typeindex>

#include "torch/detail/library.h"
namespace c10::impl {
// The type of a kernel's function, whether it is a function, a pointer to one, or an object with operator().
class CppSignature {
 public:
  template <class F> static CppSignature make() {
    return CppSignature(typeid(typename cresset::dispatch::detail::FunctionTraits<std::remove_pointer_t<std::decay_t<F>>>::Fn));
  }
  std::string name() const { return type_.name(); }
  friend bool operator==(const CppSignature& a, const CppSignature& b) { return a.type_ == b.type_; }
  friend bool operator!=(const CppSignature& a, const CppSignature& b) { return !(a == b); }

 private:
  explicit CppSignature(std::type_index type) : type_(type) {}
  std::type_index type_;
};
}  // namespace c10::impl
