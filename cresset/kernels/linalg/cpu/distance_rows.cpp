#include "cresset/kernels/linalg/cpu/distance_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cresset/kernels/cpu/simd.h"
#include "cresset/kernels/expr/power.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

enum class Norm { zero, one, two, most, three, other };

Norm norm_of(double p) {
  return p == 0 ? Norm::zero : p == 1 ? Norm::one : p == 2 ? Norm::two : p == std::numeric_limits<double>::infinity() ? Norm::most : Norm::other;
}

template <class V> CRESSET_ALWAYS_INLINE V absolute(V x) { return x < 0 ? -x : x; }

template <Norm norm, class V> CRESSET_ALWAYS_INLINE V add_difference(V sum, V d) {
  if constexpr (norm == Norm::zero) return sum + (d != 0 ? splat(Lane<V>(1)) : splat(Lane<V>(0)));
  else if constexpr (norm == Norm::one) return sum + absolute(d);
  else if constexpr (norm == Norm::two) return fma(d, d, sum);
  else if constexpr (norm == Norm::three) return fma(d * d, absolute(d), sum);
  else return absolute(d) > sum || d != d ? absolute(d) : sum;
}
template <Norm norm, class V> CRESSET_ALWAYS_INLINE V add_sums(V a, V b) {
  if constexpr (norm == Norm::most) return b > a || b != b ? b : a;
  else return a + b;
}

// Terms that are summed before they join the rest.
constexpr int64_t kChain = 256;
// Rows at a time, as many as leave registers for the others.
constexpr int kRows = kVectorBytes == 64 ? 4 : 2;

template <Norm norm, int rows, class T> void distances_of(const T* x, int64_t columns, const T* packed, T* out) {
  constexpr int across = static_cast<int>(kDistanceColumns) / kLanes<T>, together = across > 4 ? 4 : across;
  for (int u0 = 0; u0 < across; u0 += together) {
    Vec<T> total[rows][together] = {};
    for (int64_t k0 = 0; k0 < columns; k0 += kChain) {
      Vec<T> sum[rows][together] = {};
      for (int64_t k = k0; k < std::min(columns, k0 + kChain); k++) {
        Vec<T> other[together];
        for (int u = 0; u < together; u++) other[u] = load_raw<Vec<T>>(packed + k * kDistanceColumns + (u0 + u) * kLanes<T>);
        for (int r = 0; r < rows; r++) {
          const Vec<T> own = splat(x[r * columns + k]);
          for (int u = 0; u < together; u++) sum[r][u] = add_difference<norm>(sum[r][u], own - other[u]);
        }
      }
      for (int r = 0; r < rows; r++)
        for (int u = 0; u < together; u++) total[r][u] = add_sums<norm>(total[r][u], sum[r][u]);
    }
    for (int r = 0; r < rows; r++)
      for (int u = 0; u < together; u++) store_raw(out + r * kDistanceColumns + (u0 + u) * kLanes<T>, total[r][u]);
  }
}

CRESSET_ALWAYS_INLINE float power(float x, float p) { return expr::math::pow(x, p); }
CRESSET_ALWAYS_INLINE double power(double x, double p) { return std::pow(x, p); }

template <class T> void powers_of(const T* x, int64_t columns, const T* packed, double p, T* out) {
  T exponent[kDistanceColumns];
  std::fill_n(exponent, kDistanceColumns, static_cast<T>(p));
  std::fill_n(out, kDistanceColumns, T(0));
  for (int64_t k = 0; k < columns; k++)
    for (int64_t j = 0; j < kDistanceColumns; j++) out[j] += power(std::fabs(x[k] - packed[k * kDistanceColumns + j]), exponent[j]);
}

template <Norm norm, class T> void finish(const T* sums, double p, int64_t n, T* out) {
  for (int64_t j = 0; j < n; j++) {
    if constexpr (norm == Norm::two) out[j] = std::sqrt(sums[j]);
    else if constexpr (norm == Norm::three || norm == Norm::other) out[j] = static_cast<T>(std::pow(sums[j], 1 / p));
    else out[j] = sums[j];
  }
}

