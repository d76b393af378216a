#pragma once
// A function that is called at the end of a block, and names of types as programs spell them.

#include <cxxabi.h>

#include <cstdlib>
#include <string>
#include <typeinfo>
#include <utility>

namespace cresset {

template <class F> class ScopeExit {
 public:
  explicit ScopeExit(F function) : function_(std::move(function)) {}
  ScopeExit(ScopeExit&& o) noexcept : function_(std::move(o.function_)), engaged_(std::exchange(o.engaged_, false)) {}
  ScopeExit& operator=(ScopeExit&&) = delete;
  ~ScopeExit() {
    if (engaged_) function_();
  }
  // The function is not called.
  void release() { engaged_ = false; }

 private:
  F function_;
  bool engaged_ = true;
};
template <class F> ScopeExit<std::decay_t<F>> make_scope_exit(F&& function) { return ScopeExit<std::decay_t<F>>(std::forward<F>(function)); }

// The text of a mangled name; the name itself where it is none.
inline std::string demangle(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const auto freed = make_scope_exit([text] { std::free(text); });
  return status == 0 && text ? text : name;
}
template <class T> const char* demangle_type() {
  static const std::string name = demangle(typeid(T).name());
  return name.c_str();
}

}  // namespace cresset
