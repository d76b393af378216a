// Tensors from nothing, or from the shape of another: ops/factory.toml.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "cresset/base/warning.h"
#include "cresset/core/fake_mode.h"
#include "cresset/kernels/common/strided.h"
#include "cresset/kernels/layout/layout.h"
#include "cresset/ops/bodies_factory.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/uninitialized.h"
#include "cresset/ops/operands.h"
#include "cresset/ops/pointwise/pointwise.h"
#include "cresset/ops/sparse/sparse.h"

namespace cresset::ops {

namespace {

// Options for tensors made on the way: requires_grad belongs to the result alone.
TensorOptions plain(const TensorOptions& options) { return options.requires_grad(std::nullopt); }

TensorOptions with_dtype(const TensorOptions& options, ScalarType otherwise) { return options.has_dtype() ? options : options.dtype(otherwise); }

void check_sizes(const char* op, IntArrayRef size) {
  for (const int64_t s : size) CRESSET_CHECK(s >= 0, op, ": trying to create a tensor with negative dimension ", s, ": ", size);
}

CRESSET_ALWAYS_INLINE void check_strided(const char* op, const TensorOptions& options) {
  CRESSET_CHECK_NOT_IMPLEMENTED(options.layout() == Layout::Strided, op, ": only the strided layout is supported, got ", options.layout());
}

// Checks the arguments of a factory that leaves elements unwritten; the dtype of its result.
CRESSET_ALWAYS_INLINE ScalarType checked_dtype(const char* op, IntArrayRef size, const TensorOptions& options) {
  check_strided(op, options);
  check_sizes(op, size);
  const ScalarType dtype = options.has_dtype() ? options.dtype().toScalarType() : get_default_dtype();
  if (CRESSET_UNLIKELY(dtype == kComplexHalf)) CRESSET_WARN_ONCE("complex32 is experimental: few operators compute with it");
  return dtype;
}

bool any_float(std::initializer_list<Scalar> numbers) {
  for (const Scalar& s : numbers)
    if (!s.isIntegral(true)) return true;
  return false;
}

ScalarType sequence_dtype(std::initializer_list<Scalar> numbers) { return any_float(numbers) ? get_default_dtype() : kLong; }

void check_range(const char* op, const Scalar& start, const Scalar& end, const Scalar& step) {
  for (const Scalar& s : {start, end, step}) CRESSET_CHECK(!s.isComplex(), op, ": not supported for complex numbers");
  const double a = start.as<double>(), b = end.as<double>(), d = step.as<double>();
  CRESSET_CHECK(d != 0, op, ": step must be nonzero");
  CRESSET_CHECK(std::isfinite(a) && std::isfinite(b), op, ": unsupported range ", a, " -> ", b);
  CRESSET_CHECK((d > 0 && b >= a) || (d < 0 && b <= a), op, ": upper bound and lower bound are inconsistent with the sign of the step, got ", a, " -> ", b,
                " by ", d);
}

// How many steps lie in [start, end): exact for integers beyond 2^53.
int64_t arange_size(const Scalar& start, const Scalar& end, const Scalar& step, ScalarType dtype) {
  double n;
  // int64 sequences are counted after rounding the bounds, as PyTorch does.
  if (dtype == kLong || (is_integral_type(dtype, false) && !any_float({start, end, step}))) {
    const int64_t a = start.as<int64_t>(), b = end.as<int64_t>(), d = step.as<int64_t>(), sign = d > 0 ? 1 : -1;
    CRESSET_CHECK_VALUE(d != 0, "arange: step must be nonzero as an integer, got ", step);
    return (b - a + d - sign) / d;
  }
  n = std::ceil((end.as<double>() - start.as<double>()) / step.as<double>());
  CRESSET_CHECK(n >= 0 && n <= 9.2e18, "arange: invalid size, possible overflow");
  return static_cast<int64_t>(n);
}

Tensor make(IntArrayRef size, const TensorOptions& options) { return cresset::empty(size, plain(options).memory_format(std::nullopt)); }

Tensor sequence(int64_t n, const TensorOptions& options, FunctionRef<void(const kernels::Strided&)> fill) {
  const LayerState& state = layer_state();
  if (options.device().is_meta() || state.no_data != NoData::None || state.fake_mode) return make(n, options);
  Tensor out = make(n, options.device(kCPU));
  if (n > 0) fill(view_of(out));
  return options.device().is_cpu() ? out : out.to(options.device());
}

MemoryFormat format_of(const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  CRESSET_CHECK(!options.has_memory_format() || !memory_format, "memory_format is given twice, in the options and as an argument");
  return memory_format ? *memory_format : options.memory_format_opt().value_or(MemoryFormat::Preserve);
}

TensorOptions like(const Tensor& self, const TensorOptions& options) { return self.options().merge_in(plain(options)); }

}  // namespace

namespace {

std::atomic<bool> fills_uninitialized{false};

CRESSET_NOINLINE CRESSET_COLD Tensor filled(Tensor t, int64_t first) {
  if (layer_state().no_data != NoData::None || t.is_meta() || t.numel() == 0) return t;
  const ScalarType dtype = t.scalar_type();
  // All of the memory counts, whatever the strides; of a tensor with gaps or overlaps, as far as it reaches.
  int64_t reach = 1;
  for (int64_t d = 0; d < t.dim(); d++) reach += (t.sizes()[d] - 1) * t.strides()[d];
  if (reach <= first) return t;
  const Tensor flat = t.as_strided({reach - first}, {1}, t.storage_offset() + first);
  if (is_floating_type(dtype) || is_complex_type(dtype)) return flat.fill_(NAN), t;
  if (dtype == kBool) return flat.fill_(true), t;
  const int bits = static_cast<int>(8 * t.itemsize()) - (is_signed_type(dtype) ? 1 : 0);
  flat.fill_(Scalar(bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1));
  return t;
}

}  // namespace

void set_fill_uninitialized(bool fill) { fills_uninitialized.store(fill, std::memory_order_relaxed); }
Tensor as_uninitialized(Tensor t, int64_t first) {
  return CRESSET_LIKELY(!fills_uninitialized.load(std::memory_order_relaxed)) ? t : filled(std::move(t), first);
}

namespace cpu {

Tensor empty(IntArrayRef size, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  const ScalarType dtype = checked_dtype("empty", size, options);
  if (CRESSET_LIKELY(!memory_format && !options.has_memory_format())) return as_uninitialized(Tensor(make_dense(size, dtype, options.device())));
  const MemoryFormat format = memory_format ? *memory_format : options.memory_format_opt().value();
  CRESSET_CHECK(format != MemoryFormat::Preserve, "empty: the preserve memory format is not supported, there is nothing to preserve");
  return as_uninitialized(Tensor(make_strided(size, strides_for(size, format), dtype, options.device())));
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options) {
  const ScalarType dtype = checked_dtype("empty_strided", size, options);
  return as_uninitialized(Tensor(make_strided(size, stride, dtype, options.device())));
}

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  check_range("arange", start, end, step);
  CRESSET_CHECK_NOT_IMPLEMENTED(!options.has_dtype() || !is_complex_type(options.dtype()), "arange: not implemented for dtype ", options.dtype());
  const TensorOptions o = with_dtype(options, sequence_dtype({start, end, step}));
  const int64_t n = arange_size(start, end, step, o.dtype());
  return sequence(n, o, [&](const kernels::Strided& out) { kernels::arange(out, start, step); });
}

Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  CRESSET_WARN_ONCE("range is deprecated, since its end is part of it; use arange");
  check_range("range", start, end, step);
  const TensorOptions o = with_dtype(options, get_default_dtype());
  const int64_t n = static_cast<int64_t>(std::floor((end.as<double>() - start.as<double>()) / step.as<double>())) + 1;
  return sequence(n, o, [&](const kernels::Strided& out) {
    if (is_floating_type(out.dtype)) kernels::range(out, start.as<double>(), step.as<double>());
    else kernels::arange(out, start, step);
  });
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, const TensorOptions& options) {
  CRESSET_CHECK(steps >= 0, "linspace: number of steps must be non-negative, got ", steps);
  const bool complex = start.isComplex() || end.isComplex();
  const TensorOptions o = with_dtype(options, complex ? to_complex_type(get_default_dtype()) : get_default_dtype());
  CRESSET_CHECK(!complex || is_complex_type(o.dtype()), "linspace: expected a complex dtype for complex bounds, got ", o.dtype());
  if (steps == 1) return cresset::full({1}, start, o);
  if (steps > 1)
    kernels::visit_dtype(compute_type(o.dtype()), "linspace", [&](auto zero) { static_cast<void>((start.to<decltype(zero)>(), end.to<decltype(zero)>())); });
  return sequence(steps, o, [&](const kernels::Strided& out) { kernels::linspace(out, start, end); });
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, const TensorOptions& options) {
  CRESSET_CHECK(steps >= 0, "logspace: number of steps must be non-negative, got ", steps);
  const bool complex = start.isComplex() || end.isComplex();
  const TensorOptions o = with_dtype(options, complex ? to_complex_type(get_default_dtype()) : get_default_dtype());
  CRESSET_CHECK(!complex || is_complex_type(o.dtype()), "logspace: expected a complex dtype for complex bounds, got ", o.dtype());
  return sequence(steps, o, [&](const kernels::Strided& out) { kernels::logspace(out, start, end, base); });
}

