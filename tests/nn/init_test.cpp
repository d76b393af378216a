// Initialisers give PyTorch's numbers, to the bit; helpers over lists of parameters.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "cresset/cresset.h"

namespace {

using namespace cresset;
namespace init = nn::init;

void check(const std::string& name, std::vector<int64_t> shape, const std::function<Tensor(Tensor)>& fill, float tolerance = 0) {
  static const std::map<std::string, std::vector<float>> golden = {
#include "golden_init.inc"
  };
  const std::vector<float>& expected = golden.at(name);
  manual_seed(7);
  const Tensor t = cresset::zeros(shape);
  EXPECT_TRUE(fill(t).is_same(t));
  ASSERT_EQ(static_cast<size_t>(t.numel()), expected.size());
  for (size_t i = 0; i < expected.size(); i++) EXPECT_NEAR(t.data_ptr<float>()[i], expected[i], tolerance) << name << " at " << i;
}

TEST(Init, Uniform) {
  check("uniform", {3, 4}, [](Tensor t) { return init::uniform_(t, -0.3, 0.7); });
}
TEST(Init, Normal) {
  check("normal", {3, 4}, [](Tensor t) { return init::normal_(t, 0.2, 1.5); });
}
TEST(Init, NormalOfManyElements) {
  check("large_normal", {9, 4}, [](Tensor t) { return init::normal_(t); });
}
TEST(Init, XavierUniform) {
  check("xavier_uniform", {4, 3}, [](Tensor t) { return init::xavier_uniform_(t, 1.3); });
}
TEST(Init, XavierNormal) {
  check("xavier_normal", {4, 3, 2}, [](Tensor t) { return init::xavier_normal_(t); });
}
TEST(Init, KaimingUniform) {
  check("kaiming_uniform", {4, 3, 2}, [](Tensor t) { return init::kaiming_uniform_(t, 0.3); });
}
TEST(Init, KaimingUniformRelu) {
  check("kaiming_uniform_relu", {4, 3}, [](Tensor t) { return init::kaiming_uniform_(t, 0, kFanOut, kReLU); });
}
TEST(Init, KaimingNormal) {
  check("kaiming_normal", {5, 3}, [](Tensor t) { return init::kaiming_normal_(t, 0.1, kFanOut); });
}
TEST(Init, Dirac) {
  check("dirac", {4, 2, 3}, [](Tensor t) { return init::dirac_(t, 2); });
}
TEST(Init, Eye) {
  check("eye", {2, 3}, [](Tensor t) { return init::eye_(t); });
}
TEST(Init, Sparse) {
  check("sparse", {5, 3}, [](Tensor t) { return init::sparse_(t, 0.4, 0.5); });
}
TEST(Init, OrthogonalWide) {
  check(
      "orthogonal", {3, 5}, [](Tensor t) { return init::orthogonal_(t, 1.2); }, 1e-6f);
}
TEST(Init, OrthogonalTall) {
  check(
      "orthogonal_tall", {4, 2}, [](Tensor t) { return init::orthogonal_(t); }, 1e-6f);
}

TEST(Init, Gains) {
  EXPECT_EQ(init::calculate_gain(kLinear), 1.0);
  EXPECT_EQ(init::calculate_gain(kTanh), 5.0 / 3.0);
  EXPECT_EQ(init::calculate_gain(kReLU), std::sqrt(2.0));
  EXPECT_EQ(init::calculate_gain(kLeakyReLU, 0.5), std::sqrt(2.0 / 1.25));
}

TEST(Init, RefusesTooFewDimensions) {
  EXPECT_THROW(init::xavier_uniform_(cresset::zeros({3})), cresset::ValueError);
  EXPECT_THROW(init::eye_(cresset::zeros({3})), cresset::ValueError);
  EXPECT_THROW(init::dirac_(cresset::zeros({3, 3})), cresset::ValueError);
}

Tensor with_grad(std::vector<float> grad) {
  Tensor t = cresset::zeros({static_cast<int64_t>(grad.size())}).requires_grad_();
  t.mutable_grad() = cresset::tensor(grad);
  return t;
}

TEST(Utils, ClipsTheJointNorm) {
  const std::vector<Tensor> parameters = {with_grad({3, 0}), with_grad({4}), cresset::zeros({2}).requires_grad_()};
  EXPECT_FLOAT_EQ(static_cast<float>(nn::utils::clip_grad_norm_(parameters, 1.0)), 5.0f);
  EXPECT_NEAR(parameters[0].grad()[0].item<float>(), 0.6f, 1e-6);
  EXPECT_NEAR(parameters[1].grad()[0].item<float>(), 0.8f, 1e-6);
  EXPECT_NEAR(nn::utils::clip_grad_norm_(parameters, 10.0), 1.0, 1e-6);
  EXPECT_NEAR(parameters[1].grad()[0].item<float>(), 0.8f, 1e-6);
}

TEST(Utils, ClipsTheLargestElement) {
  const std::vector<Tensor> parameters = {with_grad({3, -8})};
  EXPECT_EQ(nn::utils::clip_grad_norm_(parameters, 2.0, std::numeric_limits<double>::infinity()), 8.0);
  EXPECT_NEAR(parameters[0].grad()[1].item<float>(), -2.0f, 1e-5);
}

TEST(Utils, ClipReportsNorms) {
  EXPECT_EQ(nn::utils::clip_grad_norm_(std::vector<Tensor>(), 1.0), 0.0);
  const std::vector<Tensor> parameters = {with_grad({INFINITY})};
  EXPECT_THROW(nn::utils::clip_grad_norm_(parameters, 1.0, 2.0, true), cresset::Error);
}

TEST(Utils, ClipsValues) {
  const Tensor parameter = with_grad({3, -8, 0.5});
  nn::utils::clip_grad_value_(parameter, 1.0);
  EXPECT_TRUE(equal(parameter.grad(), cresset::tensor(std::vector<float>{1, -1, 0.5})));
}

TEST(Utils, ParametersToVectorAndBack) {
  nn::Linear linear(3, 2), other(3, 2);
  const Tensor flat = nn::utils::parameters_to_vector(linear->parameters());
  EXPECT_EQ(flat.numel(), 8);
  nn::utils::vector_to_parameters(flat, other->parameters());
  EXPECT_TRUE(equal(linear->weight, other->weight));
  EXPECT_TRUE(equal(linear->bias, other->bias));
  EXPECT_THROW(nn::utils::vector_to_parameters(flat.narrow(0, 0, 7), other->parameters()), cresset::Error);
}

}  // namespace
