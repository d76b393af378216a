// Optimizers against PyTorch's: the same steps on the same gradients.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cresset/cresset.h"

namespace {

using namespace cresset;

const std::map<std::string, std::vector<double>>& golden() {
  static const std::map<std::string, std::vector<double>> values = {
#include "golden_optim.inc"
  };
  return values;
}

// Rosenbrock's valley through two parameters.
struct Problem {
  explicit Problem(ScalarType dtype)
      : a(cresset::tensor({0.5, -0.3, 1.2, 0.1, -0.7, 0.4}, dtype).view({3, 2}).requires_grad_()),
        b(cresset::tensor({0.9, -1.1, 0.2, 0.6}, dtype).requires_grad_()) {}
  Tensor loss() const {
    const Tensor x = cat({a.reshape({-1}), b});
    const Tensor head = x.narrow(0, 0, 9), tail = x.narrow(0, 1, 9);
    return (100 * (tail - head.square()).square() + (1 - head).square()).sum() / 50;
  }
  std::vector<Tensor> parameters() const { return {a, b}; }
  Tensor a, b;
};

template <class Optimizer> void run(Problem& problem, Optimizer& optimizer, int steps) {
  auto closure = [&] {
    optimizer.zero_grad();
    const Tensor loss = problem.loss();
    loss.backward();
    return loss;
  };
  for (int i = 0; i < steps; i++) {
    if constexpr (std::is_same_v<Optimizer, optim::LBFGS>) {
      optimizer.step(closure);
    } else {
      closure();
      optimizer.step();
    }
  }
}

void expect_parameters(const std::string& row, const Problem& problem, double tolerance) {
  auto found = golden().find(row);
  ASSERT_NE(found, golden().end()) << row;
  const Tensor x = cat({problem.a.detach().reshape({-1}), problem.b.detach()}).to(kDouble);
  for (size_t i = 0; i < found->second.size(); i++) {
    const double expected = found->second[i];
    EXPECT_NEAR(x.data_ptr<double>()[i], expected, tolerance * (1 + std::abs(expected))) << row << " at " << i;
  }
}

template <class Make> void check(const std::string& name, Make make, double float_tolerance = 2e-6) {
  Problem exact(kDouble), single(kFloat);
  auto exact_optimizer = make(exact);
  run(exact, *exact_optimizer, 8);
  expect_parameters(name + " double", exact, 1e-12);
  auto single_optimizer = make(single);
  run(single, *single_optimizer, 8);
  expect_parameters(name + " float", single, float_tolerance);
}

template <class Optimizer, class Options> auto with(Options options) {
  return [options](const Problem& p) { return std::make_unique<Optimizer>(p.parameters(), options); };
}

TEST(Optim, Sgd) { check("SGD", with<optim::SGD>(optim::SGDOptions(0.1))); }
TEST(Optim, SgdMomentum) { check("SGDMomentum", with<optim::SGD>(optim::SGDOptions(0.05).momentum(0.9).dampening(0.1).weight_decay(0.01))); }
TEST(Optim, SgdNesterov) { check("SGDNesterov", with<optim::SGD>(optim::SGDOptions(0.05).momentum(0.9).nesterov(true).weight_decay(0.01))); }
TEST(Optim, Adam) { check("Adam", with<optim::Adam>(optim::AdamOptions(0.1))); }
TEST(Optim, AdamDecay) { check("AdamDecay", with<optim::Adam>(optim::AdamOptions(0.05).betas({0.8, 0.95}).eps(1e-6).weight_decay(0.1))); }
TEST(Optim, AdamAmsgrad) { check("AdamAmsgrad", with<optim::Adam>(optim::AdamOptions(0.2).amsgrad(true))); }
TEST(Optim, AdamW) { check("AdamW", with<optim::AdamW>(optim::AdamWOptions(0.1))); }
TEST(Optim, AdamWAmsgrad) { check("AdamWAmsgrad", with<optim::AdamW>(optim::AdamWOptions(0.2).betas({0.7, 0.9}).weight_decay(0.2).amsgrad(true))); }
TEST(Optim, RmsProp) { check("RMSprop", with<optim::RMSprop>(optim::RMSpropOptions(0.02))); }
TEST(Optim, RmsPropCentered) {
  check("RMSpropCentered", with<optim::RMSprop>(optim::RMSpropOptions(0.02).alpha(0.9).momentum(0.5).centered(true).weight_decay(0.05)), 2e-5);
}
TEST(Optim, Adagrad) { check("Adagrad", with<optim::Adagrad>(optim::AdagradOptions(0.3))); }
TEST(Optim, AdagradDecay) {
  check("AdagradDecay", with<optim::Adagrad>(optim::AdagradOptions(0.3).lr_decay(0.1).weight_decay(0.05).initial_accumulator_value(0.2).eps(1e-6)));
}
TEST(Optim, ParameterGroups) {
  check("Groups", [](const Problem& p) {
    std::vector<optim::OptimizerParamGroup> groups = {
        optim::OptimizerParamGroup({p.a}), optim::OptimizerParamGroup({p.b}, std::make_unique<optim::SGDOptions>(optim::SGDOptions(0.05).momentum(0.5)))};
    return std::make_unique<optim::SGD>(groups, optim::SGDOptions(0.02).momentum(0.5));
  });
}
TEST(Optim, Lbfgs) { check("LBFGS", with<optim::LBFGS>(optim::LBFGSOptions(0.3).max_iter(4).history_size(3)), 1e-4); }
TEST(Optim, LbfgsStrongWolfe) {
  Problem problem(kDouble);
  optim::LBFGS optimizer(problem.parameters(), optim::LBFGSOptions(1).max_iter(7).line_search_fn("strong_wolfe"));
  run(problem, optimizer, 8);
  expect_parameters("LBFGSStrongWolfe double", problem, 1e-7);
}

// A gradient laid out unlike its parameter takes the update of tensor operations instead of the fused pass.
template <class Optimizer, class Options> void expect_fused_agrees(const char* name, Options options) {
  for (const ScalarType dtype : {kFloat, kDouble}) {
    manual_seed(3);
    const Tensor start = randn({300, 170}, dtype);
    Tensor fused = start.clone().requires_grad_(), stepwise = start.clone().requires_grad_();
    Optimizer a(std::vector<Tensor>{fused}, options), b(std::vector<Tensor>{stepwise}, options);
    for (int i = 0; i < 4; i++) {
      const Tensor grad = randn({300, 170}, dtype);
      fused.mutable_grad() = grad;
      stepwise.mutable_grad() = grad.t().contiguous().t();
      const auto version = fused._version();
      a.step();
      b.step();
      EXPECT_GT(fused._version(), version) << name;
    }
    const Tensor distance = (fused - stepwise).detach().abs() / (1 + stepwise.detach().abs());
    EXPECT_LE(distance.max().item<double>(), dtype == kFloat ? 1e-6 : 2e-15) << name << " " << dtype;
  }
}

TEST(Optim, TheFusedPassIsTheUpdateByTensorOperations) {
  expect_fused_agrees<optim::SGD>("sgd", optim::SGDOptions(0.1).weight_decay(0.02));
  expect_fused_agrees<optim::SGD>("momentum", optim::SGDOptions(0.1).momentum(0.9).dampening(0.2));
  expect_fused_agrees<optim::SGD>("nesterov", optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.02));
  expect_fused_agrees<optim::Adam>("adam", optim::AdamOptions(0.1).weight_decay(0.02));
  expect_fused_agrees<optim::Adam>("amsgrad", optim::AdamOptions(0.1).amsgrad(true).betas({0.4, 0.9}));
  expect_fused_agrees<optim::AdamW>("adamw", optim::AdamWOptions(0.1));
  expect_fused_agrees<optim::AdamW>("adamw amsgrad", optim::AdamWOptions(0.1).amsgrad(true));
  expect_fused_agrees<optim::RMSprop>("rmsprop", optim::RMSpropOptions(0.1).weight_decay(0.02));
  expect_fused_agrees<optim::RMSprop>("rmsprop momentum", optim::RMSpropOptions(0.1).momentum(0.8));
  expect_fused_agrees<optim::RMSprop>("rmsprop centered", optim::RMSpropOptions(0.01).centered(true).momentum(0.8).alpha(0.3));
  expect_fused_agrees<optim::Adagrad>("adagrad", optim::AdagradOptions(0.1).lr_decay(0.1).weight_decay(0.02));
}

