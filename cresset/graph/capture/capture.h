#pragma once
// Graphs from C++ functions: the function runs once, and a layer above all others writes down the operators that it calls.
//
//   auto graph = graph::capture([&](const auto& x) { return std::vector{relu(linear(x[0], w, b))}; }, {example});
//   graph::Program(*graph).run_tensors({y});

#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

struct CaptureOptions {
  std::string name = "captured";
  // Write down the operators that composite ones are made of, instead of these.
  bool decompose_composites = false;
  // Where given, what cannot be captured is told here, and the function goes on to its end as it is; the graph is then of no use.
  std::string* failure = nullptr;
};

// The examples are the graph's parameters, with their dtypes and sizes. Tensors that come from elsewhere are constants of the graph; they are shared, not
// copied. Errors: DataDependentOutputError, a number that depends on data (item, equal) is asked for, with the last node and what to do about it; whatever the function
// throws.
CRESSET_API std::unique_ptr<Graph> capture(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& function, const std::vector<Tensor>& examples,
                                           const CaptureOptions& options = {});

// Forward and backward of a function as one graph. Its parameters are the inputs, then a gradient for each result that has one (`tangents`); its results
// are those of the function, then a gradient for each example that requires one. Examples that are leaves are found where the function takes them from elsewhere, too. `split_joint` (passes/joint.h) makes two graphs of it.
struct JointGraph {
  std::unique_ptr<Graph> graph;
  size_t inputs = 0, results = 0;
};
// Errors: those of capture, and no example or no result with a gradient.
CRESSET_API JointGraph capture_joint(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& function, const std::vector<Tensor>& examples,
                                     const CaptureOptions& options = {});

}  // namespace cresset::graph
