#include "cresset/graph/passes/shape_runs.h"

#include <algorithm>

#include "cresset/core/fake_mode.h"

namespace cresset::graph {

namespace {

constexpr EachRun<int64_t> kStart = {101, 307, 523};
constexpr EachRun<int64_t> kStep = {6, 10, 16};

}  // namespace

void OpenSizes::add(const std::vector<std::string>& names, const std::map<std::string, SymRange>& ranges) {
  for (size_t r = 0; r < kShapeRuns; r++)
    for (size_t i = 0; i < names.size(); i++) {
      int64_t n = kStart[r] + kStep[r] * static_cast<int64_t>(i);
      const auto range = ranges.find(names[i]);
      if (range != ranges.end()) {
        // Different ones in each run, as far as the range allows.
        const auto& [min, max] = range->second;
        if (n > max) n = std::max(min, max - static_cast<int64_t>(r) - 3 * static_cast<int64_t>(i % 5));
        n = std::max(n, min);
      }
      bindings_[r][names[i]] = n;
    }
  symbols_ = names;
}

std::optional<Sym> OpenSizes::expression(const EachRun<int64_t>& n) const {
  if (n[0] == n[1] && n[1] == n[2]) return Sym(n[0]);
  std::vector<Sym> candidates;
  for (const std::string& a : symbols_) candidates.push_back(Sym::symbol(a));
  for (size_t i = 0; i < symbols_.size(); i++)
    for (size_t k = i; k < symbols_.size(); k++) candidates.push_back(Sym::symbol(symbols_[i]) * Sym::symbol(symbols_[k]));
  for (size_t i = 0; i < symbols_.size(); i++)
    for (size_t k = i + 1; k < symbols_.size(); k++) candidates.push_back(Sym::symbol(symbols_[i]) + Sym::symbol(symbols_[k]));
  for (const Sym& s : candidates) {
    const int64_t a = *number(s, 0), b = *number(s, 1), c = *number(s, 2);
    if (a == b || b == c || (n[1] - n[0]) % (b - a) != 0) continue;
    const int64_t factor = (n[1] - n[0]) / (b - a);
    if (n[2] - n[1] == factor * (c - b)) return s * Sym(factor) + Sym(n[0] - factor * a);
  }
  return std::nullopt;
}

TensorFacts OpenSizes::facts_of(const EachRun<Datum>& runs) const {
  TensorFacts f = TensorFacts::of(runs[0].to_tensor());
  const auto numbers = [&](auto&& list) -> std::optional<std::vector<Sym>> {
    std::vector<Sym> out;
    for (size_t d = 0; d < static_cast<size_t>(runs[0].to_tensor().dim()); d++) {
      EachRun<int64_t> n;
      for (size_t r = 0; r < kShapeRuns; r++) n[r] = list(runs[r].to_tensor())[d];
      out.push_back(expression(n).value_or(Sym::unknown()));
    }
    return out;
  };
  for (const Datum& run : runs) {
    const Tensor& t = run.to_tensor();
    if (t.scalar_type() != f.dtype) f.dtype.reset();
    if (f.device && !(t.device() == *f.device)) f.device.reset();
    if (t.dim() != runs[0].to_tensor().dim()) f.sizes.reset();
    if (t.layout() != Layout::Strided) f.strides.reset();
  }
  if (!f.sizes) f.strides.reset();
  if (f.sizes) f.sizes = numbers([](const Tensor& t) { return t.sizes(); });
  if (f.strides) f.strides = numbers([](const Tensor& t) { return t.strides(); });
  return f;
}

std::vector<std::string> symbols_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& p : graph.block().parameters())
    for (const Sym& s : p->type().facts().sizes.value_or(std::vector<Sym>()))
      for (const std::string& name : s.symbols())
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

std::optional<std::vector<Datum>> run_alone(const Node& node, std::vector<Datum> inputs, const ProgramOptions& options) {
  Graph alone(node.graph().name());
  Node* copy = alone.copy(
      node, [&](Value* v) { return alone.add_parameter(v->type(), v->name()); }, alone.block().return_node());
  for (const auto& o : copy->outputs()) alone.block().add_result(o.get());
  try {
    return Program(alone, options).run(std::move(inputs));
  } catch (const UnsupportedFakeTensorError&) {
    return std::nullopt;  // it depends on data
  } catch (const NotImplementedError&) { return std::nullopt; }
}

}  // namespace cresset::graph
