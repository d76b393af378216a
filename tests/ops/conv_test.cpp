// Transposed convolutions whose output padding reaches past a stride.
#include "cresset/cresset.h"
#include "cresset/transform/gradcheck.h"
#include "gtest/gtest.h"

namespace cresset {
namespace {

// Each input element adds its multiple of the kernel at i * stride - padding.
Tensor by_definition(const Tensor& x, const Tensor& w, int64_t stride, int64_t padding, int64_t output_padding, int64_t dilation) {
  const int64_t n = x.size(2), k = w.size(2), length = (n - 1) * stride - 2 * padding + dilation * (k - 1) + 1 + output_padding;
  Tensor out = zeros({x.size(0), w.size(1), length}, x.options());
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < k; j++) {
      const int64_t at = i * stride - padding + j * dilation;
      if (at >= 0 && at < length) out.select(2, at).add_(x.select(2, i).mm(w.select(2, j)));
    }
  return out;
}

TEST(ConvTranspose, OutputPaddingOfAStrideOrMore) {
  manual_seed(0);
  for (const int64_t output_padding : {0, 1, 2, 3, 4}) {
    const Tensor x = randn({2, 3, 5}, kDouble).requires_grad_(), w = randn({3, 4, 3}, kDouble).requires_grad_();
    const auto run = [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{conv_transpose1d(in[0], in[1], {}, 2, 2, output_padding, 1, 5)}; };
    NoGradGuard guard;
    EXPECT_TRUE(run({x, w})[0].allclose(by_definition(x, w, 2, 2, output_padding, 5))) << output_padding;
    AutoGradMode enable(true);
    EXPECT_TRUE(autograd::gradcheck(run, {x, w})) << output_padding;
    EXPECT_TRUE(autograd::gradgradcheck(run, {x, w})) << output_padding;
  }
}

}  // namespace
}  // namespace cresset
