// Options and states compare by their entries; a step that fails leaves every parameter as it was.

#include <gtest/gtest.h>

#include "cresset/cresset.h"
#include "cresset/optim/all.h"
#include "error_of.h"

namespace {

using namespace cresset;

TEST(Equality, OfOptions) {
  EXPECT_TRUE(optim::AdamOptions(0.1) == optim::AdamOptions(0.1));
  EXPECT_TRUE(optim::AdamOptions(0.1) != optim::AdamOptions(0.2));
  EXPECT_FALSE(optim::SGDOptions(0.1).nesterov(true) == optim::SGDOptions(0.1));
  EXPECT_TRUE(optim::LBFGSOptions().line_search_fn("strong_wolfe") == optim::LBFGSOptions().line_search_fn("strong_wolfe"));
  EXPECT_FALSE(optim::RpropOptions() == optim::RpropOptions().etas({0.4, 1.2}));
}

template <class Optimizer, class State, class Options> void check_states(const Options& options) {
  std::vector<Tensor> same[2];
  std::unique_ptr<Optimizer> optimizers[2];
  for (int i = 0; i < 2; i++) {
    same[i] = {ones({3}).requires_grad_(true)};
    optimizers[i] = std::make_unique<Optimizer>(same[i], options);
    optimizers[i]->step([&] {
      optimizers[i]->zero_grad();
      const Tensor loss = (same[i][0] * same[i][0]).sum();
      loss.backward();
      return loss;
    });
  }
  auto& first = static_cast<State&>(*optimizers[0]->state().begin()->second);
  auto& second = static_cast<State&>(*optimizers[1]->state().begin()->second);
  EXPECT_TRUE(first == second);
  optimizers[1]->step([&] { return same[1][0].sum(); });
  EXPECT_FALSE(first == second);
}

TEST(Equality, OfStates) {
  check_states<optim::Adam, optim::AdamParamState>(optim::AdamOptions(0.1).amsgrad(true));
  check_states<optim::RMSprop, optim::RMSpropParamState>(optim::RMSpropOptions(0.1).centered(true).momentum(0.9));
  check_states<optim::Adagrad, optim::AdagradParamState>(optim::AdagradOptions(0.1));
  check_states<optim::SGD, optim::SGDParamState>(optim::SGDOptions(0.1).momentum(0.9));
  check_states<optim::LBFGS, optim::LBFGSParamState>(optim::LBFGSOptions(0.1));
  check_states<optim::Adamax, optim::AdamaxParamState>(optim::AdamaxOptions());
}

TEST(Equality, OldDirectionsOfLbfgsAreADeque) {
  optim::LBFGSParamState a, b;
  a.old_dirs(std::deque<Tensor>{ones({2})});
  EXPECT_FALSE(a == b);
  b.old_dirs().push_back(ones({2}));
  EXPECT_TRUE(a == b);
}

// A dense gradient on the first parameter, a sparse one on the second.
template <class Optimizer, class Options> void check_untouched(const Options& options) {
  std::vector<Tensor> params = {ones({2, 2}).requires_grad_(true), ones({2, 2}).requires_grad_(true)};
  params[0].mutable_grad() = ones({2, 2});
  params[1].mutable_grad() = sparse_coo_tensor(zeros({1, 1}, kLong), ones({1, 2}), {2, 2});
  Optimizer optimizer(params, options);
  EXPECT_NE(error_of([&] { optimizer.step(); }), "no error");
  EXPECT_TRUE(equal(params[0], ones({2, 2})));
}

TEST(FailedStep, LeavesTheParametersBeforeTheSparseGradient) {
  check_untouched<optim::Adam>(optim::AdamOptions(0.5));
  check_untouched<optim::AdamW>(optim::AdamWOptions(0.5));
  check_untouched<optim::RMSprop>(optim::RMSpropOptions(0.5));
  check_untouched<optim::Adagrad>(optim::AdagradOptions(0.5).weight_decay(0.1));
  check_untouched<optim::Adamax>(optim::AdamaxOptions());
  check_untouched<optim::NAdam>(optim::NAdamOptions());
  check_untouched<optim::RAdam>(optim::RAdamOptions());
  check_untouched<optim::Adadelta>(optim::AdadeltaOptions());
  check_untouched<optim::Rprop>(optim::RpropOptions());
  check_untouched<optim::ASGD>(optim::ASGDOptions());
  check_untouched<optim::Adafactor>(optim::AdafactorOptions());
  check_untouched<optim::Muon>(optim::MuonOptions());
  check_untouched<optim::SparseAdam>(optim::SparseAdamOptions());
}

TEST(FailedStep, LeavesTheParametersBeforeOneThatIsComplex) {
  std::vector<Tensor> params = {ones({2, 2}).requires_grad_(true), ones({2, 2}, kComplexFloat).requires_grad_(true)};
  for (Tensor& p : params) p.mutable_grad() = ones_like(p).detach();
  optim::Adafactor optimizer(params);
  for (int i = 0; i < 2; i++) EXPECT_NE(error_of([&] { optimizer.step(); }).find("complex"), std::string::npos);
  EXPECT_TRUE(equal(params[0], ones({2, 2})));
}

}  // namespace
