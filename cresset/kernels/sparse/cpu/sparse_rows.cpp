#include "cresset/kernels/sparse/cpu/sparse_rows.h"

#include <type_traits>

#include "cresset/kernels/common/strided.h"
#include "cresset/kernels/cpu/simd.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class T, class I> class Row {
 public:
  using Sum = Compute<T>;
  Row(const SparseRows& a, const T* dense, int64_t stride, Sum beta, Sum alpha, bool keeps)
      : pointers_(static_cast<const I*>(a.pointers)),
        plain_(static_cast<const I*>(a.plain)),
        values_(static_cast<const T*>(a.values)),
        dense_(dense),
        stride_(stride),
        beta_(beta),
        alpha_(alpha),
        keeps_(keeps) {}

  void run(int64_t i, T* to, int64_t columns) const {
    const int64_t from = pointers_[i], n = static_cast<int64_t>(pointers_[i + 1]) - from;
    int64_t c = 0;
    if constexpr (std::is_floating_point_v<Sum>) {
      c = vectors<8>(from, n, to, c, columns);
      c = vectors<4>(from, n, to, c, columns);
      c = vectors<1>(from, n, to, c, columns);
    }
    for (; c < columns; c++) {
      Sum sum{};
      for (int64_t k = from; k < from + n; k++) sum = static_cast<Sum>(sum + static_cast<Sum>(values_[k]) * static_cast<Sum>(dense_[place(k) + c]));
      to[c] = static_cast<T>(static_cast<Sum>(keeps_ ? static_cast<Sum>(beta_ * static_cast<Sum>(to[c]) + alpha_ * sum) : static_cast<Sum>(alpha_ * sum)));
    }
  }

 private:
  int64_t place(int64_t k) const { return static_cast<int64_t>(plain_[k]) * stride_; }

  // Groups of kCount vectors: sums stay in registers, values and positions are read once for each group.
  template <int kCount> int64_t vectors(int64_t from, int64_t n, T* to, int64_t c, int64_t columns) const {
    constexpr int kStep = kCount * kLanes<Sum>;
    for (; c + kStep <= columns; c += kStep) {
      Vec<Sum> sums[kCount] = {};
      for (int64_t k = from; k < from + n; k++) {
        const T* row = dense_ + place(k) + c;
        const Vec<Sum> v = splat(static_cast<Sum>(values_[k]));
#pragma GCC unroll 8
        for (int j = 0; j < kCount; j++) sums[j] += v * load<Sum>(row + j * kLanes<Sum>);
      }
#pragma GCC unroll 8
      for (int j = 0; j < kCount; j++) {
        T* out = to + c + j * kLanes<Sum>;
        store(out, keeps_ ? splat(beta_) * load<Sum>(out) + splat(alpha_) * sums[j] : splat(alpha_) * sums[j]);
      }
    }
    return c;
  }

  const I *pointers_, *plain_;
  const T *values_, *dense_;
  int64_t stride_;
  Sum beta_, alpha_;
  bool keeps_;
};

template <class F> void visit_number(ScalarType t, F&& f) {
  visit_dtype(t, "sparse product", [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) CRESSET_CHECK_NOT_IMPLEMENTED(false, "sparse product: not implemented for bool");
    else f(zero);
  });
}

}  // namespace

void sparse_dense_rows(void* out, const SparseRows& a, const void* dense, int64_t dense_stride, int64_t columns, const Scalar& beta, const Scalar& alpha,
                       int64_t begin, int64_t end) {
  visit_number(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    using Sum = Compute<T>;
    visit_index(a.index_dtype, "sparse product", [&](auto izero) {
      const Row<T, decltype(izero)> row(a, static_cast<const T*>(dense), dense_stride, beta.as<Sum>(), alpha.as<Sum>(),
                                        beta.isComplex() || beta.as<double>() != 0);
      for (int64_t i = begin; i < end; i++) row.run(i, static_cast<T*>(out) + i * columns, columns);
    });
  });
}

void sampled_rows(void* values, const SparseRows& pattern, const void* a, const void* b, int64_t depth, const Scalar& beta, const Scalar& alpha, int64_t begin,
                  int64_t end) {
  visit_number(pattern.dtype, [&](auto zero) {
    using T = decltype(zero);
    using Sum = Compute<T>;
    visit_index(pattern.index_dtype, "sparse product", [&](auto izero) {
      using I = decltype(izero);
      const I *pointers = static_cast<const I*>(pattern.pointers), *plain = static_cast<const I*>(pattern.plain);
      const Sum scale = alpha.as<Sum>(), keep = beta.as<Sum>();
      const bool keeps = beta.isComplex() || beta.as<double>() != 0;
      T* to = static_cast<T*>(values);
      for (int64_t i = begin; i < end; i++) {
        const T* left = static_cast<const T*>(a) + i * depth;
        for (int64_t k = pointers[i]; k < pointers[i + 1]; k++) {
          const T* right = static_cast<const T*>(b) + static_cast<int64_t>(plain[k]) * depth;
          // Eight sums, so that the loop is not one chain of additions.
          Sum part[8] = {};
          int64_t c = 0;
          for (; c + 8 <= depth; c += 8)
            for (int j = 0; j < 8; j++) part[j] = static_cast<Sum>(part[j] + static_cast<Sum>(left[c + j]) * static_cast<Sum>(right[c + j]));
          for (; c < depth; c++) part[0] = static_cast<Sum>(part[0] + static_cast<Sum>(left[c]) * static_cast<Sum>(right[c]));
          for (int j = 4; j > 0; j /= 2)
            for (int m = 0; m < j; m++) part[m] = static_cast<Sum>(part[m] + part[m + j]);
          const Sum product = static_cast<Sum>(scale * part[0]);
          to[k] = static_cast<T>(keeps ? static_cast<Sum>(keep * static_cast<Sum>(to[k]) + product) : product);
        }
      }
    });
  });
}

}  // namespace cresset::kernels::CRESSET_ISA
