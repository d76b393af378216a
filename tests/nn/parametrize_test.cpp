// Tensors computed by modules. The numbers are PyTorch 2.13's, for weights sin(0.7 i) and an input (1, -2, 0.5).

#include "cresset/nn/utils/parametrize.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cresset/cresset.h"
#include "cresset/nn/more.h"
#include "error_of.h"

namespace {

using namespace cresset;
namespace parametrize = nn::utils::parametrize;
namespace parametrizations = nn::utils::parametrizations;

void expect_near(const Tensor& got, const std::vector<float>& expected, double tolerance = 2e-5) {
  ASSERT_EQ(static_cast<size_t>(got.numel()), expected.size());
  EXPECT_TRUE(allclose(got.detach().flatten(), tensor(expected), tolerance, tolerance)) << got;
}
Tensor waves(IntArrayRef shape) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return (arange(n, kFloat) * 0.7).sin().view(shape);
}
nn::Linear layer_of_waves(int64_t out, int64_t in, bool bias = false) {
  nn::Linear layer(nn::LinearOptions(in, out).bias(bias));
  layer->weight.set_data(waves({out, in}));
  return layer;
}
Tensor input() { return tensor({1.f, -2.f, 0.5f}).unsqueeze(0); }

struct SymmetricImpl : nn::Cloneable<SymmetricImpl> {
  void reset() override {}
  Tensor forward(const Tensor& x) { return x.triu() + x.triu(1).transpose(-1, -2); }
  Tensor right_inverse(const Tensor& a) { return a.triu(); }
};
CRESSET_MODULE(Symmetric);
struct TwiceImpl : nn::Module {
  Tensor forward(const Tensor& x) {
    calls++;
    return 2 * x;
  }
  int calls = 0;
};
CRESSET_MODULE(Twice);

TEST(Parametrize, ComputesTheMemberBeforeEveryCall) {
  nn::Linear layer = layer_of_waves(3, 3, true);
  const Tensor original = layer->weight;
  parametrize::register_parametrization(layer, "weight", Symmetric());
  expect_near(layer->weight, {0, 0.644218f, 0.98545f, 0.644218f, 0.334988f, -0.350783f, 0.98545f, -0.350783f, -0.631267f});
  parametrize::register_parametrization(layer, "weight", Twice());
  expect_near(layer->weight, {0, 1.288435f, 1.970899f, 1.288435f, 0.669976f, -0.701566f, 1.970899f, -0.701566f, -1.262533f});
  EXPECT_EQ(layer->named_parameters().keys(), (std::vector<std::string>{"bias", "parametrizations.weight.original"}));
  EXPECT_TRUE(layer->named_parameters()["parametrizations.weight.original"].is_same(original));
  EXPECT_TRUE(parametrize::is_parametrized(layer) && parametrize::is_parametrized(layer, "weight") && !parametrize::is_parametrized(layer, "bias"));
  EXPECT_EQ(parametrize::find_list(*layer, "weight")->size(), 2u);

  // Two calls before backward, and a change of the original between calls of the layer.
  (layer(input()).sum() + layer(2 * input()).sum()).backward();
  EXPECT_EQ(original.grad().sizes(), IntArrayRef({3, 3}));
  {
    NoGradGuard guard;
    original.fill_(1);
  }
  EXPECT_TRUE(equal(parametrize::value(layer, "weight"), full({3, 3}, 2.0)));
  EXPECT_TRUE(equal(layer->weight, full({3, 3}, 2.0)));
  parametrize::remove_parametrizations(layer, "weight");
  EXPECT_EQ(layer->named_parameters().keys(), (std::vector<std::string>{"bias", "weight"}));
  EXPECT_TRUE(layer->weight.is_same(original) && equal(original, full({3, 3}, 2.0)));
  EXPECT_FALSE(parametrize::is_parametrized(layer));
  {
    NoGradGuard guard;
    original.fill_(3);
  }
  layer(input());
  EXPECT_TRUE(equal(layer->weight, full({3, 3}, 3.0)));
}

TEST(Parametrize, LeavesTheOriginalWhereAsked) {
  nn::Linear layer = layer_of_waves(3, 3);
  parametrize::register_parametrization(layer, "weight", Twice());
  parametrize::remove_parametrizations(layer, "weight", false);
  EXPECT_TRUE(equal(layer->weight, waves({3, 3})));
  parametrizations::weight_norm(layer);
  EXPECT_THROW(parametrize::remove_parametrizations(layer, "weight", false), ValueError);
  parametrize::remove_parametrizations(layer, "weight");
  EXPECT_TRUE(allclose(layer->weight, waves({3, 3})));
  EXPECT_TRUE(layer->weight.requires_grad() && layer->weight.is_leaf());
}

