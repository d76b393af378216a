// Boxed kernels written once for all ops: the CPU fallback of a device, in-place and out= forms from the functional one, and the layer
// that computes lazy conjugates and negatives, on bools of any bytes, and on dtypes that are only stored; devices' results beside the shape rules.

#include <unordered_map>

#include "cresset/core/fake_mode.h"
#include "cresset/core/raw_bool.h"
#include "cresset/core/result_type.h"
#include "cresset/core/sparse.h"
#include "cresset/dispatch/registry.h"

namespace cresset::dispatch {

namespace {

void copy_into(const Tensor& target, const Tensor& source) {
  Stack stack{target, source, false};
  call_boxed(kRoleOps.copy, stack);
}

Tensor empty_on(Device device, const Tensor& like) {
  Stack stack{like.sizes(), like.scalar_type(), Value(), device, Value(), Value()};
  call_boxed(kRoleOps.empty, stack);
  return stack.back().to_tensor();
}

Tensor moved(const Tensor& t, Device device) {
  if (t.device().type() == device.type()) return t;
  Tensor out = empty_on(device, t);
  if (out.numel() > 0) copy_into(out, t);
  return out;
}

void resize_to(const Tensor& target, IntArrayRef sizes) {
  if (target.sizes() == sizes) return;
  Stack stack{target, sizes, Value()};
  call_boxed(kRoleOps.resize, stack);
}

// Takes the last n values off the stack.
Stack take_arguments(Stack& stack, size_t n) {
  Stack arguments(std::make_move_iterator(stack.end() - static_cast<int64_t>(n)), std::make_move_iterator(stack.end()));
  stack.resize(stack.size() - n);
  return arguments;
}

// The memory of a lazily conjugated or negated tensor as it is stored, or the bytes of bools as they are.
Tensor stored(const Tensor& t) {
  if (!t.is_conj() && !t.is_neg()) return t;
  Tensor plain(t.impl()->alias(true));
  plain.impl()->set_conj(false);
  plain.impl()->set_neg(false);
  return plain;
}

// The truth values of bools of any bytes.
Tensor truths_of(const Tensor& raw) {
  Tensor bytes(raw.impl()->alias(true));
  bytes.impl()->set_neg(false);
  bytes.impl()->set_dtype(kByte);
  Stack stack{std::move(bytes), Scalar(0)};
  call_boxed(kRoleOps.differs, stack);
  return stack.back().to_tensor();
}

// The same values in another dtype, without a history.
Tensor in_dtype(const Tensor& t, ScalarType dtype) {
  if (t.scalar_type() == dtype) return t;
  if (t.layout() != Layout::Strided) return with_values(t, in_dtype(sparse_parts(t).values, dtype));
  Tensor out(t.impl()->is_non_overlapping_and_dense() ? make_strided(t.sizes(), t.strides(), dtype, t.device()) : make_dense(t.sizes(), dtype, t.device()));
  if (out.numel() > 0) copy_into(out, t);
  return out;
}

const Float8Refusal* float8_refusal(const OpEntry& op) {
  static const auto& all = *new const std::unordered_map<const OpEntry*, const Float8Refusal*>([] {
    std::unordered_map<const OpEntry*, const Float8Refusal*> rows;
    for (size_t i = 0; i < kNumFloat8Refusals; i++) rows.emplace(kFloat8Refusals[i].op, &kFloat8Refusals[i]);
    return rows;
  }());
  const auto at = all.find(&op);
  return at == all.end() ? nullptr : at->second;
}

void refuse_float8(const OpEntry& op, const Stack& arguments) {
  ScalarType format = ScalarType::Undefined;
  bool alone = true, empty = true;
  for (const Value& v : arguments)
    for_each_tensor(v, [&](const Tensor& t) {
      if (!t.defined()) return;
      empty = empty && t.numel() == 0;
      if (is_float8_type(t.scalar_type()) && t.device().is_cpu() && !is_fake(*t.impl())) format = t.scalar_type();
      else alone = alone && is_float8_type(t.scalar_type());
    });
  if (format == ScalarType::Undefined) return;
  const Float8Refusal* refusal = float8_refusal(op);
  if (!refusal || (refusal->unless == Float8Refusal::empty && empty) || (refusal->unless == Float8Refusal::alone && alone)) return;
  if (refusal->unless == Float8Refusal::coo && arguments[0].to_tensor().layout() == Layout::Sparse) return;
  CRESSET_CHECK_NOT_IMPLEMENTED(false, '"', refusal->kernel, "\" not implemented for '", toString(format), "'");
}

// How a call on stored dtypes is computed.
struct StoredMath {
  // The dtype that results of the computing dtype are cast to: the dtype argument, else what the tensors promote to. Undefined: they stay.
  ScalarType result = ScalarType::Undefined;
  // complex32 beside complex64 counts as complex128, so that what asks for one dtype still sees two.
  bool beside_wider = false;

