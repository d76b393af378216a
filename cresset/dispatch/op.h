#pragma once
// One entry per operator: its schema, its kernels, and the way from a call to the kernel that runs.
// In-tree entries are constant-initialised by generated code; what registers at run time hangs off `extension`.

#include <tuple>
#include <typeinfo>
#include "cresset/base/std_function.h"

#include "cresset/dispatch/boxing.h"
#include "cresset/dispatch/schema.h"

namespace cresset::dispatch {

struct OpEntry;
struct Extension;
// A function of any signature. may_alias: slots are typed in their Op and read through this type elsewhere.
using AnyFn __attribute__((may_alias)) = void (*)();
using BoxedFn = std::function<void(const OpEntry&, Stack&)>;

// A kernel registered at run time: typed, boxed, or both.
struct Kernel {
  AnyFn typed = nullptr;
  const std::type_info* signature = nullptr;  // of `typed`
  BoxedFn boxed;
};

enum OpFlags : uint8_t {
  kCompositeOp = 1,  // a body over other ops: its gradient is theirs
  kViewOp = 2,       // the result aliases the first argument
  kInplaceOp = 4,
  kOutOp = 8,
  kAnyDeviceOp = 16,  // the built-in body serves every device that has an allocator
  kAnyLayoutOp = 32,  // the built-in body looks at the layouts of its arguments itself
};

struct CRESSET_API OpEntry {
  const char* name;                          // "add.Tensor"
  const char* schema;                        // the whole text
  const std::type_info* signature;           // of the typed kernels; null for an op known by its schema alone
  void (*call_typed)(AnyFn kernel, Stack&);  // unpacks the stack for a typed kernel
  const OpEntry* functional;                 // of in-place and out= forms, else null
  uint8_t flags;
  mutable std::atomic<Extension*> extension{nullptr};
  mutable std::atomic<const FunctionSchema*> parsed{nullptr};

  constexpr OpEntry(const char* n, const char* s, const std::type_info* sig, void (*call)(AnyFn, Stack&), const OpEntry* f, uint8_t fl)
      : name(n), schema(s), signature(sig), call_typed(call), functional(f), flags(fl) {}

  const FunctionSchema& function_schema() const;
  // The four slots behind every entry, see Op.
  enum Slot { cpu_slot, meta_slot, decomposition_slot, autograd_slot };
  AnyFn slot(Slot which) const { return __atomic_load_n(slots() + which, __ATOMIC_RELAXED); }
  AnyFn* slots() const { return reinterpret_cast<AnyFn*>(const_cast<OpEntry*>(this) + 1); }
};

template <class Fn> struct Op;
template <class R, class... A> struct Op<R(A...)> : OpEntry {
  using Fn = R(A...);
  Fn* cpu;  // null while a kernel that is not of the type stands for it
  Fn* meta;
  Fn* decomposition;  // a body over other ops, for backends without a kernel
  Fn* autograd;

  constexpr Op(const char* name, const char* schema, uint8_t flags, const OpEntry* functional, Fn* cpu_fn, Fn* meta_fn, Fn* decomposition_fn, Fn* autograd_fn)
      : OpEntry(name, schema, &typeid(Fn), &call_typed_from_stack<R, A...>, functional, flags),
        cpu(cpu_fn),
        meta(meta_fn),
        decomposition(decomposition_fn),
        autograd(autograd_fn) {}

  Fn* cpu_kernel() const { return __atomic_load_n(&cpu, __ATOMIC_RELAXED); }
};
static_assert(sizeof(Op<void()>) == sizeof(OpEntry) + 4 * sizeof(void*));

// The needs of a call's arguments: the union of their layers and the backend to run on (0: plain CPU).
struct Key {
  uint8_t layers = 0, backend = 0;

  void add(const Tensor& t) {
    if (!t.defined()) return;
    layers |= t.impl()->layers();
    backend = std::max(backend, t.impl()->backend());
  }
  void add(const std::optional<Tensor>& t) {
    if (t) add(*t);
  }
  void add(TensorList list) {
    for (const Tensor& t : list) add(t);
  }
  void add(ArrayRef<std::optional<Tensor>> list) {
    for (const auto& t : list) add(t);
  }
  void add(const TensorOptions& o) {
    if (CRESSET_UNLIKELY(!o.device().is_cpu() || o.layout() != Layout::Strided)) backend = std::max(backend, backend_of(o.device().type(), o.layout()));
  }
};
template <class T, class = void> struct AddsToKey : std::false_type {};
template <class T> struct AddsToKey<T, std::void_t<decltype(std::declval<Key&>().add(std::declval<const T&>()))>> : std::true_type {};
template <class T> struct TypeIdentityOf { using type = T; };
template <class T> using TypeIdentity = typename TypeIdentityOf<T>::type;

template <class... T> CRESSET_ALWAYS_INLINE Key key_of(const T&... args) {
  Key key;
  (key.add(args), ...);
  return key;
}

// The target of a call: a typed kernel of the entry's signature, or a boxed one.
struct Target {
  AnyFn typed = nullptr;
  const BoxedFn* boxed = nullptr;
  bool registered = false;        // at run time, for a backend
  NoData no_data = NoData::None;  // whether it is one of a backend without data
};
// The kernel for the topmost awake layer, or for the backend. Errors: none, naming op, backend and the registered ones.
CRESSET_API Target resolve(const OpEntry& op, const std::type_info* signature, uint8_t awake, uint8_t backend);

// Counts the changes that registered kernels make: a written tensor whose version has not moved is bumped when the call ends.
class CRESSET_API WrittenVersions {
 public:
  WrittenVersions() = default;
  WrittenVersions(const WrittenVersions&) = delete;
  WrittenVersions& operator=(const WrittenVersions&) = delete;
  ~WrittenVersions();
  // Errors: a tensor that is not writable.
  void add(Tensor& t) {
    if (!t.defined()) return;
    t.impl()->check_writable();
    written_.push_back({t, t.impl()->version()});
  }
  template <class T> void add(const T&) {}

