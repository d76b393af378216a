// Fake tensors: geometry, devices that are not there, gradients, what depends on data, and the count of bytes.

#include "cresset/transform/fake.h"

#include "autograd/support.h"
#include "cresset/nn/nn.h"
#include "cresset/optim/optim.h"
#include "error_of.h"

namespace cresset {
namespace {

TEST(Fake, FactoriesMakeFakeTensorsOnAnyDevice) {
  const auto mode = make_fake_mode();
  Tensor x, y;
  {
    const FakeModeScope scope(mode.get());
    x = randn({2, 3}, kCUDA);
    y = cresset::zeros({4, 5}).t();
  }
  EXPECT_TRUE(is_fake(x) && is_fake(y));
  EXPECT_EQ(x.device(), Device(kCUDA, 0));
  EXPECT_FALSE(x.is_meta());
  EXPECT_TRUE(x.lacks_data());
  EXPECT_EQ(x.data_ptr(), nullptr);
  EXPECT_EQ(fake_mode_of(x).get(), mode.get());
  EXPECT_TRUE(y.is_cpu());
  EXPECT_EQ(y.strides(), (IntArrayRef{1, 5}));
  EXPECT_FALSE(is_fake(cresset::zeros({2})));
}

TEST(Fake, OperatorsKeepGeometryAndDeviceOutsideTheScopeToo) {
  const auto mode = make_fake_mode();
  const Tensor x = fake_on(*mode, cresset::empty({2, 3, 4}, TensorOptions(kHalf).device(kMeta)), kCUDA);
  for (const Tensor& t : {x.transpose(1, 2).matmul(x), x.softmax(-1).narrow(2, 1, 1), (x * 2 + x.mean()).sum(IntArrayRef(0)), cresset::cat({x, x}, 1)}) {
    const Tensor m = fake_on(*mode, t.to(kMeta), kCUDA);
    EXPECT_TRUE(is_fake(t));
    EXPECT_EQ(t.device(), Device(kCUDA, 0));
    EXPECT_EQ(t.scalar_type(), kHalf);
    EXPECT_EQ(m.sizes(), t.sizes());
  }
  EXPECT_EQ(x.transpose(1, 2).matmul(x).sizes(), (IntArrayRef{2, 4, 4}));
  EXPECT_EQ(x.to(kCPU).device(), Device(kCPU));
  EXPECT_TRUE(is_fake(x.to(kCPU)));
}

TEST(Fake, GradientsAreFakeAndRunThroughEveryKindOfNode) {
  const auto mode = make_fake_mode();
  nn::Sequential net{nullptr};
  Tensor x;
  {
    const FakeModeScope scope(mode.get());
    net = nn::Sequential(nn::Conv2d(nn::Conv2dOptions(3, 8, 3)), nn::BatchNorm2d(8), nn::ReLU(), nn::Flatten(), nn::Linear(8 * 36, 5));
    net->to(kCUDA);
    x = randn({2, 3, 8, 8}, TensorOptions().device(kCUDA).requires_grad(true));
  }
  // Outside the scope: fake arguments are enough.
  net->forward(x).logsumexp(1).sum().backward();
  EXPECT_EQ(x.grad().sizes(), x.sizes());
  for (const Tensor& p : net->parameters()) {
    EXPECT_TRUE(is_fake(p.grad()));
    EXPECT_EQ(p.grad().sizes(), p.sizes());
    EXPECT_EQ(p.grad().device(), Device(kCUDA, 0));
  }
  const Tensor g = autograd::grad({(x * x).sum()}, {x}, {}, true, true)[0];
  EXPECT_TRUE(g.requires_grad());
  EXPECT_EQ(autograd::grad({g.sum()}, {x})[0].sizes(), x.sizes());
}

TEST(Fake, SparseTensorsStoreNothing) {
  const auto mode = make_fake_mode();
  const Tensor real = cresset::eye(3).to_sparse();
  for (const Tensor& t : {real, real.to_sparse_csr(), real.to_sparse_bsc({1, 1})}) {
    const Tensor fake = fake_like(*mode, t.detach().requires_grad_());
    EXPECT_TRUE(is_fake(fake) && fake.lacks_data() && fake.requires_grad());
    EXPECT_EQ(fake_mode_of(fake).get(), mode.get());
    EXPECT_EQ(fake.layout(), t.layout());
    EXPECT_EQ(fake._nnz(), 0);
    EXPECT_EQ(fake.device(), Device(kCPU));
    const Tensor dense = fake.to_dense();
    EXPECT_TRUE(is_fake(dense));
    EXPECT_EQ(dense.sizes(), t.sizes());
    EXPECT_EQ(autograd::grad({dense.sum()}, {fake})[0].layout(), t.layout());
  }
  EXPECT_NE(error_of([&] { fake_like(*mode, real) + real; }).find("fake tensors: got a tensor with data"), std::string::npos);
}

TEST(Fake, FakesOfRealTensorsShareWhatTheyShare) {
  const auto mode = make_fake_mode();
  const Tensor real = cresset::ones({4, 4}).requires_grad_();
  const Tensor row = real.detach()[1];
  const Tensor fake = fake_like(*mode, real), part = fake_like(*mode, row);
  EXPECT_TRUE(fake.is_same(fake_like(*mode, real)));
  EXPECT_TRUE(fake.requires_grad() && fake.is_leaf());
  EXPECT_TRUE(fake.storage().is_alias_of(part.storage()));
  EXPECT_EQ(part.storage_offset(), 4);
  EXPECT_FALSE(fake_like(*mode, real * 2).is_leaf());
}

TEST(Fake, WhatDependsOnDataIsAnErrorOfItsOwn) {
  const auto mode = make_fake_mode();
  Tensor x, three;
  {
    const FakeModeScope scope(mode.get());
    x = randn({3});
    three = cresset::tensor(3.0);
  }
  EXPECT_THROW(x.sum().item(), DataDependentOutputError);
  EXPECT_THROW(cresset::equal(x, x), DataDependentOutputError);
  try {
    x.nonzero();
    FAIL();
  } catch (const DynamicOutputShapeError& e) { EXPECT_EQ(e.op(), "aten.nonzero.default"); }
  EXPECT_THROW(x.data_ptr<float>(), MixedFakeError);
  // One number that is known stays known through arithmetic, and is forgotten when something unknown is written.
  EXPECT_EQ((three * 2 + 1).item<double>(), 7);
  three.add_(1);
  EXPECT_EQ(three.item<double>(), 4);
  three.add_(x.sum());
  EXPECT_THROW(three.item(), DataDependentOutputError);
}

TEST(Fake, RealTensorsAndOtherModesAndDevicesAreRefused) {
  const auto mode = make_fake_mode(), other = make_fake_mode(), open = make_fake_mode(true);
  Tensor x, y, z;
  {
    const FakeModeScope scope(mode.get());
    x = cresset::ones({2}), y = cresset::ones({2}, kCUDA);
  }
  {
    const FakeModeScope scope(other.get());
    z = cresset::ones({2});
  }
  const Tensor real = cresset::ones({2});
  EXPECT_THROW(x + real, MixedFakeError);
  EXPECT_THROW(real + x, MixedFakeError);
  EXPECT_THROW(real.clone().copy_(x), MixedFakeError);
  EXPECT_THROW(x + z, MixedFakeError);
  EXPECT_THROW(x + y, FakeDeviceMismatchError);
  EXPECT_TRUE(is_fake(y + x.sum()));  // a number on the CPU goes with any device
  {
    const FakeModeScope scope(mode.get());
    EXPECT_THROW(real * 2, MixedFakeError);
    EXPECT_THROW(real.view({2, 1}), MixedFakeError);
    const FakeModeScope off(nullptr);
    EXPECT_EQ((real * 2).sum().item<double>(), 4);
  }
  const FakeModeScope scope(open.get());
  EXPECT_TRUE(is_fake(real * 2));
  EXPECT_TRUE(is_fake(real.view({1, 2})));
}

TEST(Fake, TheModeCountsBytes) {
  const auto mode = make_fake_mode();
  const FakeModeScope scope(mode.get());
  {
    const Tensor x = cresset::empty({256, 1024});  // 1 MiB
    EXPECT_EQ(mode->memory(kCPU).allocated_bytes, 1 << 20);
    const Tensor v = x.t();
    EXPECT_EQ(mode->memory(kCPU).allocated_bytes, 1 << 20);
    const Tensor y = x * 2 + 1;
    EXPECT_EQ(mode->memory(kCPU).allocated_bytes, 2 << 20);
    EXPECT_EQ(mode->memory(kCPU).peak_allocated_bytes, 3 << 20);
  }
  EXPECT_EQ(mode->memory(kCPU).allocated_bytes, 0);
  mode->reset_peak(kCPU);
  EXPECT_EQ(mode->memory(kCPU).peak_allocated_bytes, 0);
  const Tensor huge = cresset::empty({1 << 20, 1 << 20}, kCUDA);
  EXPECT_EQ(mode->memory(kCUDA).allocated_bytes, int64_t{4} << 40);
  Tensor small = cresset::empty({1});
  small.resize_({100});
  EXPECT_EQ(mode->memory(kCPU).allocated_bytes, 448);
}

TEST(Fake, MetaAndRealTensorsInOneCallNeverReadThroughANullPointer) {
  const Tensor meta = cresset::empty({3, 4}, kMeta), real = cresset::ones({3, 4}), index = cresset::zeros({3, 4}, kLong);
  EXPECT_TRUE(meta.gather(1, index).is_meta());
  EXPECT_TRUE(real.gather(1, index.to(kMeta)).is_meta());
  EXPECT_TRUE(cresset::embedding(real, index.to(kMeta)).is_meta());
  EXPECT_THROW(real.clone().scatter_(1, index.to(kMeta), real), Error);
  EXPECT_THROW(meta.to(kCPU), NotImplementedError);
}

}  // namespace
}  // namespace cresset
