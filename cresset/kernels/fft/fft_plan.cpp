#include "cresset/kernels/fft/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <list>
#include <mutex>

#include "cresset/kernels/fft/cpu/fft.h"

namespace cresset::kernels {

namespace {

constexpr long double kPi = 3.14159265358979323846264338327950288L;
using Root = std::complex<long double>;

// exp(-2 pi i k / n) for all k, from two tables of about sqrt(n) entries over an eighth of the circle.
class Roots {
 public:
  explicit Roots(int64_t n) : n_(n) {
    while (step_ * step_ <= n / 2) step_ *= 2;
    const long double unit = kPi / (2 * static_cast<long double>(n));
    auto fill = [&](std::vector<Root>& to, int64_t count, int64_t stride) {
      for (int64_t i = 0; i < count; i++) {
        const long double angle = unit * static_cast<long double>(i * stride);
        to.emplace_back(std::cos(angle), -std::sin(angle));
      }
    };
    fill(low_, step_, 1);
    fill(high_, n / 2 / step_ + 1, step_);
  }
  Root operator()(int64_t k) const {
    k %= n_;
    if (2 * k > n_) return std::conj((*this)(n_ - k));
    if (4 * k > n_) {
      const Root z = quarter(2 * n_ - 4 * k);
      return {-z.real(), z.imag()};
    }
    return quarter(4 * k);
  }

