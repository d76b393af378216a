// The optimizers and schedules that LibTorch lacks: against PyTorch's numbers here, and against the Python front end's bits in
// tests/python/optim/front_ends_test.py, which reads what Steps.AreWrittenForPython writes.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "cresset/cresset.h"
#include "cresset/optim/all.h"
#include "error_of.h"

namespace {

using namespace cresset;
namespace schedules = optim::lr_scheduler;

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
  // Without a valley in which last digits grow: for many steps.
  Tensor bowl() const {
    const TensorOptions like = a.options();
    return (linspace(0.2, 2, 10, like) * (cat({a.reshape({-1}), b}) - linspace(-1, 1, 10, like)).square()).sum();
  }
  Tensor values() const { return cat({a.detach().reshape({-1}), b.detach()}); }
  Tensor a, b;
};
using Made = std::unique_ptr<optim::Optimizer>;
using Make = std::function<Made(const Problem&)>;

template <class Optimizer, class Options> Make with(Options options) {
  return [options](const Problem& p) { return std::make_unique<Optimizer>(std::vector<Tensor>{p.a, p.b}, options); };
}

void run(Problem& problem, optim::Optimizer& optimizer, int steps, const std::function<void()>& after = nullptr) {
  for (int i = 0; i < steps; i++) {
    const auto closure = [&] {
      optimizer.zero_grad();
      const Tensor loss = steps > 50 ? problem.bowl() : problem.loss();
      loss.backward();
      return loss;
    };
    if (dynamic_cast<optim::LBFGS*>(&optimizer)) {
      optimizer.step(closure);
    } else {
      closure();
      optimizer.step();
    }
    if (after) after();
  }
}

const std::vector<std::pair<std::string, Make>>& cases() {
  using namespace optim;
  static const std::vector<std::pair<std::string, Make>> all = {
      {"SGDNesterov", with<SGD>(SGDOptions(0.05).momentum(0.9).nesterov(true).weight_decay(0.01))},
      {"AdamAmsgrad", with<Adam>(AdamOptions(0.2).amsgrad(true))},
      {"AdamW", with<AdamW>(AdamWOptions(0.1))},
      {"RMSpropCentered", with<RMSprop>(RMSpropOptions(0.02).alpha(0.9).momentum(0.5).centered(true).weight_decay(0.05))},
      {"Adagrad", with<Adagrad>(AdagradOptions(0.3))},
      {"Adamax", with<Adamax>(AdamaxOptions(0.05))},
      {"AdamaxDecay", with<Adamax>(AdamaxOptions(0.05).betas({0.8, 0.998}).eps(1e-6).weight_decay(0.1))},
      {"NAdam", with<NAdam>(NAdamOptions(0.05))},
      {"NAdamDecoupled", with<NAdam>(NAdamOptions(0.05).weight_decay(0.1).momentum_decay(0.01).decoupled_weight_decay(true))},
      {"RAdam", with<RAdam>(RAdamOptions(0.05))},
      {"RAdamDecay", with<RAdam>(RAdamOptions(0.05).betas({0.7, 0.9}).weight_decay(0.1))},
      {"Adadelta", with<Adadelta>(AdadeltaOptions(1.0))},
      {"AdadeltaDecay", with<Adadelta>(AdadeltaOptions(2.0).rho(0.8).eps(1e-4).weight_decay(0.05))},
      {"Rprop", with<Rprop>(RpropOptions(0.02))},
      {"RpropBounds", with<Rprop>(RpropOptions(0.02).etas({0.4, 1.3}).step_sizes({1e-3, 0.05}))},
      {"ASGD", with<ASGD>(ASGDOptions(0.05))},
      {"ASGDAverage", with<ASGD>(ASGDOptions(0.05).lambd(0.01).alpha(0.6).t0(3).weight_decay(0.05))},
      {"Adafactor", with<Adafactor>(AdafactorOptions(0.1))},
      {"AdafactorClip", with<Adafactor>(AdafactorOptions(0.2).beta2_decay(-0.5).eps1(1e-6).eps2(1e-2).d(1.5).weight_decay(0.1))},
      {"Muon", [](const Problem& p) { return std::make_unique<Muon>(std::vector<Tensor>{p.a}, MuonOptions(0.05)); }},
      {"LBFGS", with<LBFGS>(LBFGSOptions(0.3).max_iter(4).history_size(3))},
  };
  return all;
}