namespace {

TensorOptions options_of(const Tensor& out) { return TensorOptions(out.scalar_type()).device(out.device()); }

// An `out` of as many elements keeps its shape.
void store_sequence(const char* op, const Tensor& out, const Tensor& sequence) {
  CRESSET_CHECK(out.layout() == Layout::Strided, op, ": expected out to be dense, got layout ", out.layout());
  store_factory_out(op, out, out.numel() == sequence.numel() ? sequence.view(out.sizes()) : sequence, OutDtype::cast);
}

}  // namespace

void arange_out(const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  const Tensor numbers = cpu::arange(start, end, step, options_of(out));
  if (out.numel() != numbers.numel()) warn_of_resize("arange", out, numbers.sizes());
  store_sequence("arange", out, numbers);
}
void range_out(const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  store_sequence("range", out, cpu::range(start, end, step, options_of(out)));
}
void linspace_out(const Scalar& start, const Scalar& end, int64_t steps, Tensor& out) {
  store_sequence("linspace", out, cpu::linspace(start, end, steps, options_of(out)));
}
void logspace_out(const Scalar& start, const Scalar& end, int64_t steps, double base, Tensor& out) {
  store_sequence("logspace", out, cpu::logspace(start, end, steps, base, options_of(out)));
}

}  // namespace cpu