TEST(Optim, StepReturnsTheLossOfTheClosure) {
  Problem problem(kFloat);
  optim::SGD optimizer(problem.parameters(), 0.1);
  const float expected = problem.loss().item<float>();
  NoGradGuard guard;
  const Tensor loss = optimizer.step([&] {
    const Tensor value = problem.loss();
    value.backward();
    return value;
  });
  EXPECT_EQ(loss.item<float>(), expected);
}

TEST(Optim, ParametersWithoutGradientStay) {
  Problem problem(kFloat);
  optim::Adam optimizer(problem.parameters());
  problem.a.sum().backward();
  const Tensor before = problem.b.detach().clone();
  optimizer.step();
  EXPECT_TRUE(equal(before, problem.b.detach()));
  EXPECT_EQ(optimizer.state().size(), 1u);
}

TEST(Optim, ZeroGradDropsOrZeroes) {
  Problem problem(kFloat);
  optim::SGD optimizer(problem.parameters(), 0.1);
  problem.loss().backward();
  optimizer.zero_grad(false);
  ASSERT_TRUE(problem.a.grad().defined());
  EXPECT_EQ(problem.a.grad().abs().sum().item<float>(), 0.0f);
  optimizer.zero_grad();
  EXPECT_FALSE(problem.a.grad().defined());
}

