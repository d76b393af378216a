// Modules: registration, walking, copying, converting, saving, printing.

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cresset/cresset.h"

namespace {

using namespace cresset;
using nn::Module;

template <class F> std::string message_of(F f) {
  try {
    f();
  } catch (const cresset::Error& e) { return e.what(); }
  return "no error";
}

struct BlockImpl : nn::Cloneable<BlockImpl> {
  explicit BlockImpl(int64_t n) : size(n) { reset(); }
  void reset() override {
    linear = register_module("linear", nn::Linear(size, size));
    scale = register_parameter("scale", cresset::ones({size}));
    count = register_buffer("count", cresset::zeros({1}));
  }
  Tensor forward(const Tensor& x) {
    count.add_(1);
    return linear(x) * scale;
  }
  int64_t size;
  nn::Linear linear = nullptr;
  Tensor scale, count;
};
CRESSET_MODULE(Block);

struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    first = register_module("first", Block(3));
    second = register_module("second", Block(3));
  }
  Tensor forward(const Tensor& x) { return second(first(x)); }
  Block first = nullptr, second = nullptr;
};
CRESSET_MODULE(Net);

TEST(Module, NamesParametersDepthFirst) {
  Net net;
  const std::vector<std::string> expected = {"first.scale",  "first.linear.weight",  "first.linear.bias",
                                             "second.scale", "second.linear.weight", "second.linear.bias"};
  EXPECT_EQ(net->named_parameters().keys(), expected);
  EXPECT_EQ(net->parameters().size(), 6u);
  EXPECT_EQ(net->parameters(false).size(), 0u);
  EXPECT_EQ(net->named_buffers().keys(), (std::vector<std::string>{"first.count", "second.count"}));
}

TEST(Module, NamesModules) {
  Net net;
  EXPECT_EQ(net->named_modules().keys(), (std::vector<std::string>{"", "first", "first.linear", "second", "second.linear"}));
  EXPECT_EQ(net->named_modules("net", false).keys(), (std::vector<std::string>{"net.first", "net.first.linear", "net.second", "net.second.linear"}));
  EXPECT_EQ(net->children().size(), 2u);
  EXPECT_EQ(net->modules().size(), 5u);
}

TEST(Module, AppliesToAll) {
  Net net;
  int count = 0;
  std::vector<std::string> names;
  net->apply([&](Module&) { count++; });
  net->apply([&](const std::string& name, Module&) { names.push_back(name); }, "n");
  EXPECT_EQ(count, 5);
  EXPECT_EQ(names, (std::vector<std::string>{"n", "n.first", "n.first.linear", "n.second", "n.second.linear"}));
  net->apply([&](const std::shared_ptr<Module>& m) { count += m->as<nn::Linear>() != nullptr; });
  EXPECT_EQ(count, 7);
}

TEST(Module, TrainsAndEvaluates) {
  Net net;
  EXPECT_TRUE(net->is_training());
  net->eval();
  for (const auto& module : net->modules()) EXPECT_FALSE(module->is_training());
  net->train();
  for (const auto& module : net->modules()) EXPECT_TRUE(module->is_training());
}

TEST(Module, RefusesWrongNames) {
  Module module;
  EXPECT_THROW(module.register_parameter("", cresset::ones({1})), cresset::Error);
  EXPECT_THROW(module.register_parameter("a.b", cresset::ones({1})), cresset::Error);
  EXPECT_THROW(module.register_module("a.b", nn::ReLU()), cresset::Error);
  module.register_parameter("a", cresset::ones({1}));
  EXPECT_EQ(message_of([&] { module.register_parameter("a", cresset::ones({1})); }), "Parameter 'a' already defined");
}

TEST(Module, ParametersRequireGradUnlessTold) {
  Module module;
  EXPECT_TRUE(module.register_parameter("a", cresset::ones({1})).requires_grad());
  EXPECT_FALSE(module.register_parameter("b", cresset::ones({1}), false).requires_grad());
  EXPECT_FALSE(module.register_buffer("c", cresset::ones({1})).requires_grad());
}

