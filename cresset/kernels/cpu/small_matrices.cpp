#include "cresset/kernels/cpu/small_matrices.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "cresset/base/complex.h"
#include "cresset/base/macros.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class T>
struct Parts {
  using Real = T;
  static T real(T x) { return x; }
  static T conj(T x) { return x; }
  static T square(T x) { return x * x; }
  static T size(T x) { return std::fabs(x); }
};
template <class R>
struct Parts<complex<R>> {
  using Real = R;
  static R real(const complex<R>& x) { return x.real(); }
  static complex<R> conj(const complex<R>& x) { return {x.real(), -x.imag()}; }
  static R square(const complex<R>& x) { return x.real() * x.real() + x.imag() * x.imag(); }
  // What LAPACK compares for a pivot.
  static R size(const complex<R>& x) { return std::fabs(x.real()) + std::fabs(x.imag()); }
};

// y -= x * factor, over n elements side by side.
template <class T>
void subtract(int n, T* y, const T* x, T factor) {
#pragma GCC ivdep
  for (int i = 0; i < n; i++) y[i] -= x[i] * factor;
}

template <class T>
CRESSET_ALWAYS_INLINE int lu(int m, int n, T* a, int32_t* pivots) {
  using P = Parts<T>;
  constexpr auto least = std::numeric_limits<typename P::Real>::min();
  int info = 0;
  const int k = m < n ? m : n;
  for (int j = 0; j < k; j++) {
    T* column = a + static_cast<int64_t>(j) * m;
    int at = j;
    auto most = P::size(column[j]);
    for (int i = j + 1; i < m; i++) {
      const auto size = P::size(column[i]);
      if (size > most) { most = size; at = i; }
    }
    pivots[j] = at + 1;
    if (column[at] == T(0)) {
      if (info == 0) info = j + 1;
    } else {
      if (at != j)
        for (int c = 0; c < n; c++) std::swap(a[static_cast<int64_t>(c) * m + j], a[static_cast<int64_t>(c) * m + at]);
      const T pivot = column[j];
      if (P::size(pivot) >= least) {
        const T factor = T(1) / pivot;
        for (int i = j + 1; i < m; i++) column[i] = column[i] * factor;
      } else {
        for (int i = j + 1; i < m; i++) column[i] = column[i] / pivot;
      }
    }
    for (int c = j + 1; c < n; c++) {
      T* other = a + static_cast<int64_t>(c) * m;
      subtract(m - j - 1, other + j + 1, column + j + 1, other[j]);
    }
  }
  return info;
}

template <class T>
CRESSET_ALWAYS_INLINE int cholesky(bool upper, int n, T* a) {
  using P = Parts<T>;
  using R = typename P::Real;
  const int64_t ld = n;
  for (int j = 0; j < n; j++) {
    T* column = a + j * ld;
    if (upper) {
      R rest = P::real(column[j]);
      for (int k = 0; k < j; k++) rest -= P::square(column[k]);
      if (!(rest > 0)) return j + 1;
      const R root = std::sqrt(rest);
      column[j] = T(root);
      for (int i = j + 1; i < n; i++) {
        T* other = a + i * ld;
        T sum = other[j];
        for (int k = 0; k < j; k++) sum = sum - P::conj(column[k]) * other[k];
        other[j] = sum * T(1 / root);
      }
      continue;
    }
    for (int k = 0; k < j; k++) subtract(n - j, column + j, a + k * ld + j, P::conj(a[k * ld + j]));
    const R rest = P::real(column[j]);
    if (!(rest > 0)) return j + 1;
    const R root = std::sqrt(rest);
    column[j] = T(root);
    for (int i = j + 1; i < n; i++) column[i] = column[i] * T(1 / root);
  }
  return 0;
}

