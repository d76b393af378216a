#pragma once
#include "cresset/graph/script/ir/rewrite.h"
#include "torch/csrc/jit/ir/irparser.h"

namespace torch::jit {

// Graphs that are found in others, and what stands there afterwards. Both are texts, with the same inputs and outputs.
class SubgraphRewriter {
 public:
  void RegisterRewritePattern(const std::string& pattern, const std::string& replacement) { patterns_.emplace_back(pattern, replacement); }
  void runOnGraph(std::shared_ptr<Graph>& graph) {
    for (const auto& [pattern, replacement] : patterns_) cresset::graph::script::rewrite_by_text(graph->own(), pattern, replacement);
    graph->changed_by_pass();
  }
  // In all methods.
  Module runOnModule(const Module& module) {
    for (const Method& method : module.get_methods()) {
      std::shared_ptr<Graph> graph = method.graph();
      runOnGraph(graph);
    }
    return module;
  }

 private:
  std::vector<std::pair<std::string, std::string>> patterns_;
};

}  // namespace torch::jit
