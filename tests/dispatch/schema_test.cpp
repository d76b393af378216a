// Schemas, values and boxed calls.

#include "cresset/dispatch/schema.h"

#include <gtest/gtest.h>

#include "cresset/dispatch/backend.h"
#include "cresset/dispatch/schema_text.h"
#include "cresset/ops/functions.h"
#include "tests/error_of.h"

namespace cresset::dispatch {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Schema, ReadsEveryPart) {
  const FunctionSchema s = parse_schema(
      "ns::op.over(Tensor(a!) self, Tensor? w=None, *, int[2] k=1, float p=0.5, bool b=True, str s=\"mean\", Scalar[] l=[1,2]) -> (Tensor(a!) x, int n)");
  EXPECT_EQ(s.full_name(), "ns::op.over");
  ASSERT_EQ(s.arguments.size(), 7u);
  EXPECT_TRUE(s.arguments[0].writes);
  EXPECT_TRUE(s.arguments[1].type.optional);
  EXPECT_TRUE(s.arguments[1].default_value.is_none());
  EXPECT_FALSE(s.arguments[1].keyword_only);
  EXPECT_TRUE(s.arguments[2].keyword_only);
  EXPECT_EQ(s.arguments[2].default_value.to_int_list(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(s.arguments[3].default_value.to_double(), 0.5);
  EXPECT_TRUE(s.arguments[4].default_value.to_bool());
  EXPECT_EQ(s.arguments[5].default_value.to_string(), "mean");
  ASSERT_EQ(s.returns.size(), 2u);
  EXPECT_EQ(s.returns[1].name, "n");
  EXPECT_EQ(s.argument_index("p"), 3);
  EXPECT_EQ(s.argument_index("q"), -1);
  EXPECT_TRUE(parse_schema("f() -> ()").returns.empty());
  EXPECT_EQ(parse_schema("aten::f() -> Tensor").full_name(), "f");
}

TEST(Schema, MistakesAreFoundWithTheirColumn) {
  for (const auto& [text, message] :
       std::initializer_list<std::pair<const char*, const char*>>{{"", "expected the name of the operator at column 1"},
                                                                  {"f", "expected `(` at column 2"},
                                                                  {"f(Tensor)", "expected the name of the argument at column 9"},
                                                                  {"f(Tensr x) -> Tensor", "unknown type `Tensr`"},
                                                                  {"f(Tensor x)", "expected `->`"},
                                                                  {"f(Tensor x) -> Tensor y z", "unexpected text after the results"},
                                                                  {"f(Tensor x y) -> Tensor", "expected `,` or `)`"},
                                                                  {"f(str s=\"open) -> Tensor", "unterminated string"},
                                                                  {"f(int x=) -> Tensor", "expected a value"},
                                                                  {"f(int x=banana) -> Tensor", "unknown default `banana`"}})
    EXPECT_TRUE(contains(error_of<ValueError>([&, t = text] { parse_schema(t); }), message)) << text << ": " << error_of([&, t = text] { parse_schema(t); });
}

TEST(Schema, MistakesArePointedAt) {
  const auto error = [](const char* text) { return error_of<ValueError>([text] { parse_schema(text); }); };
  EXPECT_TRUE(contains(error("f(Tensor x=3) -> Tensor"), "a tensor has no other default than None"));
  EXPECT_TRUE(contains(error("f(Tensor x, ) -> Tensor"), "expected an argument after the `,`"));
  EXPECT_TRUE(contains(error_of<ValueError>([] { parse_schema("f(Tensor x y) -> Tensor"); }), "\n  f(Tensor x y) -> Tensor\n             ^"));
  EXPECT_TRUE(contains(error_of<ValueError>([] { parse_schema("f(int a=1, int b) -> int"); }), "`b` has no default value"));
}

// Printed as PyTorch prints them.
TEST(Schema, PrintsItsCanonicalForm) {
  for (const auto& [text, printed] : std::initializer_list<std::pair<const char*, const char*>>{
           {"a::f(float a=2.0,float b=0.1, float c=1e20, float d=1e-05)->()",
            "a::f(float a=2., float b=0.10000000000000001, float c=1e+20, float d=1.0000000000000001e-05) -> ()"},
           {"a::f.o(Tensor(a!)[] self,Tensor(a|b) y,*,Tensor(c -> *)? z=None) -> Tensor(a)[]",
            "a::f.o(Tensor(a!)[] self, Tensor(a|b) y, *, Tensor(c -> *)? z=None) -> Tensor(a)[]"},
           {"a::f(MemoryFormat m=contiguous_format, ScalarType t=long) -> (Tensor(a!), int y)",
            "a::f(MemoryFormat m=0, ScalarType t=4) -> (Tensor(a!), int y)"},
           {"a::f(Dict(str,Tensor) x, (int, Tensor) y, Dict(str, Dict(int, str)?[])[] a, int[][] b, ...) -> ...",
            "a::f(Dict(str, Tensor) x, (int, Tensor) y, Dict(str, Dict(int, str)?[])[] a, int[][] b, ...) -> ..."},
           {"a::f(int[2] k=1, int[2] l=[1,2], bool[] g=[True], str h='x', SymInt[] n=[], Tensor?[] o) -> Tensor", nullptr},
           {"a::f(int[2] k=1, int[2] l=[1,2], bool[] g=[True], str h='x', SymInt[] n=[], *, Tensor?[] o) -> Tensor",
            "a::f(int[2] k=1, int[2] l=[1, 2], bool[] g=[True], str h=\"x\", SymInt[] n=[], *, Tensor?[] o) -> Tensor"},
           {"aten::f(t x, Any y, Future(int) z, complex c, Stream s) -> Tensor?", "aten::f(t x, Any y, Future(int) z, complex c, Stream s) -> Tensor?"}}) {
    if (printed) EXPECT_EQ(schema_text(parse_detailed(text)), printed);
    else EXPECT_FALSE(error_of<ValueError>([&, t = text] { parse_schema(t); }).empty());
  }
}

TEST(Schema, DifferencesAreFoundWhateverTheNames) {
  const FunctionSchema a = parse_schema("f(Tensor x, int y) -> Tensor");
  EXPECT_EQ(schema_difference(a, parse_schema("g(Tensor z, SymInt w) -> Tensor")), "");
  EXPECT_EQ(schema_difference(a, parse_schema("f(Tensor x) -> Tensor")), "The number of arguments is different. 2 vs 1.");
  EXPECT_EQ(schema_difference(a, parse_schema("f(Tensor x, Dict(str, int) y) -> Tensor")), "Type mismatch in argument 2: int vs Dict(str, int)");
}

TEST(Schema, EveryOpOfTheTableParsesAndIsFoundByName) {
  size_t n = 0;
  for (const OpEntry* op : all_ops()) {
    const FunctionSchema& s = op->function_schema();
    EXPECT_EQ(s.full_name(), op->name);
    EXPECT_EQ(&find_op(op->name).entry(), op);
    for (const Argument& a : s.arguments) EXPECT_FALSE(a.name.empty()) << op->name;
    n++;
  }
  EXPECT_GT(n, 500u);
  EXPECT_EQ(&find_op("aten::add.Tensor").entry(), &find_op("cresset::add.Tensor").entry());
}

TEST(Find, AWrongNameNamesTheNearOnes) {
  EXPECT_TRUE(contains(error_of([] { find_op("add.Tensr"); }), "there is no operator \"add.Tensr\"; there are: add."));
  EXPECT_FALSE(find_op_or_null("no_such_op"));
}

TEST(Boxed, CallsAndGradients) {
  const Tensor x = cresset::ones({2}).requires_grad_();
  Stack stack{x, x * 3, 2};
  find_op("add.Tensor").call_boxed(stack);
  ASSERT_EQ(stack.size(), 1u);
  stack[0].to_tensor().sum().backward();
  EXPECT_EQ(x.grad().sum().item<float>(), 14.f);
}

TEST(Boxed, InPlaceAndOutWriteTheGivenTensors) {
  Tensor x = cresset::ones({2});
  Stack stack{x, 2.0, 1};
  find_op("add_.Scalar").call_boxed(stack);
  EXPECT_TRUE(stack[0].to_tensor().is_same(x));
  EXPECT_EQ(x.sum().item<float>(), 6.f);
  EXPECT_EQ(x._version(), 1);
  Tensor out = cresset::empty({0});
  Stack with_out{x, out};
  find_op("exp.out").call_boxed(with_out);
  EXPECT_TRUE(with_out[0].to_tensor().is_same(out));
  EXPECT_EQ(out.sizes(), x.sizes());
}

TEST(Boxed, SeveralResultsAndLists) {
  Stack stack{cresset::ones({2, 3}), 1, false};
  find_op("max.dim").call_boxed(stack);
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(stack[1].to_tensor().dtype(), kLong);
  Stack list{std::vector<Tensor>{cresset::ones({1}), cresset::zeros({2})}, 0};
  find_op("cat").call_boxed(list);
  EXPECT_EQ(list[0].to_tensor().size(0), 3);
  Stack parts{cresset::ones({4}), 3, 0};
  find_op("split.Tensor").call_boxed(parts);
  EXPECT_EQ(parts[0].to_tensor_list().size(), 2u);
}

TEST(Boxed, WrongArgumentsAreNamed) {
  Stack few{cresset::ones({2})};
  EXPECT_TRUE(contains(error_of<TypeError>([&] { find_op("add.Tensor").call_boxed(few); }), "add.Tensor: expected 3 values on the stack, got 1"));
  Stack wrong{cresset::ones({2}), std::string("x"), 1};
  EXPECT_TRUE(contains(error_of<TypeError>([&] { find_op("add.Tensor").call_boxed(wrong); }), "expected a tensor, got str"));
}

TEST(Layers, AFallbackSeesEveryCall) {
  std::vector<std::string> seen;
  set_layer_fallback(Layer::Profiler, [&](const OpEntry& op, Stack& stack) {
    seen.push_back(op.name);
    const uint8_t included = std::exchange(layer_state().included, uint8_t{0});
    call_boxed(op, stack);
    layer_state().included = included;
  });
  EXPECT_TRUE(contains(error_of([] { set_layer_fallback(Layer::Profiler, cpu_fallback); }), "a fallback for Profiler is already set"));
  const Tensor x = cresset::ones({2}).requires_grad_();
  layer_state().included = layer_bit(Layer::Profiler);
  const Tensor y = x * 2;
  const Tensor z = y.exp();
  layer_state().included = 0;
  set_layer_fallback(Layer::Profiler, nullptr);
  EXPECT_EQ(seen, (std::vector<std::string>{"mul.Scalar", "exp"}));
  z.sum().backward();
  EXPECT_TRUE(x.grad().defined());
  EXPECT_TRUE(contains(print_table("exp"), "layer Profiler: passes through"));
}

}  // namespace
}  // namespace cresset::dispatch
