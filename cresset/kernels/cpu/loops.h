#pragma once
// The inner loop of every pointwise op: one template over (expression, dtype) with contiguous, scalar-left, scalar-right and
// strided paths. Everything else (half types, other mixes of strides) goes through small blocks that reach the contiguous path.

#include <array>
#include <cstring>
#include <utility>

#include "cresset/kernels/expr/common.h"
#include "cresset/kernels/gemm/cpu/pack.h"
#include "cresset/kernels/iter/blocks.h"
#include "cresset/kernels/pointwise/pointwise.h"

namespace cresset::kernels::CRESSET_ISA {

template <class T> struct RealOf { using type = T; };
template <class V> struct RealOf<complex<V>> { using type = V; };

template <class E, class T> using ResultOf =
    std::conditional_t<E::out == Out::boolean, bool, typename std::conditional_t<E::out == Out::real, RealOf<T>, std::type_identity<T>>::type>;

// The type of input i: masks arrive as bytes.
template <class E, class T, size_t i> using InputOf = std::conditional_t<static_cast<int>(i) == E::mask, uint8_t, T>;

constexpr int64_t kPaddedLanes = 16;

template <class T> struct Array {
  const T* data;
  CRESSET_ALWAYS_INLINE T operator[](int64_t i) const { return data[i]; }
  CRESSET_ALWAYS_INLINE Array from(int64_t i) const { return {data + i}; }
  template <class V, class... N> CRESSET_ALWAYS_INLINE V pack(int64_t i, N... n) const { return V::load(data + i, n...); }
  struct Padded {
    alignas(64) T data[kPaddedLanes];
    CRESSET_ALWAYS_INLINE T operator[](int64_t i) const { return data[i]; }
  };
  CRESSET_ALWAYS_INLINE Padded padded(int64_t n) const {
    Padded block{};
    for (int64_t i = 0; i < n; i++) block.data[i] = data[i];
    return block;
  }
};
template <class T> struct Same {
  T value;
  CRESSET_ALWAYS_INLINE T operator[](int64_t) const { return value; }
  CRESSET_ALWAYS_INLINE Same from(int64_t) const { return *this; }
  template <class V, class... N> CRESSET_ALWAYS_INLINE V pack(int64_t, N...) const { return V(value); }
  CRESSET_ALWAYS_INLINE Same padded(int64_t) const { return *this; }
};

template <class T> CRESSET_ALWAYS_INLINE T load(const char* p) { return *reinterpret_cast<const T*>(p); }

// Half types compute in float, block by block.
template <class E, class T> constexpr BlockPlan low_precision_plan() {
  constexpr ScalarType low = dtype_of<T>;
  BlockPlan plan{E::inputs + 1, 1, {}, {}};
  for (int i = 0; i <= E::inputs; i++) {
    const bool byte = i == 0 ? E::out == Out::boolean : i - 1 == E::mask;
    plan.outer[i] = byte ? ScalarType::Bool : low;
    plan.inner[i] = byte ? ScalarType::Bool : ScalarType::Float;
  }
  return plan;
}

// The dtype whose conversion to itself moves T.
template <class T> constexpr ScalarType width_dtype() {
  return sizeof(T) == 1   ? ScalarType::Byte
         : sizeof(T) == 2 ? ScalarType::UInt16
         : sizeof(T) == 4 ? ScalarType::UInt32
         : sizeof(T) == 8 ? ScalarType::UInt64
                          : ScalarType::ComplexDouble;
}

template <class E, class T> constexpr BlockPlan same_dtype_plan() {
  BlockPlan plan{E::inputs + 1, 1, {}, {}};
  for (int i = 0; i <= E::inputs; i++)
    plan.outer[i] = plan.inner[i] = i == 0 ? width_dtype<ResultOf<E, T>>() : i - 1 == E::mask ? ScalarType::Byte : width_dtype<T>();
  return plan;
}

template <class E, class T> void pointwise_loop(char** data, const int64_t* strides, int64_t n, const Scalar* params);

template <class E, class T> struct PointwiseLoop {
  using R = ResultOf<E, T>;
  static constexpr size_t kInputs = E::inputs, kParams = E::params;
#ifdef CRESSET_HAS_PACK
  static constexpr bool kPacked = E::template simd<T>;
#else
  static constexpr bool kPacked = false;
#endif
  // Integers, whose division by 0 raises, take none of a floating expression's detours through padded blocks.
  static constexpr bool kFar = E::has_far && std::is_floating_point_v<T>, kHeavy = E::heavy && (kFar || !E::has_far || expr::is_cplx<T>);
  // Below this a plain loop beats setting up vectors.
  static constexpr int64_t kShort = 8;
  // Dtypes for which "tensor op number" has loops of its own; others fill a block with the number, as do those with conditions on it, of
  // which the compiler makes no vectors.
  static constexpr bool kScalarPaths = !requires { typename E::NumberCase; }
  &&(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>);
  using Params = std::array<T, kParams ? kParams : 1>;

  template <size_t... P, class... In> CRESSET_ALWAYS_INLINE static R apply(const Params& p, std::index_sequence<P...>, In... in) { return E{}(in..., p[P]...); }
  static constexpr auto kP = std::make_index_sequence<kParams>{};

  template <class... In> CRESSET_ALWAYS_INLINE static void dense(char* out, int64_t n, Params p, In... in) {
    R* r = reinterpret_cast<R*>(out);
    if constexpr (kFar) {
      constexpr int64_t kBlock = 1024;
      for (int64_t i = 0; i < n; i += kBlock) {
        const int64_t count = n - i < kBlock ? n - i : kBlock;
        if (any_far(count, in.from(i)...)) with_far(r + i, count, p, in.from(i)...);
        else whole_vectors(r + i, count, p, in.from(i)...);
      }
    } else if constexpr (kPacked) {
      vectors(r, n, p, kP, in...);
    } else if constexpr (kHeavy) {
      whole_vectors(r, n, p, in...);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) r[i] = apply(p, kP, in[i]...);
    }
  }

