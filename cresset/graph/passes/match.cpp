// Subgraphs: decomposition by table, matching and rewriting, partition.

#include <algorithm>

#include "cresset/graph/ir/alias.h"
#include "cresset/graph/passes/passes.h"

namespace cresset::graph {

std::vector<Value*> copy_nodes(const Graph& from, const std::vector<Value*>& arguments, Graph& to, Node* place) {
  std::unordered_map<Value*, Value*> made;
  for (size_t i = 0; i < arguments.size(); i++) made[from.block().parameter(i)] = arguments[i];
  const auto map = [&](Value* v) {
    const auto found = made.find(v);
    if (found != made.end()) return found->second;
    CRESSET_INTERNAL_ASSERT(v->is_constant());
    Value* c = to.constant(*v->constant(), v->name());
    c->set_type(v->type());
    return made[v] = c;
  };
  for (const auto& n : from.block().nodes()) {
    if (n->kind() == NodeKind::Return) break;
    Node* copy = to.copy(*n, map, place);
    if (!copy->location()) copy->set_location(place->location());
    for (size_t i = 0; i < n->outputs().size(); i++) made[n->output(i)] = copy->output(i);
  }
  std::vector<Value*> results;
  for (Value* v : from.block().results()) results.push_back(map(v));
  return results;
}

size_t decompose(Graph& graph, const Decompositions& table) {
  size_t changed = 0;
  graph.for_each([&](Node& n) {
    if (n.kind() != NodeKind::Op && n.kind() != NodeKind::Foreign) return;
    const auto found = table.find(n.op_name());
    if (found == table.end()) return;
    const Graph& body = *found->second;
    CRESSET_CHECK_VALUE(body.block().parameters().size() == n.inputs().size() && body.block().results().size() == n.outputs().size(),
                        "decompose: ", n.op_name(), " has ", n.inputs().size(), " arguments and ", n.outputs().size(), " results, its decomposition ",
                        body.block().parameters().size(), " and ", body.block().results().size());
    const std::vector<Value*> results = copy_nodes(body, n.inputs(), graph, &n);
    for (size_t i = 0; i < results.size(); i++) n.output(i)->replace_uses_with(results[i]);
    n.erase();
    changed++;
  });
  graph.remove_unused_constants();
  return changed;
}

namespace {

// Grows a match from its last node to what that is made of.
class Matcher {
 public:
  Matcher(const Graph& pattern, const std::unordered_set<const Node*>& taken, const Alike& alike) : pattern_(pattern), taken_(taken), alike_(alike) {}

  std::optional<Match> at(Node& last) {
    const Value* result = pattern_.block().results()[0];
    if (!result->node() || !node(*result->node(), last)) return std::nullopt;
    // Further results hang off nodes that the first one reached.
    Match m;
    for (const auto& p : pattern_.block().parameters()) {
      const auto found = values_.find(p.get());
      if (found == values_.end()) return std::nullopt;
      m.parameters.push_back(found->second);
    }
    for (const auto& n : pattern_.block().nodes()) {
      if (n->kind() == NodeKind::Return) break;
      const auto found = nodes_.find(n.get());
      if (found == nodes_.end()) return std::nullopt;
      m.nodes.push_back(found->second);
    }
    for (const Value* r : pattern_.block().results()) m.results.push_back(values_.at(r));
    return is_closed(m) ? std::optional<Match>(std::move(m)) : std::nullopt;
  }

 private:
  bool value(Value* p, Value* v) {
    if (p->is_constant()) return v->is_constant() && equal(*p, *v);
    const auto [found, is_new] = values_.emplace(p, v);
    if (!is_new) return found->second == v;
    if (!p->node()) return p->type().kind() == TypeKind::Any || v->type().fits(p->type());
    return v->node() && v->index() == p->index() && node(*p->node(), *v->node());
  }
  static bool equal(const Value& a, const Value& b) {
    if (a.type().is_tensor() || b.type().is_tensor())
      return a.constant()->is_tensor() && b.constant()->is_tensor() && a.constant()->to_tensor().is_same(b.constant()->to_tensor());
    return literal_text(*a.constant()) == literal_text(*b.constant());
  }
  bool node(const Node& p, Node& n) {
    const auto [found, is_new] = nodes_.emplace(&p, &n);
    if (!is_new) return found->second == &n;
    if (taken_.count(&n) || !n.blocks().empty() || p.outputs().size() != n.outputs().size()) return false;
    const bool is_same = p.kind() == n.kind() && p.op_name() == n.op_name() && p.inputs().size() == n.inputs().size();
    const auto inputs = alike_ ? alike_(p, n) : is_same ? std::optional(n.inputs()) : std::nullopt;
    if (!inputs) return false;
    for (size_t i = 0; i < p.outputs().size(); i++) {
      const auto [at, added] = values_.emplace(p.output(i), n.output(i));
      if (!added && at->second != n.output(i)) return false;
    }
    for (size_t i = 0; i < p.inputs().size(); i++)
      if (!value(p.input(i), (*inputs)[i])) return false;
    return true;
  }
  // Values that are used outside are results.
  bool is_closed(const Match& m) const {
    for (const Node* n : m.nodes)
      for (const auto& o : n->outputs()) {
        if (std::find(m.results.begin(), m.results.end(), o.get()) != m.results.end()) continue;
        for (const Use& u : o->uses())
          if (std::find(m.nodes.begin(), m.nodes.end(), u.node) == m.nodes.end()) return false;
      }
    return true;
  }

