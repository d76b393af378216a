#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "cresset/base/error.h"
#include "cresset/kernels/common/strided.h"
#include "cresset/kernels/layout/cpu/convert.h"
#include "cresset/kernels/random/cpu/random.h"
#include "cresset/kernels/random/random.h"

namespace cresset::kernels {

namespace {

constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min(), kMax64 = std::numeric_limits<int64_t>::max();
constexpr uint64_t kWideRange = uint64_t{1} << 28;  // from here on two words make a number
constexpr int64_t kLongPermutation = 214748364;

int mantissa_bits(ScalarType t) {
  switch (t) {
    case ScalarType::Half: return 11;
    case ScalarType::BFloat16: return 8;
    case ScalarType::Float: return 24;
    default: return 53;
  }
}

// The largest integer of an integral dtype, as far as int64 can hold it.
int64_t integer_max(ScalarType t) {
  switch (t) {
    case ScalarType::Bool: return 1;
    case ScalarType::Byte: return std::numeric_limits<uint8_t>::max();
    case ScalarType::Char: return std::numeric_limits<int8_t>::max();
    case ScalarType::Short: return std::numeric_limits<int16_t>::max();
    case ScalarType::Int: return std::numeric_limits<int32_t>::max();
    case ScalarType::UInt16: return std::numeric_limits<uint16_t>::max();
    case ScalarType::UInt32: return std::numeric_limits<uint32_t>::max();
    default: return kMax64;
  }
}

int64_t integer_min(ScalarType t) {
  if (!is_signed_type(t)) return 0;
  return t == ScalarType::Long ? kMin64 : -integer_max(t) - 1;
}

void check_integer_fits(const char* name, int64_t v, ScalarType dtype) {
  if (is_floating_type(dtype)) {
    const bool fits = dtype != ScalarType::Half || std::abs(static_cast<double>(v)) <= 65504.0;
    CRESSET_CHECK(fits, "random_: ", name, " is out of bounds for ", dtype, ", got ", v);
    return;
  }
  CRESSET_CHECK(v >= integer_min(dtype) && v <= integer_max(dtype), "random_: ", name, " is out of bounds for ", dtype, ", got ", v);
}

// The integer that `v` becomes in a floating dtype, as a double.
double rounded(int64_t v, ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Half: return static_cast<double>(static_cast<float>(Half(static_cast<float>(v))));
    case ScalarType::BFloat16: return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(v))));
    case ScalarType::Float: return static_cast<double>(static_cast<float>(v));
    default: return static_cast<double>(v);
  }
}

int64_t spacing(int64_t v, ScalarType dtype) {
  const uint64_t magnitude = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  const int shift = std::bit_width(magnitude) - mantissa_bits(dtype);
  return shift < 0 ? 0 : int64_t{1} << shift;
}

// The first integer from `from` on that does not round to below `from`.
int64_t raise_from(int64_t from, ScalarType dtype) {
  if (from == kMax64) return from;
  const double next = rounded(from + 1, dtype);
  if (next >= 0x1p63 || static_cast<int64_t>(next) >= from) return from;
  return static_cast<int64_t>(next) + spacing(from + 1, dtype);
}

// The end that keeps integers from rounding to `to`. One whose rounding leaves int64 stays, as in PyTorch.
int64_t lower_to(int64_t to, ScalarType dtype) {
  const double last = rounded(to - 1, dtype);
  if (last >= 0x1p63 || static_cast<int64_t>(last) < to) return to;
  return static_cast<int64_t>(last) - spacing(to - 1, dtype);
}

void draw(RandomState& state, void* out, ScalarType dtype, int64_t n, const DrawnIntegers& numbers) {
  if (numbers.wide) call(random_mod64_stub)(state.engine, out, dtype, n, numbers.range, numbers.base);
  else call(random_mod_stub)(state.engine, out, dtype, n, numbers.range, numbers.base);
}

// Inside-out: position i receives what its partner held, and the partner receives i.
void long_permutation(RandomState& state, void* out, ScalarType dtype, int64_t n) {
  std::unique_ptr<int64_t[]> work;
  if (dtype != ScalarType::Long) work.reset(new int64_t[static_cast<size_t>(n)]);
  int64_t* const r = work ? work.get() : static_cast<int64_t*>(out);
  for (int64_t i = 0; i < n; i++) {
    const int64_t z = static_cast<int64_t>(state.engine.random64() % static_cast<uint64_t>(i + 1));
    r[i] = r[z];
    r[z] = i;
  }
  if (!work) return;
  converter(ScalarType::Long, dtype)(static_cast<char*>(out), static_cast<int64_t>(element_size(dtype)), reinterpret_cast<const char*>(r), 8, n);
}

}  // namespace

