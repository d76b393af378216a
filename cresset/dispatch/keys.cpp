// Routes in terms of LibTorch's dispatch keys, and back.

#include "cresset/core/uninitialized.h"
#include "cresset/dispatch/dispatcher.h"
#include "cresset/dispatch/registry.h"

namespace cresset::dispatch {

namespace {

// A backend that only we have goes by the key that LibTorch gives to foreign devices.
DispatchKey key_of_backend(uint8_t backend) {
  if (backend == kCpuBackend || backend >= kUninitializedBackend) return DispatchKey::CPU;
  const std::string name = backend_name(backend);
  for (int k = 0; k <= static_cast<int>(DispatchKey::EndOfRuntimeBackendKeys); k++)
    if (name == toString(static_cast<DispatchKey>(k))) return static_cast<DispatchKey>(k);
  return DispatchKey::PrivateUse1;
}

bool awake(const Route& route, Layer layer) { return route.awake & layer_bit(layer); }

DispatchKeySet backend_keys(uint8_t backend) { return DispatchKeySet(key_of_backend(backend)); }

}  // namespace

DispatchKeySet keys_of(const Route& route) {
  DispatchKeySet keys = backend_keys(route.backend);
  const BackendComponent b = keys.highestBackendKey();
  if (awake(route, Layer::Autograd))
    keys = keys | (b == BackendComponent::InvalidBit ? DispatchKeySet(DispatchKey::AutogradOther) : DispatchKeySet(getAutogradKeyFromBackend(b)));
  if (awake(route, Layer::Autocast)) keys = keys | getAutocastRelatedKeySetFromBackend(b);
  if (awake(route, Layer::Functionalize)) keys = keys.add(DispatchKey::Functionalize);
  if (awake(route, Layer::Vmap)) keys = keys.add(DispatchKey::FuncTorchBatched);
  if (awake(route, Layer::PythonModes)) keys = keys.add(DispatchKey::Python);
  if (awake(route, Layer::LazyMath)) keys = keys | DispatchKeySet{DispatchKey::Conjugate, DispatchKey::Negative};
  if (!(route.passed & Route::inplace_or_view)) keys = keys.add(DispatchKey::ADInplaceOrView);
  if (!(route.passed & Route::backend_select)) keys = keys.add(DispatchKey::BackendSelect);
  return keys;
}

Route route_of(DispatchKeySet keys, const Key& arguments) {
  Route route;
  route.awake = layers_of(keys.remove(DispatchKey::ADInplaceOrView));  // a place of its own, in `passed`
  route.autograd = SeesAutograd::no;
  if (!keys.has(DispatchKey::ADInplaceOrView)) route.passed |= Route::inplace_or_view;
  if (!keys.has(DispatchKey::BackendSelect)) route.passed |= Route::backend_select;
  route.backend = arguments.backend;
  // The lowest functionalities are the kernels of backends.
  constexpr DispatchKeySet kKernels{DispatchKey::Dense,        DispatchKey::Quantized, DispatchKey::MkldnnCPU, DispatchKey::Sparse, DispatchKey::SparseCsr,
                                    DispatchKey::NestedTensor, DispatchKey::FPGA,      DispatchKey::Vulkan,    DispatchKey::Metal};
  const DispatchKeySet wanted(
      DispatchKeySet::RAW, keys.raw_repr() & (kKernels.raw_repr() | (DispatchKeySet(DispatchKeySet::FULL).raw_repr() & ((uint64_t{1} << num_backends) - 1))));
  const DispatchKey key = wanted.highestPriorityTypeId();
  if (key == DispatchKey::Undefined || key == key_of_backend(arguments.backend)) return route;
  if (const int b = backend_of_key(toString(key)); b >= 0) route.backend = static_cast<uint8_t>(b);
  return route;
}

}  // namespace cresset::dispatch