TEST(Module, CloneIsDeep) {
  Net net;
  net->eval();
  auto copy = std::dynamic_pointer_cast<NetImpl>(net->clone());
  ASSERT_NE(copy, nullptr);
  EXPECT_FALSE(copy->first->is_training());
  for (const auto& item : net->named_parameters()) {
    const Tensor other = copy->named_parameters()[item.key()];
    EXPECT_TRUE(equal(item.value(), other)) << item.key();
    EXPECT_NE(item.value().data_ptr(), other.data_ptr());
  }
  NoGradGuard guard;
  copy->first->linear->weight.fill_(0);
  EXPECT_NE(net->first->linear->weight.abs().sum().item<float>(), 0.0f);
  // The members of the copy are its registered parameters.
  EXPECT_EQ(copy->named_parameters()["first.linear.weight"].abs().sum().item<float>(), 0.0f);
}

TEST(Module, CloneOfAPlainModuleSaysWhatToDo) {
  struct Plain : Module {};
  Plain plain;
  EXPECT_NE(message_of([&] { plain.clone(); }).find("Cloneable"), std::string::npos);
}

TEST(Module, ConvertsBuffersOfIntegersToo) {
  nn::BatchNorm1d norm(3);
  norm->to(kDouble);
  EXPECT_EQ(norm->weight.scalar_type(), kDouble);
  EXPECT_EQ(norm->running_mean.scalar_type(), kDouble);
  EXPECT_EQ(norm->num_batches_tracked.scalar_type(), kDouble);  // as in LibTorch; Python keeps integers
  EXPECT_TRUE(norm->weight.requires_grad());
  EXPECT_TRUE(norm->weight.is_same(norm->named_parameters()["weight"]));
}

TEST(Module, ConvertsGradientsToo) {
  nn::Linear linear(2, 2);
  linear(cresset::ones({1, 2})).sum().backward();
  linear->to(kDouble);
  EXPECT_EQ(linear->weight.grad().scalar_type(), kDouble);
}

TEST(Module, ZeroGrad) {
  nn::Linear linear(2, 2);
  linear(cresset::ones({1, 2})).sum().backward();
  linear->zero_grad(false);
  EXPECT_EQ(linear->weight.grad().abs().sum().item<float>(), 0.0f);
  linear->zero_grad();
  EXPECT_FALSE(linear->weight.grad().defined());
}

TEST(Module, SavesAndLoads) {
  Net net, other;
  net->forward(cresset::ones({1, 3}));
  std::stringstream file;
  save(net, file);
  load(other, file);
  for (const auto& item : net->named_parameters()) EXPECT_TRUE(equal(item.value(), other->named_parameters()[item.key()])) << item.key();
  EXPECT_EQ(other->first->count.item<float>(), 1.0f);
  // The handles in the module are still the registered tensors.
  EXPECT_TRUE(other->first->linear->weight.is_same(other->named_parameters()["first.linear.weight"]));
}

TEST(Module, LoadNamesWhatIsMissing) {
  nn::Linear linear(2, 2);
  nn::Sequential sequential(nn::Linear(2, 2));
  std::stringstream file;
  save(linear, file);
  EXPECT_NE(message_of([&] { load(sequential, file); }).find("0.weight"), std::string::npos);
}

TEST(Module, LoadRefusesAnotherShape) {
  nn::Linear linear(2, 2), larger(2, 3);
  std::stringstream file;
  save(linear, file);
  EXPECT_EQ(message_of([&] { load(larger, file); }),
            "load: the archive is not the state of torch::nn::LinearImpl; of another shape: weight is [2, 2], expected [3, 2], bias is [2], expected [3]");
}

TEST(Module, ErrorsNameThePath) {
  Net net;
  net->second->linear = net->second->replace_module("linear", nn::Linear(4, 3));
  const std::string text = message_of([&] { net->forward(cresset::ones({1, 3})); });
  EXPECT_EQ(text.rfind("second.linear: ", 0), 0u) << text;
}

