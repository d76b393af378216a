#pragma once
// PyTorch's dispatch keys by name, and sets of them: how programs written for it ask which layers and backends a tensor takes part in.
// Nothing here is consulted by calls; see cresset/core/layers.h.

#include <initializer_list>
#include <iosfwd>
#include <string>

#include "cresset/core/tensor.h"

namespace cresset {

// Backends that share their functionalities (dense, sparse, autograd, ...), in rising priority.
#define CRESSET_FOR_EACH_BACKEND(X) \
  X(CPU) X(CUDA) X(HIP) X(XLA) X(MPS) X(IPU) X(XPU) X(HPU) X(VE) X(Lazy) X(MTIA) X(PrivateUse1) X(PrivateUse2) X(PrivateUse3) X(Meta)

#define CRESSET_BACKEND_BIT(n) n##Bit,
enum class BackendComponent : uint8_t { InvalidBit, CRESSET_FOR_EACH_BACKEND(CRESSET_BACKEND_BIT) EndOfBackendKeys = MetaBit };
#undef CRESSET_BACKEND_BIT

// Functionalities in rising priority; then one key for each backend of those that have their own kernels; then aliases for several keys.
enum class DispatchKey : uint16_t {
  Undefined,
  CatchAll = Undefined,
  Dense,
  FPGA,
  MAIA,
  Vulkan,
  Metal,
  Quantized,
  CustomRNGKeyId,
  MkldnnCPU,
  Sparse,
  SparseCsr,
  NestedTensor,
  BackendSelect,
  Python,
  Fake,
  FuncTorchDynamicLayerBackMode,
  Functionalize,
  Named,
  Conjugate,
  Negative,
  ZeroTensor,
  ADInplaceOrView,
  AutogradOther,
  AutogradFunctionality,
  AutogradNestedTensor,
  Tracer,
  AutocastCPU,
  AutocastMTIA,
  AutocastXPU,
  AutocastIPU,
  AutocastHPU,
  AutocastXLA,
  AutocastMPS,
  AutocastCUDA,
  AutocastPrivateUse1,
  FuncTorchBatched,
  BatchedNestedTensor,
  FuncTorchVmapMode,
  Batched,
  VmapMode,
  FuncTorchGradWrapper,
  DeferredInit,
  PythonTLSSnapshot,
  FuncTorchDynamicLayerFrontMode,
  TESTING_ONLY_GenericWrapper,
  TESTING_ONLY_GenericMode,
  PreDispatch,
  PythonDispatcher,
  EndOfFunctionalityKeys,
#define CRESSET_KEY(n) n,
#define CRESSET_QUANTIZED(n) Quantized##n,
#define CRESSET_SPARSE(n) Sparse##n,
#define CRESSET_SPARSE_CSR(n) SparseCsr##n,
#define CRESSET_NESTED(n) NestedTensor##n,
#define CRESSET_AUTOGRAD(n) Autograd##n,
  StartOfDenseBackends,
  CRESSET_FOR_EACH_BACKEND(CRESSET_KEY) EndOfDenseBackends = Meta,
  StartOfQuantizedBackends,
  CRESSET_FOR_EACH_BACKEND(CRESSET_QUANTIZED) EndOfQuantizedBackends = QuantizedMeta,
  StartOfSparseBackends,
  CRESSET_FOR_EACH_BACKEND(CRESSET_SPARSE) EndOfSparseBackends = SparseMeta,
  StartOfSparseCsrBackends,
  CRESSET_FOR_EACH_BACKEND(CRESSET_SPARSE_CSR) EndOfSparseCsrBackends = SparseCsrMeta,
  StartOfNestedTensorBackends,
  CRESSET_FOR_EACH_BACKEND(CRESSET_NESTED) EndOfNestedTensorBackends = NestedTensorMeta,
  StartOfAutogradFunctionalityBackends,
  CRESSET_FOR_EACH_BACKEND(CRESSET_AUTOGRAD) EndOfAutogradFunctionalityBackends = AutogradMeta,
  EndOfRuntimeBackendKeys = EndOfAutogradFunctionalityBackends,
#undef CRESSET_KEY
#undef CRESSET_QUANTIZED
#undef CRESSET_SPARSE
#undef CRESSET_SPARSE_CSR
#undef CRESSET_NESTED
#undef CRESSET_AUTOGRAD
  Autograd,
  CompositeImplicitAutograd,
  FuncTorchBatchedDecomposition,
  CompositeImplicitAutogradNestedTensor,
  CompositeExplicitAutograd,
  CompositeExplicitAutogradNonFunctional,
  StartOfAliasKeys = Autograd,
  EndOfAliasKeys = CompositeExplicitAutogradNonFunctional,
  CPUTensorId = CPU,
  CUDATensorId = CUDA,
  DefaultBackend = CompositeExplicitAutograd,
  PrivateUse1_PreAutograd = AutogradPrivateUse1,
  PrivateUse2_PreAutograd = AutogradPrivateUse2,
  PrivateUse3_PreAutograd = AutogradPrivateUse3,
  Autocast = AutocastCUDA,
};

constexpr uint8_t num_functionality_keys = static_cast<uint8_t>(DispatchKey::EndOfFunctionalityKeys);
constexpr uint8_t num_backends = static_cast<uint8_t>(BackendComponent::EndOfBackendKeys);
constexpr uint8_t numPerBackendFunctionalityKeys = 6;
constexpr uint16_t num_runtime_entries = num_functionality_keys + numPerBackendFunctionalityKeys * (num_backends - 1);
static_assert(num_backends + num_functionality_keys <= 64, "a set is one word of bits");

constexpr bool isAliasDispatchKey(DispatchKey k) { return k >= DispatchKey::StartOfAliasKeys && k <= DispatchKey::EndOfAliasKeys; }
// Dense, Quantized, Sparse, SparseCsr, NestedTensor and AutogradFunctionality have one kernel for each backend.
constexpr bool isPerBackendFunctionalityKey(DispatchKey k) {
  return k == DispatchKey::Dense || k == DispatchKey::Quantized || k == DispatchKey::Sparse || k == DispatchKey::SparseCsr || k == DispatchKey::NestedTensor ||
         k == DispatchKey::AutogradFunctionality;
}
namespace detail {
constexpr bool within(DispatchKey k, DispatchKey start, DispatchKey end) { return k > start && k <= end; }
constexpr DispatchKey start_of(DispatchKey functionality) {
  return functionality == DispatchKey::Dense          ? DispatchKey::StartOfDenseBackends
         : functionality == DispatchKey::Quantized    ? DispatchKey::StartOfQuantizedBackends
         : functionality == DispatchKey::Sparse       ? DispatchKey::StartOfSparseBackends
         : functionality == DispatchKey::SparseCsr    ? DispatchKey::StartOfSparseCsrBackends
         : functionality == DispatchKey::NestedTensor ? DispatchKey::StartOfNestedTensorBackends
                                                      : DispatchKey::StartOfAutogradFunctionalityBackends;
}
}  // namespace detail

constexpr DispatchKey toFunctionalityKey(DispatchKey k) {
  return k <= DispatchKey::EndOfFunctionalityKeys               ? k
         : k <= DispatchKey::EndOfDenseBackends                 ? DispatchKey::Dense
         : k <= DispatchKey::EndOfQuantizedBackends             ? DispatchKey::Quantized
         : k <= DispatchKey::EndOfSparseBackends                ? DispatchKey::Sparse
         : k <= DispatchKey::EndOfSparseCsrBackends             ? DispatchKey::SparseCsr
         : k <= DispatchKey::EndOfNestedTensorBackends          ? DispatchKey::NestedTensor
         : k <= DispatchKey::EndOfAutogradFunctionalityBackends ? DispatchKey::AutogradFunctionality
                                                                : DispatchKey::Undefined;
}
constexpr BackendComponent toBackendComponent(DispatchKey k) {
  for (const DispatchKey f : {DispatchKey::Dense, DispatchKey::Quantized, DispatchKey::Sparse, DispatchKey::SparseCsr, DispatchKey::NestedTensor,
                              DispatchKey::AutogradFunctionality}) {
    const int start = static_cast<int>(detail::start_of(f)), at = static_cast<int>(k) - start;
    if (at > 0 && at <= num_backends) return static_cast<BackendComponent>(at);
  }
  return BackendComponent::InvalidBit;
}
CRESSET_API BackendComponent toBackendComponent(DeviceType t);
constexpr DispatchKey toRuntimePerBackendFunctionalityKey(DispatchKey functionality, BackendComponent backend) {
  if (!isPerBackendFunctionalityKey(functionality) || backend == BackendComponent::InvalidBit) return DispatchKey::Undefined;
  return static_cast<DispatchKey>(static_cast<int>(detail::start_of(functionality)) + static_cast<int>(backend));
}

CRESSET_API const char* toString(DispatchKey k);
CRESSET_API const char* toString(BackendComponent b);
CRESSET_API std::ostream& operator<<(std::ostream& out, DispatchKey k);
CRESSET_API std::ostream& operator<<(std::ostream& out, BackendComponent b);
// Errors: no key of this name.
CRESSET_API DispatchKey parseDispatchKey(const std::string& name);
inline void append_part(std::string& s, DispatchKey k) { s += toString(k); }

// A bit for each backend and each functionality: `CPU` is the bits of the CPU and of Dense together.
class CRESSET_API DispatchKeySet {
 public:
  enum Full { FULL };
  enum FullAfter { FULL_AFTER };
  enum Raw { RAW };