  ScalarType computing(ScalarType stored) const { return beside_wider && stored == kComplexHalf ? kComplexDouble : compute_type(stored); }
};

// Ops that choose by a condition ask for an out of the very dtype of the result, which the computing dtypes no longer tell.
void check_chosen_dtype(const OpEntry& op, const Stack& arguments) {
  ResultType types;
  for (size_t i = 1; i + 1 < arguments.size(); i++) types.add(*arguments[i].to_tensor().impl());
  const ScalarType out = arguments.back().to_tensor().scalar_type();
  CRESSET_CHECK(types.get() == out, op.functional->function_schema().name, ": expected an out of dtype ", types.get(), ", but got ", out, " instead");
}

StoredMath stored_math_of(const Stack& arguments, bool checked) {
  StoredMath math;
  ResultType types;
  bool half = false, single = false;
  for (const Value& v : arguments) {
    if (v.is<ScalarType>()) {
      if (is_storage_type(v.to_dtype())) math.result = v.to_dtype();
      return math;
    }
    for_each_tensor(v, [&](const Tensor& t) {
      if (!t.defined()) return;
      half = half || t.scalar_type() == kComplexHalf;
      single = single || t.scalar_type() == kComplexFloat;
      // Masks and indices, which may stand beside dtypes that promote with nothing.
      if (!is_integral_type(t.scalar_type(), true)) types.add(*t.impl());
    });
  }
  math.beside_wider = half && single && !checked;
  const ScalarType t = types.get();
  if (is_storage_type(t) || (math.beside_wider && t == kComplexFloat)) math.result = t;
  return math;
}

// The values of `t` as a lazy tensor of the same kind would store them, and the other way round: both changes undo themselves.
Tensor changed_as(const Tensor& lazy, Tensor t) {
  Stack stack{std::move(t)};
  if (lazy.is_conj()) call_boxed(kRoleOps.conj, stack);
  if (is_negative_view(*lazy.impl())) call_boxed(kRoleOps.negate, stack);
  return stack.back().to_tensor();
}

// Puts the results of a call on stand-ins on the stack: `of` names the tensor that a stand-in stands for, or maps any other result.
template <class F> void push_results(Stack& stack, const Stack& results, const SmallVector<std::pair<const TensorImpl*, Tensor>, 2>& written, F&& other) {
  for (const Value& result : results) {
    stack.push_back(map_tensors(result, [&](const Tensor& t) {
      for (const auto& [copy, original] : written)
        if (t.impl() == copy) return original;
      return other(t);
    }));
  }
}

// dtype, layout, device and pin_memory that make a tensor like `out`.
Value option_of(const std::string& name, const Tensor& out) {
  if (name == "dtype") return out.scalar_type();
  if (name == "layout") return out.layout();
  if (name == "device") return out.device();
  return {};
}

}  // namespace

void derived_from_functional(const OpEntry& op, Stack& stack) {
  const FunctionSchema& schema = op.function_schema();
  const Stack arguments = take_arguments(stack, schema.arguments.size());
  std::vector<Tensor> written;
  for (size_t i = 0; i < arguments.size(); i++)
    if (schema.arguments[i].writes) written.push_back(arguments[i].to_tensor());
  Stack inner;
  for (const Argument& a : op.functional->function_schema().arguments) {
    const int at = schema.argument_index(a.name);
    inner.push_back(at >= 0 ? arguments[static_cast<size_t>(at)] : option_of(a.name, written[0]));
  }
  call_boxed(*op.functional, inner);
  for (size_t i = 0; i < written.size(); i++) {
    const Tensor& result = inner[i].to_tensor();
    if (op.flags & kOutOp) resize_to(written[i], result.sizes());
    const bool restrides = (op.flags & kViewOp) && written[i].layout() != Layout::Strided;  // t_() of a sparse tensor
    CRESSET_CHECK(restrides || written[i].sizes() == result.sizes(), op.name, ": output with shape ", written[i].sizes(), " doesn't match the result's shape ",
                  result.sizes());
    CRESSET_CHECK(can_cast(result.scalar_type(), written[i].scalar_type()), op.name, ": expected an out that takes dtype ", result.scalar_type(), ", got ",
                  written[i].scalar_type());
    copy_into(written[i], written[i].layout() == Layout::Strided ? result.to_dense() : result);
    stack.emplace_back(written[i]);
  }
}

void copy_by_copy_from(const OpEntry& copy_from, Stack& stack) {
  const Stack arguments = take_arguments(stack, 3);
  const Tensor& self = arguments[0].to_tensor();
  stack.emplace_back(self);
  if (self.numel() == 0) return;
  static const OpEntry& expand = find_op("expand").entry();
  Stack expanded{arguments[1], self.sizes(), false};
  call_boxed(expand, expanded);
  Tensor from = expanded.back().to_tensor();
  const bool same = from.scalar_type() == self.scalar_type();
  if (!same && from.device().is_cpu()) from = in_dtype(from, self.scalar_type());
  const bool cast_after = from.scalar_type() != self.scalar_type() && self.device().is_cpu();
  const Tensor to = cast_after ? Tensor(make_dense(self.sizes(), from.scalar_type(), self.device())) : self;
  Stack inner{from, to, arguments[2]};
  call_boxed(copy_from, inner);
  if (cast_after) copy_into(self, to);
}

void cpu_fallback(const OpEntry& op, Stack& stack) {
  const FunctionSchema& schema = op.function_schema();
  Stack arguments = take_arguments(stack, schema.arguments.size()), on_cpu;
  Device device(kCPU);
  for (const Value& v : arguments) {
    for_each_tensor(v, [&](const Tensor& t) {
      if (t.device().is_cpu()) return;
      CRESSET_CHECK(device.is_cpu() || device == t.device(), op.name, ": expected all tensors on one device, got ", device, " and ", t.device());
      device = t.device();
    });
    if (v.is<Device>() && !v.to_device().is_cpu()) device = v.to_device();
  }
  for (const Value& v : arguments) on_cpu.push_back(v.is<Device>() ? Value(Device(kCPU)) : map_tensors(v, [](const Tensor& t) { return moved(t, kCPU); }));
  Stack inner = on_cpu;
  {
    // A region of mixed precision on the CPU is not one on the device.
    const ExcludeLayers below(layer_bit(Layer::Autocast));
    call_boxed(op, inner);
  }
  SmallVector<std::pair<const TensorImpl*, Tensor>, 2> written;  // the CPU copy and what it stands for
  for (size_t i = 0; i < arguments.size(); i++) {
    if (!schema.arguments[i].writes || !arguments[i].is_tensor()) continue;
    const Tensor &copy = on_cpu[i].to_tensor(), &original = arguments[i].to_tensor();
    resize_to(original, copy.sizes());
    if (!copy.is_same(original)) copy_into(original, copy);
    written.emplace_back(copy.impl(), original);
  }
  push_results(stack, inner, written, [&](const Tensor& t) { return moved(t, device); });
}

void compute_lazy_math(const OpEntry& op, Stack& stack) {
  const FunctionSchema& schema = op.function_schema();
  const Stack arguments = take_arguments(stack, schema.arguments.size());
  const bool reads_stored = contains(kStoredDtypeOps, kNumStoredDtypeOps, op);
  const bool chosen = (op.flags & kOutOp) && contains(kChosenOutOps, kNumChosenOutOps, op);
  if (chosen) check_chosen_dtype(op, arguments);
  refuse_float8(op, arguments);
  const StoredMath math = reads_stored ? StoredMath() : stored_math_of(arguments, chosen);
  Stack inner;
  SmallVector<std::pair<const TensorImpl*, Tensor>, 2> stand_ins;  // one for a tensor that is passed twice
  for (const Value& v : arguments) {
    if (v.is<ScalarType>()) {
      inner.emplace_back(compute_type(v.to_dtype()));
      continue;
    }
    inner.push_back(map_tensors(v, [&](const Tensor& t) {
      if (!t.defined() || !t.impl()->is_lazy()) return t;
      for (const auto& [original, copy] : stand_ins)
        if (original == t.impl()) return copy;
      if (is_raw_bool(*t.impl())) return stand_ins.emplace_back(t.impl(), truths_of(t)), stand_ins.back().second;
      const Tensor plain = stored(t);
      stand_ins.emplace_back(t.impl(), changed_as(t, reads_stored ? plain : in_dtype(plain, math.computing(t.scalar_type()))));
      return stand_ins.back().second;
    }));
  }
  const Stack copies = inner;
  if (reads_stored) {
    const ExcludeLayers below(kLazyMathLayer);
    call_boxed(op, inner);
  } else {
    call_boxed(op, inner);
  }
  SmallVector<std::pair<const TensorImpl*, Tensor>, 2> written;
  for (size_t i = 0; i < arguments.size(); i++) {
    if (!schema.arguments[i].writes || !arguments[i].is_tensor()) continue;
    const Tensor &copy = copies[i].to_tensor(), &original = arguments[i].to_tensor();
    if (copy.is_same(original)) continue;
    resize_to(original, copy.sizes());
    copy_into(stored(original), changed_as(original, copy));
    written.emplace_back(copy.impl(), original);
  }
  push_results(stack, inner, written, [&](const Tensor& t) {
    const ScalarType result = math.result;
    if (!t.defined() || result == ScalarType::Undefined) return t;
    const ScalarType computed = math.beside_wider ? kComplexDouble : compute_type(result);
    if (t.scalar_type() == computed) return in_dtype(t, result);
    return is_complex_type(result) && t.scalar_type() == to_real_type(computed) ? in_dtype(t, to_real_type(result)) : t;
  });
}

namespace {

// The results of a call by the operator's rule, from tensors without memory; empty where the rule refuses the arguments or needs their data.
Stack results_by_rule(const OpEntry& op, Stack arguments) {
  const Device meta(DeviceType::Meta);
  for (Value& v : arguments) {
    if (v.is<Device>()) v = meta;
    v = map_tensors(v, [&](const Tensor& t) {
      Tensor out(make_strided(t.sizes(), t.strides(), t.scalar_type(), meta));
      if (t.impl()->is_wrapped_number()) out.impl()->set_wrapped_number(true);
      return out;
    });
  }
  try {
    call_boxed_below(Layer::LazyMath, op, arguments);
  } catch (const std::exception&) { arguments.clear(); }
  return arguments;
}

std::string outline(const Tensor& t) { return str("shape ", t.sizes(), " and dtype ", toString(t.scalar_type())); }

}  // namespace

bool has_checked_results(const OpEntry& op, const RegisteredKernel& kernel, uint8_t backend) {
  if (!op.signature || op.functional || (op.flags & (kCompositeOp | kViewOp | kInplaceOp | kOutOp | kAnyDeviceOp))) return false;
  if (backend == kCpuBackend || backend == kMetaBackend || is_sparse_backend(backend) || !op.slot(OpEntry::meta_slot)) return false;
  return !kernel.functor || kernel.typed;
}

void run_checked(const OpEntry& op, Stack& stack) {
  const uint8_t backend = route_of_kernel().backend;
  const RegisteredKernel& kernel = *op.extension.load(std::memory_order_acquire)->backends[backend].load(std::memory_order_acquire);
  const FunctionSchema& schema = op.function_schema();
  const size_t below = stack.size() - schema.arguments.size();
  Stack arguments(stack.begin() + static_cast<int64_t>(below), stack.end());
  if (kernel.typed) op.call_typed(kernel.typed, stack);
  else kernel.boxed(op, stack);
  bool dense = true;
  for (const Value& v : arguments) for_each_tensor(v, [&](const Tensor& t) { dense = dense && t.layout() == Layout::Strided; });
  if (!dense) return;
  const Stack expected = results_by_rule(op, std::move(arguments));
  for (size_t i = 0; i < expected.size() && i < schema.returns.size(); i++) {
    const Value& given = stack[below + i];
    if (!given.is_tensor() || !expected[i].is_tensor()) continue;
    const Tensor &got = given.to_tensor(), &wanted = expected[i].to_tensor();
    if (!got.defined() || !wanted.defined()) continue;
    CRESSET_CHECK(got.sizes() == wanted.sizes() && got.scalar_type() == wanted.scalar_type(), op.name, ": result ", i, " of the kernel at ", kernel.where,
                  " has ", outline(got), ", expected ", outline(wanted));
  }
}

}  // namespace cresset::dispatch
