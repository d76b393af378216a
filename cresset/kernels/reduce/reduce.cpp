#include "cresset/kernels/reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "cresset/base/error.h"
#include "cresset/base/small_vector.h"
#include "cresset/kernels/common/reduce_plan.h"
#include "cresset/kernels/expr/complex_math.h"
#include "cresset/kernels/layout/cpu/convert.h"

namespace cresset::kernels {

namespace {

struct Numels {
  int64_t kept = 1, reduced = 1;
};

Numels numels(IntArrayRef shape, uint64_t mask) {
  Numels n;
  for (size_t d = 0; d < shape.size(); d++) (mask >> d & 1 ? n.reduced : n.kept) *= shape[d];
  return n;
}

// The input as a contiguous array of another dtype.
class Converted {
 public:
  Converted(const char* in, ScalarType from, ScalarType to, IntArrayRef shape, IntArrayRef strides) : strides_(shape.size(), 0) {
    const int64_t size = static_cast<int64_t>(element_size(to));
    int64_t numel = 1;
    for (size_t d = shape.size(); d-- > 0; numel *= shape[d]) strides_[d] = numel * size;
    data_.reset(new char[numel * size]);
    if (numel == 0) return;
    const Convert convert = converter(from, to);
    if (shape.empty()) {
      convert(data_.get(), size, in, 0, 1);
      return;
    }
    const size_t last = shape.size() - 1;
    const int64_t n = shape[last];
    DimVector index(last, 0);
    for (int64_t done = 0, offset = 0; done < numel; done += n) {
      convert(data_.get() + done * size, size, in + offset, strides[last], n);
      for (size_t d = last; d-- > 0;) {
        offset += strides[d];
        if (++index[d] < shape[d]) break;
        offset -= shape[d] * strides[d];
        index[d] = 0;
      }
    }
  }
  const char* data() const { return data_.get(); }
  IntArrayRef strides() const { return strides_; }

