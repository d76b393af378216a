#pragma once
// Numbers that note what is done to them, for the expressions of kernels/expr.

#include <functional>

#include "cresset/graph/codegen/machine/program.h"
#include "cresset/kernels/expr/common.h"

namespace cresset::graph::machine {

// One call of an expression: the program it adds to, and how the conditions that it branches on come out this time.
struct Tracer {
  Program& program;
  std::vector<bool> wanted;                     // the first of them
  std::vector<std::pair<int, bool>> decisions;  // all so far: conditions and how they came out

  bool decide(int condition) {
    for (const auto& [known, outcome] : decisions)
      if (known == condition) return outcome;
    const bool outcome = decisions.size() < wanted.size() ? wanted[decisions.size()] : true;
    decisions.emplace_back(condition, outcome);
    return outcome;
  }
};
inline thread_local Tracer* tracer = nullptr;

struct Mask {
  int node;
  operator bool() const { return tracer->decide(node); }
  friend Mask both(Op op, Mask a, Mask b) { return {tracer->program.add({op, Type::Mask, a.node, b.node})}; }
  friend Mask operator&(Mask a, Mask b) { return both(Op::And, a, b); }
  friend Mask operator|(Mask a, Mask b) { return both(Op::Or, a, b); }
  friend Mask operator!=(Mask a, Mask b) { return both(Op::Xor, a, b); }
};

template <class T> constexpr Type kFloat = std::is_same_v<T, float> ? Type::F32 : Type::F64;
template <class T> constexpr Type kBits = std::is_same_v<T, float> ? Type::I32 : Type::I64;
template <class T> using BitsOf = std::conditional_t<std::is_same_v<T, float>, uint32_t, uint64_t>;

// Which operations a value has: those of kernels/expr/math.h, or those of registers of AVX2 or AVX-512 in kernels/gemm/cpu/pack.h.
enum class Form : uint8_t { Single, Avx2, Avx512 };

// A float or double.
template <class T, Form form> struct Traced {
  static constexpr bool packed = form != Form::Single, wide = form == Form::Avx512;
  using Real = T;
  static constexpr Type kType = kFloat<T>, kInt = kBits<T>;
  static constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52, kBias = sizeof(T) == 4 ? 127 : 1023;
  static constexpr T kMagic = sizeof(T) == 4 ? T(12582912.0) : T(6755399441055744.0);
  int node = -1;

  Traced() = default;
  template <class N, class = std::enable_if_t<std::is_integral_v<N> || std::is_same_v<N, T>>> Traced(N n)
      : node(tracer->program.add({Op::Constant, kType, -1, -1, -1, __builtin_bit_cast(BitsOf<T>, static_cast<T>(n))})) {}
  template <class N, class = std::enable_if_t<std::is_floating_point_v<N> && !std::is_same_v<N, T>>, class = void> explicit Traced(N n)
      : Traced(static_cast<T>(n)) {}
  static Traced at(int n) {
    Traced t;
    t.node = n;
    return t;
  }
  bool is(T number) const {
    const Node& n = tracer->program.nodes[static_cast<size_t>(node)];
    return n.op == Op::Constant && n.immediate == __builtin_bit_cast(BitsOf<T>, number);
  }
  static Traced make(Op op, Traced a) { return at(tracer->program.add({op, kType, a.node})); }
  static Traced make(Op op, Traced a, Traced b) { return at(tracer->program.add({op, kType, a.node, b.node})); }
  static Mask compare(Op op, Traced a, Traced b) { return {tracer->program.add({op, Type::Mask, a.node, b.node})}; }
  static int bits(Traced a) { return tracer->program.add({Op::AsBits, kInt, a.node}); }
  static int bits(Op op, int a, int b) { return tracer->program.add({op, kInt, a, b}); }
  static int shift(Op op, int a, int by) { return tracer->program.add({op, kInt, a, -1, -1, static_cast<uint64_t>(by)}); }
  static int whole(int64_t n) { return tracer->program.add({Op::Constant, kInt, -1, -1, -1, static_cast<BitsOf<T>>(n)}); }
  static Traced from_bits(int n) { return at(tracer->program.add({Op::AsFloat, kType, n})); }

  friend Traced operator+(Traced a, Traced b) { return make(Op::Add, a, b); }
  friend Traced operator-(Traced a, Traced b) { return make(Op::Sub, a, b); }
  friend Traced operator*(Traced a, Traced b) { return make(Op::Mul, a, b); }
  friend Traced operator/(Traced a, Traced b) { return make(Op::Div, a, b); }
  friend Traced operator-(Traced a) {
    const Node& n = tracer->program.nodes[static_cast<size_t>(a.node)];
    return n.op == Op::Constant ? Traced(-__builtin_bit_cast(T, static_cast<BitsOf<T>>(n.immediate))) : make(Op::Neg, a);
  }
  // A factor of one rounds nothing.
  friend Traced fma(Traced a, Traced b, Traced c) {
    if (a.is(T(1))) return c + b;
    if (a.is(T(-1))) return c - b;
    return at(tracer->program.add({Op::Fma, kType, a.node, b.node, c.node}));
  }
  friend Traced sqrt(Traced a) { return make(Op::Sqrt, a); }
  friend Traced abs(Traced a) { return make(Op::Abs, a); }
  friend Traced copysign(Traced a, Traced b) { return make(Op::CopySign, a, b); }
  friend Mask operator<(Traced a, Traced b) { return compare(Op::Less, a, b); }
  friend Mask operator<=(Traced a, Traced b) { return compare(Op::LessEqual, a, b); }
  friend Mask operator>(Traced a, Traced b) { return compare(Op::Less, b, a); }
  friend Mask operator>=(Traced a, Traced b) { return compare(Op::LessEqual, b, a); }
  friend Mask operator==(Traced a, Traced b) { return compare(Op::Equal, a, b); }
  friend Mask operator!=(Traced a, Traced b) { return compare(Op::NotEqual, a, b); }
  friend Traced select(Mask m, Traced a, Traced b) { return at(tracer->program.add({Op::Select, kType, m.node, a.node, b.node})); }

  friend Traced at_least(Traced x, T low) { return select(x < Traced(low), Traced(low), x); }
  friend Traced at_most(Traced x, T high) { return select(x > Traced(high), Traced(high), x); }
  friend Traced exponent_field(Traced x) { return from_bits(shift(Op::ShiftLeft, bits(x), kMantissa)); }
  friend Traced pow2(Traced n) {
    if constexpr (wide) return make(Op::Scale, Traced(T(1)), n);
    else return exponent_field(n + Traced(kMagic + T(kBias)));
  }
  friend Traced scale_normal(Traced x, Traced n) {
    if constexpr (wide) return make(Op::Scale, x, n);
    else return x * pow2(n);
  }
  friend Traced round_nearest(Traced x) {
    if constexpr (packed) return make(Op::Round, x);
    else return (x + Traced(kMagic)) - Traced(kMagic);
  }
  friend Traced scale(Traced x, Traced n) {
    if constexpr (wide) return make(Op::Scale, x, n);
    const int sum = bits(n + Traced(kMagic + T(2 * kBias))), half = shift(packed ? Op::ShiftRight : Op::ShiftSigned, sum, 1);
    return x * from_bits(shift(Op::ShiftLeft, half, kMantissa)) * from_bits(shift(Op::ShiftLeft, bits(Op::SubBits, sum, half), kMantissa));
  }
  friend Traced exponent_of(Traced x) {
    if constexpr (wide) return make(Op::Exponent, x);
    const int field = shift(packed ? Op::ShiftRight : Op::ShiftSigned, bits(x), kMantissa);
    if constexpr (sizeof(T) == 4) return at(tracer->program.add({Op::FromBits, kType, bits(Op::SubBits, field, whole(kBias))}));
    else if constexpr (packed) return from_bits(bits(Op::Or, field, bits(Traced(T(4503599627370496.0))))) - Traced(T(4503599627370496.0 + 1023));
    else return from_bits(bits(Op::AddBits, bits(Op::SubBits, field, whole(kBias)), bits(Traced(kMagic)))) - Traced(kMagic);
  }
};

}  // namespace cresset::graph::machine

template <class T, cresset::graph::machine::Form form> struct std::numeric_limits<cresset::graph::machine::Traced<T, form>> {
  using Traced = cresset::graph::machine::Traced<T, form>;
  static Traced infinity() { return Traced(std::numeric_limits<T>::infinity()); }
  static Traced quiet_NaN() { return Traced(std::numeric_limits<T>::quiet_NaN()); }
};

namespace cresset::kernels::expr {
template <class T, graph::machine::Form form> constexpr bool is_float<graph::machine::Traced<T, form>> = true;
}
