#pragma once
// Random numbers with PyTorch's bits: the same seed gives the same numbers at every size and for every dtype.
//
// Every function draws from one sequential stream of 32-bit words, so results never depend on the number of threads. In the
// notes below, w is one word and q is two words, the first one in the upper half.
//   u24 = (w mod 2^24) / 2^24        u53 = (q mod 2^53) / 2^53
//
// Outputs are packed arrays of `n` elements. A tensor with another layout gets its numbers in memory order (the dimension with
// the smallest stride innermost), not in row-major order: fill a packed array and hand it to `scatter_in_memory_order`. Only
// `normal` draws different numbers for a tensor that is not contiguous: see there.
//
// The caller checks the parameters of a distribution; the dtype is checked here (NotImplementedError).

#include <optional>

#include "cresset/base/array_ref.h"
#include "cresset/base/dtype.h"
#include "cresset/base/random_state.h"
#include "cresset/base/small_vector.h"

namespace cresset::kernels {

// Real numbers in [from, to): fma(u, to - from, from), `from` where rounding gives `to`. Half, BFloat16 and Float: one u24 each,
// computed in float; Double: one u53 each.
CRESSET_API void uniform(RandomState& state, void* out, ScalarType dtype, int64_t n, double from, double to);

// Normal numbers, floating dtypes. A complex tensor is filled through its 2n real parts, with std / sqrt(2).
//   n >= 16 and contiguous: Box-Muller over blocks of 16 (8 radii, then 8 angles), one u24 (Double: u53) per element. A last
//     partial block is drawn whole, with 16 fresh numbers, over the last 16 elements; Float and Double draw the partial block's
//     own numbers first, Half and BFloat16 do not.
//   otherwise: pairs from two u53 (angle, then radius) in double; the second of a pair waits in `state` for the next such call.
CRESSET_API void normal(RandomState& state, void* out, ScalarType dtype, int64_t n, double mean, double std, bool contiguous = true);

// exp of a normal number; always draws as `normal` does when not contiguous.
CRESSET_API void log_normal(RandomState& state, void* out, ScalarType dtype, int64_t n, double mean, double std);

// -log(1 - u53) / lambda.
CRESSET_API void exponential(RandomState& state, void* out, ScalarType dtype, int64_t n, double lambda);

// median + sigma * tan(pi * (u53 - 1/2)).
CRESSET_API void cauchy(RandomState& state, void* out, ScalarType dtype, int64_t n, double median, double sigma);

// ceil(log(u53) / log(1 - p)); also integers.
CRESSET_API void geometric(RandomState& state, void* out, ScalarType dtype, int64_t n, double p);

// u53 < p as 0 and 1; also integers and bool.
CRESSET_API void bernoulli(RandomState& state, void* out, ScalarType dtype, int64_t n, double p);

// One probability for each element, of a floating dtype: u24 < p, but u53 < p if p is Double.
CRESSET_API void bernoulli(RandomState& state, void* out, ScalarType dtype, int64_t n, const void* p, ScalarType p_dtype);

// The factors of dropout: 1 / (1 - p) with probability 1 - p, else 0. Draws as `bernoulli(1 - p)`; floating dtypes; p < 1.
CRESSET_API void dropout_noise(RandomState& state, void* noise, ScalarType dtype, int64_t n, double p);

// Dropout in one pass: out = x * noise, noise as above, and written to `noise` if that is not null.
CRESSET_API void dropout(RandomState& state, void* out, void* noise, const void* x, ScalarType dtype, int64_t n, double p);

// base + (w mod range), of q instead of w where `wide`; range 0: q itself.
struct DrawnIntegers {
  uint64_t range;
  int64_t base;
  bool wide;
};
// Those of the three functions below: without bounds, in [from, to), from `from` on. Errors: as theirs.
CRESSET_API DrawnIntegers drawn_integers(ScalarType dtype, std::optional<int64_t> from, std::optional<int64_t> to);

// Integers over the dtype's range (floating dtypes: 0 ... 2^mantissa bits): w or, for Long and Double, q, mod the range.
CRESSET_API void random_full(RandomState& state, void* out, ScalarType dtype, int64_t n);

// Integers in [from, to): w mod (to - from), or q mod (to - from) if that is 2^28 or more. Floating dtypes first move `from` up
// and `to` down where rounding would leave the range. Checks from < to and that both fit the dtype.
CRESSET_API void random_from_to(RandomState& state, void* out, ScalarType dtype, int64_t n, int64_t from, int64_t to);

// Integers from `from` to the largest one of the dtype (floating dtypes: 2^mantissa bits); from = INT64_MIN gives all 64 bits of q.
CRESSET_API void random_from(RandomState& state, void* out, ScalarType dtype, int64_t n, int64_t from);

// A permutation of 0 ... n-1. n < 214748364: Fisher-Yates from the front, n - 1 times w mod (n - i); else inside-out, n times
// q mod (i + 1). Checks that n - 1 fits the dtype.
CRESSET_API void randperm(RandomState& state, void* out, ScalarType dtype, int64_t n);

// Indices of categories drawn from rows of weights (floating dtype; element strides), `samples` to a row, packed.
//   With replacement and samples > 1: the first index at which the running sum reaches u53 of the total.
//   Otherwise: the indices of the largest weight / exponential(1), largest first. Exponentials are drawn for all weights in
//     memory order if the weights are dense, in row-major order otherwise.
CRESSET_API void multinomial(RandomState& state, int64_t* out, const void* weights, ScalarType dtype, int64_t rows, int64_t categories, int64_t row_stride,
                             int64_t category_stride, int64_t samples, bool replacement);

// Poisson numbers for packed rates >= 0 of the same floating dtype. Rates below 10: products of u53; from 10 on: Hoermann's PTRS.
CRESSET_API void poisson(RandomState& state, void* out, const void* rate, ScalarType dtype, int64_t n);

// Binomial numbers for packed counts and probabilities, Float and Double. Sums of geometric numbers where count * min(p, 1 - p)
// is below 10, else Hoermann's BTRS.
CRESSET_API void binomial(RandomState& state, void* out, const void* count, const void* p, ScalarType dtype, int64_t n);

// Gamma numbers of scale 1 for packed shapes, Float and Double, at least the dtype's smallest normal number: Marsaglia and Tsang's
// rejection from normal numbers (drawn as `normal` does when not contiguous) and u53. A Dirichlet sample is a row of them in
// Double, divided by its sum, cast, and clamped to [smallest normal number, 1 - epsilon / 2] of the output dtype.
CRESSET_API void standard_gamma(RandomState& state, void* out, const void* shape, ScalarType dtype, int64_t n);

// Randomised leaky ReLU in training, Float and Double: out = x * noise, where noise is lower + u53 * (upper - lower) for x <= 0,
// and 1, without drawing, elsewhere.
CRESSET_API void rrelu(RandomState& state, void* out, void* noise, const void* x, ScalarType dtype, int64_t n, double lower, double upper);

// How a gamma sample x of shape `a`, or a beta sample x of parameters `a` and `b`, moves with `a` at a fixed quantile. NaN outside the laws.
CRESSET_API double gamma_slope(double x, double a);
CRESSET_API double beta_slope(double x, double a, double b);

// The dimensions of a tensor from outermost to innermost in memory order: the order in which it takes its numbers.
CRESSET_API DimVector memory_order(IntArrayRef sizes, IntArrayRef strides);

// Copies packed numbers into a tensor (strides in elements) in memory order.
CRESSET_API void scatter_in_memory_order(void* out, const void* packed, ScalarType dtype, IntArrayRef sizes, IntArrayRef strides);

}  // namespace cresset::kernels