TEST(MoreOptimizers, StepsArePyTorchs) {
  for (const auto& [name, make] : cases()) {
    // Muon computes in bfloat16, whose sums depend on their order.
    const bool coarse = name == "Muon", search = name == "LBFGS";
    for (const auto& [row, dtype, steps, tolerance] : {std::tuple(" double", kDouble, 8, coarse ? 2e-2 : 1e-12),
                                                       {" float", kFloat, 8,
                                                        coarse   ? 2e-2
                                                        : search ? 1e-4
                                                                 : 2e-6},
                                                       {" long", kDouble, 200, 1e-9}}) {
      const auto found = golden().find(name + row);
      if (steps == 200 && (coarse || search)) continue;
      ASSERT_NE(found, golden().end()) << name << row;
      Problem problem(dtype);
      run(problem, *make(problem), steps);
      const Tensor x = problem.values().to(kDouble);
      for (size_t i = 0; i < found->second.size(); i++)
        EXPECT_NEAR(x.data_ptr<double>()[i], found->second[i], tolerance * (1 + std::abs(found->second[i]))) << name << row << " at " << i;
    }
  }
}

TEST(MoreOptimizers, ResumeFromAFile) {
  for (const auto& [name, make] : cases()) {
    if (name == "LBFGS") continue;
    Problem whole(kDouble), parts(kDouble);
    run(whole, *make(whole), 6);
    std::stringstream file;
    {
      const Made optimizer = make(parts);
      run(parts, *optimizer, 3);
      serialize::OutputArchive out;
      optimizer->save(out);
      out.save_to(file);
    }
    const Made fresh = make(parts);
    serialize::InputArchive in;
    in.load_from(file);
    fresh->load(in);
    run(parts, *fresh, 3);
    EXPECT_TRUE(equal(whole.values(), parts.values())) << name;
  }
}

TEST(MoreOptimizers, ComplexParametersArePairsAndMaximizeClimbs) {
  Tensor z = tensor({1.0, -2.0}).to(kComplexDouble).requires_grad_(), x = tensor({1.0, 0.0, -2.0, 0.0}).to(kDouble).view({2, 2}).requires_grad_();
  optim::NAdam first({z}, optim::NAdamOptions(0.1)), second({x}, optim::NAdamOptions(0.1).maximize(true));
  for (int i = 0; i < 5; i++) {
    first.zero_grad();
    second.zero_grad();
    view_as_real(z).square().sum().backward();
    x.square().sum().neg().backward();
    first.step();
    second.step();
  }
  EXPECT_TRUE(equal(view_as_real(z.detach()), x.detach()));
}

template <class Optimizer, class Options> void expect_climbs(Options options) {
  Tensor down = tensor({1.0, -2.0}).to(kDouble).requires_grad_(), up = down.detach().clone().requires_grad_();
  Optimizer first({down}, options), second({up}, Options(options).maximize(true));
  for (int i = 0; i < 4; i++) {
    first.zero_grad();
    second.zero_grad();
    down.square().sum().backward();
    up.square().sum().neg().backward();
    first.step();
    second.step();
  }
  EXPECT_TRUE(equal(down.detach(), up.detach()));
  std::stringstream file;
  serialize::OutputArchive out;
  second.save(out);
  out.save_to(file);
  serialize::InputArchive in;
  in.load_from(file);
  first.load(in);
  EXPECT_TRUE(static_cast<Options&>(first.param_groups()[0].options()).maximize());
}
TEST(MoreOptimizers, MaximizeOfLibTorchsOwn) {
  expect_climbs<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9));
  expect_climbs<optim::Adam>(optim::AdamOptions(0.1));
  expect_climbs<optim::AdamW>(optim::AdamWOptions(0.1));
  expect_climbs<optim::RMSprop>(optim::RMSpropOptions(0.1).centered(true));
  expect_climbs<optim::Adagrad>(optim::AdagradOptions(0.1));
}

