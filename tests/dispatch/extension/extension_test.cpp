// Libraries from outside the tree, built just before this program runs (build.cmake) and opened here.

#include <dlfcn.h>

#include <thread>

#include "cresset/autograd/graph.h"
#include "cresset/base/warning.h"
#include "cresset/cresset.h"
#include "cresset/dispatch/c_abi.h"
#include "cresset/dispatch/registration.h"
#include "cresset/transform/gradcheck.h"
#include "tests/autograd/support.h"

namespace cresset {
namespace {

using dispatch::find_op;
using dispatch::find_op_or_null;
using dispatch::load_library;
using dispatch::print_table;
using dispatch::unload_library;

// Built here, or the binaries of a release, which the environment names.
std::string library(const std::string& name) {
  const char* kept = std::getenv("CRESSET_KEPT_EXTENSIONS");
  return std::string(kept ? kept : CRESSET_EXTENSIONS) + "/" + name + ".so";
}

// A device library stays for the life of the process.
void* device_library(const std::string& name) {
  static std::map<std::string, void*> open;
  void*& handle = open[name];
  if (!handle) handle = load_library(library(name + "_device"));
  return handle;
}
int64_t counter(const std::string& device, const char* name) { return reinterpret_cast<int (*)()>(dlsym(device_library(device), name))(); }
int64_t live_blocks(const std::string& device) { return reinterpret_cast<int64_t (*)()>(dlsym(device_library(device), "toy_live_blocks"))(); }

struct CustomOp : testing::Test {
  void* handle = load_library(library("custom_op"));
  ~CustomOp() override {
    if (handle) unload_library(handle);
  }
  Tensor cube(const Tensor& x, double scale) { return find_op("demo::cube").typed<Tensor(const Tensor&, double)>().call(x, scale); }
};

TEST_F(CustomOp, RunsTyped) { EXPECT_EQ(numbers(cube(vec({1, 2, 3}), 2)), (Numbers{2, 16, 54})); }

TEST_F(CustomOp, RunsBoxed) {
  dispatch::Stack stack{vec({1, 2}), 0.5};
  find_op("demo::cube").call_boxed(stack);
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_EQ(numbers(stack[0].to_tensor()), (Numbers{0.5, 4}));
}

TEST_F(CustomOp, HasItsOwnGradient) {
  const Tensor x = leaf({1, 2, 3});
  cube(x, 2).sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{6, 24, 54}));
  EXPECT_TRUE(autograd::gradcheck([&](const autograd::variable_list& in) { return autograd::variable_list{cube(in[0], 1.5)}; }, {leaf({0.3, -0.7})}));
}

TEST_F(CustomOp, GradientDifferentiatesAgain) {
  EXPECT_TRUE(autograd::gradgradcheck([&](const autograd::variable_list& in) { return autograd::variable_list{cube(in[0], 1.5)}; }, {leaf({0.3, -0.7})}));
}

TEST_F(CustomOp, RunsOnMetaTensors) {
  const Tensor y = cube(cresset::empty({2, 3}, TensorOptions(kDouble).device(kMeta)), 1);
  EXPECT_TRUE(y.is_meta());
  EXPECT_EQ(y.sizes(), IntArrayRef({2, 3}));
}

TEST_F(CustomOp, ACompositeInheritsGradients) {
  const Tensor x = leaf({1, 2, 3, 6});
  auto [mean, deviation] = find_op("demo::mean_and_deviation").typed<std::tuple<Tensor, Tensor>(const Tensor&)>().call(x);
  EXPECT_EQ(mean.item<double>(), 3);
  deviation.backward();
  // d/dx_i sqrt(mean((x - mean)^2)) = (x_i - mean) / (n * deviation)
  const double d = deviation.item<double>();
  for (size_t i = 0; i < 4; i++) EXPECT_NEAR(numbers(x.grad())[i], (numbers(x)[i] - 3) / (4 * d), 1e-12);
}

TEST_F(CustomOp, WithoutAGradientRaisesInBackwardOnly) {
  const Tensor x = leaf({-1, 2});
  const Tensor y = find_op("demo::sign").typed<Tensor(const Tensor&)>().call(x);
  EXPECT_EQ(numbers(y), (Numbers{-1, 1}));
  EXPECT_TRUE(y.requires_grad());
  EXPECT_TRUE(contains(error_of<Error>([&] { y.sum().backward(); }), "demo::sign: the gradient is not implemented"));
}

