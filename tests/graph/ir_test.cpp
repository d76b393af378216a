// Graphs: making, changing, printing, reading, verifying.

#include "cresset/graph/ir/graph.h"

#include <gtest/gtest.h>

#include <random>

#include "cresset/graph/ir/alias.h"
#include "cresset/ops/functions.h"
#include "tests/error_of.h"

namespace cresset::graph {
namespace {

constexpr const char* kEverything = R"(graph @main(%x: float32[s0, 4]{grad=false}, %w: float32[3, 4]{strides=[1, 3], device=cuda:1}, %n: int, %go: bool) {
  dim s0 in [2, 100]
  dim s1 in [0, inf]
  tensor @l.weight: float32[3] = [1.0, -2.5, 3e-05]
  tensor @mask: bool[2] = [true, false]
  tensor @table: int64[1000, 1000]
  tensor @scale: float64[] = [inf]
  %y: float32[s0, 3] = linear(%x, %w, @l.weight) at "m \"x\".py":7:3 in "forward"
  %size: int = ir::size(%y, 0)
  %twice: int = ir::mul(%size, 2)
  %list: List[Tensor] = ir::list(%y, %y)
  %c: float32[2*s0, 3] = cat(%list, 0) <module = "net.0", path = [1, 2]>
  %values: Tensor[s0]{device=?, layout=?}, %indices: int64[s0]{strides=?} = max.dim(%y, 1, false)
  %r: Tensor{dtype=float32} = ir::if(%go) {
    %a: Tensor = add.Tensor(%y, %y, 2.0)
    return %a
  } {
    return %y
  }
  %s: Tensor = ir::loop(%n, true, %r) (%i: int, %t: Tensor) {
    %m: Tensor = mul.Scalar(%t, 2.0)
    %less: bool = ir::lt(%i, 10)
    return %less, %m
  }
  %pair: Tuple[Tensor, int] = ir::tuple(%s, %twice)
  %first: Tensor, %second: int = ir::unpack(%pair)
  %e: Tensor = empty.memory_format([2, 3], dtype.float32, layout.strided, device "cuda:0", none, memory_format.channels_last)
  %d: Dict[str, Tensor] = ir::dict("a\n\x01", %e)
  %o: NamedTuple["P", x: Optional[int], y: Union[int, Class["__torch__.M"]]] = foreign "my.op"(%d, complex(1.0, -0.0), float[1.5, nan], bool[true], number[1, 2.0], str["s"], 18446744073709551615u)
  %called: Any = ir::call @other(%x)
  return %s, %c, %called
}

graph @other(%x: Tensor) {
  return %x
}
)";

TEST(GraphText, ReadsBackToTheLetter) {
  const Module m = parse_module(kEverything);
  EXPECT_EQ(m.text(), kEverything);
  EXPECT_EQ(parse_module(m.text()).text(), kEverything);
}

TEST(GraphText, ClonesAreEqualAndIndependent) {
  const Module m = parse_module(kEverything);
  const auto copy = m.graphs[0]->clone();
  EXPECT_EQ(copy->text(), m.graphs[0]->text());
  copy->verify();
  copy->block().return_node()->remove_inputs();
  EXPECT_NE(copy->text(), m.graphs[0]->text());
}

TEST(GraphText, MistakesHaveLineAndColumn) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"graph @g() {\n  return %x\n}", "line 2, column 10: the value %x is used before it is defined"},
      {"graph @g(%x: Tensor) {\n  %x: Tensor = relu(%x)\n  return\n}", "line 2, column 4: the name %x is taken"},
      {"graph @g(%x: Tensro) {\n  return\n}", "line 1, column 14: expected a type, got 'Tensro'"},
      {"graph @g(%x: Tensor) {\n  %y: Tensor = add.Tensor(%x)\n  return\n}",
       "line 2, column 16: add.Tensor: expected a value for each of the 3 arguments, got 1"},
      {"graph @g(%x: float32[2, s*]) {\n  return\n}", "line 1, column 25: size expression: expected a number or a name at column 3 of 's*'"},
      {"graph @g() {\n  return \"a\n}", "line 2, column 12: expected the closing quote"},
      {"graph @g() {\n  return 99999999999999999999\n}", "line 2, column 10: expected a number of 64 bits, got '99999999999999999999'"},
      {"graph @g() {", "line 1, column 13: expected an operator, got the end"},
      {"graph @g() { return } x", "line 1, column 23: expected the end of the text, got 'x'"},
      {"", "line 1, column 1: expected 'graph', got the end"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(error_of<ValueError>([&] { parse_graph(text); }), std::string("graph text: ") + message) << text;
  EXPECT_NE(error_of([] { parse_graph("graph @g(%x: Tensor) { %y: Tensor = relux(%x) return }"); }).find("line 1, column 37: "), std::string::npos);
}

