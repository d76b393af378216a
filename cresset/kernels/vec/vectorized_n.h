#pragma once
// Several vectors as one, and masks over them.

#include "cresset/kernels/vec/vectorized.h"

namespace cresset::vec {
inline namespace CRESSET_VEC_NAMESPACE {

// N vectors, one behind the other.
template <class T, int N> class VectorizedN {
 public:
  using value_type = T;
  using size_type = int;
  static constexpr size_type size_T = sizeof(T);
  static constexpr size_type size() { return Vectorized<T>::size() * N; }

  VectorizedN() = default;
  VectorizedN(T value) { parts_.fill(Vectorized<T>(value)); }
  template <int L = N, class = std::enable_if_t<L == 1>> VectorizedN(const Vectorized<T>& part) : parts_{part} {}
  template <int L = N, class = std::enable_if_t<L == 2>> VectorizedN(const Vectorized<T>& first, const Vectorized<T>& second) : parts_{first, second} {}
  template <int L = N, class = std::enable_if_t<L == 1>> operator Vectorized<T>() const { return parts_[0]; }

  const Vectorized<T>& operator[](int part) const { return parts_[static_cast<size_t>(part)]; }
  Vectorized<T>& operator[](int part) { return parts_[static_cast<size_t>(part)]; }

  static VectorizedN loadu(const void* source) { return loadu(source, size()); }
  // The lanes behind the first `count` are 0.
  static VectorizedN loadu(const void* source, int64_t count) {
    VectorizedN out;
    for (int i = 0; i < N; i++) out[i] = Vectorized<T>::loadu(static_cast<const T*>(source) + i * part_size, lanes_of_part(i, count));
    return out;
  }
  void store(void* target) const { store(target, size()); }
  void store(void* target, int64_t count) const {
    for (int i = 0; i < N; i++) (*this)[i].store(static_cast<T*>(target) + i * part_size, lanes_of_part(i, count));
  }
  template <class Step = T> static VectorizedN arange(T base = T(0), Step step = static_cast<Step>(1)) {
    VectorizedN out;
    for (int i = 0; i < N; i++) out[i] = Vectorized<T>::arange(static_cast<T>(base + static_cast<T>(step * static_cast<Step>(i * part_size))), step);
    return out;
  }
  static VectorizedN blendv(const VectorizedN& a, const VectorizedN& b, const VectorizedN& mask) {
    VectorizedN out;
    for (int i = 0; i < N; i++) out[i] = Vectorized<T>::blendv(a[i], b[i], mask[i]);
    return out;
  }
  static VectorizedN set(const VectorizedN& a, const VectorizedN& b, int64_t count = size()) {
    VectorizedN out;
    for (int i = 0; i < N; i++) out[i] = Vectorized<T>::set(a[i], b[i], lanes_of_part(i, count));
    return out;
  }

  // f of each vector, and of those of two or three.
  template <class F> VectorizedN unary_op(F f) const {
    VectorizedN out;
    for (int i = 0; i < N; i++) out[i] = f((*this)[i]);
    return out;
  }
  template <class F> VectorizedN binary_op(const VectorizedN& other, F f) const {
    VectorizedN out;
    for (int i = 0; i < N; i++) out[i] = f((*this)[i], other[i]);
    return out;
  }
  template <class F> VectorizedN ternary_op(const VectorizedN& b, const VectorizedN& c, F f) const {
    VectorizedN out;
    for (int i = 0; i < N; i++) out[i] = f((*this)[i], b[i], c[i]);
    return out;
  }
  template <class F> VectorizedN map(F f) const {
    return unary_op([&](const Vectorized<T>& v) { return v.map(f); });
  }

#define CRESSET_VEC_UNARY(name)                                       \
  VectorizedN name() const {                                          \
    return unary_op([](const Vectorized<T>& v) { return v.name(); }); \
  }
  CRESSET_VEC_UNARY(isnan)
  CRESSET_VEC_UNARY(abs)
  CRESSET_VEC_UNARY(sgn)
  CRESSET_VEC_UNARY(angle)
  CRESSET_VEC_UNARY(real)
  CRESSET_VEC_UNARY(imag)
  CRESSET_VEC_UNARY(conj)
  CRESSET_VEC_UNARY(acos)
  CRESSET_VEC_UNARY(acosh)
  CRESSET_VEC_UNARY(asin)
  CRESSET_VEC_UNARY(asinh)
  CRESSET_VEC_UNARY(atan)
  CRESSET_VEC_UNARY(atanh)
  CRESSET_VEC_UNARY(erf)
  CRESSET_VEC_UNARY(erfc)
  CRESSET_VEC_UNARY(erfinv)
  CRESSET_VEC_UNARY(exp)
  CRESSET_VEC_UNARY(exp2)
  CRESSET_VEC_UNARY(expm1)
  CRESSET_VEC_UNARY(exp_u20)
  CRESSET_VEC_UNARY(frac)
  CRESSET_VEC_UNARY(log)
  CRESSET_VEC_UNARY(log10)
  CRESSET_VEC_UNARY(log1p)
  CRESSET_VEC_UNARY(log2)
  CRESSET_VEC_UNARY(ceil)
  CRESSET_VEC_UNARY(cos)
  CRESSET_VEC_UNARY(cosh)
  CRESSET_VEC_UNARY(floor)
  CRESSET_VEC_UNARY(i0)
  CRESSET_VEC_UNARY(i0e)
  CRESSET_VEC_UNARY(digamma)
  CRESSET_VEC_UNARY(neg)
  CRESSET_VEC_UNARY(round)
  CRESSET_VEC_UNARY(sin)
  CRESSET_VEC_UNARY(sinh)
  CRESSET_VEC_UNARY(tan)
  CRESSET_VEC_UNARY(tanh)
  CRESSET_VEC_UNARY(trunc)
  CRESSET_VEC_UNARY(lgamma)
  CRESSET_VEC_UNARY(sqrt)
  CRESSET_VEC_UNARY(reciprocal)
  CRESSET_VEC_UNARY(rsqrt)
#undef CRESSET_VEC_UNARY

#define CRESSET_VEC_BINARY(name)                                                                   \
  VectorizedN name(const VectorizedN& o) const {                                                   \
    return binary_op(o, [](const Vectorized<T>& a, const Vectorized<T>& b) { return a.name(b); }); \
  }
  CRESSET_VEC_BINARY(atan2)
  CRESSET_VEC_BINARY(copysign)
  CRESSET_VEC_BINARY(fmod)
  CRESSET_VEC_BINARY(hypot)
  CRESSET_VEC_BINARY(igamma)
  CRESSET_VEC_BINARY(igammac)
  CRESSET_VEC_BINARY(nextafter)
  CRESSET_VEC_BINARY(pow)
  CRESSET_VEC_BINARY(eq)
  CRESSET_VEC_BINARY(ne)
  CRESSET_VEC_BINARY(gt)
  CRESSET_VEC_BINARY(ge)
  CRESSET_VEC_BINARY(lt)
  CRESSET_VEC_BINARY(le)
#undef CRESSET_VEC_BINARY

#define CRESSET_VEC_OPERATOR(op)                                                                  \
  friend VectorizedN operator op(const VectorizedN& a, const VectorizedN& b) {                    \
    return a.binary_op(b, [](const Vectorized<T>& x, const Vectorized<T>& y) { return x op y; }); \
  }
#define CRESSET_VEC_OPERATOR_WITH_ASSIGNMENT(op) \
  CRESSET_VEC_OPERATOR(op)                       \
  VectorizedN& operator op##=(const VectorizedN& o) { return *this = *this op o; }
  CRESSET_VEC_OPERATOR_WITH_ASSIGNMENT(+)
  CRESSET_VEC_OPERATOR_WITH_ASSIGNMENT(-)
  CRESSET_VEC_OPERATOR_WITH_ASSIGNMENT(*)
  CRESSET_VEC_OPERATOR_WITH_ASSIGNMENT(/)
  CRESSET_VEC_OPERATOR_WITH_ASSIGNMENT(%)
  CRESSET_VEC_OPERATOR_WITH_ASSIGNMENT(&)
  CRESSET_VEC_OPERATOR_WITH_ASSIGNMENT(|)
  CRESSET_VEC_OPERATOR_WITH_ASSIGNMENT(^)
  CRESSET_VEC_OPERATOR_WITH_ASSIGNMENT(<<)
  CRESSET_VEC_OPERATOR_WITH_ASSIGNMENT(>>)
  CRESSET_VEC_OPERATOR(&&)
  CRESSET_VEC_OPERATOR(||)
  CRESSET_VEC_OPERATOR(==)
  CRESSET_VEC_OPERATOR(!=)
  CRESSET_VEC_OPERATOR(<)
  CRESSET_VEC_OPERATOR(<=)
  CRESSET_VEC_OPERATOR(>)
  CRESSET_VEC_OPERATOR(>=)
#undef CRESSET_VEC_OPERATOR_WITH_ASSIGNMENT
#undef CRESSET_VEC_OPERATOR
  friend VectorizedN operator~(const VectorizedN& a) {
    return a.unary_op([](const Vectorized<T>& v) { return ~v; });
  }
  friend VectorizedN operator!(const VectorizedN& a) {
    return a.unary_op([](const Vectorized<T>& v) { return !v; });
  }
  friend VectorizedN operator-(const VectorizedN& a) { return a.neg(); }
  friend std::ostream& operator<<(std::ostream& out, const VectorizedN& v) {
    out << "vec[";
    for (int i = 0; i < N; i++) out << (i == 0 ? "" : ", ") << v[i];
    return out << "]";
  }

 private:
  static constexpr int part_size = Vectorized<T>::size();
  // How many of the first `count` lanes stand in a part.
  static int64_t lanes_of_part(int part, int64_t count) {
    const int64_t left = count - part * part_size;
    return left < 0 ? 0 : left > part_size ? part_size : left;
  }

  std::array<Vectorized<T>, static_cast<size_t>(N)> parts_;
};

#define CRESSET_VEC_BINARY(name)                                                                             \
  template <class T, int N> VectorizedN<T, N> name(const VectorizedN<T, N>& a, const VectorizedN<T, N>& b) { \
    return a.binary_op(b, [](const Vectorized<T>& x, const Vectorized<T>& y) { return name(x, y); });        \
  }
#define CRESSET_VEC_TERNARY(name)                                                                                                        \
  template <class T, int N> VectorizedN<T, N> name(const VectorizedN<T, N>& a, const VectorizedN<T, N>& b, const VectorizedN<T, N>& c) { \
    return a.ternary_op(b, c, [](const Vectorized<T>& x, const Vectorized<T>& y, const Vectorized<T>& z) { return name(x, y, z); });     \
  }
CRESSET_VEC_BINARY(maximum)
CRESSET_VEC_BINARY(minimum)
CRESSET_VEC_BINARY(clamp_min)
CRESSET_VEC_BINARY(clamp_max)
CRESSET_VEC_TERNARY(clamp)
CRESSET_VEC_TERNARY(fmadd)
CRESSET_VEC_TERNARY(fmsub)
CRESSET_VEC_TERNARY(fnmadd)
#undef CRESSET_VEC_TERNARY
#undef CRESSET_VEC_BINARY

// One vector where one is enough, else N of them.
template <class T, int N> using VectorOf = std::conditional_t<N == 1, Vectorized<T>, VectorizedN<T, N>>;

// Whether each lane of N vectors of T is chosen; as a vector, a lane has all bits set, or none.
template <class T, int N> class VecMask {
 public:
  using size_type = int;
  static constexpr size_type size() { return VectorizedN<T, N>::size(); }

  VecMask() = default;
  VecMask(const VectorizedN<T, N>& lanes) : lanes_(lanes) {}
  template <int L = N, class = std::enable_if_t<L == 1>> VecMask(const Vectorized<T>& lanes) : lanes_(lanes) {}
  operator VectorizedN<T, N>() const { return lanes_; }
  template <int L = N, class = std::enable_if_t<L == 1>> operator Vectorized<T>() const { return lanes_[0]; }

  // From one truth value, from an array of them, and from vectors; what is not 0 is chosen.
  template <class U, class = std::enable_if_t<std::is_arithmetic<U>::value>> static VecMask from(U truth) {
    return choose([&](int) { return truth != U(0); });
  }
  template <class U> static VecMask from(const U* truths) {
    return choose([&](int i) { return truths[i] != U(0); });
  }
  template <class U> static VecMask from(const U* truths, int count) {
    return choose([&](int i) { return i < count && truths[i] != U(0); });
  }
  template <class U, int L> static VecMask from(const VectorizedN<U, L>& truths) {
    return choose([&](int i) { return i < truths.size() && is_set(truths[i / Vectorized<U>::size()][i % Vectorized<U>::size()]); });
  }
  template <class U, int L = 1> static VecMask from(const Vectorized<U>& truths) { return from(VectorizedN<U, 1>(truths)); }

  // As elements of U: 1 where chosen, else 0.
  template <class U, int L> VectorOf<U, L> to() const {
    VectorizedN<U, L> out;
    for (int i = 0; i < out.size() && i < size(); i++) out[i / Vectorized<U>::size()][i % Vectorized<U>::size()] = static_cast<U>(is_masked(i) ? 1 : 0);
    return out;
  }
  template <class U, int L> VecMask<U, L> cast() const { return VecMask<U, L>::from(to<U, L>()); }

  // Elements of memory where chosen, else 0. The others are not read.
  template <class U, int L> VectorOf<U, L> loadu(const void* source) const {
    VectorizedN<U, L> out;
    for (int i = 0; i < out.size() && i < size(); i++)
      if (is_masked(i))
        std::memcpy(static_cast<void*>(&out[i / Vectorized<U>::size()][i % Vectorized<U>::size()]), static_cast<const U*>(source) + i, sizeof(U));
    return out;
  }
  // The lanes of b where chosen, else those of a.
  template <class U, int L> static VectorizedN<U, L> blendv(const VectorizedN<U, L>& a, const VectorizedN<U, L>& b, const VecMask& mask) {
    return VectorizedN<U, L>::blendv(a, b, mask.template cast<U, L>());
  }
  template <class U> static Vectorized<U> blendv(const Vectorized<U>& a, const Vectorized<U>& b, const VecMask& mask) {
    return Vectorized<U>::blendv(a, b, mask.template cast<U, 1>());
  }
  static VecMask set(const VecMask& a, const VecMask& b, int64_t count = size()) { return VectorizedN<T, N>::set(a.lanes_, b.lanes_, count); }
  void store(bool* target, int count = size()) const {
    for (int i = 0; i < count; i++) target[i] = is_masked(i);
  }

  bool is_masked(int lane) const { return is_set(lanes_[lane / Vectorized<T>::size()][lane % Vectorized<T>::size()]); }
  bool all_masked() const { return count() == size(); }
  bool all_zero() const { return count() == 0; }
  VecMask<T, 1> operator[](int part) const { return lanes_[part]; }

  friend VecMask operator&(const VecMask& a, const VecMask& b) { return a.lanes_ & b.lanes_; }
  friend VecMask operator|(const VecMask& a, const VecMask& b) { return a.lanes_ | b.lanes_; }
  friend VecMask operator^(const VecMask& a, const VecMask& b) { return a.lanes_ ^ b.lanes_; }
  friend VecMask operator&&(const VecMask& a, const VecMask& b) { return a & b; }
  friend VecMask operator||(const VecMask& a, const VecMask& b) { return a | b; }
  friend VecMask operator~(const VecMask& a) { return ~a.lanes_; }
  friend VecMask operator==(const VecMask& a, const VecMask& b) { return ~(a ^ b); }
  friend VecMask operator!=(const VecMask& a, const VecMask& b) { return a ^ b; }

 private:
  template <class U> static bool is_set(const U& x) {
    for (const auto word : detail::words_of(x))
      if (word != 0) return true;
    return false;
  }
  template <class F> static VecMask choose(F f) {
    VecMask out;
    for (int i = 0; i < size(); i++) out.lanes_[i / Vectorized<T>::size()][i % Vectorized<T>::size()] = detail::bits_if<T>(f(i));
    return out;
  }
  int count() const {
    int n = 0;
    for (int i = 0; i < size(); i++) n += is_masked(i);
    return n;
  }

  VectorizedN<T, N> lanes_;
};

}  // namespace CRESSET_VEC_NAMESPACE
}  // namespace cresset::vec
