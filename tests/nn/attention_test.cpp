// Attention under kernels, masks and functions of one's choice; products in groups. The plain operator, and sums written out, are the reference.

#include "cresset/nn/layers/attention.h"

#include <gtest/gtest.h>

#include "cresset/cresset.h"
#include "cresset/nn/layers/products.h"
#include "cresset/nn/more.h"
#include "tests/error_of.h"

namespace {

using namespace cresset;
namespace F = nn::functional;
using namespace nn::attention;

Tensor waves(std::vector<int64_t> shape) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return (arange(n, kDouble) * 0.7).sin().view(shape);
}
const Tensor q = waves({1, 2, 3, 4}), k = waves({1, 2, 5, 4}) * 0.5, v = waves({1, 2, 5, 2}) + 1;
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
Tensor causal(const Tensor&, const Tensor&, const Tensor& q_idx, const Tensor& kv_idx) { return q_idx.ge(kv_idx); }
std::vector<int> numbers(const Tensor& t) {
  const Tensor flat = t.to(kInt).contiguous();
  return std::vector<int>(flat.data_ptr<int>(), flat.data_ptr<int>() + flat.numel());
}

TEST(Attention, OnlyAllowedKernelsServeIt) {
  const Tensor wanted = F::scaled_dot_product_attention(q, k, v);
  {
    const sdpa_kernel some({SDPBackend::EFFICIENT_ATTENTION, SDPBackend::MATH});
    EXPECT_TRUE(equal(F::scaled_dot_product_attention(q, k, v), wanted));
    const sdpa_kernel none(SDPBackend::CUDNN_ATTENTION);
    EXPECT_TRUE(contains(error_of([] { F::scaled_dot_product_attention(q, k, v); }), "at least one of its kernels"));
    nn::MultiheadAttention layer(4, 2);
    const sdpa_kernel flash(SDPBackend::FLASH_ATTENTION);
    EXPECT_TRUE(equal(F::scaled_dot_product_attention(q, k, v), wanted));
  }
  EXPECT_TRUE(equal(F::scaled_dot_product_attention(q, k, v), wanted));
  WARN_FOR_UNFUSED_KERNELS = true;
  testing::internal::CaptureStderr();
  {
    const sdpa_kernel none(std::vector<SDPBackend>{});
    EXPECT_FALSE(error_of([] { F::scaled_dot_product_attention(q, k, v); }).empty());
  }
  WARN_FOR_UNFUSED_KERNELS = false;
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "only kernels of other devices"));
}

TEST(Attention, ImplementationsAreRegisteredAndPutInPlace) {
  std::string calls;
  register_flash_attention_impl("test", [&] { return calls += 'i', std::function<void()>([&] { calls += 'o'; }); });
  EXPECT_EQ(list_flash_attention_impls(), (std::vector<std::string>{"FA3", "FA4", "test"}));
  activate_flash_attention_impl("test");
  activate_flash_attention_impl("test");
  EXPECT_EQ(current_flash_attention_impl(), "test");
  EXPECT_TRUE(contains(error_of([] { activate_flash_attention_impl("FA3"); }), "CUDA"));
  restore_flash_attention_impl();
  EXPECT_EQ(calls, "io");
  EXPECT_EQ(current_flash_attention_impl(), "");
  EXPECT_THROW(activate_flash_attention_impl("nobody"), ValueError);
}

TEST(CausalBias, BothKindsAreMasks) {
  for (const CausalBias& mask : {causal_upper_left(3, 5), causal_lower_right(3, 5), causal_lower_right(3, 3)}) {
    const Tensor keys = k.narrow(2, 0, mask.seq_len_kv), values = v.narrow(2, 0, mask.seq_len_kv);
    EXPECT_TRUE(allclose(F::scaled_dot_product_attention(q, keys, values, mask), F::scaled_dot_product_attention(q, keys, values, mask.to_tensor())));
  }
  EXPECT_EQ(causal_lower_right(3, 5).to_tensor().sum().item<int64_t>(), 12);
  EXPECT_EQ(causal_upper_left(3, 5).to_tensor().sum().item<int64_t>(), 6);
  testing::internal::CaptureStderr();
  causal_lower_right(5, 3);
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "become NaN"));
}

TEST(FlexAttention, IsAttention) {
  EXPECT_TRUE(allclose(flex_attention(q, k, v), F::scaled_dot_product_attention(q, k, v)));
  FlexAttentionOptions scaled;
  scaled.scale = 0.3;
  EXPECT_TRUE(allclose(flex_attention(q, k, v, scaled), F::scaled_dot_product_attention(q, k, v, {}, 0, false, 0.3)));
  const Tensor wide = waves({1, 4, 3, 4});
  FlexAttentionOptions shared;
  shared.enable_gqa = true;
  EXPECT_TRUE(allclose(flex_attention(wide, k, v, shared), F::scaled_dot_product_attention(wide, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))));
}

