#include "cresset/ops/pointwise/pointwise.h"

#include "cresset/core/result_type.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/pointwise/watch.h"

namespace cresset::ops {

namespace {

constexpr size_t kMaxArgs = kernels::kMaxOperands - 1;
thread_local PointwiseWatch* t_watch = nullptr;

CRESSET_COLD void throw_devices(const char* name, const Device& a, const Device& b) {
  CRESSET_CHECK(false, name, ": expected all tensors to be on the same device, got ", a, " and ", b);
}

// Everything about one call before it runs.
struct Plan {
  ScalarType compute, result;
  Device device = Device(kCPU);
  DimVector shape;
};

ScalarType result_of(const PointwiseOp& op, ScalarType compute) {
  if (op.kernel.out == kernels::Out::boolean) return ScalarType::Bool;
  return op.kernel.out == kernels::Out::real ? to_real_type(compute) : compute;
}

Plan make_plan(const PointwiseOp& op, ArrayRef<Arg> args) {
  Plan p;
  bool have_shape = false, have_device = false, device_is_scalar = false;
  ResultType types;
  for (size_t i = 0; i < args.size(); i++) {
    if (args[i].scalar) {
      types.add_number(args[i].scalar->type());
      continue;
    }
    const Tensor& t = *args[i].tensor;
    CRESSET_CHECK(t.defined(), op.name, ": argument ", i + 1, " is an undefined tensor");
    const TensorImpl& impl = *t.impl();
    const Device d = impl.device();
    const bool scalar_on_cpu = impl.dim() == 0 && d.is_cpu();
    if (!have_device || (device_is_scalar && !scalar_on_cpu)) {
      p.device = d;
      have_device = true;
      device_is_scalar = scalar_on_cpu;
    } else if (d != p.device && !scalar_on_cpu) {
      throw_devices(op.name, p.device, d);
    }
    if (!have_shape) {
      p.shape = impl.sizes();
      have_shape = true;
    } else if (impl.sizes() != IntArrayRef(p.shape)) {
      const IntArrayRef other = impl.sizes();
      if (impl.dim() != 0) {
        try {
          p.shape = broadcast_shapes(p.shape, other);
        } catch (Error& e) {
          e.add_context(op.name);
          throw;
        }
      }
    }
    if (static_cast<int>(i) == op.mask) continue;
    types.add(impl);
  }
  if (op.promote == Promote::first) {
    const Arg& first = args[op.mask == 0 ? 1 : 0];
    p.compute = first.tensor ? first.tensor->scalar_type() : ResultType::of_number(first.scalar->type());
  } else {
    p.compute = types.get();
    if (op.promote == Promote::floating && is_integral_type(p.compute, true)) p.compute = get_default_dtype();
  }
  p.result = result_of(op, p.compute);
  p.compute = compute_type(p.compute);
  return p;
}

kernels::Loop loop_of(const PointwiseOp& op, ScalarType t) {
  const kernels::Loop loop = op.kernel.loop(t);
  CRESSET_CHECK_NOT_IMPLEMENTED(loop, op.name, ": not implemented for dtype ", t);
  return loop;
}

// A number stored in the compute dtype, for a loop to read with stride 0.
struct alignas(16) NumberCell {
  unsigned char bytes[16];
};

void store_number(NumberCell* cell, const Scalar& s, ScalarType t) {
  switch (t) {
#define CRESSET_STORE(T, Name) \
  case ScalarType::Name: *reinterpret_cast<T*>(cell->bytes) = s.as<T>(); break;
    CRESSET_FOR_EACH_DTYPE(CRESSET_STORE)
#undef CRESSET_STORE
    default: break;
  }
}

// Strides of `t` in bytes over the broadcast shape.
DimVector byte_strides(const Tensor& t, IntArrayRef shape) {
  const int64_t size = static_cast<int64_t>(t.element_size()), lead = static_cast<int64_t>(shape.size()) - t.dim();
  DimVector s(shape.size(), 0);
  for (int64_t d = 0; d < t.dim(); d++) s[lead + d] = t.sizes()[d] == 1 && shape[lead + d] != 1 ? 0 : t.strides()[d] * size;
  return s;
}

// The same of an input that is read in another dtype: as if it had been cast first, which makes it dense.
DimVector read_strides(const Tensor& t, ScalarType as, IntArrayRef shape) {
  if (t.scalar_type() == as || t.dim() == 0 || t.is_non_overlapping_and_dense()) {
    DimVector s = byte_strides(t, shape);
    const int64_t from = static_cast<int64_t>(t.element_size()), to = static_cast<int64_t>(element_size(as));
    for (int64_t& v : s) v = v / from * to;
    return s;
  }
  const DimVector own(t.strides()), dense = dense_strides(t.sizes(), ArrayRef<DimVector>(&own, 1));
  const int64_t lead = static_cast<int64_t>(shape.size()) - t.dim();
  DimVector s(shape.size(), 0);
  for (int64_t d = 0; d < t.dim(); d++) s[lead + d] = t.sizes()[d] == 1 && shape[lead + d] != 1 ? 0 : dense[d] * static_cast<int64_t>(element_size(as));
  return s;
}

void run(const PointwiseOp& op, const Plan& p, ArrayRef<Arg> args, const Scalar* params, const Tensor& out) {
  kernels::Operand operands[kernels::kMaxOperands];
  ScalarType loop_dtypes[kernels::kMaxOperands];
  NumberCell cells[kMaxArgs];
  SmallVector<DimVector, 4> strides;
  strides.reserve(args.size() + 1);
  strides.push_back(byte_strides(out, p.shape));
  operands[0] = {static_cast<char*>(out.data_ptr()), out.scalar_type(), strides[0].data()};
  loop_dtypes[0] = result_of(op, p.compute);
  for (size_t i = 0; i < args.size(); i++) {
    if (args[i].scalar) {
      store_number(&cells[i], *args[i].scalar, p.compute);
      strides.push_back(DimVector(p.shape.size(), 0));
      operands[i + 1] = {reinterpret_cast<char*>(cells[i].bytes), p.compute, strides.back().data()};
      loop_dtypes[i + 1] = p.compute;
      continue;
    }
    const Tensor& t = *args[i].tensor;
    strides.push_back(byte_strides(t, p.shape));
    operands[i + 1] = {static_cast<char*>(t.data_ptr()), t.scalar_type(), strides.back().data()};
    loop_dtypes[i + 1] = static_cast<int>(i) == op.mask ? ScalarType::Bool : p.compute;
  }
  const size_t n = args.size() + 1;
  kernels::run_nd(p.shape, {operands, n}, 1, {loop_dtypes, n}, loop_of(op, p.compute), params);
}

// Whether the strides of a contiguous tensor are those of a new one, and it has elements.
CRESSET_ALWAYS_INLINE bool has_plain_strides(const TensorImpl& t) {
  int64_t step = 1;
  for (size_t d = t.sizes().size(); d-- > 0;) {
    if (t.strides()[d] != step) return false;
    step *= t.sizes()[d];
  }
  return step != 0;
}

// The common case, straight to the loop: every tensor plain, contiguous, of one shape and of the compute dtype.
struct Direct {
  const TensorImpl* first = nullptr;
  char* data[kernels::kMaxOperands];
  int64_t strides[kernels::kMaxOperands];
  NumberCell cells[kMaxArgs];
  ScalarType result;
  kernels::Loop loop;