TEST(Parametrize, ValuesAreSetThroughTheInverse) {
  nn::Linear layer = layer_of_waves(3, 3);
  parametrize::register_parametrization(layer, "weight", Symmetric());
  const Tensor wanted = tensor({1.f, 2.f, 3.f, 2.f, 4.f, 5.f, 3.f, 5.f, 6.f}).view({3, 3});
  parametrize::set_value(layer, "weight", wanted);
  EXPECT_TRUE(equal(layer->weight, wanted));
  EXPECT_TRUE(equal(layer->named_parameters()["parametrizations.weight.original"], wanted.triu()));
  parametrize::register_parametrization(layer, "weight", Twice());
  EXPECT_NE(error_of([&] { parametrize::set_value(layer, "weight", wanted); }).find("does not implement right_inverse"), std::string::npos);
}

TEST(Parametrize, CachedComputesOnce) {
  nn::Linear layer = layer_of_waves(3, 3);
  Twice twice;
  parametrize::register_parametrization(layer, "weight", twice);
  const int before = twice->calls;
  {
    parametrize::CachedGuard outer, inner;
    layer(input());
    layer(input());
    EXPECT_EQ(twice->calls, before + 1);
  }
  layer(input());
  layer(input());
  EXPECT_EQ(twice->calls, before + 3);
}

struct WiderImpl : nn::Module {
  Tensor forward(const Tensor& x) { return cat({x, x}); }
};
CRESSET_MODULE(Wider);
struct NetImpl : nn::Module {
  NetImpl() { scale = register_parameter("scale", ones({2})); }
  Tensor forward(const Tensor& x) { return x * scale; }
  Tensor scale;
};
CRESSET_MODULE(Net);

TEST(Parametrize, Errors) {
  nn::Linear layer = layer_of_waves(3, 3);
  EXPECT_THROW(parametrize::register_parametrization(layer, "bias", Twice()), ValueError);
  EXPECT_THROW(parametrize::register_parametrization(layer, "weight", Wider()), ValueError);
  EXPECT_TRUE(layer->named_parameters().contains("weight"));
  EXPECT_FALSE(parametrize::is_parametrized(layer));
  parametrize::register_parametrization(layer, "weight", Wider(), true);
  EXPECT_EQ(layer(input()).sizes(), IntArrayRef({1, 6}));
  EXPECT_THROW(parametrize::remove_parametrizations(layer, "bias"), ValueError);
  EXPECT_THROW(parametrize::value(layer, "bias"), ValueError);
}

TEST(Parametrize, MembersOfOnesOwn) {
  Net net;
  EXPECT_NE(error_of([&] { parametrize::register_parametrization(net, "scale", Twice()); }).find("declare_member(\"scale\""), std::string::npos);
  nn::declare_member("scale", &NetImpl::scale);
  parametrize::register_parametrization(net, "scale", Twice());
  EXPECT_TRUE(equal(net(ones({2})), full({2}, 2.0)));
  EXPECT_EQ(parametrize::type_before_parametrizations(net), typeid(NetImpl));
}

TEST(Parametrize, StateIsSavedAndLoaded) {
  nn::Linear first = layer_of_waves(2, 3), second(nn::LinearOptions(3, 2).bias(false));
  for (nn::Linear layer : {first, second}) parametrizations::orthogonal(layer);
  std::stringstream file;
  save(first, file);
  load(second, file);
  EXPECT_TRUE(equal(first(input()), second(input())));
}

TEST(Parametrize, Transfer) {
  nn::Linear from = layer_of_waves(3, 3), to(nn::LinearOptions(3, 3).bias(false));
  parametrize::register_parametrization(from, "weight", Symmetric());
  parametrize::transfer_parametrizations_and_params(from, to);
  EXPECT_TRUE(equal(from->weight, to->weight));
  EXPECT_TRUE(from->parameters()[0].is_same(to->parameters()[0]));
  EXPECT_THROW(parametrize::transfer_parametrizations_and_params(from, to, "bias"), ValueError);
  for (const char* kind : {"orthogonal", "spectral", "weight"}) {
    nn::Linear source = layer_of_waves(2, 3), target(nn::LinearOptions(3, 2).bias(false));
    if (*kind == 'o') parametrizations::orthogonal(source);
    else if (*kind == 's') parametrizations::spectral_norm(source);
    else parametrizations::weight_norm(source);
    source->eval();
    target->eval();
    parametrize::transfer_parametrizations_and_params(source, target);
    EXPECT_TRUE(equal(target(input()), source(input()))) << kind;
    EXPECT_EQ(target->named_buffers().keys(), source->named_buffers().keys());
  }
}

