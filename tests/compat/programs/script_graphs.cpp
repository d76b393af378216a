// Graphs of scripts that programs look at and change, by LibTorch's names.
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/passes/common_subexpression_elimination.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/lower_tuples.h>
#include <torch/csrc/jit/passes/peephole.h>
#include <torch/csrc/jit/passes/shape_analysis.h>
#include <torch/csrc/jit/passes/subgraph_rewrite.h>
#include <torch/csrc/jit/passes/symbolic_shape_analysis.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/script.h>

#include <map>
#include <sstream>

#include "expect.h"

using c10::Symbol;
using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

torch::jit::Module layer() {
  torch::jit::Module m("Layer");
  m.register_parameter("weight", torch::full({3, 2}, 2.0), false);
  m.register_attribute("training", c10::BoolType::get(), false);
  m.define(R"(
def forward(self, x, steps: int):
    y = torch.mm(x, self.weight)
    if steps > 1:
        y = torch.relu(y)
    for i in range(steps):
        y = y + 1
    return y
)");
  return m;
}
std::shared_ptr<Graph> graph_of(const std::string& text) {
  auto graph = std::make_shared<Graph>();
  torch::jit::parseIR(text, graph.get());
  return graph;
}
at::Tensor result(const std::shared_ptr<Graph>& graph, torch::jit::Stack inputs) {
  torch::jit::InterpreterState(torch::jit::Code(graph, "f")).run(inputs);
  return inputs.back().toTensor();
}
Node* find(Block* block, const char* kind) {
  for (Node* n : block->nodes()) {
    if (n->kind() == Symbol::fromQualString(kind)) return n;
    for (Block* inner : n->blocks())
      if (Node* found = find(inner, kind)) return found;
  }
  return nullptr;
}

// Kinds of all nodes with how often they occur, as tools that list the operators of a model count them.
void count(Block* block, std::map<std::string, int>& kinds) {
  for (Node* n : block->nodes()) {
    kinds[n->kind().toQualString()]++;
    for (Block* inner : n->blocks()) count(inner, kinds);
  }
}