 private:
  std::unique_ptr<char[]> data_;
  DimVector strides_;
};

// Accumulator of sums and products towards a dtype.
ScalarType accumulator(ScalarType t) {
  if (t == ScalarType::Half || t == ScalarType::BFloat16) return ScalarType::Float;
  return is_integral_type(t, true) ? ScalarType::UInt64 : t;
}

template <class A> void transform(char* acc, int64_t n, double (*f)(double, double), double param) {
  A* a = reinterpret_cast<A*>(acc);
  for (int64_t i = 0; i < n; i++) a[i] = static_cast<A>(f(static_cast<double>(a[i]), param));
}

template <class A> void divide(char* acc, int64_t n, A by) {
  A* a = reinterpret_cast<A*>(acc);
  for (int64_t i = 0; i < n; i++) a[i] = a[i] / by;
}

void divide_all(char* acc, int64_t n, ScalarType t, double by) {
  switch (t) {
    case ScalarType::Float: return divide<float>(acc, n, static_cast<float>(by));
    case ScalarType::Double: return divide<double>(acc, n, by);
    case ScalarType::ComplexFloat: return divide<float>(acc, 2 * n, static_cast<float>(by));
    case ScalarType::ComplexDouble: return divide<double>(acc, 2 * n, by);
    default: CRESSET_CHECK(false, "mean: expected a floating point or complex dtype");
  }
}

void reduce_with(ReduceKernelPtr kernel, ReduceOp op, const char* in, ScalarType in_dtype, IntArrayRef strides, const ReduceArgs& args,
                 double (*f)(double, double) = nullptr) {
  const ReduceProblem problem{
      in,    static_cast<int64_t>(element_size(in_dtype)),      args.shape, strides, args.reduce_mask, {args.out, nullptr}, {args.out_strides, {}},
      false, op == ReduceOp::norm ? args.param.as<double>() : 0};
  const ScalarType acc = kernel->acc_dtype;
  const Convert convert = converter(acc, args.out_dtype);
  const double count = op == ReduceOp::mean ? static_cast<double>(numels(args.shape, args.reduce_mask).reduced) : 0;
  run_reduction(*kernel, problem, [&](char* a, int64_t n, char* const* out, const int64_t* out_strides) {
    if (op == ReduceOp::mean) divide_all(a, n, acc, count);
    if (f) acc == ScalarType::Float ? transform<float>(a, n, f, problem.param) : transform<double>(a, n, f, problem.param);
    convert(out[0], out_strides[0], a, kernel->acc_size, n);
  });
}

void reduce_sum(ReduceFn fn, ReduceOp op, const ReduceArgs& args) {
  const ScalarType wanted = accumulator(args.out_dtype);
  const ReduceKernelPtr kernel = call(sum_kernel_for_stub)(fn, args.in_dtype);
  if (kernel && kernel->acc_dtype == wanted) return reduce_with(kernel, op, args.in, args.in_dtype, args.in_strides, args);
  const Converted in(args.in, args.in_dtype, wanted, args.shape, args.in_strides);
  reduce_with(call(sum_kernel_for_stub)(fn, wanted), op, in.data(), wanted, in.strides(), args);
}

// The sum of what is not NaN over the count of it.
void reduce_nanmean(const ReduceArgs& args) {
  const Numels n = numels(args.shape, args.reduce_mask);
  const std::unique_ptr<int64_t[]> counts(new int64_t[n.kept]);
  ReduceArgs count = args, sum = args;
  const ScalarType acc = accumulator(args.out_dtype);
  CRESSET_CHECK(acc != ScalarType::UInt64, "nanmean: expected a floating point or complex dtype, got ", args.out_dtype);
  const int64_t acc_size = static_cast<int64_t>(element_size(acc));
  const std::unique_ptr<char[]> sums(new char[n.kept * acc_size]);
  DimVector count_strides(args.shape.size(), 0), sum_strides(args.shape.size(), 0);
  for (size_t d = args.shape.size(), stride = 1; d-- > 0;) {
    if (args.reduce_mask >> d & 1) continue;
    count_strides[d] = static_cast<int64_t>(stride) * 8;
    sum_strides[d] = static_cast<int64_t>(stride) * acc_size;
    stride *= static_cast<size_t>(args.shape[d]);
  }
  count.out = reinterpret_cast<char*>(counts.get());
  count.out_dtype = ScalarType::Long;
  count.out_strides = count_strides;
  sum.out = sums.get();
  sum.out_dtype = acc;
  sum.out_strides = sum_strides;
  reduce_with(call(logic_kernel_for_stub)(ReduceFn::count_valid, args.in_dtype), ReduceOp::count_nonzero, args.in, args.in_dtype, args.in_strides, count);
  reduce_sum(ReduceFn::nansum, ReduceOp::nansum, sum);
  for (int64_t i = 0; i < n.kept; i++) divide_all(sums.get() + i * acc_size, 1, acc, static_cast<double>(counts[i]));
  // A reduction over nothing but size-1 dimensions stores the quotients with the caller's strides.
  ReduceArgs copy = args;
  DimVector shape(args.shape);
  for (size_t d = 0; d < shape.size(); d++)
    if (args.reduce_mask >> d & 1) shape[d] = 1;
  copy.in = sums.get();
  copy.in_dtype = acc;
  copy.shape = shape;
  copy.in_strides = sum_strides;
  reduce_sum(ReduceFn::sum, ReduceOp::sum, copy);
}

void reduce_norm(const ReduceArgs& args) {
  const double p = args.param.as<double>(), infinity = std::numeric_limits<double>::infinity();
  if (p == 0)
    return reduce_with(call(logic_kernel_for_stub)(ReduceFn::count_nonzero, args.in_dtype), ReduceOp::count_nonzero, args.in, args.in_dtype, args.in_strides,
                       args);
  const ReduceFn fn = p == 1           ? ReduceFn::sum_abs
                      : p == 2         ? ReduceFn::sum_squares
                      : p == infinity  ? ReduceFn::max_abs
                      : p == -infinity ? ReduceFn::min_abs
                      : p == 3         ? ReduceFn::sum_cubes
                                       : ReduceFn::sum_powers;
  double (*f)(double, double) = nullptr;
  if (fn == ReduceFn::sum_squares) f = [](double x, double) { return std::sqrt(x); };
  if (fn == ReduceFn::sum_cubes) f = [](double x, double) { return std::cbrt(x); };
  if (fn == ReduceFn::sum_powers) f = [](double x, double p) { return std::pow(x, 1 / p); };
  const ScalarType wide = to_real_type(args.in_dtype);
  if (!is_complex_type(args.in_dtype)) {
    CRESSET_CHECK(is_floating_type(args.in_dtype), "norm: expected a floating point or complex dtype, got ", args.in_dtype);
    const ScalarType acc = accumulator(args.in_dtype), wanted = accumulator(args.out_dtype);
    if (acc == wanted) return reduce_with(call(norm_kernel_for_stub)(fn, args.in_dtype), ReduceOp::norm, args.in, args.in_dtype, args.in_strides, args, f);
    const Converted in(args.in, args.in_dtype, wanted, args.shape, args.in_strides);
    return reduce_with(call(norm_kernel_for_stub)(fn, wanted), ReduceOp::norm, in.data(), wanted, in.strides(), args, f);
  }
  // The magnitudes, in the real dtype and to the bit those of abs: the gradient of the largest looks for it.
  Converted in(args.in, args.in_dtype, args.in_dtype, args.shape, args.in_strides);
  const Numels n = numels(args.shape, args.reduce_mask);
  const int64_t size = static_cast<int64_t>(element_size(wide));
  const std::unique_ptr<char[]> magnitudes(new char[n.kept * n.reduced * size]);
  for (int64_t i = 0; i < n.kept * n.reduced; i++) {
    if (wide == ScalarType::Float) {
      const float* z = reinterpret_cast<const float*>(in.data()) + 2 * i;
      reinterpret_cast<float*>(magnitudes.get())[i] = expr::hypot(z[0], z[1]);
    } else {
      const double* z = reinterpret_cast<const double*>(in.data()) + 2 * i;
      reinterpret_cast<double*>(magnitudes.get())[i] = expr::hypot(z[0], z[1]);
    }
  }
  DimVector strides(in.strides());
  for (int64_t& s : strides) s /= 2;
  ReduceArgs real = args;
  real.in = magnitudes.get();
  real.in_dtype = wide;
  real.in_strides = strides;
  reduce_norm(real);
}

}  // namespace

void reduce(ReduceOp op, const ReduceArgs& args) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::mean: return reduce_sum(ReduceFn::sum, op, args);
    case ReduceOp::nansum: return reduce_sum(ReduceFn::nansum, op, args);
    case ReduceOp::prod: return reduce_sum(ReduceFn::prod, op, args);
    case ReduceOp::nanmean: return reduce_nanmean(args);
    case ReduceOp::norm: return reduce_norm(args);
    case ReduceOp::all:
    case ReduceOp::any:
    case ReduceOp::count_nonzero: {
      const ReduceFn fn = op == ReduceOp::all ? ReduceFn::all : op == ReduceOp::any ? ReduceFn::any : ReduceFn::count_nonzero;
      return reduce_with(call(logic_kernel_for_stub)(fn, args.in_dtype), op, args.in, args.in_dtype, args.in_strides, args);
    }
    case ReduceOp::max:
    case ReduceOp::min: {
      const char* name = op == ReduceOp::max ? "max" : "min";
      const Numels n = numels(args.shape, args.reduce_mask);
      CRESSET_CHECK_INDEX(n.reduced > 0 || n.kept == 0, name, ": expected at least one element to reduce, got shape ", args.shape);
      const ReduceKernelPtr kernel = call(order_kernel_for_stub)(op == ReduceOp::max ? ReduceFn::max : ReduceFn::min, args.in_dtype);
      CRESSET_CHECK_NOT_IMPLEMENTED(kernel, name, ": not implemented for ", args.in_dtype);
      return reduce_with(kernel, op, args.in, args.in_dtype, args.in_strides, args);
    }
  }
}

