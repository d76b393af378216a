#include "cresset/transform/gradcheck.h"

#include "cresset/autograd/function.h"
#include "cresset/base/warning.h"
#include "tests/autograd/support.h"

namespace cresset {
namespace {

using autograd::AutogradContext;
using autograd::gradcheck;
using autograd::gradgradcheck;
using autograd::variable_list;

// The gradient of a product with the wrong factor.
struct WrongProduct : autograd::Function<WrongProduct> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& y) {
    ctx->save_for_backward({x, y});
    return x * y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    return {grads[0] * saved[1], grads[0] * saved[0] * 2};
  }
};

TEST(Gradcheck, AcceptsARightGradient) {
  auto f = [](const variable_list& in) { return variable_list{(in[0] * in[1]).exp(), in[0].sum()}; };
  EXPECT_TRUE(gradcheck(f, {leaf({0.5, 1}), leaf({1, 2})}));
  EXPECT_TRUE(gradgradcheck(f, {leaf({0.5, 1}), leaf({1, 2})}));
}

TEST(Gradcheck, RejectsAWrongOneAndSaysWhere) {
  auto f = [](const variable_list& in) { return variable_list{WrongProduct::apply(in[0], in[1])}; };
  const std::string text = error_of([&] { gradcheck(f, {leaf({1, 2}), leaf({3, 4})}); });
  EXPECT_TRUE(contains(text, "Jacobian mismatch for output 0 with respect to input 1, at [0, 0] numerical 1, analytical 2"));
  EXPECT_TRUE(contains(text, "[[2, 0], [0, 4]]"));
  autograd::GradcheckOptions quiet;
  quiet.raise_exception = false;
  EXPECT_FALSE(gradcheck(f, {leaf({1, 2}), leaf({3, 4})}, quiet));
}

TEST(Gradcheck, RejectsAMissingEdge) {
  auto f = [](const variable_list& in) { return variable_list{in[0].detach() * in[0]}; };
  EXPECT_TRUE(contains(error_of([&] { gradcheck(f, {leaf({1, 2})}); }), "Jacobian mismatch"));
}

TEST(Gradcheck, ComparesComplexFunctionsPartByPart) {
  const Tensor z = cresset::ones({2}, TensorOptions(kComplexDouble)).requires_grad_();
  double* p = static_cast<double*>(z.data_ptr());
  p[1] = 0.5;
  p[2] = -2;
  auto f = [](const variable_list& in) { return variable_list{in[0] * in[0], in[0].abs()}; };
  EXPECT_TRUE(gradcheck(f, {z}));
  EXPECT_TRUE(gradgradcheck(f, {z}));
}

TEST(Gradcheck, MixesRealAndComplex) {
  const Tensor z = cresset::ones({2}, TensorOptions(kComplexDouble)).requires_grad_();
  auto f = [](const variable_list& in) { return variable_list{in[0] * in[1]}; };
  EXPECT_TRUE(gradcheck(f, {z, leaf({1, 2})}));
}

TEST(Gradcheck, WarnsOfOtherPrecisions) {
  static std::string seen;
  const WarningHandler before = set_warning_handler([](WarningKind, const std::string& text) { seen = text; });
  autograd::GradcheckOptions quiet;
  quiet.raise_exception = false;
  gradcheck([](const variable_list& in) { return variable_list{in[0] * 2}; }, {cresset::ones({2}, TensorOptions(kFloat)).requires_grad_()}, quiet);
  set_warning_handler(before);
  EXPECT_TRUE(contains(seen, "input 0 requires gradient and is not of double precision, got float32"));
}

TEST(Gradcheck, ForwardModeBatchesDtypesAndProjections) {
  auto f = [](const variable_list& in) { return variable_list{in[0] * in[0].sin() + in[1], in[1].sum()}; };
  autograd::GradcheckOptions all;
  all.check_forward_ad = all.check_grad_dtypes = all.check_batched_grad = true;
  EXPECT_TRUE(gradcheck(f, {leaf({0.5, 1}), leaf({1, 2})}, all));
  EXPECT_TRUE(gradgradcheck(f, {leaf({0.5, 1}), leaf({1, 2})}, {}, all));
  all.check_batched_forward_grad = true;
  EXPECT_TRUE(gradcheck(f, {leaf({0.5, 1}), leaf({1, 2})}, all));
  all.check_batched_forward_grad = false;
  all.fast_mode = true;
  EXPECT_TRUE(gradcheck(f, {leaf({0.5, 1}), leaf({1, 2})}, all));
  auto wrong = [](const variable_list& in) { return variable_list{WrongProduct::apply(in[0], in[1])}; };
  EXPECT_TRUE(contains(error_of([&] { gradcheck(wrong, {leaf({1, 2}), leaf({3, 4})}, all); }), "mismatch for output 0"));
}

// A gradient that is not zero where that of the output is undefined.
struct Restless : autograd::Function<Restless> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->set_materialize_grads(false);
    return x * 2;
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0].defined() ? grads[0] * 2 : vec({1, 1})}; }
};

TEST(Gradcheck, UndefinedGradientsGiveNone) {
  auto f = [](const variable_list& in) { return variable_list{Restless::apply(in[0])}; };
  EXPECT_TRUE(contains(error_of([&] { gradcheck(f, {leaf({1, 2})}); }), "undefined or zero"));
  autograd::GradcheckOptions lenient;
  lenient.check_undefined_grad = false;
  EXPECT_TRUE(gradcheck(f, {leaf({1, 2})}, lenient));
}

TEST(Gradcheck, MovesTheElementsThatASparseInputHolds) {
  const Tensor x = vec({0, 3, 0, 2}).view({2, 2}).to_sparse().requires_grad_();
  EXPECT_TRUE(gradcheck([](const variable_list& in) { return variable_list{in[0].to_dense() * 3}; }, {x}));
}

TEST(Gradcheck, WantsAnInputThatRequiresGrad) {
  auto f = [](const variable_list& in) { return variable_list{in[0] * 2}; };
  EXPECT_TRUE(contains(error_of<ValueError>([&] { gradcheck(f, {vec({1})}); }), "an input with requires_grad=True"));
}

TEST(Gradcheck, InPlaceAndViewPrograms) {
  auto f = [](const variable_list& in) {
    Tensor y = in[0] * in[0];
    y.slice(0, 0, 2).mul_(in[1]);
    y.select(0, 2).copy_(in[1].sum());
    return variable_list{y.exp()};
  };
  EXPECT_TRUE(gradcheck(f, {leaf({0.1, 0.2, 0.3}), leaf({0.5, 0.6})}));
  EXPECT_TRUE(gradgradcheck(f, {leaf({0.1, 0.2, 0.3}), leaf({0.5, 0.6})}));
}

}  // namespace
}  // namespace cresset