TEST(MoreOptimizers, AnotherOptimizersStateChangesNothing) {
  Problem problem(kDouble);
  optim::SGD sgd({problem.a, problem.b}, optim::SGDOptions(0.05).momentum(0.9));
  optim::Adam adam({problem.a, problem.b}, optim::AdamOptions(0.05)), other({problem.a}, optim::AdamOptions(0.05));
  run(problem, sgd, 2);
  run(problem, adam, 2);
  std::stringstream file;
  serialize::OutputArchive out;
  sgd.save(out);
  out.save_to(file);
  serialize::InputArchive in;
  in.load_from(file);
  EXPECT_NE(error_of([&] { adam.load(in); }).find("beta1"), std::string::npos);
  EXPECT_NE(error_of([&] { other.load(in); }).find("size of parameter group 0"), std::string::npos);
  EXPECT_EQ(static_cast<optim::AdamOptions&>(adam.param_groups()[0].options()).lr(), 0.05);
  EXPECT_EQ(adam.state().size(), 2u);
  run(problem, adam, 1);
}

TEST(MoreOptimizers, OptionsOutOfRangeAreRefused) {
  const std::vector<Tensor> params{ones({2, 2}).requires_grad_()};
  EXPECT_THROW(optim::Adamax(params, optim::AdamaxOptions(-1)), ValueError);
  EXPECT_THROW(optim::Adamax(params, optim::AdamaxOptions(0.1).betas({0.9, 1.0})), ValueError);
  EXPECT_THROW(optim::NAdam(params, optim::NAdamOptions().momentum_decay(-1)), ValueError);
  EXPECT_THROW(optim::RAdam(params, optim::RAdamOptions().eps(-1)), ValueError);
  EXPECT_THROW(optim::Adadelta(params, optim::AdadeltaOptions().rho(1.5)), ValueError);
  EXPECT_THROW(optim::Rprop(params, optim::RpropOptions().etas({1.5, 2})), ValueError);
  EXPECT_THROW(optim::ASGD(params, optim::ASGDOptions().weight_decay(-1)), ValueError);
  EXPECT_THROW(optim::Adafactor(params, optim::AdafactorOptions().d(0.5)), ValueError);
  EXPECT_THROW(optim::Muon(params, optim::MuonOptions().ns_steps(100)), ValueError);
  EXPECT_THROW(optim::Muon({ones({2}).requires_grad_()}), ValueError);
  EXPECT_THROW(optim::Muon(params, optim::MuonOptions().adjust_lr_fn("other")), ValueError);
}

// ---- schedules ----------------------------------------------------------------------------------------------------------

using Schedule = std::function<std::function<void(int)>(optim::Optimizer&)>;
template <class S, class... A> Schedule schedule(A... args) {
  return [=](optim::Optimizer& o) {
    auto s = std::make_shared<S>(o, args...);
    return [s](int) { s->step(); };
  };
}
template <class S, class... A> std::shared_ptr<schedules::EpochScheduler> part(optim::Optimizer& o, A... args) { return std::make_shared<S>(o, args...); }

