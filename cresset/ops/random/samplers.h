#pragma once
// Distributions that a kernel of a program draws one number at a time from, by LibTorch's names. The numbers are those that the operators give for
// tensors of one element. Hold the generator's `mutex_` meanwhile. A generator of a program gives the words by `random()` and `random64()`, and keeps
// the second normal number of a pair where it has the functions for that.

#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "cresset/base/error.h"
#include "cresset/core/random/generator_impl.h"
#include "cresset/kernels/random/random.h"

namespace cresset {

namespace detail {
// Numbers of the double-precision stream where T is double, else of the single-precision one.
template <class T> constexpr ScalarType drawn_type = std::is_same<T, double>::value ? ScalarType::Double : ScalarType::Float;

// In [0, 1): u24 or u53 of cresset/kernels/random/random.h.
template <class T, class RNG> T drawn_unit(RNG* generator) {
  if constexpr (std::is_same<T, double>::value) return static_cast<double>(generator->random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
  else return static_cast<T>(generator->random() & ((1u << 24) - 1)) * T(0x1p-24);
}

// For classes that draw their own words.
template <class RNG> using IfOwnWords = std::enable_if_t<!std::is_same<decltype(&RNG::random), decltype(&GeneratorImpl::random)>::value>;

template <class RNG, class = void> struct KeepsNormals : std::false_type {};
template <class RNG> struct KeepsNormals<RNG, std::void_t<decltype(std::declval<RNG&>().set_next_double_normal_sample(std::optional<double>())),
                                                          decltype(std::declval<RNG&>().next_double_normal_sample())>> : std::true_type {};

template <class RNG> double drawn_normal(RNG* generator) {
  if constexpr (KeepsNormals<RNG>::value) {
    if (const std::optional<double> kept = generator->next_double_normal_sample()) {
      generator->set_next_double_normal_sample(std::nullopt);
      return *kept;
    }
  }
  const double angle = 2 * 3.14159265358979323846 * drawn_unit<double>(generator);
  const double radius = std::sqrt(-2 * std::log1p(-drawn_unit<double>(generator)));
  if constexpr (KeepsNormals<RNG>::value) generator->set_next_double_normal_sample(radius * std::sin(angle));
  return radius * std::cos(angle);
}
}  // namespace detail

// In [from, to).
template <class T> class uniform_real_distribution {
 public:
  uniform_real_distribution(T from, T to) : from_(from), to_(to) {
    CRESSET_CHECK(from <= to && to - from <= std::numeric_limits<T>::max(), "uniform_real_distribution: expected from <= to, got [", from, ", ", to, ")");
  }
  T operator()(GeneratorImpl* generator) const {
    T out;
    kernels::uniform(generator->state, &out, detail::drawn_type<T>, 1, from_, to_);
    return out;
  }
  template <class RNG, class = detail::IfOwnWords<RNG>> T operator()(RNG* generator) const {
    const T u = detail::drawn_unit<T>(generator), number = u * (to_ - from_) + from_;
    return number < to_ || from_ == to_ ? number : from_;
  }

 private:
  static_assert(std::is_same<T, float>::value || std::is_same<T, double>::value, "expected float or double");
  T from_, to_;
};

// Integers of [base, base + range), of 32 bits of the stream where the range has fewer than 2^28 numbers, else of 64.
template <class T> class uniform_int_from_to_distribution {
 public:
  uniform_int_from_to_distribution(uint64_t range, int64_t base) : range_(range), base_(base) {}
  template <class RNG> T operator()(RNG* generator) const {
    const uint64_t word = range_ >= (uint64_t{1} << 28) ? generator->random64() : generator->random();
    return static_cast<T>(static_cast<int64_t>(word % range_ + static_cast<uint64_t>(base_)));
  }

 private:
  uint64_t range_;
  int64_t base_;
};

// Each of a function of the kernels, computed in double.
template <class T> class normal_distribution {
 public:
  normal_distribution(T mean, T stdv) : mean_(mean), std_(stdv) {
    CRESSET_CHECK(stdv >= 0, "normal_distribution: expected a standard deviation of 0 or more, got ", stdv);
  }
  T operator()(GeneratorImpl* generator) const {
    double out;
    kernels::normal(generator->state, &out, ScalarType::Double, 1, mean_, std_, false);
    return static_cast<T>(out);
  }
  template <class RNG, class = detail::IfOwnWords<RNG>> T operator()(RNG* generator) const {
    return static_cast<T>(detail::drawn_normal(generator) * static_cast<double>(std_) + static_cast<double>(mean_));
  }

 private:
  T mean_, std_;
};

template <class T> class bernoulli_distribution {
 public:
  explicit bernoulli_distribution(T p) : p_(p) { CRESSET_CHECK(p >= 0 && p <= 1, "bernoulli_distribution: expected a probability of 0 to 1, got ", p); }
  T operator()(GeneratorImpl* generator) const {
    double out;
    kernels::bernoulli(generator->state, &out, ScalarType::Double, 1, static_cast<double>(p_));
    return static_cast<T>(out);
  }
  template <class RNG, class = detail::IfOwnWords<RNG>> T operator()(RNG* generator) const {
    return static_cast<T>(detail::drawn_unit<double>(generator) < static_cast<double>(p_));
  }

 private:
  T p_;
};

template <class T> class exponential_distribution {
 public:
  explicit exponential_distribution(T lambda) : lambda_(lambda) {
    CRESSET_CHECK(lambda > 0, "exponential_distribution: expected a rate of more than 0, got ", lambda);
  }
  T operator()(GeneratorImpl* generator) const {
    double out;
    kernels::exponential(generator->state, &out, ScalarType::Double, 1, lambda_);
    return static_cast<T>(out);
  }
  template <class RNG, class = detail::IfOwnWords<RNG>> T operator()(RNG* generator) const {
    return static_cast<T>(-std::log1p(-detail::drawn_unit<double>(generator)) / static_cast<double>(lambda_));
  }

 private:
  T lambda_;
};

template <class T> class geometric_distribution {
 public:
  explicit geometric_distribution(T p) : p_(p) { CRESSET_CHECK(p > 0 && p < 1, "geometric_distribution: expected a probability between 0 and 1, got ", p); }
  T operator()(GeneratorImpl* generator) const {
    double out;
    kernels::geometric(generator->state, &out, ScalarType::Double, 1, p_);
    return static_cast<T>(out);
  }
  template <class RNG, class = detail::IfOwnWords<RNG>> T operator()(RNG* generator) const {
    return static_cast<T>(std::ceil(std::log(detail::drawn_unit<double>(generator)) / std::log1p(-static_cast<double>(p_))));
  }

 private:
  T p_;
};

template <class T> class cauchy_distribution {
 public:
  cauchy_distribution(T median, T sigma) : median_(median), sigma_(sigma) {}
  T operator()(GeneratorImpl* generator) const {
    double out;
    kernels::cauchy(generator->state, &out, ScalarType::Double, 1, median_, sigma_);
    return static_cast<T>(out);
  }
  template <class RNG, class = detail::IfOwnWords<RNG>> T operator()(RNG* generator) const {
    const double angle = 3.14159265358979323846 * (detail::drawn_unit<double>(generator) - 0.5);
    return static_cast<T>(static_cast<double>(median_) + static_cast<double>(sigma_) * std::tan(angle));
  }

 private:
  T median_, sigma_;
};

template <class T> class lognormal_distribution {
 public:
  lognormal_distribution(T mean, T stdv) : mean_(mean), std_(stdv) {
    CRESSET_CHECK(stdv > 0, "lognormal_distribution: expected a standard deviation of more than 0, got ", stdv);
  }
  T operator()(GeneratorImpl* generator) const {
    double out;
    kernels::log_normal(generator->state, &out, ScalarType::Double, 1, mean_, std_);
    return static_cast<T>(out);
  }
  template <class RNG, class = detail::IfOwnWords<RNG>> T operator()(RNG* generator) const {
    return static_cast<T>(std::exp(detail::drawn_normal(generator) * static_cast<double>(std_) + static_cast<double>(mean_)));
  }

 private:
  T mean_, std_;
};

}  // namespace cresset
