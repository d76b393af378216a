#include "cresset/graph/ir/alias.h"

#include "cresset/dispatch/schema_text.h"
#include "cresset/dispatch/tags.h"

namespace cresset::graph {

namespace {

// Values that those who hold them share: a write through one is seen through the others.
bool is_shared(const Type& t) {
  switch (t.kind()) {
    case TypeKind::Tensor:
    case TypeKind::Any:
    case TypeKind::Class:
    case TypeKind::Future:
    case TypeKind::List:
    case TypeKind::Dict: return true;
    case TypeKind::Optional:
    case TypeKind::Tuple:
    case TypeKind::Union:
      for (const Type& e : t.elements())
        if (is_shared(e)) return true;
      return false;
    default: return false;
  }
}

bool takes_generator(const dispatch::OpEntry& op) {
  for (const dispatch::Argument& a : op.function_schema().arguments)
    if (a.type.kind == dispatch::TypeKind::Generator) return true;
  return false;
}
// Operators that draw numbers without an argument for the generator.
bool is_random(const dispatch::OpEntry& op) {
  if (takes_generator(op)) return true;
  const std::string_view name = op.function_schema().name;
  for (const std::string_view part : {"rand", "dropout", "bernoulli", "multinomial", "rrelu", "normal", "poisson"})
    if (name.find(part) != std::string_view::npos && name.find("layer_norm") == std::string_view::npos) {
      if (part == "normal" && name != "normal" && name != "log_normal" && name != "normal_functional") continue;
      return true;
    }
  return name == "scaled_dot_product_attention" || name == "gumbel_softmax";
}

}  // namespace

int aliased_input(const Node& n, size_t output) {
  if (!is_shared(n.output(output)->type())) return kNoAlias;
  switch (n.kind()) {
    case NodeKind::Op: break;
    case NodeKind::Builtin: {
      int found = kNoAlias;
      for (size_t i = 0; i < n.inputs().size(); i++)
        if (is_shared(n.input(i)->type())) found = found == kNoAlias ? static_cast<int>(i) : kAnyAlias;
      return found;
    }
    case NodeKind::Unpack: return 0;
    default: return kAnyAlias;
  }
  const dispatch::FunctionSchema& schema = n.op()->function_schema();
  if (schema.returns.at(output).aliases || schema.returns[output].writes) {
    int found = kNoAlias;
    for (size_t i = 0; i < schema.arguments.size(); i++)
      if (schema.arguments[i].aliases || schema.arguments[i].writes) {
        // Out-of-place results of several outputs stand in the order of their arguments.
        if (found != kNoAlias) return kAnyAlias;
        found = static_cast<int>(i);
      }
    return found == kNoAlias ? kAnyAlias : found;
  }
  // Bodies over other operators may give an argument back, whatever their schema says.
  if ((n.op()->flags & dispatch::kCompositeOp) || !n.op()->signature) return kAnyAlias;
  return (n.op()->flags & dispatch::kViewOp) ? 0 : kNoAlias;
}

bool writes_input(const Node& n, size_t input) {
  if (n.kind() == NodeKind::Op) return n.op()->function_schema().arguments.at(input).writes;
  if (n.kind() == NodeKind::Builtin) return n.builtin()->has_effect() && is_shared(n.input(input)->type());
  return (n.kind() == NodeKind::Call || n.kind() == NodeKind::Foreign) && is_shared(n.input(input)->type());
}

bool fills_own(const Node& node) {
  if (node.kind() != NodeKind::Op || node.inputs().empty()) return false;
  const Value* to = node.input(0);
  return to->node() && to->node()->kind() == NodeKind::Op && to->uses().size() == 1 && to->node()->op()->function_schema().name == "empty_like";
}

bool has_side_effects(const Node& n) {
  switch (n.kind()) {
    case NodeKind::Return:
    case NodeKind::Call:
    case NodeKind::Foreign: return true;
    case NodeKind::Builtin: return n.builtin()->has_effect();
    case NodeKind::Op:
      for (size_t i = 0; i < n.inputs().size(); i++)
        if (writes_input(n, i)) return true;
      // A draw moves the generator, so that what comes after it would differ.
      return is_random(*n.op()) || n.outputs().empty();
    default: break;
  }
  for (const auto& b : n.blocks())
    for (const auto& inside : b->nodes())
      if (inside->kind() != NodeKind::Return && has_side_effects(*inside)) return true;
  // A loop may have no end.
  return n.kind() == NodeKind::Loop && !n.input(0)->is_constant();
}

bool is_deterministic(const Node& n) { return n.kind() == NodeKind::Builtin ? n.builtin()->is_pure : !has_side_effects(n); }

AliasSets::AliasSets(const Graph& graph) {
  for (const auto& p : graph.block().parameters()) escaping_.insert(number(p.get()));
  for (const auto& c : graph.constants())
    if (c->type().is_tensor()) escaping_.insert(number(c.get()));
  visit(graph.block());
  for (const Value* v : graph.block().results()) escaping_.insert(number(v));
  const auto to_roots = [&](std::unordered_set<size_t>& set) {
    std::unordered_set<size_t> roots;
    for (const size_t i : set) roots.insert(root(i));
    set = std::move(roots);
  };
  to_roots(written_);
  to_roots(escaping_);
}

size_t AliasSets::root(size_t i) const {
  while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
  return i;
}
size_t AliasSets::number(const Value* v) {
  const auto [found, is_new] = numbers_.try_emplace(v, parents_.size());
  if (is_new) parents_.push_back(found->second);
  return found->second;
}
void AliasSets::join(const Value* a, const Value* b) {
  const size_t i = number(a), k = number(b);
  parents_[root(i)] = root(k);
}

void AliasSets::visit(const Block& block) {
  for (const auto& n : block.nodes()) {
    for (size_t i = 0; i < n->inputs().size(); i++)
      if (n->kind() != NodeKind::Return && writes_input(*n, i)) written_.insert(number(n->input(i)));
    for (size_t o = 0; o < n->outputs().size(); o++) {
      number(n->output(o));
      const int from = aliased_input(*n, o);
      if (from >= 0) join(n->output(o), n->input(static_cast<size_t>(from)));
      for (size_t i = 0; from == kAnyAlias && i < n->inputs().size(); i++)
        if (is_shared(n->input(i)->type())) join(n->output(o), n->input(i));
    }
    // A list that a value is put into gives that value out later.
    if (n->kind() == NodeKind::Builtin && n->builtin()->has_effect()) {
      const Value* first = nullptr;
      for (const Value* v : n->inputs()) {
        if (!is_shared(v->type())) continue;
        if (first) join(first, v);
        first = v;
      }
    }
    for (const auto& b : n->blocks()) {
      const size_t skip = n->kind() == NodeKind::Loop ? 1 : 0;
      for (size_t i = 0; skip && i < n->outputs().size(); i++) join(b->parameter(i + 1), n->input(i + 2));
      visit(*b);
      for (size_t i = 0; i < n->outputs().size() && i + skip < b->results().size(); i++) {
        join(n->output(i), b->results()[i + skip]);
        if (skip) join(b->parameter(i + 1), b->results()[i + skip]);
      }
    }
  }
}

size_t AliasSets::set_of(const Value* v) const {
  const auto found = numbers_.find(v);
  return found == numbers_.end() ? SIZE_MAX : root(found->second);
}
bool AliasSets::may_alias(const Value* a, const Value* b) const {
  const size_t i = set_of(a);
  return i != SIZE_MAX && i == set_of(b);
}
bool AliasSets::is_written(const Value* v) const { return written_.count(set_of(v)) != 0; }
bool AliasSets::escapes(const Value* v) const { return escaping_.count(set_of(v)) != 0; }

}  // namespace cresset::graph
