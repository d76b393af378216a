// Graphs of TorchScript before they run.

#include <algorithm>

#include "cresset/graph/ir/alias.h"
#include "cresset/graph/passes/passes.h"
#include "cresset/graph/script/passes.h"

namespace cresset::graph::script {

namespace {

bool is_builtin(const Node& n, std::string_view name) { return n.kind() == NodeKind::Builtin && n.builtin()->name == name; }
bool is_int(const Value& v, int64_t wanted) { return v.is_constant() && v.constant()->isInt() && v.constant()->toInt() == wanted; }

// Whether all that happens to a list is that it is read.
bool is_only_read(const Value& list) {
  return std::all_of(list.uses().begin(), list.uses().end(), [](const Use& u) {
    return u.node->kind() == NodeKind::Unpack || is_builtin(*u.node, "aten::__getitem__.t") || is_builtin(*u.node, "aten::len.t");
  });
}
// The place of an element that a constant names; -1: there is none.
int64_t place_of(const Value& index, size_t length) {
  if (!index.is_constant() || !index.constant()->isInt()) return -1;
  const auto n = static_cast<int64_t>(length);
  const int64_t i = index.constant()->toInt();
  return i >= -n && i < n ? (i < 0 ? i + n : i) : -1;
}

// The value that the node's only output is, found without running it; null: it has to run.
Value* known_result(Node& n) {
  if (n.kind() != NodeKind::Builtin) return nullptr;
  const std::string& name = n.builtin()->name;
  if (name == "aten::add.int" || name == "aten::sub.int") {
    if (is_int(*n.input(1), 0)) return n.input(0);
    return name == "aten::add.int" && is_int(*n.input(0), 0) ? n.input(1) : nullptr;
  }
  if (name == "aten::mul.int") return is_int(*n.input(1), 1) ? n.input(0) : is_int(*n.input(0), 1) ? n.input(1) : nullptr;
  if (name == "aten::mul.float") {
    const auto is_one = [](const Value& v) { return v.is_constant() && v.constant()->isDouble() && v.constant()->toDouble() == 1; };
    return is_one(*n.input(1)) ? n.input(0) : is_one(*n.input(0)) ? n.input(1) : nullptr;
  }
  if (name == "prim::unchecked_cast") return n.input(0);
  const Node* made = n.inputs().empty() ? nullptr : n.input(0)->node();
  if (!made) return nullptr;
  if (name == "prim::TupleIndex" && made->kind() == NodeKind::Tuple) {
    const int64_t at = place_of(*n.input(1), made->inputs().size());
    return at < 0 ? nullptr : made->input(static_cast<size_t>(at));
  }
  if (made->kind() != NodeKind::List || !is_only_read(*n.input(0))) return nullptr;
  if (name == "aten::len.t") return n.graph().constant(Datum(static_cast<int64_t>(made->inputs().size())));
  if (name != "aten::__getitem__.t") return nullptr;
  const int64_t at = place_of(*n.input(1), made->inputs().size());
  return at < 0 ? nullptr : made->input(static_cast<size_t>(at));
}

// A list of constant numbers that only operators read, which take it as they want it, is a constant.
bool becomes_constant(Node& n) {
  const Type& t = n.output()->type();
  if (t.kind() != TypeKind::List || n.output()->uses().empty()) return false;
  for (const Use& u : n.output()->uses())
    if (u.node->kind() != NodeKind::Op || u.node->op()->function_schema().arguments.at(u.input).writes) return false;
  const TypeKind element = t.elements()[0].kind();
  if (element != TypeKind::Int && element != TypeKind::Float) return false;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  for (const Value* v : n.inputs()) {
    if (!v->is_constant() || v->type().kind() != element) return false;
    if (element == TypeKind::Int && v->constant()->isInt()) ints.push_back(v->constant()->toInt());
    else if (element == TypeKind::Float && v->constant()->isDouble()) floats.push_back(v->constant()->toDouble());
    else return false;
  }
  Value* c = n.graph().constant(element == TypeKind::Int ? Datum(std::move(ints)) : Datum(std::move(floats)));
  c->set_type(t);
  n.output()->replace_uses_with(c);
  n.erase();
  return true;
}

size_t simplify(Node& n) {
  if (n.kind() == NodeKind::List) return becomes_constant(n) ? 1 : 0;
  if (n.kind() == NodeKind::Unpack) {
    const Node* made = n.input(0)->node();
    const bool known = made && made->inputs().size() == n.outputs().size() &&
                       (made->kind() == NodeKind::Tuple || (made->kind() == NodeKind::List && is_only_read(*n.input(0))));
    if (!known) return 0;
    for (size_t i = 0; i < n.outputs().size(); i++) n.output(i)->replace_uses_with(made->input(i));
    n.erase();
    return 1;
  }
  size_t changed = 0;
  if (n.kind() == NodeKind::If) {
    for (size_t i = 0; i < n.outputs().size(); i++) {
      Value* v = n.blocks()[0]->results()[i];
      if (v != n.blocks()[1]->results()[i] || n.output(i)->uses().empty()) continue;
      n.output(i)->replace_uses_with(v);
      changed++;
    }
    return changed;
  }
  Value* known = known_result(n);
  if (!known) return 0;
  n.output()->replace_uses_with(known);
  n.erase();
  return 1;
}

size_t simplify_block(Block& block) {
  size_t changed = 0;
  for (Node* n = block.first(); n->kind() != NodeKind::Return;) {
    Node* after = n->next();
    for (const auto& b : n->blocks()) changed += simplify_block(*b);
    changed += simplify(*n);
    n = after;
  }
  return changed;
}

}  // namespace

size_t peephole(Graph& graph) { return simplify_block(graph.block()); }
size_t fold_lists(Graph& graph) {
  size_t changed = 0;
  std::vector<Node*> lists;
  graph.for_each([&](Node& n) {
    if (n.kind() == NodeKind::List) lists.push_back(&n);
  });
  for (Node* n : lists) changed += becomes_constant(*n) ? 1 : 0;
  return changed;
}

size_t optimize(Graph& graph, bool unrolls_in_part) {
  size_t changed = 0;
  for (int round = 0; round < 4; round++) {
    const size_t now = unroll_loops(graph) + peephole(graph) + fold_builtins(graph);
    changed += now;
    if (now == 0) break;
  }
  if (unrolls_in_part) changed += unroll_loops_in_part(graph) + peephole(graph) + fold_builtins(graph);
  return changed + merge_common_subexpressions(graph) + remove_dead_code(graph);
}

}  // namespace cresset::graph::script
