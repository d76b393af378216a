// Ranks that train on parts of a batch take the steps of one process on the whole.

#include <gtest/gtest.h>

#include <thread>

#include "cresset/cresset.h"
#include "cresset/dist/ddp/distributed_data_parallel.h"
#include "cresset/dist/ddp/zero_redundancy_optimizer.h"
#include "error_of.h"

namespace cresset::distributed {
namespace {

void on_ranks(int size, const std::function<void(const intrusive_ptr<ProcessGroup>&)>& f) {
  const intrusive_ptr<Store> store = make_intrusive<HashStore>();
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; rank++)
    threads.emplace_back([&, rank] { errors[static_cast<size_t>(rank)] = error_of([&] { f(make_intrusive<ProcessGroupGloo>(store, rank, size)); }); });
  for (std::thread& t : threads) t.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "no error");
}

nn::Sequential made(uint64_t seed) {
  manual_seed(seed);
  nn::Sequential net(nn::Linear(6, 600), nn::Tanh(), nn::Linear(600, 3));  // rows of its gradients are large enough to lie in shared memory
  net->to(kDouble);
  return net;
}

TEST(DistributedDataParallel, ComputesInLowPrecisionAndKeepsItsParameters) {
  on_ranks(2, [](const intrusive_ptr<ProcessGroup>& group) {
    nn::Linear net(4, 2);
    net->bias.set_requires_grad(false);
    nn::DistributedDataParallelOptions options;
    options.mixed_precision.param_dtype = kBFloat16;
    options.mixed_precision.reduce_dtype = kFloat;
    nn::DistributedDataParallel<nn::Linear> ddp(net, group, options);
    const Tensor x = full({3, 4}, group->getRank() + 1.0), before = net->weight.detach().clone();
    const Tensor out = ddp(x);
    EXPECT_EQ(out.scalar_type(), kBFloat16);
    EXPECT_EQ(net->weight.scalar_type(), kBFloat16);
    EXPECT_EQ(net->bias.scalar_type(), kBFloat16);
    out.to(kFloat).sum().backward();
    EXPECT_TRUE(equal(net->weight.detach(), before));
    EXPECT_EQ(net->bias.scalar_type(), kFloat);
    EXPECT_TRUE(equal(net->weight.grad(), full({2, 4}, 4.5f)));  // 3 rows of 1 and of 2
    {
      const NoGradGuard no_grad;
      EXPECT_EQ(ddp(x).scalar_type(), kBFloat16);
    }
    EXPECT_TRUE(equal(net->weight.detach(), before));
  });
}

TEST(ZeroRedundancyOptimizer, StepsAsThePlainOptimizerAndSharesItsStates) {
  manual_seed(7);
  const Tensor x = randn({8, 6}, kDouble), y = randn({8, 3}, kDouble);
  auto steps = [&](auto& net, auto& optimizer) {
    for (int step = 0; step < 4; step++) {
      optimizer.zero_grad();
      nn::functional::mse_loss(net->forward(x), y).backward();
      optimizer.step();
    }
  };
  nn::Sequential whole = made(1);
  optim::Adam plain(whole->parameters(), optim::AdamOptions(0.1));
  steps(whole, plain);
  std::vector<nn::Sequential> nets;
  for (int r = 0; r < 2; r++) nets.push_back(made(1));
  on_ranks(2, [&](const intrusive_ptr<ProcessGroup>& group) {
    nn::Sequential& net = nets[static_cast<size_t>(group->getRank())];
    optim::ZeroRedundancyOptimizer<optim::Adam> shared(net->parameters(), group, optim::AdamOptions(0.1));
    steps(net, shared);
    EXPECT_EQ(shared.shares()[0].size() + shared.shares()[1].size(), 4u);
    EXPECT_EQ(shared.local().state().size(), shared.shares()[static_cast<size_t>(group->getRank())].size());
    for (size_t i = 0; i < 4; i++) EXPECT_TRUE(equal(net->parameters()[i], whole->parameters()[i])) << i;
  });
}

struct Two : nn::Module {
  Two() : a(register_module("a", nn::Linear(2, 1))), b(register_module("b", nn::Linear(2, 1))) {}
  Tensor forward(const Tensor& x, bool first) { return first ? a(x) : b(x); }
  nn::Linear a, b;
};

class Options : public ::testing::TestWithParam<int> {
 protected:
  static nn::DistributedDataParallelOptions options() {
    nn::DistributedDataParallelOptions o;
    if (GetParam() == 1) o.gradient_as_bucket_view = true;
    if (GetParam() == 2) o.bucket_bytes = {200};
    if (GetParam() == 3) o.static_graph = true;
    if (GetParam() == 4) o.find_unused_parameters = true;
    return o;
  }
};