template <Norm norm, class T> void block_of(const DistanceBlock& b) {
  const T *rows = static_cast<const T*>(b.rows), *others = static_cast<const T*>(b.others);
  T *packed = static_cast<T*>(b.packed), *out = static_cast<T*>(b.out);
  for (int64_t k = 0; k < b.columns; k++)
    for (int64_t j = 0; j < kDistanceColumns; j++) packed[k * kDistanceColumns + j] = j < b.count2 ? others[j * b.columns + k] : T(0);
  T sums[kRows * kDistanceColumns];
  for (int64_t i = 0; i < b.count1;) {
    const int64_t together = norm != Norm::other && i + kRows <= b.count1 ? kRows : 1;
    const T* x = rows + i * b.columns;
    if constexpr (norm == Norm::other) powers_of(x, b.columns, packed, b.p, sums);
    else if (together == kRows) distances_of<norm, kRows>(x, b.columns, packed, sums);
    else distances_of<norm, 1>(x, b.columns, packed, sums);
    for (int64_t r = 0; r < together; r++) finish<norm>(sums + r * kDistanceColumns, b.p, b.count2, out + (i + r) * b.out_step);
    i += together;
  }
}

template <class T> void block_of(const DistanceBlock& b) {
  switch (norm_of(b.p)) {
    case Norm::zero: return block_of<Norm::zero, T>(b);
    case Norm::one: return block_of<Norm::one, T>(b);
    case Norm::two: return block_of<Norm::two, T>(b);
    case Norm::most: return block_of<Norm::most, T>(b);
    default: return b.p == 3 ? block_of<Norm::three, T>(b) : block_of<Norm::other, T>(b);
  }
}

// d of the distance by d of the difference, but for what all differences of a pair share.
template <Norm norm, class V> CRESSET_ALWAYS_INLINE V slope(V d, V distance) {
  if constexpr (norm == Norm::two) return d;
  const V sign = d > 0 ? d * 0 + 1 : d < 0 ? d * 0 - 1 : d;
  if constexpr (norm == Norm::one) return sign;
  else return absolute(d) == distance ? sign : d * 0;
}

// `across` vectors of the results, summed side by side. Two rows share what is read of the others.
template <Norm norm, int across, int rows, class T> CRESSET_ALWAYS_INLINE void gradient_at(const DistanceGradRow& row, int64_t m) {
  const T *others = static_cast<const T*>(row.others), *distance = static_cast<const T*>(row.distance), *weights = static_cast<const T*>(row.weights);
  constexpr int lanes = kLanes<T>;
  Vec<T> own[rows][across], total[rows][across] = {};
  for (int r = 0; r < rows; r++)
    for (int u = 0; u < across; u++) own[r][u] = load_raw<Vec<T>>(static_cast<const T*>(row.row) + r * row.columns + m + u * lanes);
  for (int64_t j0 = 0; j0 < row.count; j0 += kChain) {
    Vec<T> sum[rows][across] = {};
    const int64_t end = std::min(row.count, j0 + kChain);
    for (int64_t j = j0; j < end; j++)
      for (int u = 0; u < across; u++) {
        const Vec<T> other = load_raw<Vec<T>>(others + j * row.columns + m + u * lanes);
        for (int r = 0; r < rows; r++)
          sum[r][u] = fma(splat(weights[r * row.count + j]), slope<norm>(own[r][u] - other, splat(distance[r * row.count + j])), sum[r][u]);
      }
    for (int r = 0; r < rows; r++)
      for (int u = 0; u < across; u++) total[r][u] += sum[r][u];
  }
  for (int r = 0; r < rows; r++)
    for (int u = 0; u < across; u++) store_raw(static_cast<T*>(row.out) + r * row.columns + m + u * lanes, total[r][u]);
}

// One of the rows alone.
template <class T> DistanceGradRow row_of(DistanceGradRow row, int64_t r) {
  row.rows = 1;
  row.row = static_cast<const T*>(row.row) + r * row.columns;
  row.weights = static_cast<T*>(row.weights) + r * row.count;
  row.distance = static_cast<const T*>(row.distance) + r * row.count;
  row.out = static_cast<T*>(row.out) + r * row.columns;
  return row;
}