const std::vector<std::pair<std::string, Schedule>>& all_schedules() {
  using namespace schedules;
  const auto falling = [](int64_t epoch) { return 1.0 / (1.0 + 0.1 * static_cast<double>(epoch)); };
  static const std::vector<std::pair<std::string, Schedule>> all = {
      {"LambdaLR", schedule<LambdaLR>(LambdaLR::Function(falling))},
      {"MultiplicativeLR", schedule<MultiplicativeLR>(LambdaLR::Function(falling))},
      {"StepLR", schedule<StepLR>(3, 0.7)},
      {"MultiStepLR", schedule<MultiStepLR>(std::vector<int64_t>{2, 5, 5, 9}, 0.5)},
      {"ConstantLR", schedule<ConstantLR>(0.3, 4)},
      {"LinearLR", schedule<LinearLR>(0.2, 0.9, 7)},
      {"ExponentialLR", schedule<ExponentialLR>(0.93)},
      {"PolynomialLR", schedule<PolynomialLR>(12, 1.7)},
      {"CosineAnnealingLR", schedule<CosineAnnealingLR>(6, 0.01)},
      {"CosineAnnealingWarmRestarts", schedule<CosineAnnealingWarmRestarts>(3, 2, 0.01)},
      {"CyclicLR", schedule<CyclicLR>(std::vector<double>{0.01}, std::vector<double>{0.2},
                                      CyclicLROptions().step_size_up(3).step_size_down(5).mode(CyclicLROptions::triangular2))},
      {"CyclicExp", schedule<CyclicLR>(std::vector<double>{0.01, 0.02}, std::vector<double>{0.2, 0.3},
                                       CyclicLROptions().step_size_up(4).mode(CyclicLROptions::exp_range).gamma(0.97).cycle_momentum(false))},
      {"OneCycleLR", schedule<OneCycleLR>(std::vector<double>{0.5}, 30, OneCycleLROptions())},
      {"OneCycleThree", schedule<OneCycleLR>(std::vector<double>{0.5, 0.3}, 30,
                                             OneCycleLROptions().three_phase(true).anneal_strategy(OneCycleLROptions::linear).pct_start(0.4))},
      {"SWALR", schedule<SWALR>(std::vector<double>{0.02}, 8)},
      {"SWALinear", schedule<SWALR>(std::vector<double>{0.02, 0.3}, 8, true)},
      {"SequentialLR",
       [](optim::Optimizer& o) {
         auto s = std::make_shared<SequentialLR>(
             o, std::vector<std::shared_ptr<EpochScheduler>>{part<ConstantLR>(o, 0.1, 3), part<ExponentialLR>(o, 0.9), part<CosineAnnealingLR>(o, 5)},
             std::vector<int64_t>{4, 11});
         return [s](int) { s->step(); };
       }},
      {"ChainedScheduler",
       [](optim::Optimizer& o) {
         auto s = std::make_shared<ChainedScheduler>(std::vector<std::shared_ptr<EpochScheduler>>{part<ConstantLR>(o, 0.1, 3), part<ExponentialLR>(o, 0.9)});
         return [s](int) { s->step(); };
       }},
      {"ReduceLROnPlateau",
       [](optim::Optimizer& o) {
         auto s = std::make_shared<ReduceLROnPlateau>(o, ReduceLROnPlateau::min, 0.5, 2, 0.01, ReduceLROnPlateau::rel, 1, std::vector<double>{0.01});
         return [s](int i) { s->step(1.0 / (1 + i % 7)); };
       }},
  };
  return all;
}

std::vector<double> rates_of(const Schedule& make, int steps) {
  const Tensor a = ones({1}).requires_grad_(), b = ones({1}).requires_grad_();
  std::vector<optim::OptimizerParamGroup> groups{std::vector<Tensor>{a}};
  groups.emplace_back(std::vector<Tensor>{b}, std::make_unique<optim::SGDOptions>(optim::SGDOptions(0.4).momentum(0.5)));
  optim::SGD optimizer(groups, optim::SGDOptions(0.1).momentum(0.9));
  const auto next = make(optimizer);
  std::vector<double> seen;
  for (int i = 0; i < steps; i++) {
    for (auto& group : optimizer.param_groups()) {
      const auto& o = static_cast<const optim::SGDOptions&>(group.options());
      seen.insert(seen.end(), {o.lr(), o.momentum()});
    }
    next(i);
  }
  return seen;
}