void walks() {
  torch::jit::Module module = layer();
  std::map<std::string, int> kinds;
  for (Node* n : module.get_method("forward").graph()->nodes()) kinds[n->kind().toQualString()]++;
  CHECK_THAT(kinds["aten::mm"] == 1 && kinds["prim::If"] == 1 && kinds["prim::Loop"] == 1 && kinds["aten::relu"] == 0);

  const auto graph = module.get_method("forward").graph();
  CHECK_THAT(graph == module.get_method("forward").graph() || graph->block() == module.get_method("forward").graph()->block());
  kinds.clear();
  count(graph->block(), kinds);
  CHECK_THAT(kinds["aten::relu"] == 1 && kinds["aten::add"] == 1 && kinds["prim::Constant"] > 0);

  CHECK_THAT(graph->inputs().size() == 3 && graph->inputs()[1]->debugName() == "x" && graph->outputs().size() == 1);
  CHECK_THAT(graph->inputs()[0]->type()->kind() == c10::TypeKind::ClassType && graph->inputs()[2]->type() == c10::IntType::get());
  Node* const mm = find(graph->block(), "aten::mm");
  CHECK_THAT(mm->inputs().size() == 2 && mm->input(0) == graph->inputs()[1] && mm->output()->node() == mm);
  CHECK_THAT(mm->schema().name() == "aten::mm" && mm->schema().arguments()[1].name() == "mat2" && mm->namedInput("self") == mm->input(0));
  CHECK_THAT(mm->matches("aten::mm(Tensor self, Tensor mat2) -> Tensor") && !mm->matches("aten::relu(Tensor self) -> Tensor"));
  CHECK_THAT(mm->input(0)->uses().size() == 1 && mm->input(0)->uses()[0].user == mm && mm->input(0)->uses()[0].offset == 0);

  Node* const weight = mm->input(1)->node();
  CHECK_THAT(weight->kind() == Symbol::fromQualString("prim::GetAttr") && weight->s(torch::jit::attr::name) == "weight" && weight->inputs().size() == 1);
  CHECK_THAT(weight->attributeNames().size() == 1 && weight->hasAttribute(torch::jit::attr::name) && !weight->hasAttribute(torch::jit::attr::value));
  check(throws<c10::Error>([&] { weight->i(torch::jit::attr::value); }), "an attribute that is not there");

  Node* const add = find(graph->block(), "aten::add");
  CHECK_THAT(torch::jit::toIValue(add->input(1))->toInt() == 1 && torch::jit::constant_as<int64_t>(add->input(1)) == 1);
  CHECK_THAT(!torch::jit::toIValue(add->input(0)) && add->get(Symbol::attr("alpha"))->toInt() == 1);
  Node* const one = add->input(1)->node();
  CHECK_THAT(one->kind() == Symbol::fromQualString("prim::Constant") && one->i(torch::jit::attr::value) == 1 && one->inputs().empty());
  CHECK_THAT(one->kindOf(torch::jit::attr::value) == torch::jit::AttributeKind::i && one->output() == add->input(1));

  Node* const loop = add->owningBlock()->owningNode();
  CHECK_THAT(loop->kind() == Symbol::fromQualString("prim::Loop") && loop->blocks().size() == 1 && loop->blocks()[0]->inputs().size() == 2);
  CHECK_THAT(loop->blocks()[0]->outputs().size() == 2 && loop->blocks()[0]->return_node()->inputs()[1] == add->output());
  CHECK_THAT(mm->isBefore(loop) && mm->isBefore(add) && add->isAfter(mm) && !mm->isBefore(mm));
  CHECK_THAT(graph->param_node()->outputs().size() == 3 && graph->nodes().front()->kind() == Symbol::fromQualString("prim::Constant"));
  CHECK_THAT(graph->nodes().back() == loop && *graph->nodes().rbegin() == loop);
  size_t forward = 0, backward = 0;
  for ([[maybe_unused]] Node* n : graph->nodes()) forward++;
  for ([[maybe_unused]] Node* n : graph->nodes().reverse()) backward++;
  same(forward, backward, "nodes from both ends");
  std::ostringstream text;
  text << *graph << *mm;
  CHECK_THAT(text.str().find("graph(%self") == 0 && text.str().find("= aten::mm(%x, %") != std::string::npos);
  CHECK_THAT(graph->toString(false).find(" # ") == std::string::npos);
  graph->lint();
}

// A function runs what its graph has become.
void rewrites() {
  torch::jit::Module module = layer();
  const auto x = torch::ones({1, 3});
  CHECK_THAT(module.forward({x, 1}).toTensor()[0][0].item<float>() == 7);
  const auto graph = module.get_method("forward").graph();
  Node* const mm = find(graph->block(), "aten::mm");
  {
    const torch::jit::WithInsertPoint here(mm->next());
    Value* const by = graph->insertConstant(10);
    Value* const scaled = graph->insert(Symbol::fromQualString("aten::mul"), {mm->output(), by});
    mm->output()->replaceAllUsesAfterNodeWith(scaled->node(), scaled);
  }
  graph->lint();
  CHECK_THAT(module.forward({x, 1}).toTensor()[0][0].item<float>() == 61);

  Node* const relu = find(graph->block(), "aten::relu");
  Node* const other = graph->create(Symbol::fromQualString("aten::neg"), {relu->input()});
  other->insertBefore(relu);
  other->copyMetadata(relu);
  relu->replaceAllUsesWith(other);
  check(throws<c10::Error>([&] { other->destroy(); }), "a node that is used");
  relu->destroy();
  CHECK_THAT(find(graph->block(), "aten::relu") == nullptr);
  CHECK_THAT(module.forward({x, 2}).toTensor()[0][0].item<float>() == -58);

  for (auto it = graph->nodes().begin(); it != graph->nodes().end(); ++it)
    if (!it->hasUses() && !it->hasSideEffects() && it->kind() != Symbol::fromQualString("prim::Constant")) it.destroyCurrent();
  CHECK_THAT(module.forward({x, 2}).toTensor()[0][0].item<float>() == -58);
}

