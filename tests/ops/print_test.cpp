// The text of tensors is LibTorch's, character for character (taken from LibTorch 2.13), except that complex numbers keep their imaginary part.
#include <cmath>
#include <sstream>

#include "cresset/cresset.h"
#include "gtest/gtest.h"

namespace cresset {
namespace {

template <class T> std::string text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST(Print, Number) { EXPECT_EQ(text(tensor(3.5)), "3.5\n[ CPUFloatType{} ]"); }
TEST(Print, Undefined) { EXPECT_EQ(text(Tensor()), "[ Tensor (undefined) ]"); }

TEST(Print, ToStringNamesTheKind) {
  EXPECT_EQ(Tensor().toString(), "UndefinedType");
  EXPECT_EQ(ones({2}, kDouble).toString(), "CPUDoubleType");
}
TEST(Print, Empty) { EXPECT_EQ(text(empty({2, 0})), "[ CPUFloatType{2,0} ]"); }
TEST(Print, VectorOfIntegers) { EXPECT_EQ(text(tensor({1, 2, 300})), "   1\n   2\n 300\n[ CPULongType{3} ]"); }
TEST(Print, VectorOfFarApartNumbers) { EXPECT_EQ(text(tensor({1.5, -2.25, 3e5})), " 1.5000e+00\n-2.2500e+00\n 3.0000e+05\n[ CPUFloatType{3} ]"); }
TEST(Print, NonFinite) { EXPECT_EQ(text(tensor({double(NAN), 1.0, double(INFINITY)})), "nan\n 1\ninf\n[ CPUFloatType{3} ]"); }
TEST(Print, Matrix) { EXPECT_EQ(text(arange(4, kInt).view({2, 2})), " 0  1\n 2  3\n[ CPUIntType{2,2} ]"); }
TEST(Print, MatrixWithCommonFactor) {
  EXPECT_EQ(text(tensor({{857930.5, 448600.25}, {513900.5, 456870.5}})), "100000 *\n 8.5793  4.4860\n  5.1390  4.5687\n[ CPUFloatType{2,2} ]");
}
TEST(Print, MatricesOfALargerTensor) {
  EXPECT_EQ(text(arange(8, kInt).view({2, 1, 2, 2})), "(1,1,.,.) = \n 0  1\n  2  3\n\n(2,1,.,.) = \n 4  5\n  6  7\n[ CPUIntType{2,1,2,2} ]");
}
TEST(Print, WideMatrixIsBrokenIntoBlocks) {
  const std::string printed = text(arange(60).view({2, 30}));
  EXPECT_EQ(printed.substr(0, printed.find('\n')), "Columns 1 to 20  0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15  16  17  18  19");
  EXPECT_NE(printed.find("\n\nColumns 21 to 30 20  21"), std::string::npos) << printed;
}
TEST(Print, Complex) {
  const Tensor z = view_as_complex(tensor({{1.0, -2.0}, {0.0, 1.0}}));
  EXPECT_EQ(text(z), " 1-2j\n 0+1j\n[ CPUComplexFloatType{2} ]");
}
TEST(Print, Options) {
  EXPECT_EQ(text(TensorOptions()),
            "TensorOptions(dtype=float (default), device=cpu (default), layout=Strided (default), requires_grad=false "
            "(default), pinned_memory=false (default), memory_format=(nullopt))");
  EXPECT_EQ(text(TensorOptions(kHalf).requires_grad(true).memory_format(MemoryFormat::ChannelsLast)),
            "TensorOptions(dtype=c10::Half, device=cpu (default), layout=Strided (default), requires_grad=true, pinned_memory=false (default), "
            "memory_format=ChannelsLast)");
}

}  // namespace
}  // namespace cresset
