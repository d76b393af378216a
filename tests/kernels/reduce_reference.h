#pragma once
// Reductions one element at a time in double, int64 or complex double: what the kernels are compared with.

#include <cmath>
#include <limits>

#include "cresset/base/error.h"
#include "cresset/base/small_vector.h"
#include "cresset/kernels/common/element.h"
#include "cresset/kernels/reduce/reduce.h"

namespace cresset::kernels::reference {

// Visits every index of `shape` in row-major order, with the byte offsets that up to three stride lists give.
class Walk {
 public:
  explicit Walk(IntArrayRef shape) : index_(shape.size(), 0) {
    for (int64_t s : shape) count_ *= s;
    shape_ = DimVector(shape);
  }
  void add(IntArrayRef strides) {
    strides_.push_back(DimVector(strides));
    offsets_.push_back(0);
  }
  int64_t count() const { return count_; }
  int64_t offset(size_t i) const { return offsets_[i]; }
  void next() {
    for (size_t d = shape_.size(); d-- > 0;) {
      for (size_t i = 0; i < offsets_.size(); i++) offsets_[i] += strides_[i][d];
      if (++index_[d] < shape_[d]) return;
      for (size_t i = 0; i < offsets_.size(); i++) offsets_[i] -= shape_[d] * strides_[i][d];
      index_[d] = 0;
    }
  }

