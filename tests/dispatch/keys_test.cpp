// The dispatcher as LibTorch programs use it: handles, redispatch by keys, kernels as objects, RegisterOperators, stacks.

#include "cresset/dispatch/dispatcher.h"

#include <gtest/gtest.h>

#include "cresset/cresset.h"
#include "cresset/dispatch/operators.h"
#include "cresset/dispatch/values/object_boxing.h"
#include "cresset/dispatch/values/stack.h"
#include "tests/error_of.h"

namespace cresset::dispatch {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
Tensor on(DispatchKey key) { return tensor_with_keys(DispatchKeySet(key)); }
OperatorHandle handle(const char* name) { return *Dispatcher::singleton().findSchema({name, ""}); }
template <class... A> Stack call(const char* name, A... args) {
  Stack stack{Value(args)...};
  handle(name).callBoxed(&stack);
  return stack;
}

struct Plus final : OperatorKernel {
  explicit Plus(int64_t by) : by_(by) {}
  int64_t operator()(const Tensor&, int64_t x) { return x + by_; }
  int64_t by_;
};
int64_t twice(const Tensor&, int64_t x) { return 2 * x; }
void count_stack(const OperatorHandle&, Stack* stack) {
  const auto n = static_cast<int64_t>(stack->size());
  drop(stack, stack->size());
  push(stack, n);
}
const char* const kSchema = "disp_test::f(Tensor dummy, int x) -> int";

// ---- RegisterOperators ----

TEST(RegisterOperators, KernelsAreObjectsFunctionsLambdasAndBoxedFunctions) {
  auto r = RegisterOperators().op(kSchema, RegisterOperators::options()
                                               .kernel<Plus>(DispatchKey::CPU, 3)
                                               .kernel<decltype(twice), &twice>(DispatchKey::CUDA)
                                               .kernel<&count_stack>(DispatchKey::XLA)
                                               .kernel(DispatchKey::MPS, [](const Tensor&, int64_t) -> int64_t { return -1; }));
  EXPECT_EQ(call("disp_test::f", on(DispatchKey::CPU), 5)[0].toInt(), 8);
  EXPECT_EQ(call("disp_test::f", on(DispatchKey::CUDA), 5)[0].toInt(), 10);
  EXPECT_EQ(call("disp_test::f", on(DispatchKey::XLA), 5)[0].toInt(), 2);
  EXPECT_EQ(call("disp_test::f", on(DispatchKey::MPS), 5)[0].toInt(), -1);
  EXPECT_TRUE(contains(error_of([] { call("disp_test::f", on(DispatchKey::HPU), 5); }), "Could not run 'disp_test::f' with arguments from the 'HPU' backend."));
}

TEST(RegisterOperators, WhatIsRegisteredEndsWithTheObject) {
  auto keep = RegisterOperators().op(kSchema);
  {
    auto r = RegisterOperators().op(kSchema, RegisterOperators::options().kernel<Plus>(DispatchKey::CPU, 1));
    EXPECT_EQ(call("disp_test::f", on(DispatchKey::CPU), 5)[0].toInt(), 6);
  }
  EXPECT_FALSE(error_of([] { call("disp_test::f", on(DispatchKey::CPU), 5); }).empty());
  keep = RegisterOperators();
  EXPECT_FALSE(Dispatcher::singleton().findSchema({"disp_test::f", ""}));
}

TEST(RegisterOperators, ASchemaComesFromAKernelThatTellsIt) {
  auto r = RegisterOperators().op("disp_test::f", RegisterOperators::options().kernel<&count_stack>(DispatchKey::CPU).kernel<Plus>(DispatchKey::CUDA, 1));
  EXPECT_EQ(find_differences(read_schema(kSchema), handle("disp_test::f").schema()), std::nullopt);
  EXPECT_TRUE(contains(error_of([] { RegisterOperators().op("disp_test::g", RegisterOperators::options().kernel<&count_stack>(DispatchKey::CPU)); }),
                       "a boxed kernel says nothing of its arguments: disp_test::g"));
  EXPECT_TRUE(contains(error_of([] { RegisterOperators().op("disp_test::g"); }), "or a kernel to take it from, got neither"));
  EXPECT_TRUE(contains(error_of([] { RegisterOperators().op(RegisterOperators::options().catchAllKernel<Plus>(1)); }),
                       "expected the schema or the name of an operator, got none"));
}

TEST(RegisterOperators, MistakesAreNamed) {
  EXPECT_TRUE(contains(
      error_of([] { RegisterOperators().op(kSchema, RegisterOperators::options().kernel<Plus>(DispatchKey::CPU, 1).kernel<Plus>(DispatchKey::CPU, 2)); }),
      "expected one kernel for key CPU of disp_test::f"));
  auto r = RegisterOperators().op(kSchema);
  EXPECT_TRUE(contains(error_of([] { RegisterOperators().op("disp_test::f(Tensor dummy) -> int"); }), "but different schemas"));
  auto pure = RegisterOperators().op("disp_test::p() -> ()", RegisterOperators::options().aliasAnalysis(AliasAnalysis::PureFunction));
  EXPECT_EQ(handle("disp_test::p").schema().aliasAnalysis(), AliasAnalysis::PureFunction);
  EXPECT_TRUE(handle("disp_test::f").schema().isDefaultAliasAnalysisKind());
  EXPECT_TRUE(
      contains(error_of([] { RegisterOperators().op("disp_test::p() -> ()", RegisterOperators::options().aliasAnalysis(AliasAnalysis::Conservative)); }),
               "expected one kind of alias analysis for disp_test::p"));
}

// ---- types ----

template <class T> void round_trip(const char* schema, const T& value, const std::function<void(const T&)>& look) {
  auto r = RegisterOperators().op(std::string("disp_test::t") + schema, [&](T v) {
    look(v);
    return v;
  });
  Stack stack{Value(value)};
  handle("disp_test::t").callBoxed(&stack);
  ASSERT_EQ(stack.size(), 1u);
  look(stack[0].to<T>());
  auto inferred = RegisterOperators().op("disp_test::i", [&](T v) { return v; });
  EXPECT_EQ(find_differences(read_schema(std::string("disp_test::i") + schema), handle("disp_test::i").schema()), std::nullopt)
      << toString(handle("disp_test::i").schema());
}

TEST(Types, EveryArgumentTypeGoesThroughAStack) {
  round_trip<double>("(float a) -> float", 1.5, [](double v) { EXPECT_EQ(v, 1.5); });
  round_trip<int64_t>("(int a) -> int", 3, [](int64_t v) { EXPECT_EQ(v, 3); });
  round_trip<bool>("(bool a) -> bool", true, [](bool v) { EXPECT_TRUE(v); });
  round_trip<std::string>("(str a) -> str", "x", [](const std::string& v) { EXPECT_EQ(v, "x"); });
  round_trip<Scalar>("(Scalar a) -> Scalar", Scalar(2.5), [](const Scalar& v) { EXPECT_EQ(v.toDouble(), 2.5); });
  round_trip<SymInt>("(SymInt a) -> SymInt", SymInt(7), [](const SymInt& v) { EXPECT_EQ(v.expect_int(), 7); });
  round_trip<std::optional<int64_t>>("(int? a) -> int?", std::nullopt, [](std::optional<int64_t> v) { EXPECT_FALSE(v); });
  round_trip<std::optional<std::string>>("(str? a) -> str?", "y", [](const std::optional<std::string>& v) { EXPECT_EQ(v, "y"); });
  round_trip<List<int64_t>>("(int[] a) -> int[]", List<int64_t>({1, 2}), [](const List<int64_t>& v) {
    EXPECT_EQ(v.size(), 2u);
    EXPECT_EQ(v.get(1), 2);
  });
  round_trip<List<bool>>("(bool[] a) -> bool[]", List<bool>({true, false}), [](const List<bool>& v) { EXPECT_FALSE(v.get(1)); });
  round_trip<List<std::string>>("(str[] a) -> str[]", List<std::string>({"a"}), [](const List<std::string>& v) { EXPECT_EQ(v.get(0), "a"); });
  round_trip<List<Tensor>>("(Tensor[] a) -> Tensor[]", List<Tensor>({cresset::ones({3})}), [](const List<Tensor>& v) { EXPECT_EQ(v.get(0).numel(), 3); });
  round_trip<List<std::optional<int64_t>>>("(int?[] a) -> int?[]", List<std::optional<int64_t>>({3, std::nullopt}), [](const List<std::optional<int64_t>>& v) {
    EXPECT_EQ(v.get(0), 3);
    EXPECT_FALSE(v.get(1));
  });
  round_trip<std::optional<List<int64_t>>>("(int[]? a) -> int[]?", List<int64_t>({4}), [](const std::optional<List<int64_t>>& v) { EXPECT_EQ(v->get(0), 4); });
  round_trip<std::array<bool, 2>>("(bool[2] a) -> bool[2]", {true, false}, [](std::array<bool, 2> v) { EXPECT_TRUE(v[0]); });
  round_trip<std::vector<std::string>>("(str[] a) -> str[]", {"q"}, [](const std::vector<std::string>& v) { EXPECT_EQ(v, std::vector<std::string>{"q"}); });
  Dict<std::string, Tensor> dict;
  dict.insert("k", cresset::ones({2}));
  round_trip<Dict<std::string, Tensor>>("(Dict(str, Tensor) a) -> Dict(str, Tensor)", dict,
                                        [](const Dict<std::string, Tensor>& v) { EXPECT_EQ(v.at("k").numel(), 2); });
  using Nested = List<Dict<std::string, List<std::optional<Dict<int64_t, std::string>>>>>;
  Dict<int64_t, std::string> inner;
  inner.insert(1, "one");
  List<std::optional<Dict<int64_t, std::string>>> list;
  list.push_back(inner);
  Dict<std::string, List<std::optional<Dict<int64_t, std::string>>>> middle;
  middle.insert("key", list);
  Nested nested;
  nested.push_back(middle);
  round_trip<Nested>("(Dict(str, Dict(int, str)?[])[] a) -> Dict(str, Dict(int, str)?[])[]", nested,
                     [](const Nested& v) { EXPECT_EQ(v.get(0).at("key").get(0)->at(1), "one"); });
}

TEST(Types, SeveralResultsAreATuple) {
  auto r = RegisterOperators().op("disp_test::t", [](const Tensor& t) {
    return std::make_tuple(t, int64_t{5}, List<Tensor>({t, t}), std::optional<int64_t>(), std::string("s"));
  });
  const Stack out = call("disp_test::t", cresset::ones({2}));
  ASSERT_EQ(out.size(), 5u);
  EXPECT_EQ(out[1].toInt(), 5);
  EXPECT_EQ(out[2].toTensorVector().size(), 2u);
  EXPECT_TRUE(out[3].isNone());
  auto none = RegisterOperators().op("disp_test::n(Tensor t) -> ()", [](const Tensor&) { return std::tuple<>(); });
  EXPECT_TRUE(call("disp_test::n", cresset::ones({2})).empty());
}

TEST(KeysDefinition, AKernelMadeForAKeyIsThatKeysAlone) {
  Library m(Library::DEF, "disp_test", std::nullopt, __FILE__, __LINE__);
  int cpu = 0, autograd = 0, all = 0, composed = 0;
  m.def("f", dispatch(DispatchKey::CPU, [&](const Tensor& x) { return cpu++, x; }));
  m.impl("f", DispatchKey::Autograd, [&](const Tensor& x) { return autograd++, x; });
  call("disp_test::f", cresset::ones({}));
  EXPECT_EQ(cpu, 0);
  EXPECT_EQ(autograd, 1);
  m.def("g", dispatch(DispatchKey::CompositeExplicitAutograd, [&](const Tensor& x) { return all++, x; }));
  m.impl("g", DispatchKey::CompositeImplicitAutograd, [&](const Tensor& x) { return composed++, x; });
  call("disp_test::g", cresset::ones({}));
  EXPECT_EQ(all, 1);
  EXPECT_EQ(composed, 0);
}

TEST(KeysDefinition, NamesOfOverloadsThatMeanOtherThingsAreRefused) {
  Library m(Library::DEF, "disp_test", std::nullopt, __FILE__, __LINE__);
  for (const char* schema : {"f.default(Tensor x) -> Tensor", "f.__name__(Tensor x) -> Tensor"})
    EXPECT_TRUE(contains(error_of([&] { m.def(schema); }), "is not a legal overload name"));
  m.def("f.__i(Tensor x) -> Tensor");
}

TEST(KeysDefinition, ABoxedKernelWithoutResultsMayLeaveItsArguments) {
  Library m(Library::DEF, "disp_test", std::nullopt, __FILE__, __LINE__);
  int calls = 0;
  m.def("f(Tensor x) -> ()");
  m.impl("f", DispatchKey::CPU, BoxedFn([&](const OpEntry&, Stack&) { calls++; }));
  call("disp_test::f", cresset::ones({}));
  handle("disp_test::f").typed<void(const Tensor&)>().call(cresset::ones({}));
  EXPECT_EQ(calls, 2);
}

// ---- typed calls ----

TEST(KeysTyped, OtherCppTypesThanTheKernelsAreRefused) {
  Library m(Library::DEF, "disp_test", std::nullopt, __FILE__, __LINE__);
  m.def("f(int a) -> ()");
  m.impl("f", DispatchKey::CPU, [](int64_t) {});
  EXPECT_TRUE(contains(error_of([] { handle("disp_test::f").typed<void(const int64_t&)>(); }), "Tried to access operator disp_test::f with a wrong signature"));
  EXPECT_TRUE(contains(error_of([&] { m.impl("f", DispatchKey::CUDA, [](const int64_t&) {}); }), "differ from those of the kernel at"));
}

TEST(KeysTyped, RedispatchGoesByTheKeysAndNotByTheArguments) {
  auto r = RegisterOperators().op(kSchema, RegisterOperators::options().kernel<Plus>(DispatchKey::CPU, 1).kernel<Plus>(DispatchKey::CUDA, 2));
  const auto f = handle("disp_test::f").typed<int64_t(const Tensor&, int64_t)>();
  EXPECT_EQ(f.call(on(DispatchKey::CUDA), 0), 2);
  EXPECT_EQ(f.redispatch(DispatchKeySet(DispatchKey::CPU), on(DispatchKey::CUDA), 0), 1);
  EXPECT_EQ(f.callWithDispatchKey(DispatchKey::CUDA, on(DispatchKey::CPU), 0), 2);
  EXPECT_FALSE(error_of([&] { f.redispatch(DispatchKeySet(DispatchKey::XLA), on(DispatchKey::CPU), 0); }).empty());
}

TEST(KeysTyped, AKernelMayTakeTheKeysAndCallWhatIsBelow) {
  Library m(Library::DEF, "disp_test", std::nullopt, __FILE__, __LINE__);
  m.def("f(Tensor x) -> Tensor");
  m.impl("f", DispatchKey::CPU, [](const Tensor& x) { return x + 1; });
  bool seen = false;
  m.impl("f", DispatchKey::AutogradCPU, [&](DispatchKeySet keys, const Tensor& x) {
    seen = keys.has(DispatchKey::AutogradCPU) && keys.has(DispatchKey::CPU);
    static const auto f = handle("disp_test::f").typed<Tensor(const Tensor&)>();
    return f.redispatch(keys & after_autograd_keyset, x) * 10;
  });
  EXPECT_EQ(handle("disp_test::f").typed<Tensor(const Tensor&)>().call(cresset::ones({})).item<double>(), 20);
  EXPECT_TRUE(seen);
}

TEST(KeysTyped, BackendSelectComesBeforeTheBackends) {
  Library m(Library::DEF, "disp_test", std::nullopt, __FILE__, __LINE__);
  m.def("f(Tensor x) -> Tensor");
  m.impl("f", kCPU, [](const Tensor& x) { return x + 1; });
  m.impl("f", DispatchKey::BackendSelect, [](const Tensor& x) {
    const auto f = handle("disp_test::f").typed<Tensor(const Tensor&)>();
    return f.redispatch(DispatchKeySet(DispatchKey::CPU), x) + 100;
  });
  EXPECT_EQ(call("disp_test::f", cresset::ones({}))[0].toTensor().item<double>(), 102);
}

TEST(KeysTyped, TensorsOfInferenceModeHaveNoAutogradKernels) {
  Library m(Library::DEF, "disp_test", std::nullopt, __FILE__, __LINE__);
  m.def("f(Tensor x) -> int");
  m.impl("f", DispatchKey::CPU, [](const Tensor&) -> int64_t { return 1; });
  m.impl("f", DispatchKey::Autograd, [](const Tensor&) -> int64_t { return 2; });
  EXPECT_EQ(call("disp_test::f", cresset::ones({}))[0].toInt(), 2);
  Tensor inference = cresset::ones({});
  inference.impl()->set_inference(true);
  EXPECT_EQ(call("disp_test::f", inference)[0].toInt(), 1);
}

// ---- kernels as objects ----

TEST(KernelFunction, IsCalledBoxedAndTyped) {
  auto r = RegisterOperators().op("disp_test::f() -> ()");
  const OperatorHandle op = handle("disp_test::f");
  for (const KernelFunction& k :
       {KernelFunction::makeFromUnboxedFunction(&twice), KernelFunction::makeFromUnboxedLambda([](const Tensor&, int64_t x) { return 2 * x; }),
        KernelFunction::makeFromUnboxedRuntimeFunction(&twice)}) {
    Stack stack{cresset::ones({}), 4};
    k.callBoxed(op, &stack);
    EXPECT_EQ(stack.at(0).toInt(), 8);
    EXPECT_EQ((k.call<int64_t, const Tensor&, int64_t>(op, DispatchKeySet(), cresset::ones({}), 4)), 8);
  }
  const auto boxed = KernelFunction::makeFromBoxedFunction<&count_stack>();
  EXPECT_EQ((boxed.call<int64_t, int64_t, int64_t>(op, DispatchKeySet(), 3, 4)), 2);
  const auto object = KernelFunction::makeFromUnboxedFunctor<false, Plus>(std::make_unique<Plus>(1));
  EXPECT_EQ((object.call<int64_t, const Tensor&, int64_t>(op, DispatchKeySet(), cresset::ones({}), 4)), 5);
  const auto typed_alone = KernelFunction::makeFromUnboxedOnlyFunction(&twice);
  EXPECT_EQ((typed_alone.call<int64_t, const Tensor&, int64_t>(op, DispatchKeySet(), cresset::ones({}), 4)), 8);
  Stack stack{cresset::ones({}), 4};
  EXPECT_TRUE(contains(error_of([&] { typed_alone.callBoxed(op, &stack); }), "call it with its C++ types"));
  EXPECT_FALSE(KernelFunction().isValid());
  EXPECT_TRUE(KernelFunction::makeFallthrough().isFallthrough());
}

void add_in_place(const OperatorHandle&, Stack* stack) {
  Tensor t = stack->at(0).toTensor();
  t.add_(stack->at(1).toScalar());
  drop(stack, 2);
  push(stack, t);
}
TEST(KernelFunction, ResultsThatAreArgumentsComeBackAsReferences) {
  auto r = RegisterOperators().op("disp_test::f() -> ()");
  Tensor t = cresset::zeros({1});
  Tensor& out = KernelFunction::makeFromBoxedFunction<&add_in_place>().call<Tensor&, Tensor&, Scalar>(handle("disp_test::f"), DispatchKeySet(), t, 1.0);
  EXPECT_EQ(&out, &t);
  EXPECT_EQ(t.item<double>(), 1);
}

// ---- fallbacks, listeners, what is there ----

void name_it(const OperatorHandle& op, Stack* stack) {
  drop(stack, 1);
  push(stack, op.schema().name());
}
TEST(Keys, AFallbackOfAKeyIsTakenBackWithItsHandle) {
  auto r = RegisterOperators().op("disp_test::f(Tensor x) -> str");
  {
    auto fallback = Dispatcher::singleton().registerFallback(DispatchKey::XLA, KernelFunction::makeFromBoxedFunction<&name_it>(), "");
    EXPECT_TRUE(Dispatcher::singleton().hasBackendFallbackForDispatchKey(DispatchKey::XLA));
    EXPECT_EQ(call("disp_test::f", on(DispatchKey::XLA))[0].toStringRef(), "disp_test::f");
  }
  EXPECT_FALSE(error_of([] { call("disp_test::f", on(DispatchKey::XLA)); }).empty());
}

TEST(Keys, FindsBuiltInOpsByAtenNames) {
  const OperatorHandle add = Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  EXPECT_EQ(add.schema().name(), "aten::add");
  EXPECT_EQ(add.schema().overload_name(), "Tensor");
  EXPECT_EQ(toString(add.operator_name()), "aten::add.Tensor");
  EXPECT_EQ(add.schema().arguments()[2].name(), "alpha");
  EXPECT_TRUE(add.schema().arguments()[2].kwarg_only());
  EXPECT_EQ(add.schema().arguments()[2].type()->str(), "Scalar");
  EXPECT_EQ(add.schema().arguments()[2].default_value()->toInt(), 1);
  EXPECT_TRUE(add.hasKernelForDispatchKey(DispatchKey::CPU));
  EXPECT_FALSE(add.hasKernelForDispatchKey(DispatchKey::XLA));
  EXPECT_TRUE(contains(error_of([] { Dispatcher::singleton().findSchemaOrThrow("aten::no_such", ""); }), "no_such"));
  EXPECT_TRUE(Dispatcher::singleton().findSchemaOrThrow("aten::add_", "Tensor").schema().is_mutable());
}

TEST(Keys, KernelsWithoutADefinitionAreDangling) {
  Library m(Library::IMPL, "disp_test", DispatchKey::CPU, __FILE__, __LINE__);
  m.impl("dangling", [](const Tensor& t) { return t; });
  EXPECT_FALSE(Dispatcher::singleton().findSchema({"disp_test::dangling", ""}));
  ASSERT_TRUE(Dispatcher::singleton().findOp({"disp_test::dangling", ""}));
  EXPECT_EQ(toString(Dispatcher::singleton().findDanglingImpls().at(0).operator_name()), "disp_test::dangling");
  EXPECT_TRUE(
      contains(error_of([] { Dispatcher::singleton().findSchemaOrThrow("disp_test::dangling", ""); }), "Could not find schema for disp_test::dangling"));
}

TEST(Keys, TagsOfADefinition) {
  Library m(Library::DEF, "disp_test", std::nullopt, __FILE__, __LINE__);
  m.def("f(Tensor x) -> Tensor", {Tag::pt2_compliant_tag});
  EXPECT_TRUE(handle("disp_test::f").hasTag(Tag::pt2_compliant_tag));
  EXPECT_FALSE(handle("disp_test::f").hasTag(Tag::core));
}

TEST(Keys, ABackwardThatIsNotThereIsSaidWhenItIsReached) {
  Library m(Library::DEF, "disp_test", std::nullopt, __FILE__, __LINE__);
  m.def("f(Tensor x) -> Tensor");
  m.impl("f", DispatchKey::CPU, [](const Tensor& x) { return x.detach() + 1; });
  m.impl("f", DispatchKey::Autograd, autogradNotImplementedFallback());
  const Tensor x = cresset::ones({}).requires_grad_();
  const Tensor y = call("disp_test::f", x)[0].toTensor();
  EXPECT_TRUE(y.requires_grad());
  EXPECT_TRUE(contains(error_of([&] { y.backward(); }), "disp_test::f"));
}

}  // namespace
}  // namespace cresset::dispatch
