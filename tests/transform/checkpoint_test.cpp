// A checkpointed function has the gradients of the plain one, its random numbers are the same again, and it runs twice.

#include "cresset/transform/checkpoint.h"

#include <gtest/gtest.h>

#include "cresset/cresset.h"
#include "cresset/transform/autocast.h"

namespace {

using namespace cresset;

TEST(Checkpoint, GivesTheGradientsOfThePlainFunction) {
  manual_seed(1);
  nn::Sequential block(nn::Linear(4, 8), nn::Dropout(0.5), nn::Linear(8, 4));
  const Tensor x = randn({3, 4});
  std::vector<std::vector<Tensor>> results;
  for (bool checkpointed : {false, true}) {
    block->zero_grad();
    const Tensor input = x.clone().requires_grad_();
    int calls = 0;
    const auto run = [&](const Tensor& in) { return calls++, block(in).tanh(); };
    manual_seed(7);
    const Tensor out = checkpointed ? utils::checkpoint(run, input) : run(input);
    const Tensor after = rand({2});
    out.square().sum().backward();
    EXPECT_EQ(calls, checkpointed ? 2 : 1);
    results.push_back({out, after, input.grad()});
    for (const Tensor& p : block->parameters()) results.back().push_back(p.grad());
  }
  for (size_t i = 0; i < results[0].size(); i++) EXPECT_TRUE(equal(results[0][i], results[1][i])) << i;
}

TEST(Checkpoint, ParametersAloneAreEnoughAndListsPass) {
  nn::Linear layer(2, 2);
  const auto run = [&](const autograd::variable_list& in) { return autograd::variable_list{layer(in[0]) + in[1], in[0] * 2}; };
  const auto outs = utils::checkpoint(run, {ones({1, 2}), ones({1, 2})});
  EXPECT_TRUE(outs[0].requires_grad());
  outs[0].sum().backward();
  EXPECT_TRUE(equal(layer->bias.grad(), ones({2})));
  NoGradGuard guard;
  EXPECT_FALSE(utils::checkpoint(run, {ones({1, 2}), ones({1, 2})})[0].requires_grad());
}

TEST(Checkpoint, RunsAgainUnderTheSameMixedPrecision) {
  nn::Linear layer(2, 2);
  std::vector<ScalarType> seen;
  Tensor out;
  {
    autocast region(kCPU, kBFloat16);
    out = utils::checkpoint([&](const Tensor& in) { return seen.push_back(layer(in).scalar_type()), layer(in); }, ones({1, 2}));
  }
  out.sum().backward();
  EXPECT_EQ(seen, (std::vector<ScalarType>{kBFloat16, kBFloat16}));
}

TEST(Checkpoint, SegmentsOfASequence) {
  const Tensor x = randn({3}).requires_grad_();
  std::vector<std::function<Tensor(const Tensor&)>> functions(5, [](const Tensor& t) { return t.sin(); });
  const Tensor out = utils::checkpoint_sequential(functions, 2, x);
  EXPECT_TRUE(equal(out, x.sin().sin().sin().sin().sin()));
  out.sum().backward();
  const Tensor y = x.detach().requires_grad_();
  y.sin().sin().sin().sin().sin().sum().backward();
  EXPECT_TRUE(equal(x.grad(), y.grad()));
  EXPECT_THROW(utils::checkpoint_sequential(functions, 6, x), ValueError);
}

}  // namespace
