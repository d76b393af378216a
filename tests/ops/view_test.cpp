// In-place forms of views change the geometry of the tensor itself, count as a modification and differentiate. Views that exchange dimensions.
#include "cresset/cresset.h"
#include "gtest/gtest.h"

namespace cresset {
namespace {

TEST(InPlaceView, ChangesTheTensorItself) {
  Tensor x = arange(6).view({2, 3});
  const int64_t version = x._version();
  EXPECT_TRUE(x.t_().is_same(x));
  EXPECT_EQ(x.sizes(), IntArrayRef({3, 2}));
  EXPECT_EQ(x._version(), version + 1);
  EXPECT_EQ(x.unsqueeze_(0).squeeze_().transpose_(0, 1).sizes(), IntArrayRef({2, 3}));
  EXPECT_TRUE(x.equal(arange(6).view({2, 3})));
}
TEST(InPlaceView, Differentiates) {
  const Tensor x = ones({2, 3}, TensorOptions().requires_grad(true));
  Tensor y = x * 2;
  y.t_().unsqueeze_(0);
  (y * arange(6).view({1, 3, 2})).sum().backward();
  EXPECT_TRUE(x.grad().equal(tensor({{0.f, 4.f, 8.f}, {2.f, 6.f, 10.f}})));
}
TEST(InPlaceView, OfAViewWritesToItsBase) {
  const Tensor x = ones({2, 3}, TensorOptions().requires_grad(true));
  const Tensor z = x.clone();
  Tensor row = z[0];
  row.unsqueeze_(0);
  row.mul_(3);
  z.sum().backward();
  EXPECT_TRUE(x.grad().equal(tensor({{3.f, 3.f, 3.f}, {1.f, 1.f, 1.f}})));
}
TEST(InPlaceView, OfALeafIsRefused) { EXPECT_THROW(ones({2, 2}, TensorOptions().requires_grad(true)).t_(), Error); }

TEST(Transposed, HasEveryName) {
  const Tensor x = view_as_complex(arange(12.f).view({2, 3, 2}));
  EXPECT_TRUE(x.mH().equal(x.t().conj()));
  EXPECT_TRUE(x.matrix_H().equal(x.t().conj()));
  EXPECT_TRUE(x.numpy_T().equal(x.t()));
  EXPECT_EQ(zeros({2, 3, 4}).numpy_T().sizes(), IntArrayRef({4, 3, 2}));
  EXPECT_TRUE(linalg_diagonal(x).equal(x.diagonal()));
  EXPECT_THROW(ones({3}).mH(), Error);
  EXPECT_THROW(ones({2, 2, 2}).matrix_H(), Error);
}
TEST(NonzeroNumpy, IsWhereOfOneArgument) {
  const Tensor x = tensor({{0, 5}, {6, 0}});
  const std::vector<Tensor> places = where(x);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_TRUE(places[0].equal(tensor({0, 1})));
  EXPECT_TRUE(x.nonzero_numpy()[1].equal(places[1]));
  EXPECT_EQ(tensor(3).nonzero_numpy().size(), 1u);
}
TEST(Vander, GoesDownUnlessItIncreases) {
  const Tensor x = tensor({2, 3});
  EXPECT_TRUE(vander(x, 3).equal(tensor({{4, 2, 1}, {9, 3, 1}})));
  EXPECT_TRUE(vander(x, 3, true).equal(linalg_vander(x, 3)));
  EXPECT_THROW(vander(x, -1), Error);
}

}  // namespace
}  // namespace cresset
