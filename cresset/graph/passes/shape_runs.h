#pragma once
// Values without data at a few choices of the sizes that are open, by which passes find the types of results. Private to the room.

#include <array>

#include "cresset/graph/runtime/program.h"

namespace cresset::graph {

inline constexpr size_t kShapeRuns = 3;
template <class T> using EachRun = std::array<T, kShapeRuns>;

// The numbers that symbols stand for in each run.
class OpenSizes {
 public:
  // Numbers that are unlikely to come about otherwise, within the ranges of the symbols.
  void add(const std::vector<std::string>& names, const std::map<std::string, SymRange>& ranges);
  std::optional<int64_t> number(const Sym& size, size_t run) const { return size.evaluate(bindings_[run]); }
  // The expression that these numbers are, if it is a number, or one of a symbol or of two: c * s + d.
  std::optional<Sym> expression(const EachRun<int64_t>& numbers) const;
  // The facts that tensors of all runs have in common.
  TensorFacts facts_of(const EachRun<Datum>& runs) const;

 private:
  EachRun<Bindings> bindings_;
  std::vector<std::string> symbols_;
};

// Those in the types of the graph's parameters.
std::vector<std::string> symbols_of(const Graph& graph);

// The results of one node by itself. Nothing: they depend on data, or operators lack. Errors: those of the operator.
std::optional<std::vector<Datum>> run_alone(const Node& node, std::vector<Datum> inputs, const ProgramOptions& options = {});

}  // namespace cresset::graph