TEST(Module, PrintsTheTree) {
  nn::Sequential sequential(nn::Conv2d(nn::Conv2dOptions(1, 2, 3).padding(1).bias(false)), nn::ReLU(true), nn::Sequential({{"fc", nn::Linear(2, 3)}}));
  std::ostringstream text;
  text << sequential;
  EXPECT_EQ(text.str(),
            "torch::nn::Sequential(\n"
            "  (0): torch::nn::Conv2d(1, 2, kernel_size=[3, 3], stride=[1, 1], padding=[1, 1], bias=false)\n"
            "  (1): torch::nn::ReLU(inplace=true)\n"
            "  (2): torch::nn::Sequential(\n"
            "    (fc): torch::nn::Linear(in_features=2, out_features=3, bias=true)\n"
            "  )\n"
            ")");
}

TEST(ModuleHolder, EmptyHoldersSaySo) {
  nn::Linear linear = nullptr;
  EXPECT_TRUE(linear.is_empty());
  EXPECT_FALSE(linear);
  EXPECT_NE(message_of([&] { linear(cresset::ones({1, 2})); }).find("empty"), std::string::npos);
}

TEST(ModuleHolder, CopiesShareTheModule) {
  nn::Linear a(2, 3);
  nn::Linear b = a;
  EXPECT_EQ(a.get(), b.get());
}