TEST(GraphText, ForeignOperatorsAreKeptWhereAsked) {
  ParseOptions options;
  options.allow_foreign = true;
  const auto g = parse_graph("graph @g(%x: Tensor) { %y: Tensor = my_ns::no_such(%x) return %y }", options);
  EXPECT_EQ(g->block().first()->kind(), NodeKind::Foreign);
  EXPECT_NE(g->text().find("%y: Tensor = foreign \"my_ns::no_such\"(%x)"), std::string::npos);
}

TEST(GraphText, TooMuchIsRefused) {
  std::string deep = "graph @g(%c: bool) {";
  for (int i = 0; i < 1000; i++) deep += " ir::if(%c) {";
  EXPECT_NE(error_of([&] { parse_graph(deep); }).find("expected less deep nesting"), std::string::npos);
  ParseOptions few;
  few.max_nodes = 2;
  EXPECT_NE(error_of([&] { parse_graph("graph @g() { ir::list() ir::list() ir::list() return }", few); }).find("at most 2 nodes"), std::string::npos);
  EXPECT_NE(error_of([&] { parse_type(std::string(1 << 20, 'L')); }), "no error");
  std::string types;
  for (int i = 0; i < 100000; i++) types += "List[";
  EXPECT_NE(error_of([&] { parse_type(types); }).find("nesting"), std::string::npos);
}

// Any bytes give a graph or an error.
TEST(GraphText, DamagedTextIsAnErrorOrAGraph) {
  std::mt19937 random(1);
  const std::string whole = kEverything;
  int read = 0;
  for (int i = 0; i < 4000; i++) {
    std::string text = whole;
    for (int k = static_cast<int>(random() % 4); k >= 0; k--) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, random() % 20); break;
        case 2: text.insert(at, whole.substr(random() % whole.size(), random() % 30)); break;
        default: text[at] = "%@[](){}<>,:=\"\n-"[random() % 16]; break;
      }
    }
    const std::string error = error_of([&] {
      const Module m = parse_module(text);
      read++;
      EXPECT_EQ(parse_module(m.text()).text(), m.text());
    });
    EXPECT_NE(error, "");
  }
  EXPECT_GT(read, 50);
}

TEST(Graph, NodesAreMadeChangedAndErased) {
  Graph g("f");
  Value* x = g.add_parameter(Type::tensor(), "x");
  Node* a = g.create("relu", {x});
  Node* b = g.create("add.Tensor", {a->output(), x});  // the default of alpha is filled in
  g.block().add_result(b->output());
  g.verify();
  EXPECT_EQ(g.text(), "graph @f(%x: Tensor) {\n  %relu: Tensor = relu(%x)\n  %add: Tensor = add.Tensor(%relu, %x, 1)\n  return %add\n}\n");
  EXPECT_EQ(error_of([&] { a->erase(); }), "graph f, node %relu = relu: %relu is used by %add = add.Tensor and cannot be removed");
  a->output()->replace_uses_with(x);
  a->erase();
  EXPECT_EQ(b->input(0), x);
  EXPECT_EQ(x->uses().size(), 2u);
  EXPECT_EQ(g.num_nodes(), 1u);
  g.verify();
}