TEST(LrScheduler, StateIsSavedAndLoaded) {
  const Tensor a = ones({1}).requires_grad_();
  optim::SGD first({a}, optim::SGDOptions(0.4)), second({a}, optim::SGDOptions(0.4));
  schedules::CosineAnnealingWarmRestarts one(first, 3, 2), other(second, 3, 2);
  for (int i = 0; i < 5; i++) one.step();
  std::stringstream file;
  serialize::OutputArchive out;
  one.save(out);
  out.save_to(file);
  serialize::InputArchive in;
  in.load_from(file);
  other.load(in);
  one.step();
  other.step();
  EXPECT_EQ(one.get_last_lr(), other.get_last_lr());
  EXPECT_EQ(other.last_epoch(), 6);
  other.step(2.5);
  EXPECT_NEAR(other.get_last_lr()[0], 0.4 * (1 + std::cos(M_PI * 2.5 / 3)) / 2, 1e-15);
  std::vector<optim::OptimizerParamGroup> groups{std::vector<Tensor>{a}, std::vector<Tensor>{ones({1}).requires_grad_()}};
  optim::SGD wide(groups, optim::SGDOptions(0.4));
  schedules::ExponentialLR two_groups(wide, 0.5);
  EXPECT_THROW(two_groups.load(in), ValueError);
}

TEST(LrScheduler, WrongArgumentsAreRefused) {
  const Tensor a = ones({1}).requires_grad_();
  optim::SGD sgd({a}, optim::SGDOptions(0.4));
  optim::Adagrad adagrad({a}, optim::AdagradOptions(0.4));
  EXPECT_THROW(schedules::ConstantLR(sgd, 1.5), ValueError);
  EXPECT_THROW(schedules::LinearLR(sgd, 0.0), ValueError);
  EXPECT_THROW(schedules::LambdaLR(sgd, std::vector<schedules::LambdaLR::Function>{}), ValueError);
  EXPECT_THROW(schedules::CosineAnnealingWarmRestarts(sgd, 0), ValueError);
  EXPECT_THROW(schedules::CyclicLR(sgd, {0.1, 0.2}, {0.3}), ValueError);
  EXPECT_THROW(schedules::CyclicLR(adagrad, {0.1}, {0.3}), ValueError);
  EXPECT_THROW(schedules::OneCycleLR(sgd, {0.1}, 0), ValueError);
  EXPECT_THROW(schedules::ReduceLROnPlateau(sgd, schedules::ReduceLROnPlateau::min, 1.0), ValueError);
  EXPECT_THROW(schedules::ChainedScheduler({}), ValueError);
  EXPECT_THROW(schedules::SequentialLR(sgd, {part<schedules::ExponentialLR>(adagrad, 0.5)}, {}), ValueError);
  EXPECT_THROW(schedules::SequentialLR(sgd, {part<schedules::ExponentialLR>(sgd, 0.5)}, {3}), ValueError);
  schedules::OneCycleLR cycle(sgd, {0.1}, 3);
  for (int i = 0; i < 3; i++) cycle.step();
  EXPECT_THROW(cycle.step(), ValueError);
}

// ---- averages of weights ------------------------------------------------------------------------------------------------

TEST(SwaUtils, MeansAndMovingAverages) {
  using namespace optim::swa_utils;
  nn::Linear net(2, 1);
  AveragedModel mean(net.ptr()), moving(net.ptr(), std::nullopt, get_ema_avg_fn(0.75)), lists(net.ptr(), get_ema_multi_avg_fn(0.75));
  double expected_mean = 0, expected_moving = 0;
  for (int i = 0; i < 4; i++) {
    NoGradGuard guard;
    const double value = i * i;
    net->weight.fill_(value);
    for (AveragedModel* m : {&mean, &moving, &lists}) m->update_parameters(*net);
    expected_mean += value / 4;
    expected_moving = i == 0 ? value : 0.75 * expected_moving + 0.25 * value;
  }
  EXPECT_NEAR(mean.model_as<nn::LinearImpl>().weight[0][0].item<double>(), expected_mean, 1e-6);
  EXPECT_NEAR(moving.model_as<nn::LinearImpl>().weight[0][0].item<double>(), expected_moving, 1e-6);
  EXPECT_NEAR(lists.model_as<nn::LinearImpl>().weight[0][1].item<double>(), expected_moving, 1e-6);
  EXPECT_EQ(mean.n_averaged(), 4);
  EXPECT_THROW(get_ema_avg_fn(1.5), ValueError);
  EXPECT_THROW(mean.update_parameters(*nn::Linear(3, 1)), ValueError);
}

