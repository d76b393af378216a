#include "cresset/autograd/gradcheck.h"

#include "cresset/autograd/function.h"
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
  EXPECT_TRUE(contains(text, "the Jacobian of output 0 with respect to input 1 is wrong at [0, 0]: analytical 2, numerical 1"));
  EXPECT_TRUE(contains(text, "[[2, 0], [0, 4]]"));
  autograd::GradcheckOptions quiet;
  quiet.raise_exception = false;
  EXPECT_FALSE(gradcheck(f, {leaf({1, 2}), leaf({3, 4})}, quiet));
}

TEST(Gradcheck, RejectsAMissingEdge) {
  auto f = [](const variable_list& in) { return variable_list{in[0].detach() * in[0]}; };
  EXPECT_TRUE(contains(error_of([&] { gradcheck(f, {leaf({1, 2})}); }), "is wrong at"));
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

TEST(Gradcheck, WantsDoublePrecision) {
  auto f = [](const variable_list& in) { return variable_list{in[0] * 2}; };
  const Tensor x = cresset::ones({2}, TensorOptions(kFloat)).requires_grad_();
  EXPECT_TRUE(contains(error_of<ValueError>([&] { gradcheck(f, {x}); }), "input 0 has dtype float32, expected float64"));
}

TEST(Gradcheck, WantsAnInputThatRequiresGrad) {
  auto f = [](const variable_list& in) { return variable_list{in[0] * 2}; };
  EXPECT_TRUE(contains(error_of<ValueError>([&] { gradcheck(f, {vec({1})}); }), "at least one input to require grad"));
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