  constexpr DispatchKeySet() = default;
  constexpr DispatchKeySet(Full) : bits_((uint64_t{1} << (num_backends + num_functionality_keys - 1)) - 1) {}
  // All of lower priority than `k`.
  constexpr DispatchKeySet(FullAfter, DispatchKey k) : bits_((uint64_t{1} << (num_backends + static_cast<uint8_t>(toFunctionalityKey(k)) - 1)) - 1) {
    bits_ &= ~bit_of(DispatchKey::PythonDispatcher);
  }
  constexpr DispatchKeySet(Raw, uint64_t bits) : bits_(bits) {}
  constexpr explicit DispatchKeySet(BackendComponent b) : bits_(b == BackendComponent::InvalidBit ? 0 : uint64_t{1} << (static_cast<uint8_t>(b) - 1)) {}
  constexpr explicit DispatchKeySet(DispatchKey k) {
    if (k == DispatchKey::Undefined || isAliasDispatchKey(k)) return;
    const DispatchKey functionality = toFunctionalityKey(k);
    bits_ = functionality < DispatchKey::EndOfFunctionalityKeys ? bit_of(functionality) : 0;
    if (k > DispatchKey::EndOfFunctionalityKeys) bits_ |= DispatchKeySet(toBackendComponent(k)).bits_;
  }
  constexpr DispatchKeySet(std::initializer_list<DispatchKey> keys) {
    for (const DispatchKey k : keys) bits_ |= DispatchKeySet(k).bits_;
  }
  constexpr DispatchKeySet(std::initializer_list<BackendComponent> backends) {
    for (const BackendComponent b : backends) bits_ |= DispatchKeySet(b).bits_;
  }

