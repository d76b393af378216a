// Functions and modules of C++ as compiled programs: results, gradients, buffers and random numbers are those of eager mode.

#include "cresset/graph/codegen/compile.h"

#include <gtest/gtest.h>

#include <thread>

#include "cresset/cresset.h"
#include "cresset/nn/nn.h"
#include "cresset/optim/optim.h"
#include "tests/error_of.h"

namespace cresset {
namespace {

Tensor waves(std::vector<int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t n : sizes) count *= n;
  return cresset::arange(count, TensorOptions(kFloat)).mul(0.37).sin().reshape(sizes);
}
bool same(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && a.dtype() == b.dtype() && cresset::equal(a, b); }

TEST(Compile, FunctionsGiveTheirBits) {
  const auto f = [](const Tensor& x, const Tensor& y) { return (x * y + 2).sin() * x; };
  const auto fast = compile(f);
  for (int turn = 0; turn < 3; turn++) {
    const Tensor x = waves({64, 32}) + turn, y = waves({64, 32}).cos();
    EXPECT_TRUE(same(fast(x, y), f(x, y))) << turn;
  }
  EXPECT_EQ(fast.report().programs, 1U);
  EXPECT_EQ(fast.report().kernels, 1U);
}

TEST(Compile, CodeOfTheFunctionRunsOnceForAKind) {
  int calls = 0;
  const auto fast = compile([&](const Tensor& x) {
    calls++;
    return x.relu() + 1;
  });
  for (int i = 0; i < 4; i++) fast(waves({40, 40}));
  EXPECT_EQ(calls, 1);
  fast(waves({41, 40}));
  EXPECT_EQ(calls, 2);
}

TEST(Compile, VectorsAndTuplesAreResults) {
  const auto both = compile([](const Tensor& x) { return std::make_tuple(x.sin(), x.cos()); });
  const auto list = compile([](const Tensor& x) { return std::vector<Tensor>{x.sin(), x.cos(), x}; });
  const Tensor x = waves({1000});
  for (int turn = 0; turn < 2; turn++) {
    EXPECT_TRUE(same(std::get<1>(both(x)), x.cos()));
    EXPECT_TRUE(same(list(x)[2], x));
  }
}

TEST(Compile, GradientsOfArguments) {
  const auto f = [](const Tensor& x, const Tensor& y) { return ((x * y).tanh() * x).sum(); };
  const auto fast = compile(f);
  for (int turn = 0; turn < 3; turn++) {
    const Tensor x = waves({32, 32}).requires_grad_(), y = (waves({32, 32}) + turn).requires_grad_();
    const Tensor expected = f(x, y), found = fast(x, y);
    EXPECT_TRUE(same(found, expected));
    const auto want = autograd::grad({expected}, {x, y}), got = autograd::grad({found}, {x, y});
    for (size_t i = 0; i < 2; i++) EXPECT_TRUE(same(got[i], want[i])) << turn << " " << i;
  }
  EXPECT_EQ(fast.report().programs, 1U);
  EXPECT_GE(fast.report().kernels, 2U);
}

TEST(Compile, BackwardRunsOnceUnlessTheGraphIsRetained) {
  const auto fast = compile([](const Tensor& x) { return (x.sin() * x).sum(); });
  const Tensor x = waves({700}).requires_grad_();
  fast(x);
  Tensor y = fast(x);
  y.backward({}, true);
  y.backward();
  EXPECT_TRUE(cresset::allclose(x.grad(), 2 * (x.cos() * x + x.sin()).detach(), 1e-4, 1e-5));
  EXPECT_NE(error_of([&] { y.backward(); }).find("has been freed"), std::string::npos);
}

nn::Sequential mlp() {
  manual_seed(1);
  return nn::Sequential(nn::Linear(16, 64), nn::BatchNorm1d(64), nn::GELU(), nn::Linear(64, 4));
}

// Two models, one compiled, trained by the same steps.
TEST(Compile, ModulesTrainAsTheyDoEagerly) {
  nn::Sequential plain = mlp(), compiled = mlp();
  const auto fast = compile(compiled);
  optim::AdamW a(plain->parameters(), 1e-2), b(compiled->parameters(), 1e-2);
  for (int step = 0; step < 5; step++) {
    const Tensor x = waves({32, 16}) * (step + 1), target = waves({32, 4});
    a.zero_grad();
    b.zero_grad();
    const Tensor expected = mse_loss(plain->forward(x), target), found = mse_loss(fast(x), target);
    EXPECT_TRUE(cresset::allclose(found, expected, 1e-5, 1e-6)) << step;
    expected.backward();
    found.backward();
    a.step();
    b.step();
  }
  for (size_t i = 0; i < plain->parameters().size(); i++)
    EXPECT_TRUE(cresset::allclose(compiled->parameters()[i], plain->parameters()[i], 1e-4, 1e-5)) << "parameter " << i;
  for (size_t i = 0; i < plain->buffers().size(); i++)
    EXPECT_TRUE(cresset::allclose(compiled->buffers()[i], plain->buffers()[i], 1e-4, 1e-5)) << "buffer " << i;
  EXPECT_EQ(fast.report().programs, 1U) << (fast.report().reasons.empty() ? "" : fast.report().reasons[0]);
}

TEST(Compile, ModesOfModulesAreKinds) {
  nn::Sequential model = mlp();
  const auto fast = compile(model);
  const NoGradGuard off;
  const Tensor x = waves({32, 16});
  model->eval();
  fast(x);
  const Tensor eval = fast(x);
  EXPECT_TRUE(same(eval, model->forward(x)));
  model->train();
  fast(x);
  EXPECT_FALSE(same(fast(x), eval));
  EXPECT_EQ(fast.report().programs, 2U);
}

TEST(Compile, NewWeightsCount) {
  nn::Linear model(16, 64);
  const auto fast = compile(model);
  const NoGradGuard off;
  const Tensor x = waves({32, 16});
  fast(x);
  model->weight.mul_(2);
  EXPECT_TRUE(same(fast(x), model->forward(x)));
  model->weight.set_requires_grad(false);
  EXPECT_TRUE(same(fast(x), model->forward(x)));
}

TEST(Compile, RandomNumbersAreThoseOfEagerMode) {
  const auto f = [](const Tensor& x) {
    dropout(x, 0.1, true);  // nothing reads it
    return dropout(dropout(x * 2, 0.3, true).sin(), 0.5, true);
  };
  const auto fast = compile(f);
  for (const bool gradients : {false, true}) {
    for (int turn = 0; turn < 3; turn++) {
      const Tensor x = waves({1000}).requires_grad_(gradients);
      manual_seed(5);
      const Tensor expected = f(x), after = rand({3});
      manual_seed(5);
      EXPECT_TRUE(same(fast(x), expected)) << turn;
      EXPECT_TRUE(same(rand({3}), after)) << turn;
    }
  }
  EXPECT_EQ(fast.report().programs, 2U) << (fast.report().reasons.empty() ? "" : fast.report().reasons[0]);
}

TEST(Compile, BuffersAreWrittenOnceACall) {
  Tensor count = zeros({3});
  const auto fast = compile([&](const Tensor& x) {
    const NoGradGuard off;
    count.add_(1);
    const AutoGradMode on(true);
    return (x * x).sum() + count.sum();
  });
  const Tensor x = waves({600}).requires_grad_();
  for (int i = 1; i <= 4; i++) {
    const Tensor y = fast(x);
    EXPECT_EQ(count[0].item<float>(), static_cast<float>(i));
    EXPECT_TRUE(cresset::allclose(y.detach(), (x * x).sum().detach() + 3 * i));
  }
}

TEST(Compile, DataDependentFunctionsRunAsTheyAre) {
  int calls = 0;
  const auto f = [&](const Tensor& x) {
    calls++;
    return x.sum().item<float>() > 0 ? x + 1 : x - 1;
  };
  const auto fast = compile(f);
  EXPECT_TRUE(same(fast(ones({4})), ones({4}) + 1));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(same(fast(-ones({4})), -ones({4}) - 1));
  ASSERT_EQ(fast.report().reasons.size(), 1U);
  EXPECT_NE(fast.report().reasons[0].find("item"), std::string::npos);
  CompileOptions whole;
  whole.fullgraph = true;
  const auto strict = compile(f, whole);
  EXPECT_NE(error_of([&] { strict(ones({4})); }).find("item"), std::string::npos);
}

TEST(Compile, ErrorsOfTheFunctionAreItsOwn) {
  const auto fast = compile([](const Tensor& x, const Tensor& y) { return x.matmul(y); });
  for (int turn = 0; turn < 2; turn++) EXPECT_NE(error_of([&] { fast(waves({4, 3}), waves({4, 3})); }), "no error");
  EXPECT_TRUE(same(fast(waves({4, 3}), waves({3, 4})), waves({4, 3}).matmul(waves({3, 4}))));
}

TEST(Compile, ArgumentsAndViewsOfThemAreResults) {
  const auto fast = compile([](const Tensor& x) { return std::vector<Tensor>{x.view({-1}), x * 2}; });
  Tensor x = waves({30, 30}).requires_grad_();
  for (int turn = 0; turn < 3; turn++) {
    const auto found = fast(x);
    EXPECT_EQ(found[0].data_ptr(), x.data_ptr());
    EXPECT_TRUE(same(autograd::grad({found[0].sum() + found[1].sum()}, {x})[0], full({30, 30}, 3.0)));
  }
}

TEST(Compile, WritesReachWhatSharesMemoryWithAnArgument) {
  const auto f = [](const Tensor& x, const Tensor& y) {
    const Tensor z = y.sin();
    Tensor(x).mul_(2);
    return std::vector<Tensor>{z * 2 + y.cos(), x * y};
  };
  const auto fast = compile(f);
  for (int turn = 0; turn < 4; turn++) {
    const Tensor one = waves({2000}), two = waves({2000}), apart = waves({1000});
    const bool shares = turn % 2 == 0;
    const auto found = fast(one.narrow(0, 0, 1000), shares ? one.narrow(0, 500, 1000) : apart);
    const auto expected = f(two.narrow(0, 0, 1000), shares ? two.narrow(0, 500, 1000) : apart);
    for (size_t i = 0; i < found.size(); i++) EXPECT_TRUE(same(found[i], expected[i])) << turn << ", result " << i;
    EXPECT_TRUE(same(one, two)) << turn;
  }
}

TEST(Compile, WritesToTensorsFromElsewhereReachArguments) {
  for (const bool gradients : {false, true}) {
    const Tensor state = waves({1000}), other = state.clone(), w = cresset::full({}, 1.5).requires_grad_(gradients);
    const auto with = [&w](const Tensor& held) {
      return [held, &w](const Tensor& x) {
        Tensor(held).mul_(2);
        return x * w;
      };
    };
    const auto fast = compile(with(state));
    const auto plain = with(other);
    for (int turn = 0; turn < 4; turn++) {
      const Tensor found = fast(turn < 3 ? waves({500}) : state.narrow(0, 100, 500)), expected = plain(turn < 3 ? waves({500}) : other.narrow(0, 100, 500));
      EXPECT_TRUE(same(found, expected)) << turn;
    }
    EXPECT_TRUE(same(state, other));
  }
}

TEST(Compile, FurtherKindsRunAsTheyAre) {
  CompileOptions two;
  two.max_kinds = 2;
  const auto fast = compile([](const Tensor& x) { return x.exp() + 1; }, two);
  for (int n = 1; n < 6; n++) EXPECT_TRUE(same(fast(waves({n, 600})), waves({n, 600}).exp() + 1));
  EXPECT_EQ(fast.report().programs, 2U);
}

TEST(Compile, ThreadsShareAFunction) {
  const auto f = [](const Tensor& x) { return ((x * 3).tanh() * x).sum(); };
  const auto fast = compile(f);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; i++) {
        const Tensor x = (waves({40, 20}) + t).requires_grad_();
        const Tensor expected = f(x), found = fast(x);
        wrong += !same(found, expected) || !same(autograd::grad({found}, {x})[0], autograd::grad({expected}, {x})[0]);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Compile, LayersRunWithWhatFollowsThem) {
  const AutoGradMode off(false);
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(32, 32, 3).padding(1)), nn::BatchNorm2d(32), nn::ReLU());
  net->eval();
  const Tensor x = waves({1, 32, 16, 16});
  CompileOptions options;
  for (const bool freezing : {false, true}) {
    options.freezing = freezing;
    const auto fast = compile(net, options);
    for (int turn = 0; turn < 3; turn++) EXPECT_TRUE(same(fast(x), net->forward(x))) << turn;
    EXPECT_EQ(fast.report().kernels, 1U);
    net->parameters()[0].mul_(0.5);
    EXPECT_TRUE(same(fast(x), net->forward(x)));
  }
}

}  // namespace
}  // namespace cresset
