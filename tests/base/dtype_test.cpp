// Promotion, casting and rounding against tables that PyTorch wrote (golden_dtype.py).

#include <gtest/gtest.h>

#include <cmath>

#include "cresset/tensor.h"

namespace cresset {
namespace {

#include "golden_dtype.inc"

constexpr ScalarType kTypes[] = {kByte,         kChar,          kShort, kInt,      kLong,   kHalf,   kFloat, kDouble,
                                 kComplexFloat, kComplexDouble, kBool,  kBFloat16, kUInt16, kUInt32, kUInt64};
constexpr size_t kCount = std::size(kTypes);
static_assert(std::size(kNames) == kCount);

template <class F> std::string name_of(F&& f) {
  try {
    return dtype_name(f());
  } catch (const Error&) { return "error"; }
}

Tensor ones(ScalarType t, int64_t dims) { return cresset::ones(DimVector(static_cast<size_t>(dims), 2), TensorOptions(t)); }

TEST(DType, NamesAreThoseOfPython) {
  for (size_t i = 0; i < kCount; i++) EXPECT_STREQ(dtype_name(kTypes[i]), kNames[i]);
}

TEST(DType, CategoriesAndSizes) {
  for (const ScalarType t : kTypes) {
    const std::string name = dtype_name(t);
    const bool is_complex = name.rfind("complex", 0) == 0, is_float = name.find("float") != std::string::npos;
    EXPECT_EQ(is_complex_type(t), is_complex) << name;
    EXPECT_EQ(is_floating_type(t), is_float) << name;
    EXPECT_EQ(is_integral_type(t, false), !is_complex && !is_float && t != kBool) << name;
    EXPECT_EQ(is_integral_type(t, true), !is_complex && !is_float) << name;
    EXPECT_EQ(is_signed_type(t), name[0] != 'u' && t != kBool) << name;
    EXPECT_EQ(is_differentiable_type(t), is_complex || is_float) << name;
    const size_t digits = name.find_first_of("0123456789");
    EXPECT_EQ(element_size(t), t == kBool ? 1 : static_cast<size_t>(std::stoi(name.substr(digits))) / 8) << name;
  }
}

TEST(Promotion, OfTwoDtypes) {
  for (size_t a = 0; a < kCount; a++)
    for (size_t b = 0; b < kCount; b++)
      EXPECT_EQ(name_of([&] { return promote_types(kTypes[a], kTypes[b]); }), kPromoteTypes[a][b]) << kNames[a] << ' ' << kNames[b];
}

TEST(Promotion, OfTensorsWithDimensions) {
  for (size_t a = 0; a < kCount; a++)
    for (size_t b = 0; b < kCount; b++)
      EXPECT_EQ(name_of([&] { return result_type(ones(kTypes[a], 1), ones(kTypes[b], 2)); }), kPromoteTypes[a][b]) << kNames[a] << ' ' << kNames[b];
}

TEST(Promotion, OfTensorsWithoutDimensions) {
  for (size_t a = 0; a < kCount; a++)
    for (size_t b = 0; b < kCount; b++) {
      EXPECT_EQ(name_of([&] { return result_type(ones(kTypes[a], 1), ones(kTypes[b], 0)); }), kTensorWithZeroDim[a][b]) << kNames[a] << ' ' << kNames[b];
      EXPECT_EQ(name_of([&] { return result_type(ones(kTypes[b], 0), ones(kTypes[a], 1)); }), kTensorWithZeroDim[a][b]) << kNames[b] << ' ' << kNames[a];
      EXPECT_EQ(name_of([&] { return result_type(ones(kTypes[a], 0), ones(kTypes[b], 0)); }), kPromoteTypes[a][b]) << kNames[a] << ' ' << kNames[b];
    }
}

TEST(Promotion, OfTensorsAndNumbers) {
  const Scalar numbers[] = {true, 1, 1.5, complex<double>(0, 1)};
  for (size_t a = 0; a < kCount; a++)
    for (size_t n = 0; n < 4; n++) {
      EXPECT_EQ(name_of([&] { return result_type(ones(kTypes[a], 1), numbers[n]); }), kTensorWithNumber[a][n]) << kNames[a] << ' ' << n;
      EXPECT_EQ(name_of([&] { return result_type(ones(kTypes[a], 0), numbers[n]); }), kZeroDimWithNumber[a][n]) << kNames[a] << ' ' << n;
    }
}

// Result dtypes of operators; complex32 has no kernels.
TEST(Promotion, OfMultiplication) {
  for (size_t a = 0; a < kCount; a++)
    for (size_t b = 0; b < kCount; b++) {
      EXPECT_EQ(name_of([&] { return (ones(kTypes[a], 1) * ones(kTypes[b], 1)).dtype(); }), kPromoteTypes[a][b]) << kNames[a] << ' ' << kNames[b];
      if (std::string(kTensorWithZeroDim[a][b]) == "complex32") continue;
      EXPECT_EQ(name_of([&] { return (ones(kTypes[a], 1) * ones(kTypes[b], 0)).dtype(); }), kTensorWithZeroDim[a][b]) << kNames[a] << ' ' << kNames[b];
    }
}

TEST(Promotion, OfTrueDivision) {
  for (size_t a = 0; a < kCount; a++) EXPECT_EQ(name_of([&] { return (ones(kTypes[a], 1) / ones(kTypes[a], 1)).dtype(); }), kTrueDivide[a]) << kNames[a];
}

TEST(Promotion, FollowsTheDefaultDtype) {
  set_default_dtype(kDouble);
  const ScalarType divided = (ones(kInt, 1) / ones(kInt, 1)).dtype(), with_float = result_type(ones(kInt, 1), 1.5),
                   with_complex = result_type(ones(kInt, 1), complex<double>(0, 1));
  set_default_dtype(kFloat);
  EXPECT_EQ(divided, kDouble);
  EXPECT_EQ(with_float, kDouble);
  EXPECT_EQ(with_complex, kComplexDouble);
}

TEST(Casting, WhatMayBeWrittenInto) {
  for (size_t a = 0; a < kCount; a++)
    for (size_t b = 0; b < kCount; b++)
      EXPECT_EQ(can_cast(kTypes[a], kTypes[b]) ? "yes" : "no", std::string(kCanCast[a][b])) << kNames[a] << " to " << kNames[b];
}

float from_bits(uint32_t bits) {
  float v;
  std::memcpy(&v, &bits, 4);
  return v;
}

TEST(Rounding, FloatToHalfAndBFloat16) {
  for (const auto& [bits, half, bfloat] : kRounding) {
    const float v = from_bits(bits);
    if (std::isnan(v)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(v))) && std::isnan(static_cast<float>(BFloat16(v)))) << std::hex << bits;
      continue;
    }
    EXPECT_EQ(Half(v).x, half) << std::hex << bits;
    EXPECT_EQ(BFloat16(v).x, bfloat) << std::hex << bits;
  }
}

