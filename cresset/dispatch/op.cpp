#include "cresset/dispatch/op.h"

#include "cresset/core/uninitialized.h"
#include "cresset/dispatch/registry.h"

namespace cresset::dispatch {

namespace {

const BoxedFn kDerived = derived_from_functional;
const BoxedFn kNoFormula = autograd_without_formula;
const BoxedFn kLazyMath = compute_lazy_math;
const BoxedFn kFake = run_fake;

Target target_of(const Kernel& k, const std::type_info* signature, bool registered) {
  if (signature && k.typed && k.signature && *k.signature == *signature) return {k.typed, nullptr, registered};
  return {nullptr, &k.boxed, registered};
}

Target from_slot(AnyFn fn, const OpEntry& op, const std::type_info* signature) {
  CRESSET_CHECK_TYPE(!signature || *signature == *op.signature, op.name, ": called with C++ types that do not fit its schema ", op.schema);
  return {fn, nullptr, false};
}

std::string registered_backends(const OpEntry& op) {
  std::string s;
  auto add = [&](const std::string& name) { s += s.empty() ? name : ", " + name; };
  if (op.slot(OpEntry::cpu_slot)) add("CPU");
  if (op.slot(OpEntry::meta_slot)) add("Meta");
  if (const Extension* e = op.extension.load(std::memory_order_acquire)) {
    for (int b = 0; b < kMaxBackends; b++)
      if (e->backends[b].load(std::memory_order_acquire)) add(backend_name(static_cast<uint8_t>(b)));
  }
  for (const uint8_t b : {kSparseBackend, kSparseCompressedBackend})
    if ((op.flags & (kAnyLayoutOp | kCompositeOp)) || sparse_kernel(op, b)) add(backend_name(b));
  return s.empty() ? "none" : s;
}

const Kernel* backend_kernel(const OpEntry& op, uint8_t backend) {
  const Extension* e = op.extension.load(std::memory_order_acquire);
  if (is_sparse_backend(backend))
    if (const Kernel* k = sparse_kernel(op, backend)) return k;
  return e ? e->backends[backend].load(std::memory_order_acquire) : nullptr;
}

}  // namespace

bool needs_computed_values(const OpEntry& op) {
  const bool resizes = (op.flags & kAnyDeviceOp) && (op.flags & kInplaceOp);
  return !resizes && !(op.flags & (kViewOp | kCompositeOp));
}

Target kernel_without_data(const OpEntry& op) {
  if (const Kernel* k = backend_kernel(op, kMetaBackend)) return {nullptr, &k->boxed, true, NoData::Fake};
  if (const AnyFn fn = op.slot(OpEntry::meta_slot)) return {fn, nullptr, false, NoData::Fake};
  if (op.flags & (kViewOp | kAnyDeviceOp)) return {op.slot(OpEntry::cpu_slot), nullptr, false, NoData::Fake};
  const Extension* extension = op.extension.load(std::memory_order_acquire);
  if (extension)
    if (const Kernel* k = extension->composite.load(std::memory_order_acquire)) return {nullptr, &k->boxed};
  return {op.slot(OpEntry::decomposition_slot)};
}

Target resolve(const OpEntry& op, const std::type_info* signature, uint8_t awake, uint8_t backend) {
  const Extension* extension = op.extension.load(std::memory_order_acquire);
  for (int l = kNumLayers - 1; l >= 0; l--) {
    if (!(awake >> l & 1)) continue;
    if (extension)
      if (const Kernel* k = extension->layers[l].load(std::memory_order_acquire)) return target_of(*k, signature, false);
    if (l == static_cast<int>(Layer::Autograd)) {
      // Opaque tensors have no history, and a composite's body would look into them.
      if ((op.flags & kCompositeOp) && extension && backend == backend_of(DeviceType::CPU, Layout::Mkldnn) &&
          extension->backends[backend].load(std::memory_order_acquire))
        continue;
      if (backend == kFakeBackend && (op.flags & kCompositeOp)) return {nullptr, &kFake, false};
      if (const AnyFn fn = op.slot(OpEntry::autograd_slot)) return from_slot(fn, op, signature);
      if (!op.signature && !(extension && extension->composite.load(std::memory_order_acquire))) return {nullptr, &kNoFormula, false};
    } else if (l == static_cast<int>(Layer::LazyMath)) {
      if (backend == kFakeBackend || layer_state().fake_mode) return {nullptr, &kFake, false};
      if (needs_computed_values(op)) return {nullptr, &kLazyMath, false};
    } else if (const BoxedFn* function = layer_function(l, op)) {
      return {nullptr, function, false};
    }
  }
  if (backend == kFakeBackend) return {nullptr, &kFake, false};
  const NoData no_data = backend == kMetaBackend && !(op.flags & kCompositeOp) ? NoData::Meta : NoData::None;
  if (extension) {
    if (const Kernel* k = extension->backends[backend].load(std::memory_order_acquire)) {
      Target target = target_of(*k, signature, true);
      target.no_data = no_data;
      return target;
    }
  }
  if (backend == kCpuBackend || backend == kMetaBackend) {
    if (const AnyFn fn = op.slot(backend == kCpuBackend ? OpEntry::cpu_slot : OpEntry::meta_slot)) {
      Target target = from_slot(fn, op, signature);
      target.no_data = no_data;
      return target;
    }
  } else if (backend == kUninitializedBackend) {
    CRESSET_CHECK_VALUE(false, op.name, ": got an uninitialized tensor; call the module once, or materialize() the tensor");
  } else if (backend == kNoBackend) {
    CRESSET_CHECK(false, op.name, ": no backend is registered for the device and layout of the arguments; ",
                  "the operator is registered for: ", registered_backends(op));
  } else if (is_sparse_backend(backend)) {
    if (const Kernel* k = sparse_kernel(op, backend)) return target_of(*k, signature, true);
    if (op.flags & kAnyLayoutOp) return from_slot(op.slot(OpEntry::cpu_slot), op, signature);
    if (op.functional && ((op.functional->flags & kAnyLayoutOp) || backend_kernel(*op.functional, backend))) return {nullptr, &kDerived, true};
  } else if (op.flags & (kViewOp | kAnyDeviceOp)) {
    // A view is geometry alone, the same on every device.
    return from_slot(op.slot(OpEntry::cpu_slot), op, signature);
  } else if (op.functional && backend_kernel(*op.functional, backend)) {
    return {nullptr, &kDerived, true};
  }
  if (extension)
    if (const Kernel* k = extension->composite.load(std::memory_order_acquire)) return target_of(*k, signature, true);
  if (const AnyFn fn = op.slot(OpEntry::decomposition_slot)) return from_slot(fn, op, signature);
  if (const BoxedFn* fallback = backend_fallback(backend)) return {nullptr, fallback, true};
  if (is_sparse_backend(backend))
    CRESSET_CHECK_NOT_IMPLEMENTED(false, "Could not run 'aten::", op.name, "' with arguments from the '", backend_name(backend),
                                  "' backend; the operator is registered for: ", registered_backends(op));
  CRESSET_CHECK_NOT_IMPLEMENTED(false, op.name, ": not implemented for the backend ", backend_name(backend),
                                "; the operator is registered for: ", registered_backends(op));
  __builtin_unreachable();
}

namespace {

void call_boxed_in(const OpEntry& op, Stack& stack, uint8_t layers) {
  const FunctionSchema& schema = op.function_schema();
  const size_t n = schema.arguments.size();
  CRESSET_CHECK_TYPE(stack.size() >= n, op.name, ": expected ", n, " values on the stack, got ", stack.size());
  Key key;
  DeviceType device = DeviceType::CPU;
  Layout layout = Layout::Strided;
  bool factory = true;
  for (size_t i = 0; i < n; i++) {
    const Value& v = stack[stack.size() - n + i];
    for_each_tensor(v, [&](const Tensor& t) {
      key.add(t);
      factory = false;
    });
    if (v.is<Device>() && schema.arguments[i].name == "device") device = v.to_device().type();
    if (v.is<Layout>()) layout = v.to_layout();
  }
  // What is made, not what is read, has the layout that is named.
  if (CRESSET_UNLIKELY(device != DeviceType::CPU || (factory && layout != Layout::Strided)))
    key.backend = std::max(key.backend, backend_of(device, factory ? layout : Layout::Strided));
  const LayerState& state = layer_state();
  const uint8_t awake = static_cast<uint8_t>((key.layers | state.included) & ~state.excluded & layers);
  const Target target = resolve(op, nullptr, awake, key.backend);
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
    const char* what = e && e->layers[l].load(std::memory_order_acquire) ? "registered at run time"
                       : layer == Layer::Autograd && op.slot(OpEntry::autograd_slot) ? "built in"
                       : layer == Layer::LazyMath ? needs_computed_values(op) ? "computes conjugates and negatives" : "passes through"
                       : layer_function(l, op)                          ? "boxed function"
                                                                        : "passes through";
    s += std::string("  layer ") + layer_name(layer) + ": " + what + "\n";
  }
  auto line = [&](const std::string& backend, const char* what) { s += "  backend " + backend + ": " + what + "\n"; };
  for (int b = 0; b < kMaxBackends - 1; b++) {
    const uint8_t number = static_cast<uint8_t>(b);
    const std::string backend = backend_name(number);
    if (backend == "none") break;
    if (is_sparse_backend(number)) {
      if (sparse_kernel(op, number)) { line(backend, "built in"); continue; }
      if (op.flags & kAnyLayoutOp) { line(backend, "built in for every layout"); continue; }
    }
    if (backend_kernel(op, number)) line(backend, "registered at run time");
    else if (b < 2 && op.slot(b == 0 ? OpEntry::cpu_slot : OpEntry::meta_slot)) line(backend, op.flags & kCompositeOp ? "composite" : "built in");
    else if (!is_sparse_backend(number) && op.flags & kViewOp) line(backend, "view");
    else if (!is_sparse_backend(number) && op.flags & kAnyDeviceOp) line(backend, "built in for every device");
    else if (op.functional && backend_kernel(*op.functional, number)) line(backend, "derived from the functional form");
    else if (op.slot(OpEntry::decomposition_slot) || (e && e->composite.load(std::memory_order_acquire))) line(backend, "decomposition");
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
