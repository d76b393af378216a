// Definitions and kernels that come and go at run time: what is found, what runs, and what is said of mistakes.

#include "cresset/dispatch/registration.h"

#include <gtest/gtest.h>

#include "cresset/cresset.h"
#include "tests/error_of.h"

namespace cresset::dispatch {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
Library definitions(const char* ns = "reg_test") { return Library(Library::definitions, ns, std::string(), "here.cpp", 1); }
Library kernels(const char* key, const char* ns = "reg_test") { return Library(Library::implementations, ns, std::string(key), "there.cpp", 2); }

double number(const char* name, const Tensor& x) {
  Stack stack{x};
  find_op(name).call_boxed(stack);
  return stack.at(0).to_tensor().item<double>();
}
Tensor plus_one(const Tensor& x) { return x + 1; }
Tensor plus_two(const Tensor& x) { return x + 2; }

// ---- definitions ----

TEST(Definition, ASchemaIsInferredFromTheFunction) {
  Library m = definitions();
  m.def("f", [](const Tensor& x, int64_t n, std::optional<double> p, const std::vector<int64_t>& sizes) {
    (void)n, (void)p, (void)sizes;
    return std::make_tuple(x, true);
  });
  EXPECT_EQ(std::string(find_op("reg_test::f").entry().schema), "reg_test::f(Tensor _0, int _1, float? _2, int[] _3) -> (Tensor _0, bool _1)");
}

TEST(Definition, ABoxedFunctionTellsNoSchema) {
  Library m = definitions();
  EXPECT_TRUE(contains(error_of([&] { m.def("f", BoxedFn([](const OpEntry&, Stack&) {})); }), "a boxed kernel says nothing of its arguments: f at here.cpp:1"));
}

TEST(Definition, AKernelMayComeFirst) {
  Library early = kernels("CPU");
  early.impl("late", &plus_one);
  EXPECT_FALSE(find_op_or_null("reg_test::late"));
  ASSERT_TRUE(find_declared_op("reg_test::late"));
  ASSERT_EQ(undefined_ops().size(), 1u);
  EXPECT_STREQ(undefined_ops()[0]->name, "reg_test::late");
  {
    Library m = definitions();
    m.def("late(Tensor x) -> Tensor");
    EXPECT_EQ(number("reg_test::late", cresset::full({}, 3.0)), 4);
    EXPECT_TRUE(undefined_ops().empty());
  }
  EXPECT_FALSE(find_op_or_null("reg_test::late"));
}

TEST(Definition, AFunctionThatDoesNotFitIsToldHow) {
  Library m = definitions();
  EXPECT_TRUE(contains(error_of([&] { m.def("f(Tensor a, Tensor b) -> Tensor", &plus_one); }), "The number of arguments is different. 2 vs 1"));
  EXPECT_TRUE(contains(error_of([&] { m.def("f(int a) -> Tensor", &plus_one); }), "Type mismatch in argument 1: int vs Tensor"));
  EXPECT_TRUE(contains(error_of([&] { m.def("f(Tensor a) -> ()", &plus_one); }), "The number of returns is different. 0 vs 1"));
  EXPECT_TRUE(contains(error_of([&] { m.def("f(Tensor a) -> float", &plus_one); }), "Type mismatch in return 1: float vs Tensor"));
}

TEST(Definition, ASecondBlockOfANamespaceNamesBothPlaces) {
  Library m = definitions();
  const std::string text = error_of([] { Library again(Library::definitions, "reg_test", std::string(), "again.cpp", 9); });
  EXPECT_TRUE(contains(text, "Only a single TORCH_LIBRARY"));
  EXPECT_TRUE(contains(text, "again.cpp:9"));
  EXPECT_TRUE(contains(text, "here.cpp:1"));
}

// ---- which kernel runs ----

TEST(Kernels, ALaterOneGoesFirstWithAWarningAndTheEarlierComesBack) {
  Library m = definitions();
  m.def("f(Tensor x) -> Tensor");
  Library first = kernels("CPU");
  first.impl("f", &plus_one);
  {
    Library second = kernels("CPU");
    testing::internal::CaptureStderr();
    second.impl("f", &plus_two);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(contains(said, "reg_test::f"));
    EXPECT_TRUE(contains(said, "for CPU at there.cpp:2"));
    EXPECT_EQ(number("reg_test::f", cresset::zeros({})), 2);
  }
  EXPECT_EQ(number("reg_test::f", cresset::zeros({})), 1);
}

TEST(Kernels, ABuiltInOneIsReplacedAndComesBack) {
  const Tensor a = cresset::full({2}, 3.0), b = cresset::full({2}, 4.0);
  {
    Library m = kernels("CPU", "aten");
    testing::internal::CaptureStderr();
    m.impl("add.Tensor", [](const Tensor& self, const Tensor& other, const Scalar&) { return self * other; });
    EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "the kernel of add.Tensor for CPU at there.cpp:2 overwrote"));
    EXPECT_EQ((a + b)[0].item<double>(), 12);
    EXPECT_EQ(cresset::add(a, b)[0].item<double>(), 12);
    Stack stack{a, b, 1};
    find_op("aten::add.Tensor").call_boxed(stack);
    EXPECT_EQ(stack[0].to_tensor()[0].item<double>(), 12);
    // Gradients are still those of the operator.
    const Tensor x = cresset::full({2}, 3.0).requires_grad_();
    const Tensor y = x + b;
    EXPECT_EQ(y[0].item<double>(), 12);
    y.sum().backward();
    EXPECT_EQ(x.grad()[0].item<double>(), 1);
  }
  EXPECT_EQ((a + b)[0].item<double>(), 7);
}