TEST(Graph, TheVerifierNamesTheNode) {
  Graph g("f");
  Value* x = g.add_parameter(Type::tensor(), "x");
  Value* n = g.add_parameter(TypeKind::String, "n");
  Node* a = g.create("relu", {x});
  Node* b = g.create("neg", {a->output()});
  g.block().add_result(b->output());
  b->move_before(a);
  EXPECT_EQ(error_of([&] { g.verify(); }), "graph f, node %neg = neg: input 0 (%relu) is used before it is defined, or out of its block");
  a->move_before(b);
  g.verify();
  b->set_input(0, n);
  EXPECT_EQ(error_of([&] { g.verify(); }), "graph f, node %neg = neg: argument 'self' is str, expected Tensor");
  b->set_input(0, x);
  TensorFacts facts;
  facts.sizes = {Sym(-2)};
  x->set_type(Type::tensor(facts));
  EXPECT_EQ(error_of([&] { g.verify(); }), "graph f: %x has a negative size: Tensor[-2]{device=?, layout=?}");
}

TEST(Graph, VerifierLooksIntoBlocks) {
  const auto fails = [](const char* text) { return error_of([&] { parse_graph(text); }); };
  EXPECT_EQ(fails("graph @g(%c: bool, %x: Tensor) { %r: Tensor = ir::if(%c) { return %x } { return } return %r }"),
            "graph g, node %r = ir::if: a block has 0 results, expected 1");
  EXPECT_EQ(fails("graph @g(%c: bool, %x: Tensor) { ir::if(%c) { return } return }"), "graph g, node ir::if: expected 2 blocks, got 1");
  EXPECT_EQ(fails("graph @g(%n: int, %x: Tensor) { %r: Tensor = ir::loop(%n, true, %x) (%i: int, %t: Tensor) { return 1.5, %t } return %r }"),
            "graph g, node %r = ir::loop: the first result of the block is float, expected bool");
}

TEST(Graph, TypesFit) {
  const auto fits = [](const char* a, const char* b) { return parse_type(a).fits(parse_type(b)); };
  EXPECT_TRUE(fits("int", "number"));
  EXPECT_TRUE(fits("int", "float"));
  EXPECT_FALSE(fits("float", "int"));
  EXPECT_TRUE(fits("None", "Optional[Tensor]"));
  EXPECT_TRUE(fits("float32[2]", "Tensor"));
  EXPECT_TRUE(fits("List[float32[2]]", "List[Tensor]"));
  EXPECT_TRUE(fits("int", "List[int]"));
  EXPECT_FALSE(fits("str", "List[int]"));
  EXPECT_FALSE(fits("Tuple[int, int]", "Tuple[int]"));
  EXPECT_TRUE(fits("Union[int, str]", "int"));
  EXPECT_FALSE(fits("Class[\"A\"]", "Class[\"B\"]"));
}

TEST(Graph, AliasesComeFromTheSchemas) {
  const auto g = parse_graph(R"(graph @g(%x: Tensor) {
  %y: Tensor = relu(%x)
  %v: Tensor = transpose.int(%y, 0, 1)
  %z: Tensor = neg(%v)
  %w: Tensor = add_.Tensor(%v, %z, 1)
  return %z
})");
  const auto value = [&](const char* name) {
    Value* found = nullptr;
    g->for_each([&](Node& n) {
      for (const auto& o : n.outputs())
        if (o->name() == name) found = o.get();
    });
    return found;
  };
  const AliasSets sets(*g);
  EXPECT_TRUE(sets.may_alias(value("y"), value("v")));
  EXPECT_TRUE(sets.may_alias(value("y"), value("w")));
  EXPECT_FALSE(sets.may_alias(value("y"), value("z")));
  EXPECT_TRUE(sets.is_written(value("y")));
  EXPECT_FALSE(sets.is_written(value("z")));
  EXPECT_TRUE(sets.escapes(value("z")));
  EXPECT_FALSE(sets.escapes(value("y")));
  EXPECT_TRUE(has_side_effects(*value("w")->node()));
  EXPECT_FALSE(has_side_effects(*value("v")->node()));
}

}  // namespace
}  // namespace cresset::graph