template <Norm norm, int rows, class T> void gradient_of(const DistanceGradRow& row) {
  const T *x = static_cast<const T*>(row.row), *others = static_cast<const T*>(row.others), *distance = static_cast<const T*>(row.distance);
  const T* weights = static_cast<const T*>(row.weights);
  T* out = static_cast<T*>(row.out);
  constexpr int lanes = kLanes<T>;
  int64_t m = 0;
  for (; m + 4 * lanes <= row.columns; m += 4 * lanes) gradient_at<norm, 4, rows, T>(row, m);
  for (; m + lanes <= row.columns; m += lanes) gradient_at<norm, 1, rows, T>(row, m);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t k = m; k < row.columns; k++) {
      T total = 0;
      for (int64_t j = 0; j < row.count; j++) {
        const T d = x[r * row.columns + k] - others[j * row.columns + k], sign = d > 0 ? T(1) : d < 0 ? T(-1) : d;
        total += weights[r * row.count + j] * (norm == Norm::two ? d : norm == Norm::one || std::fabs(d) == distance[r * row.count + j] ? sign : T(0));
      }
      out[r * row.columns + k] = total;
    }
}
template <Norm norm, class T> void gradient_of(const DistanceGradRow& row) {
  if constexpr (norm == Norm::two)
    if (row.rows == 2) return gradient_of<norm, 2, T>(row);
  for (int64_t r = 0; r < row.rows; r++) gradient_of<norm, 1, T>(row_of<T>(row, r));
}

template <class T> void power_gradient_of(const DistanceGradRow& row) {
  const T *x = static_cast<const T*>(row.row), *others = static_cast<const T*>(row.others), *weights = static_cast<const T*>(row.weights);
  T* out = static_cast<T*>(row.out);
  constexpr int64_t kBlock = 64;
  T exponent[kBlock], slopes[kBlock];
  std::fill_n(exponent, kBlock, static_cast<T>(row.p - 1));
  std::fill_n(out, row.columns, T(0));
  for (int64_t j = 0; j < row.count; j++)
    for (int64_t m0 = 0; m0 < row.columns; m0 += kBlock) {
      const int64_t n = std::min(kBlock, row.columns - m0);
      const T *own = x + m0, *other = others + j * row.columns + m0;
      for (int64_t m = 0; m < n; m++) slopes[m] = own[m] - other[m];
      for (int64_t m = n; m < kBlock; m++) slopes[m] = 0;
      for (int64_t m = 0; m < kBlock; m++) {
        const T d = slopes[m], size = power(std::fabs(d), exponent[m]);
        slopes[m] = d == 0 ? T(0) : std::copysign(size, d);
      }
      for (int64_t m = 0; m < n; m++) out[m0 + m] += weights[j] * slopes[m];
    }
}

template <class T> void grad_row_of(const DistanceGradRow& row) {
  const Norm norm = norm_of(row.p);
  const T* distance = static_cast<const T*>(row.distance);
  T* weights = static_cast<T*>(row.weights);
  if (norm == Norm::zero) return void(std::fill_n(static_cast<T*>(row.out), row.rows * row.columns, T(0)));
  if (norm == Norm::two || norm == Norm::other)
    for (int64_t j = 0; j < row.rows * row.count; j++) {
      const T divisor = norm == Norm::two ? distance[j] : static_cast<T>(std::pow(distance[j], row.p - 1));
      weights[j] = distance[j] == 0 ? T(0) : weights[j] / divisor;
    }
  switch (norm) {
    case Norm::one: return gradient_of<Norm::one, T>(row);
    case Norm::two: return gradient_of<Norm::two, T>(row);
    case Norm::most: return gradient_of<Norm::most, T>(row);
    default: break;
  }
  for (int64_t r = 0; r < row.rows; r++) power_gradient_of<T>(row_of<T>(row, r));
}

}  // namespace

void distance_block(const DistanceBlock& block) {
  if (block.dtype == ScalarType::Double) block_of<double>(block);
  else block_of<float>(block);
}

void distance_grad_row(const DistanceGradRow& row) {
  if (row.dtype == ScalarType::Double) grad_row_of<double>(row);
  else grad_row_of<float>(row);
}

}  // namespace cresset::kernels::CRESSET_ISA
