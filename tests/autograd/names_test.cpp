// Names of nodes: LibTorch's, which number the overloads. tests/python/autograd/names_test.py has Python's.

#include <gtest/gtest.h>

#include <sstream>

#include "cresset/autograd/function_parts.h"
#include "cresset/cresset.h"
#include "error_of.h"

namespace {

using namespace cresset;
using namespace cresset::autograd;

struct Twice : Function<Twice> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, variable_list grads) {
    seen = grads[0].defined();
    return {grads[0].defined() ? grads[0] * 2 : grads[0]};
  }
  static bool seen;
};
bool Twice::seen = true;

std::string name(const Tensor& t) { return t.grad_fn()->name(); }

TEST(Names, NumbersAreOverloadsOfTheirOwn) {
  const Tensor x = ones({2}).requires_grad_(true);
  EXPECT_EQ(name(x + 2), "AddBackward1");
  EXPECT_EQ(name(2 + x), "AddBackward1");
  EXPECT_EQ(name(x + x), "AddBackward0");
  EXPECT_EQ(name(x - 2), "SubBackward1");
  EXPECT_EQ(name(2 - x), "SubBackward0");
  EXPECT_EQ(name(x * 2), "MulBackward1");
  EXPECT_EQ(name(x / 2), "DivBackward1");
  EXPECT_EQ(name(2 / x), "DivBackward0");
  EXPECT_EQ(name(x.clone().mul_(2)), "MulBackward1");
  EXPECT_EQ(name(x.div(2, "floor")), "DivBackward3");
  EXPECT_EQ(name(x.div(x, "floor")), "DivBackward2");
}

TEST(Names, OfTheEnginesOwnNodesCarryTheirNamespace) {
  const Tensor x = ones({2}).requires_grad_(true);
  EXPECT_EQ((x * x).grad_fn()->next_edge(0).function->name(), "torch::autograd::AccumulateGrad");
  EXPECT_EQ(name(zeros({2}).copy_(x)), "torch::autograd::CopyBackwards");
  EXPECT_EQ(name(Twice::apply(x)).rfind("torch::autograd::CppNode<", 0), 0u);
}

TEST(Names, PointersToNodesPrint) {
  const Tensor x = ones({2}).requires_grad_(true);
  std::ostringstream made, none;
  made << (x + 2).grad_fn();
  none << x.grad_fn();
  EXPECT_EQ(made.str().substr(0, 2), "0x");
  EXPECT_EQ(none.str(), "0");
}

TEST(Division, OfANumberIsOneDivision) {
  const Tensor x = arange(199).to(kFloat) + 1;
  Tensor exact = empty_like(x);
  for (int64_t i = 0; i < x.numel(); i++) exact[i] = 3.0f / x[i].item<float>();
  EXPECT_TRUE(equal(3.0 / x, exact));
}

TEST(UndefinedGrad, GivesNoGradientBack) {
  const Tensor x = ones({1}).requires_grad_(true);
  const Tensor y = UndefinedGrad().apply({Twice::apply(x)})[0];
  EXPECT_EQ(y.item<float>(), 2);
  y.backward();
  EXPECT_TRUE(Twice::seen) << "a custom function gets zeros instead";
  EXPECT_EQ(x.grad().item<float>(), 0);
}

TEST(ValidateOutputs, SumsWhatBroadcastingHadExpanded) {
  variable_list grads = {ones({4, 5}), ones({2}, kDouble)};
  const auto same = [](const std::string& text) { return text; };
  validate_outputs({InputMetadata(ones({})), InputMetadata(ones({2}))}, grads, same);
  EXPECT_EQ(grads[0].dim(), 0);
  EXPECT_EQ(grads[0].item<float>(), 20);
  EXPECT_EQ(grads[1].scalar_type(), kFloat);
  const auto more = [](const std::string& text) { return text + " (seen here)"; };
  EXPECT_NE(error_of([&] { validate_outputs({InputMetadata(ones({3})), std::nullopt}, grads, more); }).find("(seen here)"), std::string::npos);
}

TEST(CreationMeta, TellsHowAViewWasMade) {
  const Tensor base = ones({2}).requires_grad_(true).clone();
  EXPECT_EQ(impl::get_view_autograd_meta(base.view(-1))->get_creation_meta(), CreationMeta::DEFAULT);
  EXPECT_EQ(impl::get_view_autograd_meta(base.unbind(0)[0])->get_creation_meta(), CreationMeta::MULTI_OUTPUT_NODE);
  Tensor view;
  {
    NoGradGuard guard;
    view = base.view(-1);
  }
  EXPECT_EQ(impl::get_view_autograd_meta(view)->get_creation_meta(), CreationMeta::NO_GRAD_MODE);
  {
    InferenceMode guard;
    view = base.view(-1);
  }
  EXPECT_EQ(impl::get_view_autograd_meta(view)->get_creation_meta(), CreationMeta::INFERENCE_MODE);
}

// An inference tensor that requires grad, in normal mode.
TEST(InferenceTensor, RecordsNothingByItself) {
  Tensor t;
  {
    InferenceMode guard;
    t = ones({2}).requires_grad_(true);
  }
  EXPECT_TRUE(t.requires_grad());
  const Tensor product = t * t;
  EXPECT_FALSE(product.requires_grad());
  EXPECT_FALSE(product.is_inference());
  EXPECT_FALSE(t.view({2, 1}).requires_grad());
  EXPECT_FALSE(cat({t, t}).requires_grad());
}

TEST(InferenceTensor, GetsItsGradientBesideATensorThatIsRecorded) {
  Tensor t;
  {
    InferenceMode guard;
    t = ones({2}).requires_grad_(true);
  }
  const Tensor x = ones({2}).requires_grad_(true);
  (t + x).sum().backward();
  EXPECT_TRUE(equal(t.grad(), ones({2})));
  EXPECT_NE(error_of([&] { t* x; }).find("Inference tensors cannot be saved"), std::string::npos);
}

TEST(AutogradMeta, TellsHowAViewCameToBe) {
  const Tensor base = ones({2}).requires_grad_(true);
  Tensor view;
  {
    NoGradGuard guard;
    view = base.view({2, 1});
  }
  auto* meta = static_cast<DifferentiableViewMeta*>(view.unsafeGetTensorImpl()->autograd_meta());
  ASSERT_TRUE(meta);
  EXPECT_TRUE(meta->has_bw_view());
  EXPECT_EQ(meta->get_creation_meta(), CreationMeta::NO_GRAD_MODE);
  EXPECT_FALSE(base.unsafeGetTensorImpl()->autograd_meta()->has_bw_view());
  EXPECT_FALSE(ones({2}).unsafeGetTensorImpl()->autograd_meta());
}

TEST(VersionCounter, IsOffForInferenceTensors) {
  Tensor t = ones({2});
  t.add_(1);
  EXPECT_EQ(t.unsafeGetTensorImpl()->version_counter().current_version(), 1u);
  InferenceMode guard;
  EXPECT_THROW(ones({2}).unsafeGetTensorImpl()->version_counter().current_version(), Error);
}

}  // namespace