struct OrthogonalCase {
  const char* map;
  int64_t rows, columns;
  std::vector<float> before, after, grad;
};

TEST(Parametrizations, OrthogonalTrains) {
  // Of weights sin(0.3 i^2), whose columns are independent.
  const std::vector<OrthogonalCase> cases = {
      {"matrix_exp",
       3,
       3,
       {0, 0.456833f, 0.889552f, 0.399422f, -0.815512f, 0.41881f, -0.916767f, -0.355307f, 0.182469f},
       {-0.237308f, 0.936195f, 0.259277f, 0.108326f, -0.239734f, 0.964776f, -0.965376f, -0.257035f, 0.044523f},
       {0, 0, 0, -0.036264f, 0, 0, 3.90973f, -7.80132f, 0}},
      {"matrix_exp",
       2,
       3,
       {0, 0.30224f, 0.953232f, 0.327484f, -0.900668f, 0.285573f},
       {-0.0266f, 0.490535f, 0.871015f, -0.090049f, -0.868957f, 0.486626f},
       {0, 2.09082f, 0.013293f, 0, 0, 4.19572f}},
      {"matrix_exp",
       4,
       3,
       {0, 0.18297f, 0.564929f, 0.328544f, -0.534763f, 0.689111f, -0.754084f, 0.335411f, 0.423433f, -0.568696f, -0.753691f, -0.163358f},
       {0.043717f, 0.15911f, 0.520373f, -0.312811f, 0.867996f, 0.243023f, -0.001902f, 0.378276f, -0.816811f, -0.948807f, -0.279596f, -0.054507f},
       {0, 0, 0, -8.22685f, 0, 0, 8.59429f, -13.0752f, 0, 4.30237f, -8.60475f, 2.15119f}},
      {"cayley",
       3,
       3,
       {0, 0.456833f, 0.889552f, 0.399422f, -0.815512f, 0.41881f, -0.916767f, -0.355307f, 0.182469f},
       {-0.231194f, 0.923562f, 0.305912f, 0.129751f, -0.282352f, 0.950496f, -0.964217f, -0.259441f, 0.054555f},
       {0, 0, 0, -0.036265f, 0, 0, 3.90973f, -7.80132f, 0}},
      {"cayley",
       2,
       3,
       {0, 0.30224f, 0.953232f, 0.327484f, -0.900668f, 0.285573f},
       {-0.026897f, 0.487308f, 0.872816f, -0.08254f, -0.871233f, 0.48388f},
       {0, 2.09082f, 0.013293f, 0, 0, 4.19572f}},
      {"cayley",
       4,
       3,
       {0, 0.18297f, 0.564929f, 0.328544f, -0.534763f, 0.689111f, -0.754084f, 0.335411f, 0.423433f, -0.568696f, -0.753691f, -0.163358f},
       {0.032795f, 0.174582f, 0.52157f, -0.338366f, 0.623445f, 0.539112f, -0.269839f, 0.636898f, -0.661144f, -0.900899f, -0.418568f, 0.01453f},
       {0, 0, 0, -8.22684f, 0, 0, 8.59429f, -13.0752f, 0, 4.30237f, -8.60475f, 2.15119f}},
      {"householder",
       3,
       3,
       {0, 0.456833f, 0.889552f, 0.399422f, -0.815512f, 0.41881f, -0.916767f, -0.355307f, 0.182469f},
       {-0.859164f, 0.004428f, -0.511681f, -0.317485f, 0.779602f, 0.539837f, -0.401298f, -0.626259f, 0.668401f},
       {0, 0, 0, -0.072531f, 0, 0, 7.81945f, -15.6026f, 0}},
      {"householder",
       2,
       3,
       {0, 0.30224f, 0.953232f, 0.327484f, -0.900668f, 0.285573f},
       {-0.237395f, 0.851995f, 0.466636f, -0.890272f, -0.383015f, 0.246403f},
       {0, 4.18164f, 0.026587f, 0, 0, 8.39145f}},
      {"householder",
       4,
       3,
       {0, 0.18297f, 0.564929f, 0.328544f, -0.534763f, 0.689111f, -0.754084f, 0.335411f, 0.423433f, -0.568696f, -0.753691f, -0.163358f},
       {0.006041f, -0.117149f, 0.945361f, -0.881767f, -0.469007f, -0.04609f, 0.415942f, -0.776717f, -0.231603f, 0.222355f, -0.403758f, 0.224785f},
       {0, 0, 0, -16.4537f, 0, 0, 17.1886f, -26.1503f, 0, 8.60475f, -17.2095f, 4.30237f}},
  };
  for (const OrthogonalCase& c : cases) {
    SCOPED_TRACE(str(c.map, " ", c.rows, " x ", c.columns));
    manual_seed(1);
    nn::Linear layer = layer_of_waves(c.rows, c.columns);
    const Tensor i = arange(c.rows * c.columns, kFloat);
    layer->weight.set_data((i * i * 0.3).sin().view({c.rows, c.columns}));
    parametrizations::orthogonal(layer, "weight", c.map);
    expect_near(layer->weight, c.before);
    optim::SGD optimizer(layer->parameters(), 0.1);
    layer(input()).pow(3).sum().backward();
    expect_near(layer->parameters()[0].grad(), c.grad, 1e-4);
    optimizer.step();
    expect_near(parametrize::value(layer, "weight"), c.after, 1e-4);
  }
}

