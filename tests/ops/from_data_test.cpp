// Tensors from numbers and from memory, with LibTorch's dtypes.
#include "cresset/cresset.h"
#include "gtest/gtest.h"

namespace cresset {
namespace {

TEST(FromData, IntegersAreInt64AndFloatsHaveTheDefaultDtype) {
  EXPECT_EQ(tensor({0, 7}).scalar_type(), kLong);
  EXPECT_EQ(tensor(std::vector<int>{1}).scalar_type(), kLong);
  EXPECT_EQ(tensor(std::vector<short>{1}).scalar_type(), kShort);
  EXPECT_EQ(tensor({0.5, 1.}).scalar_type(), kFloat);
  EXPECT_EQ(tensor({true}).scalar_type(), kBool);
  set_default_dtype(kDouble);
  const ScalarType of_float = tensor(std::vector<float>{1}).scalar_type();
  set_default_dtype(kFloat);
  EXPECT_EQ(of_float, kDouble);
}
TEST(FromData, NestedListsOfDifferentLengthsAreRefused) { EXPECT_THROW(tensor({{1, 2}, {3}}), Error); }
TEST(FromData, ABlobIsSharedAndItsDeleterRunsOnce) {
  float memory[4] = {1, 2, 3, 4};
  int deleted = 0;
  {
    Tensor blob = from_blob(memory, {2, 2}, [&](void*) { deleted++; });
    Tensor view = blob.t();
    blob = Tensor();
    view[0][1] = 9;
    EXPECT_EQ(memory[2], 9);
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
}
TEST(FromData, ABlobReachesNoFurtherThan64BitsCount) {
  float memory[4] = {};
  const int64_t big = int64_t{1} << 62;
  EXPECT_THROW(from_blob(memory, {5}, {big}), Error);
  EXPECT_THROW(from_blob(memory, {big, 2}), Error) << "whose bytes overflow";
  EXPECT_EQ(from_blob(memory, {0, 5}, {big, big}).numel(), 0);
}
TEST(FromData, AssignmentToATemporaryWritesThroughIt) {
  Tensor x = zeros({2, 2});
  const Tensor row = x[1];
  x[0] = tensor({1.f, 2.f});
  x[1][0] = 3;
  EXPECT_TRUE(x.equal(tensor({{1.f, 2.f}, {3.f, 0.f}})));
  Tensor other = row;
  other = ones({2});
  EXPECT_EQ(row[0].item<float>(), 3) << "assignment to a variable binds it anew";
}

}  // namespace
}  // namespace cresset