  // False if it is not that case.
  CRESSET_ALWAYS_INLINE bool prepare(const PointwiseOp& op, ArrayRef<Arg> args) {
    for (size_t i = 0; i < args.size(); i++) {
      if (args[i].scalar) continue;
      const TensorImpl* t = args[i].tensor->impl();
      if (!t || t->backend() != kCpuBackend || !t->is_contiguous() || t->is_wrapped_number()) return false;
      if (!first) first = t;
      else if (t->dtype() != first->dtype() || t->sizes() != first->sizes()) return false;
    }
    const ScalarType dtype = first->dtype();
    if (op.mask >= 0 || (op.promote == Promote::floating && is_integral_type(dtype, true))) return false;
    const int64_t size = static_cast<int64_t>(element_size(dtype));
    for (size_t i = 0; i < args.size(); i++) {
      if (const Scalar* s = args[i].scalar) {
        // A number of a higher kind would change the dtype; beside a number the order of dimensions without extent shows in the strides.
        if (!is_floating_type(dtype) || s->isComplex() || !has_plain_strides(*first)) return false;
        store_number(&cells[i], *s, dtype);
        data[i + 1] = reinterpret_cast<char*>(cells[i].bytes);
        strides[i + 1] = 0;
      } else {
        data[i + 1] = static_cast<char*>(args[i].tensor->impl()->data());
        strides[i + 1] = size;
      }
    }
    if (first->numel() > 32768) return false;
    loop = loop_of(op, dtype);
    result = result_of(op, dtype);
    return true;
  }