TEST(Parametrizations, OrthogonalWithoutABase) {
  nn::Linear layer = layer_of_waves(2, 3);
  parametrizations::orthogonal(layer, "weight", "householder", false);
  expect_near(layer->weight, {0, 0.547181f, 0.837014f, 0.877258f, 0.401783f, -0.262657f});
  expect_near(layer->parameters()[0], {-1, 0.547181f, 0.837014f, 0.110311f, 1, 0.924598f});
  EXPECT_TRUE(layer->named_buffers().is_empty());
  nn::Linear skew = layer_of_waves(3, 3), other = layer_of_waves(3, 3, true);
  parametrizations::orthogonal(skew, "weight", "cayley", false);
  EXPECT_TRUE(allclose(skew->weight.matmul(skew->weight.t()), eye(3), 1e-5, 1e-5));
  EXPECT_THROW(parametrize::set_value(skew, "weight", eye(3)), NotImplementedError);
  EXPECT_THROW(parametrizations::orthogonal(other, "weight", "qr"), ValueError);
  EXPECT_THROW(parametrizations::orthogonal(other, "bias"), ValueError);
  EXPECT_THROW(parametrizations::orthogonal(other, "scale"), ValueError);
}

TEST(Parametrizations, WeightNorm) {
  nn::Linear layer = layer_of_waves(2, 3);
  parametrizations::weight_norm(layer);
  layer(input()).pow(2).sum().backward();
  const auto parameters = layer->named_parameters();
  EXPECT_EQ(parameters.keys(), (std::vector<std::string>{"parametrizations.weight.original0", "parametrizations.weight.original1"}));
  expect_near(layer->weight, {0, 0.644218f, 0.98545f, 0.86321f, 0.334988f, -0.350783f});
  expect_near(parameters[0].value(), {1.177339f, 0.99015f});
  expect_near(parameters[0].value().grad(), {1.07557f, 0.000643f});
  expect_near(parameters[1].value().grad(), {-1.591421f, 2.594311f, -1.695978f, 0.035122f, -0.071583f, 0.018069f});
}

TEST(Parametrizations, SpectralNorm) {
  nn::ConvTranspose1d layer(nn::ConvTranspose1dOptions(2, 3, 2).bias(false));
  layer->weight.set_data(waves({2, 3, 2}));
  manual_seed(3);
  parametrizations::spectral_norm(layer, "weight", 2);
  const std::vector<float> out = {-0.423883f, -0.58838f, -0.164497f, 0.172254f, 0.600245f, 0.427991f, 0.482438f, 0.792424f, 0.309986f};
  const Tensor y = layer(ones({1, 2, 2}));
  expect_near(y, out);
  y.pow(2).sum().backward();
  EXPECT_EQ(layer->named_buffers().keys(), (std::vector<std::string>{"parametrizations.weight.0._u", "parametrizations.weight.0._v"}));
  expect_near(layer->buffers()[0], {0.701648f, 0.457736f, -0.546048f});
  expect_near(layer->buffers()[1], {0.130415f, 0.505153f, -0.612419f, -0.593932f});
  expect_near(layer->parameters()[0].grad(),
              {-1.169995f, -1.450384f, 0.630455f, 0.531694f, 1.384308f, 1.631125f, -0.114057f, 0.111963f, 1.31932f, 1.550927f, 0.562539f, 0.41525f});
  layer->eval();
  expect_near(layer(ones({1, 2, 2})), out);
  EXPECT_THROW(parametrizations::spectral_norm(layer, "weight"), ValueError);
}

}  // namespace
