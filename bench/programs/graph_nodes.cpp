// The price of a node of a graph: a chain of operators on one element, run as a program, by the dispatcher and by the kernels' functions alone.
// graph_nodes.py counts instructions. Usage: graph_nodes program|calls|kernels NODES RUNS
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cresset/autograd/grad_mode.h"
#include "cresset/graph/runtime/program.h"
#include "cresset/ops/functions.h"

using namespace cresset;

namespace {

using Unary = dispatch::Op<Tensor(const Tensor&)>;
using Binary = dispatch::Op<Tensor(const Tensor&, const Tensor&)>;

graph::Program chain(int nodes) {
  std::string text = "graph @f(%x: Tensor) {\n", last = "%x";
  for (int i = 0; i < nodes; i++) {
    const std::string name = "%v" + std::to_string(i);
    text += "  " + name + ": Tensor = " + (i % 2 ? "mul.Tensor(" + last + ", %x)" : "relu(" + last + ")") + "\n";
    last = name;
  }
  return graph::Program(*graph::parse_graph(text + "  return " + last + "\n}"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: graph_nodes program|calls|kernels NODES RUNS\n"), 2;
  const std::string way = argv[1];
  const int nodes = std::atoi(argv[2]), runs = std::atoi(argv[3]);
  const NoGradGuard no_gradients;
  const Tensor x = ones({1});
  const auto& relu_op = static_cast<const Unary&>(dispatch::find_op("relu").entry());
  const auto& mul_op = static_cast<const Binary&>(dispatch::find_op("mul.Tensor").entry());
  const graph::Program program = chain(nodes);
  std::vector<graph::Datum> values(1);
  Tensor y;
  for (int run = 0; run < runs; run++) {
    if (way == "program") {
      values[0] = x;
      values = program.run(std::move(values));
      y = values[0].to_tensor();
      continue;
    }
    y = x;
    for (int i = 0; i < nodes; i++) {
      if (way == "calls") y = i % 2 ? mul(y, x) : relu(y);
      else y = i % 2 ? mul_op.cpu(y, x) : relu_op.cpu(y);
    }
  }
  std::printf("%g\n", y.item().toDouble());
  return 0;
}