 private:
  // exp(-2 pi i j / (4 n)) for j <= n.
  Root quarter(int64_t j) const {
    if (2 * j > n_) {
      const Root z = eighth(n_ - j);
      return {-z.imag(), -z.real()};
    }
    return eighth(j);
  }
  Root eighth(int64_t j) const {
    const Root a = high_[static_cast<size_t>(j / step_)], b = low_[static_cast<size_t>(j % step_)];
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
  int64_t n_, step_ = 1;
  std::vector<Root> low_, high_;
};

template <class T> void push(std::vector<T>& to, Root z) {
  to.push_back(static_cast<T>(z.real()));
  to.push_back(static_cast<T>(z.imag()));
}

std::vector<int> radices(int64_t n) {
  std::vector<int> odd, result;
  int twos = 0;
  for (; n % 2 == 0; n /= 2) twos++;
  for (int p = 3; n > 1; p += 2)
    for (; n % p == 0; n /= p) odd.push_back(p);
  for (; twos > 4 || twos == 3; twos -= 3) result.push_back(8);
  for (; twos >= 2; twos -= 2) result.push_back(4);
  if (twos) result.push_back(2);
  result.insert(result.end(), odd.begin(), odd.end());
  return result;
}

// The cheapest convenient length of at least n.
int64_t convolution_length(int64_t n) {
  int64_t best = 1;
  while (best < n) best *= 2;
  for (const int64_t odd : {3, 5, 9, 15}) {
    int64_t m = odd * 8;
    while (m < n) m *= 2;
    if (m < best - best / 8) best = m;
  }
  return best;
}

}  // namespace

bool fft_has_passes(int64_t n) {
  for (int64_t p = 2; p <= kFftMaxRadix; p += p == 2 ? 1 : 2)
    while (n % p == 0) n /= p;
  return n == 1;
}

template <class T> FftLanePlan<T>::FftLanePlan(int64_t length) : n(length) {
  int64_t rest = n, inner = 1;
  const Roots root(n);
  for (const int radix : radices(n)) {
    const int64_t count = rest / radix;
    FftPass pass{radix, count, inner, static_cast<int64_t>(table.size()), 0};
    if (count > 1)
      for (int64_t p = 0; p < count; p++)
        for (int64_t k = 1; k < radix; k++) push(table, root(p * k * inner));
    if (radix > 8) {
      pass.roots = static_cast<int64_t>(table.size());
      for (int64_t k = 0; k < radix; k++) push(table, root(k * (n / radix)));
    }
    passes.push_back(pass);
    rest = count;
    inner *= radix;
  }
}

template <class T> int64_t FftRowPlan<T>::scratch_size() const {
  if (convolution) return 4 * convolution->n + convolution->middle_size() + convolution->scratch_size();
  return 2 * (std::max(n1, n2) + lanes) * 2 * lanes;
}

template <class T> size_t FftRowPlan<T>::bytes() const {
  const size_t own = (twiddles.size() + chirp.size() + chirp_transform.size()) * sizeof(T);
  return own + (convolution ? convolution->bytes() : columns->bytes() + rows->bytes());
}

template <class T> FftRowPlan<T>::FftRowPlan(int64_t length, int vector_lanes) : n(length), n1(1), n2(length), lanes(vector_lanes) {
  if (!fft_has_passes(n)) {
    const int64_t m = convolution_length(2 * n - 1);
    convolution = std::make_unique<FftRowPlan>(m, lanes);
    const Roots root(2 * n);
    std::vector<T> kernel(static_cast<size_t>(2 * m));
    for (int64_t k = 0; k < n; k++) {
      // k^2 mod 2n: exact where k^2 is not.
      const auto square = static_cast<int64_t>(static_cast<unsigned __int128>(k) * static_cast<unsigned __int128>(k) % static_cast<unsigned __int128>(2 * n));
      const Root z = root(square);
      push(chirp, z);
      for (const int64_t at : {k, k ? m - k : 0}) {
        kernel[static_cast<size_t>(2 * at)] = static_cast<T>(z.real() / static_cast<long double>(m));
        kernel[static_cast<size_t>(2 * at + 1)] = static_cast<T>(-z.imag() / static_cast<long double>(m));
      }
    }
    chirp_transform.resize(kernel.size());
    AlignedBuffer<T> work(convolution->middle_size() + convolution->scratch_size());
    fft_row_of<T>()(*convolution, kernel.data(), chirp_transform.data(), T(1), false, work.data);
    return;
  }
  // Lanes that stand idle count, and so do passes.
  int64_t least = 0;
  for (int64_t a = 1, top = std::min(n, 64 * (1 + static_cast<int64_t>(std::sqrt(static_cast<double>(n))))); a <= top; a++) {
    if (n % a != 0) continue;
    const int64_t b = n / a;
    const int64_t idle = (b + lanes - 1) / lanes * lanes * a + (a + lanes - 1) / lanes * lanes * b;
    const int64_t cost = idle * 64 + std::max(a, b) * lanes * 2;
    if (least == 0 || cost < least) least = cost, n1 = a, n2 = b;
  }
  columns = std::make_unique<FftLanePlan<T>>(n1);
  rows = std::make_unique<FftLanePlan<T>>(n2);
  twiddles.resize(static_cast<size_t>(column_groups() * n1 * 2 * lanes));
  size_t at = 0;
  const Roots root(n);
  for (int64_t g = 0; g < column_groups(); g++)
    for (int64_t k = 0; k < n1; k++, at += 2 * static_cast<size_t>(lanes))
      for (int i = 0; i < lanes; i++) {
        const Root z = root(k * (g * lanes + i));
        twiddles[at + static_cast<size_t>(i)] = static_cast<T>(z.real());
        twiddles[at + static_cast<size_t>(lanes + i)] = static_cast<T>(z.imag());
      }
}

template <class T> FftRealTable<T>::FftRealTable(int64_t n) {
  const Roots root(n);
  for (int64_t k = 0; 2 * k <= n; k++) push(roots, root(k));
}

namespace {

constexpr size_t kCacheBytes = size_t{64} << 20;

// Plans by length and lanes, most recently used first.
template <class Plan> class Cache {
 public:
  template <class Make> std::shared_ptr<const Plan> get(int64_t n, int lanes, Make make) {
    {
      const std::lock_guard lock(mutex_);
      for (auto at = entries_.begin(); at != entries_.end(); ++at)
        if (at->n == n && at->lanes == lanes) {
          entries_.splice(entries_.begin(), entries_, at);
          return at->plan;
        }
    }
    std::shared_ptr<const Plan> plan = make();
    const std::lock_guard lock(mutex_);
    entries_.push_front({n, lanes, plan});
    bytes_ += plan->bytes();
    while (entries_.size() > 1 && (bytes_ > kCacheBytes || entries_.size() > 256)) {
      bytes_ -= entries_.back().plan->bytes();
      entries_.pop_back();
    }
    return plan;
  }

 private:
  struct Entry {
    int64_t n;
    int lanes;
    std::shared_ptr<const Plan> plan;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;
  size_t bytes_ = 0;
};

}  // namespace

template <class T> std::shared_ptr<const FftLanePlan<T>> fft_lane_plan(int64_t n) {
  static Cache<FftLanePlan<T>> cache;
  return cache.get(n, 0, [&] { return std::make_shared<const FftLanePlan<T>>(n); });
}
template <class T> std::shared_ptr<const FftRowPlan<T>> fft_row_plan(int64_t n, int lanes) {
  static Cache<FftRowPlan<T>> cache;
  return cache.get(n, lanes, [&] { return std::make_shared<const FftRowPlan<T>>(n, lanes); });
}
template <class T> std::shared_ptr<const FftRealTable<T>> fft_real_table(int64_t n) {
  static Cache<FftRealTable<T>> cache;
  return cache.get(n, 0, [&] { return std::make_shared<const FftRealTable<T>>(n); });
}

#define INSTANTIATE(T)                                                         \
  template struct FftLanePlan<T>;                                              \
  template struct FftRowPlan<T>;                                               \
  template struct FftRealTable<T>;                                             \
  template std::shared_ptr<const FftLanePlan<T>> fft_lane_plan<T>(int64_t);    \
  template std::shared_ptr<const FftRowPlan<T>> fft_row_plan<T>(int64_t, int); \
  template std::shared_ptr<const FftRealTable<T>> fft_real_table<T>(int64_t);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace cresset::kernels
