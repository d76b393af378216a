#pragma once
// An integer where PyTorch admits a symbol in its place. Shapes are always known here, so that it is never one.

#include <cstdint>
#include <iosfwd>
#include <optional>

#include "cresset/base/array_ref.h"
#include "cresset/base/scalar.h"

namespace cresset {

class SymInt {
 public:
  constexpr SymInt() = default;
  constexpr SymInt(int64_t value) : value_(value) {}
  // Whether PyTorch would keep the number in place; the range below it is taken by addresses of symbols there.
  static constexpr bool check_range(int64_t value) { return value > -4611686018427387904 - 1; }

  constexpr operator int64_t() const { return value_; }
  constexpr bool is_symbolic() const { return false; }
  constexpr bool is_heap_allocated() const { return false; }
  constexpr bool has_hint() const { return true; }
  constexpr int64_t as_int_unchecked() const { return value_; }
  constexpr int64_t expect_int() const { return value_; }
  constexpr int64_t guard_int(const char*, int64_t) const { return value_; }
  std::optional<int64_t> maybe_as_int() const { return value_; }
  SymInt clone() const { return *this; }
  SymInt min(const SymInt& o) const { return o.value_ < value_ ? o : *this; }
  SymInt max(const SymInt& o) const { return o.value_ > value_ ? o : *this; }
  bool sym_eq(const SymInt& o) const { return value_ == o.value_; }
  bool sym_ne(const SymInt& o) const { return value_ != o.value_; }
  bool sym_lt(const SymInt& o) const { return value_ < o.value_; }
  bool sym_le(const SymInt& o) const { return value_ <= o.value_; }
  bool sym_gt(const SymInt& o) const { return value_ > o.value_; }
  bool sym_ge(const SymInt& o) const { return value_ >= o.value_; }

  SymInt& operator+=(const SymInt& o) { return *this = *this + o; }
  SymInt& operator-=(const SymInt& o) { return *this = *this - o; }
  SymInt& operator*=(const SymInt& o) { return *this = *this * o; }
  SymInt& operator/=(const SymInt& o) {
    value_ /= o.value_;
    return *this;
  }
  // Overflow wraps, as it does in tensors of integers.
  friend SymInt operator-(const SymInt& a) { return wrapped(0 - static_cast<uint64_t>(a.value_)); }
  friend SymInt operator+(const SymInt& a, const SymInt& b) { return wrapped(static_cast<uint64_t>(a.value_) + static_cast<uint64_t>(b.value_)); }
  friend SymInt operator-(const SymInt& a, const SymInt& b) { return wrapped(static_cast<uint64_t>(a.value_) - static_cast<uint64_t>(b.value_)); }
  friend SymInt operator*(const SymInt& a, const SymInt& b) { return wrapped(static_cast<uint64_t>(a.value_) * static_cast<uint64_t>(b.value_)); }
#define CRESSET_SYM_INT_WITH(T)                                           \
  friend SymInt operator+(const SymInt& a, T b) { return a + SymInt(b); } \
  friend SymInt operator+(T a, const SymInt& b) { return SymInt(a) + b; } \
  friend SymInt operator-(const SymInt& a, T b) { return a - SymInt(b); } \
  friend SymInt operator-(T a, const SymInt& b) { return SymInt(a) - b; } \
  friend SymInt operator*(const SymInt& a, T b) { return a * SymInt(b); } \
  friend SymInt operator*(T a, const SymInt& b) { return SymInt(a) * b; }
  CRESSET_SYM_INT_WITH(int)
  CRESSET_SYM_INT_WITH(int64_t)
#undef CRESSET_SYM_INT_WITH

 private:
  static SymInt wrapped(uint64_t value) { return static_cast<int64_t>(value); }
  int64_t value_ = 0;
};

using SymIntArrayRef = ArrayRef<SymInt>;

// The same numbers: a SymInt is laid out as the int64_t it holds.
inline SymIntArrayRef fromIntArrayRefUnchecked(IntArrayRef list) { return {reinterpret_cast<const SymInt*>(list.data()), list.size()}; }
inline SymIntArrayRef fromIntArrayRefKnownNonNegative(IntArrayRef list) { return fromIntArrayRefUnchecked(list); }
inline SymIntArrayRef fromIntArrayRefSlow(IntArrayRef list) { return fromIntArrayRefUnchecked(list); }
inline IntArrayRef asIntArrayRefUnchecked(SymIntArrayRef list) { return {reinterpret_cast<const int64_t*>(list.data()), list.size()}; }
inline IntArrayRef asIntArrayRefSlow(SymIntArrayRef list, const char* = nullptr, int64_t = 0) { return asIntArrayRefUnchecked(list); }
inline std::optional<IntArrayRef> asIntArrayRefSlowOpt(SymIntArrayRef list) { return asIntArrayRefUnchecked(list); }

inline SymInt Scalar::toSymInt() const { return toLong(); }

}  // namespace cresset

namespace std {
template <> struct hash<cresset::SymInt> {
  size_t operator()(cresset::SymInt i) const noexcept { return hash<int64_t>()(i); }
};
}  // namespace std
