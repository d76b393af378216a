// Shapes by the operators' own rules: each node runs without data, at three choices of the sizes that are symbols.

#include <algorithm>
#include <array>

#include "cresset/core/fake_mode.h"
#include "cresset/core/layers.h"
#include "cresset/graph/passes/passes.h"
#include "cresset/graph/runtime/program.h"
#include "cresset/ops/functions.h"

namespace cresset::graph {

namespace {

constexpr size_t kRuns = 3;
// A value at each choice of the symbols; none where it depends on data.
using Runs = std::optional<std::array<Datum, kRuns>>;

class Propagation {
 public:
  explicit Propagation(Graph& graph) : graph_(graph), mode_(make_intrusive<FakeMode>()) {
    const FakeModeScope scope(mode_.get());
    choose_sizes();
    for (const auto& c : graph.constants()) {
      if (!c->type().is_tensor()) values_[c.get()] = {{*c->constant(), *c->constant(), *c->constant()}};
      else values_[c.get()] = without_data(c->type().facts());
    }
    for (const auto& p : graph.block().parameters()) values_[p.get()] = p->type().is_tensor() ? without_data(p->type().facts()) : Runs();
  }

  size_t run() {
    const FakeModeScope scope(mode_.get());
    const ExcludeLayers no_gradients(kAutogradLayer);
    block(graph_.block());
    return changed_;
  }

 private:
  // Numbers that are unlikely to come about otherwise, within the ranges of the symbols.
  void choose_sizes() {
    std::vector<std::string> names;
    const auto collect = [&](const TensorFacts& f) {
      if (!f.sizes) return;
      for (const Sym& s : *f.sizes)
        for (const std::string& name : s.symbols())
          if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const auto& p : graph_.block().parameters()) collect(p->type().facts());
    constexpr int64_t kStart[kRuns] = {101, 307, 523};
    constexpr int64_t kStep[kRuns] = {6, 10, 16};
    for (size_t r = 0; r < kRuns; r++)
      for (size_t i = 0; i < names.size(); i++) {
        int64_t n = kStart[r] + kStep[r] * static_cast<int64_t>(i);
        const auto range = graph_.ranges().find(names[i]);
        if (range != graph_.ranges().end()) {
          // Different ones in each run, as far as the range allows.
          const auto& [min, max] = range->second;
          if (n > max) n = std::max(min, max - static_cast<int64_t>(r) - 3 * static_cast<int64_t>(i % 5));
          n = std::max(n, min);
        }
        bindings_[r][names[i]] = n;
      }
    symbols_ = names;
  }
  Runs without_data(const TensorFacts& f) const {
    if (!f.sizes || !f.dtype) return std::nullopt;
    std::array<Datum, kRuns> out;
    for (size_t r = 0; r < kRuns; r++) {
      std::vector<int64_t> sizes, strides;
      for (const Sym& s : *f.sizes) {
        const auto n = s.evaluate(bindings_[r]);
        if (!n) return std::nullopt;
        sizes.push_back(*n);
      }
      const TensorOptions options = TensorOptions().dtype(*f.dtype).device(f.device.value_or(Device(kCPU)));
      for (const Sym& s : f.strides.value_or(std::vector<Sym>())) strides.push_back(s.evaluate(bindings_[r]).value_or(-1));
      const bool is_strided = strides.size() == sizes.size() && std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s >= 0; });
      out[r] = Datum(is_strided ? empty_strided(sizes, strides, options) : empty(sizes, options));
    }
    return out;
  }

