#pragma once
// Distributions that a kernel of a program draws one number at a time from, by LibTorch's names. The numbers are those that the operators give for
// tensors of one element. Hold the generator's `mutex_` meanwhile.

#include <limits>
#include <type_traits>

#include "cresset/base/error.h"
#include "cresset/core/random/generator_impl.h"
#include "cresset/kernels/random/random.h"

namespace cresset {

namespace detail {
// Numbers of the double-precision stream where T is double, else of the single-precision one.
template <class T> constexpr ScalarType drawn_type = std::is_same<T, double>::value ? ScalarType::Double : ScalarType::Float;
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

 private:
  static_assert(std::is_same<T, float>::value || std::is_same<T, double>::value, "expected float or double");
  T from_, to_;
};

// Integers of [base, base + range), of 32 bits of the stream where the range has fewer than 2^28 numbers, else of 64.
template <class T> class uniform_int_from_to_distribution {
 public:
  uniform_int_from_to_distribution(uint64_t range, int64_t base) : range_(range), base_(base) {}
  T operator()(GeneratorImpl* generator) const {
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

 private:
  T mean_, std_;
};

}  // namespace cresset
