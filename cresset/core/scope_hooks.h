#pragma once
// How programs that run in a room above tell the profile room of their functions; a part of `hooks.h` that few files need.

#include <atomic>
#include <string_view>

#include "cresset/base/macros.h"

namespace cresset {

// Null while nothing is recorded or observed, which costs those who ask one load.
struct ScopeHooks {
  // A function of a program begins in this thread; the result is given to `ends`.
  void* (*begins)(std::string_view name);
  void (*ends)(void* scope);
};
CRESSET_API extern std::atomic<const ScopeHooks*> g_scope_hooks;

// From here to the end of the block a function of a program runs.
class ScopeOfFunction {
 public:
  explicit ScopeOfFunction(std::string_view name) : hooks_(g_scope_hooks.load(std::memory_order_acquire)) {
    if (CRESSET_UNLIKELY(hooks_ != nullptr)) scope_ = hooks_->begins(name);
  }
  ~ScopeOfFunction() {
    if (CRESSET_UNLIKELY(hooks_ != nullptr)) hooks_->ends(scope_);
  }
  ScopeOfFunction(const ScopeOfFunction&) = delete;
  ScopeOfFunction& operator=(const ScopeOfFunction&) = delete;

 private:
  const ScopeHooks* hooks_;
  void* scope_ = nullptr;
};

}  // namespace cresset