  constexpr bool has(DispatchKey k) const { return has_any(DispatchKeySet(k)) && has_all(DispatchKeySet(k)); }
  constexpr bool has_backend(BackendComponent b) const { return has_all(DispatchKeySet(b)); }
  constexpr bool has_all(DispatchKeySet o) const { return (bits_ & o.bits_) == o.bits_; }
  constexpr bool has_any(DispatchKeySet o) const { return (bits_ & o.bits_) != 0; }
  constexpr bool isSupersetOf(DispatchKeySet o) const { return has_all(o); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr uint64_t raw_repr() const { return bits_; }
  static DispatchKeySet from_raw_repr(uint64_t bits) { return DispatchKeySet(RAW, bits); }
  [[nodiscard]] constexpr DispatchKeySet add(DispatchKey k) const { return *this | DispatchKeySet(k); }
  [[nodiscard]] constexpr DispatchKeySet add(DispatchKeySet o) const { return *this | o; }
  // The functionality of `k`; a backend stays, see remove_backend.
  [[nodiscard]] constexpr DispatchKeySet remove(DispatchKey k) const { return {RAW, bits_ & ~(DispatchKeySet(k).bits_ & ~kBackendMask)}; }
  constexpr DispatchKeySet remove_backend(BackendComponent b) const { return {RAW, bits_ & ~DispatchKeySet(b).bits_}; }
  friend constexpr DispatchKeySet operator|(DispatchKeySet a, DispatchKeySet b) { return {RAW, a.bits_ | b.bits_}; }
  friend constexpr DispatchKeySet operator&(DispatchKeySet a, DispatchKeySet b) { return {RAW, a.bits_ & b.bits_}; }
  friend constexpr DispatchKeySet operator^(DispatchKeySet a, DispatchKeySet b) { return {RAW, a.bits_ ^ b.bits_}; }
  // Functionalities of the second go; backends stay.
  friend constexpr DispatchKeySet operator-(DispatchKeySet a, DispatchKeySet b) { return {RAW, a.bits_ & (kBackendMask | ~b.bits_)}; }
  friend constexpr bool operator==(DispatchKeySet a, DispatchKeySet b) { return a.bits_ == b.bits_; }
  friend constexpr bool operator!=(DispatchKeySet a, DispatchKeySet b) { return a.bits_ != b.bits_; }

  // The key that a call with these would go to first.
  constexpr DispatchKey highestPriorityTypeId() const {
    const DispatchKey functionality = highestFunctionalityKey();
    return isPerBackendFunctionalityKey(functionality) ? toRuntimePerBackendFunctionalityKey(functionality, highestBackendKey()) : functionality;
  }
  constexpr DispatchKey highestFunctionalityKey() const { return static_cast<DispatchKey>(top_bit(bits_ >> num_backends)); }
  constexpr BackendComponent highestBackendKey() const { return static_cast<BackendComponent>(top_bit(bits_ & kBackendMask)); }
  uint8_t indexOfHighestBit() const { return static_cast<uint8_t>(top_bit(bits_)); }

  // Every key whose functionality, and backend where it has one, are in the set; in rising priority.
  class CRESSET_API iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = DispatchKey;
    using difference_type = std::ptrdiff_t;
    using reference = value_type&;
    using pointer = value_type*;

    static constexpr uint8_t end_iter_mask_val = num_backends + num_functionality_keys, end_iter_key_val = num_functionality_keys;
    explicit iterator(const uint64_t* bits, uint8_t functionality = num_backends, uint8_t backend = 0);
    iterator& operator++();
    iterator operator++(int) {
      iterator before = *this;
      ++*this;
      return before;
    }
    DispatchKey operator*() const;
    bool operator==(const iterator& o) const { return functionality_ == o.functionality_ && backend_ == o.backend_; }
    bool operator!=(const iterator& o) const { return !(*this == o); }

   private:
    CRESSET_LOCAL void settle();
    uint64_t bits_;
    uint8_t functionality_, backend_;  // the next places to look at
    DispatchKey current_ = DispatchKey::EndOfFunctionalityKeys;
  };
  iterator begin() const { return iterator(&bits_); }
  iterator end() const { return iterator(&bits_, iterator::end_iter_mask_val); }