  // Whole vectors only, the tail in a padded one: no epilogue loops, and every element takes the same instructions.
  template <class... In> CRESSET_ALWAYS_INLINE static void whole_vectors(R* r, int64_t n, const Params& p, In... in) {
    const int64_t whole = n & ~(kPaddedLanes - 1);
#pragma GCC ivdep
    for (int64_t i = 0; i < whole; i++) r[i] = apply(p, kP, in[i]...);
    if (whole != n) tail(r + whole, n - whole, p, in.from(whole)...);
  }

  // Arguments that the vectorised function does not cover are rare: a block with one is computed element by element.
  template <class... In> CRESSET_ALWAYS_INLINE static bool any_far(int64_t n, In... in) {
    unsigned any = 0;
    for (int64_t i = 0; i < n; i++) any |= E::far(in[i]...);
    return any != 0;
  }
  template <class... In> CRESSET_ALWAYS_INLINE static void with_far(R* r, int64_t n, const Params& p, In... in) {
    for (int64_t i = 0; i < n; i++) r[i] = E::far(in[i]...) ? E::at_far(in[i]...) : apply(p, kP, in[i]...);
  }

  template <class... In, size_t... P> CRESSET_ALWAYS_INLINE static void vectors([[maybe_unused]] R* r, [[maybe_unused]] int64_t n,
                                                                                [[maybe_unused]] const Params& params, std::index_sequence<P...>,
                                                                                [[maybe_unused]] In... in) {
#ifdef CRESSET_HAS_PACK
    using V = Pack<T>;
    const std::array<V, kParams + 1> p = {V(params[P])..., V(T(0))};
    int64_t i = 0;
    for (; i + V::kSize <= n; i += V::kSize) E{}(in.template pack<V>(i)..., p[P]...).store(r + i);
    if (i < n) E{}(in.template pack<V>(i, n - i)..., p[P]...).store(r + i, n - i);
#endif
  }

  template <class... In> CRESSET_ALWAYS_INLINE static void tail(R* r, int64_t n, const Params& p, In... in) {
    alignas(64) R out[kPaddedLanes];
    [&](const auto&... padded) {
      for (int64_t i = 0; i < kPaddedLanes; i++) out[i] = apply(p, kP, padded[i]...);
    }(in.padded(n)...);
    for (int64_t i = 0; i < n; i++) r[i] = out[i];
  }

