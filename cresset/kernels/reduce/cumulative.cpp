#include "cresset/kernels/reduce/reduce.h"

#include <cmath>
#include <limits>

#include "cresset/base/error.h"
#include "cresset/base/small_vector.h"
#include "cresset/kernels/common/element.h"
#include "cresset/kernels/reduce/cpu/scan.h"

namespace cresset::kernels {

namespace {

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

Split split(IntArrayRef shape, IntArrayRef in, uint64_t mask, IntArrayRef out, IntArrayRef out2 = {}) {
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

template <class A> bool is_nan(A v) {
  if constexpr (std::is_floating_point_v<A>) return v != v;
  if constexpr (is_complex<A>::value) return v.real() != v.real() || v.imag() != v.imag();
  return false;
}

using C = complex<double>;

template <class A, class F> void scan(const CumulativeArgs& args, F step) {
  const auto load = load_fn<A>(args.in_dtype);
  const auto store = store_fn<A>(args.out_dtype);
  const uint64_t mask = uint64_t{1} << args.dim;
  const Split s = split(args.shape, args.in_strides, mask, args.out_strides, args.index_strides);
  const int64_t n = args.shape[args.dim], in_stride = args.in_strides[args.dim], out_stride = args.out_strides[args.dim];
  Walk kept(s.kept_shape);
  kept.add(s.kept_in);
  kept.add(s.kept_out);
  kept.add(s.kept_out2);
  for (int64_t i = 0; n > 0 && i < kept.count(); i++, kept.next()) {
    A acc{};
    int64_t index = 0;
    for (int64_t j = 0; j < n; j++) {
      const A v = load(args.in + kept.offset(0) + j * in_stride);
      acc = j == 0 ? v : step(acc, v, j, &index);
      store(args.out + kept.offset(1) + j * out_stride, acc);
      if (args.indices) std::memcpy(args.indices + kept.offset(2) + j * args.index_strides[args.dim], &index, sizeof index);
    }
  }
}

template <class A> A log_add_exp(A a, A b) {
  if constexpr (is_complex<A>::value) {
    const bool swap = b.real() > a.real();
    const A hi = swap ? b : a, lo = swap ? a : b;
    if (std::isinf(hi.real()) && hi.real() < 0) return hi;
    const double m = std::exp(lo.real() - hi.real()), t = lo.imag() - hi.imag();
    const double re = 1 + m * std::cos(t), im = m * std::sin(t);
    return hi + A(std::log(std::hypot(re, im)), std::atan2(im, re));
  } else {
    if (is_nan(a) || is_nan(b)) return a + b;
    const A hi = a > b ? a : b, lo = a > b ? b : a;
    return std::isinf(hi) ? hi : hi + std::log1p(std::exp(lo - hi));
  }
}

// Calls body(offsets of in, out and indices, columns) for every set of neighbouring columns that are scanned together; false where steps
// are not whole elements.
template <class F> bool for_columns(const CumulativeArgs& args, F body) {
  const auto in_item = static_cast<int64_t>(element_size(args.in_dtype)), out_item = static_cast<int64_t>(element_size(args.out_dtype));
  constexpr int64_t kIndex = sizeof(int64_t);
  for (size_t d = 0; d < args.shape.size(); d++)
    if (args.in_strides[d] % in_item != 0 || args.out_strides[d] % out_item != 0 || (args.indices && args.index_strides[d] % kIndex != 0)) return false;
  const int64_t length = args.shape[args.dim];
  const Split s = split(args.shape, args.in_strides, uint64_t{1} << args.dim, args.out_strides, args.index_strides);
  DimVector outer = s.kept_shape;
  int64_t columns = 1;
  if (!outer.empty() && s.kept_in.back() == in_item && s.kept_out.back() == out_item && (!args.indices || s.kept_out2.back() == kIndex)) {
    columns = outer.back();
    outer.back() = 1;
  }
  Walk kept(outer);
  kept.add(s.kept_in);
  kept.add(s.kept_out);
  kept.add(s.kept_out2);
  if (length == 0 || columns == 0) return true;
  for (int64_t i = 0; i < kept.count(); i++, kept.next()) body(kept.offset(0), kept.offset(1), kept.offset(2), columns);
  return true;
}

// Sums and products whose steps are whole elements and whose dtypes have a loop; false for all others.
bool scan_directly(bool is_sum, const CumulativeArgs& args) {
  if (!scan_takes(args.in_dtype, args.out_dtype)) return false;
  const auto in_item = static_cast<int64_t>(element_size(args.in_dtype)), out_item = static_cast<int64_t>(element_size(args.out_dtype));
  return for_columns(args, [&](int64_t in, int64_t out, int64_t, int64_t columns) {
    call(scan_stub)({!is_sum, args.in_dtype, args.out_dtype, args.in + in, args.out + out, args.shape[args.dim], columns, args.in_strides[args.dim] / in_item,
                     args.out_strides[args.dim] / out_item});
  });
}

void scan_extreme(bool is_max, const CumulativeArgs& args) {
  const auto item = static_cast<int64_t>(element_size(args.in_dtype));
  const bool whole = for_columns(args, [&](int64_t in, int64_t out, int64_t index, int64_t columns) {
    ScanOrderProblem p{is_max,
                       args.in_dtype,
                       args.in + in,
                       args.out + out,
                       nullptr,
                       args.shape[args.dim],
                       columns,
                       args.in_strides[args.dim] / item,
                       args.out_strides[args.dim] / item,
                       0};
    if (args.indices) {
      p.indices = reinterpret_cast<int64_t*>(args.indices + index);
      p.index_step = args.index_strides[args.dim] / static_cast<int64_t>(sizeof(int64_t));
    }
    call(scan_order_stub)(p);
  });
  CRESSET_CHECK(whole, "cumulative: expected strides of whole elements");
}

template <class A> void scan_numeric(bool is_sum, const CumulativeArgs& args) {
  if (is_sum) return scan<A>(args, [](A a, A v, int64_t, int64_t*) { return a + v; });
  scan<A>(args, [](A a, A v, int64_t, int64_t*) { return a * v; });
}

}  // namespace

void cumulative(CumOp op, const CumulativeArgs& args) {
  if (op == CumOp::logsumexp) {
    if (is_complex_type(args.in_dtype)) return scan<C>(args, [](C a, C v, int64_t, int64_t*) { return log_add_exp(a, v); });
    return scan<double>(args, [](double a, double v, int64_t, int64_t*) { return log_add_exp(a, v); });
  }
  if (op == CumOp::max || op == CumOp::min) return scan_extreme(op == CumOp::max, args);
  if (scan_directly(op == CumOp::sum, args)) return;
  if (is_complex_type(args.out_dtype)) return scan_numeric<C>(op == CumOp::sum, args);
  if (is_floating_type(args.out_dtype)) return scan_numeric<double>(op == CumOp::sum, args);
  scan_numeric<int64_t>(op == CumOp::sum, args);
}

}  // namespace cresset::kernels