TEST(Kernels, OneOfAnyKindReplacesABuiltInOne) {
  const Tensor x = cresset::full({}, -2.0);
  const auto relu_is = [&](double expected) {
    EXPECT_EQ(cresset::relu(x).item<double>(), expected);
    const Tensor leaf = x.clone().requires_grad_();
    const Tensor y = leaf.relu();
    EXPECT_EQ(y.item<double>(), expected);
    Stack stack{x};
    find_op("aten::relu").call_boxed(stack);
    EXPECT_EQ(stack[0].to_tensor().item<double>(), expected);
    Tensor written = x.clone();
    cresset::relu_(written);  // another operator
    EXPECT_EQ(written.item<double>(), 0);
  };
  {
    Library boxed = kernels("CPU", "aten");
    boxed.impl("relu", BoxedFn([](const OpEntry&, Stack& stack) { stack.back() = cresset::full({}, 5.0); }));
    relu_is(5);
    Library other_types = kernels("CPU", "aten");
    other_types.impl("relu", [](Tensor t) { return t - 1; });
    relu_is(-3);
  }
  relu_is(0);
}

TEST(Kernels, OneForTheBackendGoesBeforeTheBodyOfAComposite) {
  const Tensor x = cresset::full({2, 2}, 3.0), leaf = x.clone().requires_grad_();
  const auto is_thirty = [&] {
    EXPECT_EQ(x.mT()[0][0].item<double>(), 30);
    EXPECT_EQ(leaf.mT()[0][0].item<double>(), 30);
    Stack stack{x};
    find_op("aten::mT").call_boxed(stack);
    EXPECT_EQ(stack[0].to_tensor()[0][0].item<double>(), 30);
  };
  const BoxedFn boxed = [](const OpEntry&, Stack& stack) { stack.back() = stack.back().to_tensor() * 10; };
  for (const bool is_typed : {true, false}) {
    Library cpu = kernels("CPU", "aten");
    if (is_typed) cpu.impl("mT", [](const Tensor& t) { return t * 10; });
    else cpu.impl("mT", boxed);
    is_thirty();
    Library body = kernels("CompositeImplicitAutograd", "aten");
    body.impl("mT", BoxedFn([](const OpEntry&, Stack& stack) { stack.back() = stack.back().to_tensor() * 2; }));
    is_thirty();
  }
  EXPECT_EQ(x.mT()[0][0].item<double>(), 3);
}