  const Graph& pattern_;
  const std::unordered_set<const Node*>& taken_;
  const Alike& alike_;
  std::unordered_map<const Value*, Value*> values_;
  std::unordered_map<const Node*, Node*> nodes_;
};

// The last of its nodes in the block's order.
Node* last_of(const Match& m) {
  Node* last = m.nodes[0];
  for (Node* n = last; n; n = n->next())
    if (std::find(m.nodes.begin(), m.nodes.end(), n) != m.nodes.end()) last = n;
  return last;
}
// Whether nothing else stands between its nodes, which are in the order of the pattern.
bool is_row(const Match& m) {
  for (size_t i = 0; i + 1 < m.nodes.size(); i++)
    if (m.nodes[i]->next() != m.nodes[i + 1]) return false;
  return true;
}
// The match may move to its last node: nothing that it reads or makes is written in between.
bool can_move(const Match& m, const AliasSets& aliases) {
  if (is_row(m)) return true;
  for (const Node* n : m.nodes) {
    if (has_side_effects(*n)) return false;
    for (const Value* v : n->inputs())
      if (aliases.is_written(v)) return false;
  }
  return true;
}

}  // namespace

std::vector<Match> find_matches(Graph& graph, const Graph& pattern, const Alike& alike) {
  CRESSET_CHECK_VALUE(!pattern.block().results().empty(), "find_matches: expected a pattern with a result");
  std::unordered_set<const Node*> taken;
  std::vector<Match> found;
  const AliasSets aliases(graph);
  graph.for_each([&](Node& n) {
    if (n.kind() == NodeKind::Return || taken.count(&n)) return;
    auto match = Matcher(pattern, taken, alike).at(n);
    const bool is_one_block = match && std::all_of(match->nodes.begin(), match->nodes.end(), [&](const Node* m) { return &m->owner() == &n.owner(); });
    if (!is_one_block || !can_move(*match, aliases)) return;
    taken.insert(match->nodes.begin(), match->nodes.end());
    found.push_back(std::move(*match));
  });
  return found;
}

size_t replace_matches(Graph& graph, std::vector<Match> matches, FunctionRef<bool(const Match&)> accept,
                       FunctionRef<std::vector<Value*>(const Match&, Node* place)> make) {
  size_t changed = 0;
  std::unordered_map<Value*, Value*> replaced;
  for (Match& m : matches) {
    if (!accept(m)) continue;
    for (Value*& p : m.parameters)
      for (auto at = replaced.find(p); at != replaced.end(); at = replaced.find(p)) p = at->second;
    const std::vector<Value*> results = make(m, last_of(m));
    for (size_t i = 0; i < results.size(); i++) {
      if (results[i]->type().fits(m.results[i]->type()) && m.results[i]->type().is_tensor() && !results[i]->is_constant() && results[i]->node())
        results[i]->set_type(m.results[i]->type());
      m.results[i]->replace_uses_with(results[i]);
      replaced[m.results[i]] = results[i];
    }
    std::vector<Node*> old = m.nodes;
    while (!old.empty()) {
      const size_t before = old.size();
      for (size_t i = old.size(); i-- > 0;) {
        const bool is_free = std::all_of(old[i]->outputs().begin(), old[i]->outputs().end(), [](const auto& o) { return o->uses().empty(); });
        if (!is_free) continue;
        old[i]->erase();
        old.erase(old.begin() + static_cast<std::ptrdiff_t>(i));
      }
      CRESSET_INTERNAL_ASSERT(old.size() < before);
    }
    changed++;
  }
  graph.remove_unused_constants();
  return changed;
}
size_t rewrite(Graph& graph, const Graph& pattern, const Graph& replacement, FunctionRef<bool(const Match&)> accept) {
  const auto count = [](const Graph& g) { return std::make_pair(g.block().parameters().size(), g.block().results().size()); };
  CRESSET_CHECK_VALUE(count(pattern) == count(replacement), "rewrite: the pattern has ", count(pattern).first, " parameters and ", count(pattern).second,
                      " results, the replacement ", count(replacement).first, " and ", count(replacement).second);
  return replace_matches(graph, find_matches(graph, pattern), accept,
                         [&](const Match& m, Node* place) { return copy_nodes(replacement, m.parameters, graph, place); });
}
size_t rewrite(Graph& graph, const Graph& pattern, const Graph& replacement) {
  return rewrite(graph, pattern, replacement, [](const Match&) { return true; });
}

namespace {

// Group numbers that grow along every path: a supported node joins the group of what it reads, or waits behind unsupported nodes.
std::unordered_map<const Node*, int> groups_of(const Graph& graph, FunctionRef<bool(const Node&)> supports) {
  std::unordered_map<const Node*, int> level;
  int last_effect = 0;
  for (const auto& n : graph.block().nodes()) {
    if (n->kind() == NodeKind::Return) break;
    const bool supported = n->kind() != NodeKind::Call && supports(*n);
    int depth = 0;
    // An even level is one of supported nodes, an odd one of others.
    const auto after = [&](const Node* before) {
      const auto found = level.find(before);
      if (found == level.end()) return;
      const int l = found->second;
      depth = std::max(depth, (l % 2 == 0) == supported ? l : l + 1);
    };
    for (const Value* v : n->inputs())
      if (v->node()) after(v->node());
    // Values that nested blocks read.
    std::function<void(const Block&)> inside = [&](const Block& b) {
      for (const auto& i : b.nodes()) {
        for (const Value* v : i->inputs())
          if (v->node()) after(v->node());
        for (const auto& deeper : i->blocks()) inside(*deeper);
      }
    };
    for (const auto& b : n->blocks()) inside(*b);
    // Nodes that write or draw keep their place among those before them.
    depth = std::max(depth, last_effect);
    if ((depth % 2 == 0) != supported) depth++;
    if (has_side_effects(*n)) {
      for (const auto& l : level) depth = std::max(depth, l.second);
      if ((depth % 2 == 0) != supported) depth++;
      last_effect = depth;
    }
    level[n.get()] = depth;
  }
  return level;
}

}  // namespace

Module partition(const Graph& graph, FunctionRef<bool(const Node&)> supports, size_t min_nodes) {
  Module m;
  m.graphs.push_back(graph.clone());
  Graph& whole = *m.graphs[0];
  const auto level = groups_of(whole, supports);
  std::map<int, std::vector<Node*>> groups;
  for (const auto& n : whole.block().nodes())
    if (n->kind() != NodeKind::Return) groups[level.at(n.get())].push_back(n.get());
  // In the order of the levels, which every path follows.
  for (const auto& [depth, nodes] : groups)
    for (Node* n : nodes) n->move_before(whole.block().return_node());
  for (const auto& [depth, nodes] : groups) {
    if (depth % 2 != 0 || nodes.size() < min_nodes) continue;
    auto part = std::make_unique<Graph>(graph.name() + "_" + std::to_string(m.graphs.size()));
    std::unordered_map<Value*, Value*> inside;
    std::vector<Value*> arguments;
    const auto map = [&](Value* v) {
      const auto found = inside.find(v);
      if (found != inside.end()) return found->second;
      if (v->is_constant()) {
        Value* c = part->constant(*v->constant(), v->name());
        c->set_type(v->type());
        return inside[v] = c;
      }
      arguments.push_back(v);
      return inside[v] = part->add_parameter(v->type(), v->name());
    };
    std::unordered_set<const Node*> members(nodes.begin(), nodes.end());
    std::vector<Value*> results;
    for (Node* n : nodes) {
      Node* copy = part->copy(*n, map, part->block().return_node());
      for (size_t i = 0; i < n->outputs().size(); i++) inside[n->output(i)] = copy->output(i);
    }
    for (Node* n : nodes)
      for (const auto& o : n->outputs()) {
        const bool leaves = std::any_of(o->uses().begin(), o->uses().end(), [&](const Use& u) {
          const Node* user = u.node;
          while (user->owner().owner()) user = user->owner().owner();
          return !members.count(user);
        });
        if (leaves) results.push_back(o.get());
      }
    Node* call = whole.create_call(part->name(), arguments, nodes[0]);
    for (Value* v : results) {
      part->block().add_result(inside.at(v));
      v->replace_uses_with(call->add_output(v->type(), v->name()));
    }
    for (size_t i = nodes.size(); i-- > 0;) nodes[i]->erase();
    m.graphs.push_back(std::move(part));
  }
  whole.remove_unused_constants();
  return m;
}

}  // namespace cresset::graph