 private:
  struct Written {
    Tensor tensor;
    uint32_t version;
  };
  SmallVector<Written, 2> written_;
};

template <class R, class... A> CRESSET_NOINLINE R call_resolved(const OpEntry& op, uint8_t awake, uint8_t backend, A... args) {
  const Target target = resolve(op, &typeid(R(A...)), awake, backend);
  const NoDataScope scope(target.no_data);
  if constexpr ((std::is_same_v<A, Tensor&> || ...)) {
    WrittenVersions versions;
    if (target.registered) (versions.add(static_cast<A>(args)), ...);
    if (target.typed) return reinterpret_cast<R (*)(A...)>(target.typed)(static_cast<A>(args)...);
    return call_boxed_kernel<R, A...>(*target.boxed, op, static_cast<A>(args)...);
  }
  if (target.typed) return reinterpret_cast<R (*)(A...)>(target.typed)(static_cast<A>(args)...);
  return call_boxed_kernel<R, A...>(*target.boxed, op, static_cast<A>(args)...);
}

// The path of every call: one load and one indirect call when no layer is awake and all arguments are plain CPU tensors.
template <class R, class... A> CRESSET_ALWAYS_INLINE R call(const Op<R(A...)>& op, Key key, TypeIdentity<A>... args) {
  const LayerState& state = layer_state();
  const uint8_t awake = static_cast<uint8_t>((key.layers | state.included) & ~state.excluded);
  if (CRESSET_LIKELY((awake | key.backend) == 0)) {
    if (auto* const cpu = op.cpu_kernel(); CRESSET_LIKELY(cpu != nullptr)) return cpu(static_cast<A>(args)...);
  } else if (awake == kAutogradLayer && key.backend != kFakeBackend && op.autograd && !op.extension.load(std::memory_order_relaxed)) {
    return op.autograd(static_cast<A>(args)...);
  }
  return call_resolved<R, A...>(op, awake, key.backend, static_cast<A>(args)...);
}

// The target of the autograd layer: the layer below it if that is awake, else the backend's kernel.
template <class R, class... A> CRESSET_ALWAYS_INLINE R call_below_autograd(const Op<R(A...)>& op, Key key, TypeIdentity<A>... args) {
  const uint8_t awake = (key.layers | layer_state().included) & kLazyMathLayer;
  if (CRESSET_LIKELY((awake | key.backend) == 0))
    if (auto* const cpu = op.cpu_kernel(); CRESSET_LIKELY(cpu != nullptr)) return cpu(static_cast<A>(args)...);
  return call_resolved<R, A...>(op, awake, key.backend, static_cast<A>(args)...);
}

// Calls an op with its arguments on the stack, through all layers; the results replace them.
CRESSET_API void call_boxed(const OpEntry& op, Stack& stack);

// A typed door to an op found by name: find_op("myops::foo").typed<Tensor(const Tensor&, double)>().call(x, 2.0).
template <class Fn> class TypedHandle;
template <class R, class... A> class TypedHandle<R(A...)> {
 public:
  explicit TypedHandle(const OpEntry& op) : op_(&op) {}
  R call(A... args) const {
    const Key key = key_of_values(args...);
    const LayerState& state = layer_state();
    const uint8_t awake = static_cast<uint8_t>((key.layers | state.included) & ~state.excluded);
    return call_resolved<R, A...>(*op_, awake, key.backend, static_cast<A>(args)...);
  }

 private:
  template <class T> static void add(Key& key, const T& v) {
    if constexpr (AddsToKey<T>::value) key.add(v);
  }
  template <class... T> static Key key_of_values(const T&... values) {
    Key key;
    (add(key, values), ...);
    return key;
  }
  const OpEntry* op_;
};

class CRESSET_API OpHandle {
 public:
  explicit OpHandle(const OpEntry* op = nullptr) : op_(op) {}
  explicit operator bool() const { return op_ != nullptr; }
  const OpEntry& entry() const { return *op_; }
  const FunctionSchema& schema() const { return op_->function_schema(); }
  void call_boxed(Stack& stack) const { dispatch::call_boxed(*op_, stack); }
  // Errors: Fn does not fit the schema.
  template <class Fn> TypedHandle<Fn> typed() const {
    check_signature(SignatureOf<Fn>::types());
    return TypedHandle<Fn>(*op_);
  }

 private:
  void check_signature(const std::vector<Type>& types) const;
  const OpEntry* op_;
};

// "add.Tensor", "myops::foo"; "aten::" and "cresset::" mean the built-in ops. Errors: no such op, with the nearest names.
CRESSET_API OpHandle find_op(std::string_view name);
// The same, with an empty handle where there is none.
CRESSET_API OpHandle find_op_or_null(std::string_view name);
// All built-in ops, then the registered ones, sorted by name.
CRESSET_API std::vector<const OpEntry*> all_ops();
// Which kernel each layer and backend runs for an op, one line each; all overloads where the name is that of several.
CRESSET_API std::string print_table(std::string_view name);

}  // namespace cresset::dispatch
