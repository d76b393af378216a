// Forty mistakes and what the user reads: the text is part of the interface.
#include "cresset/autograd/function.h"
#include "cresset/transform/gradcheck.h"
#include "tests/autograd/support.h"

namespace cresset {
namespace {

using autograd::AutogradContext;
using autograd::backward;
using autograd::grad;
using autograd::variable_list;

#define EXPECT_MISTAKE(Type, statement, text) EXPECT_EQ(error_of<Type>([&] { statement; }), text)
#define EXPECT_MISTAKE_WITH(Type, statement, part) EXPECT_TRUE(contains(error_of<Type>([&] { statement; }), part))

TEST(Mistakes, BackwardNeedsAGradientForSeveralElements) {
  EXPECT_MISTAKE(Error, (leaf({1, 2}) * 2).backward(),
                 "backward: a gradient can be left out only for a tensor with one element, got a tensor of shape [2] and dtype float64");
}
TEST(Mistakes, BackwardOfAPlainTensor) {
  EXPECT_MISTAKE(Error, vec({1}).backward(), "backward: element 0 of tensors does not require grad and does not have a grad_fn");
}
TEST(Mistakes, BackwardOfAnUndefinedTensor) { EXPECT_MISTAKE(Error, backward({Tensor()}), "backward: tensor 0 is undefined"); }
TEST(Mistakes, BackwardTwice) {
  const Tensor x = leaf({1});
  const Tensor y = x * x;
  y.backward();
  EXPECT_MISTAKE(Error, y.backward(),
                 "backward: the graph has been freed by an earlier call, which also freed the tensors it had saved; pass retain_graph=true to "
                 "the first call to go through the graph a second time");
}
TEST(Mistakes, BackwardTwiceThroughAnInPlaceView) {
  const Tensor x = leaf({1, 2});
  Tensor y = x.clone();
  y.slice(0, 0, 1).mul_(2);
  const Tensor z = y.sum();
  z.backward();
  EXPECT_MISTAKE_WITH(Error, z.backward(), "the graph has been freed by an earlier call");
}
TEST(Mistakes, GradientOfTheWrongShape) {
  EXPECT_MISTAKE(Error, (leaf({1, 2}) * 2).backward(vec({1, 2, 3})), "backward: gradient 0 has shape [3], expected that of tensor 0, [2]");
}
TEST(Mistakes, ComplexGradientForARealTensor) {
  EXPECT_MISTAKE(Error, leaf({1}).backward(cresset::ones({1}, TensorOptions(kComplexDouble))),
                 "backward: gradient 0 has dtype complex128, but tensor 0 has dtype float64; complex tensors need complex gradients and real "
                 "ones real gradients");
}
TEST(Mistakes, NoGradientForAComplexTensor) {
  EXPECT_MISTAKE_WITH(Error, cresset::ones({1}, TensorOptions(kComplexDouble)).requires_grad_().backward(),
                      "backward: a gradient can be left out only for a real tensor");
}
TEST(Mistakes, WrongNumberOfGradients) { EXPECT_MISTAKE(Error, backward({leaf({1}), leaf({2})}, {vec({1})}), "backward: 1 gradients for 2 tensors"); }
TEST(Mistakes, BackwardWithEmptyInputs) {
  EXPECT_MISTAKE(Error, leaf({1}).backward({}, std::nullopt, false, TensorList()), "backward: `inputs` cannot be empty");
}
TEST(Mistakes, GradWithEmptyInputs) { EXPECT_MISTAKE(Error, grad({leaf({1})}, {}), "grad requires non-empty inputs."); }
TEST(Mistakes, GradOfAnUnusedInput) {
  EXPECT_MISTAKE(Error, grad({leaf({1}) * 2}, {leaf({1})}), "grad: input 0 was not used in the graph. Set allow_unused=True if that is intended");
}
TEST(Mistakes, GradOfAnInputWithoutGrad) {
  EXPECT_MISTAKE(Error, grad({leaf({1}) * 2}, {vec({1})}), "grad: element 0 of the input tensors does not require grad");
}
TEST(Mistakes, GradOfAPlainOutput) {
  EXPECT_MISTAKE(Error, grad({vec({1})}, {leaf({1})}), "grad: element 0 of tensors does not require grad and does not have a grad_fn");
}
TEST(Mistakes, RequiresGradOnIntegers) {
  EXPECT_MISTAKE(Error, cresset::ones({1}, TensorOptions(kLong)).requires_grad_(), "requires_grad_: expected a floating or complex dtype, got int64");
}
TEST(Mistakes, NoMoreRequiresGradOnAResult) {
  const Tensor y = leaf({1}) * 2;
  EXPECT_MISTAKE(Error, y.requires_grad_(false),
                 "requires_grad_: only leaf tensors can be told not to require gradients, got the result of " + y.grad_fn()->name() + "; use detach()");
}
TEST(Mistakes, RequiresGradOnAnInferenceTensor) {
  Tensor i;
  {
    InferenceMode guard;
    i = vec({1});
  }
  EXPECT_MISTAKE(Error, i.requires_grad_(), "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. clone() it first");
}
TEST(Mistakes, RetainGradOfAPlainTensor) { EXPECT_MISTAKE(Error, vec({1}).retain_grad(), "retain_grad: the tensor does not require grad"); }
TEST(Mistakes, HookOnAPlainTensor) {
  EXPECT_MISTAKE(Error, vec({1}).register_hook([](const Tensor& g) { return g; }),
                 "register_hook: cannot register a hook on a tensor that does not require grad");
}
TEST(Mistakes, PostAccumulateHookOnAPlainTensor) {
  EXPECT_MISTAKE(Error, autograd::register_post_accumulate_grad_hook(vec({1}), [](const Tensor&) {}),
                 "register_post_accumulate_grad_hook: the tensor does not require grad");
}
TEST(Mistakes, PostAccumulateHookOnAResult) {
  EXPECT_MISTAKE_WITH(Error, autograd::register_post_accumulate_grad_hook(leaf({1}) * 2, [](const Tensor&) {}),
                      "register_post_accumulate_grad_hook: only leaf tensors accumulate, got the result of Mul");
}
TEST(Mistakes, RemovingAHookThatIsNotThere) {
  EXPECT_MISTAKE(IndexError, leaf({1}).remove_hook(3), "remove_hook: Invalid index, no hook at position 3, 0 have been registered");
}
TEST(Mistakes, HookChangesTheShape) {
  const Tensor x = leaf({1, 2});
  x.register_hook([](const Tensor&) { return vec({1}); });
  EXPECT_MISTAKE(Error, x.sum().backward(), "hook on torch::autograd::AccumulateGrad: changed the shape of the gradient, got [1], expected [2]");
}
TEST(Mistakes, HookChangesTheDtype) {
  const Tensor x = leaf({1});
  x.register_hook([](const Tensor& g) { return g.to(kFloat); });
  EXPECT_MISTAKE(Error, x.sum().backward(), "hook on torch::autograd::AccumulateGrad: changed the dtype of the gradient, got float32, expected float64");
}
TEST(Mistakes, PreHookReturnsTheWrongNumber) {
  const Tensor y = leaf({1}) + 1;
  y.grad_fn()->add_pre_hook([](const variable_list&) { return variable_list(2); });
  EXPECT_MISTAKE(Error, y.backward(), "pre-hook on " + y.grad_fn()->name() + ": returned 2 gradients, expected 1");
}
TEST(Mistakes, InPlaceOnALeaf) {
  Tensor x = leaf({1});
  EXPECT_MISTAKE(Error, x.add_(1), "add_: a leaf Variable that requires grad is being used in an in-place operation, a tensor of shape [1] and dtype float64");
}
TEST(Mistakes, InPlaceOnAViewOfALeaf) {
  const Tensor x = leaf({1, 2});
  EXPECT_MISTAKE(Error, x.slice(0, 0, 1).add_(1),
                 "add_: a view of a leaf Variable that requires grad is being used in an in-place operation, a tensor of shape [1] and dtype float64");
}
TEST(Mistakes, InPlaceOnAViewMadeWithoutRecording) {
  Tensor y = leaf({1, 2}).clone(), v;
  {
    NoGradGuard guard;
    v = y.slice(0, 0, 1);
  }
  EXPECT_MISTAKE(Error, v.add_(1),
                 "add_: A view was created in no_grad mode and is being modified inplace with gradients on; do both inside the "
                 "NoGradGuard, or both outside of it");
}
TEST(Mistakes, InPlaceOnOneOfSeveralViews) {
  auto parts = leaf({1, 2}).clone().split(1);
  EXPECT_MISTAKE_WITH(Error, parts[1].add_(1), "add_: output 1 of ");
}
TEST(Mistakes, InPlaceOnATensorSavedForBackward) {
  Tensor y = leaf({1, 2}).exp();
  const std::string maker = y.grad_fn()->name();
  y.add_(1);
  EXPECT_MISTAKE(Error, y.sum().backward(),
                 "backward: one of the variables needed for gradient computation has been modified by an inplace operation: a tensor of shape [2] and "
                 "dtype float64, which is output 0 of " +
                     maker + ", is at version 1, expected version 0; anomaly mode shows the operation whose gradient needs it");
}
TEST(Mistakes, InPlaceOnAnInferenceTensor) {
  Tensor i;
  {
    InferenceMode guard;
    i = vec({1});
  }
  EXPECT_MISTAKE_WITH(Error, i.add_(1), "inference tensor outside InferenceMode is not allowed. clone() it first to get a normal tensor");
}
TEST(Mistakes, SavingAnInferenceTensor) {
  Tensor i;
  {
    InferenceMode guard;
    i = vec({1});
  }
  EXPECT_MISTAKE_WITH(Error, leaf({1}) * i, "Inference tensors cannot be saved for backward.");
}
TEST(Mistakes, DetachingAViewInPlace) {
  Tensor v = leaf({1, 2}).clone().slice(0, 0, 1);
  EXPECT_MISTAKE(Error, v.detach_(), "detach_: cannot detach a view in place; use detach() instead");
}
TEST(Mistakes, OutArgumentWithGradients) {
  Tensor out = vec({0});
  EXPECT_MISTAKE_WITH(Error, cresset::add_out(out, leaf({1}), vec({1})), "out=... arguments don't support automatic differentiation");
}
TEST(Mistakes, IntegerDataForATensorThatRequiresGrad) {
  EXPECT_MISTAKE(Error, leaf({1}).set_data(cresset::ones({1}, TensorOptions(kLong))),
                 "set_data: data of a tensor that requires gradients must be of floating point or complex dtype, got int64");
}
TEST(Mistakes, CallbackOutsideOfBackward) {
  EXPECT_MISTAKE_WITH(Error, autograd::SavedTensorDefaultHooks::pop_hooks(), "saved tensor hooks: pop without a push");
}

struct WrongCount : autograd::Function<WrongCount> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0], g[0]}; }
};
struct WrongShape : autograd::Function<WrongShape> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, variable_list) { return {vec({1, 2, 3})}; }
};
struct ForANumber : autograd::Function<ForANumber> {
  static Tensor forward(AutogradContext*, const Tensor& x, double k) { return x * k; }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0], g[0]}; }
};
struct DirtyStranger : autograd::Function<DirtyStranger> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    const Tensor y = x * 2;
    ctx->mark_dirty({y});
    return y;
  }
  static variable_list backward(AutogradContext*, variable_list g) { return g; }
};