TEST(SwaUtils, BatchNormStatisticsAreMeansOverAllBatches) {
  nn::Sequential net(nn::BatchNorm1d(1));
  net->eval();
  const std::vector<Tensor> batches{tensor({1.f, 3.f}).view({2, 1}), tensor({5.f, 7.f}).view({2, 1}), tensor({0.f, 2.f}).view({2, 1})};
  optim::swa_utils::update_bn(batches, net);
  auto& norm = *net->ptr<nn::BatchNorm1dImpl>(0);
  EXPECT_NEAR(norm.running_mean.item<float>(), 3, 1e-6);
  EXPECT_EQ(norm.options.momentum(), 0.1);
  EXPECT_FALSE(net->is_training());
}

// ---- both front ends ----------------------------------------------------------------------------------------------------

void write(std::FILE* file, const std::string& name, ArrayRef<double> numbers) {
  std::fprintf(file, "%s", name.c_str());
  for (const double x : numbers) std::fprintf(file, " %a", x);
  std::fprintf(file, "\n");
}

TEST(MoreOptimizers, AnotherModelsStateChangesNothing) {
  const auto trained = [](int64_t size) {
    Tensor w = ones({size}).requires_grad_();
    auto optimizer = std::make_unique<optim::Adam>(std::vector<Tensor>{w});
    w.square().sum().backward();
    optimizer->step();
    return std::pair(w, std::move(optimizer));
  };
  const auto [wide, from] = trained(5);
  auto [w, optimizer] = trained(3);
  std::stringstream file;
  save(*from, file);
  const auto& state = static_cast<const optim::AdamParamState&>(*optimizer->state().at(w.unsafeGetTensorImpl()));
  const Tensor before = state.exp_avg().clone();
  EXPECT_NE(error_of([&, o = optimizer.get()] { load(*o, file); }).find("exp_avg of parameter 0 is [5], expected [3]"), std::string::npos);
  EXPECT_TRUE(equal(state.exp_avg(), before));
  EXPECT_EQ(state.step(), 1);
}

TEST(MoreOptimizers, ParametersTwiceOrNoLeavesAreRefused) {
  const Tensor w = ones({2}).requires_grad_(), v = ones({2}).requires_grad_();
  EXPECT_THROW(optim::SGD(std::vector<Tensor>{w, w}, optim::SGDOptions(0.1)), ValueError);
  EXPECT_THROW(optim::SGD(std::vector<Tensor>{w * 2}, optim::SGDOptions(0.1)), ValueError);
  optim::SGD optimizer(std::vector<Tensor>{w}, optim::SGDOptions(0.1));
  for (const auto& wrong : std::vector<std::vector<Tensor>>{{w}, {v, v}, {v, v * 2}, {Tensor()}}) {
    EXPECT_THROW(optimizer.add_parameters(wrong), ValueError);
    EXPECT_THROW(optimizer.add_param_group(wrong), ValueError);
    EXPECT_EQ(optimizer.size(), 1u);
    EXPECT_EQ(optimizer.param_groups().size(), 1u);
  }
}

