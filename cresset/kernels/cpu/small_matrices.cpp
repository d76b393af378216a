#include "cresset/kernels/cpu/small_matrices.h"

#include <algorithm>
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

// The tridiagonal matrix similar to A by Householder's reflections; A is symmetric, by columns, and destroyed.
void tridiagonal(int n, double* a, double* diagonal, double* beside) {
  double w[kSmallEigenvalues];
  for (int j = 0; j + 2 < n; j++) {
    double* v = a + j * n + j + 1;
    const int length = n - j - 1;
    double rest = 0;
    for (int i = 1; i < length; i++) rest += v[i] * v[i];
    beside[j] = v[0];
    if (rest == 0) continue;
    const double beta = -std::copysign(std::sqrt(v[0] * v[0] + rest), v[0]), factor = 1 / (v[0] - beta), tau = (beta - v[0]) / beta;
    beside[j] = beta;
    for (int i = 1; i < length; i++) v[i] *= factor;
    v[0] = 1;
    double* const block = v + n;
    for (int i = 0; i < length; i++) w[i] = 0;
    for (int c = 0; c < length; c++) subtract(length, w, block + c * n, -tau * v[c]);
    double along = 0;
    for (int i = 0; i < length; i++) along += w[i] * v[i];
    subtract(length, w, v, 0.5 * tau * along);
    for (int c = 0; c < length; c++) {
      subtract(length, block + c * n, v, w[c]);
      subtract(length, block + c * n, w, v[c]);
    }
  }
  if (n > 1) beside[n - 2] = a[(n - 2) * n + n - 1];
  for (int i = 0; i < n; i++) diagonal[i] = a[i * n + i];
}

// QL steps with Wilkinson's shifts until nothing is left beside the diagonal.
bool diagonalise(int n, double* diagonal, double* beside) {
  beside[n - 1] = 0;
  for (int first = 0; first < n; first++) {
    for (int round = 0;; round++) {
      int last = first;
      while (last + 1 < n && std::fabs(beside[last]) > std::numeric_limits<double>::epsilon() * 0.5 * (std::fabs(diagonal[last]) + std::fabs(diagonal[last + 1]))) last++;
      if (last == first) break;
      if (round == 60) return false;
      const double half = (diagonal[first + 1] - diagonal[first]) / (2 * beside[first]);
      double g = diagonal[last] - diagonal[first] + beside[first] / (half + std::copysign(std::sqrt(half * half + 1), half));
      double s = 1, c = 1, p = 0;
      int i = last - 1;
      for (; i >= first; i--) {
        const double f = s * beside[i], b = c * beside[i], r = std::sqrt(f * f + g * g);
        beside[i + 1] = r;
        if (r == 0) break;
        s = f / r;
        c = g / r;
        g = diagonal[i + 1] - p;
        const double t = (diagonal[i] - g) * s + 2 * c * b;
        p = s * t;
        diagonal[i + 1] = g + p;
        g = c * t - b;
      }
      if (i >= first) {
        diagonal[i + 1] -= p;
      } else {
        diagonal[first] -= p;
        beside[first] = g;
      }
      beside[last] = 0;
    }
  }
  return true;
}

template <class T>
bool eigenvalues(bool upper, int n, const T* a, T* values) {
  double full[kSmallEigenvalues * kSmallEigenvalues], diagonal[kSmallEigenvalues], beside[kSmallEigenvalues], most = 0;
  for (int c = 0; c < n; c++)
    for (int r = c; r < n; r++) {
      full[c * n + r] = full[r * n + c] = static_cast<double>(upper ? a[r * n + c] : a[c * n + r]);
      most = std::max(most, std::fabs(full[c * n + r]));
    }
  // Squares of what is scaled neither overflow nor vanish.
  const int exponent = most > 0 ? std::clamp(std::ilogb(most), -1000, 1000) : 0;
  const double down = std::ldexp(1.0, -exponent), up = std::ldexp(1.0, exponent);
  for (int i = 0; i < n * n; i++) full[i] *= down;
  tridiagonal(n, full, diagonal, beside);
  if (n > 0 && !diagonalise(n, diagonal, beside)) return false;
  for (int i = 0; i < n; i++) {
    const T value = static_cast<T>(diagonal[i] * up);
    int at = i;
    for (; at > 0 && values[at - 1] > value; at--) values[at] = values[at - 1];
    values[at] = value;
  }
  return true;
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

bool small_eigenvalues(ScalarType dtype, bool upper, int n, const void* a, void* values) {
  return dtype == ScalarType::Float ? eigenvalues(upper, n, static_cast<const float*>(a), static_cast<float*>(values))
                                    : eigenvalues(upper, n, static_cast<const double*>(a), static_cast<double*>(values));
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
