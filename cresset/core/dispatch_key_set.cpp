#include "cresset/core/dispatch_key_set.h"

#include <ostream>

#include "cresset/core/random/generator_impl.h"

namespace cresset {

namespace {

constexpr const char* kBackendNames[] = {"Undefined",
#define CRESSET_NAME(n) #n,
                                         CRESSET_FOR_EACH_BACKEND(CRESSET_NAME)
#undef CRESSET_NAME
};

struct Named {
  DispatchKey key;
  const char* name;
};
#define CRESSET_NAME(n) {DispatchKey::n, #n},
#define CRESSET_NAMES(n)                                                                                                                                 \
  {DispatchKey::n, #n}, {DispatchKey::Quantized##n, "Quantized" #n}, {DispatchKey::Sparse##n, "Sparse" #n}, {DispatchKey::SparseCsr##n, "SparseCsr" #n}, \
      {DispatchKey::NestedTensor##n, "NestedTensor" #n}, {DispatchKey::Autograd##n, "Autograd" #n},
constexpr Named kNames[] = {
    CRESSET_NAME(Undefined) CRESSET_NAME(Dense) CRESSET_NAME(FPGA) CRESSET_NAME(MAIA) CRESSET_NAME(Vulkan) CRESSET_NAME(Metal) CRESSET_NAME(Quantized)
        CRESSET_NAME(CustomRNGKeyId) CRESSET_NAME(MkldnnCPU) CRESSET_NAME(Sparse) CRESSET_NAME(SparseCsr) CRESSET_NAME(NestedTensor) CRESSET_NAME(BackendSelect)
            CRESSET_NAME(Python) CRESSET_NAME(Fake) CRESSET_NAME(FuncTorchDynamicLayerBackMode) CRESSET_NAME(Functionalize) CRESSET_NAME(Named)
                CRESSET_NAME(Conjugate) CRESSET_NAME(Negative) CRESSET_NAME(ZeroTensor) CRESSET_NAME(ADInplaceOrView) CRESSET_NAME(AutogradOther)
                    CRESSET_NAME(AutogradFunctionality) CRESSET_NAME(AutogradNestedTensor) CRESSET_NAME(Tracer) CRESSET_NAME(AutocastCPU)
                        CRESSET_NAME(AutocastMTIA) CRESSET_NAME(AutocastXPU) CRESSET_NAME(AutocastIPU) CRESSET_NAME(AutocastHPU) CRESSET_NAME(AutocastXLA)
                            CRESSET_NAME(AutocastMPS) CRESSET_NAME(AutocastCUDA) CRESSET_NAME(AutocastPrivateUse1) CRESSET_NAME(FuncTorchBatched)
                                CRESSET_NAME(BatchedNestedTensor) CRESSET_NAME(FuncTorchVmapMode) CRESSET_NAME(Batched) CRESSET_NAME(VmapMode)
                                    CRESSET_NAME(FuncTorchGradWrapper) CRESSET_NAME(DeferredInit) CRESSET_NAME(PythonTLSSnapshot)
                                        CRESSET_NAME(FuncTorchDynamicLayerFrontMode) CRESSET_NAME(TESTING_ONLY_GenericWrapper)
                                            CRESSET_NAME(TESTING_ONLY_GenericMode) CRESSET_NAME(PreDispatch) CRESSET_NAME(PythonDispatcher)
                                                CRESSET_FOR_EACH_BACKEND(CRESSET_NAMES) CRESSET_NAME(Autograd) CRESSET_NAME(CompositeImplicitAutograd)
                                                    CRESSET_NAME(FuncTorchBatchedDecomposition) CRESSET_NAME(CompositeImplicitAutogradNestedTensor)
                                                        CRESSET_NAME(CompositeExplicitAutograd) CRESSET_NAME(CompositeExplicitAutogradNonFunctional)
    // Further names.
    {DispatchKey::Undefined, "CatchAll"},
    {DispatchKey::CPU, "CPUTensorId"},
    {DispatchKey::CUDA, "CUDATensorId"},
    {DispatchKey::AutocastCUDA, "Autocast"},
    {DispatchKey::CompositeExplicitAutograd, "DefaultBackend"}};
#undef CRESSET_NAME
#undef CRESSET_NAMES

constexpr DispatchKeySet all_backends() { return {DispatchKeySet::RAW, (uint64_t{1} << num_backends) - 1}; }
const DispatchKeySet kBackendSet =
    DispatchKeySet{DispatchKey::Dense,     DispatchKey::FPGA,           DispatchKey::MAIA,      DispatchKey::Vulkan, DispatchKey::Metal,
                   DispatchKey::Quantized, DispatchKey::CustomRNGKeyId, DispatchKey::MkldnnCPU, DispatchKey::Sparse, DispatchKey::SparseCsr} |
    all_backends();
const DispatchKeySet kAutogradSet = autograd_dispatch_keyset | all_backends();
const DispatchKeySet kMathSet = kBackendSet | kAutogradSet | DispatchKeySet(DispatchKey::NestedTensor);

}  // namespace

const char* toString(BackendComponent b) {
  static constexpr const char* names[] = {"InvalidBit",
#define CRESSET_NAME(n) #n "Bit",
                                          CRESSET_FOR_EACH_BACKEND(CRESSET_NAME)
#undef CRESSET_NAME
  };
  return static_cast<size_t>(b) < std::size(names) ? names[static_cast<size_t>(b)] : "UnknownBackendBit";
}

const char* toString(DispatchKey k) {
  for (const Named& n : kNames)
    if (n.key == k) return n.name;
  return "UnknownDispatchKey";
}
std::ostream& operator<<(std::ostream& out, DispatchKey k) { return out << toString(k); }
std::ostream& operator<<(std::ostream& out, BackendComponent b) { return out << toString(b); }

DispatchKey parseDispatchKey(const std::string& name) {
  for (const Named& n : kNames)
    if (name == n.name) return n.key;
  throw Error(str("parseDispatchKey: expected the name of a dispatch key, got \"", name, "\""));
}

BackendComponent toBackendComponent(DeviceType t) {
  if (t == DeviceType::MKLDNN || t == DeviceType::IDEEP) return BackendComponent::CPUBit;
  const std::string name = t == DeviceType::PrivateUse1 ? "PrivateUse1" : t == DeviceType::Lazy ? "Lazy" : t == DeviceType::Meta ? "Meta" : DeviceTypeName(t);
  for (int i = 1; i <= num_backends; i++)
    if (name == kBackendNames[i]) return static_cast<BackendComponent>(i);
  return BackendComponent::InvalidBit;
}

DispatchKeySet::iterator::iterator(const uint64_t* bits, uint8_t functionality, uint8_t backend)
    : bits_(*bits), functionality_(functionality), backend_(backend) {
  CRESSET_CHECK(functionality <= end_iter_mask_val, "DispatchKeySet: an iterator at bit ", static_cast<int>(functionality), ", expected at most ",
                static_cast<int>(end_iter_mask_val));
  settle();
}

// From (functionality_, backend_) on, the first pair whose bits are set.
void DispatchKeySet::iterator::settle() {
  current_ = DispatchKey::EndOfFunctionalityKeys;
  for (; functionality_ < num_backends + num_functionality_keys - 1; functionality_++, backend_ = 0) {
    if (!(bits_ >> functionality_ & 1)) continue;
    const auto key = static_cast<DispatchKey>(functionality_ - num_backends + 1);
    if (!isPerBackendFunctionalityKey(key)) {
      if (backend_ != 0) continue;
      current_ = key;
      return;
    }
    for (; backend_ < num_backends; backend_++) {
      if (!(bits_ >> backend_ & 1)) continue;
      current_ = toRuntimePerBackendFunctionalityKey(key, static_cast<BackendComponent>(backend_ + 1));
      return;
    }
  }
  functionality_ = end_iter_mask_val;
  backend_ = 0;
}

DispatchKeySet::iterator& DispatchKeySet::iterator::operator++() {
  if (functionality_ == end_iter_mask_val) return *this;
  backend_++;
  settle();
  return *this;
}

DispatchKey DispatchKeySet::iterator::operator*() const { return current_; }

std::string toString(DispatchKeySet set) {
  std::string s = "DispatchKeySet(";
  bool first = true;
  for (const DispatchKey k : set) {
    if (!first) s += ", ";
    s += toString(k);
    first = false;
  }
  return s + ")";
}
std::ostream& operator<<(std::ostream& out, DispatchKeySet set) { return out << toString(set); }

DispatchKeySet getRuntimeDispatchKeySet(DispatchKey k) {
  CRESSET_CHECK(k != DispatchKey::Undefined, "getRuntimeDispatchKeySet: expected a key, got Undefined");
  switch (k) {
    case DispatchKey::Autograd: return kAutogradSet;
    case DispatchKey::CompositeImplicitAutograd: return kMathSet;
    case DispatchKey::CompositeImplicitAutogradNestedTensor: return DispatchKeySet(DispatchKey::NestedTensor) | all_backends();
    case DispatchKey::CompositeExplicitAutograd: return kBackendSet;
    case DispatchKey::CompositeExplicitAutogradNonFunctional: return kBackendSet.remove(DispatchKey::Sparse).remove(DispatchKey::SparseCsr);
    case DispatchKey::FuncTorchBatchedDecomposition: return DispatchKeySet(DispatchKey::FuncTorchBatched);
    default: return DispatchKeySet(k);
  }
}

bool runtimeDispatchKeySetHas(DispatchKey alias, DispatchKey k) {
  const DispatchKeySet set = getRuntimeDispatchKeySet(alias);
  return isAliasDispatchKey(alias) ? set.has(toFunctionalityKey(k)) && set.has(k) : set.has(k);
}

DispatchKeySet getBackendKeySetFromAutograd(DispatchKey k) {
  if (toFunctionalityKey(k) == DispatchKey::AutogradFunctionality) return DispatchKeySet(toBackendComponent(k));
  if (k == DispatchKey::AutogradNestedTensor) return DispatchKeySet(DispatchKey::NestedTensor) | all_backends();
  if (k == DispatchKey::AutogradOther)
    return {DispatchKey::FPGA,      DispatchKey::MAIA,   DispatchKey::Vulkan,    DispatchKey::Metal,    DispatchKey::CustomRNGKeyId,
            DispatchKey::MkldnnCPU, DispatchKey::Sparse, DispatchKey::SparseCsr, DispatchKey::Quantized};
  return {};
}

bool isBackendDispatchKey(DispatchKey k) {
  return k != DispatchKey::Undefined && !isAliasDispatchKey(k) && k != DispatchKey::NestedTensor && kBackendSet.has(k);
}
bool isIncludedInAlias(DispatchKey k, DispatchKey alias) { return k != DispatchKey::Undefined && runtimeDispatchKeySetHas(alias, k); }

DispatchKey getAutogradKeyFromBackend(BackendComponent b) {
  const DispatchKey k = toRuntimePerBackendFunctionalityKey(DispatchKey::AutogradFunctionality, b);
  return k == DispatchKey::Undefined ? DispatchKey::AutogradOther : k;
}
DispatchKeySet getAutogradRelatedKeySetFromBackend(BackendComponent b) { return {DispatchKey::ADInplaceOrView, getAutogradKeyFromBackend(b)}; }
DispatchKeySet getAutocastRelatedKeySetFromBackend(BackendComponent b) {
  switch (b) {
    case BackendComponent::CPUBit: return DispatchKeySet(DispatchKey::AutocastCPU);
    case BackendComponent::CUDABit: return DispatchKeySet(DispatchKey::AutocastCUDA);
    case BackendComponent::XPUBit: return DispatchKeySet(DispatchKey::AutocastXPU);
    case BackendComponent::IPUBit: return DispatchKeySet(DispatchKey::AutocastIPU);
    case BackendComponent::HPUBit: return DispatchKeySet(DispatchKey::AutocastHPU);
    case BackendComponent::XLABit: return DispatchKeySet(DispatchKey::AutocastXLA);
    case BackendComponent::MPSBit: return DispatchKeySet(DispatchKey::AutocastMPS);
    case BackendComponent::MTIABit: return DispatchKeySet(DispatchKey::AutocastMTIA);
    case BackendComponent::PrivateUse1Bit: return DispatchKeySet(DispatchKey::AutocastPrivateUse1);
    default: return {};
  }
}

DispatchKey legacyExtractDispatchKey(DispatchKeySet set) {
  return (set - autograd_dispatch_keyset_with_ADInplaceOrView - autocast_dispatch_keyset -
          DispatchKeySet{DispatchKey::Functionalize, DispatchKey::PythonTLSSnapshot, DispatchKey::FuncTorchGradWrapper, DispatchKey::FuncTorchVmapMode,
                         DispatchKey::FuncTorchBatched, DispatchKey::Python})
      .highestPriorityTypeId();
}

DispatchKey computeDispatchKey(std::optional<ScalarType>, std::optional<Layout> layout, std::optional<Device> device) {
  const DeviceType type = device.value_or(Device(kCPU)).type();
  const Layout l = layout.value_or(Layout::Strided);
  if (l == Layout::Mkldnn) return DispatchKey::MkldnnCPU;
  if (type == DeviceType::FPGA) return DispatchKey::FPGA;
  if (type == DeviceType::MAIA) return DispatchKey::MAIA;
  if (type == DeviceType::Vulkan) return DispatchKey::Vulkan;
  if (type == DeviceType::Metal) return DispatchKey::Metal;
  const DispatchKey functionality = l == Layout::Strided ? DispatchKey::Dense : l == Layout::Sparse ? DispatchKey::Sparse : DispatchKey::SparseCsr;
  return toRuntimePerBackendFunctionalityKey(functionality, toBackendComponent(type));
}

uint8_t layers_of(DispatchKeySet set) {
  uint8_t layers = 0;
  const auto put = [&](Layer l, DispatchKeySet keys) {
    if (set.has_any({DispatchKeySet::RAW, keys.raw_repr() >> num_backends << num_backends})) layers |= layer_bit(l);
  };
  put(Layer::Autograd, autograd_dispatch_keyset_with_ADInplaceOrView);
  put(Layer::Autocast, autocast_dispatch_keyset);
  put(Layer::Functionalize, DispatchKeySet(DispatchKey::Functionalize));
  put(Layer::Vmap, {DispatchKey::FuncTorchBatched, DispatchKey::FuncTorchVmapMode, DispatchKey::Batched, DispatchKey::VmapMode});
  put(Layer::PythonModes, {DispatchKey::Python, DispatchKey::PythonTLSSnapshot});
  put(Layer::LazyMath, {DispatchKey::Conjugate, DispatchKey::Negative});
  return layers;
}

bool tls_is_dispatch_keyset_excluded(DispatchKeySet set) {
  if (set == DispatchKeySet(DispatchKey::ADInplaceOrView)) return false;
  const LayerState& state = layer_state();
  const auto hidden = static_cast<uint8_t>(state.hidden | (state.inference_mode ? kAutogradLayer : 0));
  const uint8_t layers = layers_of(set);
  // Autocast is excluded until it is switched on.
  const auto off = static_cast<uint8_t>(layer_bit(Layer::Autocast) & ~state.included);
  return layers != 0 && (layers & ~(hidden | off)) == 0;
}
bool tls_is_dispatch_keyset_included(DispatchKeySet set) {
  const LayerState& state = layer_state();
  if (set == DispatchKeySet(DispatchKey::ADInplaceOrView)) return !state.inference_mode;
  if (set == DispatchKeySet(DispatchKey::BackendSelect)) return true;
  const uint8_t layers = layers_of(set);
  return layers != 0 && (layers & ~state.included) == 0;
}
bool tls_is_dispatch_key_excluded(DispatchKey k) { return tls_is_dispatch_keyset_excluded(DispatchKeySet(k)); }
bool tls_is_dispatch_key_included(DispatchKey k) { return tls_is_dispatch_keyset_included(DispatchKeySet(k)); }

DispatchKeySet Tensor::key_set() const { return defined() ? impl()->key_set() : DispatchKeySet(); }

DispatchKeySet TensorImpl::key_set() const {
  const DispatchKey own = computeDispatchKey(dtype(), layout(), device());
  const BackendComponent backend = toBackendComponent(device().type());
  DispatchKeySet set = DispatchKeySet(own) | getAutocastRelatedKeySetFromBackend(backend);
  if (!is_inference()) set = set | getAutogradRelatedKeySetFromBackend(toFunctionalityKey(own) == DispatchKey::Dense ? backend : toBackendComponent(own));
  if (is_conj()) set = set.add(DispatchKey::Conjugate);
  if (is_neg()) set = set.add(DispatchKey::Negative);
  return set;
}

DispatchKeySet GeneratorImpl::key_set() const { return keys_ ? DispatchKeySet::from_raw_repr(keys_) : DispatchKeySet(DispatchKey::CPU); }

}  // namespace cresset
