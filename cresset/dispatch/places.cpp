// Which place of an op's table a key's name stands for: our layers and backends, and LibTorch's dispatch keys in terms of them.

#include <mutex>

#include "cresset/core/dispatch_key_set.h"
#include "cresset/dispatch/generators.h"
#include "cresset/dispatch/registration.h"
#include "cresset/dispatch/registry.h"

namespace cresset::dispatch {

namespace {

constexpr const char* kImplicit[] = {"Composite", "CompositeImplicitAutograd", "CatchAll"};
constexpr const char* kExplicit[] = {"CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"};
// LibTorch's names of a device's kernels, beside CPU and Meta.
constexpr const char* kDevices[] = {"CUDA", "HIP",  "XLA",         "MPS",         "IPU",         "XPU",    "HPU",   "VE",  "Lazy",
                                    "MTIA", "MAIA", "PrivateUse1", "PrivateUse2", "PrivateUse3", "Vulkan", "Metal", "FPGA"};
// Keys of LibTorch's that stand for nothing here: kernels for them are kept and not called.
constexpr const char* kUncalled[] = {"Undefined",
                                     "MKLDNN",
                                     "OpenGL",
                                     "OpenCL",
                                     "IDEEP",
                                     "Fake",
                                     "FuncTorchDynamicLayerBackMode",
                                     "FuncTorchDynamicLayerFrontMode",
                                     "Named",
                                     "ZeroTensor",
                                     "AutogradNestedTensor",
                                     "Tracer",
                                     "BatchedNestedTensor",
                                     "FuncTorchVmapMode",
                                     "VmapMode",
                                     "FuncTorchGradWrapper",
                                     "DeferredInit",
                                     "PythonTLSSnapshot",
                                     "PreDispatch",
                                     "PythonDispatcher",
                                     "FuncTorchBatchedDecomposition",
                                     "CompositeImplicitAutogradNestedTensor",
                                     "NestedTensor",
                                     "Quantized",
                                     "Sparse",
                                     "SparseCsr",
                                     "Dense",
                                     "NestedTensorCPU",
                                     "NestedTensorCUDA",
                                     "NestedTensorMeta",
                                     "AutocastFunctionality"};

template <size_t N> bool is_one_of(const std::string& key, const char* const (&names)[N]) {
  for (const char* n : names)
    if (key == n) return true;
  return false;
}

bool starts(const std::string& key, const char* prefix) { return key.rfind(prefix, 0) == 0; }
std::string without(const std::string& key, const char* prefix) { return key.substr(std::char_traits<char>::length(prefix)); }

std::string device_name(const std::string& device) {
  if (device == "PrivateUse1") return "privateuseone";
  std::string lower;
  for (const char c : device) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

int made_backend(const std::string& name, const std::string& device, Layout layout) {
  const uint8_t there = backend_of(register_device_type(device), layout);
  return there != kNoBackend ? there : register_backend(name, device, layout);
}

// Under a layer's prefix: kernels of one backend. -1: the rest of the key names none.
int backend_below(const std::string& key, const char* prefix) { return starts(key, prefix) ? backend_of_key(without(key, prefix)) : -1; }

Place& place_in(std::atomic<BackendPlaces*>& table, int backend) {
  BackendPlaces* places = table.load(std::memory_order_acquire);
  if (!places) {
    auto fresh = std::make_unique<BackendPlaces>();
    if (table.compare_exchange_strong(places, fresh.get(), std::memory_order_acq_rel)) places = fresh.release();
  }
  return places->at[backend];
}

}  // namespace

bool is_composite_key(const std::string& key) { return is_one_of(key, kImplicit) || is_one_of(key, kExplicit); }

int backend_of_key(const std::string& key) {
  if (key == kGeneratorBackendName) return kGeneratorBackend;
  if (const int b = find_backend(key); b >= 0) return b;
  if (is_one_of(key, kDevices)) return made_backend(key, device_name(key), Layout::Strided);
  if (key == "SparseCsrMeta") return kSparseCompressedBackend;
  if (key == "SparseMeta") return kSparseBackend;
  if (starts(key, "SparseCsr") && is_one_of(without(key, "SparseCsr"), kDevices))
    return made_backend(key, device_name(without(key, "SparseCsr")), Layout::SparseCsr);
  if (starts(key, "Sparse") && is_one_of(without(key, "Sparse"), kDevices)) return made_backend(key, device_name(without(key, "Sparse")), Layout::Sparse);
  if (key == "MkldnnCPU") return made_backend(key, "cpu", Layout::Mkldnn);
  return -1;
}

bool is_known_key(const std::string& key) {
  return is_composite_key(key) || key == "BackendSelect" || key == "ADInplaceOrView" || find_layer(key) >= 0 || is_one_of(key, kUncalled) ||
         key == "AutogradOther" || starts(key, "Quantized") || backend_of_key(key) >= 0 || backend_below(key, "Autograd") >= 0 ||
         backend_below(key, "Autocast") >= 0;
}

std::string key_name(DispatchKey key) { return key == DispatchKey::Undefined ? "CompositeImplicitAutograd" : toString(key); }

std::string key_name(DeviceType device) {
  const std::string name = device_type_name(device);
  for (const char* key : kDevices)
    if (device_name(key) == name) return key;
  return name;
}

Place* place_for(const OpEntry& op, const std::string& key) {
  Extension& e = extension_of(op);
  if (is_one_of(key, kImplicit)) return &e.composite;
  if (is_one_of(key, kExplicit)) return &e.explicit_composite;
  if (key == "BackendSelect") return &e.backend_select;
  if (key == "ADInplaceOrView") return &e.inplace_or_view;
  if (const int l = find_layer(key); l >= 0) return &e.layers[l];
  if (const int b = backend_below(key, "Autograd"); b >= 0) return &place_in(e.autograd, b);
  if (const int b = backend_below(key, "Autocast"); b >= 0) return &place_in(e.autocast, b);
  if (is_one_of(key, kUncalled) || key == "AutogradOther" || starts(key, "Quantized")) {
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    return &e.others[key];
  }
  if (const int b = backend_of_key(key); b >= 0) return &e.backends[b];
  return nullptr;
}

}  // namespace cresset::dispatch