bool reduce_rows(ReduceOp op, ScalarType dtype, const char* in, int64_t rows, int64_t columns, char* out) {
  constexpr int64_t kFewest = 16, kChunk = 256;  // shorter rows are reduced across
  if (!is_floating_type(dtype) || columns < kFewest || columns > kMaxRun) return false;
  ReduceKernelPtr kernel = nullptr;
  if (op == ReduceOp::sum || op == ReduceOp::mean) kernel = call(sum_kernel_for_stub)(ReduceFn::sum, dtype);
  if (op == ReduceOp::prod) kernel = call(sum_kernel_for_stub)(ReduceFn::prod, dtype);
  if (op == ReduceOp::max || op == ReduceOp::min) kernel = call(order_kernel_for_stub)(op == ReduceOp::max ? ReduceFn::max : ReduceFn::min, dtype);
  if (!kernel) return false;
  const int64_t size = static_cast<int64_t>(element_size(dtype));
  const bool direct = kernel->acc_dtype == dtype;
  const Convert convert = direct ? nullptr : converter(kernel->acc_dtype, dtype);
  alignas(64) char memory[kChunk * sizeof(double)];
  for (int64_t r = 0; r < rows; r += kChunk) {
    const int64_t n = std::min(kChunk, rows - r);
    char* const acc = direct ? out + r * size : memory;
    kernel->inner(in + r * columns * size, n, columns * size, columns, size, 0, 0, acc);
    if (op == ReduceOp::mean) divide_all(acc, n, kernel->acc_dtype, static_cast<double>(columns));
    if (!direct) convert(out + r * size, size, acc, kernel->acc_size, n);
  }
  return true;
}