// The same through the vector kernels, where the conversion is the processor's.
TEST(Rounding, OfWholeTensors) {
  const size_t n = std::size(kRounding);
  Tensor t = cresset::empty({static_cast<int64_t>(n)});
  for (size_t i = 0; i < n; i++) t.data_ptr<float>()[i] = from_bits(kRounding[i][0]);
  const Tensor half = t.to(kHalf), bfloat = t.to(kBFloat16);
  for (size_t i = 0; i < n; i++) {
    if (std::isnan(t.data_ptr<float>()[i])) continue;
    EXPECT_EQ(half.data_ptr<Half>()[i].x, kRounding[i][1]) << std::hex << kRounding[i][0];
    EXPECT_EQ(bfloat.data_ptr<BFloat16>()[i].x, kRounding[i][2]) << std::hex << kRounding[i][0];
  }
}

TEST(Rounding, EveryHalfSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 65536; bits++) {
    const Half h(static_cast<uint16_t>(bits), Half::from_bits());
    const BFloat16 b(static_cast<uint16_t>(bits), BFloat16::from_bits());
    const float fh = h, fb = b;
    // IEEE 754: sign, 5 bits of exponent, 10 of mantissa.
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const double mantissa = bits & 1023;
    const double value = (bits >> 15 ? -1 : 1) * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
    EXPECT_TRUE(exponent == 31 || fh == static_cast<float>(value)) << bits;
    EXPECT_TRUE(std::isnan(fh) || Half(fh).x == bits) << bits;
    EXPECT_TRUE(std::isnan(fb) || BFloat16(fb).x == bits) << bits;
  }
}

TEST(Rounding, Limits) {
  EXPECT_EQ(static_cast<float>(std::numeric_limits<Half>::max()), 65504.f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<Half>::epsilon()), 0.0009765625f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<Half>::min()), 6.103515625e-05f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<BFloat16>::epsilon()), 0.0078125f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<BFloat16>::max()), 3.3895313892515355e+38f);
  EXPECT_TRUE(std::isinf(static_cast<float>(std::numeric_limits<BFloat16>::infinity())));
}

}  // namespace
}  // namespace cresset