DrawnIntegers drawn_integers(ScalarType dtype, std::optional<int64_t> from, std::optional<int64_t> to) {
  const bool wide_unsigned = !from && dtype >= ScalarType::UInt16 && dtype <= ScalarType::UInt64;
  CRESSET_CHECK_NOT_IMPLEMENTED(!is_complex_type(dtype) && !wide_unsigned && dtype < ScalarType::Undefined, "random_: not implemented for ", dtype);
  const int64_t last = is_floating_type(dtype) ? int64_t{1} << mantissa_bits(dtype) : integer_max(dtype);
  if (!from) return {static_cast<uint64_t>(last) + 1, 0, dtype == ScalarType::Double || dtype == ScalarType::Long};
  if (!to && *from == kMin64) {
    const bool known = dtype == ScalarType::Long || dtype == ScalarType::Double || dtype == ScalarType::Float || dtype == ScalarType::BFloat16;
    CRESSET_CHECK_NOT_IMPLEMENTED(known, "random_: the full 64-bit range is not implemented for ", dtype);
    return {0, 0, true};
  }
  CRESSET_CHECK(!to || *from < *to, "random_: expected from below to, got from=", *from, " >= to=", to.value_or(0));
  check_integer_fits("from", *from, dtype);
  if (to) check_integer_fits("to - 1", *to - 1, dtype);
  if (is_floating_type(dtype)) {
    from = raise_from(*from, dtype);
    if (to) to = lower_to(*to, dtype);
    CRESSET_CHECK(!to || *from < *to, "random_: expected from below to in the tensor's dtype, got from=", *from, " >= to=", to.value_or(0));
    CRESSET_CHECK(to || *from <= last, "random_: expected from of at most to in the tensor's dtype, got from=", *from, " > to_inc=", last);
  }
  CRESSET_CHECK(to || dtype != ScalarType::UInt64, "random_: to - 1 is out of bounds for uint64");
  const uint64_t range = static_cast<uint64_t>(to ? *to : last) - static_cast<uint64_t>(*from) + (to ? 0 : 1);
  return {range, *from, range >= kWideRange};
}

void random_full(RandomState& state, void* out, ScalarType dtype, int64_t n) { draw(state, out, dtype, n, drawn_integers(dtype, {}, {})); }

void random_from_to(RandomState& state, void* out, ScalarType dtype, int64_t n, int64_t from, int64_t to) {
  draw(state, out, dtype, n, drawn_integers(dtype, from, to));
}

void random_from(RandomState& state, void* out, ScalarType dtype, int64_t n, int64_t from) { draw(state, out, dtype, n, drawn_integers(dtype, from, {})); }

void randperm(RandomState& state, void* out, ScalarType dtype, int64_t n) {
  CRESSET_CHECK(n >= 0, "randperm: expected a length of at least 0, got ", n);
  const bool wide_unsigned = dtype >= ScalarType::UInt16 && dtype <= ScalarType::UInt64;
  CRESSET_CHECK_NOT_IMPLEMENTED(!is_complex_type(dtype) && !wide_unsigned && dtype != ScalarType::Bool && dtype < ScalarType::Undefined,
                                "randperm: not implemented for ", dtype);
  const bool exact = dtype == ScalarType::Half || dtype == ScalarType::Float || dtype == ScalarType::Double;
  const int64_t limit = is_integral_type(dtype, false) ? integer_max(dtype) : exact ? int64_t{1} << mantissa_bits(dtype) : kMax64;
  CRESSET_CHECK(n - 1 <= limit, "randperm: the numbers below ", n, " do not fit ", dtype);
  const int64_t item = static_cast<int64_t>(element_size(dtype));
  if (n >= kLongPermutation) return long_permutation(state, out, dtype, n);
  if (item == 4) {
    call(random_shuffle_stub)(state.engine, static_cast<uint32_t*>(out), n);
    if (dtype == ScalarType::Float) converter(ScalarType::Int, dtype)(static_cast<char*>(out), 4, static_cast<char*>(out), 4, n);
    return;
  }
  if (item == 8) {
    // Shuffled as 32-bit numbers in the upper half of the output, then widened from the front: writing never overtakes reading.
    char* const narrow = static_cast<char*>(out) + 4 * n;
    call(random_shuffle_stub)(state.engine, reinterpret_cast<uint32_t*>(narrow), n);
    constexpr int64_t kBlock = 256;
    alignas(64) char block[4 * kBlock];
    const Convert widen = converter(ScalarType::Int, dtype);
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t m = std::min(kBlock, n - begin);
      std::memcpy(block, narrow + 4 * begin, static_cast<size_t>(4 * m));
      widen(static_cast<char*>(out) + 8 * begin, 8, block, 4, m);
    }
    return;
  }
  const std::unique_ptr<uint32_t[]> work(new uint32_t[static_cast<size_t>(n)]);
  call(random_shuffle_stub)(state.engine, work.get(), n);
  converter(ScalarType::Int, dtype)(static_cast<char*>(out), item, reinterpret_cast<const char*>(work.get()), 4, n);
}

DimVector memory_order(IntArrayRef sizes, IntArrayRef strides) {
  DimVector order;
  for (size_t d = 0; d < sizes.size(); d++) {
    if (sizes[d] == 1) continue;
    // Insert before the dimensions inside it; equal strides keep their order.
    size_t at = order.size();
    while (at > 0 && strides[static_cast<size_t>(order[at - 1])] < strides[d]) at--;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), static_cast<int64_t>(d));
  }
  return order;
}

void scatter_in_memory_order(void* out, const void* packed, ScalarType dtype, IntArrayRef sizes, IntArrayRef strides) {
  const DimVector order = memory_order(sizes, strides);
  DimVector packed_strides(sizes.size(), 1);
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t d = static_cast<size_t>(order[i]);
    packed_strides[d] = step;
    step *= sizes[d];
  }
  copy_strided(Strided(out, dtype, sizes, strides), Strided(packed, dtype, sizes, packed_strides));
}

}  // namespace cresset::kernels