TEST_F(CustomOp, InPlaceCountsAsAChange) {
  Tensor x = vec({1, 2});
  EXPECT_EQ(x._version(), 0);
  find_op("demo::clear_").typed<Tensor&(Tensor&)>().call(x);
  EXPECT_EQ(x._version(), 1);
  EXPECT_EQ(numbers(x), (Numbers{0, 0}));
  dispatch::Stack stack{x};
  find_op("demo::clear_").call_boxed(stack);
  EXPECT_EQ(x._version(), 2);
}

TEST_F(CustomOp, PrintsItsTable) {
  const std::string table = print_table("demo::cube");
  EXPECT_TRUE(contains(table, "schema: demo::cube(Tensor x, float scale=1.) -> Tensor"));
  EXPECT_TRUE(contains(table, "layer Autograd: registered at run time"));
  EXPECT_TRUE(contains(table, "backend CPU: registered at run time"));
}

TEST_F(CustomOp, WrongTypesAtTheCallAreNamed) {
  EXPECT_TRUE(contains(error_of<TypeError>([&] { find_op("demo::cube").typed<Tensor(const Tensor&, int64_t)>(); }),
                       "demo::cube: typed with C++ types that do not fit its schema"));
  dispatch::Stack stack{vec({1}), std::string("two")};
  EXPECT_TRUE(contains(error_of<TypeError>([&] { find_op("demo::cube").call_boxed(stack); }), "expected float, got str"));
}

