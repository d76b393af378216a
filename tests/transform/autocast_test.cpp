// Mixed precision: what a region does to operators, its state, its cache, gradients through it, and every row of the table.

#include "cresset/transform/autocast.h"

#include <gtest/gtest.h>

#include <thread>

#include "cresset/core/memory/allocator.h"
#include "cresset/cresset.h"
#include "cresset/dispatch/backend.h"
#include "cresset/dispatch/registration.h"
#include "cresset/ops/layout/from_data.h"
#include "cresset/transform/autocast_table.h"
#include "error_of.h"

namespace cresset {
namespace {

ScalarType product_dtype() { return mm(ones({2, 2}), ones({2, 2})).scalar_type(); }

TEST(Autocast, RegionsNestAndEnd) {
  {
    autocast region(kCPU);
    EXPECT_EQ(product_dtype(), kBFloat16);
    {
      autocast off(kCPU, std::nullopt, false);
      EXPECT_EQ(product_dtype(), kFloat);
      autocast half(kCPU, kHalf);
      EXPECT_EQ(product_dtype(), kHalf);
    }
    EXPECT_EQ(product_dtype(), kBFloat16);
    std::thread([] { EXPECT_EQ(product_dtype(), kFloat); }).join();
  }
  EXPECT_EQ(product_dtype(), kFloat);
  EXPECT_FALSE(amp::is_autocast_enabled(kCPU));
  EXPECT_EQ(amp::get_autocast_dtype(kCPU), kBFloat16);
  EXPECT_EQ(amp::get_autocast_dtype(kCUDA), kHalf);
  EXPECT_EQ(layer_state().included & layer_bit(Layer::Autocast), 0);
}

TEST(Autocast, PoliciesOfTheCpu) {
  const Tensor a = ones({2, 2}), b = a.to(kBFloat16), labels = tensor({0, 1});
  autocast region(kCPU);
  EXPECT_EQ(linear(a, a).scalar_type(), kBFloat16);
  EXPECT_EQ(matmul(a, b).scalar_type(), kBFloat16);
  EXPECT_EQ(mm(a.to(kDouble), a.to(kDouble)).scalar_type(), kDouble);
  EXPECT_EQ(cross_entropy_loss(b, labels).scalar_type(), kFloat);
  EXPECT_EQ(linalg_inv(eye(2, TensorOptions(kBFloat16))).scalar_type(), kFloat);
  EXPECT_EQ(cat({a, b}).scalar_type(), kFloat);
  EXPECT_EQ(cat({b, b}).scalar_type(), kBFloat16);
  EXPECT_EQ((a + b).scalar_type(), kFloat);
  EXPECT_EQ(exp(b).scalar_type(), kBFloat16);
  EXPECT_EQ(sum(b).scalar_type(), kBFloat16);
  Tensor out = empty({2, 2});
  EXPECT_EQ(mm_out(out, a, a).scalar_type(), kFloat);
}

TEST(Autocast, OnlyTheDeviceOfTheRegion) {
  autocast cuda(kCUDA);
  EXPECT_EQ(product_dtype(), kFloat);
  autocast cpu(kCPU);  // both: the arguments decide
  EXPECT_EQ(product_dtype(), kBFloat16);
  EXPECT_EQ(exp(ones({2}, TensorOptions(kBFloat16))).scalar_type(), kBFloat16);
  EXPECT_EQ(tensordot(ones({2, 2}), ones({2, 2}), {1}, {0}).scalar_type(), kBFloat16);
  const Tensor meta = ones({2, 2}, TensorOptions(kMeta));
  EXPECT_EQ(mm(meta, meta).scalar_type(), kFloat);
}

// A device whose memory the CPU reads and whose operators it runs, for the accelerators' list.
Tensor on_cpu(const Tensor& t) { return t.is_cpu() ? t : from_blob(t.data_ptr(), t.sizes(), t.strides(), TensorOptions(t.scalar_type())); }
Tensor& copy_there(Tensor& self, const Tensor& src, bool) {
  on_cpu(self).copy_(on_cpu(src));
  return self;
}
DeviceType other_device() {
  static const DeviceType device = [] {
    const uint8_t backend = dispatch::register_backend("lender", "lender");
    const DeviceType type = Device("lender").type();
    set_allocator(type, cpu_allocator());
    static dispatch::Library kernels(dispatch::Library::implementations, "cresset", "lender", __FILE__, __LINE__);
    kernels.impl("copy_", &copy_there);
    dispatch::set_backend_fallback(backend, dispatch::cpu_fallback);
    return type;
  }();
  return device;
}

TEST(Autocast, PoliciesOfOtherDevices) {
  const DeviceType device = other_device();
  const Tensor a = ones({2, 2}).to(Device(device)), h = a.to(kHalf), v = ones({2}).to(Device(device)), labels = tensor({0, 1}).to(Device(device));
  {
    autocast cpu(kCPU);
    EXPECT_EQ(mm(a, a).scalar_type(), kFloat);
  }
  EXPECT_EQ(exp(h).scalar_type(), kHalf);
  autocast region(device);
  EXPECT_EQ(product_dtype(), kFloat);
  EXPECT_EQ(mm(a, a).scalar_type(), kHalf);
  EXPECT_EQ(mv(a, v).scalar_type(), kHalf);
  EXPECT_EQ(addmm(a, a, h).scalar_type(), kHalf);
  EXPECT_EQ(exp(h).scalar_type(), kFloat);
  EXPECT_EQ(sum(h).scalar_type(), kFloat);
  EXPECT_EQ(sum(h, kHalf).scalar_type(), kHalf);
  EXPECT_EQ(pow(h, 2).scalar_type(), kFloat);
  EXPECT_EQ(softmax(h, 0).scalar_type(), kFloat);
  EXPECT_EQ(layer_norm(h, {2}).scalar_type(), kFloat);
  EXPECT_EQ(cross_entropy_loss(h, labels).scalar_type(), kFloat);
  EXPECT_EQ(addcmul(a, h, h).scalar_type(), kFloat);
  EXPECT_EQ(cat({a, h}).scalar_type(), kFloat);
  EXPECT_EQ(dot(v, v.to(kHalf)).scalar_type(), kFloat);
  EXPECT_EQ(relu(h).scalar_type(), kHalf);
  EXPECT_EQ((h + h).scalar_type(), kHalf);
  EXPECT_EQ(linalg_inv(a + a.tril()).scalar_type(), kFloat);
  EXPECT_NE(error_of([&] { binary_cross_entropy(h, h); }).find("binary_cross_entropy_with_logits"), std::string::npos);
  EXPECT_EQ(binary_cross_entropy_with_logits(h, h).scalar_type(), kFloat);
}

TEST(Autocast, CastsOfWeightsAreKeptUntilTheOutermostRegionEnds) {
  Tensor w = ones({1, 1}).requires_grad_();
  const auto history = [&] { return mm(ones({1, 1}), w).grad_fn()->next_edges()[1].function.get(); };
  autocast region(kCPU);
  const auto first = mm(ones({1, 1}), w);
  const auto* cast = first.grad_fn()->next_edges()[1].function.get();
  {
    autocast inner(kCPU);
    EXPECT_EQ(history(), cast);
  }
  EXPECT_EQ(history(), cast);
  {
    NoGradGuard guard;
    w.mul_(3);
  }
  EXPECT_EQ(mm(ones({1, 1}), w).item<float>(), 3);
  amp::clear_cache();
  {
    NoGradGuard guard;
    mm(ones({1, 1}), w);
  }
  mm(ones({1, 1}), w).sum().backward();
  EXPECT_EQ(w.grad().item<float>(), 1);
}

TEST(Autocast, GradientsHaveTheDtypeOfTheirTensors) {
  manual_seed(0);
  nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 3));
  const Tensor x = randn({5, 4});
  Tensor loss;
  {
    autocast region(kCPU);
    const Tensor y = net->forward(x);
    EXPECT_EQ(y.scalar_type(), kBFloat16);
    loss = mse_loss(y, zeros({5, 3}));
  }
  EXPECT_EQ(loss.scalar_type(), kFloat);
  loss.backward();
  for (const Tensor& p : net->parameters()) EXPECT_EQ(p.grad().scalar_type(), kFloat);
}