TEST(FlexAttention, FunctionsChangeScores) {
  FlexAttentionOptions options;
  const Tensor table = waves({3, 5});
  options.score_mod = [&](const Tensor& s, const Tensor&, const Tensor& h, const Tensor& i, const Tensor& j) {
    return s + table.index({i, j}) + (i - j) * (h + 1);
  };
  const Tensor heads = arange(2, kDouble).view({2, 1, 1}) + 1, distance = arange(3, kDouble).view({3, 1}) - arange(5, kDouble);
  EXPECT_TRUE(allclose(flex_attention(q, k, v, options), F::scaled_dot_product_attention(q, k, v, (table + distance * heads).unsqueeze(0))));
}

TEST(FlexAttention, QueriesThatSeeNothingGiveZeros) {
  FlexAttentionOptions options;
  options.block_mask = create_block_mask(and_masks({causal, [](const Tensor&, const Tensor&, const Tensor& i, const Tensor&) { return i.lt(2); }}), 1, 1, 3, 5);
  const Tensor query = q.clone().requires_grad_();
  const auto [out, aux] = flex_attention(query, k, v, options, AuxRequest{true, true});
  const Tensor plain = F::scaled_dot_product_attention(q, k, v, causal_upper_left(3, 5).to_tensor());
  EXPECT_TRUE(allclose(out.narrow(2, 0, 2), plain.narrow(2, 0, 2)));
  EXPECT_TRUE(equal(out.select(2, 2), zeros({1, 2, 2}, kDouble)));
  const Tensor scores = (q.matmul(k.transpose(-2, -1)) * 0.5).masked_fill(causal_upper_left(3, 5).to_tensor().logical_not(), -INFINITY);
  EXPECT_TRUE(allclose(aux.lse.narrow(2, 0, 2), scores.logsumexp({-1}).narrow(2, 0, 2)));
  EXPECT_EQ(aux.max_scores.select(2, 2).amax().item<double>(), -INFINITY);
  out.sum().backward();
  EXPECT_TRUE(query.grad().isfinite().all().item<bool>());
}

TEST(FlexAttention, RefusesWhatDoesNotFit) {
  FlexAttentionOptions small;
  small.block_mask = create_block_mask(causal, 1, 1, 3, 4);
  EXPECT_THROW(flex_attention(q, k, v, small), ValueError);
  EXPECT_THROW(flex_attention(q, k.narrow(1, 0, 1), v.narrow(1, 0, 1)), ValueError);
  EXPECT_THROW(flex_attention(q, k.narrow(3, 0, 3), v), ValueError);
  EXPECT_THROW(flex_attention(q, k, v.narrow(2, 0, 3)), ValueError);
  EXPECT_THROW(flex_attention(q[0], k, v), NotImplementedError);
}

