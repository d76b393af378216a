// Graphs from PyTorch's text of graphs: they run, print, read back, and are refused with the place.

#include "cresset/graph/script/ir/ir_text.h"

#include <gtest/gtest.h>

#include "cresset/graph/script/print.h"
#include "cresset/ops/functions.h"
#include "tests/error_of.h"

namespace cresset::graph::script {
namespace {

constexpr const char* kLoop = R"(graph(%x : Float(2, strides=[1]),
      %n : int):
  %one : int = prim::Constant[value=1]()
  %true : bool = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %z : Tensor = prim::Loop(%n, %true, %x) # <file>:3:0
    block0(%i : int, %c : Tensor):
      %even : bool = aten::eq(%i, %one)
      %d : Tensor = prim::If(%even)
        block0():
          %a : Tensor = aten::add(%c, %x, %one)
          -> (%a)
        block1():
          -> (%c)
      -> (%true, %d)
  %sizes : int[] = prim::ListConstruct(%one, %n)
  %s : Tensor = aten::sum(%z, %none)
  return (%s, %sizes)
)";

TEST(IrText, GraphsWithBlocksRun) {
  const auto unit = std::make_shared<CompilationUnit>();
  Function* f = function_of_graph(*unit, "looped", *parse_ir(kLoop));
  EXPECT_EQ(f->schema.text(), "looped(Tensor x, int n) -> ((Tensor, int[]))");
  const Datum out = f->run({Datum(ones({2})), Datum(3)});
  EXPECT_EQ(out.toTupleRef().elements()[0].toTensor().item().toDouble(), 4.0);
  EXPECT_EQ(out.toTupleRef().elements()[1].toIntVector(), (std::vector<int64_t>{1, 3}));
}

TEST(IrText, PrintedGraphsReadBack) {
  const std::string text = graph_text(*parse_ir(kLoop));
  EXPECT_EQ(graph_text(*parse_ir(text)), text);
}

TEST(IrText, TypesOfWhichLittleIsKnownReadBack) {
  for (const std::string type : {"Tensor", "FloatTensor", "FloatTensor(requires_grad=0, device=cpu)", "Tensor(2, *)", "Tensor(device=cpu)",
                                 "Float(requires_grad=1, device=cpu)", "Double(*, *)", "Tensor(2, 3, strides=[3, 1], requires_grad=0, device=cpu)"}) {
    const std::string text = "graph(%x : " + type + "):\n  return (%x)\n";
    EXPECT_EQ(graph_text(*parse_ir(text)), text);
  }
}

TEST(IrText, ErrorsShowThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"graph(", "expected '%'"},
      {"graph(%x : Tensor):\n  return (%y)", "there is no value %y"},
      {"graph(%x : Tensor, %x : Tensor):\n  return (%x)", "%x is defined twice"},
      {"graph(%x : Nothing(1)):\n  return (%x)", "'Nothing(1)' is no type"},
      {"graph(%x : Tensor):\n  %y : Tensor = aten::nothing(%x)\n  return (%y)", "there is no operator aten::nothing"},
      {"graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x, %x)\n  return (%y)", "no variant of aten::relu takes (Tensor, Tensor)"},
      {"graph():\n  %y : int = prim::Constant[value=\"a\"]()\n  return (%y)", "the constant is no int"},
      {"graph(%c : bool):\n  %y : int = prim::If(%c)\n    block0():\n      -> (%c)\n  return (%y)", "expected 'block1'"},
      {"graph(%x : Tensor):\n  return (%x)\nmore", "expected the end of the graph"},
  };
  for (const auto& [text, message] : cases) {
    const std::string said = error_of([&, t = text] { parse_ir(t); });
    EXPECT_NE(said.find(message), std::string::npos) << text << "\n" << said;
    EXPECT_NE(said.find("<--- HERE"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace cresset::graph::script