template <class T>
CRESSET_ALWAYS_INLINE void triangular(bool upper, bool unit, int n, int columns, const T* a, int64_t a_row, int64_t a_column, T* b, int64_t b_row, int64_t b_column) {
  for (int step = 0; step < n; step++) {
    const int k = upper ? n - 1 - step : step;
    const int first = upper ? 0 : k + 1, last = upper ? k : n;
    const T* column = a + k * a_column;
    T* row = b + k * b_row;
    if (!unit) {
      const T factor = T(1) / column[k * a_row];
      for (int c = 0; c < columns; c++) row[c * b_column] = row[c * b_column] * factor;
    }
    for (int c = 0; c < columns; c++) {
      T* x = b + c * b_column;
      const T known = x[k * b_row];
      if (a_row == 1 && b_row == 1) {
        subtract(last - first, x + first, column + first, known);
      } else {
        for (int i = first; i < last; i++) x[i * b_row] = x[i * b_row] - column[i * a_row] * known;
      }
    }
  }
}

// Right sides lie row by row meanwhile, so that a row of the triangles acts on all of them at once.
template <class T>
CRESSET_ALWAYS_INLINE void solve_by_lu(int n, int columns, const T* lu, const int32_t* pivots, const T* b, const int64_t* strides, T* x) {
  T rows[kSmallSystem];
  int from[kSmallSystem];
  for (int r = 0; r < n; r++) from[r] = r;
  for (int r = 0; r < n; r++) std::swap(from[r], from[pivots[r] - 1]);
  for (int r = 0; r < n; r++)
    for (int c = 0; c < columns; c++) rows[r * columns + c] = b ? b[from[r] * strides[0] + c * strides[1]] : T(from[r] == c);
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++) subtract(columns, rows + i * columns, rows + k * columns, lu[k * n + i]);
  for (int k = n - 1; k >= 0; k--) {
    const T factor = T(1) / lu[k * n + k];
    for (int c = 0; c < columns; c++) rows[k * columns + c] = rows[k * columns + c] * factor;
    for (int i = 0; i < k; i++) subtract(columns, rows + i * columns, rows + k * columns, lu[k * n + i]);
  }
  for (int c = 0; c < columns; c++)
    for (int r = 0; r < n; r++) x[c * n + r] = rows[r * columns + c];
}

// other -= tau v v^T other, for columns of v's length whose first element stands for 1.
template <class T>
void reflect(int length, const T* v, T tau, T* other) {
  T sum = other[0];
  for (int i = 1; i < length; i++) sum += v[i] * other[i];
  other[0] -= tau * sum;
  subtract(length - 1, other + 1, v + 1, tau * sum);
}

template <class T>
bool householder(int m, int n, T* a, T* tau) {
  T most = 0;
  for (int i = 0; i < m * n; i++) {
    if (!(std::fabs(a[i]) < T(1e37))) return false;
    most = std::fabs(a[i]) > most ? std::fabs(a[i]) : most;
  }
  if (most < T(1e-30) && most > 0) return false;
  for (int j = 0; j < (m < n ? m : n); j++) {
    T* column = a + j * m + j;
    const int length = m - j;
    double rest = 0;
    for (int i = 1; i < length; i++) rest += static_cast<double>(column[i]) * static_cast<double>(column[i]);
    tau[j] = 0;
    if (rest == 0) continue;
    const double first = static_cast<double>(column[0]), beta = -std::copysign(std::sqrt(first * first + rest), first);
    tau[j] = static_cast<T>((beta - first) / beta);
    const T factor = static_cast<T>(1 / (first - beta));
    for (int i = 1; i < length; i++) column[i] *= factor;
    column[0] = static_cast<T>(beta);
    for (int c = 1; c < n - j; c++) reflect(length, column, tau[j], column + c * m);
  }
  return true;
}