namespace composite {

void arange_out(const Scalar& end, Tensor& out) { cpu::arange_out(0, end, 1, out); }

Tensor zeros(IntArrayRef size, const TensorOptions& options) { return fresh(cresset::empty(size, plain(options)).zero_()); }
Tensor ones(IntArrayRef size, const TensorOptions& options) { return fresh(cresset::empty(size, plain(options)).fill_(1)); }

Tensor full(IntArrayRef size, const Scalar& fill_value, const TensorOptions& options) {
  const ScalarType t = fill_value.isIntegral(false)  ? kLong
                       : fill_value.isIntegral(true) ? kBool
                       : fill_value.isComplex()      ? (get_default_dtype() == kDouble ? kComplexDouble : kComplexFloat)
                                                     : get_default_dtype();
  return fresh(cresset::empty(size, with_dtype(plain(options), t)).fill_(fill_value));
}

Tensor scalar_tensor(const Scalar& s, const TensorOptions& options) { return fresh(cresset::empty({}, plain(options)).fill_(s)); }

Tensor empty_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  CRESSET_CHECK(self.layout() == Layout::Strided || !memory_format, "empty_like: a memory format is for strided tensors, got one of layout ", self.layout());
  if (CRESSET_UNLIKELY(self.layout() != Layout::Strided)) return sparse::empty_like(self, options);
  const MemoryFormat format = format_of(options, memory_format);
  const TensorOptions o = like(self, options).memory_format(std::nullopt);
  if (format == MemoryFormat::Contiguous || o.layout() != Layout::Strided) return cresset::empty(self.sizes(), o);
  if (format != MemoryFormat::Preserve) return cresset::empty(self.sizes(), o, format);
  const bool dense = self.is_non_overlapping_and_dense();
  return cresset::empty_strided(self.sizes(), dense ? DimVector(self.strides()) : dense_strides(self.sizes(), {DimVector(self.strides())}), o);
}
Tensor zeros_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  if (CRESSET_UNLIKELY(self.layout() != Layout::Strided)) return sparse::zeros_like(self, plain(options));
  return fresh(cresset::empty_like(self, plain(options), memory_format).zero_());
}
Tensor ones_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  return fresh(cresset::empty_like(self, plain(options), memory_format).fill_(1));
}
Tensor full_like(const Tensor& self, const Scalar& fill_value, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  return fresh(cresset::empty_like(self, plain(options), memory_format).fill_(fill_value));
}

