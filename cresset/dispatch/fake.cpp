// Runs in place of every kernel when a tensor of the call is fake, or the thread makes its tensors fake.

#include "cresset/core/fake_mode.h"
#include "cresset/core/sparse.h"
#include "cresset/dispatch/listen.h"
#include "cresset/dispatch/registry.h"

namespace cresset::dispatch {

namespace {

// "aten.add.Tensor", "aten.nonzero.default".
std::string torch_name(const OpEntry& op) {
  const FunctionSchema& schema = op.function_schema();
  return (schema.ns == "cresset" ? "aten" : schema.ns) + "." + schema.name + "." + (schema.overload.empty() ? "default" : schema.overload);
}

std::string described(const Tensor& t) {
  return str(is_fake(*t.impl()) ? "FakeTensor(..., " : "tensor([...], ", "device=", t.device().str(), ", size=", t.sizes(), ")");
}

struct Call {
  FakeMode* mode;
  bool lazy = false, known = true, any = false;  // known: the values of all tensors are known
};

Call call_of(const OpEntry& op, const Value* arguments, size_t n) {
  Call call{layer_state().fake_mode};
  for (size_t i = 0; i < n; i++) {
    for_each_tensor(arguments[i], [&](const Tensor& t) {
      call.any = true;
      call.lazy = call.lazy || t.impl()->is_lazy();
      if (!is_fake(*t.impl())) {
        call.known = call.known && t.impl()->is_wrapped_number();
        return;
      }
      FakeMode* const mode = mode_of_fake(*t.impl());
      if (mode && !call.mode) call.mode = mode;
      CRESSET_CHECK_AS(MixedFakeError, !mode || mode == call.mode, "Mixing fake modes NYI: ", op.name, " got ", described(t), " of another mode");
      call.known = call.known && known_values(*t.impl());
    });
    call.known = call.known && op.function_schema().arguments[i].type.kind != TypeKind::Generator;
  }
  return call;
}

// Real tensors that a call writes, with the fake ones that are written in their place: their data stays.
using Written = SmallVector<std::pair<Tensor, Tensor>, 2>;

// The argument with real tensors made fake.
Value made_fake(const OpEntry& op, const Call& call, const Value& argument, bool writes, Written& written) {
  return map_tensors(argument, [&](const Tensor& t) -> Tensor {
    if (is_fake(*t.impl())) return t;
    const bool number = t.impl()->is_wrapped_number();
    CRESSET_CHECK_AS(MixedFakeError, number || call.mode->allow_non_fake_inputs(),
                     "fake tensors: got a tensor with data, expected fake ones only, or a mode with allow_non_fake_inputs=True; in ", torch_name(op),
                     writes ? ", which writes " : ": ", described(t));
    Tensor fake(call.mode->fake_of(*t.impl()));
    if (number) fake.impl()->storage()->set_constant(t.impl()->storage());
    if (writes) written.push_back({fake, t});
    return fake;
  });
}

// The real tensor that a result stands for, which is returned in its place.
Tensor given_for(const Tensor& result, const Written& written) {
  for (const auto& [fake, real] : written)
    if (fake.is_same(result)) return real;
  return result;
}

void check_devices(const OpEntry& op, const Value* arguments, size_t n) {
  if (contains(kMixedDeviceOps, kNumMixedDeviceOps, op)) return;
  const Tensor* first = nullptr;
  for (size_t i = 0; i < n; i++) {
    for_each_tensor(arguments[i], [&](const Tensor& t) {
      if (t.dim() == 0 && t.is_cpu()) return;
      CRESSET_CHECK_AS(FakeDeviceMismatchError, !first || first->device() == t.device(), op.name, ": expected tensors of one device, got ",
                       first->device().str(), " and ", t.device().str(), "!");
      if (!first) first = &t;
    });
  }
}

// As many elements as a tensor of sizes or flags may have.
constexpr int64_t kMostKnown = 64;

// Takes the values of small tensors along, as long as they follow from known ones.
void compute_known(const OpEntry& op, Stack& inputs, const Stack& results) {
  for (const Value& v : results) {
    bool few = true;
    for_each_tensor(v, [&](const Tensor& t) { few = few && t.numel() <= kMostKnown && is_fake(*t.impl()) && t.is_cpu(); });
    if (!few) return;
  }
  const FakeModeScope off(nullptr);
  bool known = true;  // resize_ has forgotten them
  for (Value& v : inputs)
    v = map_tensors(v, [&](const Tensor& t) {
      const Tensor values(known_values(*t.impl()));
      known = known && values.defined();
      return values;
    });
  if (!known) return;
  call_boxed(op, inputs);
  for (size_t i = 0; i < results.size() && i < inputs.size(); i++) {
    if (!results[i].is_tensor() || !inputs[i].is_tensor() || !inputs[i].to_tensor().defined()) continue;
    const Tensor &fake = results[i].to_tensor(), &real = inputs[i].to_tensor();
    if (real.is_contiguous() && real.storage_offset() == 0 && fake.storage_offset() == 0 && !real.impl()->is_lazy())
      fake.impl()->storage()->set_constant(real.impl()->storage());
  }
}

// The backend of the sparse tensors of a call, and of the one that it makes; that of the CPU: there are none.
uint8_t sparse_backend_of(const Value* arguments, size_t n) {
  uint8_t backend = kCpuBackend;
  auto add = [&](Layout layout) {
    if (is_sparse(layout)) backend = std::max(backend, backend_of(DeviceType::CPU, layout));
  };
  for (size_t i = 0; i < n; i++) {
    if (arguments[i].is<Layout>()) add(arguments[i].to_layout());
    for_each_tensor(arguments[i], [&](const Tensor& t) { add(t.layout()); });
  }
  return backend;
}

// Whether a gradient of the call is recorded above.
bool is_recorded(const Value* arguments, size_t n) {
  uint8_t layers = 0;
  for (size_t i = 0; i < n; i++) for_each_tensor(arguments[i], [&](const Tensor& t) { layers = static_cast<uint8_t>(layers | t.impl()->layers()); });
  return layers & kAutogradLayer & ~layer_state().excluded;
}

void run(const Target& target, const OpEntry& op, Stack& stack) {
  if (target.typed) op.call_typed(target.typed, stack);
  else (*target.boxed)(op, stack);
}

// The same for a body over the parts of sparse tensors. `below`: where the arguments stand.
void run_over_parts(const Target& target, const OpEntry& op, Stack& stack, size_t below, SymbolicShapes* shapes) {
  {
    WrittenVersions versions;
    const std::vector<Argument>& arguments = op.function_schema().arguments;
    for (size_t i = 0; target.registered && i < arguments.size(); i++)
      if (arguments[i].writes && stack[below + i].is_tensor()) versions.add(stack[below + i].to_tensor_ref());
    run(target, op, stack);
  }
  for (size_t i = below; shapes && i < stack.size(); i++)
    for_each_tensor(stack[i], [&](const Tensor& t) {
      if (is_sparse(t.layout())) shapes->made(intrusive_ptr<TensorImpl>::share(t.impl()));
    });
}

// Whether a tensor among the arguments is one whose class takes calls over: it is asked before rules for fake tensors are.
bool any_of_class(const Value* arguments, size_t n) {
  bool any = false;
  for (size_t i = 0; i < n; i++) for_each_tensor(arguments[i], [&](const Tensor& t) { any = any || is_subclass(t); });
  return any;
}

}  // namespace

void run_fake(const OpEntry& op, Stack& stack) {
  const FunctionSchema& schema = op.function_schema();
  const size_t n = schema.arguments.size();
  Value* arguments = stack.data() + (stack.size() - n);
  const Call call = call_of(op, arguments, n);
  const FakeModeScope mode(call.mode);
  SymbolicShapes* const shapes = call.mode ? call.mode->shapes() : nullptr;
  const uint8_t sparse = sparse_backend_of(arguments, n);
  Target target;
  if (sparse && !((op.flags & kCompositeOp) && is_recorded(arguments, n))) target = kernel_of_parts(op, sparse);
  // A body over the parts of sparse tensors, which are fake.
  bool over_parts = target.typed || target.boxed;
  if ((op.flags & kCompositeOp) && !over_parts) {
    const AnyFn body = op.slot(OpEntry::autograd_slot);
    const RegisteredKernel* const own = body_of_program(op, kFakeBackend);
    auto composite = [&] {
      if (own) own->boxed(op, stack);
      else op.call_typed(body ? body : builtin_of(op, OpEntry::cpu_slot), stack);
    };
    if (shapes) shapes->run_composite(op, stack, composite);
    else composite();
    return;
  }
  if (call.lazy && any_of_class(arguments, n) && !listener_at(ListenPlace::below_autograd)) return heard_below(op, stack);
  // Hidden: the values are being computed, by a kernel that reads stored dtypes itself.
  if (call.lazy && needs_computed_values(op) && !(layer_state().hidden & kLazyMathLayer)) {
    const NoDataScope fake(NoData::Fake);
    compute_lazy_math(op, stack);
    return;
  }
  if (!over_parts) {
    target = kernel_without_data(op);
    over_parts = (op.flags & kAnyLayoutOp) && target.no_data == NoData::None;
    if (sparse && target.no_data != NoData::None && !target.registered) {  // a rule for strided tensors
      target = {op.slot(OpEntry::decomposition_slot)};
      if (!target.typed) no_kernel(op, sparse);
    }
  }
  if (!target.typed && !target.boxed) {
    bool tensors = false;
    for (const Argument& a : schema.returns) tensors = tensors || a.type.kind == TypeKind::Tensor;
    const std::string name = torch_name(op);
    if (shapes && shapes->run_data_dependent(op, stack)) return;
    if (tensors) throw DynamicOutputShapeError(name, name + ": the shape of the result depends on data, which fake tensors do not have");
    throw DataDependentOutputError(name, name + ": the result depends on data, which fake tensors do not have");
  }
  if (target.no_data == NoData::None && !over_parts) {  // a body over other operators
    if (shapes) shapes->run_composite(op, stack, [&] { run(target, op, stack); });
    else run(target, op, stack);
    return;
  }
  bool writes = false;
  Written written;
  for (size_t i = 0; i < n; i++) {
    arguments[i] = made_fake(op, call, arguments[i], schema.arguments[i].writes, written);
    writes = writes || schema.arguments[i].writes;
  }
  check_devices(op, arguments, n);
  const bool follow = call.any && call.known && !over_parts && !(op.flags & kViewOp);
  Stack inputs;
  if (follow) inputs.assign(arguments, arguments + n);
  if (writes && !follow) {
    for (size_t i = 0; i < n; i++) {
      if (!schema.arguments[i].writes) continue;
      for_each_tensor(arguments[i], [](const Tensor& t) {
        if (t.impl()->has_storage()) t.impl()->storage()->set_constant({});
      });
    }
  }
  const size_t below = stack.size() - n;
  auto body = [&] {
    const NoDataScope fake(target.no_data);
    if (over_parts) run_over_parts(target, op, stack, below, shapes);
    else run(target, op, stack);
  };
  if (shapes && over_parts) shapes->run_composite(op, stack, body);
  else if (shapes) shapes->run(op, stack, body);
  else body();
  if (follow) compute_known(op, inputs, Stack(stack.begin() + static_cast<int64_t>(below), stack.end()));
  if (CRESSET_LIKELY(written.empty())) return;
  for (size_t i = below; i < stack.size(); i++) stack[i] = map_tensors(stack[i], [&](const Tensor& t) { return given_for(t, written); });
}

}  // namespace cresset::dispatch