 private:
  DimVector shape_, index_;
  SmallVector<DimVector, 3> strides_;
  SmallVector<int64_t, 3> offsets_;
  int64_t count_ = 1;
};

struct Split {
  DimVector kept_shape, kept_in, kept_out, kept_out2, red_shape, red_in;
};

inline Split split(IntArrayRef shape, IntArrayRef in, uint64_t mask, IntArrayRef out, IntArrayRef out2 = {}) {
  Split s;
  for (size_t d = 0; d < shape.size(); d++) {
    if (mask >> d & 1) {
      s.red_shape.push_back(shape[d]);
      s.red_in.push_back(in[d]);
    } else {
      s.kept_shape.push_back(shape[d]);
      s.kept_in.push_back(in[d]);
      s.kept_out.push_back(out.empty() ? 0 : out[d]);
      s.kept_out2.push_back(out2.empty() ? 0 : out2[d]);
    }
  }
  return s;
}

template <class A, class F> void reduce_as(const ReduceArgs& args, A identity, F step, A (*finish)(A, int64_t, double)) {
  const Split s = split(args.shape, args.in_strides, args.reduce_mask, args.out_strides);
  const auto load = load_fn<A>(args.in_dtype);
  const auto store = store_fn<A>(args.out_dtype);
  Walk kept(s.kept_shape);
  kept.add(s.kept_in);
  kept.add(s.kept_out);
  for (int64_t i = 0; i < kept.count(); i++, kept.next()) {
    Walk red(s.red_shape);
    red.add(s.red_in);
    A acc = identity;
    for (int64_t j = 0; j < red.count(); j++, red.next()) acc = step(acc, load(args.in + kept.offset(0) + red.offset(0)));
    store(args.out + kept.offset(1), finish ? finish(acc, red.count(), args.param.as<double>()) : acc);
  }
}

template <class A> bool is_nan(A v) {
  if constexpr (std::is_floating_point_v<A>) return v != v;
  if constexpr (is_complex<A>::value) return v.real() != v.real() || v.imag() != v.imag();
  return false;
}

template <class A> double magnitude(A v) {
  if constexpr (is_complex<A>::value) return std::hypot(static_cast<double>(v.real()), static_cast<double>(v.imag()));
  else return std::fabs(static_cast<double>(v));
}

template <class A> void reduce_numeric(ReduceOp op, const ReduceArgs& args) {
  using D = std::conditional_t<is_complex<A>::value, complex<double>, double>;
  switch (op) {
    case ReduceOp::sum:
      return reduce_as<A>(
          args, A(0), [](A a, A v) { return a + v; }, nullptr);
    case ReduceOp::nansum:
      return reduce_as<A>(
          args, A(0), [](A a, A v) { return is_nan(v) ? a : a + v; }, nullptr);
    case ReduceOp::prod:
      return reduce_as<A>(
          args, A(1), [](A a, A v) { return a * v; }, nullptr);
    case ReduceOp::mean:
      return reduce_as<D>(
          args, D(0), [](D a, D v) { return a + v; }, [](D a, int64_t n, double) { return a / D(static_cast<double>(n)); });
    default: break;
  }
}

template <class A> void reduce_order(ReduceOp op, const ReduceArgs& args) {
  using L = std::numeric_limits<A>;
  if (op == ReduceOp::max) {
    const A lowest = L::has_infinity ? -L::infinity() : L::lowest();
    return reduce_as<A>(
        args, lowest, [](A a, A v) { return is_nan(a) || a > v ? a : v; }, nullptr);
  }
  const A highest = L::has_infinity ? L::infinity() : L::max();
  reduce_as<A>(
      args, highest, [](A a, A v) { return is_nan(a) || a < v ? a : v; }, nullptr);
}

using C = complex<double>;

inline void reduce_norm(const ReduceArgs& args) {
  const double p = args.param.as<double>(), inf = std::numeric_limits<double>::infinity();
  if (p == inf)
    return reduce_as<C>(
        args, C(0), [](C a, C v) { return is_nan(a.real()) || a.real() > magnitude(v) ? a : C(magnitude(v)); }, nullptr);
  if (p == -inf)
    return reduce_as<C>(
        args, C(inf), [](C a, C v) { return is_nan(a.real()) || a.real() < magnitude(v) ? a : C(magnitude(v)); }, nullptr);
  if (p == 0)
    return reduce_as<C>(
        args, C(0), [](C a, C v) { return a + C(magnitude(v) != 0); }, nullptr);
  reduce_as<C>(
      args, C(0), [p](C a, C v) { return a + C(std::pow(magnitude(v), p)); }, [](C a, int64_t, double p) { return C(std::pow(a.real(), 1 / p)); });
}

inline void reduce(ReduceOp op, const ReduceArgs& args) {
  const ScalarType compute = args.out_dtype;
  switch (op) {
    case ReduceOp::all:
      return reduce_as<bool>(
          args, true, [](bool a, bool v) { return a && v; }, nullptr);
    case ReduceOp::any:
      return reduce_as<bool>(
          args, false, [](bool a, bool v) { return a || v; }, nullptr);
    case ReduceOp::count_nonzero: {
      const Split s = split(args.shape, args.in_strides, args.reduce_mask, args.out_strides);
      const auto load = load_fn<bool>(args.in_dtype);
      const auto store = store_fn<int64_t>(args.out_dtype);
      Walk kept(s.kept_shape);
      kept.add(s.kept_in);
      kept.add(s.kept_out);
      for (int64_t i = 0; i < kept.count(); i++, kept.next()) {
        Walk red(s.red_shape);
        red.add(s.red_in);
        int64_t n = 0;
        for (int64_t j = 0; j < red.count(); j++, red.next()) n += load(args.in + kept.offset(0) + red.offset(0));
        store(args.out + kept.offset(1), n);
      }
      return;
    }
    case ReduceOp::nanmean: {
      const Split s = split(args.shape, args.in_strides, args.reduce_mask, args.out_strides);
      const auto load = load_fn<C>(args.in_dtype);
      const auto store = store_fn<C>(args.out_dtype);
      Walk kept(s.kept_shape);
      kept.add(s.kept_in);
      kept.add(s.kept_out);
      for (int64_t i = 0; i < kept.count(); i++, kept.next()) {
        Walk red(s.red_shape);
        red.add(s.red_in);
        int64_t n = 0;
        C sum(0);
        for (int64_t j = 0; j < red.count(); j++, red.next()) {
          const C v = load(args.in + kept.offset(0) + red.offset(0));
          if (is_nan(v)) continue;
          sum += v;
          n++;
        }
        store(args.out + kept.offset(1), C(sum.real() / static_cast<double>(n), sum.imag() / static_cast<double>(n)));
      }
      return;
    }
    case ReduceOp::norm: return reduce_norm(args);
    case ReduceOp::max:
    case ReduceOp::min: {
      bool empty = false, any_out = true;
      for (size_t d = 0; d < args.shape.size(); d++) {
        if (args.shape[d]) continue;
        (args.reduce_mask >> d & 1) ? empty = true : any_out = false;
      }
      CRESSET_CHECK_INDEX(!empty || !any_out, op == ReduceOp::max ? "max" : "min", ": nothing to reduce, got shape ", args.shape);
      if (is_floating_type(args.in_dtype)) return reduce_order<double>(op, args);
      if (args.in_dtype == ScalarType::UInt64) return reduce_order<uint64_t>(op, args);
      return reduce_order<int64_t>(op, args);
    }
    default: break;
  }
  if (is_complex_type(compute)) return reduce_numeric<complex<double>>(op, args);
  if (is_floating_type(compute)) return reduce_numeric<double>(op, args);
  reduce_numeric<int64_t>(op, args);
}

inline void var_mean(const VarMeanArgs& args) {
  const Split s = split(args.shape, args.in_strides, args.reduce_mask, args.var_strides, args.mean_strides);
  const auto load = load_fn<C>(args.dtype);
  const auto store_mean = store_fn<C>(args.dtype);
  const auto store_var = store_fn<double>(to_real_type(args.dtype));
  Walk kept(s.kept_shape);
  kept.add(s.kept_in);
  kept.add(s.kept_out);
  kept.add(s.kept_out2);
  for (int64_t i = 0; i < kept.count(); i++, kept.next()) {
    C sum(0);
    int64_t n = 0;
    {
      Walk red(s.red_shape);
      red.add(s.red_in);
      n = red.count();
      for (int64_t j = 0; j < n; j++, red.next()) sum += load(args.in + kept.offset(0) + red.offset(0));
    }
    const C mean(sum.real() / static_cast<double>(n), sum.imag() / static_cast<double>(n));
    Walk red(s.red_shape);
    red.add(s.red_in);
    double squares = 0;
    for (int64_t j = 0; j < n; j++, red.next()) {
      const C d = load(args.in + kept.offset(0) + red.offset(0)) - mean;
      squares += d.real() * d.real() + d.imag() * d.imag();
    }
    const double divisor = static_cast<double>(n) - args.correction, var = squares / (divisor > 0 ? divisor : 0);
    if (args.mean_out) store_mean(args.mean_out + kept.offset(2), mean);
    if (args.var_out) store_var(args.var_out + kept.offset(1), args.take_sqrt ? std::sqrt(var) : var);
  }
}

template <class A> void arg_reduce_as(bool is_max, const ArgReduceArgs& args) {
  const uint64_t mask = args.dim < 0 ? ~uint64_t{0} : uint64_t{1} << args.dim;
  const Split s = split(args.shape, args.in_strides, mask, args.value_strides, args.index_strides);
  const auto load = load_fn<A>(args.dtype);
  const auto store = store_fn<A>(args.dtype);
  Walk kept(s.kept_shape);
  kept.add(s.kept_in);
  kept.add(s.kept_out);
  kept.add(s.kept_out2);
  for (int64_t i = 0; i < kept.count(); i++, kept.next()) {
    Walk red(s.red_shape);
    red.add(s.red_in);
    CRESSET_CHECK_INDEX(red.count() > 0, is_max ? "argmax" : "argmin", ": nothing to choose from, got shape ", args.shape);
    A best = load(args.in + kept.offset(0));
    int64_t index = 0;
    for (int64_t j = 0; j < red.count(); j++, red.next()) {
      const A v = load(args.in + kept.offset(0) + red.offset(0));
      if (is_nan(best)) break;
      if (is_nan(v) || (is_max ? v > best : v < best)) {
        best = v;
        index = j;
      }
    }
    if (args.values) store(args.values + kept.offset(1), best);
    if (args.indices) std::memcpy(args.indices + kept.offset(2), &index, sizeof index);
  }
}

inline void arg_reduce(bool is_max, const ArgReduceArgs& args) {
  if (is_floating_type(args.dtype)) return arg_reduce_as<double>(is_max, args);
  if (args.dtype == ScalarType::UInt64) return arg_reduce_as<uint64_t>(is_max, args);
  arg_reduce_as<int64_t>(is_max, args);
}

}  // namespace cresset::kernels::reference
