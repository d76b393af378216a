// Losses with an operator of their own, against the steps that they stand for.
#include <cmath>

#include "cresset/cresset.h"
#include "error_of.h"
#include "gtest/gtest.h"

namespace cresset {
namespace {

struct Results {
  Tensor loss, grad, second, by_upstream;
};

// Loss, gradient, and the gradients of the gradient's product with `along`.
template <class Loss> Results differentiate(const Tensor& at, const Tensor& upstream, const Tensor& along, Loss loss) {
  Tensor x = at.clone().requires_grad_(), g = upstream.clone().requires_grad_();
  const Tensor y = loss(x);
  y.backward(g, true, true);
  const Tensor dx = x.grad();
  const Results first{y.detach(), dx.detach().clone(), {}, {}};
  x.mutable_grad() = Tensor();
  (dx * along).sum().backward();
  return {first.loss, first.grad, x.grad(), g.grad()};
}

TEST(CrossEntropy, IsNllOfLogSoftmaxWithTwoDerivatives) {
  manual_seed(1);
  const Tensor target = tensor({1, 0, -100, 3, 2}, kLong), weight = rand({4}, kDouble) + 0.5, at = randn({5, 4}, kDouble), along = randn({5, 4}, kDouble);
  for (const bool weighted : {false, true})
    for (const double smoothing : {0.0, 0.2})
      for (const int reduction : {0, 1, 2}) {
        const std::optional<Tensor> w = weighted ? std::optional<Tensor>(weight) : std::nullopt;
        const Tensor upstream = reduction == 0 ? randn({5}, kDouble) : randn({}, kDouble);
        const Results fused = differentiate(at, upstream, along, [&](const Tensor& x) { return cross_entropy_loss(x, target, w, reduction, -100, smoothing); });
        // A trailing dimension takes the composite.
        const Results steps = differentiate(at, upstream, along, [&](const Tensor& x) {
          const Tensor y = cross_entropy_loss(x.unsqueeze(2), target.unsqueeze(1), w, reduction, -100, smoothing);
          return reduction == 0 ? y.squeeze(1) : y;
        });
        const auto same = [](const Tensor& a, const Tensor& b) { return allclose(a, b, 1e-12, 1e-13); };
        EXPECT_TRUE(same(fused.loss, steps.loss));
        EXPECT_TRUE(same(fused.grad, steps.grad));
        EXPECT_TRUE(same(fused.second, steps.second));
        EXPECT_TRUE(same(fused.by_upstream, steps.by_upstream));
      }
}

TEST(BinaryCrossEntropy, SizesOfOneDoNotCount) {
  const Tensor x = tensor({0.9f, 0.1f}).view({2, 1}).requires_grad_(true), y = tensor({1.0f, 0.0f});
  const Tensor loss = binary_cross_entropy(x, y);
  EXPECT_NEAR(loss.item<float>(), -std::log(0.9f), 1e-6);
  loss.backward();
  EXPECT_EQ(x.grad().sizes(), x.sizes());
  EXPECT_EQ(binary_cross_entropy(x, y, {}, 0).sizes(), x.sizes());
  EXPECT_EQ(binary_cross_entropy(x.view(-1), y.view({2, 1}), {}, 0).sizes(), y.sizes());
  EXPECT_EQ(binary_cross_entropy(rand({3, 2}), y, {}, 0).sizes(), IntArrayRef({3, 2}));
  EXPECT_NE(error_of([&] { binary_cross_entropy(x, ones({4})); }), "no error");
}

}  // namespace
}  // namespace cresset