Tensor new_empty(const Tensor& self, IntArrayRef size, const TensorOptions& options) { return cresset::empty(size, like(self, options)); }
Tensor new_zeros(const Tensor& self, IntArrayRef size, const TensorOptions& options) { return cresset::zeros(size, like(self, options)); }
Tensor new_ones(const Tensor& self, IntArrayRef size, const TensorOptions& options) { return cresset::ones(size, like(self, options)); }
Tensor new_full(const Tensor& self, IntArrayRef size, const Scalar& fill_value, const TensorOptions& options) {
  return cresset::full(size, fill_value, like(self, options));
}
Tensor new_empty_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, const TensorOptions& options) {
  return cresset::empty_strided(size, stride, like(self, options));
}

Tensor arange(const Scalar& end, const TensorOptions& options) { return cresset::arange(0, end, 1, options); }
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) { return cresset::arange(start, end, 1, plain(options)); }
namespace {

Scalar bound(const char* op, const Tensor& t) {
  CRESSET_CHECK(t.dim() == 0, op, ": only 0-dimensional start and end tensors are supported, got shape ", t.sizes());
  if (t.lacks_data()) return is_complex_type(t.scalar_type()) ? Scalar(complex<double>(0, 0)) : Scalar(0.0);  // only the size is known
  return t.item();
}

TensorOptions beside(const Tensor& bound, const TensorOptions& options) { return bound.is_meta() ? plain(options).device(bound.device()) : plain(options); }

}  // namespace

Tensor linspace(const Tensor& start, const Tensor& end, int64_t steps, const TensorOptions& options) {
  return cresset::linspace(bound("linspace", start), bound("linspace", end), steps, beside(start.is_meta() ? start : end, options));
}
Tensor linspace(const Tensor& start, const Scalar& end, int64_t steps, const TensorOptions& options) {
  return cresset::linspace(bound("linspace", start), end, steps, beside(start, options));
}
Tensor linspace(const Scalar& start, const Tensor& end, int64_t steps, const TensorOptions& options) {
  return cresset::linspace(start, bound("linspace", end), steps, beside(end, options));
}
Tensor logspace(const Tensor& start, const Tensor& end, int64_t steps, double base, const TensorOptions& options) {
  return cresset::logspace(bound("logspace", start), bound("logspace", end), steps, base, beside(start.is_meta() ? start : end, options));
}
Tensor logspace(const Tensor& start, const Scalar& end, int64_t steps, double base, const TensorOptions& options) {
  return cresset::logspace(bound("logspace", start), end, steps, base, beside(start, options));
}
Tensor logspace(const Scalar& start, const Tensor& end, int64_t steps, double base, const TensorOptions& options) {
  return cresset::logspace(start, bound("logspace", end), steps, base, beside(end, options));
}