template <class T>
void product_of_reflections(int m, int columns, int k, T* a, const T* tau) {
  for (int j = k; j < columns; j++)
    for (int i = 0; i < m; i++) a[j * m + i] = T(i == j);
  for (int j = k - 1; j >= 0; j--) {
    T* column = a + j * m + j;
    for (int c = 1; c < columns - j; c++) reflect(m - j, column, tau[j], column + c * m);
    for (int i = 1; i < m - j; i++) column[i] *= -tau[j];
    column[0] = 1 - tau[j];
    for (int i = 1; i <= j; i++) column[-i] = 0;
  }
}

// f(n), where the compiler knows the smallest n and unrolls their loops. Complex numbers gain too little for their code.
template <class T, class F>
CRESSET_ALWAYS_INLINE void by_order(int n, F&& f) {
  if constexpr (is_complex<T>::value) return f(n);
  else switch (n) {
    case 2: return f(std::integral_constant<int, 2>());
    case 3: return f(std::integral_constant<int, 3>());
    case 4: return f(std::integral_constant<int, 4>());
    default: return f(n);
  }
}

template <class F>
void by_dtype(ScalarType dtype, F&& f) {
  switch (dtype) {
    case ScalarType::Float: return f(float());
    case ScalarType::Double: return f(double());
    case ScalarType::ComplexFloat: return f(complex<float>());
    default: return f(complex<double>());
  }
}

}  // namespace

void small_lu(ScalarType dtype, int64_t count, int m, int n, void* a, int32_t* pivots, int32_t* info) {
  by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const int64_t k = m < n ? m : n, size = static_cast<int64_t>(m) * n;
    by_order<T>(m == n ? n : 0, [&](auto order) {
      const int rows = order ? order : m, columns = order ? order : n;
      for (int64_t i = 0; i < count; i++) info[i] = lu(rows, columns, static_cast<T*>(a) + i * size, pivots + i * k);
    });
  });
}

void small_lu_solve(ScalarType dtype, int64_t count, int n, int columns, const void* lu, const int32_t* pivots, const void* b, const int64_t* b_strides, void* x) {
  by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    by_order<T>(n == columns ? n : 0, [&](auto order) {
      const int rows = order ? order : n, sides = order ? order : columns;
      for (int64_t i = 0; i < count; i++)
        solve_by_lu(rows, sides, static_cast<const T*>(lu) + i * rows * rows, pivots + i * rows, b ? static_cast<const T*>(b) + i * b_strides[2] : nullptr, b_strides,
                    static_cast<T*>(x) + i * rows * sides);
    });
  });
}

bool small_qr(ScalarType dtype, int m, int n, void* a, void* tau) {
  return dtype == ScalarType::Float ? householder(m, n, static_cast<float*>(a), static_cast<float*>(tau)) : householder(m, n, static_cast<double*>(a), static_cast<double*>(tau));
}

void small_q(ScalarType dtype, int m, int columns, int k, void* a, const void* tau) {
  if (dtype == ScalarType::Float) product_of_reflections(m, columns, k, static_cast<float*>(a), static_cast<const float*>(tau));
  else product_of_reflections(m, columns, k, static_cast<double*>(a), static_cast<const double*>(tau));
}

void small_cholesky(ScalarType dtype, bool upper, int64_t count, int n, void* a, int32_t* info) {
  by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    by_order<T>(n, [&](auto order) {
      for (int64_t i = 0; i < count; i++) info[i] = cholesky(upper, order, static_cast<T*>(a) + i * n * n);
    });
  });
}

void small_triangular(ScalarType dtype, bool upper, bool unit, int n, int columns, const void* a, int64_t a_row, int64_t a_column, void* b, int64_t b_row,
                      int64_t b_column) {
  by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    by_order<T>(n, [&](auto order) {
      if (a_row == 1 && b_row == 1) triangular(upper, unit, order, columns, static_cast<const T*>(a), 1, a_column, static_cast<T*>(b), 1, b_column);
      else triangular(upper, unit, order, columns, static_cast<const T*>(a), a_row, a_column, static_cast<T*>(b), b_row, b_column);
    });
  });
}

}  // namespace cresset::kernels::CRESSET_ISA
