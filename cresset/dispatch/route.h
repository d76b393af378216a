#pragma once
// Where a call is on its way through the layers, for those that look at that: boxed calls, handles, redispatch.

#include "cresset/dispatch/op.h"

namespace cresset::dispatch {

// Whether kernels that are registered for the autograd layer are called although nothing asks for gradients, as in LibTorch, where
// every tensor but those of inference mode takes part in it.
enum class SeesAutograd : uint8_t { unknown, yes, no };

struct Route {
  enum Passed : uint8_t { inplace_or_view = 1, backend_select = 2 };  // places between the layers that are behind it, or excluded
  uint8_t awake = 0, backend = 0, passed = 0;
  SeesAutograd autograd = SeesAutograd::unknown;
};

// A kernel that was registered at run time.
struct RegisteredKernel : Kernel {
  // A functor behind a function that takes it first, then the arguments of `signature`.
  AnyFn functor = nullptr;
  std::shared_ptr<void> state;
  bool fallthrough = false;  // stands for no kernel: what comes next runs
  bool replaces = false;     // may take another one's place without a warning
  std::string where;         // file and line
};
struct RoutedTarget : Target {
  const RegisteredKernel* kernel = nullptr;  // what the functions come from, if it was registered at run time
};
CRESSET_API RoutedTarget resolve(const OpEntry& op, const std::type_info* signature, const Route& route);
// The route of the registered kernel that this thread called last: for its first lines.
CRESSET_API const Route& route_of_kernel();
// The layers of Route::passed that the thread's guards exclude.
CRESSET_API uint8_t& passed_of_thread();

}  // namespace cresset::dispatch