TEST(BlockMask, ListsBlocks) {
  const BlockMask one = create_block_mask(causal, 1, 1, 3, 3, kCPU, {1, 1});
  EXPECT_EQ(numbers(one.kv_num_blocks), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(numbers(one.full_kv_num_blocks), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(numbers(one.full_q_indices), (std::vector<int>{0, 1, 2, 1, 2, 0, 2, 0, 1}));
  const BlockMask mask = create_block_mask(causal, 1, 1, 256, 256);
  EXPECT_EQ(numbers(mask.kv_indices), (std::vector<int>{0, 1, 1, 0}));
  EXPECT_EQ(numbers(mask.to_dense()), (std::vector<int>{1, 0, 1, 1}));
  EXPECT_EQ(mask.shape(), (std::vector<int64_t>{1, 1, 256, 256}));
  EXPECT_EQ(mask.numel(), 65536);
  EXPECT_EQ(mask.sparsity(), 25);
  const BlockMask together = create_block_mask(causal, 1, 1, 256, 256, kCPU, {128, 128}, false);
  EXPECT_FALSE(together.full_kv_indices.defined());
  EXPECT_EQ(numbers(together.q_num_blocks), (std::vector<int>{2, 1}));
  const BlockMask cut = create_block_mask(causal, 2, 3, 300, 300).adjust(100, 200);
  EXPECT_EQ(cut.shape(), (std::vector<int64_t>{2, 3, 100, 200}));
  EXPECT_EQ(numbers(cut.to_dense().select(0, 0).select(0, 0)), (std::vector<int>{1, 0}));
  EXPECT_THROW(cut.adjust(300, 200), ValueError);
  const BlockMask part =
      create_block_mask([](const Tensor& b, const Tensor&, const Tensor&, const Tensor& kv) { return kv.ge(b * 128); }, 2, 1, 128, 256).select(1, 0);
  EXPECT_EQ(numbers(part.to(kCPU).to_dense()), (std::vector<int>{0, 1}));
  EXPECT_TRUE(contains(error_of([&] { part.mask_mod(q, q, q, q); }), "slice of a BlockMask"));
}

TEST(BlockMask, BlocksThatAreNotListedAreHidden) {
  FlexAttentionOptions options;
  options.block_mask = BlockMask::from_kv_blocks(ones({1, 1, 2}, kInt), tensor({0, 1, 1, 0}).view({1, 1, 2, 2}).to(kInt), {}, {}, {2, 2});
  const Tensor x = waves({1, 1, 4, 2}), seen = block_diag({ones({2, 2}), ones({2, 2})}).to(kBool);
  EXPECT_TRUE(allclose(flex_attention(x, x, x, options), F::scaled_dot_product_attention(x, x, x, seen)));
}

TEST(BlockMask, FunctionsBecomeMasks) {
  const MaskMod near = [](const Tensor&, const Tensor&, const Tensor& i, const Tensor& j) { return i.eq(j); };
  const MaskMod first = [](const Tensor&, const Tensor&, const Tensor&, const Tensor& j) { return j.eq(0); };
  EXPECT_EQ(numbers(create_mask(or_masks({near, first}), 1, 1, 2, 3)), (std::vector<int>{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(numbers(create_mask(and_masks({near, first}), 1, 1, 2, 3)), (std::vector<int>{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(numbers(create_mask(MaskMod(noop_mask), 1, 1, 1, 2)), (std::vector<int>{1, 1}));
  const ScoreMod cut = [](const Tensor& s, const Tensor&, const Tensor&, const Tensor& i, const Tensor& j) { return s.masked_fill(i.lt(j), -INFINITY); };
  EXPECT_EQ(numbers(create_mask(cut, 1, 1, 2, 2)), (std::vector<int>{1, 0, 1, 1}));
}

TEST(GroupedProducts, AreThoseOfTheParts) {
  const Tensor a = waves({2, 3, 4}).to(kFloat), b = waves({2, 4, 5}).to(kFloat), ends = tensor({1, 3}).to(kInt);
  EXPECT_TRUE(allclose(F::grouped_mm(a, b), a.matmul(b)));
  const Tensor rows = waves({4, 4}).to(kFloat);
  const Tensor by_rows = F::grouped_mm(rows, b, ends);
  EXPECT_TRUE(allclose(by_rows, cat({rows.narrow(0, 0, 1).matmul(b[0]), rows.narrow(0, 1, 2).matmul(b[1]), zeros({1, 5})})));
  EXPECT_TRUE(allclose(F::grouped_mm(a, rows, ends), cat({a[0].matmul(rows.narrow(1, 0, 1)), a[1].matmul(rows.narrow(1, 1, 2)), zeros({3, 1})}, 1)));
  EXPECT_TRUE(
      allclose(F::grouped_mm(rows, rows, ends), stack({rows.narrow(1, 0, 1).matmul(rows.narrow(0, 0, 1)), rows.narrow(1, 1, 2).matmul(rows.narrow(0, 1, 2))})));
  EXPECT_THROW(F::grouped_mm(rows, b), Error);
  EXPECT_THROW(F::grouped_mm(rows, b, tensor({3, 1}).to(kInt)), Error);
  EXPECT_THROW(F::grouped_mm(rows.to(kDouble), b.to(kDouble), ends), Error);
}

TEST(ScaledProducts, ApplyTheirScales) {
  using F::ScalingType;
  const Tensor eye8 = eye(16).to(kFloat8_e4m3fn), two = tensor({2.0f});
  EXPECT_EQ(F::scaled_mm(eye8, eye8.t(), two, ScalingType::TensorWise, two, ScalingType::TensorWise).diagonal().sum().item<float>(), 64);
  EXPECT_THROW(F::scaled_mm(eye8, eye8.t(), two, ScalingType::TensorWise, two, ScalingType::RowWise), ValueError);
  const Tensor scales = arange(16, kFloat).add(1).unsqueeze(0), threes = full({1, 16}, 3.0, kFloat);
  const Tensor out = F::scaled_grouped_mm(eye8.unsqueeze(0), eye8.t().unsqueeze(0), scales, ScalingType::RowWise, threes, ScalingType::RowWise);
  EXPECT_TRUE(equal(out[0].diagonal().to(kFloat), scales[0] * 3));
  const Tensor flat = F::scaled_grouped_mm(eye8, eye8.t(), scales[0], ScalingType::RowWise, threes[0], ScalingType::RowWise, F::SwizzleType::NO_SWIZZLE,
                                           F::SwizzleType::NO_SWIZZLE, tensor({16}).to(kInt));
  EXPECT_TRUE(equal(flat[0], out[0]));
  EXPECT_THROW(F::scaled_grouped_mm(eye8, eye8.t(), scales, ScalingType::TensorWise, threes, ScalingType::TensorWise), ValueError);
}

}  // namespace