TEST_P(Options, StepsAreThoseOfTheWholeBatch) {
  manual_seed(7);
  const Tensor x = randn({8, 6}, kDouble), y = randn({8, 3}, kDouble);
  nn::Sequential whole = made(1);
  optim::SGD plain(whole->parameters(), optim::SGDOptions(0.1));
  for (int step = 0; step < 4; step++) {
    plain.zero_grad();
    nn::functional::mse_loss(whole->forward(x), y).backward();
    plain.step();
  }
  std::vector<nn::Sequential> nets;
  for (uint64_t r = 0; r < 2; r++) nets.push_back(made(1 + r));  // rank 1 begins with other weights, until it gets those of rank 0
  on_ranks(2, [&](const intrusive_ptr<ProcessGroup>& group) {
    const int64_t rank = group->getRank();
    nn::DistributedDataParallel<nn::Sequential> net(nets[static_cast<size_t>(rank)], group, options());
    optim::SGD optimizer(net.module()->parameters(), optim::SGDOptions(0.1));
    for (int step = 0; step < 4; step++) {
      optimizer.zero_grad();
      nn::functional::mse_loss(net(x.narrow(0, 4 * rank, 4)), y.narrow(0, 4 * rank, 4)).backward();
      optimizer.step();
    }
    const auto expected = whole->parameters(), got = net.module()->parameters();
    for (size_t i = 0; i < expected.size(); i++) EXPECT_TRUE(allclose(got[i], expected[i], 1e-12, 1e-13)) << i;
  });
}
INSTANTIATE_TEST_SUITE_P(Reducer, Options, ::testing::Values(0, 1, 2, 3, 4));

TEST(Reducer, GradientsAddUpWithinNoSync) {
  on_ranks(2, [](const intrusive_ptr<ProcessGroup>& group) {
    nn::DistributedDataParallel<nn::Linear> net(nn::Linear(1, 1), group);
    const Tensor x = full({1, 1}, static_cast<double>(group->getRank() + 1)).to(kFloat);
    net.no_sync([&] { net(x).sum().backward(); });
    const Tensor weight = net.module()->weight;
    EXPECT_EQ(weight.grad().item<float>(), static_cast<float>(group->getRank() + 1));
    net(x).sum().backward();
    EXPECT_EQ(weight.grad().item<float>(), 3.f);  // the mean of 1 + 1 and 2 + 2
  });
}

TEST(Reducer, ParametersWithoutAGradientAreNamed) {
  on_ranks(2, [](const intrusive_ptr<ProcessGroup>& group) {
    nn::DistributedDataParallel<std::shared_ptr<Two>> net(std::make_shared<Two>(), group);
    net(ones({1, 2}), true).sum().backward();
    EXPECT_NE(error_of([&] { net(ones({1, 2}), true); }).find("brought no gradient to b.weight, b.bias"), std::string::npos);
  });
}

TEST(Reducer, UnusedParametersCountAsZeros) {
  on_ranks(2, [](const intrusive_ptr<ProcessGroup>& group) {
    nn::DistributedDataParallelOptions o;
    o.find_unused_parameters = true;
    nn::DistributedDataParallel<std::shared_ptr<Two>> net(std::make_shared<Two>(), group, o);
    for (int step = 0; step < 2; step++) {
      net.module()->zero_grad();
      net(ones({1, 2}), group->getRank() == 0).sum().backward();
      EXPECT_TRUE(equal(net.module()->a->weight.grad(), full({1, 2}, 0.5f)));
      EXPECT_TRUE(equal(net.module()->b->weight.grad(), full({1, 2}, 0.5f)));
    }
  });
}

TEST(Reducer, AHookAverages) {
  on_ranks(2, [](const intrusive_ptr<ProcessGroup>& group) {
    nn::DistributedDataParallel<nn::Linear> net(nn::Linear(2, 1), group);
    int calls = 0;
    net.reducer().register_comm_hook([&](GradBucket& bucket) -> std::function<Tensor()> {
      calls++;
      EXPECT_TRUE(bucket.is_last && bucket.index == 0 && bucket.gradients.size() == 2);
      return [row = bucket.buffer] { return row * 3; };
    });
    net(ones({1, 2})).sum().backward();
    EXPECT_TRUE(equal(net.module()->weight.grad(), full({1, 2}, 3.f)));
    EXPECT_EQ(calls, 1);
  });
}

TEST(Reducer, ModelsThatDifferAreRefused) {
  on_ranks(2, [](const intrusive_ptr<ProcessGroup>& group) {
    const bool first = group->getRank() == 0;
    const std::string number = error_of([&] { Reducer::verify_parameters(*group, Tensors(first ? 1 : 2, ones({2}))); });
    EXPECT_NE(number.find(first ? "has 1 params" : "has 2 params"), std::string::npos) << number;
    const std::string shape = error_of([&] { Reducer::verify_parameters(*group, {ones({first ? 2 : 3})}); });
    EXPECT_NE(shape.find("parameter 0 of rank"), std::string::npos) << shape;
  });
}

}  // namespace
}  // namespace cresset::distributed