TEST(Sequential, PassesTensorsOn) {
  nn::Sequential sequential(nn::Flatten(), nn::Functional(cresset::relu), nn::Functional([](Tensor x) { return x + 1; }));
  const Tensor out = sequential->forward(cresset::full({2, 2, 2}, -3.0));
  EXPECT_EQ(out.sizes(), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(out.sum().item<float>(), 8.0f);
}

TEST(Sequential, TakesBoundArguments) {
  nn::Sequential sequential(nn::Functional(cresset::leaky_relu, 0.5));
  EXPECT_EQ(sequential->forward(cresset::full({1}, -4.0)).item<float>(), -2.0f);
}

struct SplitImpl : Module {
  std::vector<Tensor> forward(Tensor x) { return {x, x * 2}; }
};
CRESSET_MODULE(Split);
struct AddImpl : Module {
  Tensor forward(std::vector<Tensor> parts) { return parts[0] + parts[1]; }
};
CRESSET_MODULE(Add);
struct TwoImpl : Module {
  Tensor forward(Tensor x, int factor) { return x * factor; }
};
CRESSET_MODULE(Two);

TEST(Sequential, LetsOtherTypesFlow) {
  nn::Sequential sequential{Split(), Add()};
  EXPECT_EQ(sequential->forward(cresset::ones({1})).item<float>(), 3.0f);
  nn::Sequential open{Split()};
  EXPECT_EQ(open->forward<std::vector<Tensor>>(cresset::ones({1})).size(), 2u);
}

TEST(Sequential, TakesSeveralArguments) {
  nn::Sequential sequential{Two(), nn::ReLU()};
  EXPECT_EQ(sequential->forward(cresset::ones({1}), 3).item<float>(), 3.0f);
}

TEST(Sequential, Mistakes) {
  nn::Sequential empty;
  EXPECT_THROW(empty->forward(cresset::ones({1})), cresset::Error);
  nn::Sequential sequential{Add()};
  EXPECT_NE(message_of([&] { sequential->forward(cresset::ones({1})); }).find("argument #0"), std::string::npos);
  EXPECT_THROW(sequential->ptr(1), cresset::IndexError);
  EXPECT_THROW(sequential->at<nn::LinearImpl>(0), cresset::Error);
  nn::Sequential wrong_return{nn::ReLU()};
  EXPECT_THROW(wrong_return->forward<int>(cresset::ones({1})), cresset::Error);
}

TEST(Sequential, ErrorsNameThePath) {
  nn::Sequential sequential{nn::ReLU(), nn::Sequential({{"fc", nn::Linear(2, 3)}})};
  const std::string text = message_of([&] { sequential->forward(cresset::ones({1, 5})); });
  EXPECT_EQ(text.rfind("1.fc: ", 0), 0u) << text;
}

TEST(Sequential, ClonesAndExtends) {
  nn::Sequential sequential{nn::Linear(2, 2)}, more{nn::ReLU(), nn::Dropout(0.2)};
  sequential->extend(*more);
  EXPECT_EQ(sequential->size(), 3u);
  auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(sequential->clone());
  EXPECT_EQ(copy->size(), 3u);
  EXPECT_TRUE(equal(copy->at<nn::LinearImpl>(0).weight, sequential->at<nn::LinearImpl>(0).weight));
  EXPECT_NE(copy->ptr(0), sequential->ptr(0));
}

struct DefaultsImpl : Module {
  Tensor forward(Tensor x, Tensor shift = Tensor()) { return shift.defined() ? x + shift : x; }
  CRESSET_FORWARD_HAS_DEFAULT_ARGS({1, nn::AnyValue(Tensor())})
};
CRESSET_MODULE(Defaults);

TEST(AnyModule, KnowsDefaultArguments) {
  nn::AnyModule any{Defaults()};
  EXPECT_EQ(any.forward(cresset::ones({1})).item<float>(), 1.0f);
  EXPECT_EQ(any.forward(cresset::ones({1}), cresset::ones({1})).item<float>(), 2.0f);
  nn::Sequential sequential{Defaults(), nn::ConvTranspose1d(1, 1, 2)};
  EXPECT_EQ(sequential->forward(cresset::ones({1, 1, 3})).size(2), 4);
}

TEST(AnyModule, ChecksArguments) {
  nn::AnyModule any{Two()};
  EXPECT_EQ(any.forward(cresset::ones({1}), 4).item<float>(), 4.0f);
  EXPECT_THROW(any.forward(cresset::ones({1})), cresset::Error);
  EXPECT_THROW(any.forward(cresset::ones({1}), 4.0), cresset::Error);
  EXPECT_THROW(any.get<nn::LinearImpl>(), cresset::Error);
  EXPECT_EQ(any.get<TwoImpl>().parameters().size(), 0u);
  EXPECT_THROW(nn::AnyModule().forward(cresset::ones({1})), cresset::Error);
}

TEST(ModuleList, KeepsOrder) {
  nn::ModuleList list(nn::Linear(2, 3), nn::ReLU());
  list->push_back(nn::Linear(3, 4));
  list->insert(1, nn::Sigmoid());
  EXPECT_EQ(list->size(), 4u);
  EXPECT_EQ(list->named_parameters().keys(), (std::vector<std::string>{"0.weight", "0.bias", "3.weight", "3.bias"}));
  EXPECT_NE(list[1]->as<nn::Sigmoid>(), nullptr);
  EXPECT_EQ(list->at<nn::LinearImpl>(3).options.out_features(), 4);
  EXPECT_THROW(list->ptr(4), cresset::IndexError);
  int count = 0;
  for (const auto& module : *list) count += module != nullptr;
  EXPECT_EQ(count, 4);
}

TEST(ModuleDict, KeepsNames) {
  nn::ModuleDict dict;
  dict->update(std::vector<std::pair<std::string, std::shared_ptr<Module>>>{{"a", nn::Linear(2, 2).ptr()}, {"b", nn::ReLU().ptr()}});
  EXPECT_EQ(dict->keys(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(dict->contains("b"));
  EXPECT_NE(dict->pop("b"), nullptr);
  EXPECT_EQ(dict->size(), 1u);
  EXPECT_EQ(dict->at<nn::LinearImpl>("a").options.in_features(), 2);
  EXPECT_THROW(dict["c"], cresset::Error);
  auto copy = std::dynamic_pointer_cast<nn::ModuleDictImpl>(dict->clone());
  EXPECT_TRUE(equal(copy->at<nn::LinearImpl>("a").weight, dict->at<nn::LinearImpl>("a").weight));
}

TEST(ParameterList, KeepsRequiresGrad) {
  nn::ParameterList list(cresset::ones({2}).requires_grad_(), cresset::zeros({3}));
  EXPECT_EQ(list->size(), 2u);
  EXPECT_TRUE(list[0].requires_grad());
  EXPECT_FALSE(list->at(1).requires_grad());
  auto copy = std::dynamic_pointer_cast<nn::ParameterListImpl>(list->clone());
  EXPECT_TRUE(equal(copy->at(0), list->at(0)));
  EXPECT_NE(copy->at(0).data_ptr(), list->at(0).data_ptr());
}

TEST(ParameterDict, KeepsNames) {
  nn::ParameterDict dict;
  dict->insert("a", cresset::ones({2}));
  dict->insert("b", cresset::zeros({2}));
  EXPECT_EQ(dict->pop("a").sum().item<float>(), 2.0f);
  EXPECT_EQ(dict->keys(), (std::vector<std::string>{"b"}));
  EXPECT_THROW(dict->get("a"), cresset::Error);
}

TEST(OrderedDict, EraseKeepsTheRestInOrder) {
  OrderedDict<std::string, int> dict;
  dict.insert("a", 1);
  dict.insert("b", 2);
  dict.insert("c", 3);
  dict.erase("b");
  EXPECT_EQ(dict["c"], 3);
  EXPECT_EQ(dict.keys(), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(dict[1].key(), "c");
  EXPECT_EQ(dict.find("b"), nullptr);
  EXPECT_THROW(dict["b"], cresset::Error);
  EXPECT_THROW(dict.insert("a", 4), cresset::Error);
}

TEST(Options, AcceptOneOrSeveralNumbers) {
  EXPECT_EQ(*nn::Conv2dOptions(1, 1, 3).kernel_size(), (std::array<int64_t, 2>{3, 3}));
  EXPECT_EQ(*nn::Conv2dOptions(1, 1, {3, 5}).kernel_size(), (std::array<int64_t, 2>{3, 5}));
  EXPECT_THROW(nn::Conv2dOptions(1, 1, {3, 5, 7}), cresset::Error);
  EXPECT_TRUE(nn::Conv2dOptions(1, 1, 3).padding(kSame).padding().same());
}

TEST(Layers, MistakesInOptions) {
  EXPECT_THROW(nn::Conv2d(nn::Conv2dOptions(3, 4, 3).groups(2)), cresset::Error);
  EXPECT_THROW(nn::Conv2d(nn::Conv2dOptions(1, 1, 3).stride(2).padding(kSame)), cresset::Error);
  EXPECT_THROW(nn::Dropout(1.5), cresset::ValueError);
  EXPECT_THROW(nn::Embedding(nn::EmbeddingOptions(3, 2).padding_idx(3)), cresset::Error);
  EXPECT_THROW(nn::MultiheadAttention(5, 2), cresset::Error);
}

TEST(Layers, BatchNormChecksTheNumberOfDimensions) {
  nn::BatchNorm2d norm(3);
  EXPECT_EQ(message_of([&] { norm(cresset::ones({2, 3})); }), "BatchNorm2d: number of dimensions of the input, got shape [2, 3], expected 4");
}

TEST(Layers, ConvTransposePicksTheOutputSize) {
  nn::ConvTranspose2d conv(nn::ConvTranspose2dOptions(1, 1, 3).stride(2));
  const Tensor x = cresset::ones({1, 1, 4, 4});
  const std::vector<int64_t> size = {10, 9};
  EXPECT_EQ(conv->forward(x, IntArrayRef(size)).sizes(), (std::vector<int64_t>{1, 1, 10, 9}));
  const std::vector<int64_t> wrong = {11, 9};
  EXPECT_THROW(conv->forward(x, IntArrayRef(wrong)), cresset::Error);
}

TEST(Layers, MaxUnpoolInvertsMaxPool) {
  nn::MaxPool2d pool(nn::MaxPool2dOptions(2));
  nn::MaxUnpool2d unpool(nn::MaxUnpool2dOptions(2));
  const Tensor x = cresset::arange(16, kFloat).view({1, 1, 4, 4});
  const auto [values, indices] = pool->forward_with_indices(x);
  const Tensor back = unpool(values, indices);
  EXPECT_EQ(back.sum().item<float>(), values.sum().item<float>());
  EXPECT_EQ(back.flatten()[15].item<float>(), 15.0f);
  EXPECT_EQ(back.flatten()[14].item<float>(), 0.0f);
}

TEST(Embedding, FromPretrainedFreezes) {
  const Tensor table = cresset::arange(6, kFloat).view({3, 2});
  auto frozen = nn::Embedding::from_pretrained(table);
  EXPECT_FALSE(frozen->weight.requires_grad());
  EXPECT_TRUE(equal(frozen(cresset::tensor({2}, kLong)), table.narrow(0, 2, 1)));
  EXPECT_TRUE(nn::Embedding::from_pretrained(table, nn::EmbeddingFromPretrainedOptions().freeze(false))->weight.requires_grad());
}

// Without derivatives the bags are summed by a sparse matrix, with them from picked rows.
TEST(EmbeddingBag, SumsTheSameWithAndWithoutDerivatives) {
  const Tensor weight = cresset::randn({5, 3}, kDouble).requires_grad_(true), offsets = cresset::tensor({0, 2, 2, 9}, kLong);
  const Tensor input = cresset::tensor({1, 4, 0, 1, 1, 1, 1, 1, 3, 2}, kLong), scale = cresset::randn({10}, kDouble);
  for (const int padding : {-1, 1})
    for (const int kind : {0, 1, 2}) {
      auto options = nn::functional::EmbeddingBagFuncOptions().offsets(offsets);
      if (kind == 0) options.mode(kMean);
      else options.mode(kSum);
      if (kind == 2) options.per_sample_weights(scale);
      if (padding >= 0) options.padding_idx(padding);
      const Tensor picked = nn::functional::embedding_bag(input, weight, options);
      NoGradGuard guard;
      const Tensor product = nn::functional::embedding_bag(input, weight, options);
      EXPECT_FALSE(product.requires_grad());
      EXPECT_TRUE(cresset::allclose(product, picked, 1e-12, 1e-12)) << product << picked;
      EXPECT_ANY_THROW(nn::functional::embedding_bag(cresset::tensor({1, 4, 0, 1, 1, 1, 1, 1, 3, 5}, kLong), weight, options));
    }
}

TEST(EmbeddingBag, TakesOffsets) {
  nn::EmbeddingBag bag(nn::EmbeddingBagOptions(4, 2).mode(kSum));
  const Tensor input = cresset::tensor({0, 1, 2, 3}, kLong), offsets = cresset::tensor({0, 1, 1}, kLong);
  const Tensor out = bag(input, offsets);
  EXPECT_TRUE(equal(out[0], bag->weight[0]));
  EXPECT_EQ(out[1].abs().sum().item<float>(), 0.0f);
  EXPECT_TRUE(allclose(out[2], bag->weight[1] + bag->weight[2] + bag->weight[3]));
  EXPECT_THROW(bag(input), cresset::Error);
  EXPECT_THROW(bag(input, cresset::tensor({1}, kLong)), cresset::Error);
}

// Without optimization a derived class makes its bases' destructors itself, so that the library has to export their tables.
template <class Layer> struct Derived final : Layer {
  using Layer::Layer;
  std::string says() const { return "derived " + std::to_string(this->parameters().size()); }
};

TEST(Layers, MayBeDerivedFrom) {
  EXPECT_EQ(Derived<nn::Conv2dImpl>(1, 2, 3).says(), "derived 2");
  EXPECT_EQ(Derived<nn::ConvTranspose1dImpl>(1, 2, 3).says(), "derived 2");
  EXPECT_EQ(Derived<nn::BatchNorm2dImpl>(3).says(), "derived 2");
  EXPECT_EQ(Derived<nn::InstanceNorm1dImpl>(nn::InstanceNormOptions(3).affine(true)).says(), "derived 2");
  EXPECT_EQ(Derived<nn::LSTMImpl>(2, 3).says(), "derived 4");
  EXPECT_EQ(Derived<nn::GRUImpl>(2, 3).says(), "derived 4");
  EXPECT_EQ(Derived<nn::RNNCellImpl>(2, 3).says(), "derived 4");
  EXPECT_EQ(Derived<nn::LinearImpl>(2, 3).says(), "derived 2");
}

}  // namespace
