#include "cresset/kernels/pointwise/pointwise_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>

#include "tests/kernels/strided_array.h"

namespace cresset::kernels {
namespace {

using S = ScalarType;
using testing::Array;
using testing::Layout;
using testing::Shape;

template <class F> void for_each_isa(F f) {
  const int best = active_isa();
  for (int isa = best; isa >= 0; isa--) {
    detail::g_isa = isa;
    f();
  }
  detail::g_isa = best;
}

const PointwiseKernel* const kKernels[] = {&add_kernel,
                                           &sub_kernel,
                                           &mul_kernel,
                                           &div_kernel,
                                           &neg_kernel,
                                           &square_kernel,
                                           &reciprocal_kernel,
                                           &addcmul_kernel,
                                           &addcdiv_kernel,
                                           &lerp_kernel,
                                           &lerp_scalar_kernel,
                                           &div_floor_kernel,
                                           &div_trunc_kernel,
                                           &remainder_kernel,
                                           &fmod_kernel,
                                           &eq_kernel,
                                           &ne_kernel,
                                           &lt_kernel,
                                           &le_kernel,
                                           &gt_kernel,
                                           &ge_kernel,
                                           &logical_and_kernel,
                                           &logical_or_kernel,
                                           &logical_xor_kernel,
                                           &logical_not_kernel,
                                           &isnan_kernel,
                                           &isinf_kernel,
                                           &isfinite_kernel,
                                           &isposinf_kernel,
                                           &isneginf_kernel,
                                           &signbit_kernel,
                                           &bitwise_and_kernel,
                                           &bitwise_or_kernel,
                                           &bitwise_xor_kernel,
                                           &bitwise_not_kernel,
                                           &bitwise_left_shift_kernel,
                                           &bitwise_right_shift_kernel,
                                           &gcd_kernel,
                                           &lcm_kernel,
                                           &maximum_kernel,
                                           &minimum_kernel,
                                           &fmax_kernel,
                                           &fmin_kernel,
                                           &clamp_kernel,
                                           &clamp_min_kernel,
                                           &clamp_max_kernel,
                                           &clamp_tensor_kernel,
                                           &abs_kernel,
                                           &angle_kernel,
                                           &sign_kernel,
                                           &sgn_kernel,
                                           &conj_kernel,
                                           &floor_kernel,
                                           &ceil_kernel,
                                           &trunc_kernel,
                                           &round_kernel,
                                           &round_decimals_kernel,
                                           &frac_kernel,
                                           &sqrt_kernel,
                                           &rsqrt_kernel,
                                           &hypot_kernel,
                                           &copysign_kernel,
                                           &heaviside_kernel,
                                           &nextafter_kernel,
                                           &where_kernel,
                                           &masked_fill_kernel,
                                           &fill_kernel,
                                           &dropout_apply_kernel,
                                           &nan_to_num_kernel,
                                           &exp_kernel,
                                           &expm1_kernel,
                                           &exp2_kernel,
                                           &log_kernel,
                                           &log1p_kernel,
                                           &log2_kernel,
                                           &log10_kernel,
                                           &sigmoid_kernel,
                                           &sin_kernel,
                                           &cos_kernel,
                                           &tan_kernel,
                                           &asin_kernel,
                                           &acos_kernel,
                                           &atan_kernel,
                                           &sinh_kernel,
                                           &cosh_kernel,
                                           &tanh_kernel,
                                           &asinh_kernel,
                                           &acosh_kernel,
                                           &atanh_kernel,
                                           &pow_kernel,
                                           &atan2_kernel,
                                           &xlogy_kernel,
                                           &logaddexp_kernel,
                                           &logaddexp2_kernel,
                                           &erf_kernel,
                                           &erfc_kernel,
                                           &erfinv_kernel,
                                           &lgamma_kernel,
                                           &digamma_kernel,
                                           &relu_kernel,
                                           &leaky_relu_kernel,
                                           &threshold_kernel,
                                           &elu_kernel,
                                           &gelu_kernel,
                                           &gelu_tanh_kernel,
                                           &silu_kernel,
                                           &mish_kernel,
                                           &hardsigmoid_kernel,
                                           &hardswish_kernel,
                                           &hardshrink_kernel,
                                           &softshrink_kernel,
                                           &softplus_kernel,
                                           &log_sigmoid_kernel,
                                           &tanh_backward_kernel,
                                           &sigmoid_backward_kernel,
                                           &threshold_backward_kernel,
                                           &leaky_relu_backward_kernel,
                                           &elu_backward_kernel,
                                           &elu_backward_from_result_kernel,
                                           &gelu_backward_kernel,
                                           &gelu_tanh_backward_kernel,
                                           &silu_backward_kernel,
                                           &mish_backward_kernel,
                                           &hardsigmoid_backward_kernel,
                                           &hardswish_backward_kernel,
                                           &shrink_backward_kernel,
                                           &hardtanh_backward_kernel,
                                           &softplus_backward_kernel,
                                           &log_sigmoid_backward_kernel,
                                           &mse_loss_kernel,
                                           &mse_loss_backward_kernel,
                                           &smooth_l1_loss_kernel,
                                           &smooth_l1_loss_backward_kernel,
                                           &huber_loss_kernel,
                                           &huber_loss_backward_kernel,
                                           &bce_loss_kernel,
                                           &bce_loss_backward_kernel,
                                           &bce_with_logits_loss_kernel,
                                           &bce_with_logits_loss_backward_kernel};

const PointwiseKernel& kernel_named(const std::string& name) {
  for (const PointwiseKernel* k : kKernels)
    if (name == k->name) return *k;
  throw Error("no kernel named " + name);
}

ScalarType output_dtype(const PointwiseKernel& k, ScalarType compute) {
  return k.out == Out::boolean ? kBool : k.out == Out::real ? to_real_type(compute) : compute;
}

// --- special values ---

struct GoldenRow {
  const char* kernel;
  ScalarType dtype, out;
  std::vector<Scalar> params;
  int64_t count;
  std::vector<uint64_t> inputs, outputs;
};

const GoldenRow kGolden[] = {
#include "tests/kernels/golden/pointwise_golden.inc"
};

int components(ScalarType t) { return is_complex_type(t) ? 2 : 1; }

std::vector<char> bytes_of(const std::vector<uint64_t>& numbers, ScalarType t) {
  const size_t width = element_size(t) / static_cast<size_t>(components(t));
  std::vector<char> bytes(numbers.size() * width);
  for (size_t i = 0; i < numbers.size(); i++) std::memcpy(bytes.data() + i * width, &numbers[i], width);
  return bytes;
}

double component(const char* p, ScalarType real) {
  switch (real) {
    case S::Half: return *reinterpret_cast<const Half*>(p);
    case S::BFloat16: return *reinterpret_cast<const BFloat16*>(p);
    case S::Float: return *reinterpret_cast<const float*>(p);
    default: return *reinterpret_cast<const double*>(p);
  }
}

double epsilon(ScalarType real) { return real == S::Half ? 0x1p-10 : real == S::BFloat16 ? 0x1p-7 : real == S::Float ? 0x1p-23 : 0x1p-52; }

double smallest_normal(ScalarType real) { return real == S::Half ? 0x1p-14 : real == S::Double ? 0x1p-1022 : 0x1p-126; }

TEST(Pointwise, SpecialValuesAsInPyTorch) {
  for_each_isa([&] {
    for (const GoldenRow& row : kGolden) {
      const PointwiseKernel& k = kernel_named(row.kernel);
      ASSERT_NE(k.loop(row.dtype), nullptr) << row.kernel << " " << dtype_name(row.dtype);
      ASSERT_EQ(output_dtype(k, row.dtype), row.out) << row.kernel << " " << dtype_name(row.dtype);
      const int64_t stride[] = {static_cast<int64_t>(element_size(row.dtype))}, out_stride[] = {static_cast<int64_t>(element_size(row.out))};
      std::vector<char> in = bytes_of(row.inputs, row.dtype), want = bytes_of(row.outputs, row.out), got(want.size());
      const int64_t n = row.count, in_bytes = n * stride[0];
      std::vector<Operand> operands = {{got.data(), row.out, out_stride}};
      std::vector<ScalarType> types = {row.out};
      for (int i = 0; i < k.num_inputs; i++) {
        operands.push_back({in.data() + i * in_bytes, row.dtype, stride});
        types.push_back(row.dtype);
      }
      // One at a time and all at once.
      for (const int64_t step : {int64_t{1}, n}) {
        for (int64_t at = 0; at < n; at += step) {
          std::vector<Operand> part = operands;
          for (Operand& o : part) o.data += at * o.strides[0];
          run_nd(step, part, 1, types, k.loop(row.dtype), row.params.data());
        }
        const ScalarType real = to_real_type(row.out);
        const int parts = components(row.out);
        const auto width = static_cast<int64_t>(element_size(real));
        for (int64_t i = 0; i < n * parts; i++) {
          const char *g = got.data() + i * width, *w = want.data() + i * width;
          bool same = std::memcmp(g, w, static_cast<size_t>(width)) == 0;
          if (!same && is_floating_type(real)) {
            const double a = component(g, real), b = component(w, real);
            // Complex functions differ by what cancels between their parts.
            double size = std::fabs(b) + smallest_normal(real) / 2;
            if (parts == 2) size = std::max(size, 0.25 + std::fabs(component(want.data() + (i ^ 1) * width, real)));
            same = (std::isnan(a) && std::isnan(b)) || (std::signbit(a) == std::signbit(b) && a == b) ||
                   (b != 0 && std::fabs(a - b) <= 6 * epsilon(real) * size) || (parts == 2 && (std::fabs(a - b) <= 6 * epsilon(real) * size));
          }
          // PyTorch passes the gradient at NaN on in the last elements alone, those that fill no vector.
          const bool is_window = std::string(row.kernel) == "shrink_backward" || std::string(row.kernel) == "hardtanh_backward";
          if (is_window && std::isnan(component(in.data() + in_bytes + i * stride[0], real))) same = component(g, real) == 0;
          std::string given;
          for (int j = 0; j < k.num_inputs; j++)
            for (int c = 0; c < components(row.dtype); c++)
              given += " " + std::to_string(row.inputs[static_cast<size_t>((j * n + i / parts) * components(row.dtype) + c)]);
          EXPECT_TRUE(same) << row.kernel << " " << dtype_name(row.dtype) << " " << isa_name() << " element " << i << " of" << given << ": got "
                            << (is_floating_type(real) ? component(g, real) : *reinterpret_cast<const int8_t*>(g)) << ", expected "
                            << (is_floating_type(real) ? component(w, real) : *reinterpret_cast<const int8_t*>(w));
          if (!same) break;
        }
      }
    }
  });
}

// --- loops: every path of a kernel gives what its one-element call gives ---

// Values in every kernel's domain.
template <class T> void randomize(Array<T>& a, std::mt19937& rng) {
  a.for_each([&](const Shape& at) {
    const double v = 0.05 + 0.9 * (static_cast<double>(rng() % 10000) / 10000);
    if constexpr (std::is_same_v<T, bool>) a(at) = rng() % 2;
    else if constexpr (std::is_integral_v<T>) a(at) = static_cast<T>(1 + rng() % 100);
    else if constexpr (is_complex<T>::value) a(at) = T(static_cast<typename T::value_type>(v), static_cast<typename T::value_type>(v - 0.5));
    else a(at) = static_cast<T>(static_cast<float>(v));
  });
}

const Scalar kParams[] = {Scalar(2), Scalar(3), Scalar(1)};

int mask_input(const PointwiseKernel& k) {
  const std::string name = k.name;
  return name == "where" ? 0 : name == "masked_fill" || name == "dropout_apply" ? 1 : -1;
}

// Complex products may fuse either of their multiplications; all else is the same to the bit.
template <class R> bool same_results(const std::vector<char>& got, const std::vector<char>& want) {
  if constexpr (is_complex<R>::value) {
    using V = typename R::value_type;
    for (size_t at = 0; at < got.size(); at += sizeof(R)) {
      R g, w;
      std::memcpy(static_cast<void*>(&g), got.data() + at, sizeof(R));
      std::memcpy(static_cast<void*>(&w), want.data() + at, sizeof(R));
      const V size = std::fabs(w.real()) + std::fabs(w.imag());
      if (!(std::hypot(g.real() - w.real(), g.imag() - w.imag()) <= 8 * std::numeric_limits<V>::epsilon() * size)) return false;
    }
    return true;
  } else {
    return got == want;
  }
}

template <class T, class R> void check_paths(const PointwiseKernel& k, std::mt19937& rng) {
  const Loop loop = k.loop(dtype_of<T>);
  const int inputs = k.num_inputs, mask = mask_input(k);
  for (const int64_t n : {1, 2, 7, 8, 15, 16, 17, 33, 100, 513, 1100}) {
    std::vector<Array<T>> in;
    std::vector<Array<bool>> masks;
    for (int i = 0; i < inputs; i++) {
      in.emplace_back(Shape{3 * n});
      randomize(in.back(), rng);
      masks.emplace_back(Shape{3 * n});
      randomize(masks.back(), rng);
    }
    const auto pointer = [&](int i) {
      return i == mask ? reinterpret_cast<char*>(masks[static_cast<size_t>(i)].data()) : reinterpret_cast<char*>(in[static_cast<size_t>(i)].data());
    };
    const auto width = [&](int i) { return i == mask ? int64_t{1} : static_cast<int64_t>(sizeof(T)); };
    // Strides of 0, 1 and 2 elements in every combination.
    int combinations = 2;
    for (int i = 0; i < inputs; i++) combinations *= 3;
    for (int c = 0; c < combinations; c++) {
      int64_t strides[kMaxOperands], code = c / 2;
      const int64_t out_step = 1 + c % 2;
      strides[0] = out_step * static_cast<int64_t>(sizeof(R));
      for (int i = 0; i < inputs; i++, code /= 3) strides[i + 1] = code % 3 * width(i);
      std::vector<char> got(static_cast<size_t>(2 * n + 1) * sizeof(R), 0x5a), want = got;
      char* data[kMaxOperands] = {got.data()};
      for (int i = 0; i < inputs; i++) data[i + 1] = pointer(i);
      loop(data, strides, n, kParams);
      for (int64_t e = 0; e < n; e++) {
        char* one[kMaxOperands] = {want.data() + e * strides[0]};
        int64_t unit[kMaxOperands] = {static_cast<int64_t>(sizeof(R))};
        for (int i = 0; i < inputs; i++) one[i + 1] = pointer(i) + e * strides[i + 1], unit[i + 1] = width(i);
        loop(one, unit, 1, kParams);
      }
      ASSERT_TRUE(same_results<R>(got, want)) << k.name << " " << dtype_name(dtype_of<T>) << " " << isa_name() << " n " << n << " combination " << c;
    }
  }
}

class PointwisePaths : public ::testing::TestWithParam<const PointwiseKernel*> {};

TEST_P(PointwisePaths, AgreeWithSingleElements) {
  std::mt19937 rng(11);
  const PointwiseKernel& k = *GetParam();
  for_each_isa([&] {
    testing::for_all_dtypes([&](auto zero) {
      using T = decltype(zero);
      if (!k.loop(dtype_of<T>)) return;
      if (k.out == Out::boolean) return check_paths<T, bool>(k, rng);
      if constexpr (is_complex<T>::value) {
        if (k.out == Out::real) return check_paths<T, typename T::value_type>(k, rng);
      }
      check_paths<T, T>(k, rng);
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Kernels, PointwisePaths, ::testing::ValuesIn(kKernels), [](const auto& info) { return std::string(info.param->name); });

// --- definitions that special values cannot pin down ---

template <class T> std::vector<T> run(const PointwiseKernel& k, std::vector<std::vector<T>> in, std::vector<Scalar> params = {}) {
  const auto n = static_cast<int64_t>(in[0].size());
  std::vector<T> out(in[0].size());
  const int64_t stride[] = {sizeof(T)};
  std::vector<Operand> operands = {{reinterpret_cast<char*>(out.data()), dtype_of<T>, stride}};
  for (auto& v : in) operands.push_back({reinterpret_cast<char*>(v.data()), dtype_of<T>, stride});
  const std::vector<ScalarType> types(operands.size(), dtype_of<T>);
  run_nd(n, operands, 1, types, k.loop(dtype_of<T>), params.data());
  return out;
}

TEST(Pointwise, IntegerDivisionByZeroRaises) {
  for (const char* name : {"div_floor", "div_trunc", "remainder", "fmod"}) {
    EXPECT_THROW(run<int32_t>(kernel_named(name), {{1, 2}, {1, 0}}), Error) << name;
    EXPECT_THROW(run<uint8_t>(kernel_named(name), {{1, 2}, {1, 0}}), Error) << name;
    // The quotient that does not fit wraps around instead of trapping.
    EXPECT_EQ(run<int64_t>(kernel_named(name), {{INT64_MIN}, {-1}})[0], std::string(name).find("div") == 0 ? INT64_MIN : 0) << name;
  }
}

// Blocks of near quotients, of far ones (beyond exact integers, infinite, undefined) and of both.
template <class T> void check_remainders() {
  const T most = std::numeric_limits<T>::infinity(), tiny = std::numeric_limits<T>::denorm_min();
  std::vector<T> values = {0,    -T(0),    1,       -1,      T(2.5),     T(-2.5), 7, T(0.1), T(0.3), T(-0.7), most, -most, std::numeric_limits<T>::quiet_NaN(),
                           tiny, T(1e-30), T(3e30), 4194304, T(16777217)};
  std::vector<T> a, b;
  for (const T x : values)
    for (const T y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  std::mt19937 random(1);
  for (int i = 0; i < 6000; i++) {
    a.push_back(static_cast<T>(std::ldexp(static_cast<double>(random()) - 2e9, static_cast<int>(random() % 24) - 40)));
    b.push_back(static_cast<T>(std::ldexp(static_cast<double>(random()) - 2e9, static_cast<int>(random() % 24) - 40)));
  }
  const auto fmod = run<T>(fmod_kernel, {a, b}), remainder = run<T>(remainder_kernel, {a, b}), floor = run<T>(div_floor_kernel, {a, b});
  const auto same = [](T x, T y) { return (x == y && std::signbit(x) == std::signbit(y)) || (std::isnan(x) && std::isnan(y)); };
  for (size_t i = 0; i < a.size(); i++) {
    const T f = std::fmod(a[i], b[i]), r = f != 0 && std::signbit(f) != std::signbit(b[i]) ? f + b[i] : f;
    ASSERT_TRUE(same(fmod[i], f)) << a[i] << " " << b[i] << " " << fmod[i];
    ASSERT_TRUE(same(remainder[i], r)) << a[i] << " " << b[i] << " " << remainder[i];
    if (b[i] == 0) {
      ASSERT_TRUE(same(floor[i], a[i] / b[i])) << a[i];
    } else if (std::fabs(a[i] / b[i]) < T(1 << 20) && std::isfinite(b[i])) {
      ASSERT_EQ(floor[i], std::round((a[i] - r) / b[i])) << a[i] << " " << b[i];
    }
  }
}
TEST(Pointwise, RemaindersAreExact) {
  check_remainders<float>();
  check_remainders<double>();
}

TEST(Pointwise, LengthsNeitherOverflowNorVanish) {
  const float most = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();
  const auto single = run<float>(hypot_kernel, {{3, 3e38f, 1e-40f, most, none, none, 0}, {4, 1, 0, none, -most, 1, -0.0f}});
  EXPECT_EQ(single[0], 5);
  EXPECT_EQ(single[1], 3e38f);
  EXPECT_EQ(single[2], 1e-40f);
  EXPECT_EQ(single[3], most);
  EXPECT_EQ(single[4], most);
  EXPECT_TRUE(std::isnan(single[5]));
  EXPECT_EQ(single[6], 0);
  const auto wide = run<double>(hypot_kernel, {{3e300, 1.2e308, 3e-320, 1e-200, 5}, {4e300, 0.9e308, 4e-320, 0, 12}});
  const double expected[] = {5e300, 1.5e308, 5e-320, 1e-200, 13};
  for (size_t i = 0; i < 5; i++) EXPECT_NEAR(wide[i] / expected[i], 1, i == 2 ? 1e-3 : 4e-16) << i;
}

TEST(Pointwise, ClampsKeepNans) {
  const float most = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {-2, -0.5, 0.5, 2, none, most, -most, -1, 1, 0, 3, -3, 0.25f, none, 1.5f, -1.5f, 9};
  const auto inside = run<float>(clamp_kernel, {x}, {-1.0, 1.0}), crossed = run<float>(clamp_kernel, {x}, {1.0, -1.0}),
             unknown = run<float>(clamp_kernel, {x}, {none, 1.0});
  for (size_t i = 0; i < x.size(); i++) {
    const bool kept =
        std::isnan(x[i]) ? std::isnan(inside[i]) && std::isnan(crossed[i]) : inside[i] == std::min(1.0f, std::max(-1.0f, x[i])) && crossed[i] == -1;
    EXPECT_TRUE(kept) << x[i];
    EXPECT_TRUE(std::isnan(unknown[i]));
  }
}

TEST(Pointwise, IntegersWrapAround) {
  EXPECT_EQ(run<int32_t>(add_kernel, {{INT32_MAX}, {1}}, {1})[0], INT32_MIN);
  EXPECT_EQ(run<int64_t>(mul_kernel, {{INT64_MAX}, {2}})[0], -2);
  EXPECT_EQ(run<uint16_t>(mul_kernel, {{65535}, {65535}})[0], 1);
  EXPECT_EQ(run<int8_t>(neg_kernel, {{-128}})[0], -128);
  EXPECT_EQ(run<int16_t>(abs_kernel, {{-32768}})[0], -32768);
  EXPECT_EQ(run<uint8_t>(sub_kernel, {{0}, {1}}, {1})[0], UINT8_MAX);
  EXPECT_EQ(run<int32_t>(pow_kernel, {{3}, {41}})[0], 2069870691);
}

TEST(Pointwise, HalfTypesComputeInFloat) {
  // 2048 + 0.5 * 3 is a tie in half only if 1.5 were rounded first.
  const auto half = run<Half>(add_kernel, {{Half(2048.0f)}, {Half(3.0f)}}, {0.5});
  EXPECT_EQ(static_cast<float>(half[0]), 2050.0f);
  const auto brain = run<BFloat16>(mul_kernel, {{BFloat16(1.0078125f)}, {BFloat16(1.0078125f)}});
  EXPECT_EQ(static_cast<float>(brain[0]), 1.015625f);
}

TEST(Pointwise, NextafterStepsOnTheDtypesOwnGrid) {
  EXPECT_EQ(run<Half>(nextafter_kernel, {{Half(1.0f)}, {Half(2.0f)}})[0].x, 0x3c01);
  EXPECT_EQ(run<BFloat16>(nextafter_kernel, {{BFloat16(0.0f)}, {BFloat16(-1.0f)}})[0].x, 0x8001);
  EXPECT_EQ(run<BFloat16>(nextafter_kernel, {{BFloat16(-1.0f)}, {BFloat16(3.0f)}})[0].x, 0xbf7f);
}

TEST(Pointwise, SpecialFunctionsMatchTheirDefinitions) {
  // Values by mpmath.
  const std::vector<double> x = {0.1, 0.5, 1.0, 1.5, 3.25, 9.5, 40.0, -0.5, -3.75};
  const std::vector<double> digamma = {-10.4237549404110767,  -1.96351002602142348,  -0.57721566490153286,
                                       0.0364899739785765206, 1.01698990689093,      2.19772248838139,
                                       3.67632738013,         0.0364899739785765206, 0.0};
  const auto got = run<double>(digamma_kernel, {x});
  for (size_t i = 0; i < 4; i++) EXPECT_NEAR(got[i], digamma[i], 1e-14 * std::fabs(digamma[i]) + 1e-15);
  EXPECT_NEAR(got[7], digamma[7], 1e-15);
  // digamma(x + 1) = digamma(x) + 1 / x everywhere, reflection included.
  for (double v : {0.3, 2.7, 8.9, 9.5, 30.25, -0.3, -2.6, -7.1}) {
    const auto pair = run<double>(digamma_kernel, {{v, v + 1}});
    EXPECT_NEAR(pair[1], pair[0] + 1 / v, 1e-12 * (1 + std::fabs(pair[0]))) << v;
  }
  std::vector<double> y;
  for (int i = -999; i <= 999; i++) y.push_back(i / 1000.0);
  for (int i = 1; i < 50; i++) y.push_back(1 - std::ldexp(1.0, -i)), y.push_back(std::ldexp(1.0, -20 * i));
  const auto inverse = run<double>(erfinv_kernel, {y});
  for (size_t i = 0; i < y.size(); i++) {
    const double slope = 1.1283791670955126 * std::exp(-inverse[i] * inverse[i]);
    const double error = y[i] > 0.5 ? (1 - y[i]) - std::erfc(inverse[i]) : std::erf(inverse[i]) - y[i];
    EXPECT_LE(std::fabs(error), slope * std::fabs(inverse[i]) * 1e-15 + 2e-16 * std::fabs(y[i] > 0.5 ? 1 - y[i] : y[i])) << y[i];
  }
}

TEST(Pointwise, GradientsAreTheSlopesOfTheirFunctions) {
  struct Pair {
    const PointwiseKernel &forward, &backward;
    std::vector<Scalar> params;
    bool from_result = false;
  };
  const Pair pairs[] = {{tanh_kernel, tanh_backward_kernel, {}, true},
                        {sigmoid_kernel, sigmoid_backward_kernel, {}, true},
                        {leaky_relu_kernel, leaky_relu_backward_kernel, {0.2}},
                        {elu_kernel, elu_backward_kernel, {1.3, 1.1, 0.7}},
                        {elu_kernel, elu_backward_from_result_kernel, {1.3, 1.1, 0.7}, true},
                        {gelu_kernel, gelu_backward_kernel, {}},
                        {gelu_tanh_kernel, gelu_tanh_backward_kernel, {}},
                        {silu_kernel, silu_backward_kernel, {}},
                        {mish_kernel, mish_backward_kernel, {}},
                        {hardsigmoid_kernel, hardsigmoid_backward_kernel, {}},
                        {hardswish_kernel, hardswish_backward_kernel, {}},
                        {softplus_kernel, softplus_backward_kernel, {1.5, 20}},
                        {log_sigmoid_kernel, log_sigmoid_backward_kernel, {}},
                        {hardshrink_kernel, shrink_backward_kernel, {0.5}},
                        {softshrink_kernel, shrink_backward_kernel, {0.5}},
                        {clamp_kernel, hardtanh_backward_kernel, {-1.0, 1.5}}};
  const double h = 1e-6;
  for (const Pair& p : pairs) {
    std::vector<double> x, up, down, grad;
    for (double v = -5.03; v < 5; v += 0.217) x.push_back(v), up.push_back(v + h), down.push_back(v - h), grad.push_back(1.75);
    const auto saved = p.from_result ? run<double>(p.forward, {x}, p.params) : x;
    const auto got = run<double>(p.backward, {grad, saved}, p.params);
    const auto above = run<double>(p.forward, {up}, p.params), below = run<double>(p.forward, {down}, p.params);
    for (size_t i = 0; i < x.size(); i++) EXPECT_NEAR(got[i], 1.75 * (above[i] - below[i]) / (2 * h), 2e-8) << p.backward.name << " at " << x[i];
  }
}

TEST(Pointwise, LossGradientsAreTheSlopesOfTheLosses) {
  struct Pair {
    const PointwiseKernel &forward, &backward;
    std::vector<Scalar> params, backward_params;
  };
  const Pair pairs[] = {{mse_loss_kernel, mse_loss_backward_kernel, {}, {0.5}},
                        {smooth_l1_loss_kernel, smooth_l1_loss_backward_kernel, {0.3}, {0.3, 0.5}},
                        {huber_loss_kernel, huber_loss_backward_kernel, {0.3}, {0.3, 0.5}},
                        {bce_loss_kernel, bce_loss_backward_kernel, {}, {}},
                        {bce_with_logits_loss_kernel, bce_with_logits_loss_backward_kernel, {}, {}}};
  const double h = 1e-6;
  for (const Pair& p : pairs) {
    std::vector<double> x, y, up, down, grad;
    for (double v = 0.05; v < 1; v += 0.031)
      for (double t : {0.0, 0.2, 1.0}) x.push_back(v), y.push_back(t), up.push_back(v + h), down.push_back(v - h), grad.push_back(1.75);
    const auto got = run<double>(p.backward, {grad, x, y}, p.backward_params);
    const auto above = run<double>(p.forward, {up, y}, p.params), below = run<double>(p.forward, {down, y}, p.params);
    const double norm = p.backward_params.empty() ? 1 : 0.5;
    for (size_t i = 0; i < x.size(); i++)
      EXPECT_NEAR(got[i], norm * 1.75 * (above[i] - below[i]) / (2 * h), 1e-6 * (1 + std::fabs(got[i]))) << p.backward.name << " at " << x[i] << ", " << y[i];
  }
}

TEST(Pointwise, BceBoundsItsLogarithms) {
  const auto loss = run<float>(bce_loss_kernel, {{0, 1, 0, 1}, {1, 0, 0, 1}});
  EXPECT_EQ(loss, (std::vector<float>{100, 100, 0, 0}));
}

TEST(Pointwise, WhereAndMasksTakeAnyNonZeroByte) {
  for_each_isa([&] {
    const int64_t n = 100;
    std::vector<uint8_t> cond(n);
    std::vector<float> a(n), b(n), out(n);
    for (int64_t i = 0; i < n; i++) cond[i] = static_cast<uint8_t>(i % 3 * 85), a[i] = static_cast<float>(i), b[i] = -a[i];
    const int64_t shape[] = {n}, one[] = {1}, four[] = {4};
    const Operand operands[] = {{reinterpret_cast<char*>(out.data()), kFloat, four},
                                {reinterpret_cast<char*>(cond.data()), kByte, one},
                                {reinterpret_cast<char*>(a.data()), kFloat, four},
                                {reinterpret_cast<char*>(b.data()), kFloat, four}};
    for (const ScalarType mask : {kByte, kBool}) {
      const ScalarType types[] = {kFloat, mask, kFloat, kFloat};
      run_nd(shape, operands, 1, types, where_kernel.loop(kFloat), nullptr);
      for (int64_t i = 0; i < n; i++) ASSERT_EQ(out[i], cond[i] ? a[i] : b[i]);
    }
  });
}

TEST(Pointwise, EveryKernelNamesItself) {
  std::map<std::string, int> seen;
  for (const PointwiseKernel* k : kKernels) EXPECT_EQ(seen[k->name]++, 0) << k->name;
  EXPECT_EQ(&kernel_named("addcdiv"), &addcdiv_kernel);
}

}  // namespace
}  // namespace cresset::kernels
