// The whole stack once, from bytes to a trained, saved and reloaded model. It runs in a second: a first look after a change.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "cresset/cresset.h"
#include "cresset/distributions.h"
#include "cresset/io/npy.h"
#include "cresset/ops/namespaces.h"
#include "cresset/sparse.h"
#include "cresset/transform/vmap.h"
#include "error_of.h"

using namespace cresset;

namespace {

std::string scratch(const char* name) { return "/tmp/cresset_tiny_" + std::to_string(getpid()) + "_" + name; }

// y = 2 a - b, of (a, b).
Tensor target(const Tensor& x) { return x.matmul(tensor({2.f, -1.f})).unsqueeze(1); }

TEST(Tiny, tensors_views_and_promotion) {
  Tensor x = arange(6, kFloat).view({2, 3});
  x.select(0, 1).mul_(10);
  EXPECT_EQ(x.sum().item<float>(), 123.f);
  EXPECT_EQ((x.to(kInt) + 0.5).scalar_type(), kFloat);
  EXPECT_TRUE(equal(x.index({indexing::Slice(), 1}), tensor({1.f, 40.f})));
  EXPECT_NE(error_of([&] { x.view({4}); }), "no error");
}

TEST(Tiny, kernels_of_every_kind) {
  manual_seed(0);
  const Tensor a = randn({4, 5}), b = randn({5, 3}), image = randn({1, 2, 8, 8});
  EXPECT_TRUE(allclose(matmul(a, b), (a.unsqueeze(2) * b).sum(1), 1e-5, 1e-5));
  EXPECT_EQ(conv2d(image, randn({3, 2, 3, 3})).sizes(), IntArrayRef({1, 3, 6, 6}));
  EXPECT_EQ(max_pool2d(image, 2).numel(), 32);
  EXPECT_TRUE(allclose(softmax(a, 1).sum(1), ones({4})));
  EXPECT_TRUE(equal(std::get<0>(a.flatten().sort()).diff().ge(0), ones({19}, kBool)));
  EXPECT_TRUE(allclose(fft::irfft(fft::rfft(a, std::nullopt, 1), 5, 1), a, 1e-5, 1e-5));
  EXPECT_TRUE(allclose(a.to_sparse().to_dense(), a));
  EXPECT_EQ(layer_norm(a, {5}).size(1), 5);
  EXPECT_EQ(scaled_dot_product_attention(randn({1, 2, 3, 4}), randn({1, 2, 3, 4}), randn({1, 2, 3, 4})).dim(), 4);
}

TEST(Tiny, derivatives_in_both_modes_and_over_batches) {
  const Tensor x = tensor({1.f, 2.f, 3.f}).requires_grad_();
  const Tensor slope = autograd::grad({x.pow(3).sum()}, {x}, {}, true, true)[0];
  slope.sum().backward();
  EXPECT_TRUE(equal(x.grad(), tensor({6.f, 12.f, 18.f})));
  const auto [value, tangent] = func::jvp([](const func::Tensors& in) { return func::Tensors{in[0].sin()}; }, {zeros({2})}, {ones({2})});
  EXPECT_TRUE(equal(tangent[0], ones({2})));
  const func::Function squares = func::vmap([](const func::Tensors& in) { return func::Tensors{in[0].dot(in[0])}; });
  EXPECT_TRUE(equal(squares({arange(4, kFloat).view({2, 2})})[0], tensor({1.f, 13.f})));
}

TEST(Tiny, training_saving_and_loading) {
  manual_seed(3);
  nn::Sequential net(nn::Linear(2, 8), nn::ReLU(), nn::Linear(8, 1));
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(0.05));
  const Tensor inputs = randn({64, 2});
  auto loader = data::make_data_loader(data::datasets::TensorDataset(inputs), data::DataLoaderOptions(16));
  float loss = 0;
  for (int epoch = 0; epoch < 30; epoch++)
    for (const auto& batch : *loader) {
      std::vector<Tensor> rows;
      for (const auto& example : batch) rows.push_back(example.data);
      const Tensor x = stack(rows);
      optimizer.zero_grad();
      const Tensor error = mse_loss(net->forward(x), target(x));
      error.backward();
      optimizer.step();
      loss = error.item<float>();
    }
  EXPECT_LT(loss, 0.1f);
  const std::string path = scratch("net.pt"), array = scratch("x.npy");
  save(net, path);
  nn::Sequential again(nn::Linear(2, 8), nn::ReLU(), nn::Linear(8, 1));
  load(again, path);
  EXPECT_TRUE(equal(again->forward(inputs), net->forward(inputs)));
  io::save_npy(inputs, array);
  EXPECT_TRUE(equal(io::load_npy(array), inputs));
  std::remove(path.c_str());
  std::remove(array.c_str());
}

TEST(Tiny, distributions_and_fake_tensors) {
  const auto normal = distributions::Normal(0.0, 1.0);
  EXPECT_NEAR(normal.log_prob(zeros({})).item<double>(), -0.9189385, 1e-6);
  EXPECT_EQ(empty({3, 4}, kMeta).matmul(empty({4, 5}, kMeta)).sizes(), IntArrayRef({3, 5}));
}

}  // namespace
