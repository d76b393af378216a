// Dead code, common subexpressions, constants.

#include <algorithm>

#include "cresset/core/layers.h"
#include "cresset/graph/ir/alias.h"
#include "cresset/graph/ir/names.h"
#include "cresset/graph/passes/passes.h"
#include "cresset/graph/runtime/program.h"

namespace cresset::graph {

namespace {

bool is_used(const Node& n) {
  for (const auto& o : n.outputs())
    if (!o->uses().empty()) return true;
  return false;
}

// Results that nothing uses, with all that only they need.
size_t drop_branch_results(Node& n) {
  size_t changed = 0;
  for (size_t i = n.outputs().size(); i-- > 0;) {
    if (!n.output(i)->uses().empty()) continue;
    for (const auto& b : n.blocks()) {
      std::vector<Value*> kept = b->results();
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
      b->return_node()->remove_inputs();
      for (Value* v : kept) b->add_result(v);
    }
    n.remove_output(i);
    changed++;
  }
  return changed;
}

// From the end, so that what only dead nodes use is dead when its turn comes.
size_t remove_dead(Block& block) {
  size_t changed = 0;
  for (Node* n = block.return_node()->previous(); n;) {
    Node* before = n->previous();
    if (n->kind() == NodeKind::If) changed += drop_branch_results(*n);
    for (const auto& b : n->blocks()) changed += remove_dead(*b);
    if (!is_used(*n) && !has_side_effects(*n)) {
      n->erase();
      changed++;
    }
    n = before;
  }
  return changed;
}

}  // namespace

size_t remove_dead_code(Graph& graph) {
  const size_t changed = remove_dead(graph.block());
  graph.remove_unused_constants();
  return changed;
}

namespace {

// Equal texts mean equal computations: names of values are unique in a graph, and constants without names are their literals.
std::string computation(const Node& n) {
  std::string s = n.op_name() + "(";
  for (const Value* v : n.inputs()) {
    if (!v->is_constant()) s += "%" + v->name();
    else if (!v->name().empty()) s += "@" + v->name();
    else s += literal_text(*v->constant());
    s += ", ";
  }
  return s;
}

// Whether the node may change how others compute: the mode of gradients, say.
bool changes_modes(const Node& n) {
  if (n.kind() == NodeKind::Call || n.kind() == NodeKind::Foreign) return true;
  if (n.kind() == NodeKind::Builtin) return n.builtin()->has_effect() && n.builtin()->effect == Builtin::Effect::Anything && n.builtin()->name != "ir::check";
  for (const auto& b : n.blocks())
    for (const auto& inside : b->nodes())
      if (changes_modes(*inside)) return true;
  return false;
}

// Whether a program asks which object the value is.
bool is_told_apart(const Value& v) {
  return std::any_of(v.uses().begin(), v.uses().end(), [](const Use& u) {
    return u.node->kind() == NodeKind::Builtin && (u.node->builtin()->name == "aten::__is__" || u.node->builtin()->name == "aten::__isnot__");
  });
}

size_t merge(Block& block, const AliasSets& aliases, std::map<std::string, Node*>& seen) {
  size_t changed = 0;
  std::vector<std::string> added;
  for (Node* n = block.first(); n->kind() != NodeKind::Return;) {
    Node* after = n->next();
    const bool is_border = changes_modes(*n);
    if (is_border) seen.clear();
    for (const auto& b : n->blocks()) changed += merge(*b, aliases, seen);
    if (is_border) seen.clear();
    bool is_candidate = n->blocks().empty() && !n->outputs().empty() && n->kind() != NodeKind::Foreign && is_deterministic(*n);
    // A fresh tensor that is written later must stay one of its own, and a read before a write differs from one after it.
    for (const auto& o : n->outputs()) is_candidate = is_candidate && !aliases.is_written(o.get()) && !is_told_apart(*o);
    for (const Value* v : n->inputs()) is_candidate = is_candidate && !aliases.is_written(v) && !(v->is_constant() && v->constant()->object());
    // Those who get a list or dict may write it.
    const bool is_container = n->kind() == NodeKind::List || n->kind() == NodeKind::Dict;
    is_candidate = is_candidate && !(is_container && aliases.escapes(n->output()));
    if (is_candidate) {
      const auto [found, is_new] = seen.emplace(computation(*n), n);
      if (is_new) {
        added.push_back(found->first);
      } else {
        for (size_t i = 0; i < n->outputs().size(); i++) n->output(i)->replace_uses_with(found->second->output(i));
        n->erase();
        changed++;
      }
    }
    n = after;
  }
  for (const std::string& s : added) seen.erase(s);
  return changed;
}

}  // namespace

size_t merge_common_subexpressions(Graph& graph) {
  const AliasSets aliases(graph);
  std::map<std::string, Node*> seen;
  return merge(graph.block(), aliases, seen);
}

namespace {

bool is_known(const Value& v) {
  if (!v.is_constant()) return false;
  if (!v.type().is_tensor()) return true;
  return v.constant()->is_tensor() && v.constant()->to_tensor().defined() && !v.constant()->to_tensor().lacks_data();
}
bool is_small(const Datum& v, int64_t limit) {
  bool small = true;
  dispatch::for_each_tensor(v, [&](const Tensor& t) { small = small && t.numel() <= limit; });
  return small;
}
// Constants hold plain values and single tensors.
bool can_be_constant(const Datum& v) {
  return v.is_tensor() || !(v.object() || v.is<std::vector<Tensor>>() || v.is<std::vector<Datum::Optional>>() || v.is<Generator>());
}

// One branch instead of two.
void decide(Node& n, bool condition) {
  const Block& b = *n.blocks()[condition ? 0 : 1];
  while (b.first()->kind() != NodeKind::Return) b.first()->move_before(&n);
  for (size_t i = 0; i < n.outputs().size(); i++) n.output(i)->replace_uses_with(b.results()[i]);
  n.erase();
}

// Runs one node by itself.
bool fold(Node& n, const FoldOptions& options) {
  Graph alone("constant");
  std::vector<Datum> results;
  Node* copy = alone.copy(
      n,
      [&](Value* v) {
        Value* c = alone.constant(*v->constant(), v->name());
        return c;
      },
      alone.block().return_node());
  for (const auto& o : copy->outputs()) alone.block().add_result(o.get());
  try {
    const ExcludeLayers no_gradients(kAutogradLayer);
    results = Program(alone).run({});
  } catch (const Error&) {
    return false;  // it fails when it runs, if it runs
  }
  for (const Datum& r : results)
    if (!can_be_constant(r) || !is_small(r, options.max_elements)) return false;
  for (size_t i = 0; i < results.size(); i++) {
    Value* c = n.graph().constant(results[i], results[i].is_tensor() ? n.output(i)->name() : std::string());
    n.output(i)->replace_uses_with(c);
  }
  n.erase();
  return true;
}

size_t fold_block(Block& block, const AliasSets& aliases, const FoldOptions& options) {
  size_t changed = 0;
  for (Node* n = block.first(); n->kind() != NodeKind::Return;) {
    Node* after = n->next();
    for (const auto& b : n->blocks()) changed += fold_block(*b, aliases, options);
    if (n->kind() == NodeKind::If && n->input(0)->is_constant() && n->input(0)->constant()->is<bool>()) {
      Node* before = n->previous();
      decide(*n, n->input(0)->constant()->to_bool());
      changed++;
      n = before ? before->next() : block.first();
      continue;
    }
    bool is_candidate =
        (n->kind() == NodeKind::Op || n->kind() == NodeKind::Builtin || n->kind() == NodeKind::List) && !n->outputs().empty() && is_deterministic(*n);
    for (const Value* v : n->inputs()) is_candidate = is_candidate && is_known(*v) && !aliases.is_written(v);
    for (const auto& o : n->outputs()) is_candidate = is_candidate && !aliases.is_written(o.get()) && (options.folds_results || !aliases.escapes(o.get()));
    changed += is_candidate && fold(*n, options);
    n = after;
  }
  return changed;
}

}  // namespace

size_t fold_constants(Graph& graph, const FoldOptions& options) {
  const AliasSets aliases(graph);
  const size_t changed = fold_block(graph.block(), aliases, options);
  graph.remove_unused_constants();
  return changed;
}

}  // namespace cresset::graph