void var_mean(const VarMeanArgs& args) {
  const bool is_complex = is_complex_type(args.dtype);
  const ScalarType real = to_real_type(args.dtype);
  const ReduceKernelPtr kernel = call(moments_kernel_for_stub)(ReduceFn::moments, real);
  CRESSET_CHECK(kernel, "var_mean: expected a floating point or complex dtype, got ", args.dtype);
  const double n = static_cast<double>(numels(args.shape, args.reduce_mask).reduced), nan = std::numeric_limits<double>::quiet_NaN();
  const double divisor = n > args.correction ? n - args.correction : 0;
  const Convert convert = converter(ScalarType::Double, real);
  const int64_t size = static_cast<int64_t>(element_size(real));
  // A complex array is two real ones a part apart; the variances of both parts add up.
  const auto run = [&](int64_t part, bool last) {
    const ReduceProblem problem{args.in + part * size,
                                size,
                                args.shape,
                                args.in_strides,
                                args.reduce_mask,
                                {args.var_out, args.mean_out ? args.mean_out + part * size : nullptr},
                                {args.var_strides, args.mean_strides},
                                false,
                                0};
    run_reduction(*kernel, problem, [&](char* acc, int64_t count, char* const* out, const int64_t* strides) {
      const Moments* m = reinterpret_cast<const Moments*>(acc);
      for (int64_t i = 0; i < count; i++) {
        if (out[1]) {
          const double mean = m[i].n ? m[i].mean : nan;
          convert(out[1] + i * strides[1], 0, reinterpret_cast<const char*>(&mean), 0, 1);
        }
        if (!out[0]) continue;
        double var = m[i].n ? m[i].m2 / divisor : nan;
        char* to = out[0] + i * strides[0];
        if (part == 1) {
          double before;
          converter(real, ScalarType::Double)(reinterpret_cast<char*>(&before), 0, to, 0, 1);
          var += before;
        }
        if (last && args.take_sqrt) var = std::sqrt(var);
        convert(to, 0, reinterpret_cast<const char*>(&var), 0, 1);
      }
    });
  };
  run(0, !is_complex);
  if (is_complex) run(1, true);
}

void arg_reduce(bool is_max, const ArgReduceArgs& args) {
  const char* name = is_max ? "argmax" : "argmin";
  const uint64_t mask = args.dim < 0 ? ~uint64_t{0} : uint64_t{1} << args.dim;
  const Numels n = numels(args.shape, mask);
  CRESSET_CHECK_INDEX(n.reduced > 0 || n.kept == 0, name, ": expected at least one element to choose from, got shape ", args.shape);
  const ReduceKernelPtr kernel = call(arg_kernel_for_stub)(is_max ? ReduceFn::arg_max : ReduceFn::arg_min, args.dtype);
  CRESSET_CHECK_NOT_IMPLEMENTED(kernel, name, ": not implemented for ", args.dtype);
  const ReduceProblem problem{args.in,
                              static_cast<int64_t>(element_size(args.dtype)),
                              args.shape,
                              args.in_strides,
                              mask,
                              {args.values, args.indices},
                              {args.value_strides, args.index_strides},
                              true,
                              0};
  const bool low = args.dtype == ScalarType::Half || args.dtype == ScalarType::BFloat16;
  const Convert convert = converter(low ? ScalarType::Float : args.dtype, args.dtype);
  run_reduction(*kernel, problem, [&](char* acc, int64_t count, char* const* out, const int64_t* strides) {
    if (out[0]) convert(out[0], strides[0], acc, sizeof(Best), count);
    for (int64_t i = 0; out[1] && i < count; i++) std::memcpy(out[1] + i * strides[1], &reinterpret_cast<const Best*>(acc)[i].index, sizeof(int64_t));
  });
}

}  // namespace cresset::kernels