TEST(Optim, LearningRateCanBeChangedThroughTheOptions) {
  Problem problem(kFloat);
  optim::Adam optimizer(problem.parameters(), optim::AdamOptions(0.1));
  for (auto& group : optimizer.param_groups()) static_cast<optim::AdamOptions&>(group.options()).lr(0.5);
  EXPECT_EQ(optimizer.param_groups()[0].options().get_lr(), 0.5);
}

// Four steps, then four more by an optimizer that loaded the first one's state.
template <class Optimizer, class Options> void check_resume(Options options) {
  Problem straight(kDouble), resumed(kDouble);
  Optimizer one(straight.parameters(), options), first(resumed.parameters(), options);
  run(straight, one, 4);
  run(resumed, first, 4);
  std::stringstream file;
  save(first, file);
  Optimizer second(resumed.parameters(), Options(0.7));
  load(second, file);
  run(straight, one, 4);
  run(resumed, second, 4);
  EXPECT_TRUE(equal(straight.a.detach(), resumed.a.detach()));
  EXPECT_TRUE(equal(straight.b.detach(), resumed.b.detach()));
}
TEST(Optim, SgdResumes) { check_resume<optim::SGD>(optim::SGDOptions(0.05).momentum(0.9)); }
TEST(Optim, AdamResumes) { check_resume<optim::Adam>(optim::AdamOptions(0.05).amsgrad(true)); }
TEST(Optim, AdamWResumes) { check_resume<optim::AdamW>(optim::AdamWOptions(0.05)); }
TEST(Optim, RmsPropResumes) { check_resume<optim::RMSprop>(optim::RMSpropOptions(0.01).momentum(0.5).centered(true)); }
TEST(Optim, AdagradResumes) { check_resume<optim::Adagrad>(optim::AdagradOptions(0.1).lr_decay(0.1)); }
TEST(Optim, LbfgsResumes) { check_resume<optim::LBFGS>(optim::LBFGSOptions(0.3).max_iter(3)); }