TEST_F(CustomOp, DisappearsWhenTheLibraryIsClosed) {
  const dispatch::OpHandle held = find_op("demo::cube");
  unload_library(std::exchange(handle, nullptr));
  ASSERT_EQ(dlopen(library("custom_op").c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr) << "the library is still loaded";
  EXPECT_FALSE(find_op_or_null("demo::cube"));
  EXPECT_TRUE(contains(error_of([] { find_op("demo::cube"); }), "there is no operator \"demo::cube\""));
  dispatch::Stack stack{vec({1}), 1.0};
  EXPECT_TRUE(contains(error_of<NotImplementedError>([&] { held.call_boxed(stack); }), "Could not run 'demo::cube' with arguments from the 'CPU' backend"));
  handle = load_library(library("custom_op"));
  EXPECT_EQ(numbers(cube(vec({2}), 1)), (Numbers{8}));
}

TEST_F(CustomOp, DefinedTwiceNamesBothPlaces) {
  const std::string text = error_of([] { dispatch::Library again(dispatch::Library::definitions, "demo", "", "here.cpp", 7); });
  EXPECT_TRUE(contains(text, "CRESSET_LIBRARY(demo) appears twice, the second time at here.cpp:7"));
  dispatch::Library more(dispatch::Library::fragment, "demo", "", "here.cpp", 8);
  EXPECT_TRUE(contains(error_of([&] { more.def("cube(Tensor x, float scale=1.0) -> Tensor"); }), "custom_op.cpp:"));
  EXPECT_TRUE(contains(error_of([&] { more.def("cube(Tensor x, float scale=1.0) -> Tensor"); }), "and at here.cpp:8"));
}

TEST(TorchOp, RegistersAsLibTorchProgramsDo) {
  void* handle = load_library(library("torch_op"));
  {
    const auto square = find_op("torchdemo::square").typed<Tensor(const Tensor&, int64_t)>();
    EXPECT_EQ(numbers(square.call(vec({1, 2, 3}), 2)), (Numbers{1, 16, 81}));
    auto f = [&](const autograd::variable_list& in) { return autograd::variable_list{square.call(in[0], 1)}; };
    EXPECT_TRUE(autograd::gradcheck(f, {leaf({0.3, -0.7})}));
    EXPECT_TRUE(autograd::gradgradcheck(f, {leaf({0.3, -0.7})}));
    EXPECT_TRUE(contains(error_of([&] { square.call(vec({1}), 0); }), "square: expected a positive number, got 0"));
    const Tensor x = leaf({2});
    find_op("torchdemo::cube").typed<Tensor(const Tensor&)>().call(x).backward();
    EXPECT_EQ(numbers(x.grad()), (Numbers{12}));
  }
  unload_library(handle);
  EXPECT_FALSE(find_op_or_null("torchdemo::square"));
}

TEST(BrokenLibrary, RaisesAndLeavesNothing) {
  EXPECT_TRUE(contains(error_of([] { load_library(library("broken_schema")); }),
                       "is (Tensor, float) -> (Tensor), which does not fit the schema broken::fine(Tensor x) -> Tensor"));
  EXPECT_FALSE(find_op_or_null("broken::fine"));
  EXPECT_TRUE(contains(error_of([] { load_library(library("broken_twice")); }), "the operator \"broken::fine\" is defined twice, at "));
  EXPECT_FALSE(find_op_or_null("broken::fine"));
  EXPECT_TRUE(contains(error_of([] { load_library(library("broken_key")); }), "\"Nowhere\" at "));
  EXPECT_FALSE(find_op_or_null("broken::fine"));
  EXPECT_TRUE(contains(error_of([] { load_library(library("broken_throws")); }), "threw an object that is no std::exception"));
  EXPECT_FALSE(find_op_or_null("broken::fine"));
  EXPECT_TRUE(contains(error_of([] { load_library(library("absent")); }), "load_library: cannot open"));
}

// ---- the C interface ---------------------------------------------------------------------------------------------------

struct COp : testing::Test {
  void* handle = load_library(library("c_op"));
  ~COp() override {
    if (handle) unload_library(handle);
  }
  static Tensor scale(const Tensor& x, double by) { return find_op("plain::scale").typed<Tensor(const Tensor&, double)>().call(x, by); }
};

TEST_F(COp, RunsAndHasDerivatives) {
  EXPECT_EQ(numbers(scale(vec({1, 2}), 3)), (Numbers{3, 6}));
  EXPECT_GT(reinterpret_cast<int (*)()>(dlsym(handle, "plain_scale_calls"))(), 0);
  const Tensor x = leaf({1, 2});
  const Tensor y = scale(x, 3);
  EXPECT_EQ(y.grad_fn()->name(), "plain::scaleBackward");
  y.sum().backward(Tensor(), true);
  EXPECT_EQ(numbers(x.grad()), (Numbers{3, 3}));
  auto f = [](const autograd::variable_list& in) { return autograd::variable_list{scale(in[0] * in[0], 1.5)}; };
  EXPECT_TRUE(autograd::gradcheck(f, {leaf({0.3, -0.7})}));
  EXPECT_TRUE(autograd::gradgradcheck(f, {leaf({0.3, -0.7})}));
}

TEST_F(COp, ErrorsKeepTheirKindAndText) {
  EXPECT_TRUE(contains(error_of<TypeError>([] { scale(cresset::ones({2}), 1); }), "plain::scale: expected a float64 tensor"));
}

TEST_F(COp, TakesListsOfTensors) {
  dispatch::Stack stack{std::vector<Tensor>{vec({1, 2}), vec({1, 2, 3})}};
  find_op("plain::total").call_boxed(stack);
  EXPECT_EQ(stack[0].to_int(), 5);
  dispatch::Stack many{std::vector<Tensor>(9, vec({1}))};
  EXPECT_TRUE(contains(error_of<ValueError>([&] { find_op("plain::total").call_boxed(many); }), "at most 8 tensors"));
}

TEST_F(COp, DisappearsWhenTheLibraryIsClosed) {
  EXPECT_EQ(load_library(library("c_op")), handle);  // twice open: init ran once
  unload_library(handle);
  EXPECT_TRUE(find_op_or_null("plain::scale"));
  unload_library(std::exchange(handle, nullptr));
  EXPECT_EQ(dlopen(library("c_op").c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
  EXPECT_FALSE(find_op_or_null("plain::scale"));
}

TEST(CExtension, AFailingInitLeavesNothing) {
  EXPECT_TRUE(contains(error_of<ValueError>([] { load_library(library("c_broken")); }), "unknown type `Tensr`"));
  EXPECT_FALSE(find_op_or_null("brokenc::fine"));
}

TEST(BrokenLibrary, OneOfANewerInterfaceIsRefusedBeforeItRuns) {
  const std::string error = error_of([] { load_library(library("c_newer")); });
  EXPECT_TRUE(contains(error, "was built for version 2 of the C interface, this library speaks version 1"));
  EXPECT_FALSE(find_op_or_null("brokenc::fine"));
}

TEST(CExtension, ATensorThatIsGivenBackTwiceIsNotFreedTwice) {
  const cresset_api* api = cresset_get_api(CRESSET_C_ABI_VERSION);
  static std::vector<std::string> warnings;
  warnings.clear();
  const WarningHandler before = set_warning_handler([](WarningKind, const std::string& text) { warnings.push_back(text); });
  cresset_values values;
  ASSERT_EQ(api->values_new(&values), CRESSET_OK);
  const int64_t sizes[] = {2};
  cresset_tensor first, again;
  ASSERT_EQ(api->tensor_empty(sizes, 1, CRESSET_FLOAT32, "cpu", -1, &first), CRESSET_OK);
  ASSERT_EQ(api->push_tensor(values, first), CRESSET_OK);
  api->tensor_free(first);
  EXPECT_TRUE(warnings.empty());
  api->tensor_free(first);  // the values hold it still
  set_warning_handler(before);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(contains(warnings[0], "tensor_free: the program does not hold this tensor"));
  ASSERT_EQ(api->get_tensor(values, 0, &again), CRESSET_OK);
  EXPECT_EQ(api->tensor_numel(again), 2);
  api->tensor_free(again);
  api->values_free(values);
}

TEST(CExtension, TheTableSaysItsVersion) {
  const cresset_api* api = cresset_get_api(CRESSET_C_ABI_VERSION);
  ASSERT_NE(api, nullptr);
  EXPECT_EQ(api->version, static_cast<uint32_t>(CRESSET_C_ABI_VERSION));
  EXPECT_EQ(api->size, sizeof(cresset_api));
  EXPECT_EQ(cresset_get_api(CRESSET_C_ABI_VERSION + 1), nullptr);
  cresset_values values;
  ASSERT_EQ(api->values_new(&values), CRESSET_OK);
  int64_t v;
  EXPECT_EQ(api->get_int(values, 0, &v), CRESSET_INDEX_ERROR);
  EXPECT_STREQ(api->last_error(), "values: there is no value 0, there are 0");
  EXPECT_EQ(api->push_string(values, "text"), CRESSET_OK);
  EXPECT_EQ(api->get_int(values, 0, &v), CRESSET_TYPE_ERROR);
  EXPECT_EQ(api->values_kind(values, 0), CRESSET_KIND_STRING);
  cresset_op op;
  EXPECT_EQ(api->find_op("no_such_op", &op), CRESSET_ERROR);
  EXPECT_TRUE(contains(api->last_error(), "there is no operator \"no_such_op\""));
  EXPECT_EQ(api->push_dtype(values, static_cast<cresset_dtype>(21)), CRESSET_VALUE_ERROR);
  api->values_free(values);
}

TEST(CExtension, ReadsAndWritesEveryKindOfValue) {
  const cresset_api* api = cresset_get_api(CRESSET_C_ABI_VERSION);
  cresset_values values;
  ASSERT_EQ(api->values_new(&values), CRESSET_OK);
  const int64_t ints[] = {1, -2}, sizes[] = {2};
  const double floats[] = {0.5, 2};
  const int bools[] = {1, 0};
  double memory[] = {7, 8};
  static int freed;
  freed = 0;
  cresset_tensor t;
  ASSERT_EQ(api->tensor_from_memory(
                memory, sizes, nullptr, 1, CRESSET_FLOAT64, [](void* count, void*) { ++*static_cast<int*>(count); }, &freed, &t),
            CRESSET_OK);
  const cresset_tensor list[] = {t, nullptr};
  api->push_none(values);
  api->push_tensor(values, t);
  api->push_int(values, -5);
  api->push_float(values, 2.5);
  api->push_bool(values, 1);
  api->push_complex(values, 1, -1);
  api->push_string(values, "mean");
  api->push_dtype(values, CRESSET_BFLOAT16);
  api->push_device(values, "cuda", 1);
  api->push_int_list(values, ints, 2);
  api->push_float_list(values, floats, 2);
  api->push_bool_list(values, bools, 2);
  api->push_tensor_list(values, list, 2);
  ASSERT_EQ(api->values_size(values), 13u);
  for (size_t i = 0; i < 13; i++) EXPECT_EQ(api->values_kind(values, i), static_cast<cresset_kind>(i));
  int64_t i;
  double d, e;
  int b, index;
  const char* text;
  cresset_dtype dtype;
  EXPECT_EQ(api->get_int(values, 2, &i), CRESSET_OK);
  EXPECT_EQ(i, -5);
  EXPECT_EQ(api->get_float(values, 2, &d), CRESSET_OK);
  EXPECT_EQ(d, -5);
  EXPECT_EQ(api->get_bool(values, 4, &b), CRESSET_OK);
  EXPECT_EQ(b, 1);
  EXPECT_EQ(api->get_complex(values, 5, &d, &e), CRESSET_OK);
  EXPECT_EQ(std::make_pair(d, e), std::make_pair(1.0, -1.0));
  EXPECT_EQ(api->get_string(values, 6, &text), CRESSET_OK);
  EXPECT_STREQ(text, "mean");
  EXPECT_EQ(api->get_dtype(values, 7, &dtype), CRESSET_OK);
  EXPECT_EQ(dtype, CRESSET_BFLOAT16);
  EXPECT_EQ(api->get_device(values, 8, &text, &index), CRESSET_OK);
  EXPECT_STREQ(text, "cuda");
  EXPECT_EQ(index, 1);
  int64_t got_ints[2];
  double got_floats[2];
  int got_bools[2];
  cresset_tensor got[2];
  size_t n;
  EXPECT_EQ(api->get_list_size(values, 9, &n), CRESSET_OK);
  EXPECT_EQ(n, 2u);
  EXPECT_EQ(api->get_int_list(values, 9, got_ints), CRESSET_OK);
  EXPECT_EQ(got_ints[1], -2);
  EXPECT_EQ(api->get_float_list(values, 10, got_floats), CRESSET_OK);
  EXPECT_EQ(got_floats[0], 0.5);
  EXPECT_EQ(api->get_bool_list(values, 11, got_bools), CRESSET_OK);
  EXPECT_EQ(got_bools[1], 0);
  EXPECT_EQ(api->get_tensor_list(values, 12, got), CRESSET_OK);
  EXPECT_EQ(api->tensor_data(got[0]), memory);
  EXPECT_EQ(got[1], nullptr);
  EXPECT_EQ(api->tensor_dim(t), 1u);
  EXPECT_EQ(api->tensor_sizes(t)[0], 2);
  EXPECT_EQ(api->tensor_strides(t)[0], 1);
  EXPECT_EQ(api->tensor_dtype(t), CRESSET_FLOAT64);
  EXPECT_STREQ(api->tensor_device(t, &index), "cpu");
  EXPECT_EQ(api->tensor_requires_grad(t), 0);
  api->tensor_free(got[0]);
  api->values_free(values);
  EXPECT_EQ(freed, 0);
  api->tensor_free(t);
  EXPECT_EQ(freed, 1);
}

TEST(CProgram, TrainsThroughTheTable) {
  void* const handle = dlopen(library("c_train").c_str(), RTLD_NOW);
  ASSERT_NE(handle, nullptr) << dlerror();
  double fitted[2];
  const double loss = reinterpret_cast<double (*)(const cresset_api*, double*)>(dlsym(handle, "c_train"))(cresset_get_api(CRESSET_C_ABI_VERSION), fitted);
  EXPECT_GE(loss, 0);
  EXPECT_LT(loss, 1e-9);
  EXPECT_NEAR(fitted[0], 2, 1e-4);
  EXPECT_NEAR(fitted[1], 1, 1e-4);
  EXPECT_TRUE(GradMode::is_enabled());
  dlclose(handle);
}

TEST(CProgram, MistakesWithGradientsAreErrors) {
  const cresset_api* api = cresset_get_api(CRESSET_C_ABI_VERSION);
  const int64_t two[] = {2}, one[] = {1};
  cresset_tensor t, other, grad;
  ASSERT_EQ(api->tensor_empty(two, 1, CRESSET_FLOAT32, "cpu", -1, &t), CRESSET_OK);
  ASSERT_EQ(api->tensor_empty(one, 1, CRESSET_FLOAT32, "cpu", -1, &other), CRESSET_OK);
  EXPECT_NE(api->tensor_backward(t, nullptr, 0), CRESSET_OK);
  EXPECT_EQ(api->tensor_grad(t, &grad), CRESSET_OK);
  EXPECT_EQ(grad, nullptr);
  EXPECT_NE(api->tensor_set_grad(t, other), CRESSET_OK);
  EXPECT_TRUE(contains(api->last_error(), "expected a gradient of shape [2], got [1]"));
  api->tensor_free(t);
  api->tensor_free(other);
}

// Tables only grow at their end: a binary of an earlier release finds every function where it was.
TEST(CProgram, EarlierFunctionsStayInTheirPlaces) {
  EXPECT_EQ(offsetof(cresset_api, last_error), 8u);
  EXPECT_EQ(offsetof(cresset_api, call), 8u + 13 * sizeof(void*));
  EXPECT_EQ(offsetof(cresset_api, tensor_data), 8u + 60 * sizeof(void*));
  EXPECT_EQ(cresset_get_api(CRESSET_C_ABI_VERSION)->size, sizeof(cresset_api));
}

TEST(CDevice, ComputesThroughItsFallback) {
  static void* handle = load_library(library("c_device"));
  const auto live = reinterpret_cast<int (*)()>(dlsym(handle, "flipped_live_blocks"));
  {
    const Tensor x = vec({1, 2, 3}), d = x.to(Device("flipped"));
    EXPECT_NE(static_cast<const double*>(d.storage().data())[0], 1.0);
    EXPECT_EQ(numbers(d.cpu()), numbers(x));
    EXPECT_EQ(numbers((d * d + 1).cpu()), (Numbers{2, 5, 10}));
    const Tensor w = leaf({1, 2, 3});
    (w.to(Device("flipped")).exp() * d).sum().backward();
    EXPECT_EQ(numbers(w.grad()), numbers(x.exp() * x));
    EXPECT_GT(live(), 0);
    EXPECT_TRUE(contains(error_of<NotImplementedError>([&] { cresset::ones({2}, TensorOptions(kFloat)).to(Device("flipped")); }), "flipped: copies float64"));
  }
  EXPECT_EQ(live(), 0);
}

// ---- devices ---------------------------------------------------------------------------------------------------------

struct Net : nn::Module {
  nn::Linear first, second;
  Net() : first(nn::Linear(6, 16)), second(nn::Linear(16, 3)) {
    register_module("first", first);
    register_module("second", second);
  }
  Tensor forward(const Tensor& x) { return second->forward(cresset::relu(first->forward(x))); }
};

struct Training {
  std::vector<float> losses;
  std::vector<std::vector<float>> parameters;
};

Training train(Device device) {
  manual_seed(3);
  Net net;
  const Tensor x = cresset::randn({32, 6}), y = cresset::randint(0, 3, {32}, TensorOptions(kLong));
  net.to(device);
  const Tensor on_x = x.to(device), on_y = y.to(device);
  optim::SGD optimizer(net.parameters(), optim::SGDOptions(0.1).momentum(0.9));
  Training t;
  for (int step = 0; step < 40; step++) {
    optimizer.zero_grad();
    const Tensor loss = nn::functional::cross_entropy(net.forward(on_x), on_y);
    loss.backward();
    optimizer.step();
    t.losses.push_back(loss.item<float>());
  }
  for (const Tensor& p : net.parameters()) {
    EXPECT_EQ(p.device().type(), device.type());
    EXPECT_EQ(p.grad().device().type(), device.type());
    const Tensor host = p.detach().cpu().contiguous();
    t.parameters.emplace_back(host.data_ptr<float>(), host.data_ptr<float>() + host.numel());
  }
  return t;
}

TEST(ToyDevice, TrainsBesideASecondOneAsTheCpuDoes) {
  device_library("toy");
  device_library("second");
  const Training cpu = train(kCPU), toy = train(Device("toy")), second = train(Device("second"));
  EXPECT_LT(cpu.losses.back(), 0.7f * cpu.losses.front());
  EXPECT_EQ(cpu.losses, toy.losses);
  EXPECT_EQ(cpu.parameters, toy.parameters);
  EXPECT_EQ(cpu.losses, second.losses);
  EXPECT_EQ(cpu.parameters, second.parameters);
  for (const char* name : {"toy", "second"}) {
    EXPECT_GT(counter(name, "toy_kernel_calls"), 100) << name;
    EXPECT_GT(counter(name, "toy_fallback_calls"), 10) << name;
  }
}

TEST(ToyDevice, GivesItsMemoryBack) {
  device_library("toy");
  const int64_t before = live_blocks("toy");
  train(Device("toy"));
  EXPECT_EQ(live_blocks("toy"), before);
}

TEST(ToyDevice, CopiesBetweenDevices) {
  device_library("toy");
  device_library("second");
  const Tensor x = cresset::arange(12, TensorOptions(kDouble)).reshape({3, 4});
  const Tensor on_toy = x.to(Device("toy")), on_second = on_toy.t().to(Device("second")), back = on_second.to(Device("toy")).t().cpu();
  EXPECT_EQ(on_toy.device().str(), "toy:0");
  EXPECT_EQ(on_second.device().str(), "second:0");
  EXPECT_EQ(numbers(back), numbers(x));
  Tensor target = cresset::zeros({3, 4}, TensorOptions(kFloat).device(Device("toy")));
  target.copy_(on_second.t());  // casts on the way
  EXPECT_EQ(numbers(target.cpu()), numbers(x));
  EXPECT_EQ(numbers(x.to(Device("toy")).clone().cpu()), numbers(x));
}

TEST(ToyDevice, GradientsCrossDevices) {
  device_library("toy");
  device_library("second");
  const Tensor x = leaf({1, 2, 3});
  ((x.to(Device("toy")) * 2).to(Device("second")) * 3).cpu().sum().backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{6, 6, 6}));
  EXPECT_TRUE(x.grad().is_cpu());
}

TEST(ToyDevice, BackwardStaysOnThisThreadWhereItIsAsked) {
  device_library("toy");
  for (const bool many : {true, false}) {
    const autograd::set_multithreading_enabled threads(many);
    const Tensor x = leaf({1, 2, 3}), there = x.to(Device("toy")) * 2;
    std::thread::id ran_on;
    there.register_hook([&](const Tensor&) { ran_on = std::this_thread::get_id(); });
    there.cpu().sum().backward();
    EXPECT_EQ(numbers(x.grad()), (Numbers{2, 2, 2}));
    EXPECT_EQ(ran_on == std::this_thread::get_id(), !many);
  }
}

TEST(ToyDevice, TensorsOfTwoDevicesDoNotMix) {
  device_library("toy");
  device_library("second");
  const Tensor a = cresset::ones({2}, Device("toy")), b = cresset::ones({2}, Device("second"));
  EXPECT_TRUE(contains(error_of([&] { a.sub(b); }), "sub.Tensor: expected all tensors on one device, got toy:0 and second:0"));
}

TEST(ToyDevice, FallbackServesEveryFormAndManyOps) {
  device_library("toy");
  const Device toy("toy");
  const Tensor x = cresset::linspace(-2, 2, 12, TensorOptions(kDouble)).reshape({3, 4}), d = x.to(toy);
  EXPECT_EQ(numbers(d.exp().cpu()), numbers(x.exp()));
  EXPECT_EQ(numbers(cresset::cat({d, d}, 1).cpu()), numbers(cresset::cat({x, x}, 1)));
  auto [values, indices] = d.max(1);
  EXPECT_EQ(numbers(values.cpu()), numbers(std::get<0>(x.max(1))));
  EXPECT_EQ(indices.device(), values.device());
  Tensor in_place = d.clone();
  in_place.sigmoid_().sub_(0.5);
  EXPECT_EQ(numbers(in_place.cpu()), numbers(x.sigmoid().sub(0.5)));
  EXPECT_EQ(in_place._version(), 2);
  Tensor out = cresset::empty({0}, TensorOptions(kDouble).device(toy));
  cresset::tanh_out(out, d);
  EXPECT_EQ(numbers(out.cpu()), numbers(x.tanh()));
  // Derived from the device's own `mul`.
  Tensor derived = d.clone();
  derived.mul_(d);
  EXPECT_EQ(numbers(derived.cpu()), numbers(x * x));
  EXPECT_EQ(derived._version(), 1);
  Tensor slice = derived.select(1, 2);
  slice.zero_();
  EXPECT_EQ(numbers(derived.select(1, 2).cpu()), (Numbers{0, 0, 0}));
  EXPECT_EQ(d.sum().item<double>(), x.sum().item<double>());
  EXPECT_TRUE(contains(cresset::str(d), "toy:0"));
}

TEST(ToyDevice, PrintsTheRegisteredKernels) {
  device_library("toy");
  device_library("bare");
  const std::string table = print_table("add");
  EXPECT_TRUE(contains(table, "add.Tensor\n"));
  EXPECT_TRUE(contains(table, "add.Scalar\n"));
  EXPECT_TRUE(contains(print_table("add.Tensor"), "backend toy: registered at run time"));
  EXPECT_TRUE(contains(print_table("add.Tensor"), "backend CPU: built in"));
  EXPECT_TRUE(contains(print_table("mul_.Tensor"), "backend toy: derived from the functional form"));
  EXPECT_TRUE(contains(print_table("exp"), "backend toy: boxed fallback"));
  EXPECT_TRUE(contains(print_table("exp"), "backend bare: none"));
  EXPECT_TRUE(contains(print_table("transpose.int"), "backend bare: view"));
  EXPECT_TRUE(contains(print_table("clone"), "backend bare: built in for every device"));
}

TEST(BareDevice, AMissingKernelNamesOpBackendAndTheRegisteredOnes) {
  device_library("bare");
  device_library("toy");
  const Tensor x = cresset::ones({2}, Device("bare"));
  EXPECT_EQ(numbers((x + x).cpu()), (Numbers{2, 2}));
  EXPECT_TRUE(contains(error_of<NotImplementedError>([&] { x.exp(); }),
                       "Could not run 'aten::exp' with arguments from the 'bare' backend. The operator is registered for: CPU, Meta"));
  const std::string text = error_of<NotImplementedError>([&] { x.sub_(x); });
  EXPECT_TRUE(contains(text, "with arguments from the 'bare' backend"));
  EXPECT_TRUE(contains(error_of<Error>([&] { cresset::empty({2}, Device("cuda")); }), "no backend is registered"));
}

TEST(Backends, ASecondFallbackIsRefusedAndTheFirstStays) {
  device_library("toy");
  {
    dispatch::Library more(dispatch::Library::implementations, "_", "toy", "here.cpp", 5);
    EXPECT_TRUE(contains(error_of([&] { more.fallback(dispatch::cpu_fallback); }), "a fallback for toy is already set"));
  }
  EXPECT_EQ(cresset::ones({2}, Device("toy")).exp().cpu().size(0), 2);
}

TEST(Backends, ANameBelongsToOneDevice) {
  device_library("toy");
  EXPECT_TRUE(contains(error_of([] { dispatch::register_backend("other", "toy"); }), "(toy, strided) belongs to \"toy\", it cannot also be \"other\""));
  EXPECT_TRUE(contains(error_of([] { dispatch::register_backend("toy", "another"); }), "the name \"toy\" is already that of another device"));
  dispatch::Library more(dispatch::Library::implementations, "cresset", "toy", "here.cpp", 3);
  testing::internal::CaptureStderr();
  more.impl("relu", [](const Tensor& t) { return t; });
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "the kernel of relu for toy at here.cpp:3 overwrote"));
  EXPECT_TRUE(contains(error_of([&] { more.impl("exp", [](const Tensor& t, double) { return t; }); }), "does not fit the schema exp(Tensor self) -> Tensor"));
  EXPECT_TRUE(contains(error_of([] { dispatch::Library none(dispatch::Library::implementations, "cresset", "nowhere", "here.cpp", 4); }),
                       "\"nowhere\" at here.cpp:4 is neither a layer nor a registered backend"));
}

}  // namespace
}  // namespace cresset