void built_by_hand() {
  const auto graph = std::make_shared<Graph>();
  Value* const x = graph->addInput("x");
  Value* const y = graph->addInput();
  y->setType(c10::IntType::get())->setDebugName("y");
  Node* const branch = graph->create(Symbol::fromQualString("prim::If"), {graph->insert(Symbol::fromQualString("aten::gt"), {y, 0})}, 1);
  graph->insertNode(branch);
  for (const char* const op : {"aten::relu", "aten::neg"}) {
    Block* const block = branch->addBlock();
    Node* const inside = block->appendNode(graph->create(Symbol::fromQualString(op), {x}));
    block->registerOutput(inside->output());
  }
  Node* const pair = graph->appendNode(graph->createTuple({branch->output(), x}));
  Node* const parts = graph->insertNode(graph->createTupleUnpack(pair->output()));
  graph->registerOutput(parts->output(0));
  graph->lint();
  CHECK_THAT(result(graph, {torch::full({1}, -3.0), 1}).item<float>() == 0 && result(graph, {torch::full({1}, -3.0), 0}).item<float>() == 3);
  graph->permuteInputs({1, 0});
  CHECK_THAT(result(graph, {0, torch::full({1}, -3.0)}).item<float>() == 3 && x->offset() == 1);
  graph->permuteInputs({1, 0});
  const auto copied = graph->copy();
  CHECK_THAT(copied->toString() == graph->toString() && copied->block() != graph->block());
  Value* const both = torch::jit::insertGraph(*copied, *graph, copied->inputs()).at(0);
  copied->registerOutput(both);
  copied->eraseOutput(0);
  CHECK_THAT(result(copied, {torch::full({1}, -3.0), 0}).item<float>() == 3);
}

void types() {
  using c10::TensorType;
  const auto t = TensorType::create(torch::ones({2, 3}));
  same(t->str(), std::string("Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)"), "a type of a tensor");
  CHECK_THAT(*t->sizes().concrete_sizes() == std::vector<int64_t>({2, 3}) && *t->dim() == 2 && *t->scalarType() == at::kFloat && !t->requires_grad());
  CHECK_THAT(t->isComplete() && *t->numel() == 6 && t->sizes()[1] == 3 && t->sizes().size() == size_t{2} && *t->device() == at::kCPU);
  const TensorType none = TensorType::get();
  CHECK_THAT(none->str() == "Tensor" && !none->dim() && !none->scalarType() && none->requires_grad() && !none->sizes().isComplete());
  CHECK_THAT(t->isSubtypeOf(none) && !none->isSubtypeOf(t) && t != none && t == TensorType::create(torch::zeros({2, 3})));
  const TensorType partly = t->merge(TensorType::create(torch::ones({4, 3})));
  same(partly->str(), std::string("Float(*, 3, strides=[3, 1], requires_grad=0, device=cpu)"), "what two types have in common");
  CHECK_THAT(partly->matchTensor(torch::ones({7, 3})) && !partly->matchTensor(torch::ones({7, 4})) && !partly->sizes()[0]);
  same(t->dimensionedOnly()->str(), std::string("Float(*, *, requires_grad=0, device=cpu)"), "the number of sizes");
  same(TensorType::createContiguous(at::kLong, at::kCPU, {2, 2})->str(), std::string("Long(2, 2, strides=[2, 1], device=cpu)"), "a contiguous tensor");
  CHECK_THAT(t->withSizes({5})->str() == "Float(5, strides=[1], requires_grad=0, device=cpu)");
}

