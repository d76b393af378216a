// Types of values that follow from those of the parameters.

#include <gtest/gtest.h>

#include "cresset/graph/script/ir/ir_text.h"
#include "cresset/graph/script/passes.h"
#include "cresset/graph/script/print.h"
#include "cresset/graph/script/unit.h"
#include "cresset/ops/functions.h"

namespace cresset::graph::script {
namespace {

// The function `f` of a text, whose parameters have these types, with all types that follow.
class Typed {
 public:
  Typed(const std::string& text, const std::vector<std::string>& types) {
    unit_->define_text(text, nullptr);
    graph = unit_->find("f")->inlined().clone();
    const auto& parameters = graph->block().parameters();
    for (size_t i = 0; i < types.size(); i++) {
      const auto like = parse_ir("graph(%x : " + types[i] + "):\n  return (%x)");
      parameters[i]->set_type(like->block().parameter(0)->type());
    }
    changed = infer_types(*graph);
    graph->verify();
  }
  std::string result(size_t i = 0) const { return graph_type_text(graph->block().results()[i]->type()); }

  std::unique_ptr<Graph> graph;
  size_t changed;

 private:
  std::shared_ptr<CompilationUnit> unit_ = std::make_shared<CompilationUnit>();
};

const char* const kRows = "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)";

TEST(InferTypes, OperatorsTellTheirResults) {
  const Typed all("def f(x, w):\n  return torch.relu(torch.mm(x, w)).t().long() > 1\n", {kRows, "Float(3, 4, strides=[4, 1], requires_grad=1, device=cpu)"});
  EXPECT_EQ(all.result(), "Bool(4, 2, strides=[1, 4], requires_grad=0, device=cpu)");
  const Typed product("def f(x, w):\n  return torch.mm(x, w)\n", {kRows, "Float(3, 4, strides=[4, 1], requires_grad=1, device=cpu)"});
  EXPECT_EQ(product.result(), "Float(2, 4, strides=[4, 1], requires_grad=1, device=cpu)");
  EXPECT_EQ(infer_types(*product.graph), 0u);
}

TEST(InferTypes, UnknownSizesStayUnknown) {
  EXPECT_EQ(Typed("def f(x):\n  return x.sum(1)\n", {"Float(*, 3, requires_grad=0, device=cpu)"}).result(),
            "Float(*, strides=[1], requires_grad=0, device=cpu)");
  EXPECT_EQ(Typed("def f(x, y):\n  return x + y\n", {"Float(*, 3)", "Float(*, 3)"}).result().substr(0, 11), "Float(*, 3,");
  // A size that another decides.
  EXPECT_EQ(Typed("def f(x, y):\n  return x + y\n", {"Float(*, 3)", "Float(2, 3)"}).result().substr(0, 11), "Float(2, 3,");
  // Whether a size is 1 decides how many there are.
  EXPECT_EQ(Typed("def f(x):\n  return x.squeeze(0)\n", {"Float(*, 3, device=cpu)"}).result(), "FloatTensor(device=cpu)");
  EXPECT_EQ(Typed("def f(x):\n  return x.relu()\n", {"Float(2, 3)"}).result(), "Float(2, 3, device=cpu)");
  EXPECT_EQ(Typed("def f(x):\n  return x.relu()\n", {"Tensor"}).result(), "Tensor");
  // Less than the number of sizes.
  EXPECT_EQ(Typed("def f(x):\n  return x.relu()\n", {"FloatTensor(device=cpu)"}).result(), "FloatTensor(device=cpu)");
  EXPECT_EQ(Typed("def f(x):\n  return x.sum()\n", {"Tensor(device=cpu)"}).result(), "Tensor(device=cpu)");
}

TEST(InferTypes, NumbersOfWhichNothingIsKnown) {
  EXPECT_EQ(Typed("def f(x, n: int):\n  return x[n]\n", {kRows}).result(), "Float(3, strides=[1], requires_grad=0, device=cpu)");
  EXPECT_EQ(Typed("def f(x, n: int):\n  return x[n:]\n", {kRows}).result(), "Float(*, 3, strides=[3, 1], requires_grad=0, device=cpu)");
  EXPECT_EQ(Typed("def f(x, n: int):\n  return x.sum(n)\n", {kRows}).result(), "Float(*, strides=[1], requires_grad=0, device=cpu)");
  EXPECT_EQ(Typed("def f(x, n: int):\n  return x * n\n", {kRows}).result(), kRows);
}

TEST(InferTypes, BranchesLeaveWhatTheyHaveInCommon) {
  const char* const text = "def f(x, c: bool):\n  if c:\n    y = x.relu()\n  else:\n    y = x.sum(0, keepdim=True)\n  return y, y.t()\n";
  EXPECT_EQ(Typed(text, {kRows}).result(),
            "(Float(*, 3, strides=[3, 1], requires_grad=0, device=cpu), Float(3, *, strides=[1, 3], requires_grad=0, device=cpu))");
  EXPECT_EQ(Typed("def f(x, c: bool):\n  return x.double() if c else x.long()\n", {kRows}).result(),
            "Tensor(2, 3, strides=[3, 1], requires_grad=0, device=cpu)");
  EXPECT_EQ(Typed("def f(x, c: bool):\n  return x if c else x[0]\n", {kRows}).result(), "FloatTensor(requires_grad=0, device=cpu)");
}

TEST(InferTypes, LoopsLeaveWhatEveryTripGives) {
  EXPECT_EQ(Typed("def f(x, n: int):\n  for i in range(n):\n    x = x * 2\n  return x\n", {kRows}).result(), kRows);
  EXPECT_EQ(Typed("def f(x, n: int):\n  for i in range(n):\n    x = torch.cat([x, x])\n  return x\n", {kRows}).result(),
            "Float(*, 3, strides=[3, 1], requires_grad=0, device=cpu)");
  EXPECT_EQ(Typed("def f(x, n: int):\n  for i in range(n):\n    x = x.unsqueeze(0)\n  return x\n", {kRows}).result(),
            "FloatTensor(requires_grad=0, device=cpu)");
  // A loop that turns the tensor about, within one that does not.
  EXPECT_EQ(Typed("def f(x, n: int):\n  y = x\n  for i in range(n):\n    for k in range(n):\n      y = y.t()\n    y = y + 1\n  return y\n", {kRows}).result(),
            "Float(*, *, requires_grad=0, device=cpu)");
}

TEST(InferTypes, ListsAndTuplesKeepWhatIsInThem) {
  EXPECT_EQ(Typed("def f(x):\n  a, b = torch.chunk(x, 2, 1)\n  return b\n", {kRows}).result(), "Float(2, 1, strides=[3, 1], requires_grad=0, device=cpu)");
  EXPECT_EQ(Typed("def f(x):\n  xs = [x, x.t()]\n  return xs[1]\n", {kRows}).result(), "Float(3, 2, strides=[1, 3], requires_grad=0, device=cpu)");
  EXPECT_EQ(Typed("def f(x):\n  return (x, (x.long(), 1))\n", {kRows}).result(),
            std::string("(") + kRows + ", (Long(2, 3, strides=[3, 1], requires_grad=0, device=cpu), int))");
  // A list that grows holds other things later.
  EXPECT_EQ(Typed("def f(x):\n  xs = [x]\n  xs.append(x.t())\n  return xs[-1]\n", {kRows}).result(), "Tensor");
}

TEST(InferTypes, WritesInPlaceKeepSizesUnlessTheyChangeThem) {
  EXPECT_EQ(Typed("def f(x):\n  x.add_(1)\n  return x.relu_()\n", {kRows}).result(), kRows);
  EXPECT_EQ(Typed("def f(x):\n  y = x.clone()\n  y.unsqueeze_(0)\n  return y * 2\n", {kRows}).result(), "Tensor");
  EXPECT_EQ(Typed("def f(x):\n  y = x.clone()\n  y.resize_([7])\n  return y * 2\n", {kRows}).result(), "Tensor");
}

TEST(InferTypes, GradientsAreUnknownWhereTheProgramSwitchesThem) {
  const std::string weight = "Float(2, 3, strides=[3, 1], requires_grad=1, device=cpu)";
  EXPECT_EQ(Typed("def f(x):\n  return x.detach()\n", {weight}).result(), kRows);
  EXPECT_EQ(Typed("def f(x):\n  return x.argmax(1)\n", {weight}).result(), "Long(2, strides=[1], requires_grad=0, device=cpu)");
  EXPECT_EQ(Typed("def f(x):\n  with torch.no_grad():\n    y = x * 2\n  return y\n", {weight}).result(), "Float(2, 3, strides=[3, 1], device=cpu)");
  EXPECT_EQ(Typed("def f(x):\n  return x.relu()\n", {"Float(2, 3, strides=[3, 1], device=cpu)"}).result(), "Float(2, 3, strides=[3, 1], device=cpu)");
}

TEST(InferTypes, NothingOfTheProgramHappens) {
  const Typed raises("def f(x):\n  if x.sum() > 0:\n    raise ValueError('no')\n  print('nothing is printed')\n  return x.relu()\n", {kRows});
  EXPECT_EQ(raises.result(), kRows);
  // Sizes that do not fit, and values that only data tells.
  EXPECT_EQ(Typed("def f(x):\n  return torch.mm(x, x)\n", {kRows}).result(), "Tensor");
  EXPECT_EQ(Typed("def f(x):\n  return torch.nonzero(x)\n", {kRows}).result(), "Tensor");
  EXPECT_EQ(Typed("def f(x):\n  return x.reshape([int(x.sum()), -1])\n", {kRows}).result(), "Tensor");
}

TEST(InferTypes, TypesGoAgain) {
  const Typed typed("def f(x, n: int):\n  for i in range(n):\n    x = x * 2\n  return x, x.relu()\n", {kRows});
  EXPECT_GT(typed.changed, 3u);
  EXPECT_GT(erase_types(*typed.graph), 3u);
  EXPECT_EQ(typed.result(), "(Tensor, Tensor)");
  EXPECT_EQ(erase_types(*typed.graph), 0u);
}

TEST(InferTypes, ProgramsTakeTensorsOfAllSizes) {
  const auto unit = std::make_shared<CompilationUnit>();
  unit->define_text("def f(x):\n  return x.t() + 1\n", nullptr);
  Function& f = *unit->find("f");
  f.ensure_defined();
  f.graph->block().parameter(0)->set_type(Type::of(Datum(zeros({2, 3}))));
  infer_types(*f.graph);
  EXPECT_EQ(f.run({Datum(ones({4, 1}, TensorOptions(kLong)))}).to_tensor().sizes().vec(), (std::vector<int64_t>{1, 4}));
}

}  // namespace
}  // namespace cresset::graph::script
