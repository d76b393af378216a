#include "cresset/dispatch/op.h"

#include "cresset/core/random/generator_impl.h"
#include "cresset/core/uninitialized.h"
#include "cresset/dispatch/generators.h"
#include "cresset/dispatch/listen.h"
#include "cresset/dispatch/registry.h"

namespace cresset::dispatch {

namespace {

const BoxedFn kDerived = derived_from_functional;
const BoxedFn kNoFormula = autograd_without_formula;
const BoxedFn kLazyMath = compute_lazy_math;
const BoxedFn kFake = run_fake;
const BoxedFn kChecked = run_checked;
const BoxedFn kHeardBelow = heard_below;
const BoxedFn kHeardUnlessRecorded = heard_unless_recorded;
const BoxedFn kOpenedAtAutograd = opened_at_autograd;
const BoxedFn kOpenedBelow = opened_below;

thread_local Route t_route;
thread_local uint8_t t_passed = 0;

Target target_of(const Kernel& k, const std::type_info* signature, bool registered) {
  const bool typed = signature && k.typed && k.signature && *k.signature == *signature;
  return {typed ? k.typed : nullptr, typed ? nullptr : &k.boxed, registered};
}
RoutedTarget target_of(const RegisteredKernel& k, const std::type_info* signature, bool registered) {
  return {target_of(static_cast<const Kernel&>(k), signature, registered), &k};
}

// Null where nothing or a fallthrough is registered.
const RegisteredKernel* kernel_in(const Place& place) {
  const RegisteredKernel* k = place.load(std::memory_order_acquire);
  return k && !k->fallthrough ? k : nullptr;
}

const RegisteredKernel* place_of_backend(const std::atomic<BackendPlaces*>& table, uint8_t backend) {
  const BackendPlaces* places = table.load(std::memory_order_acquire);
  return places ? places->at[backend].load(std::memory_order_acquire) : nullptr;
}

// The kernel registered for a layer, a fallthrough included: first for the layer on this backend. A body over other ops that nothing
// stands before on the backend goes before a kernel for the whole autograd layer.
const RegisteredKernel* layer_kernel(const Extension& e, int layer, uint8_t backend) {
  if (layer == static_cast<int>(Layer::Autograd)) {
    if (const RegisteredKernel* k = place_of_backend(e.autograd, backend)) return k;
    if (kernel_in(e.composite) && !kernel_in(e.explicit_composite) && !kernel_in(e.backends[backend])) return nullptr;
  } else if (layer == static_cast<int>(Layer::Autocast)) {
    if (const RegisteredKernel* k = place_of_backend(e.autocast, backend)) return k;
  }
  return e.layers[layer].load(std::memory_order_acquire);
}

const RegisteredKernel* composite_kernel(const Extension& e) {
  const RegisteredKernel* k = kernel_in(e.explicit_composite);
  return k ? k : kernel_in(e.composite);
}

bool takes_tensors(const OpEntry& op) {
  if (!*op.schema) return true;
  for (const Argument& a : op.function_schema().arguments)
    if (a.type.kind == TypeKind::Tensor) return true;
  return false;
}

// Whether a program gave a composite of the tree a kernel for the backend, which its body does not go before.
bool has_own_kernel(const OpEntry& op, const Extension* e, uint8_t backend) {
  return e && op.signature && (op.flags & kCompositeOp) && kernel_in(e->backends[backend]);
}

Target from_slot(AnyFn fn, const OpEntry& op, const std::type_info* signature) {
  CRESSET_CHECK_TYPE(!signature || *signature == *op.signature, op.name, ": called with C++ types that do not fit its schema ", op.schema);
  return {fn, nullptr, false};
}

std::string registered_backends(const OpEntry& op) {
  std::string s;
  auto add = [&](const std::string& name) { s += s.empty() ? name : ", " + name; };
  const AnyFn cpu = builtin_of(op, OpEntry::cpu_slot), meta = op.slot(OpEntry::meta_slot);
  if (cpu) add("CPU");
  if (meta) add("Meta");
  if (const Extension* e = op.extension.load(std::memory_order_acquire)) {
    for (int b = 0; b < kMaxBackends; b++)
      if (kernel_in(e->backends[b]) && !(b == kCpuBackend && cpu) && !(b == kMetaBackend && meta)) add(backend_name(static_cast<uint8_t>(b)));
  }
  for (const uint8_t b : {kSparseBackend, kSparseCompressedBackend})
    if ((op.flags & (kAnyLayoutOp | kCompositeOp)) || sparse_kernel(op, b)) add(backend_name(b));
  return s.empty() ? "none" : s;
}

const Kernel* backend_kernel(const OpEntry& op, uint8_t backend) {
  const Extension* e = op.extension.load(std::memory_order_acquire);
  if (is_sparse_backend(backend))
    if (const Kernel* k = sparse_kernel(op, backend)) return k;
  return e ? kernel_in(e->backends[backend]) : nullptr;
}

}  // namespace

const RegisteredKernel* body_of_program(const OpEntry& op, uint8_t backend) {
  const Extension* e = op.extension.load(std::memory_order_acquire);
  return e && op.signature && (op.flags & kCompositeOp) && !kernel_in(e->backends[backend]) ? kernel_in(e->composite) : nullptr;
}

bool needs_computed_values(const OpEntry& op) {
  const bool resizes = (op.flags & kAnyDeviceOp) && (op.flags & kInplaceOp);
  return !resizes && !(op.flags & (kViewOp | kCompositeOp));
}

bool is_of_program(const Generator& generator) { return generator.defined() && generator.impl()->is_of_program(); }

void no_kernel(const OpEntry& op, uint8_t backend) {
  CRESSET_CHECK_VALUE(backend != kUninitializedBackend, op.name, ": got an uninitialized tensor; call the module once, or materialize() the tensor");
  if (backend == kNoBackend) {
    const auto [device, layout] = last_missing_backend();
    if (device == DeviceType::PrivateUse1)
      throw ModuleNotFoundError(str(op.name, ": no library that brings the device ", device, " was loaded; import it before tensors of that device are made"));
    CRESSET_CHECK(device != DeviceType::CUDA, op.name,
                  ": no backend is registered for device cuda, this build has no CUDA; the operator is registered for: ", registered_backends(op));
    CRESSET_CHECK(false, op.name, ": no backend is registered for device ", device, " and layout ", layout,
                  "; the operator is registered for: ", registered_backends(op));
  }
  CRESSET_CHECK_NOT_IMPLEMENTED(false, "Could not run '", op.signature ? "aten::" : "", op.name, "' with arguments from the '", backend_name(backend),
                                "' backend. The operator is registered for: ", registered_backends(op));
  __builtin_unreachable();
}

Target kernel_of_parts(const OpEntry& op, uint8_t backend, const std::type_info* signature) {
  if (const Kernel* k = sparse_kernel(op, backend)) return target_of(*k, signature, true);
  if (op.flags & kAnyLayoutOp) return from_slot(builtin_of(op, OpEntry::cpu_slot), op, signature);
  if (op.functional && ((op.functional->flags & kAnyLayoutOp) || backend_kernel(*op.functional, backend))) return {nullptr, &kDerived, true};
  return {};
}

Target kernel_without_data(const OpEntry& op) {
  if (const Kernel* k = backend_kernel(op, kMetaBackend)) return {nullptr, &k->boxed, true, NoData::Fake};
  if (const AnyFn fn = op.slot(OpEntry::meta_slot)) return {fn, nullptr, false, NoData::Fake};
  if (op.flags & (kViewOp | kAnyDeviceOp)) return {builtin_of(op, OpEntry::cpu_slot), nullptr, false, NoData::Fake};
  if (op.flags & kAnyLayoutOp) return {builtin_of(op, OpEntry::cpu_slot)};
  const Extension* extension = op.extension.load(std::memory_order_acquire);
  if (extension)
    if (const Kernel* k = extension->composite.load(std::memory_order_acquire)) return {nullptr, &k->boxed};
  return {op.slot(OpEntry::decomposition_slot)};
}

const Route& route_of_kernel() { return t_route; }
uint8_t& passed_of_thread() { return t_passed; }

Target resolve(const OpEntry& op, const std::type_info* signature, uint8_t awake, uint8_t backend) {
  return resolve(op, signature, Route{awake, backend, t_passed});
}

namespace {

// The part of a listener below autograd in a call, asked for at the autograd layer and below it; null: none.
const BoxedFn* listening(const OpEntry& op, uint8_t awake, uint8_t backend, bool at_autograd) {
  Listener* const listener = listener_of_call(awake, backend);
  if (CRESSET_LIKELY(!listener)) return nullptr;
  if (listener->opens(op, at_autograd)) return at_autograd ? &kOpenedAtAutograd : &kOpenedBelow;
  const bool may_be_recorded = awake & kAutogradLayer;
  if (!at_autograd && listener->hears(op, may_be_recorded)) return &kHeardBelow;
  const bool as_a_whole = may_be_recorded && (op.flags & kCompositeOp) && !listener->hears(op, true) && listener->hears(op, false);
  return as_a_whole ? &kHeardUnlessRecorded : nullptr;
}

// Whether a listener below autograd hears a composite whole although a gradient is recorded: its body is not run at the autograd layer then.
bool heard_whole(const OpEntry& op, uint8_t awake, uint8_t backend) {
  if (CRESSET_LIKELY(!(awake & kLazyMathLayer)) || !(op.flags & kCompositeOp)) return false;
  Listener* const listener = listener_of_call(awake, backend);
  return listener && listener->hears(op, true);
}

// The function for the topmost awake layer; empty where no layer has one.
RoutedTarget layer_target(const OpEntry& op, const Extension* extension, const std::type_info* signature, const Route& route, bool registered_autograd) {
  const uint8_t awake = route.awake, backend = route.backend;
  for (int l = kNumLayers - 1; l >= 0; l--) {
    const bool autograd = l == static_cast<int>(Layer::Autograd);
    if (!(awake >> l & 1) && !(autograd && registered_autograd)) continue;
    if (extension)
      if (const RegisteredKernel* k = layer_kernel(*extension, l, backend)) {
        if (k->fallthrough) continue;
        t_route = {static_cast<uint8_t>((awake | 1u << l) & ((2u << l) - 1)), backend, route.passed};
        return target_of(*k, signature, false);
      }
    if (!(awake >> l & 1)) continue;
    if (l <= static_cast<int>(Layer::Autograd))
      if (const BoxedFn* function = listening(op, awake, backend, autograd)) return {{nullptr, function, false}, nullptr};
    if (autograd) {
      if (has_own_kernel(op, extension, backend) || body_of_program(op, backend)) continue;
      if (CRESSET_UNLIKELY(heard_whole(op, awake, backend))) continue;
      // Opaque tensors have no history, and a composite's body would look into them.
      if ((op.flags & kCompositeOp) && extension && backend == backend_of(DeviceType::CPU, Layout::Mkldnn) &&
          extension->backends[backend].load(std::memory_order_acquire))
        continue;
      if (backend == kFakeBackend && (op.flags & kCompositeOp)) return {{nullptr, &kFake, false}, nullptr};
      if (const AnyFn fn = op.slot(OpEntry::autograd_slot)) return {from_slot(fn, op, signature), nullptr};
      if (op.signature || (extension && kernel_in(extension->composite) && !kernel_in(extension->backends[backend]))) continue;
      const BoxedFn* fallback = autograd_fallback(backend);
      return {{nullptr, fallback ? fallback : &kNoFormula, false}, nullptr};
    }
    if (l == static_cast<int>(Layer::LazyMath)) {
      if (backend == kFakeBackend || layer_state().fake_mode) return {{nullptr, &kFake, false}, nullptr};
      if (needs_computed_values(op)) return {{nullptr, &kLazyMath, false}, nullptr};
    } else if (const BoxedFn* function = layer_function(l, op)) {
      return {{nullptr, function, false}, nullptr};
    }
  }
  return {};
}

// The kernel of the backend itself, or what stands in for one; empty: there is none.
RoutedTarget backend_target(const OpEntry& op, const Extension* extension, const std::type_info* signature, uint8_t backend, NoData no_data) {
  if (extension) {
    if (const RegisteredKernel* k = kernel_in(extension->backends[backend])) {
      if (has_checked_results(op, *k, backend)) return {{nullptr, &kChecked, true}, nullptr};
      RoutedTarget target = target_of(*k, signature, true);
      target.no_data = no_data;
      return target;
    }
  }
  if (backend == kGeneratorBackend) return backend_target(op, extension, signature, kCpuBackend, no_data);
  if (backend == kCpuBackend || backend == kMetaBackend) {
    if (const AnyFn fn = builtin_of(op, backend == kCpuBackend ? OpEntry::cpu_slot : OpEntry::meta_slot)) {
      Target target = from_slot(fn, op, signature);
      target.no_data = no_data;
      return {target, nullptr};
    }
    if (op.flags & kAnyLayoutOp) return {from_slot(builtin_of(op, OpEntry::cpu_slot), op, signature), nullptr};
  } else if (backend == kUninitializedBackend || backend == kNoBackend) {
    no_kernel(op, backend);
  } else if (is_sparse_backend(backend)) {
    const Target target = kernel_of_parts(op, backend, signature);
    if (target.typed || target.boxed) return {target, nullptr};
  } else if (op.flags & (kViewOp | kAnyDeviceOp)) {
    // A view is geometry alone, the same on every device.
    return {from_slot(builtin_of(op, OpEntry::cpu_slot), op, signature), nullptr};
  } else if (op.functional && backend_kernel(*op.functional, backend)) {
    return {{nullptr, &kDerived, true}, nullptr};
  }
  if (extension)
    if (const RegisteredKernel* k = composite_kernel(*extension)) return target_of(*k, signature, true);
  if (const AnyFn fn = op.slot(OpEntry::decomposition_slot)) return {from_slot(fn, op, signature), nullptr};
  if (const BoxedFn* fallback = backend_fallback(backend)) return {{nullptr, fallback, true}, nullptr};
  no_kernel(op, backend);
}

}  // namespace

RoutedTarget resolve(const OpEntry& op, const std::type_info* signature, const Route& route) {
  const Extension* extension = op.extension.load(std::memory_order_acquire);
  const LayerState& state = layer_state();
  const bool registered_autograd = extension && route.autograd != SeesAutograd::no && extension->autograd_always.load(std::memory_order_acquire) &&
                                   !(state.hidden & kAutogradLayer) && !state.inference_mode && (route.autograd == SeesAutograd::yes || takes_tensors(op));
  const RoutedTarget layer = layer_target(op, extension, signature, route, registered_autograd);
  if (layer.typed || layer.boxed) return layer;
  if (const RegisteredKernel* k = body_of_program(op, route.backend)) {
    t_route = {0, route.backend, route.passed};
    return target_of(*k, signature, true);
  }
  if (route.backend == kFakeBackend) return {{nullptr, &kFake, false}, nullptr};
  t_route = {0, route.backend, route.passed};
  if (extension) {
    const RegisteredKernel* view = route.passed & Route::inplace_or_view || state.inference_mode ? nullptr : kernel_in(extension->inplace_or_view);
    if (view) return target_of(*view, signature, false);
    t_route.passed |= Route::inplace_or_view;
    const RegisteredKernel* select = route.passed & Route::backend_select ? nullptr : kernel_in(extension->backend_select);
    if (select) return target_of(*select, signature, false);
    t_route.passed |= Route::backend_select;
  }
  return backend_target(op, extension, signature, route.backend, route.backend == kMetaBackend && !(op.flags & kCompositeOp) ? NoData::Meta : NoData::None);
}

namespace {

void call_boxed_in(const OpEntry& op, Stack& stack, uint8_t layers) {
  const FunctionSchema& schema = op.function_schema();
  const size_t n = schema.arguments.size();
  CRESSET_CHECK_TYPE(stack.size() >= n, op.name, ": expected ", n, " values on the stack, got ", stack.size());
  Key key;
  DeviceType device = DeviceType::CPU;
  Layout layout = Layout::Strided;
  std::optional<Generator> generator;
  bool factory = true;
  bool tracked = false;
  for (size_t i = 0; i < n; i++) {
    const Value& v = stack[stack.size() - n + i];
    for_each_tensor(v, [&](const Tensor& t) {
      key.add(t);
      tracked = tracked || !t.is_inference();
      factory = false;
    });
    if (v.is<Device>() && schema.arguments[i].name == "device") device = v.to_device().type();
    if (v.is<Layout>()) layout = v.to_layout();
    if (v.is<Generator>()) generator = v.to_generator();
  }
  // Only new tensors have the layout that is named.
  if (CRESSET_UNLIKELY(device != DeviceType::CPU || (factory && layout != Layout::Strided)))
    key.backend = std::max(key.backend, backend_of(device, factory ? layout : Layout::Strided));
  if (CRESSET_UNLIKELY(generator.has_value()) && key.backend == kCpuBackend) key.backend = key_of_drawing(generator).backend;
  const LayerState& state = layer_state();
  const uint8_t awake = static_cast<uint8_t>((key.layers | state.included) & ~state.excluded & layers);
  const Target target = resolve(op, nullptr, Route{awake, key.backend, t_passed, tracked && layers & kAutogradLayer ? SeesAutograd::yes : SeesAutograd::no});
  const NoDataScope scope(target.no_data);
  WrittenVersions versions;
  for (size_t i = 0; target.registered && i < n; i++)
    if (schema.arguments[i].writes && stack[stack.size() - n + i].is_tensor()) versions.add(stack[stack.size() - n + i].to_tensor_ref());
  if (target.typed) op.call_typed(target.typed, stack);
  else (*target.boxed)(op, stack);
}

}  // namespace

void call_boxed(const OpEntry& op, Stack& stack) { call_boxed_in(op, stack, 0xff); }
void call_boxed_below(Layer layer, const OpEntry& op, Stack& stack) { call_boxed_in(op, stack, static_cast<uint8_t>(layer_bit(layer) - 1)); }

void OpHandle::check_signature(const std::vector<Type>& types) const {
  const FunctionSchema& s = schema();
  bool fits = types.size() == s.arguments.size();
  for (size_t i = 0; fits && i < types.size(); i++) {
    const Type& t = s.arguments[i].type;
    fits = types[i] == t || (t.kind == TypeKind::Tensor && t.optional && types[i] == Type{});
  }
  CRESSET_CHECK_TYPE(fits, op_->name, ": typed with C++ types that do not fit its schema ", op_->schema);
}

WrittenVersions::~WrittenVersions() {
  for (const Written& w : written_)
    if (w.tensor.impl()->version() == w.version) w.tensor.impl()->bump_version();
}

namespace {

std::string table_of(const OpEntry& op) {
  std::string s = std::string(op.name) + "\n  schema: " + op.schema + "\n";
  const Extension* e = op.extension.load(std::memory_order_acquire);
  for (int l = kNumLayers - 1; l >= 0; l--) {
    const Layer layer = static_cast<Layer>(l);
    const char* what = e && e->layers[l].load(std::memory_order_acquire)                              ? "registered at run time"
                       : layer == Layer::Autograd && e && e->autograd.load(std::memory_order_acquire) ? "registered at run time for backends"
                       : layer == Layer::Autograd && op.slot(OpEntry::autograd_slot)                  ? "built in"
                       : layer == Layer::LazyMath ? needs_computed_values(op) ? "computes conjugates and negatives" : "passes through"
                       : layer_function(l, op)    ? "boxed function"
                                                  : "passes through";
    s += std::string("  layer ") + layer_name(layer) + ": " + what + "\n";
  }
  auto line = [&](const std::string& backend, const char* what) { s += "  backend " + backend + ": " + what + "\n"; };
  for (int b = 0; b < kMaxBackends - 1; b++) {
    const uint8_t number = static_cast<uint8_t>(b);
    const std::string backend = backend_name(number);
    if (backend == "none") break;
    if (is_sparse_backend(number)) {
      if (sparse_kernel(op, number)) {
        line(backend, "built in");
        continue;
      }
      if (op.flags & kAnyLayoutOp) {
        line(backend, "built in for every layout");
        continue;
      }
    }
    if (backend_kernel(op, number)) line(backend, "registered at run time");
    else if (b < 2 && builtin_of(op, b == 0 ? OpEntry::cpu_slot : OpEntry::meta_slot)) line(backend, op.flags & kCompositeOp ? "composite" : "built in");
    else if (!is_sparse_backend(number) && op.flags & kViewOp) line(backend, "view");
    else if (!is_sparse_backend(number) && op.flags & kAnyDeviceOp) line(backend, "built in for every device");
    else if (op.functional && backend_kernel(*op.functional, number)) line(backend, "derived from the functional form");
    else if (op.slot(OpEntry::decomposition_slot) || (e && composite_kernel(*e))) line(backend, "decomposition");
    else if (backend_fallback(number)) line(backend, "boxed fallback");
    else line(backend, "none");
  }
  return s;
}

}  // namespace

std::string print_table(std::string_view name) {
  if (const OpHandle handle = find_op_or_null(name)) return table_of(handle.entry());
  std::string s;
  for (const OpEntry* op : all_ops()) {
    const FunctionSchema& schema = op->function_schema();
    const bool builtin = schema.ns == "cresset";
    const std::string base = builtin ? schema.name : schema.ns + "::" + schema.name;
    if (base == name || (builtin && ("aten::" + base == name || "cresset::" + base == name))) s += table_of(*op);
  }
  return s.empty() ? table_of(find_op(name).entry()) : s;
}

}  // namespace cresset::dispatch