  CRESSET_ALWAYS_INLINE void run(char* out, const Scalar* params) {
    data[0] = out;
    strides[0] = static_cast<int64_t>(element_size(result));
    if (const int64_t n = first->numel(); n > 0) loop(data, strides, n, params);
  }
};

// Undefined if it is not the common case.
Tensor try_direct(const PointwiseOp& op, ArrayRef<Arg> args, const Scalar* params) {
  Direct direct;
  if (!direct.prepare(op, args)) return {};
  Tensor out(make_dense(direct.first->sizes(), direct.result, Device(kCPU)));
  direct.run(static_cast<char*>(out.impl()->data()), params);
  return out;
}

CRESSET_ALWAYS_INLINE void check_memory(const PointwiseOp& op, ArrayRef<Arg> args, const Tensor& out) {
  for (const Arg& a : args)
    if (a.tensor) check_no_partial_overlap(op.name, out, *a.tensor);
}

CRESSET_ALWAYS_INLINE void begin_write(const PointwiseOp& op, const Tensor& out) {
  CRESSET_CHECK(out.impl()->is_writable(), op.name,
                ": Inplace update to inference tensor outside InferenceMode is not allowed. clone() it first to get a normal tensor");
  out.impl()->bump_version();
}

// The same into a tensor that is as plain and has the result's shape and dtype.
bool try_direct_into(const PointwiseOp& op, ArrayRef<Arg> args, const Scalar* params, const Tensor& out) {
  Direct direct;
  const TensorImpl* to = out.impl();
  if (!to || to->backend() != kCpuBackend || !to->is_contiguous() || !direct.prepare(op, args)) return false;
  if (to->dtype() != direct.result || to->sizes() != direct.first->sizes()) return false;
  check_memory(op, args, out);
  begin_write(op, out);
  direct.run(static_cast<char*>(to->data()), params);
  return true;
}

void run_into(const PointwiseOp& op, const Plan& p, ArrayRef<Arg> args, const Scalar* params, const Tensor& out) {
  begin_write(op, out);
  if (runs(out) && out.numel() > 0) run(op, p, args, params, out);
}

}  // namespace

PointwiseWatch* watch_pointwise(PointwiseWatch* watch) { return std::exchange(t_watch, watch); }
PointwiseWatch* pointwise_watch() { return t_watch; }
void store_pointwise_number(void* cell, const Scalar& number, ScalarType dtype) { store_number(static_cast<NumberCell*>(cell), number, dtype); }

ScalarType result_type(ArrayRef<Arg> args) {
  ResultType types;
  for (const Arg& a : args) {
    if (a.scalar) types.add_number(a.scalar->type());
    else types.add(*a.tensor->impl());
  }
  return types.get();
}

DimVector dense_strides(IntArrayRef shape, ArrayRef<DimVector> inputs) {
  const int n = static_cast<int>(shape.size());
  // order[0] is the fastest dimension.
  SmallVector<int, 8> order;
  for (int d = n - 1; d >= 0; d--) order.push_back(d);
  auto slower = [&](int a, int b) {  // 1: a belongs outside b, -1: inside, 0: undecided
    for (const DimVector& s : inputs) {
      if (s[a] == 0 || s[b] == 0) continue;
      if (s[a] != s[b]) return s[a] < s[b] ? -1 : 1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  for (int i = 1; i < n; i++) {
    int at = i;
    for (int j = i - 1; j >= 0; j--) {
      const int c = slower(order[j], order[at]);
      if (c > 0) {
        std::swap(order[j], order[at]);
        at = j;
      } else if (c < 0) {
        break;
      }
    }
  }
  DimVector strides(static_cast<size_t>(n));
  // In their plain order they have the strides of a new tensor, also without elements.
  bool plain = true;
  for (int i = 0; i < n; i++) plain = plain && order[i] == n - 1 - i;
  int64_t step = 1;
  for (const int d : order) {
    strides[d] = step;
    step *= plain && shape[d] == 0 ? 1 : shape[d];
  }
  return strides;
}

namespace {

// The strides of a new result: inputs of one shape that are contiguous, or agree on dense strides, hand that on as it is. None: contiguous.
DimVector result_strides(const PointwiseOp& op, const Plan& p, ArrayRef<Arg> args) {
  const Tensor* only = nullptr;
  for (const Arg& a : args)
    if (a.tensor && !only) only = a.tensor;
  bool same = true, contiguous = true, agree = only && only->is_non_overlapping_and_dense(), last = only && p.shape.size() == 4;
  for (const Arg& a : args) {
    same = same && a.tensor && a.tensor->sizes() == IntArrayRef(p.shape);
    if (!same) break;
    contiguous = contiguous && a.tensor->is_contiguous();
    agree = agree && a.tensor->strides() == only->strides();
    last = last && a.tensor->is_contiguous(MemoryFormat::ChannelsLast);
  }
  if (same && contiguous) return {};
  // Dimensions of one element have the strides of the format, whatever those of the inputs were.
  if (same && last) return strides_for(p.shape, MemoryFormat::ChannelsLast);
  if (same && agree) return DimVector(only->strides());
  SmallVector<DimVector, 4> strides;
  for (const Arg& a : args) {
    if (!a.tensor) continue;
    const bool mask = op.mask >= 0 && &a == args.begin() + op.mask;
    strides.push_back(read_strides(*a.tensor, mask ? kBool : p.compute, p.shape));
  }
  return dense_strides(p.shape, strides);
}

}  // namespace

Tensor pointwise(const PointwiseOp& op, ArrayRef<Arg> args, const Scalar* params) {
  if (Tensor direct = try_direct(op, args, params); direct.defined()) return direct;
  const Plan p = make_plan(op, args);
  loop_of(op, p.compute);
  const DimVector strides = result_strides(op, p, args);
  const ScalarType computed = result_of(op, p.compute);
  Tensor out(strides.empty() ? make_dense(p.shape, computed, p.device) : make_strided(p.shape, strides, computed, p.device));
  if (runs(out) && out.numel() > 0) run(op, p, args, params, out);
  if (CRESSET_UNLIKELY(t_watch)) t_watch->saw({op, loop_of(op, p.compute), p.compute, computed, args, params, out});
  return computed == p.result ? out : out.to(p.result);
}

void pointwise_out(const PointwiseOp& op, ArrayRef<Arg> args, const Scalar* params, const Tensor& out) {
  if (try_direct_into(op, args, params, out)) return;
  const Plan p = make_plan(op, args);
  CRESSET_CHECK(out.device() == p.device, op.name, ": expected out to be on ", p.device, ", got ", out.device());
  const bool real_part = op.kernel.out == kernels::Out::real && is_complex_type(p.compute);
  check_out_dtype(op.name, p.result, out, op.exact_out && !real_part ? OutDtype::exact : OutDtype::cast);
  CRESSET_CHECK(!real_part || !out.is_complex() || out.scalar_type() == p.compute, op.name, ": found dtype ", out.scalar_type(), " but expected ", p.compute);
  check_no_internal_overlap(op.name, out);
  check_memory(op, args, out);
  if (out.sizes() != IntArrayRef(p.shape)) {
    for (const Arg& a : args)
      CRESSET_CHECK(!a.tensor || !a.tensor->is_same(out), op.name, ": output with shape ", out.sizes(), " doesn't match the broadcast shape ", p.shape);
    warn_of_resize(op.name, out, p.shape);
    resize_output(out, p.shape, result_strides(op, p, args));
  }
  loop_of(op, p.compute);
  run_into(op, p, args, params, out);
}

void pointwise_inplace(const PointwiseOp& op, ArrayRef<Arg> args, const Scalar* params, const Tensor& self) {
  if (try_direct_into(op, args, params, self)) return;
  const Plan p = make_plan(op, args);
  CRESSET_CHECK(self.sizes() == IntArrayRef(p.shape), op.name, ": output with shape ", self.sizes(), " doesn't match the broadcast shape ", p.shape);
  CRESSET_CHECK(self.device() == p.device || (p.device.is_cpu() && self.dim() == 0), op.name, ": expected all tensors to be on ", self.device(), ", got ",
                p.device);
  check_castable(op.name, p.result, self.scalar_type());
  CRESSET_CHECK(op.kernel.out != kernels::Out::real || !is_complex_type(p.compute), op.name, ": in place it is not supported for complex tensors, got dtype ",
                p.compute);
  // Filling (masked_fill) may write a place twice.
  if (op.promote != Promote::first) check_no_internal_overlap(op.name, self);
  else warn_of_internal_overlap(op.name, self);
  check_memory(op, args, self);
  loop_of(op, p.compute);
  run_into(op, p, args, params, self);
}

void check_inplace_promotion(const char* op, const Tensor& self, const Inputs& others) {
  SmallVector<Arg, 4> args{Arg(self)};
  DimVector shape(self.sizes());
  for (const Tensor* t : others) {
    args.push_back(Arg(*t));
    shape = broadcast_shapes(shape, t->sizes());
  }
  CRESSET_CHECK(self.sizes() == IntArrayRef(shape), op, ": output with shape ", self.sizes(), " doesn't match the broadcast shape ", shape);
  check_castable(op, result_type(args), self.scalar_type());
}

}  // namespace cresset::ops
