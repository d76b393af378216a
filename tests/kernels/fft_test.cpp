#include "cresset/kernels/fft/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/base/small_vector.h"

namespace cresset::kernels {
namespace {

using Exact = std::complex<long double>;

// By the definition, in long double.
std::vector<Exact> dft(const std::vector<Exact>& x, bool forward) {
  const size_t n = x.size();
  std::vector<Exact> roots(n), result(n);
  for (size_t k = 0; k < n; k++) {
    const long double angle = 2 * 3.14159265358979323846264338327950288L * static_cast<long double>(k) / static_cast<long double>(n);
    roots[k] = {std::cos(angle), forward ? -std::sin(angle) : std::sin(angle)};
  }
  for (size_t k = 0; k < n; k++)
    for (size_t j = 0; j < n; j++) result[k] += x[j] * roots[j * k % n];
  return result;
}

template <class T> constexpr long double kUnit = sizeof(T) == 4 ? 6e-8L : 1.2e-16L;

// Root mean square of the error over that of the result.
template <class A> long double distance(const A& got, const std::vector<Exact>& expected) {
  long double error = 0, size = 0;
  for (size_t i = 0; i < expected.size(); i++) {
    error += std::norm(Exact(got(i)) - expected[i]);
    size += std::norm(expected[i]);
  }
  return std::sqrt(error / size);
}

// Rows of `n` elements of `unit` numbers, laid out so that neither rows nor elements need be adjacent.
template <class T> struct Rows {
  Rows(int64_t count, int64_t length, int unit_, int layout) : rows(count), n(length), unit(unit_) {
    sizes = DimVector{rows, n};
    strides = layout == 0 ? DimVector{n, 1} : layout == 1 ? DimVector{1, rows} : DimVector{3 * n + 2, 3};
    data.resize(static_cast<size_t>(unit * (rows * n * 3 + 2 * rows + 16)), T(7));
  }
  std::complex<long double> at(int64_t r, int64_t j) const {
    const T* p = data.data() + unit * (r * strides[0] + j * strides[1]);
    return {static_cast<long double>(p[0]), unit == 2 ? static_cast<long double>(p[1]) : 0};
  }
  void set(int64_t r, int64_t j, T re, T im) {
    T* p = data.data() + unit * (r * strides[0] + j * strides[1]);
    p[0] = re;
    if (unit == 2) p[1] = im;
  }
  Strided strided() const {
    return Strided(data.data(), sizeof(T) == 4 ? (unit == 2 ? kComplexFloat : kFloat) : (unit == 2 ? kComplexDouble : kDouble), sizes, strides);
  }
  std::vector<Exact> row(int64_t r) const {
    std::vector<Exact> x(static_cast<size_t>(n));
    for (int64_t j = 0; j < n; j++) x[static_cast<size_t>(j)] = at(r, j);
    return x;
  }
  int64_t rows, n;
  int unit;
  DimVector sizes, strides;
  std::vector<T> data;
};

template <class T> void fill(Rows<T>& a, unsigned seed) {
  std::mt19937 gen(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  for (int64_t r = 0; r < a.rows; r++)
    for (int64_t j = 0; j < a.n; j++) {
      const double re = real(gen), im = real(gen);
      a.set(r, j, static_cast<T>(re), static_cast<T>(im));
    }
}

template <class T> long double bound(int64_t n) { return kUnit<T> * (2 + 1.5L * std::log2(static_cast<long double>(n))); }

template <class T> void check_complex(int64_t rows, int64_t n, int in_layout, int out_layout, bool forward) {
  Rows<T> in(rows, n, 2, in_layout), out(rows, n, 2, out_layout);
  fill(in, static_cast<unsigned>(n));
  fft_c2c(out.strided(), in.strided(), 1, forward, 0.5);
  for (int64_t r = 0; r < rows; r += std::max<int64_t>(1, rows - 1)) {
    std::vector<Exact> expected = dft(in.row(r), forward);
    for (Exact& z : expected) z *= 0.5L;
    ASSERT_LT(distance([&](size_t i) { return out.at(r, static_cast<int64_t>(i)); }, expected), bound<T>(n))
        << "n " << n << ", " << rows << " rows, layouts " << in_layout << out_layout << ", row " << r << (forward ? "" : ", inverse");
  }
  if (in_layout != out_layout) return;
  fft_c2c(in.strided(), in.strided(), 1, forward, 0.5);
  ASSERT_EQ(in.data == out.data, true) << "in place, n " << n << ", " << rows << " rows";
}

template <class T> void check_real(int64_t rows, int64_t n, int in_layout, int out_layout, bool whole) {
  Rows<T> in(rows, n, 1, in_layout), out(rows, whole ? n : n / 2 + 1, 2, out_layout), back(rows, n, 1, in_layout);
  fill(in, static_cast<unsigned>(n));
  fft_r2c(out.strided(), in.strided(), 1, 0.25);
  fft_c2r(back.strided(), out.strided(), 1, 3.0);
  for (int64_t r = 0; r < rows; r += std::max<int64_t>(1, rows - 1)) {
    std::vector<Exact> x = in.row(r), expected = dft(x, true);
    expected.resize(static_cast<size_t>(out.n));
    for (Exact& z : expected) z *= 0.25L;
    const auto name = [&] {
      return "n " + std::to_string(n) + ", " + std::to_string(rows) + " rows, layouts " + std::to_string(in_layout) + std::to_string(out_layout);
    };
    ASSERT_LT(distance([&](size_t i) { return out.at(r, static_cast<int64_t>(i)); }, expected), bound<T>(n)) << name();
    for (Exact& z : x) z *= 0.75L * static_cast<long double>(n);
    ASSERT_LT(distance([&](size_t i) { return back.at(r, static_cast<int64_t>(i)); }, x), 2 * bound<T>(n)) << name() << ", back";
  }
}

template <class T> void check_length(int64_t n, int64_t rows) {
  for (int in = 0; in < 3; in++)
    for (int out = 0; out < 3; out++) {
      check_complex<T>(rows, n, in, out, (in + out) % 2);
      check_real<T>(rows, n, in, out, in == 1);
    }
  check_complex<T>(rows, n, 0, 0, true);
}

TEST(FftTest, EveryShortLength) {
  for (int64_t n = 1; n <= 140; n++)
    for (const int64_t rows : {1, 3, 37}) {
      check_length<float>(n, rows);
      check_length<double>(n, rows);
      if (HasFatalFailure()) return;
    }
}

// Powers of two, mixed radices, primes above the greatest radix, and products with them.
TEST(FftTest, LongerLengths) {
  for (const int64_t n : {192, 193, 256, 343, 480, 509, 512, 625, 720, 729, 1000, 1009, 1018, 1024, 1155, 1458, 2048})
    for (int layout = 0; layout < 3; layout++) {
      check_complex<float>(layout == 0 ? 1 : 9, n, layout, (layout + 1) % 3, layout != 1);
      check_complex<double>(layout == 0 ? 1 : 9, n, layout, layout, layout != 1);
      check_real<float>(layout == 0 ? 1 : 9, n, layout, layout, layout == 1);
      check_real<double>(layout == 0 ? 1 : 9, n, layout, (layout + 1) % 3, layout == 2);
      if (HasFatalFailure()) return;
    }
}

TEST(FftTest, SeveralDimensions) {
  const DimVector sizes{6, 5, 8}, strides{40, 8, 1}, half_sizes{6, 5, 5}, half_strides{1, 6, 30};
  std::vector<std::complex<double>> x(240), y(240);
  std::vector<double> real(240);
  std::vector<std::complex<double>> half(150);
  std::mt19937 gen(3);
  std::uniform_real_distribution<double> number(-1, 1);
  for (size_t i = 0; i < 240; i++) x[i] = real[i] = number(gen);
  fft_c2c(Strided(y.data(), kComplexDouble, sizes, strides), Strided(x.data(), kComplexDouble, sizes, strides), {0, 2}, true, 1.0);
  fft_r2c(Strided(half.data(), kComplexDouble, half_sizes, half_strides), Strided(real.data(), kDouble, sizes, strides), {0, 2}, 1.0);
  for (size_t b = 0; b < 5; b++)
    for (size_t k = 0; k < 6; k++)
      for (size_t l = 0; l < 8; l++) {
        Exact sum = 0;
        for (size_t i = 0; i < 6; i++)
          for (size_t j = 0; j < 8; j++) {
            const long double angle = -2 * 3.14159265358979323846264338327950288L * (static_cast<long double>(i * k) / 6 + static_cast<long double>(j * l) / 8);
            sum += Exact(x[i * 40 + b * 8 + j]) * Exact(std::cos(angle), std::sin(angle));
          }
        EXPECT_LT(std::abs(Exact(y[k * 40 + b * 8 + l]) - sum), 1e-14L);
        if (l < 5) { EXPECT_LT(std::abs(Exact(half[k + 6 * b + 30 * l]) - sum), 1e-14L); }
      }
}

// The imaginary parts of a spectrum's first and middle element have no meaning for real results.
TEST(FftTest, RealResultsIgnoreWhatMustBeReal) {
  for (const int64_t n : {2, 6, 9, 512, 513})
    for (const int64_t rows : {1, 40}) {
      Rows<double> a(rows, n / 2 + 1, 2, 0), b(rows, n / 2 + 1, 2, 0), x(rows, n, 1, 0), y(rows, n, 1, 0);
      fill(a, 1);
      fill(b, 1);
      for (int64_t r = 0; r < rows; r++) {
        b.set(r, 0, static_cast<double>(a.at(r, 0).real()), 5);
        if (n % 2 == 0) b.set(r, n / 2, static_cast<double>(a.at(r, n / 2).real()), -3);
      }
      fft_c2r(x.strided(), a.strided(), 1, 1.0);
      fft_c2r(y.strided(), b.strided(), 1, 1.0);
      for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < n; j++) ASSERT_NEAR(static_cast<double>(x.at(r, j).real()), static_cast<double>(y.at(r, j).real()), 1e-12) << n;
    }
}

TEST(FftTest, ThreadsDoNotChangeResults) {
  const int before = get_num_threads();
  for (const int64_t n : {256, 65536, 262144}) {
    Rows<float> in(n == 256 ? 900 : 1, n, 2, 0), one(in.rows, n, 2, 0), many(in.rows, n, 2, 0);
    fill(in, 9);
    set_num_threads(1);
    fft_c2c(one.strided(), in.strided(), 1, true, 1.0);
    set_num_threads(4);
    fft_c2c(many.strided(), in.strided(), 1, true, 1.0);
    EXPECT_TRUE(one.data == many.data) << n;
  }
  set_num_threads(before);
}

// Expected transform of a long row: one frequency is one number.
TEST(FftTest, LongRows) {
  for (const int64_t n : {int64_t{1} << 20, int64_t{1000003}, int64_t{3} << 18}) {
    Rows<double> in(1, n, 2, 0), out(1, n, 2, 0);
    const int64_t frequency = n / 3 + 5;
    for (int64_t j = 0; j < n; j++) {
      const auto turn =
          static_cast<long double>(static_cast<uint64_t>(j) * static_cast<uint64_t>(frequency) % static_cast<uint64_t>(n)) / static_cast<long double>(n);
      const long double angle = 2 * 3.14159265358979323846264338327950288L * turn;
      in.set(0, j, static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle)));
    }
    fft_c2c(out.strided(), in.strided(), 1, true, 1.0 / static_cast<double>(n));
    for (int64_t k = 0; k < n; k++) ASSERT_NEAR(static_cast<double>(std::abs(out.at(0, k) - Exact(k == frequency ? 1 : 0))), 0, 1e-14) << n << ", " << k;
  }
}

}  // namespace
}  // namespace cresset::kernels