TEST(Kernels, TheBodyOfACompositeCanBeReplaced) {
  const Tensor x = cresset::full({2, 2}, 3.0);
  {
    Library m = kernels("CompositeImplicitAutograd", "aten");
    m.impl("mT", BoxedFn([](const OpEntry&, Stack& stack) { stack.back() = stack.back().to_tensor() * 2; }));
    EXPECT_EQ(x.mT()[0][0].item<double>(), 6);
    const Tensor leaf = x.clone().requires_grad_();
    leaf.mT().sum().backward();
    EXPECT_EQ(leaf.grad()[0][0].item<double>(), 2);
    EXPECT_EQ(cresset::empty({3, 4}, TensorOptions(kMeta)).mT().sizes(), IntArrayRef({3, 4}));
  }
  EXPECT_EQ(x.mT()[0][0].item<double>(), 3);
  EXPECT_EQ(cresset::empty({3, 4}, TensorOptions(kMeta)).mT().sizes(), IntArrayRef({4, 3}));
}

TEST(Kernels, OfTheAutogradLayerSeeEveryCallButThoseBelowIt) {
  Library m = definitions();
  m.def("f(Tensor x) -> Tensor");
  Library cpu = kernels("CPU");
  cpu.impl("f", &plus_one);
  Library autograd = kernels("Autograd");
  autograd.impl("f", &plus_two);
  EXPECT_EQ(number("reg_test::f", cresset::zeros({})), 2);
  const ExcludeLayers below(kAutogradLayer);
  EXPECT_EQ(number("reg_test::f", cresset::zeros({})), 1);
}

TEST(Kernels, OfOneBackendsAutogradGoBeforeThoseOfTheLayer) {
  Library m = definitions();
  m.def("f(Tensor x) -> Tensor");
  Library cpu = kernels("AutogradCPU");
  cpu.impl("f", &plus_one);
  Library all = kernels("Autograd");
  all.impl("f", &plus_two);
  EXPECT_EQ(number("reg_test::f", cresset::zeros({})), 1);
}

TEST(Kernels, AFallthroughIsPassedBy) {
  Library m = definitions();
  m.def("f(Tensor x) -> Tensor", &plus_one);
  Library autograd = kernels("Autograd");
  autograd.impl("f", CppFunction::makeFallthrough());
  EXPECT_EQ(number("reg_test::f", cresset::ones({}).requires_grad_()), 2);
}

TEST(Kernels, AFallbackServesOpsWithoutAKernel) {
  Library m = definitions();
  m.def("f(Tensor x) -> Tensor");
  {
    Library all = kernels("CPU", "_");
    all.fallback(BoxedFn([](const OpEntry& op, Stack& stack) {
      EXPECT_STREQ(op.name, "reg_test::f");
      stack.back() = Value(cresset::full({}, 42.0));
    }));
    EXPECT_EQ(number("reg_test::f", cresset::zeros({})), 42);
  }
  EXPECT_TRUE(contains(error_of<NotImplementedError>([] { number("reg_test::f", cresset::zeros({})); }),
                       "Could not run 'reg_test::f' with arguments from the 'CPU' backend."));
}

TEST(Kernels, KeysOfDevicesThatAreNotHereAreAccepted) {
  Library m = definitions();
  m.def("f(Tensor x) -> Tensor");
  for (const char* key : {"CUDA", "XLA", "MPS", "PrivateUse1", "AutogradPrivateUse1", "AutocastCUDA", "SparseCUDA", "QuantizedCPU", "Tracer",
                          "FuncTorchBatched", "CompositeExplicitAutogradNonFunctional", "ADInplaceOrView", "Meta"}) {
    Library k = kernels(key);
    k.impl("f", &plus_one);
  }
  EXPECT_TRUE(contains(error_of([] { kernels("Nowhere"); }), "\"Nowhere\" at there.cpp:2 is neither a layer nor a registered backend"));
}

