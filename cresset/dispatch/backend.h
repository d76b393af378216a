#pragma once
// Backends: (device type, layout) pairs with kernels. CPU and meta are built in; others register at run time by name, up to 250.

#include "cresset/dispatch/op.h"

namespace cresset::dispatch {

// Makes `name` a backend for tensors of this device type (registered under `device` if new) and layout, and returns its number.
// Registering the same pair and name again returns the same number. Errors: the pair belongs to another backend; none are left.
CRESSET_API uint8_t register_backend(const std::string& name, const std::string& device, Layout layout = Layout::Strided);
// -1: no backend of this name. "CPU" and "Meta" are 0 and 1; case does not matter.
CRESSET_API int find_backend(std::string_view name);
CRESSET_API std::string backend_name(uint8_t backend);

// Whether a registered backend has a kernel for the op, or a fallback: what a composite asks before it calls a fused op.
CRESSET_API bool can_run(uint8_t backend, const OpEntry& op);
// The function that runs for an op that the backend has no kernel for (nor a decomposition). Errors: a fallback is already set.
CRESSET_API void set_backend_fallback(uint8_t backend, BoxedFn fallback);
// The function that runs for every op whose arguments wake the layer and that has no kernel of its own for it.
CRESSET_API void set_layer_fallback(Layer layer, BoxedFn fallback);
// A layer's own table: the function for an op, or null where the layer leaves it to those below. Asked before the fallback.
using LayerRules = const BoxedFn* (*)(const OpEntry& op);
CRESSET_API void set_layer_rules(Layer layer, LayerRules rules);
// Calls what is below a layer; the ops that it is made of go through the layer as others do.
CRESSET_API void call_boxed_below(Layer layer, const OpEntry& op, Stack& stack);

// A fallback that copies arguments to the CPU, runs the op there, and copies results and written arguments back.
// The backend needs an allocator and a kernel for copy_ alone. Errors: arguments on several devices other than the CPU.
CRESSET_API void cpu_fallback(const OpEntry& op, Stack& stack);

CRESSET_API const char* layer_name(Layer layer);

// Hears of ops from outside the tree as they are defined and taken away; of those that are there, when it is added.
struct CRESSET_API RegistrationListener {
  virtual ~RegistrationListener() = default;
  virtual void on_defined(const OpEntry& op) = 0;
  virtual void on_removed(const OpEntry& op) = 0;
};
// Calling the result takes the listener away.
CRESSET_API std::function<void()> add_registration_listener(std::unique_ptr<RegistrationListener> listener);

// The op of this name, also where kernels are registered for it and no schema is defined; empty: neither.
CRESSET_API OpHandle find_declared_op(std::string_view name);
// Ops with kernels that no library defines.
CRESSET_API std::vector<const OpEntry*> undefined_ops();

// Opens a shared library that registers ops or backends and returns dlopen's handle. Errors: a file that cannot be opened; whatever its
// CRESSET_LIBRARY blocks raise, after which nothing of it stays registered. Through plain dlopen such an error ends the process.
CRESSET_API void* load_library(const std::string& path);
// Closes it: its ops are gone, as are its kernels for other ops. No graph may hold functions of the library any more.
CRESSET_API void unload_library(void* handle);

}  // namespace cresset::dispatch
