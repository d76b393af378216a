// Scalar, Device and the errors.

#include "cresset/base/scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cresset/base/device.h"
#include "cresset/base/small_vector.h"
#include "tests/error_of.h"

namespace cresset {
namespace {

TEST(ScalarTest, KeepsItsCategory) {
  EXPECT_EQ(Scalar(true).type(), kBool);
  EXPECT_EQ(Scalar(3).type(), kLong);
  EXPECT_EQ(Scalar(int8_t{-3}).type(), kLong);
  EXPECT_EQ(Scalar(2.5f).type(), kDouble);
  EXPECT_EQ(Scalar(Half(2.5f)).type(), kDouble);
  EXPECT_EQ(Scalar(complex<float>(1, 2)).type(), kComplexDouble);
  EXPECT_EQ(Scalar(uint64_t{5}).type(), kLong);
  EXPECT_EQ(Scalar(std::numeric_limits<uint64_t>::max()).type(), kUInt64);
  EXPECT_TRUE(Scalar(true).isIntegral(true));
  EXPECT_FALSE(Scalar(true).isIntegral(false));
}

TEST(ScalarTest, ConvertsWhatFits) {
  EXPECT_EQ(Scalar(300).to<int16_t>(), 300);
  EXPECT_EQ(Scalar(2.75).to<int64_t>(), 2);
  EXPECT_EQ(Scalar(true).to<double>(), 1.0);
  EXPECT_EQ(Scalar(-1.5).to<float>(), -1.5f);
  EXPECT_EQ(Scalar(std::numeric_limits<uint64_t>::max()).to<uint64_t>(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(Scalar(int64_t{-9007199254740993}).toLong(), -9007199254740993);
  EXPECT_EQ(Scalar(3).toComplexDouble(), complex<double>(3, 0));
  EXPECT_TRUE(std::isinf(Scalar(std::numeric_limits<double>::infinity()).to<float>()));
  EXPECT_TRUE(std::isnan(Scalar(std::nan("")).to<float>()));
  EXPECT_TRUE(Scalar(-0.5).toBool());
  EXPECT_FALSE(Scalar(0).toBool());
}

TEST(ScalarTest, RefusesWhatOverflows) {
  EXPECT_NE(error_of([] { Scalar(300).to<int8_t>(); }), "no error");
  EXPECT_NE(error_of([] { Scalar(1e300).to<float>(); }), "no error");
  EXPECT_NE(error_of([] { Scalar(1e300).to<int64_t>(); }), "no error");
  EXPECT_NE(error_of([] { Scalar(std::nan("")).to<int>(); }), "no error");
  EXPECT_NE(error_of([] { Scalar(complex<double>(1, 2)).to<double>(); }), "no error");
  EXPECT_EQ(Scalar(complex<double>(1, 0)).to<double>(), 1.0);
  EXPECT_THROW(Scalar(300).to<int8_t>(), std::runtime_error);
}

TEST(ScalarTest, NegatesAndConjugates) {
  EXPECT_EQ((-Scalar(3)).toLong(), -3);
  EXPECT_EQ((-Scalar(2.5)).toDouble(), -2.5);
  EXPECT_EQ((-Scalar(complex<double>(1, -2))).toComplexDouble(), complex<double>(-1, 2));
  EXPECT_EQ(Scalar(complex<double>(1, -2)).conj().toComplexDouble(), complex<double>(1, 2));
  EXPECT_TRUE(Scalar(1).equal(1.0));
  EXPECT_FALSE(Scalar(complex<double>(1, 1)).equal(1.0));
}

TEST(ScalarTest, TruthValuesEqualTruthValuesAlone) {
  EXPECT_TRUE(Scalar(true).equal(true));
  EXPECT_FALSE(Scalar(true).equal(1.0) || Scalar(true).equal(1) || Scalar(1.0).equal(true) || Scalar(1).equal(true));
  EXPECT_FALSE(Scalar(true).equal(complex<double>(1, 0)));
  EXPECT_TRUE(Scalar(true).is(1) && Scalar(false).is(0) && Scalar(2.5).is(2.5) && !Scalar(false).is(1));
}

TEST(DeviceTest, ParsesWhatPythonWrites) {
  EXPECT_EQ(Device("cpu"), Device(kCPU));
  EXPECT_EQ(Device("cuda"), Device(kCUDA));
  EXPECT_EQ(Device("cuda:1"), Device(kCUDA, 1));
  EXPECT_EQ(Device("meta"), Device(kMeta));
  EXPECT_EQ(Device("cuda:12").str(), "cuda:12");
  EXPECT_EQ(Device("cpu").str(), "cpu");
  EXPECT_FALSE(Device("cuda").has_index());
  EXPECT_NE(Device("cuda"), Device("cuda:0"));
  EXPECT_EQ(std::hash<Device>()(Device("cuda:1")), std::hash<Device>()(Device(kCUDA, 1)));
}

TEST(DeviceTest, RefusesEverythingElse) {
  for (const char* text : {"", ":", "cuda:", "cuda:-1", "cuda:01", "cuda:1x", "cuda:128", "cuda:1:2", "CPU", "tpu", " cpu", "cpu "})
    EXPECT_NE(error_of([&] { Device{text}; }).find("device: "), std::string::npos) << text;
  EXPECT_EQ(error_of([] { Device("tpu:1"); }), "device: unknown device type in \"tpu:1\", expected cpu, cuda, meta or a registered name");
}

TEST(DeviceTest, TypesRegisterByName) {
  const DeviceType t = register_device_type("spare");
  EXPECT_EQ(register_device_type("spare"), t);
  EXPECT_EQ(Device("spare:3"), Device(t, 3));
  EXPECT_STREQ(device_type_name(t), "spare");
  EXPECT_EQ(register_device_type("cpu"), kCPU);
  for (const char* name : {"", "3d", "a-b", "a:b", "_x"})
    EXPECT_NE(error_of([&] { register_device_type(name); }).find("expected an identifier"), std::string::npos) << name;
}

TEST(ErrorTest, JoinsItsParts) {
  const DimVector sizes{2, 3};
  EXPECT_EQ(str("add: got ", IntArrayRef(sizes), ", ", kFloat, ", ", 1.5, " and ", true, ' ', uint64_t{7}), "add: got [2, 3], float32, 1.5 and true 7");
}

TEST(ErrorTest, HasAKindAndTakesContext) {
  EXPECT_NE(error_of<IndexError>([] { CRESSET_CHECK_INDEX(false, "x"); }), "no error");
  EXPECT_NE(error_of<ValueError>([] { CRESSET_CHECK_VALUE(1 > 2, "x"); }), "no error");
  EXPECT_NE(error_of<TypeError>([] { CRESSET_CHECK_TYPE(false, "x"); }), "no error");
  EXPECT_NE(error_of<NotImplementedError>([] { CRESSET_CHECK_NOT_IMPLEMENTED(false, "x"); }), "no error");
  EXPECT_EQ(error_of([] { CRESSET_CHECK(true, "x"); }), "no error");
  Error e("linear: wrong shape");
  e.add_module("linear1");
  e.add_module("encoder");
  EXPECT_STREQ(e.what(), "encoder.linear1: linear: wrong shape");
}

TEST(ErrorTest, PartsAreOnlyMadeWhenNeeded) {
  int made = 0;
  auto part = [&] {
    made++;
    return "text";
  };
  CRESSET_CHECK(true, part());
  EXPECT_EQ(made, 0);
}

}  // namespace
}  // namespace cresset
