#include "cresset/kernels/linalg/cpu/small_matrices.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "cresset/base/macros.h"
#include "cresset/base/numbers/complex.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class T> struct Parts {
  using Real = T;
  static T real(T x) { return x; }
  static T conj(T x) { return x; }
  static T square(T x) { return x * x; }
  static T size(T x) { return std::fabs(x); }
};
template <class R> struct Parts<complex<R>> {
  using Real = R;
  static R real(const complex<R>& x) { return x.real(); }
  static complex<R> conj(const complex<R>& x) { return {x.real(), -x.imag()}; }
  static R square(const complex<R>& x) { return x.real() * x.real() + x.imag() * x.imag(); }
  // Magnitude that LAPACK compares for a pivot.
  static R size(const complex<R>& x) { return std::fabs(x.real()) + std::fabs(x.imag()); }
};

// y -= x * factor, over n elements side by side.
template <class T> void subtract(int n, T* y, const T* x, T factor) {
#pragma GCC ivdep
  for (int i = 0; i < n; i++) y[i] -= x[i] * factor;
}

template <class T> CRESSET_ALWAYS_INLINE int lu(int m, int n, T* a, int32_t* pivots) {
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
      if (size > most) {
        most = size;
        at = i;
      }
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

template <class T> CRESSET_ALWAYS_INLINE int cholesky(bool upper, int n, T* a) {
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

template <class T> CRESSET_ALWAYS_INLINE void triangular(bool upper, bool unit, int n, int columns, const T* a, int64_t a_row, int64_t a_column, T* b,
                                                         int64_t b_row, int64_t b_column) {
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
template <class T> CRESSET_ALWAYS_INLINE void solve_by_lu(int n, int columns, const T* lu, const int32_t* pivots, const T* b, const int64_t* strides, T* x) {
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

template <class T> T add_products(int first, int last, const T* v, const T* other, T sum) {
  for (int i = first; i < last; i++) sum += v[i] * other[i];
  return sum;
}

// other -= tau v sum, for columns of v's length whose first element stands for 1; `sum` is v^T other.
template <class T> void reflect(int length, const T* v, T tau, T* other, T sum) {
  other[0] -= tau * sum;
  subtract(length - 1, other + 1, v + 1, tau * sum);
}

// One column's reflection, column[0] left as it is, with the roundings of PyTorch's LAPACK in single precision: norms by running
// scales, and a division by the pivot.
struct Reflection {
  float beta, tau;
};
float norm_below(int length, const float* column) {
  float scale = 0, squares = 1;
  for (int i = 1; i < length; i++) {
    const float size = std::fabs(column[i]);
    if (size == 0) continue;
    const bool larger = scale < size;
    const float ratio = larger ? scale / size : size / scale;
    squares = larger ? 1 + squares * ratio * ratio : squares + ratio * ratio;
    if (larger) scale = size;
  }
  return scale * std::sqrt(squares);
}
float reflected(float first, float rest) {
  const float larger = std::max(std::fabs(first), rest), ratio = std::min(std::fabs(first), rest) / larger;
  return -std::copysign(larger * std::sqrt(1 + ratio * ratio), first);
}
Reflection reflection_of(int length, float* column) {
  // Below it a norm has too few bits for a reflection.
  constexpr float kSmallest = 0x1p-102f;
  const float rest = norm_below(length, column);
  if (rest == 0) return {column[0], 0};
  float first = column[0], beta = reflected(first, rest);
  int raised = 0;
  while (std::fabs(beta) < kSmallest) {
    for (int i = 1; i < length; i++) column[i] /= kSmallest;
    first /= kSmallest;
    raised++;
    beta = reflected(first, norm_below(length, column));
  }
  const float pivot = first - beta, tau = (beta - first) / beta;
  for (int i = 1; i < length; i++) column[i] /= pivot;
  for (; raised > 0; raised--) beta *= kSmallest;
  return {beta, tau};
}

template <class T> bool householder(int m, int n, T* a, T* tau) {
  T most = 0;
  for (int i = 0; i < m * n; i++) {
    if (!(std::fabs(a[i]) < T(1e37))) return false;
    most = std::fabs(a[i]) > most ? std::fabs(a[i]) : most;
  }
  if (most < T(1e-30) && most > 0) return false;
  for (int j = 0; j < (m < n ? m : n); j++) {
    T* column = a + j * m + j;
    const int length = m - j;
    if constexpr (std::is_same_v<T, float>) {
      const Reflection r = reflection_of(length, column);
      column[0] = r.beta;
      tau[j] = r.tau;
      for (int c = 1; c < n - j && r.tau != 0; c++)
        reflect(length, column, r.tau, column + c * m, add_products(1, length, column, column + c * m, column[c * m]));
      continue;
    }
    double rest = 0;
    for (int i = 1; i < length; i++) rest += static_cast<double>(column[i]) * static_cast<double>(column[i]);
    tau[j] = 0;
    if (rest == 0) continue;
    const double first = static_cast<double>(column[0]), beta = -std::copysign(std::sqrt(first * first + rest), first);
    tau[j] = static_cast<T>((beta - first) / beta);
    const T factor = static_cast<T>(1 / (first - beta));
    for (int i = 1; i < length; i++) column[i] *= factor;
    column[0] = static_cast<T>(beta);
    for (int c = 1; c < n - j; c++) reflect(length, column, tau[j], column + c * m, add_products(1, length, column, column + c * m, column[c * m]));
  }
  return true;
}

// v^T other from the second row on, summed in the order of PyTorch's LAPACK in single precision, which takes four columns at once and then the
// others one by one: from the first address that is a multiple of 16 on in four lanes, by `width` rows at a time, the second four of eight in
// lanes of their own except in the second of the columns left over; rows that fill no such step, and short columns, one by one.
float sum_by_lanes(int length, const float* v, const float* other, int width, bool apart) {
  const int begin = 1 + static_cast<int>(-(reinterpret_cast<uintptr_t>(v + 1) / sizeof(float)) % 4);
  if (length - begin < width) return add_products(1, length, v, other, 0.0f);
  float lanes[2][4] = {{add_products(1, begin, v, other, 0.0f)}};
  int i = begin;
  for (; i + width <= length; i += width)
    for (int k = 0; k < width; k++) lanes[apart && k >= 4][k % 4] += v[i + k] * other[i + k];
  float whole[4];
  for (int k = 0; k < 4; k++) whole[k] = lanes[0][k] + lanes[1][k];
  return add_products(i, length, v, other, (whole[0] + whole[2]) + (whole[1] + whole[3]));
}

// Of the column that is number `index`, from 0, of `count` that a reflection changes.
template <class T> T sum_along(int length, const T* v, const T* other, int index, int count) {
  if constexpr (std::is_same_v<T, float>) {
    const int left_over = index - count / 4 * 4;
    return other[0] + sum_by_lanes(length, v, other, left_over < 0 ? 4 : 8, left_over != 1);
  }
  return add_products(1, length, v, other, other[0]);
}

template <class T> void product_of_reflections(int m, int columns, int k, T* a, const T* tau) {
  for (int j = k; j < columns; j++)
    for (int i = 0; i < m; i++) a[j * m + i] = T(i == j);
  for (int j = k - 1; j >= 0; j--) {
    T* column = a + j * m + j;
    for (int c = 1; c < columns - j; c++) reflect(m - j, column, tau[j], column + c * m, sum_along(m - j, column, column + c * m, c - 1, columns - j - 1));
    for (int i = 1; i < m - j; i++) column[i] *= -tau[j];
    column[0] = 1 - tau[j];
    for (int i = 1; i <= j; i++) column[-i] = 0;
  }
}

// Symmetric matrices of at most kSmallEigen rows: columns of `ld` numbers, what is beyond n is 0, so that every loop takes whole vectors.
struct Symmetric {
  static constexpr int kWidth = 8, kMost = (kSmallEigen + kWidth - 1) / kWidth * kWidth;
  explicit Symmetric(int order) : n(order), ld((order + kWidth - 1) / kWidth * kWidth) {}
  double* column(int c) { return a + c * ld; }
  int n, ld;
  alignas(64) double a[kMost * kMost];
  double diagonal[kMost], beside[kMost];
};

CRESSET_ALWAYS_INLINE void add_column(int ld, double* y, const double* x, double factor) {
#pragma GCC ivdep
  for (int i = 0; i < ld; i++) y[i] += x[i] * factor;
}

// The similar tridiagonal matrix by Householder's reflections, which destroys the matrix; `q` has their product where it is not null.
void tridiagonal(Symmetric& s, double* q) {
  const int n = s.n, ld = s.ld;
  alignas(64) double v[Symmetric::kMost], w[Symmetric::kMost];
  for (int i = 0; q && i < n * ld; i++) q[i] = i % ld == i / ld;
  for (int j = 0; j + 2 < n; j++) {
    const double* column = s.column(j);
    double rest = 0;
    for (int i = 0; i < ld; i++) v[i] = i > j ? column[i] : 0;
    for (int i = j + 2; i < n; i++) rest += v[i] * v[i];
    const double first = v[j + 1];
    s.beside[j] = first;
    if (rest == 0) continue;
    const double beta = -std::copysign(std::sqrt(first * first + rest), first), factor = 1 / (first - beta), tau = (beta - first) / beta;
    s.beside[j] = beta;
    for (int i = 0; i < ld; i++) v[i] *= factor;
    v[j + 1] = 1;
    for (int i = 0; i < ld; i++) w[i] = 0;
    for (int c = j + 1; c < n; c++) add_column(ld, w, s.column(c), tau * v[c]);
    double along = 0;
    for (int i = j + 1; i < n; i++) along += w[i] * v[i];
    add_column(ld, w, v, -0.5 * tau * along);
    for (int c = j + 1; c < n; c++) {
      const double by_v = w[c], by_w = v[c];
      double* other = s.column(c);
#pragma GCC ivdep
      for (int i = 0; i < ld; i++) other[i] -= v[i] * by_v + w[i] * by_w;
    }
    if (!q) continue;
    for (int i = 0; i < ld; i++) w[i] = 0;
    for (int c = j + 1; c < n; c++) add_column(ld, w, q + c * ld, v[c]);
    for (int c = j + 1; c < n; c++) add_column(ld, q + c * ld, w, -tau * v[c]);
  }
  if (n > 1) s.beside[n - 2] = s.column(n - 2)[n - 1];
  for (int i = 0; i < n; i++) s.diagonal[i] = s.column(i)[i];
}

// Wilkinson's shift for the block that begins at `i`.
double shift(const Symmetric& s, int i, double beside) {
  const double half = (s.diagonal[i + 1] - s.diagonal[i]) / (2 * beside);
  return s.diagonal[i] - beside / (half + std::copysign(std::sqrt(half * half + 1), half));
}

constexpr int kRounds = 60;
constexpr double kNothing = 0x1p-60;  // beside a matrix scaled to 1, of which a deficient one leaves blocks of roundings

// QL steps until what is beside the diagonal is below `epsilon` times its neighbours on it; `q` takes the rotations.
bool diagonalise(Symmetric& s, double* q, double epsilon) {
  const int n = s.n, ld = s.ld;
  double *diagonal = s.diagonal, *beside = s.beside;
  for (int first = 0; first < n; first++) {
    for (int round = 0;; round++) {
      int last = first;
      while (last + 1 < n && std::fabs(beside[last]) > epsilon * (std::fabs(diagonal[last]) + std::fabs(diagonal[last + 1])) + kNothing) last++;
      if (last == first) break;
      if (round == kRounds) return false;
      double g = diagonal[last] - shift(s, first, beside[first]);
      double sine = 1, cosine = 1, p = 0;
      int i = last - 1;
      for (; i >= first; i--) {
        const double f = sine * beside[i], b = cosine * beside[i], r = std::sqrt(f * f + g * g);
        beside[i + 1] = r;
        if (r == 0) break;
        sine = f / r;
        cosine = g / r;
        g = diagonal[i + 1] - p;
        const double t = (diagonal[i] - g) * sine + 2 * cosine * b;
        p = sine * t;
        diagonal[i + 1] = g + p;
        g = cosine * t - b;
        double *x = q + i * ld, *y = x + ld;
#pragma GCC ivdep
        for (int k = 0; k < ld; k++) {
          const double left = x[k], right = y[k];
          y[k] = sine * left + cosine * right;
          x[k] = cosine * left - sine * right;
        }
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

// The same without vectors and without roots, on squares of what is beside the diagonal (the variant of Pal, Walker and Kahan; B. Parlett,
// "The Symmetric Eigenvalue Problem", 8.15).
bool values_alone(Symmetric& s, double epsilon) {
  const int n = s.n;
  double *diagonal = s.diagonal, *squares = s.beside;
  for (int i = 0; i + 1 < n; i++) squares[i] *= squares[i];
  for (int first = 0; first < n; first++) {
    for (int round = 0;; round++) {
      int last = first;
      while (last + 1 < n && squares[last] > epsilon * epsilon * std::fabs(diagonal[last] * diagonal[last + 1]) + kNothing * kNothing) last++;
      if (last == first) break;
      if (round == kRounds) return false;
      const double sigma = shift(s, first, std::sqrt(squares[first]));
      double cosine = 1, sine = 0, gamma = diagonal[last] - sigma, p = gamma * gamma;
      for (int i = last - 1; i >= first; i--) {
        const double square = squares[i], r = p + square, before = cosine, above = gamma, upwards = r / p;
        if (i + 1 < last) squares[i + 1] = sine * r;
        cosine = p / r;
        sine = square / r;
        gamma = cosine * (diagonal[i] - sigma) - sine * above;
        diagonal[i + 1] = above + (diagonal[i] - gamma);
        p = cosine != 0 ? gamma * gamma * upwards : before * square;
      }
      squares[first] = sine * p;
      diagonal[first] = sigma + gamma;
      squares[last] = 0;
    }
  }
  return true;
}

// Scales so that squares neither overflow nor vanish; the factor that undoes it.
double scale(Symmetric& s) {
  double most = 0;
  for (int i = 0; i < s.n * s.ld; i++) most = std::max(most, std::fabs(s.a[i]));
  const int exponent = most > 0 ? std::clamp(std::ilogb(most), -1000, 1000) : 0;
  const double down = std::ldexp(1.0, -exponent);
  for (int i = 0; i < s.n * s.ld; i++) s.a[i] *= down;
  return std::ldexp(1.0, exponent);
}

// Single precision needs no more than this of what is computed in double.
template <class T> constexpr double kNegligible = std::is_same_v<T, float> ? 0x1p-32 : 0x1p-53;

// A tridiagonal matrix, and columns of `rows` numbers that take its rotations.
template <class T> struct Steps {
  int n;
  T *diagonal, *beside, *columns;
  int64_t rows;
  // Columns x and y become cosine x - sine y and sine x + cosine y.
  void turn(int x, int y, T cosine, T sine) const {
    T *first = columns + x * rows, *second = columns + y * rows;
#pragma GCC ivdep
    for (int64_t i = 0; i < rows; i++) {
      const T left = first[i], right = second[i];
      first[i] = cosine * left - sine * right;
      second[i] = sine * left + cosine * right;
    }
  }
};

template <class T> struct Rotation { T cosine, sine, length; };

// Makes (f, g) (length, 0), where the length has the sign of f if f is the larger one, else none. LAPACK gives it the sign of f in all cases since 3.10;
// PyTorch's LAPACK, MKL, has kept the older rule, on which the signs of all eigenvectors depend.
template <class T> Rotation<T> rotation(T f, T g) {
  if (g == 0) return {1, 0, f};
  if (f == 0) return {0, 1, g};
  const T most = std::max(std::fabs(f), std::fabs(g));
  const int exponent = most < std::sqrt(std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon()) ? std::ilogb(most) : 0;
  if (exponent != 0) {
    f = std::ldexp(f, -exponent);
    g = std::ldexp(g, -exponent);
  }
  const T length = std::copysign(std::sqrt(f * f + g * g), std::fabs(f) > std::fabs(g) ? f : T(1));
  return {f / length, g / length, std::ldexp(length, exponent)};
}

// The eigenvalues of (a b; b c), the one of larger magnitude first, and its vector (cosine, sine): LAPACK's laev2.
template <class T> struct Pair {
  Pair(T a, T b, T c) {
    const T sum = a + c, difference = a - c, size = std::fabs(difference), twice = b + b, beside = std::fabs(twice);
    const T larger = std::fabs(a) > std::fabs(c) ? a : c, smaller = std::fabs(a) > std::fabs(c) ? c : a;
    const auto root = [](T large, T small) { return large * std::sqrt(1 + (small / large) * (small / large)); };
    const T distance = size > beside ? root(size, beside) : size < beside ? root(beside, size) : beside * std::sqrt(T(2));
    first = T(0.5) * (sum < 0 ? sum - distance : sum + distance);
    second = sum == 0 ? T(-0.5) * distance : larger / first * smaller - b / first * b;
    const T along = difference >= 0 ? difference + distance : difference - distance;
    if (std::fabs(along) > beside) {
      const T cotangent = -twice / along;
      sine = 1 / std::sqrt(1 + cotangent * cotangent);
      cosine = cotangent * sine;
    } else if (beside == 0) {
      cosine = 1;
      sine = 0;
    } else {
      const T tangent = -along / twice;
      cosine = 1 / std::sqrt(1 + tangent * tangent);
      sine = tangent * cosine;
    }
    if ((sum < 0) == (difference < 0)) sine = std::exchange(cosine, -sine);
  }
  T first, second, cosine, sine;
};

// Implicit steps from `last` to `first`, both included, upwards or downwards.
template <class T> bool step_through(const Steps<T>& s, int first, int last, int& left_over) {
  constexpr T unit = std::numeric_limits<T>::epsilon() / 2, least = std::numeric_limits<T>::min();
  T* d = s.diagonal;
  const int way = first < last ? 1 : -1;
  const auto beside = [&](int i) -> T& { return s.beside[way > 0 ? i : i - 1]; };  // between i and i + way
  const auto is_before = [way](int i, int other) { return way > 0 ? i <= other : i >= other; };
  for (int l = first; is_before(l, last);) {
    int m = l;
    while (m != last && beside(m) * beside(m) > unit * unit * std::fabs(d[m]) * std::fabs(d[m + way]) + least) m += way;
    if (m != last) beside(m) = 0;
    if (m == l) {
      l += way;
      continue;
    }
    if (m == l + way) {
      const int low = std::min(l, m);
      const Pair<T> pair(d[low], beside(l), d[low + 1]);
      s.turn(low + 1, low, pair.cosine, pair.sine);
      d[low] = pair.first;
      d[low + 1] = pair.second;
      beside(l) = 0;
      l += 2 * way;
      continue;
    }
    if (left_over-- == 0) return false;
    T p = d[l], g = (d[l + way] - p) / (2 * beside(l));
    const T large = std::max(std::fabs(g), T(1)), small = std::min(std::fabs(g), T(1)) / large;
    g = d[m] - p + beside(l) / (g + std::copysign(large * std::sqrt(1 + small * small), g));
    T sine = 1, cosine = 1;
    p = 0;
    for (int i = m - way;; i -= way) {
      const T f = sine * beside(i), b = cosine * beside(i);
      const Rotation<T> r = rotation(g, f);
      cosine = r.cosine;
      sine = r.sine;
      if (i != m - way) beside(i + way) = r.length;
      g = d[i + way] - p;
      const T t = (d[i] - g) * sine + 2 * cosine * b;
      p = sine * t;
      d[i + way] = g + p;
      g = cosine * t - b;
      s.turn(i, i + way, cosine, sine);
      if (i == l) break;
    }
    d[l] -= p;
    beside(l) = g;
  }
  return true;
}

template <class T> void sort_ascending(const Steps<T>& s) {
  for (int i = 0; i + 1 < s.n; i++) {
    const int least = static_cast<int>(std::min_element(s.diagonal + i, s.diagonal + s.n) - s.diagonal);
    if (least == i) continue;
    std::swap(s.diagonal[i], s.diagonal[least]);
    std::swap_ranges(s.columns + i * s.rows, s.columns + (i + 1) * s.rows, s.columns + least * s.rows);
  }
}

// LAPACK's steqr with its rotations in the order and rounding of PyTorch's: the same bits for the same tridiagonal matrix.
template <class T> bool step_by_step(const Steps<T>& s) {
  constexpr T unit = std::numeric_limits<T>::epsilon() / 2;
  T *d = s.diagonal, *e = s.beside;
  int left_over = 30 * s.n;
  for (int first = 0; first < s.n;) {
    int last = first;
    while (last + 1 < s.n && std::fabs(e[last]) > std::sqrt(std::fabs(d[last])) * std::sqrt(std::fabs(d[last + 1])) * unit) last++;
    if (last + 1 < s.n) e[last] = 0;
    const bool upwards = std::fabs(d[last]) >= std::fabs(d[first]);
    if (last > first && !step_through(s, upwards ? first : last, upwards ? last : first, left_over)) return false;
    first = last + 1;
  }
  sort_ascending(s);
  return true;
}

// The signs of the eigenvectors in LAPACK where it divides the matrix in the middle, which adds a multiple of u u^T, u = (0 .. 1 ±1 .. 0), to two
// blocks: the vectors are those of (blocks - eigenvalue)^-1 u, so that their products with u are negative. `products` is u times the reflections.
void turn_against(const Symmetric& s, double* q, const double* products) {
  for (int c = 0; c < s.n; c++) {
    double* column = q + c * s.ld;
    double along = 0;
    for (int i = 0; i < s.n; i++) along += column[i] * products[i];
    if (along > 0)
      for (int i = 0; i < s.n; i++) column[i] = -column[i];
  }
}

template <class T> bool eigenvectors(Symmetric& s, bool upper, double* q, double up, T* values, T* vectors) {
  const int n = s.n, ld = s.ld;
  // The upper triangle was read from its end.
  const auto place = [&](int i) { return upper ? n - 1 - i : i; };
  if (n <= kUndivided) {
    T diagonal[kUndivided], beside[kUndivided];
    alignas(64) T z[kUndivided * Symmetric::kMost];
    for (int c = 0; c < n; c++) {
      diagonal[c] = static_cast<T>(s.diagonal[place(c)]);
      if (c + 1 < n) beside[c] = static_cast<T>(s.beside[upper ? n - 2 - c : c]);
      for (int r = 0; r < ld; r++) z[c * ld + r] = r < n ? static_cast<T>(q[place(c) * ld + place(r)]) : T(0);
    }
    if (!step_by_step(Steps<T>{n, diagonal, beside, z, ld})) return false;
    for (int c = 0; c < n; c++) {
      values[c] = static_cast<T>(static_cast<double>(diagonal[c]) * up);
      std::copy_n(z + c * ld, n, vectors + c * n);
    }
    return true;
  }
  const int middle = upper ? n - n / 2 : n / 2, other = upper ? middle - 1 : middle, one = upper ? middle : middle - 1;
  double products[Symmetric::kMost];
  const double sign = std::copysign(1.0, s.beside[middle - 1]);
  for (int i = 0; i < n; i++) products[i] = q[one * ld + i] + sign * q[other * ld + i];
  if (!diagonalise(s, q, kNegligible<T>)) return false;
  turn_against(s, q, products);
  sort_ascending(Steps<double>{n, s.diagonal, nullptr, q, ld});
  for (int c = 0; c < n; c++) {
    values[c] = static_cast<T>(s.diagonal[c] * up);
    for (int r = 0; r < n; r++) vectors[c * n + r] = static_cast<T>(q[c * ld + place(r)]);
  }
  return true;
}

template <class T> bool eigen(bool upper, int n, const T* a, T* values, T* vectors) {
  Symmetric s(n);
  for (int i = 0; i < n * s.ld; i++) s.a[i] = 0;
  // LAPACK reduces the upper triangle from its end, which is the lower one of the matrix read backwards.
  for (int c = 0; c < n; c++)
    for (int r = c; r < n; r++) s.column(c)[r] = s.column(r)[c] = static_cast<double>(upper ? a[(n - 1 - c) * n + n - 1 - r] : a[c * n + r]);
  const double up = scale(s);
  alignas(64) double q[Symmetric::kMost * Symmetric::kMost];
  tridiagonal(s, vectors ? q : nullptr);
  if (vectors) return eigenvectors(s, upper, q, up, values, vectors);
  if (!values_alone(s, kNegligible<T>)) return false;
  std::sort(s.diagonal, s.diagonal + n);
  for (int i = 0; i < n; i++) values[i] = static_cast<T>(s.diagonal[i] * up);
  return true;
}

template <class T> bool tridiagonal_eigen(int n, int64_t rows, T* d, T* e, T* z) {
  T most = 0;
  for (int i = 0; i < n; i++) most = std::max({most, std::fabs(d[i]), i + 1 < n ? std::fabs(e[i]) : T(0)});
  const int exponent = most > 0 ? std::ilogb(most) : 0;
  for (int i = 0; i < n; i++) {
    d[i] = std::ldexp(d[i], -exponent);
    if (i + 1 < n) e[i] = std::ldexp(e[i], -exponent);
  }
  if (!step_by_step(Steps<T>{n, d, e, z, rows})) return false;
  for (int i = 0; i < n; i++) d[i] = std::ldexp(d[i], exponent);
  return true;
}

// The roots of the eigenvalues of A A^T or A^T A, whose rounding in double is below that of single precision even in the least root.
bool singular_values(int m, int n, const float* a, float* values) {
  const int least = std::min(m, n), most = std::max(m, n);
  Symmetric s(least);
  for (int i = 0; i < least * s.ld; i++) s.a[i] = 0;
  alignas(64) double x[Symmetric::kMost] = {};
  for (int t = 0; t < most; t++) {
    for (int i = 0; i < least; i++) x[i] = static_cast<double>(m <= n ? a[t * m + i] : a[i * m + t]);
    for (int c = 0; c < least; c++) add_column(s.ld, s.column(c), x, x[c]);
  }
  const double up = scale(s);
  tridiagonal(s, nullptr);
  if (!values_alone(s, 0x1p-53)) return false;
  std::sort(s.diagonal, s.diagonal + least, [](double l, double r) { return l > r; });
  for (int i = 0; i < least; i++) values[i] = static_cast<float>(std::sqrt(std::max(s.diagonal[i], 0.0) * up));
  return true;
}

// f(n), where the compiler knows the smallest n and unrolls their loops. Complex numbers gain too little for their code.
template <class T, class F> CRESSET_ALWAYS_INLINE void by_order(int n, F&& f) {
  if constexpr (is_complex<T>::value) return f(n);
  else switch (n) {
      case 2: return f(std::integral_constant<int, 2>());
      case 3: return f(std::integral_constant<int, 3>());
      case 4: return f(std::integral_constant<int, 4>());
      default: return f(n);
    }
}

template <class F> void by_dtype(ScalarType dtype, F&& f) {
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

void small_lu_solve(ScalarType dtype, int64_t count, int n, int columns, const void* lu, const int32_t* pivots, const void* b, const int64_t* b_strides,
                    void* x) {
  by_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    by_order<T>(n == columns ? n : 0, [&](auto order) {
      const int rows = order ? order : n, sides = order ? order : columns;
      for (int64_t i = 0; i < count; i++)
        solve_by_lu(rows, sides, static_cast<const T*>(lu) + i * rows * rows, pivots + i * rows, b ? static_cast<const T*>(b) + i * b_strides[2] : nullptr,
                    b_strides, static_cast<T*>(x) + i * rows * sides);
    });
  });
}

bool small_eigh(ScalarType dtype, bool upper, int n, const void* a, void* values, void* vectors) {
  return dtype == ScalarType::Float ? eigen(upper, n, static_cast<const float*>(a), static_cast<float*>(values), static_cast<float*>(vectors))
                                    : eigen(upper, n, static_cast<const double*>(a), static_cast<double*>(values), static_cast<double*>(vectors));
}

bool tridiagonal_eigh(ScalarType dtype, int n, int64_t rows, void* d, void* e, void* z) {
  return dtype == ScalarType::Float ? tridiagonal_eigen(n, rows, static_cast<float*>(d), static_cast<float*>(e), static_cast<float*>(z))
                                    : tridiagonal_eigen(n, rows, static_cast<double*>(d), static_cast<double*>(e), static_cast<double*>(z));
}

bool small_singular_values(int m, int n, const float* a, float* values) { return singular_values(m, n, a, values); }

bool small_qr(ScalarType dtype, int m, int n, void* a, void* tau) {
  return dtype == ScalarType::Float ? householder(m, n, static_cast<float*>(a), static_cast<float*>(tau))
                                    : householder(m, n, static_cast<double*>(a), static_cast<double*>(tau));
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
