// Operators that write in place, and those that give a new value instead.

#include <algorithm>

#include "cresset/graph/ir/alias.h"
#include "cresset/graph/script/passes.h"

namespace cresset::graph::script {

namespace {

// The operator of the same overload that gives a new value; null: there is none.
const dispatch::OpEntry* functional_of(const Node& n) {
  if (n.kind() != NodeKind::Op || !(n.op()->flags & dispatch::kInplaceOp)) return nullptr;
  const dispatch::FunctionSchema& from = n.op()->function_schema();
  for (const Candidate& c : find_candidates("aten::" + from.name.substr(0, from.name.size() - 1)))
    if (c.op && c.schema.overload == from.overload && c.schema.arguments.size() == from.arguments.size()) return c.op;
  return nullptr;
}
// The node of `block` that `n` is, or stands within; null: it stands elsewhere.
const Node* within(const Node* n, const Block& block) {
  while (n && &n->owner() != &block) n = n->owner().owner();
  return n;
}
bool is_after(const Node& n, const Node& other) {
  const Node* const here = within(&n, other.owner());
  for (const Node* at = other.next(); at && here; at = at->next())
    if (at == here) return true;
  return false;
}

// Whether a tensor is one that an operator of the block has made and no other value sees the memory of until the node writes to it.
bool is_own_until(const Value& v, const Node& write) {
  const Node* const made = v.node();
  if (!made || made->kind() != NodeKind::Op || &made->owner() != &write.owner() ||
      (made->op()->flags & (dispatch::kViewOp | dispatch::kInplaceOp | dispatch::kOutOp)))
    return false;
  for (size_t i = 0; i < made->outputs().size(); i++)
    if (aliased_input(*made, i) != kNoAlias) return false;
  return std::all_of(v.uses().begin(), v.uses().end(), [&](const Use& u) {
    if (u.node == &write || is_after(*u.node, write)) return true;
    return u.node->kind() == NodeKind::Op && !(u.node->op()->flags & (dispatch::kViewOp | dispatch::kInplaceOp));
  });
}

// The writes that `may` allows become operators whose value stands for the tensor from there on.
template <class May> size_t replace_writes(Graph& g, const May& may) {
  size_t changed = 0;
  std::vector<Node*> writes;
  g.for_each([&](Node& n) {
    if (functional_of(n)) writes.push_back(&n);
  });
  for (Node* n : writes) {
    Value* const target = n->input(0);
    if (!may(*target, *n)) continue;
    Node* const made = g.create(dispatch::OpHandle(functional_of(*n)), std::vector<Value*>(n->inputs().begin(), n->inputs().end()), n);
    made->set_location(n->location());
    made->output()->set_type(n->output()->type());
    for (const Use& u : std::vector<Use>(target->uses()))
      if (u.node != n && u.node != made && is_after(*u.node, *n)) u.node->set_input(u.input, made->output());
    n->output()->replace_uses_with(made->output());
    n->erase();
    changed++;
  }
  return changed;
}

const std::map<std::string_view, std::string_view>& activations() {
  static const auto* const names = new std::map<std::string_view, std::string_view>{{"aten::relu", "aten::relu_"},
                                                                                    {"aten::sigmoid", "aten::sigmoid_"},
                                                                                    {"aten::tanh", "aten::tanh_"},
                                                                                    {"aten::hardtanh", "aten::hardtanh_"},
                                                                                    {"aten::hardswish", "aten::hardswish_"},
                                                                                    {"aten::leaky_relu", "aten::leaky_relu_"},
                                                                                    {"aten::elu", "aten::elu_"},
                                                                                    {"aten::celu", "aten::celu_"},
                                                                                    {"aten::selu", "aten::selu_"},
                                                                                    {"aten::hardsigmoid", "aten::hardsigmoid_"},
                                                                                    {"aten::silu", "aten::silu_"},
                                                                                    {"aten::relu6", "aten::relu6_"}};
  return *names;
}

}  // namespace

size_t remove_own_writes(Graph& g) { return replace_writes(g, is_own_until); }
size_t remove_writes(Graph& g) {
  return replace_writes(g, [](const Value&, const Node&) { return true; });
}

size_t activate_in_place(Graph& g) {
  size_t changed = 0;
  std::vector<Node*> found;
  g.for_each([&](Node& n) {
    if (n.kind() == NodeKind::Op && activations().count("aten::" + n.op()->function_schema().name)) found.push_back(&n);
  });
  for (Node* n : found) {
    const Value* const input = n->input(0);
    if (input->uses().size() != 1 || !is_own_until(*input, *n)) continue;
    const std::string name(activations().at("aten::" + n->op()->function_schema().name));
    for (const Candidate& c : find_candidates(name)) {
      if (!c.op || c.schema.arguments.size() != n->inputs().size()) continue;
      Node* const made = g.create(dispatch::OpHandle(c.op), std::vector<Value*>(n->inputs().begin(), n->inputs().end()), n);
      made->set_location(n->location());
      n->output()->replace_uses_with(made->output());
      n->erase();
      changed++;
      break;
    }
  }
  return changed;
}

}  // namespace cresset::graph::script