TEST(MoreOptimizers, SparseGradientsMoveOnlyTheirRows) {
  const std::map<std::string, std::vector<float>> expected = {{"SparseAdam", {0.f, 0.15f, 0.4255863f, 0.6755863f, 0.8162266f, 1.066409f, 1.5f, 1.75f}},
                                                              {"Adagrad", {0.f, 0.15f, 0.4f, 0.65f, 0.8125842f, 1.0621375f, 1.5f, 1.75f}}};
  for (const auto& [name, values] : expected) {
    Tensor w = (arange(8, kFloat).view({4, 2}) / 4).requires_grad_();
    std::unique_ptr<optim::Optimizer> optimizer;
    if (name == "Adagrad") optimizer = std::make_unique<optim::Adagrad>(std::vector<Tensor>{w}, optim::AdagradOptions(0.1));
    else optimizer = std::make_unique<optim::SparseAdam>(std::vector<Tensor>{w}, optim::SparseAdamOptions(0.1));
    for (const auto& rows : std::vector<std::vector<int64_t>>{{0, 2, 0}, {1}, {2, 2}}) {
      optimizer->zero_grad();
      embedding(w, tensor(rows), -1, false, true).square().sum().backward();
      optimizer->step();
    }
    EXPECT_TRUE(allclose(w.detach().flatten(), tensor(values), 1e-5, 1e-6)) << name << w;
  }
  Tensor w = ones({2}).requires_grad_();
  optim::SparseAdam optimizer(std::vector<Tensor>{w});
  w.sum().backward();
  EXPECT_NE(error_of([&] { optimizer.step(); }).find("dense gradients"), std::string::npos);
  EXPECT_TRUE(optimizer.state().empty());
}

// A dense gradient, and behind it, in a group of its own, a sparse one.
template <class Optimizer, class Options> void refuses_as_a_whole(Options options) {
  const Tensor p = ones({2, 2}).requires_grad_(), q = ones({2, 2}).requires_grad_();
  Optimizer optimizer(std::vector<optim::OptimizerParamGroup>{std::vector<Tensor>{p}, std::vector<Tensor>{q}}, options);
  p.sum().backward();
  embedding(q, tensor(std::vector<int64_t>{0}), -1, false, true).sum().backward();
  EXPECT_NE(error_of([&] { optimizer.step(); }).find("sparse"), std::string::npos);
  EXPECT_TRUE(equal(p, ones({2, 2}))) << typeid(Optimizer).name();
}

TEST(MoreOptimizers, AStepThatFailsMovesNoParameter) {
  refuses_as_a_whole<optim::Adam>(optim::AdamOptions());
  refuses_as_a_whole<optim::AdamW>(optim::AdamWOptions());
  refuses_as_a_whole<optim::RMSprop>(optim::RMSpropOptions());
  refuses_as_a_whole<optim::Adagrad>(optim::AdagradOptions().weight_decay(0.1));
  refuses_as_a_whole<optim::Adamax>(optim::AdamaxOptions());
  refuses_as_a_whole<optim::NAdam>(optim::NAdamOptions());
  refuses_as_a_whole<optim::RAdam>(optim::RAdamOptions());
  refuses_as_a_whole<optim::Adadelta>(optim::AdadeltaOptions());
  refuses_as_a_whole<optim::Rprop>(optim::RpropOptions());
  refuses_as_a_whole<optim::ASGD>(optim::ASGDOptions());
  refuses_as_a_whole<optim::Adafactor>(optim::AdafactorOptions());
  refuses_as_a_whole<optim::Muon>(optim::MuonOptions());
}

TEST(Steps, AreWrittenForPython) {
  const char* path = std::getenv("CRESSET_STEPS");
  if (!path) GTEST_SKIP() << "CRESSET_STEPS names no file";
  std::FILE* file = std::fopen(path, "w");
  ASSERT_NE(file, nullptr);
  for (const auto& [name, make] : cases()) {
    for (const ScalarType dtype : {kFloat, kDouble}) {
      Problem problem(dtype);
      std::vector<double> seen;
      run(problem, *make(problem), 200, [&] {
        const Tensor x = problem.values().to(kDouble);
        seen.insert(seen.end(), x.data_ptr<double>(), x.data_ptr<double>() + x.numel());
      });
      write(file, name + (dtype == kFloat ? " float" : " double"), seen);
    }
  }
  for (const auto& [name, make] : all_schedules()) write(file, name + " rates", rates_of(make, name.substr(0, 8) == "OneCycle" ? 30 : 60));
  std::fclose(file);
}

}  // namespace