TEST(Autocast, WrongUses) {
  EXPECT_THROW(autocast{kMeta}, Error);
  EXPECT_THROW((autocast{kCPU, kDouble}), Error);
  EXPECT_FALSE(amp::is_autocast_enabled(kCPU));
  EXPECT_EQ(amp::increment_nesting(), 1);
  EXPECT_EQ(amp::decrement_nesting(), 0);
  autocast region(kCPU);
  EXPECT_NE(error_of([] {
              cat({ones({1}, TensorOptions(kHalf)), ones({1}, TensorOptions(kBFloat16))});
            }).find("region's bfloat16, got one of float16"),
            std::string::npos);
}

TEST(Autocast, OverloadsOfANameHaveOnePolicy) {
  for (size_t i = 1; i < amp::kNumCastRows; i++) {
    const amp::CastRow &row = amp::kCastRows[i], &before = amp::kCastRows[i - 1];
    if (row.op->function_schema().name != before.op->function_schema().name) continue;
    EXPECT_EQ(row.cpu, before.cpu) << row.op->name;
    EXPECT_EQ(row.other, before.other) << row.op->name;
  }
  autocast region(kCPU);
  EXPECT_NE(dispatch::print_table("mm").find("layer Autocast: boxed function"), std::string::npos);
  EXPECT_NE(dispatch::print_table("add.Tensor").find("layer Autocast: passes through"), std::string::npos);
}

}  // namespace
}  // namespace cresset