TEST(Optim, LoadRefusesOtherGroups) {
  Problem problem(kFloat);
  optim::SGD one(problem.parameters(), 0.1);
  std::stringstream file;
  save(one, file);
  optim::SGD other({problem.a}, 0.3);
  EXPECT_THROW(load(other, file), cresset::ValueError);
  EXPECT_EQ(other.param_groups()[0].options().get_lr(), 0.3);
}

TEST(Optim, RefusesWrongOptions) {
  Problem problem(kFloat);
  EXPECT_THROW(optim::SGD(problem.parameters(), -1.0), cresset::ValueError);
  EXPECT_THROW(optim::SGD(problem.parameters(), optim::SGDOptions(0.1).nesterov(true)), cresset::ValueError);
  EXPECT_THROW(optim::Adam(problem.parameters(), optim::AdamOptions().betas({1.0, 0.9})), cresset::ValueError);
  EXPECT_THROW(optim::AdamW(problem.parameters(), optim::AdamWOptions().weight_decay(-0.1)), cresset::ValueError);
  EXPECT_THROW(optim::RMSprop(problem.parameters(), optim::RMSpropOptions().eps(-1)), cresset::ValueError);
  EXPECT_THROW(optim::Adagrad(problem.parameters(), optim::AdagradOptions().lr_decay(-1)), cresset::ValueError);
}

TEST(Optim, RefusesParametersItCannotMove) {
  Problem problem(kFloat);
  EXPECT_THROW(optim::SGD({problem.a, problem.a}, 0.1), cresset::ValueError);
  EXPECT_THROW(optim::SGD({problem.a * 2}, 0.1), cresset::ValueError);
  EXPECT_THROW(optim::SGD({Tensor()}, 0.1), cresset::ValueError);
}

TEST(Optim, LbfgsNeedsAClosure) {
  Problem problem(kFloat);
  optim::LBFGS optimizer(problem.parameters());
  EXPECT_THROW(optimizer.step(nullptr), cresset::Error);
}

// The rates after each of ten steps, as LibTorch 2.13 gives them.
TEST(Schedulers, StepLr) {
  Problem problem(kFloat);
  optim::SGD optimizer(problem.parameters(), 1.0);
  optim::StepLR scheduler(optimizer, 2, 0.1);
  const std::vector<double> expected = {1, 1, 0.1, 0.1, 0.01, 0.01};
  for (double rate : expected) {
    scheduler.step();
    EXPECT_NEAR(optimizer.param_groups()[0].options().get_lr(), rate, 1e-12);
  }
}

TEST(Schedulers, ReduceOnPlateau) {
  Problem problem(kFloat);
  optim::SGD optimizer(problem.parameters(), 1.0);
  using Scheduler = optim::ReduceLROnPlateauScheduler;
  Scheduler scheduler(optimizer, Scheduler::min, 0.5, 1, 1e-4, Scheduler::rel, 1);
  const std::vector<double> expected = {1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125};
  for (double rate : expected) {
    scheduler.step(1.0f);
    EXPECT_EQ(optimizer.param_groups()[0].options().get_lr(), rate);
  }
}

TEST(Schedulers, ReduceOnPlateauKeepsTheMinimum) {
  Problem problem(kFloat);
  optim::SGD optimizer(problem.parameters(), 1.0);
  using Scheduler = optim::ReduceLROnPlateauScheduler;
  Scheduler scheduler(optimizer, Scheduler::max, 0.5, 0, 0.1, Scheduler::abs, 0, {0.4f});
  for (int i = 0; i < 6; i++) scheduler.step(0.0f);
  EXPECT_FLOAT_EQ(static_cast<float>(optimizer.param_groups()[0].options().get_lr()), 0.4f);
  EXPECT_THROW(Scheduler(optimizer, Scheduler::min, 1.0), cresset::ValueError);
}

}  // namespace
