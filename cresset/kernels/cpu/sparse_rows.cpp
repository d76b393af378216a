#include "cresset/kernels/cpu/sparse_rows.h"

#include <algorithm>
#include <type_traits>

#include "cresset/kernels/common/strided.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class T> struct SumOf { using type = T; };
template <> struct SumOf<Half> { using type = float; };
template <> struct SumOf<BFloat16> { using type = float; };

// Columns [0, kWidth) of one row: sums in registers, values and positions read once for each group of columns.
template <class T, class I, int kWidth>
void row_group(typename SumOf<T>::type* sums, const T* values, const I* plain, int64_t n, const T* dense, int64_t stride) {
  using Sum = typename SumOf<T>::type;
  Sum local[kWidth] = {};
  for (int64_t k = 0; k < n; k++) {
    const Sum v = static_cast<Sum>(values[k]);
    const T* row = dense + static_cast<int64_t>(plain[k]) * stride;
    for (int c = 0; c < kWidth; c++) local[c] = static_cast<Sum>(local[c] + v * static_cast<Sum>(row[c]));
  }
  for (int c = 0; c < kWidth; c++) sums[c] = local[c];
}

template <class T, class Sum>
void store(T* out, const Sum* sums, int64_t n, Sum alpha, Sum beta, bool keeps) {
  if (!keeps) {
    for (int64_t c = 0; c < n; c++) out[c] = static_cast<T>(static_cast<Sum>(alpha * sums[c]));
    return;
  }
  for (int64_t c = 0; c < n; c++) out[c] = static_cast<T>(static_cast<Sum>(beta * static_cast<Sum>(out[c]) + alpha * sums[c]));
}

template <class T, class I>
void rows_of(T* out, const SparseRows& a, const T* dense, int64_t stride, int64_t columns, typename SumOf<T>::type beta, typename SumOf<T>::type alpha, bool keeps,
             int64_t begin, int64_t end) {
  using Sum = typename SumOf<T>::type;
  const I *pointers = static_cast<const I*>(a.pointers), *plain = static_cast<const I*>(a.plain);
  const T* values = static_cast<const T*>(a.values);
  constexpr int kWide = 64, kMiddle = 16, kNarrow = 4;
  for (int64_t i = begin; i < end; i++) {
    const int64_t from = pointers[i], n = static_cast<int64_t>(pointers[i + 1]) - from;
    T* to = out + i * columns;
    Sum sums[kWide];
    int64_t c = 0;
    for (; c + kWide <= columns; c += kWide) {
      row_group<T, I, kWide>(sums, values + from, plain + from, n, dense + c, stride);
      store(to + c, sums, kWide, alpha, beta, keeps);
    }
    for (; c + kMiddle <= columns; c += kMiddle) {
      row_group<T, I, kMiddle>(sums, values + from, plain + from, n, dense + c, stride);
      store(to + c, sums, kMiddle, alpha, beta, keeps);
    }
    for (; c + kNarrow <= columns; c += kNarrow) {
      row_group<T, I, kNarrow>(sums, values + from, plain + from, n, dense + c, stride);
      store(to + c, sums, kNarrow, alpha, beta, keeps);
    }
    for (; c < columns; c++) {
      row_group<T, I, 1>(sums, values + from, plain + from, n, dense + c, stride);
      store(to + c, sums, 1, alpha, beta, keeps);
    }
  }
}

template <class F>
void visit_number(ScalarType t, F&& f) {
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
    using Sum = typename SumOf<T>::type;
    visit_index(a.index_dtype, "sparse product", [&](auto izero) {
      rows_of<T, decltype(izero)>(static_cast<T*>(out), a, static_cast<const T*>(dense), dense_stride, columns, beta.as<Sum>(), alpha.as<Sum>(),
                                  beta.isComplex() || beta.as<double>() != 0, begin, end);
    });
  });
}

void sampled_rows(void* values, const SparseRows& pattern, const void* a, const void* b, int64_t depth, const Scalar& beta, const Scalar& alpha, int64_t begin,
                  int64_t end) {
  visit_number(pattern.dtype, [&](auto zero) {
    using T = decltype(zero);
    using Sum = typename SumOf<T>::type;
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
