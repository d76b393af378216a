// Loops whose trips are known become their bodies, one after the other.

#include <algorithm>

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

// A copy of the body before `place`, for the trip of this number; `carried` gets the values for the next trip.
void copy_body(const Block& body, Value* index, std::vector<Value*>& carried, Node* place) {
  Graph& g = place->graph();
  std::unordered_map<Value*, Value*> map{{body.parameter(0), index}};
  for (size_t i = 0; i < carried.size(); i++) map[body.parameter(i + 1)] = carried[i];
  const auto find = [&](Value* v) {
    const auto found = map.find(v);
    return found == map.end() ? v : found->second;
  };
  for (const auto& n : body.nodes()) {
    if (n->kind() == NodeKind::Return) break;
    Node* made = g.copy(*n, find, place);
    for (size_t i = 0; i < n->outputs().size(); i++) map[n->output(i)] = made->output(i);
  }
  for (size_t i = 0; i < carried.size(); i++) carried[i] = find(body.results()[i + 1]);
}

void unroll(Node& loop) {
  Graph& g = loop.graph();
  std::vector<Value*> carried(loop.inputs().begin() + 2, loop.inputs().end());
  for (int64_t trip = 0; trip < loop.input(0)->constant()->toInt(); trip++) copy_body(*loop.blocks()[0], g.constant(Datum(trip)), carried, &loop);
  for (size_t i = 0; i < carried.size(); i++) loop.output(i)->replace_uses_with(carried[i]);
  loop.erase();
}

Value* number(Graph& g, const char* op, Value* a, Value* b, Node* place) {
  Node* n = g.create(op, {a, b}, place);
  n->output()->set_type(TypeKind::Int);
  n->set_location(place->location());
  return n->output();
}

bool is_innermost(const Block& body) {
  return std::all_of(body.nodes().begin(), body.nodes().end(), [](const auto& n) {
    return n->kind() != NodeKind::Loop && std::all_of(n->blocks().begin(), n->blocks().end(), [](const auto& b) { return is_innermost(*b); });
  });
}

bool can_unroll_in_part(const Node& loop, const PartialUnrollOptions& options) {
  const Value& trips = *loop.input(0);
  const Block& body = *loop.blocks()[0];
  const bool is_long = !trips.is_constant() || (trips.constant()->isInt() && trips.constant()->toInt() >= 4 * options.factor);
  return is_long && body.parameter(0)->uses().empty() && is_true(*loop.input(1)) && is_true(*body.results()[0]) && is_innermost(body) &&
         count_nodes(body) <= options.max_nodes;
}

// A loop whose trips make several of the old one each, and one with those that are left.
void unroll_in_part(Node& loop, int64_t factor) {
  Graph& g = loop.graph();
  const Block& body = *loop.blocks()[0];
  Value *const zero = g.constant(Datum(int64_t{0})), *const many = g.constant(Datum(factor));
  Value* const trips = number(g, "prim::max.int", loop.input(0), zero, &loop);
  Value* const rounds = number(g, "aten::floordiv.int", trips, many, &loop);
  Value* const done = number(g, "aten::mul.int", rounds, many, &loop);
  const auto like = [&](Value* count, std::vector<Value*> inputs) {
    inputs.insert(inputs.begin(), {count, loop.input(1)});
    Node* made = g.create(NodeKind::Loop, std::move(inputs), &loop);
    made->set_location(loop.location());
    Block* inner = made->add_block();
    inner->add_parameter(TypeKind::Int, body.parameter(0)->name());
    inner->add_result(body.results()[0]);
    for (size_t i = 0; i < loop.outputs().size(); i++) {
      inner->add_parameter(body.parameter(i + 1)->type(), body.parameter(i + 1)->name());
      made->add_output(loop.output(i)->type(), loop.output(i)->name());
    }
    return made;
  };
  const auto values = [](const auto& owned, size_t from) {
    std::vector<Value*> out;
    for (size_t i = from; i < owned.size(); i++) out.push_back(owned[i].get());
    return out;
  };
  const auto finish = [](Block& inner, const std::vector<Value*>& carried) {
    for (Value* v : carried) inner.add_result(v);
  };
  Node* const first = like(rounds, {loop.inputs().begin() + 2, loop.inputs().end()});
  Block& inside = *first->blocks()[0];
  std::vector<Value*> carried = values(inside.parameters(), 1);
  for (int64_t k = 0; k < factor; k++) copy_body(body, zero, carried, inside.return_node());
  finish(inside, carried);
  Node* const rest = like(number(g, "aten::sub.int", trips, done, &loop), values(first->outputs(), 0));
  Block& left = *rest->blocks()[0];
  carried = values(left.parameters(), 1);
  copy_body(body, zero, carried, left.return_node());
  finish(left, carried);
  for (size_t i = 0; i < loop.outputs().size(); i++) loop.output(i)->replace_uses_with(rest->output(i));
  loop.erase();
}

size_t unroll_block_in_part(Block& block, const PartialUnrollOptions& options) {
  size_t changed = 0;
  for (Node* n = block.first(); n->kind() != NodeKind::Return;) {
    Node* after = n->next();
    for (const auto& b : n->blocks()) changed += unroll_block_in_part(*b, options);
    if (n->kind() == NodeKind::Loop && can_unroll_in_part(*n, options)) {
      unroll_in_part(*n, options.factor);
      changed++;
    }
    n = after;
  }
  return changed;
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
size_t unroll_loops_in_part(Graph& graph, const PartialUnrollOptions& options) { return unroll_block_in_part(graph.block(), options); }

}  // namespace cresset::graph
