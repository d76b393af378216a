// The dispatcher as LibTorch programs use it: handles, boxed kernels and fallbacks, schemas as objects, stacks.

#include "cresset/dispatch/dispatcher.h"

#include <gtest/gtest.h>

#include "cresset/cresset.h"
#include "cresset/dispatch/values/stack.h"
#include "tests/error_of.h"

namespace cresset::dispatch {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
Library definitions() { return Library(Library::DEF, "disp_test", std::string(), "here.cpp", 1); }
OperatorHandle handle(const char* name) { return *Dispatcher::singleton().findSchema({name, ""}); }
template <class... A> Stack call(const char* name, A... args) {
  Stack stack{Value(args)...};
  handle(name).callBoxed(&stack);
  return stack;
}
void count_stack(const OperatorHandle&, Stack* stack) {
  const auto n = static_cast<int64_t>(stack->size());
  drop(stack, stack->size());
  push(stack, n);
}
void name_it(const OperatorHandle& op, Stack* stack) {
  drop(stack, op.schema().arguments().size());
  push(stack, op.schema().name());
}

TEST(Dispatcher, CallsBoxedAndTyped) {
  Library m = definitions();
  m.def("f(Tensor x, int n) -> int", CppFunction::makeFromBoxedFunction<&count_stack>());
  EXPECT_EQ(call("disp_test::f", cresset::ones({}), 3)[0].toInt(), 2);
  EXPECT_EQ(handle("disp_test::f").typed<int64_t(const Tensor&, int64_t)>().call(cresset::ones({}), 3), 2);
}

TEST(Dispatcher, ABoxedFallbackSeesTheOp) {
  Library m = definitions();
  m.def("f(Tensor x) -> str");
  Library all(Library::IMPL, "_", std::string("CPU"), "there.cpp", 2);
  all.fallback(CppFunction::makeFromBoxedFunction<&name_it>());
  EXPECT_EQ(call("disp_test::f", cresset::ones({}))[0].toStringRef(), "disp_test::f");
}

TEST(Dispatcher, AKernelMayBeGivenWithItsDevice) {
  Library m = definitions();
  m.def("f", dispatch(kCPU, [](const Tensor& x) { return x + 1; }));
  EXPECT_EQ(call("disp_test::f", cresset::ones({}))[0].toTensor().item<double>(), 2);
  m.def("g(Tensor x) -> Tensor");
  m.impl("g", kCPU, [](const Tensor& x) { return x + 2; });
  EXPECT_EQ(call("disp_test::g", cresset::ones({}))[0].toTensor().item<double>(), 3);
}

TEST(Typed, OtherCppTypesThanTheKernelsAreRefused) {
  Library m = definitions();
  m.def("f(int a) -> ()", [](int64_t) {});
  EXPECT_TRUE(contains(error_of([] { handle("disp_test::f").typed<void(const int64_t&)>(); }), "Tried to access operator disp_test::f with a wrong signature"));
}

TEST(Typed, TensorsOfInferenceModeHaveNoAutogradKernels) {
  Library m = definitions();
  m.def("f(Tensor x) -> int");
  m.impl("f", kCPU, [](const Tensor&) -> int64_t { return 1; });
  Library autograd(Library::IMPL, "disp_test", std::string("Autograd"), "there.cpp", 2);
  autograd.impl("f", [](const Tensor&) -> int64_t { return 2; });
  EXPECT_EQ(call("disp_test::f", cresset::ones({}))[0].toInt(), 2);
  Tensor inference = cresset::ones({});
  inference.impl()->set_inference(true);
  EXPECT_EQ(call("disp_test::f", inference)[0].toInt(), 1);
  EXPECT_EQ(handle("disp_test::f").typed<int64_t(const Tensor&)>().call(inference), 1);
}

TEST(Dispatcher, FindsBuiltInOpsByAtenNames) {
  const OperatorHandle add = Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  EXPECT_EQ(add.schema().name(), "aten::add");
  EXPECT_EQ(add.schema().overload_name(), "Tensor");
  EXPECT_EQ(toString(add.operator_name()), "aten::add.Tensor");
  EXPECT_EQ(toString(add.schema()), "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  EXPECT_EQ(add.schema().arguments()[2].name(), "alpha");
  EXPECT_TRUE(add.schema().arguments()[2].kwarg_only());
  EXPECT_EQ(add.schema().arguments()[2].type()->str(), "Scalar");
  EXPECT_EQ(add.schema().arguments()[2].default_value()->toInt(), 1);
  EXPECT_TRUE(contains(error_of([] { Dispatcher::singleton().findSchemaOrThrow("aten::no_such", ""); }), "no_such"));
  const OperatorHandle in_place = Dispatcher::singleton().findSchemaOrThrow("aten::add_", "Tensor");
  EXPECT_TRUE(in_place.schema().is_mutable());
  EXPECT_TRUE(in_place.schema().arguments()[0].alias_info()->isWrite());
  EXPECT_EQ(in_place.schema().arguments()[0].alias_info()->beforeSets(), std::set<std::string>{"a"});
}

TEST(Dispatcher, KernelsWithoutADefinitionAreDangling) {
  Library m(Library::IMPL, "disp_test", std::string("CPU"), "there.cpp", 2);
  m.impl("dangling", [](const Tensor& t) { return t; });
  EXPECT_FALSE(Dispatcher::singleton().findSchema({"disp_test::dangling", ""}));
  ASSERT_TRUE(Dispatcher::singleton().findOp({"disp_test::dangling", ""}));
  EXPECT_EQ(toString(Dispatcher::singleton().findDanglingImpls().at(0).operator_name()), "disp_test::dangling");
  EXPECT_TRUE(
      contains(error_of([] { Dispatcher::singleton().findSchemaOrThrow("disp_test::dangling", ""); }), "Could not find schema for disp_test::dangling"));
}

TEST(Dispatcher, TagsAndAliasAnalysisOfADefinition) {
  Library m = definitions();
  m.def("f(Tensor x) -> Tensor", {Tag::pt2_compliant_tag});
  EXPECT_TRUE(handle("disp_test::f").hasTag(Tag::pt2_compliant_tag));
  EXPECT_FALSE(handle("disp_test::f").hasTag(Tag::core));
  EXPECT_EQ(handle("disp_test::f").schema().aliasAnalysis(), AliasAnalysis::FromSchema);
  OperatorSchema pure = read_schema("g(Tensor x) -> Tensor");
  pure.setAliasAnalysis(AliasAnalysis::PureFunction);
  m.def(pure);
  EXPECT_EQ(handle("disp_test::g").schema().aliasAnalysis(), AliasAnalysis::PureFunction);
  m.def(read_schema("h(Tensor x) -> Tensor"));
  EXPECT_TRUE(handle("disp_test::h").schema().isDefaultAliasAnalysisKind());
}

TEST(Dispatcher, ABackwardThatIsNotThereIsSaidWhenItIsReached) {
  Library m = definitions();
  m.def("f(Tensor x) -> Tensor");
  m.impl("f", kCPU, [](const Tensor& x) { return x.detach() + 1; });
  Library autograd(Library::IMPL, "disp_test", std::string("Autograd"), "there.cpp", 2);
  autograd.impl("f", autogradNotImplementedFallback());
  const Tensor x = cresset::ones({}).requires_grad_();
  const Tensor y = call("disp_test::f", x)[0].toTensor();
  EXPECT_TRUE(y.requires_grad());
  EXPECT_TRUE(contains(error_of([&] { y.backward(); }), "disp_test::f"));
}

TEST(Dispatcher, AListenerEndsWithItsHandle) {
  struct Counts final : OpRegistrationListener {
    explicit Counts(int* n) : count(n) {}
    void onOperatorRegistered(const OperatorHandle&) override { ++*count; }
    void onOperatorDeregistered(const OperatorHandle&) override {}
    int* count;
  };
  int count = 0;
  {
    const RegistrationHandle listening = Dispatcher::singleton().addRegistrationListener(std::make_unique<Counts>(&count));
    count = 0;
    Library m = definitions();
    m.def("f(Tensor x) -> Tensor");
    EXPECT_EQ(count, 1);
  }
  Library m = definitions();
  m.def("f(Tensor x) -> Tensor");
  EXPECT_EQ(count, 1);
}

// ---- stacks ----

TEST(Stack, PushPopPeekDrop) {
  Stack stack;
  push(stack, 1, 2.5, std::string("three"));
  EXPECT_EQ(peek(stack, 0, 3).toInt(), 1);
  EXPECT_EQ(peek(&stack, 1, 2).toStringRef(), "three");
  EXPECT_EQ(last(stack, 2)[0].toDouble(), 2.5);
  EXPECT_EQ(pop(&stack).toStringRef(), "three");
  int64_t i = 0;
  double d = 0;
  pop(stack, i, d);
  EXPECT_EQ(i, 1);
  EXPECT_EQ(d, 2.5);
  EXPECT_TRUE(contains(error_of([&] { pop(stack); }), "stack: underflow, expected 1 values, got 0"));
}

}  // namespace
}  // namespace cresset::dispatch
