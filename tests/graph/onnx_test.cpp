// Files of ONNX: messages of the format both ways, graphs written as models, models that are checked, and bytes that are damaged.

#include "cresset/graph/onnx/export.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "cresset/graph/script/ir/ir_text.h"
#include "cresset/graph/script/print.h"
#include "cresset/ops/functions.h"
#include "tests/error_of.h"

namespace cresset::graph::onnx {
namespace {

constexpr const char* kBlocks = R"(graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu), %c : Bool()):
  %y : Float(2, 3) = onnx::If(%c)
    block0():
      %a : Float(2, 3) = onnx::Relu(%x)
      -> (%a)
    block1():
      %b : Float(2, 3) = mine::Neg[alpha=1.5, names=["p", "q"], sizes=[1, 2]](%x)
      -> (%b)
  %l : Float(*, 3) = onnx::Loop(%x, %c, %y)
    block0(%i : Long(), %go : Bool(), %v : Float(2, 3)):
      %d : Bool() = onnx::Identity(%c)
      %q : Float(2, 3) = onnx::Add(%v, %v)
      -> (%d, %q)
  return (%l)
)";

Exported made_of(const std::string& text, ExportOptions options = {}, const std::map<std::string, Tensor>& initializers = {}) {
  return export_graph(*script::parse_ir(text), initializers, options);
}
const Message& graph_in(const Exported& made) { return *made.model->message("graph"); }

TEST(Onnx, TextsKeepSizes) {
  const std::string text = script::graph_text(*script::parse_ir(kBlocks));
  EXPECT_NE(text.find("%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu),\n      %c : Bool()):"), std::string::npos) << text;
  EXPECT_NE(text.find("%b : Float(2, 3) = mine::Neg[alpha=1.5, names=[\"p\", \"q\"], sizes=[1, 2]](%x)"), std::string::npos) << text;
  EXPECT_EQ(script::graph_text(*script::parse_ir(text)), text);
  const std::string running = script::graph_text(*script::parse_ir("graph(%x : Float(2, 3)):\n  %y : Float(2, 3) = aten::relu(%x)\n  return (%y)\n"));
  EXPECT_NE(running.find("%x : Float(2, 3)"), std::string::npos) << running;
}

TEST(Onnx, TypesThatSayTooMuchAreRefusedWithThePlace) {
  for (const auto& [type, message] : {std::pair("Float(2, x)", "'x' is no size"), std::pair("Float(2, strides=[1, 2])", "1 sizes and 2 strides"),
                                      std::pair("Float(2, color=1)", "'color=1' is nothing that types"), std::pair("Float(SS(-))", "is no size")}) {
    const std::string said = error_of([&, t = type] { script::parse_ir("graph(%x : " + std::string(t) + "):\n  return (%x)\n"); });
    EXPECT_NE(said.find(message), std::string::npos) << said;
    EXPECT_NE(said.find("<--- HERE"), std::string::npos) << said;
  }
}

TEST(Onnx, BlocksAreGraphsWithin) {
  const Exported made = made_of(kBlocks);
  const std::vector<const Message*> nodes = graph_in(made).messages("node");
  ASSERT_EQ(nodes.size(), 2u);
  const std::vector<const Message*> branches = nodes[0]->messages("attribute");
  ASSERT_EQ(branches.size(), 2u);
  EXPECT_EQ(branches[0]->text("name"), "then_branch");
  EXPECT_EQ(branches[1]->message("g")->messages("node")[0]->text("domain"), "mine");
  EXPECT_EQ(nodes[1]->messages("attribute")[0]->message("g")->messages("input").size(), 3u);
  EXPECT_EQ(made.sizes.size(), 1u);
  check_model(made.model->bytes());
}

TEST(Onnx, MessagesReadBackAsTheSameBytes) {
  const Exported made = made_of(kBlocks);
  const std::string bytes = made.model->bytes();
  const Message back = read_message(model_info(), bytes);
  EXPECT_EQ(back.bytes(), bytes);
  EXPECT_EQ(back.print(), made.model->print());
  EXPECT_EQ(describe_model(back), describe_model(*made.model));
}

TEST(Onnx, TensorsOfAllDtypesAreTheirBytes) {
  const std::pair<ScalarType, int> types[] = {{kFloat, 1},   {kByte, 2},    {kChar, 3},          {kUInt16, 4},         {kShort, 5},
                                              {kInt, 6},     {kLong, 7},    {kBool, 9},          {kHalf, 10},          {kDouble, 11},
                                              {kUInt32, 12}, {kUInt64, 13}, {kComplexFloat, 14}, {kComplexDouble, 15}, {kBFloat16, 16}};
  for (const auto& [dtype, number] : types) {
    const Tensor t = ones({2, 1}, TensorOptions(kFloat)).to(dtype);
    const Exported made = made_of("graph(%w : Tensor):\n  return (%w)\n", {}, {{"w", t}});
    const Message& w = *graph_in(made).messages("initializer")[0];
    EXPECT_EQ(w.integer("data_type"), number);
    EXPECT_EQ(w.text("raw_data"), std::string(static_cast<const char*>(t.data_ptr()), t.nbytes()));
    EXPECT_EQ(w.values("dims").size(), 2u);
  }
}

TEST(Onnx, StridedTensorsAreWrittenInOrder) {
  const Tensor t = arange(6, TensorOptions(kByte)).reshape({2, 3}).t();
  const Exported made = made_of("graph(%w : Tensor):\n  return (%w)\n", {}, {{"w", t}});
  EXPECT_EQ(graph_in(made).messages("initializer")[0]->text("raw_data"), std::string("\0\3\1\4\2\5", 6));
}

TEST(Onnx, NumbersOfTextHaveTheFewestDigits) {
  const Exported made =
      made_of("graph(%x : Float(1)):\n  %y : Float(1) = onnx::Two[a=0.1, b=[1.5, 20000000000.0, inf, nan], s=\"q\\\"\\n\"](%x)\n  return (%y)\n");
  const std::string text = made.model->print();
  for (const char* part : {"f: 0.1\n", "floats: 1.5\n", "floats: 2e+10\n", "floats: inf\n", "floats: nan\n", "s: \"q\\\"\\n\"\n", "type: FLOATS\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Onnx, MistakesAreNamed) {
  const auto said = [](const std::string& text, ExportOptions options = {}, const std::map<std::string, Tensor>& initializers = {}) {
    return error_of([&] { made_of(text, options, initializers); });
  };
  const std::string relu = "graph(%x : Float(2)):\n  %y : Float(2) = onnx::Relu(%x)\n  return (%y)\n";
  ExportOptions options;
  options.opset = 3;
  EXPECT_NE(said(relu, options).find("expected the opset version 1 or one from 5 to 27, got 3"), std::string::npos);
  EXPECT_NE(said("graph(%x : Float(2)):\n  %y : Tensor = aten::relu(%x)\n  %z : Tensor = aten::neg(%y)\n  return (%z)\n")
                .find("2 others:\n  aten::relu\n  aten::neg"),
            std::string::npos);
  EXPECT_NE(said("graph(%x : Float(2)):\n  %y : Tensor = onnx::Relu(%x)\n    block0():\n      -> (%x)\n  return (%y)\n").find("1 blocks"), std::string::npos);
  EXPECT_NE(said("graph(%x : Float(2)):\n  %y : Tensor = onnx::Relu[k=None](%x)\n  return (%y)\n").find("the attribute 'k' of onnx::Relu"), std::string::npos);
  options = {};
  options.external_data = true;
  EXPECT_NE(said(relu, options, {{"x", ones({2})}}).find("expected the path of the model"), std::string::npos);
  options.path = "/no/such/folder/model.onnx";
  EXPECT_NE(said("graph(%x : Float(2)):\n  return (%x)\n", options, {{"x", ones({2000})}}).find("/no/such/folder"), std::string::npos);
}

// A model of one Relu, changed.
template <class F> std::string refused(F&& change) {
  const Exported made = made_of("graph(%x : Float(2)):\n  %y : Float(2) = onnx::Relu(%x)\n  return (%y)\n");
  Message& model = *made.model;
  change(model, model.child("graph"), const_cast<Message&>(*graph_in(made).messages("node")[0]));
  return error_of([&] { check_model(model.bytes()); });
}

TEST(Onnx, ModelsThatDoNotHoldTogetherAreRefused) {
  using M = Message&;
  EXPECT_EQ(refused([](M, M, M) {}), "no error");
  EXPECT_NE(refused([](M m, M, M) { m.set("ir_version", int64_t{0}); }).find("no ir_version"), std::string::npos);
  EXPECT_NE(refused([](M m, M, M) { m.set("ir_version", int64_t{99}); }).find("99"), std::string::npos);
  EXPECT_NE(refused([](M, M, M n) { n.set("domain", "foo"); }).find("the domain 'foo'"), std::string::npos);
  EXPECT_NE(refused([](M, M, M n) { n.set("op_type", ""); }).find("no operator"), std::string::npos);
  EXPECT_NE(refused([](M, M, M n) { n.set("input", "q"); }).find("the input 'q'"), std::string::npos);
  EXPECT_NE(refused([](M, M, M n) { n.set("output", "x"); }).find("'x' of the graph 'main_graph' is defined twice"), std::string::npos);
  EXPECT_NE(refused([](M, M, M n) { n.child("attribute").set("name", "a"); }).find("has no type"), std::string::npos);
  EXPECT_NE(refused([](M, M g, M) { g.child("output").set("name", "nothing"); }).find("output 'nothing' has no type"), std::string::npos);
  EXPECT_NE(refused([](M, M g, M) {
              Message& t = g.child("initializer");
              t.set("name", "w");
              t.set("data_type", int64_t{1});
              t.set("dims", int64_t{2});
              t.set("raw_data", "1234");
            }).find("has 4 bytes, expected 2 elements of 4"),
            std::string::npos);
}

TEST(Onnx, DamagedBytesAreErrorsAndNothingElse) {
  const std::string bytes = made_of(kBlocks, {}, {{"x", ones({2, 3})}}).model->bytes();
  const auto read = [](const std::string& given) {
    try {
      check_model(given);
      read_message(model_info(), given).print();
    } catch (const Error&) {}
  };
  for (size_t n = 0; n < bytes.size(); n++) read(bytes.substr(0, n));
  std::mt19937 random(7);
  for (int i = 0; i < 20000; i++) {
    std::string changed = bytes;
    for (int k = 0; k < 1 + i % 4; k++) changed[random() % changed.size()] = static_cast<char>(random());
    read(changed);
  }
  // Fields longer than the file, numbers without end, messages within messages without end.
  read("\x3A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F");
  read(std::string(64, '\xFF'));
  std::string deep;
  for (int i = 0; i < 5000; i++) {
    std::string length;
    for (size_t n = deep.size(); n > 0x7F || length.empty(); n >>= 7) length += static_cast<char>((n & 0x7F) | (n > 0x7F ? 0x80 : 0));
    if (deep.size() > 0x7F) length += static_cast<char>(deep.size() >> (7 * length.size()));
    deep = "\x22" + length + deep;  // sequence_type and elem_type have other numbers: what is not known is skipped
  }
  read(deep);
  std::string nested;
  for (int i = 0; i < 150; i++) {
    const auto within = [](char key, const std::string& inner) {
      std::string out(1, key);
      size_t n = inner.size();
      for (; n > 0x7F; n >>= 7) out += static_cast<char>((n & 0x7F) | 0x80);
      return out + static_cast<char>(n) + inner;
    };
    nested = within('\x0A', within('\x2A', within('\x32', nested)));  // node, attribute, graph
    if (i == 149) nested = within('\x3A', nested);
  }
  EXPECT_NE(error_of([&] { read_message(model_info(), nested); }).find("nest deeper than 100"), std::string::npos);
}

}  // namespace
}  // namespace cresset::graph::onnx