 private:
  static constexpr uint64_t kBackendMask = (uint64_t{1} << num_backends) - 1;
  static constexpr uint64_t bit_of(DispatchKey functionality) { return uint64_t{1} << (num_backends + static_cast<uint8_t>(functionality) - 1); }
  // Counted from 1; 0 of none.
  static constexpr int top_bit(uint64_t bits) {
    int n = 0;
    for (; bits; bits >>= 1) n++;
    return n;
  }
  uint64_t bits_ = 0;
};

CRESSET_API std::string toString(DispatchKeySet set);
CRESSET_API std::ostream& operator<<(std::ostream& out, DispatchKeySet set);

constexpr DispatchKeySet autograd_dispatch_keyset{DispatchKey::AutogradFunctionality, DispatchKey::AutogradOther, DispatchKey::AutogradNestedTensor};
constexpr DispatchKeySet autocast_dispatch_keyset{DispatchKey::AutocastCPU, DispatchKey::AutocastMPS,         DispatchKey::AutocastCUDA,
                                                  DispatchKey::AutocastXPU, DispatchKey::AutocastIPU,         DispatchKey::AutocastHPU,
                                                  DispatchKey::AutocastXLA, DispatchKey::AutocastPrivateUse1, DispatchKey::AutocastMTIA};
constexpr DispatchKeySet default_included_set{DispatchKey::BackendSelect, DispatchKey::ADInplaceOrView};
constexpr DispatchKeySet default_excluded_set = autocast_dispatch_keyset;
constexpr DispatchKeySet autograd_dispatch_keyset_with_ADInplaceOrView = autograd_dispatch_keyset | DispatchKeySet(DispatchKey::ADInplaceOrView);
constexpr DispatchKeySet python_ks{DispatchKey::Python, DispatchKey::PythonTLSSnapshot};
constexpr DispatchKeySet sparse_ks{DispatchKey::Sparse}, sparse_csr_ks{DispatchKey::SparseCsr}, mkldnn_ks{DispatchKey::MkldnnCPU};
constexpr DispatchKeySet after_autograd_keyset{DispatchKeySet::FULL_AFTER, DispatchKey::AutogradOther};
constexpr DispatchKeySet after_ADInplaceOrView_keyset{DispatchKeySet::FULL_AFTER, DispatchKey::ADInplaceOrView};
constexpr DispatchKeySet after_func_keyset = DispatchKeySet(DispatchKeySet::FULL_AFTER, DispatchKey::Functionalize).remove(DispatchKey::ADInplaceOrView);

// The keys that an alias stands for, or `k` itself.
CRESSET_API DispatchKeySet getRuntimeDispatchKeySet(DispatchKey k);
CRESSET_API bool runtimeDispatchKeySetHas(DispatchKey alias, DispatchKey k);
CRESSET_API DispatchKeySet getBackendKeySetFromAutograd(DispatchKey k);
CRESSET_API bool isBackendDispatchKey(DispatchKey k);
CRESSET_API bool isIncludedInAlias(DispatchKey k, DispatchKey alias);
CRESSET_API DispatchKeySet getAutogradRelatedKeySetFromBackend(BackendComponent b);
CRESSET_API DispatchKeySet getAutocastRelatedKeySetFromBackend(BackendComponent b);
CRESSET_API DispatchKey getAutogradKeyFromBackend(BackendComponent b);
CRESSET_API DispatchKey legacyExtractDispatchKey(DispatchKeySet set);
CRESSET_API DispatchKey computeDispatchKey(std::optional<ScalarType> dtype, std::optional<Layout> layout, std::optional<Device> device);

// Whether calls of this thread pass by, or visit, the layer that the key stands for; grad mode is not asked.
// The key of the backend that the kernels of a call with these come from; layers above it do not count.
inline DispatchKey highestPriorityBackendTypeId(DispatchKeySet set) {
  constexpr uint64_t backends = (uint64_t{1} << num_backends) - 1;
  constexpr DispatchKeySet functionalities{DispatchKey::Dense, DispatchKey::Quantized, DispatchKey::Sparse, DispatchKey::SparseCsr};
  return (set & (functionalities | DispatchKeySet(DispatchKeySet::RAW, backends))).highestPriorityTypeId();
}
CRESSET_API bool tls_is_dispatch_key_excluded(DispatchKey k);
CRESSET_API bool tls_is_dispatch_key_included(DispatchKey k);
CRESSET_API bool tls_is_dispatch_keyset_excluded(DispatchKeySet set);
CRESSET_API bool tls_is_dispatch_keyset_included(DispatchKeySet set);
// The layers of the dispatcher that the keys stand for.
CRESSET_API uint8_t layers_of(DispatchKeySet set);

// No layer that one of the keys stands for, for calls made in its scope.
class CRESSET_API ExcludeDispatchKeyGuard {
 public:
  explicit ExcludeDispatchKeyGuard(DispatchKeySet set) : excluded_(layers_of(set)) {}
  explicit ExcludeDispatchKeyGuard(DispatchKey k) : ExcludeDispatchKeyGuard(DispatchKeySet(k)) {}

 private:
  ExcludeLayers excluded_;
};
// Calls in its scope visit the layers, whatever their arguments are.
class CRESSET_API IncludeDispatchKeyGuard {
 public:
  explicit IncludeDispatchKeyGuard(DispatchKeySet set) : before_(layer_state().included) { layer_state().included |= layers_of(set); }
  explicit IncludeDispatchKeyGuard(DispatchKey k) : IncludeDispatchKeyGuard(DispatchKeySet(k)) {}
  ~IncludeDispatchKeyGuard() { layer_state().included = before_; }
  IncludeDispatchKeyGuard(const IncludeDispatchKeyGuard&) = delete;
  IncludeDispatchKeyGuard& operator=(const IncludeDispatchKeyGuard&) = delete;

 private:
  uint8_t before_;
};

}  // namespace cresset

namespace std {
template <> struct hash<cresset::DispatchKey> {
  size_t operator()(cresset::DispatchKey k) const noexcept { return static_cast<size_t>(k); }
};
}  // namespace std