  // The expression that these numbers are, if it is one of a symbol or of a product of two: c * s + d.
  std::optional<Sym> expression(const std::array<int64_t, kRuns>& n) const {
    if (n[0] == n[1] && n[1] == n[2]) return Sym(n[0]);
    std::vector<Sym> candidates;
    for (const std::string& a : symbols_) candidates.push_back(Sym::symbol(a));
    for (size_t i = 0; i < symbols_.size(); i++)
      for (size_t k = i; k < symbols_.size(); k++) candidates.push_back(Sym::symbol(symbols_[i]) * Sym::symbol(symbols_[k]));
    for (size_t i = 0; i < symbols_.size(); i++)
      for (size_t k = i + 1; k < symbols_.size(); k++) candidates.push_back(Sym::symbol(symbols_[i]) + Sym::symbol(symbols_[k]));
    for (const Sym& s : candidates) {
      const int64_t a = *s.evaluate(bindings_[0]), b = *s.evaluate(bindings_[1]), c = *s.evaluate(bindings_[2]);
      if (a == b || b == c || (n[1] - n[0]) % (b - a) != 0) continue;
      const int64_t factor = (n[1] - n[0]) / (b - a);
      if (n[2] - n[1] == factor * (c - b)) return s * Sym(factor) + Sym(n[0] - factor * a);
    }
    return std::nullopt;
  }
  TensorFacts facts_of(const std::array<Datum, kRuns>& runs) const {
    TensorFacts f = TensorFacts::of(runs[0].to_tensor());
    const auto numbers = [&](auto&& list) -> std::optional<std::vector<Sym>> {
      std::vector<Sym> out;
      for (size_t d = 0; d < static_cast<size_t>(runs[0].to_tensor().dim()); d++) {
        std::array<int64_t, kRuns> n;
        for (size_t r = 0; r < kRuns; r++) {
          if (runs[r].to_tensor().dim() != runs[0].to_tensor().dim()) return std::nullopt;
          n[r] = list(runs[r].to_tensor())[d];
        }
        out.push_back(expression(n).value_or(Sym::unknown()));
      }
      return out;
    };
    f.sizes = numbers([](const Tensor& t) { return t.sizes(); });
    if (f.strides) f.strides = numbers([](const Tensor& t) { return t.strides(); });
    if (!f.sizes) f.strides.reset();
    return f;
  }
  void set(Value* v, Runs runs) {
    if (runs && (*runs)[0].is_tensor() && (*runs)[0].to_tensor().defined()) {
      const Type type = Type::tensor(facts_of(*runs));
      if (type != v->type()) {
        v->set_type(type);
        changed_++;
      }
    }
    values_[v] = std::move(runs);
  }

  void block(Block& b) {
    for (const auto& n : b.nodes()) {
      if (n->kind() == NodeKind::Return) break;
      if (n->kind() == NodeKind::If) branches(*n);
      else if (n->kind() == NodeKind::Loop) loop(*n);
      else node(*n);
    }
  }
  void branches(Node& n) {
    for (const auto& b : n.blocks()) block(*b);
    for (size_t i = 0; i < n.outputs().size(); i++) {
      Value *a = n.blocks()[0]->results()[i], *b = n.blocks()[1]->results()[i];
      const bool agree = a->type() == b->type();
      if (agree && a->type().is_tensor() && a->type() != n.output(i)->type()) {
        n.output(i)->set_type(a->type());
        changed_++;
      }
      values_[n.output(i)] = agree && a->type().is_tensor() ? values_[a] : Runs();
    }
  }
  // Sizes may change from trip to trip.
  void loop(Node& n) {
    for (const auto& p : n.blocks()[0]->parameters()) values_[p.get()] = Runs();
    block(*n.blocks()[0]);
    for (const auto& o : n.outputs()) values_[o.get()] = Runs();
  }

  void node(Node& n) {
    bool known = n.kind() != NodeKind::Call && n.kind() != NodeKind::Foreign;
    for (const Value* v : n.inputs()) known = known && values_[v].has_value();
    std::array<std::vector<Datum>, kRuns> results;
    for (size_t r = 0; known && r < kRuns; r++) known = compute(n, r, results[r]);
    for (size_t i = 0; i < n.outputs().size(); i++) {
      if (!known) {
        values_[n.output(i)] = Runs();
        continue;
      }
      set(n.output(i), {{results[0][i], results[1][i], results[2][i]}});
    }
  }
  bool compute(const Node& n, size_t r, std::vector<Datum>& results) {
    if (!n.blocks().empty()) return false;
    Graph alone(graph_.name());
    std::vector<Datum> inputs;
    Node* copy = alone.copy(
        n,
        [&](Value* v) {
          inputs.push_back((*values_[v])[r]);
          return alone.add_parameter(v->type(), v->name());
        },
        alone.block().return_node());
    for (const auto& o : copy->outputs()) alone.block().add_result(o.get());
    try {
      results = Program(alone).run(std::move(inputs));
    } catch (const UnsupportedFakeTensorError&) {
      return false;  // it depends on data
    } catch (const NotImplementedError&) { return false; }
    return true;
  }

  Graph& graph_;
  intrusive_ptr<FakeMode> mode_;
  std::array<Bindings, kRuns> bindings_;
  std::vector<std::string> symbols_;
  std::unordered_map<const Value*, Runs> values_;
  size_t changed_ = 0;
};

}  // namespace

size_t propagate_shapes(Graph& graph) { return Propagation(graph).run(); }

}  // namespace cresset::graph