TEST(Kernels, OfOneOpHaveOneCppSignature) {
  Library m = definitions();
  m.def("f(int a) -> ()");
  Library cpu = kernels("CPU");
  cpu.impl("f", [](int64_t) {});
  Library meta = kernels("Meta");
  EXPECT_TRUE(contains(error_of([&] { meta.impl("f", [](const int64_t&) {}); }), "differ from those of the kernel at there.cpp:2"));
}

TEST(Kernels, OneThatIsCalledWithCppTypesAloneRefusesABoxedCall) {
  Library m = definitions();
  m.def("f(Tensor x) -> Tensor", CppFunction::makeUnboxedOnly(&plus_one));
  EXPECT_EQ(find_op("reg_test::f").typed<Tensor(const Tensor&)>().call(cresset::zeros({})).item<double>(), 1);
  EXPECT_TRUE(contains(error_of([] { number("reg_test::f", cresset::zeros({})); }), "call it with its C++ types"));
}

TEST(Kernels, ABoxedOneThatLeavesOtherResultsIsAnError) {
  Library m = definitions();
  const auto leaves = [&](const char* name, BoxedFn f) {
    m.def(std::string(name) + "(Tensor x, int n) -> Tensor");
    m.impl(name, std::move(f));
    return error_of([name] {
      Stack stack{cresset::zeros({}), int64_t{1}};
      find_op(std::string("reg_test::") + name).call_boxed(stack);
    });
  };
  EXPECT_TRUE(contains(leaves("all", [](const OpEntry&, Stack&) {}), "left 2 results on the stack, expected 1 in place of the 2 arguments"));
  EXPECT_TRUE(contains(leaves("none", [](const OpEntry&, Stack& stack) { stack.clear(); }), "left 0 results"));
  EXPECT_TRUE(contains(leaves("number", [](const OpEntry&, Stack& stack) { stack = {int64_t{3}}; }), "result 0 of the kernel at here.cpp:1 is no tensor"));
}

TEST(Kernels, MayHoldState) {
  Library m = definitions();
  int64_t calls = 0;
  m.def("f(Tensor x) -> int", [&calls](const Tensor&) { return ++calls; });
  for (int64_t i = 1; i < 4; i++) {
    Stack stack{cresset::zeros({})};
    find_op("reg_test::f").call_boxed(stack);
    EXPECT_EQ(stack[0].to_int(), i);
  }
}

TEST(Kernels, ABlockOfAnotherNamespaceIsRefused) {
  Library m = definitions();
  EXPECT_TRUE(contains(error_of([&] { m.def("other::f(Tensor x) -> Tensor"); }), "names the namespace other inside CRESSET_LIBRARY(reg_test) at here.cpp:1"));
  EXPECT_TRUE(contains(error_of([&] { m.impl("other::f", &plus_one); }), "names the namespace other inside a block of reg_test at here.cpp:1"));
}

// ---- listeners ----

TEST(Listener, HearsOfDefinitionsNotOfKernels) {
  struct Counts final : RegistrationListener {
    int* defined;
    int* removed;
    void on_defined(const OpEntry&) override { ++*defined; }
    void on_removed(const OpEntry&) override { ++*removed; }
  };
  int defined = 0, removed = 0;
  auto listener = std::make_unique<Counts>();
  listener->defined = &defined;
  listener->removed = &removed;
  const auto stop = add_registration_listener(std::move(listener));
  const int before = defined;
  Library cpu = kernels("CPU");
  cpu.impl("f", &plus_one);
  EXPECT_EQ(defined, before);
  {
    Library m = definitions();
    m.def("f(Tensor x) -> Tensor");
    EXPECT_EQ(defined, before + 1);
  }
  EXPECT_EQ(removed, 1);
  stop();
  Library m = definitions();
  m.def("g(Tensor x) -> Tensor");
  EXPECT_EQ(defined, before + 1);
}

}  // namespace
}  // namespace cresset::dispatch
