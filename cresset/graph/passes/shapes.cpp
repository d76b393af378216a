// Sizes by the operators' own rules: each node runs without data, at three choices of the sizes that are symbols.

#include <algorithm>

#include "cresset/core/fake_mode.h"
#include "cresset/core/layers.h"
#include "cresset/graph/passes/passes.h"
#include "cresset/graph/passes/shape_runs.h"
#include "cresset/ops/functions.h"

namespace cresset::graph {

namespace {

// A value at each choice of the symbols; none where it depends on data.
using Runs = std::optional<EachRun<Datum>>;

class Propagation {
 public:
  explicit Propagation(Graph& graph) : graph_(graph), mode_(make_intrusive<FakeMode>()) {
    const FakeModeScope scope(mode_.get());
    sizes_.add(symbols_of(graph), graph.ranges());
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
  Runs without_data(const TensorFacts& f) const {
    if (!f.sizes || !f.dtype) return std::nullopt;
    EachRun<Datum> out;
    for (size_t r = 0; r < kShapeRuns; r++) {
      std::vector<int64_t> sizes, strides;
      for (const Sym& s : *f.sizes) {
        const auto n = sizes_.number(s, r);
        if (!n) return std::nullopt;
        sizes.push_back(*n);
      }
      const TensorOptions options = TensorOptions().dtype(*f.dtype).device(f.device.value_or(Device(kCPU)));
      for (const Sym& s : f.strides.value_or(std::vector<Sym>())) strides.push_back(sizes_.number(s, r).value_or(-1));
      const bool is_strided = strides.size() == sizes.size() && std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s >= 0; });
      out[r] = Datum(is_strided ? empty_strided(sizes, strides, options) : empty(sizes, options));
    }
    return out;
  }

  void set(Value* v, Runs runs) {
    if (runs && (*runs)[0].is_tensor() && (*runs)[0].to_tensor().defined()) {
      const Type type = Type::tensor(sizes_.facts_of(*runs));
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
    EachRun<std::vector<Datum>> results;
    for (size_t r = 0; known && r < kShapeRuns; r++) known = compute(n, r, results[r]);
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
    std::vector<Datum> inputs;
    for (const Value* v : n.inputs()) inputs.push_back((*values_[v])[r]);
    auto made = run_alone(n, std::move(inputs));
    if (made) results = std::move(*made);
    return made.has_value();
  }

  Graph& graph_;
  intrusive_ptr<FakeMode> mode_;
  OpenSizes sizes_;
  std::unordered_map<const Value*, Runs> values_;
  size_t changed_ = 0;
};

}  // namespace

size_t propagate_shapes(Graph& graph) { return Propagation(graph).run(); }

}  // namespace cresset::graph