TEST(Mistakes, CustomFunctionReturnsTooManyGradients) {
  EXPECT_MISTAKE_WITH(Error, WrongCount::apply(leaf({1})).backward(),
                      "backward returned an incorrect number of gradients, got 2, expected 1, one for each argument of forward");
}
TEST(Mistakes, CustomFunctionReturnsAGradientOfTheWrongShape) {
  EXPECT_MISTAKE_WITH(Error, WrongShape::apply(leaf({1, 2})).sum().backward(),
                      "returned an invalid gradient for input 0, got shape [3], expected shape compatible with [2]");
}
TEST(Mistakes, CustomFunctionReturnsAGradientForANumber) {
  EXPECT_MISTAKE_WITH(Error, ForANumber::apply(leaf({1}), 2.0).backward(), "backward returned a gradient for argument 1 of forward, which is not a tensor");
}
TEST(Mistakes, CustomFunctionMarksAStrangerDirty) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(DirtyStranger::apply(leaf({1})).requires_grad());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("mark_dirty was given a tensor that is no input of forward"), std::string::npos);
}
TEST(Mistakes, SavedTensorHookReturnsNothing) {
  const Tensor x = leaf({1});
  autograd::SavedTensorsHooksGuard guard([](const Tensor&) -> autograd::PackedTensor { return nullptr; },
                                         [](const autograd::PackedTensor&) { return Tensor(); });
  const Tensor y = x.exp();
  EXPECT_MISTAKE(TypeError, y.backward(), "saved tensor hooks: the unpack hook returned an undefined tensor, expected a tensor");
}

}  // namespace
}  // namespace cresset
