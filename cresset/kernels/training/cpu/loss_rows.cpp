#include <algorithm>

#include "cresset/base/error.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/cpu/rows.h"
#include "cresset/kernels/training/cpu/loss_kernels.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class T> struct Loss : Row<T> {
  using Base = Row<T>;
  using Base::get;
  using typename Base::A;
  using typename Base::V;

  static int64_t grain(int64_t classes) { return std::max<int64_t>(1, 16384 / classes); }

  static void forward(const CrossEntropyRows& a) {
    const T *x = reinterpret_cast<const T*>(a.x), *weight = reinterpret_cast<const T*>(a.weight);
    parallel_for(0, a.rows, grain(a.classes), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r++) {
        const T* row = x + r * a.classes;
        const auto e = Base::exponentials(row, a.classes);
        a.lse[r] = static_cast<double>(e.max) + std::log(static_cast<double>(e.sum));
        if (!a.smooth) continue;
        a.smooth[r] = static_cast<double>(Base::sum(a.classes, [&](int64_t i, int64_t count) {
          const V v = get(row + i, count, A(0));
          return weight ? v * get(weight + i, count, A(0)) : v;
        }));
      }
    });
  }

  static void backward(const CrossEntropyRowsBackward& a) {
    const T *x = reinterpret_cast<const T*>(a.x), *weight = reinterpret_cast<const T*>(a.weight);
    T* dx = reinterpret_cast<T*>(a.dx);
    const bool streamed = a.dx != a.x && a.rows * a.classes * static_cast<int64_t>(sizeof(T)) >= kStreamBytes;
    parallel_for(0, a.rows, grain(a.classes), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r++) {
        const T* row = x + r * a.classes;
        T* out = dx + r * a.classes;
        const V top = splat(static_cast<A>(a.lse[r])), scale = splat(static_cast<A>(a.scale[r]));
        if (a.scale[r] == 0 && (!a.offset || a.offset[r] == 0)) {
          std::fill_n(out, a.classes, T(0));
          continue;
        }
        const V offset = splat(static_cast<A>(a.offset ? a.offset[r] : 0));
        // Not clamped above: an exponent is positive by no more than the rounding of lse.
        if (!a.offset) {
          Base::write(out, a.classes, streamed, [&](int64_t i, int64_t count) { return exp_nonpositive(get(row + i, count, A(0)) - top) * scale; });
          continue;
        }
        Base::write(out, a.classes, streamed, [&](int64_t i, int64_t count) {
          const V p = exp_nonpositive(get(row + i, count, A(0)) - top) * scale;
          return weight ? p - get(weight + i, count, A(0)) * offset : p - offset;
        });
      }
      if (streamed) stream_fence();
    });
  }
};

template <class T> void forward(const CrossEntropyRows& a) { Loss<T>::forward(a); }
template <class T> void backward(const CrossEntropyRowsBackward& a) { Loss<T>::backward(a); }

}  // namespace

void cross_entropy_rows(const CrossEntropyRows& a) {
  switch (a.dtype) {
    case ScalarType::Half: return forward<Half>(a);
    case ScalarType::BFloat16: return forward<BFloat16>(a);
    case ScalarType::Float: return forward<float>(a);
    case ScalarType::Double: return forward<double>(a);
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "cross_entropy: not implemented for dtype ", a.dtype);
  }
}

void cross_entropy_rows_backward(const CrossEntropyRowsBackward& a) {
  switch (a.dtype) {
    case ScalarType::Half: return backward<Half>(a);
    case ScalarType::BFloat16: return backward<BFloat16>(a);
    case ScalarType::Float: return backward<float>(a);
    case ScalarType::Double: return backward<double>(a);
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "cross_entropy: not implemented for dtype ", a.dtype);
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