// `out` says which dtype, beside the bounds.
void linspace_out(const Tensor& start, const Tensor& end, int64_t steps, const TensorOptions&, Tensor& out) {
  cresset::linspace_outf(bound("linspace", start), bound("linspace", end), steps, out);
}
void linspace_out(const Tensor& start, const Scalar& end, int64_t steps, const TensorOptions&, Tensor& out) {
  cresset::linspace_outf(bound("linspace", start), end, steps, out);
}
void linspace_out(const Scalar& start, const Tensor& end, int64_t steps, const TensorOptions&, Tensor& out) {
  cresset::linspace_outf(start, bound("linspace", end), steps, out);
}
void logspace_out(const Tensor& start, const Tensor& end, int64_t steps, double base, const TensorOptions&, Tensor& out) {
  cresset::logspace_outf(bound("logspace", start), bound("logspace", end), steps, base, out);
}
void logspace_out(const Tensor& start, const Scalar& end, int64_t steps, double base, const TensorOptions&, Tensor& out) {
  cresset::logspace_outf(bound("logspace", start), end, steps, base, out);
}
void logspace_out(const Scalar& start, const Tensor& end, int64_t steps, double base, const TensorOptions&, Tensor& out) {
  cresset::logspace_outf(start, bound("logspace", end), steps, base, out);
}

Tensor eye(int64_t n, const TensorOptions& options) { return cresset::eye(n, n, options); }
Tensor eye(int64_t n, int64_t m, const TensorOptions& options) {
  CRESSET_CHECK(n >= 0 && m >= 0, "eye: n and m must be greater or equal to 0, got ", n, " and ", m);
  const Tensor out = cresset::zeros({n, m}, plain(options));
  out.diagonal().fill_(1);
  return fresh(out);
}

namespace {

// Row and column numbers of the elements of a triangle, row by row; `lower` keeps columns up to row + offset, else from there on.
Tensor triangle_indices(const char* op, bool lower, int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  CRESSET_CHECK(row >= 0 && col >= 0, op, ": row and col must be non-negative, got ", row, " and ", col);
  const TensorOptions longs = TensorOptions(kLong).device(options.device());
  const Tensor bound = (cresset::arange(row, longs) + (lower ? offset + 1 : offset)).clamp(0, col);
  const Tensor first = lower ? cresset::zeros_like(bound) : bound, count = lower ? bound : col - bound;
  int64_t n = 0;
  for (int64_t r = 0; r < row; r++) n += lower ? std::clamp<int64_t>(r + offset + 1, 0, col) : col - std::clamp<int64_t>(r + offset, 0, col);
  if (options.device().is_cpu()) {
    const Tensor out = cresset::empty({2, n}, longs);
    if (out.lacks_data()) return out.to(with_dtype(options, kLong).dtype());
    int64_t *at_row = static_cast<int64_t*>(out.data_ptr()), *at_col = at_row + n;
    for (int64_t r = 0; r < row; r++) {
      const int64_t edge = std::clamp<int64_t>(lower ? r + offset + 1 : r + offset, 0, col), begin = lower ? 0 : edge, end = lower ? edge : col;
      at_row = std::fill_n(at_row, end - begin, r);
      std::iota(at_col, at_col + (end - begin), begin);
      at_col += end - begin;
    }
    return fresh(out.to(with_dtype(options, kLong).dtype()));
  }
  const Tensor rows = cresset::searchsorted(count.cumsum(0), cresset::arange(n, longs), false, true);
  const Tensor cols = cresset::arange(n, longs) + (first - count.cumsum(0) + count).index_select(0, rows);
  return fresh(cresset::stack({rows, cols}).to(with_dtype(options, kLong).dtype()));
}

}  // namespace

Tensor tril_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  return triangle_indices("tril_indices", true, row, col, offset, options);
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  return triangle_indices("triu_indices", false, row, col, offset, options);
}

}  // namespace composite

}  // namespace cresset::ops