void shapes() {
  const auto graph = graph_of(R"(graph(%x : Tensor, %y : Tensor, %c : bool):
  %one : int = prim::Constant[value=1]()
  %sum : Tensor = aten::add(%x, %y, %one)
  %out : Tensor = prim::If(%c)
    block0():
      -> (%sum)
    block1():
      %none : NoneType = prim::Constant()
      %all : Tensor = aten::sum(%sum, %none)
      -> (%all)
  return (%sum, %out))");
  graph->inputs()[0]->inferTypeFrom(torch::ones({2, 3}));
  graph->inputs()[1]->setType(c10::TensorType::create(torch::ones({3}).requires_grad_()));
  torch::jit::PropagateInputShapes(graph);
  const auto sum = graph->outputs()[0]->type()->expect<c10::TensorType>();
  CHECK_THAT(*sum->sizes().concrete_sizes() == std::vector<int64_t>({2, 3}) && *sum->requiresGrad() && graph->outputs()[0]->isCompleteTensor());
  same(graph->outputs()[1]->type()->str(), std::string("FloatTensor(requires_grad=1, device=cpu)"), "what branches have in common");
  CHECK_THAT(graph->toString().find("aten::add(") != std::string::npos && graph->outputs()[0]->requires_grad());
  torch::jit::EraseShapeInformation(graph);
  CHECK_THAT(graph->outputs()[0]->type()->str() == "Tensor" && graph->inputs()[0]->type() == c10::TensorType::get());
  std::shared_ptr<Graph> same_graph = graph;
  torch::jit::PropagateShapesOnGraph(same_graph);
  CHECK_THAT(!graph->outputs()[0]->isCompleteTensor());
}

void passes() {
  const auto unit =
      torch::jit::compile("def g(x):\n  return (x, x * (2 + 1))\ndef f(x):\n  a, b = g(x)\n  c = x * 3\n  unused = x + 9\n  return a + b + c + x * 3\n");
  std::shared_ptr<Graph> graph = torch::jit::toGraphFunction(unit->get_function("f")).graph()->copy();
  torch::jit::Inline(*graph);
  CHECK_THAT(find(graph->block(), "prim::CallFunction") == nullptr);
  Node* const kept = find(graph->block(), "aten::mul");
  torch::jit::LowerSimpleTuples(graph);
  torch::jit::ConstantPropagation(graph);
  torch::jit::PeepholeOptimize(graph);
  torch::jit::EliminateCommonSubexpression(graph);
  torch::jit::EliminateDeadCode(graph);
  std::map<std::string, int> kinds;
  count(graph->block(), kinds);
  CHECK_THAT(kinds["aten::mul"] == 1 && kinds["aten::add"] == 3 && kinds["prim::TupleConstruct"] == 0 && find(graph->block(), "aten::mul") == kept);
  CHECK_THAT(result(graph, {torch::ones({1})}).item<float>() == 10);
  torch::jit::SubgraphRewriter rewriter;
  rewriter.RegisterRewritePattern("graph(%a : Tensor, %b : int):\n  %c = aten::mul(%a, %b)\n  return (%c)",
                                  "graph(%a : Tensor, %b : int):\n  %c = aten::div(%a, %b)\n  return (%c)");
  rewriter.runOnGraph(graph);
  CHECK_THAT(find(graph->block(), "aten::mul") == nullptr && result(graph, {torch::full({1}, 3.0)}).item<float>() == 6);
  torch::jit::SubgraphRewriter of_all_overloads;
  of_all_overloads.RegisterRewritePattern("graph(%a, %b):\n  %c = aten::div(%a, %b)\n  return (%c)", "graph(%a, %b):\n  %c = my::ratio(%a, %b)\n  return (%c)");
  of_all_overloads.runOnGraph(graph);
  CHECK_THAT(find(graph->block(), "aten::div") == nullptr && find(graph->block(), "my::ratio") != nullptr);
}

int main() {
  walks();
  rewrites();
  built_by_hand();
  types();
  shapes();
  passes();
  return failures;
}