  template <size_t... I> CRESSET_ALWAYS_INLINE static void strided(char** data, const int64_t* strides, int64_t n, const Params& p, std::index_sequence<I...>) {
    char* out = data[0];
    [[maybe_unused]] const char* in[] = {data[I + 1]..., nullptr};
    for (int64_t i = 0; i < n; i++) {
      *reinterpret_cast<R*>(out) = apply(p, kP, load<InputOf<E, T, I>>(in[I])...);
      out += strides[0];
      ((in[I] += strides[I + 1]), ...);
      asm volatile("");  // a strided loop gains nothing from gathers and costs code size
    }
  }

  template <size_t... I>
  CRESSET_ALWAYS_INLINE static void run(char** data, const int64_t* strides, int64_t n, [[maybe_unused]] const Scalar* params, std::index_sequence<I...> all) {
    Params p{};
    if constexpr (kParams > 0)
      for (size_t i = 0; i < kParams; i++) p[i] = params[i].as<T>();
    if (kHeavy || n >= kShort) {
      const bool out_dense = strides[0] == sizeof(R);
      if (out_dense && ((strides[I + 1] == sizeof(InputOf<E, T, I>)) && ...))
        return dense(data[0], n, p, Array<InputOf<E, T, I>>{reinterpret_cast<const InputOf<E, T, I>*>(data[I + 1])}...);
      if constexpr (kInputs == 2 && kScalarPaths) {
        using A = InputOf<E, T, 0>;
        using B = InputOf<E, T, 1>;
        if (out_dense && strides[1] == sizeof(A) && strides[2] == 0)
          return dense(data[0], n, p, Array<A>{reinterpret_cast<const A*>(data[1])}, Same<B>{load<B>(data[2])});
        if (out_dense && strides[1] == 0 && strides[2] == sizeof(B))
          return dense(data[0], n, p, Same<A>{load<A>(data[1])}, Array<B>{reinterpret_cast<const B*>(data[2])});
      }
      // Heavy expressions gain from packing; others only when nothing is truly strided.
      if (kHeavy || (out_dense && ((strides[I + 1] == 0 || strides[I + 1] == sizeof(InputOf<E, T, I>)) && ...))) {
        static constexpr BlockPlan plan = same_dtype_plan<E, T>();
        return run_blocks(plan, pointwise_loop<E, T>, data, strides, n, params);
      }
    }
    if constexpr (!kHeavy) strided(data, strides, n, p, all);
  }
};

template <class E, class T> void pointwise_loop(char** data, const int64_t* strides, int64_t n, const Scalar* params) {
  // A value of the numbers for which there is a faster expression of the tensors alone.
  if constexpr (requires { typename E::SpecialCase; })
    if (E::is_special(params)) return pointwise_loop<typename E::SpecialCase, T>(data, strides, n, nullptr);
  // The same for a number as the last input.
  if constexpr (requires { typename E::NumberCase; } && std::is_arithmetic_v<T>)
    if (n > 0 && strides[E::inputs] == 0 && load<T>(data[E::inputs]) == T(E::number))
      return pointwise_loop<typename E::NumberCase, T>(data, strides, n, nullptr);
  if constexpr (expr::is_low<T> && !E::native_low) {
    static constexpr BlockPlan plan = low_precision_plan<E, T>();
    run_blocks(plan, pointwise_loop<E, float>, data, strides, n, params);
  } else {
    PointwiseLoop<E, T>::run(data, strides, n, params, std::make_index_sequence<E::inputs>{});
  }
}

// Emits the loops of an expression for all its dtypes.
template <class E> struct Loops {
  template <class T> static constexpr Loop pick() {
    if constexpr (!((E::dtypes >> static_cast<int>(dtype_of<T>)) & 1) || (!kIsBaseline && expr::is_baseline_loop<E, T>())) return nullptr;
    else return pointwise_loop<E, expr::LoopType<E, T>>;
  }
#define CRESSET_PICK(T, Name) pick<T>(),
  static constexpr Loop all[] = {CRESSET_FOR_EACH_DTYPE(CRESSET_PICK)};
#undef CRESSET_PICK
};
#define CRESSET_LOOPS(name, Expr) template struct Loops<expr::Expr>;

}  // namespace cresset::kernels::CRESSET_ISA
