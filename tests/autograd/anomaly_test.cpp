#include "cresset/autograd/anomaly_mode.h"

#include "cresset/autograd/function.h"
#include "cresset/autograd/node_hooks.h"
#include "cresset/base/warning_handler.h"
#include "tests/autograd/support.h"

namespace cresset {
namespace {

using autograd::AnomalyMode;
using autograd::AutogradContext;
using autograd::DetectAnomalyGuard;
using autograd::variable_list;

TEST(AnomalyMode, NamesTheNodeThatMadeANaN) {
  DetectAnomalyGuard guard;
  const Tensor x = leaf({0});
  // 0 * inf in the backward of sqrt at 0.
  const Tensor y = ((x * 1.0).sqrt() * 0.0).sum();
  EXPECT_TRUE(contains(error_of([&] { y.backward(); }), "returned nan values in its output 0"));
}

TEST(AnomalyMode, WithoutItNaNsPass) {
  const Tensor x = leaf({0});
  ((x * 1.0).sqrt() * 0.0).sum().backward();
  EXPECT_NE(x.grad().item<double>(), x.grad().item<double>());
}

TEST(AnomalyMode, LeavesNaNsAloneIfToldSo) {
  DetectAnomalyGuard guard(false);
  const Tensor x = leaf({0});
  ((x * 1.0).sqrt() * 0.0).sum().backward();
  EXPECT_NE(x.grad().item<double>(), x.grad().item<double>());
}

struct Failing : autograd::Function<Failing> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, variable_list) { throw IndexError("mine"); }
};

TEST(AnomalyMode, ErrorsCarryThePlaceOfTheForwardCall) {
  DetectAnomalyGuard guard;
  AnomalyMode::set_stack_provider([] { return std::string("  at model.cpp:7\n"); });
  const Tensor y = Failing::apply(leaf({1}));
  AnomalyMode::set_stack_provider({});
  const std::string text = error_of<IndexError>([&] { y.backward(); });
  EXPECT_TRUE(contains(text, "Failing"));
  EXPECT_TRUE(contains(text, "at model.cpp:7"));
  EXPECT_TRUE(contains(text, "mine"));
}

TEST(AnomalyMode, AFailingBackwardLeavesNoNodeRunning) {
  for (const bool on : {false, true}) {
    DetectAnomalyGuard guard;
    AnomalyMode::set_enabled(on);
    const Tensor y = Failing::apply(leaf({1}));
    error_of<IndexError>([&] { y.backward(); });
    EXPECT_FALSE(autograd::get_current_node().defined());
  }
}

TEST(AnomalyMode, NamesTheBackwardThatRecordedANode) {
  DetectAnomalyGuard guard;
  const Tensor x = leaf({1});
  const Tensor g = autograd::grad({(x * 2).exp()}, {x}, {}, std::nullopt, true)[0];
  ASSERT_NE(g.grad_fn()->trace(), nullptr);
  EXPECT_TRUE(g.grad_fn()->trace()->parent.defined());
  EXPECT_TRUE(contains(g.grad_fn()->describe_trace(), "in the backward of"));
}

TEST(AnomalyMode, WarnsOfEachBackwardOnTheWay) {
  struct Kept : warnings::WarningHandler {
    std::vector<std::string> texts;
    void process(const warnings::Warning& w) override { texts.push_back(w.msg()); }
  } kept;
  DetectAnomalyGuard guard;
  const Tensor x = leaf({0});
  const Tensor g = autograd::grad({x.pow(1.5)}, {x}, {}, std::nullopt, true)[0];
  const warnings::WarningHandlerGuard capture(&kept);
  EXPECT_TRUE(contains(error_of([&] { autograd::grad({g}, {x}, {zeros({1})}); }), "returned nan"));
  ASSERT_EQ(kept.texts.size(), 2u);
  EXPECT_TRUE(contains(kept.texts[0], "Traceback of forward call that caused the error"));
  EXPECT_TRUE(contains(kept.texts[1], "induced the previous calculation"));
}

TEST(AnomalyMode, EndsWithItsScope) {
  { DetectAnomalyGuard guard; }
  EXPECT_FALSE(AnomalyMode::is_enabled());
  EXPECT_EQ((leaf({1}) * 2).grad_fn()->trace(), nullptr);
}

}  // namespace
}  // namespace cresset
