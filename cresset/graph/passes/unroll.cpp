// Loops whose trips are known become their bodies, one after the other.

#include "cresset/graph/passes/passes.h"

namespace cresset::graph {

namespace {

bool is_true(const Value& v) { return v.is_constant() && v.constant()->isBool() && v.constant()->toBool(); }

size_t count_nodes(const Block& block) {
  size_t n = 0;
  for (const auto& node : block.nodes()) {
    n++;
    for (const auto& b : node->blocks()) n += count_nodes(*b);
  }
  return n;
}

bool can_unroll(const Node& loop, const UnrollOptions& options) {
  const Value& trips = *loop.input(0);
  if (!trips.is_constant() || !trips.constant()->isInt() || !is_true(*loop.input(1))) return false;
  const Block& body = *loop.blocks()[0];
  const int64_t n = trips.constant()->toInt();
  return is_true(*body.results()[0]) && n <= options.max_trips && (n <= 0 || count_nodes(body) <= options.max_nodes / static_cast<size_t>(n));
}

void unroll(Node& loop) {
  Graph& g = loop.graph();
  const Block& body = *loop.blocks()[0];
  std::vector<Value*> carried(loop.inputs().begin() + 2, loop.inputs().end());
  for (int64_t trip = 0; trip < loop.input(0)->constant()->toInt(); trip++) {
    std::unordered_map<Value*, Value*> map{{body.parameter(0), g.constant(Datum(trip))}};
    for (size_t i = 0; i < carried.size(); i++) map[body.parameter(i + 1)] = carried[i];
    const auto find = [&](Value* v) {
      const auto found = map.find(v);
      return found == map.end() ? v : found->second;
    };
    for (const auto& n : body.nodes()) {
      if (n->kind() == NodeKind::Return) break;
      Node* made = g.copy(*n, find, &loop);
      for (size_t i = 0; i < n->outputs().size(); i++) map[n->output(i)] = made->output(i);
    }
    for (size_t i = 0; i < carried.size(); i++) carried[i] = find(body.results()[i + 1]);
  }
  for (size_t i = 0; i < carried.size(); i++) loop.output(i)->replace_uses_with(carried[i]);
  loop.erase();
}

size_t unroll_block(Block& block, const UnrollOptions& options) {
  size_t changed = 0;
  for (Node* n = block.first(); n->kind() != NodeKind::Return;) {
    Node* after = n->next();
    for (const auto& b : n->blocks()) changed += unroll_block(*b, options);
    if (n->kind() == NodeKind::Loop && can_unroll(*n, options)) {
      unroll(*n);
      changed++;
    }
    n = after;
  }
  return changed;
}

}  // namespace

size_t unroll_loops(Graph& graph, const UnrollOptions& options) { return unroll_block(graph.block(), options); }

}  // namespace cresset::graph
