#include "cresset/graph/codegen/copies.h"

#include <algorithm>

#include "cresset/autograd/grad_mode.h"
#include "cresset/core/layers.h"
#include "cresset/graph/codegen/nodes.h"
#include "cresset/graph/ir/alias.h"

namespace cresset::graph {

namespace {

std::optional<DimVector> numbers_of(const std::vector<Sym>& list) {
  DimVector out;
  for (const Sym& s : list) {
    if (!s.constant()) return std::nullopt;
    out.push_back(*s.constant());
  }
  return out;
}
bool lies_alike(const Value* a, const Value* b) {
  if (!is_plain(a) || !is_plain(b)) return false;
  const TensorFacts &f = a->type().facts(), &g = b->type().facts();
  return *f.dtype == *g.dtype && *f.sizes == *g.sizes && *f.strides == *g.strides;
}
// Views whose first element is that of their input.
bool is_reshape(const Node& n) {
  static constexpr std::string_view kNames[] = {"transpose.int", "permute", "unsqueeze", "squeeze", "squeeze.dim", "squeeze.dims", "t", "view"};
  return std::find(std::begin(kNames), std::end(kNames), name_of(n)) != std::end(kNames);
}
bool is_view(const Node& n) { return is_reshape(n) || name_of(n) == "select.int" || name_of(n) == "slice.Tensor" || name_of(n) == "expand"; }
bool is_dense_copy(const Node& n) {
  if (name_of(n) != "clone" || !n.input(1)->is_constant() || !n.input(1)->constant()->is<MemoryFormat>()) return false;
  return n.input(1)->constant()->to_memory_format() == MemoryFormat::Contiguous;
}
bool is_join(const Node& n) { return name_of(n) == "stack" || name_of(n) == "cat"; }
bool is_attention(const Node& n) { return name_of(n) == "_attention" || name_of(n) == "_attention_backward"; }

const Value* root_of(const Value* v) {
  while (v->node() && is_view(*v->node())) v = v->node()->input(0);
  return v;
}
bool is_returned(const Value* v) {
  return std::any_of(v->uses().begin(), v->uses().end(), [](const Use& u) {
    return u.node->kind() == NodeKind::Return ||
           (u.node->kind() == NodeKind::Op && (u.node->op()->flags & dispatch::kViewOp) && is_returned(u.node->output(0)));
  });
}

class Remover {
 public:
  explicit Remover(Graph& graph) : graph_(graph) {}

  size_t run() {
    for (const auto& n : graph_.block().nodes()) {
      if (!n->blocks().empty()) return 0;
      for (size_t i = 0; i < n->inputs().size(); i++)
        if (writes_input(*n, i) && !fills_own(*n)) return 0;
    }
    const autograd::AutoGradMode off(false);
    const ExcludeLayers no_gradients(kAutogradLayer);
    each("add.Tensor", [&](Node& n) { join_scatters(n); });
    each("clone", [&](Node& n) { leave_to_readers(n); });
    each("clone", [&](Node& n) { drop_if_alike(n); });
    each("clone", [&](Node& n) { stack_in_order(n); });
    each("", [&](Node& n) { cancel(n); });
    sweep();
    return removed_;
  }

 private:
  template <class F> void each(std::string_view name, F&& use) {
    std::vector<Node*> found;
    for (const auto& n : graph_.block().nodes())
      if (n->kind() == NodeKind::Op && (name.empty() || name_of(*n) == name)) found.push_back(n.get());
    for (Node* n : found) use(*n);
  }
  // Nodes of these kinds that nothing reads.
  void sweep() {
    std::vector<Node*> nodes;
    for (const auto& n : graph_.block().nodes()) nodes.push_back(n.get());
    for (size_t i = nodes.size(); i-- > 0;) {
      Node& n = *nodes[i];
      const bool ours = is_view(n) || name_of(n) == "clone" || name_of(n) == "zeros" || name_of(n) == "select_scatter" || name_of(n) == "slice_scatter" ||
                        name_of(n) == "add.Tensor" || name_of(n) == "stack";
      if (!ours || !n.output()->uses().empty()) continue;
      n.erase();
      removed_++;
    }
  }

  // ---- types ------------------------------------------------------------------------------------------------------------------

  static std::optional<Datum> example(const Value* v) {
    if (!v->type().is_tensor()) {
      if (v->is_constant()) return *v->constant();
      if (!v->node() || v->node()->kind() != NodeKind::List) return std::nullopt;
      std::vector<Tensor> list;
      for (const Value* item : v->node()->inputs()) {
        const auto t = example(item);
        if (!t || !t->is_tensor()) return std::nullopt;
        list.push_back(t->to_tensor());
      }
      return Datum(std::move(list));
    }
    if (!is_plain(v)) return std::nullopt;
    const TensorFacts& f = v->type().facts();
    const auto sizes = numbers_of(*f.sizes), strides = numbers_of(*f.strides);
    if (!sizes || !strides) return std::nullopt;
    return Datum(cresset::empty_strided(*sizes, *strides, TensorOptions().dtype(*f.dtype).device(Device(kMeta))));
  }
  // The types of a node's results, found by a call on tensors without data; nothing where that cannot be.
  static std::optional<std::vector<Type>> types_of(const Node& n) {
    dispatch::Stack stack;
    for (const Value* v : n.inputs()) {
      auto value = example(v);
      if (!value) return std::nullopt;
      stack.push_back(std::move(*value));
    }
    try {
      dispatch::call_boxed(*n.op(), stack);
    } catch (const std::exception&) {
      return std::nullopt;  // a view that these strides do not allow
    }
    std::vector<Type> types;
    for (size_t i = 0; i < stack.size(); i++) {
      if (!stack[i].is_tensor() || !stack[i].to_tensor().defined() || i >= n.outputs().size()) return std::nullopt;
      TensorFacts facts = n.output(i)->type().facts();
      const TensorFacts found = TensorFacts::of(stack[i].to_tensor());
      facts.sizes = found.sizes;
      facts.strides = found.strides;
      types.push_back(Type::tensor(std::move(facts)));
    }
    return types;
  }

  // ---- copies -----------------------------------------------------------------------------------------------------------------

  // All readers of a value, through views: false where one is none of those that take any strides and give dense results.
  static bool gather_readers(Value* v, std::vector<Node*>& views, std::vector<Node*>& ends) {
    if (v->uses().empty()) return false;
    for (const Use& u : v->uses()) {
      Node* const n = u.node;
      if (is_view(*n) && u.input == 0) {
        if (std::find(views.begin(), views.end(), n) != views.end()) continue;
        views.push_back(n);
        if (!gather_readers(n->output(), views, ends)) return false;
        continue;
      }
      if (n->kind() == NodeKind::List) {
        for (const Use& other : n->output()->uses())
          if (!is_join(*other.node)) return false;
          else ends.push_back(other.node);
        continue;
      }
      if (!is_dense_copy(*n) && !is_attention(*n)) return false;
      ends.push_back(n);
    }
    return true;
  }

  // A copy whose readers copy as well: they read its input.
  void leave_to_readers(Node& n) {
    Value *const out = n.output(), *const in = n.input(0);
    if (!is_plain(out) || !is_plain(in)) return;
    std::vector<Node*> views, ends;
    if (!gather_readers(out, views, ends)) return;
    std::vector<std::pair<Value*, Type>> before;
    const Type own = out->type();
    out->set_type(in->type());
    bool fits = true;
    for (Node* view : views) {
      const auto types = types_of(*view);
      if (!(fits = types && types->size() == 1)) break;
      before.emplace_back(view->output(), view->output()->type());
      view->output()->set_type((*types)[0]);
    }
    for (size_t i = 0; i < ends.size() && fits; i++) {
      if (is_attention(*ends[i])) continue;  // its results have strides of their own
      const auto types = types_of(*ends[i]);
      fits = types && types->size() == 1 && (*types)[0] == ends[i]->output()->type();
    }
    if (!fits) {
      for (auto& [value, type] : before) value->set_type(type);
      out->set_type(own);
      return;
    }
    out->replace_uses_with(in);
  }

  void drop_if_alike(Node& n) {
    if (!lies_alike(n.output(), n.input(0))) return;
    const Value* const root = root_of(n.input(0));
    const bool shared = !root->node() || root->is_constant() || (root->node()->kind() == NodeKind::Op && (root->node()->op()->flags & dispatch::kViewOp));
    // Results have memory of their own.
    if (is_returned(n.output()) && (shared || is_returned(root))) return;
    n.output()->replace_uses_with(n.input(0));
  }

  // A dense copy of a stack whose dimensions were put in another order: the parts are stacked in that order.
  void stack_in_order(Node& n) {
    if (!is_dense_copy(n) || !is_plain(n.input(0))) return;
    const Value* v = n.input(0);
    while (v->uses().size() == 1 && v->node() && is_reshape(*v->node())) v = v->node()->input(0);
    const Node* const stack = v->node();
    if (!stack || name_of(*stack) != "stack" || v->uses().size() != 1 || !is_plain(v) || stack->input(0)->node()->kind() != NodeKind::List) return;
    const auto along = integer(stack->input(1));
    const auto sizes = numbers_of(shape_of(v)), strides = numbers_of(*v->type().facts().strides);
    const auto wanted = numbers_of(shape_of(n.input(0))), steps = numbers_of(*n.input(0)->type().facts().strides);
    if (!along || !sizes || !strides || !wanted || !steps || wanted->size() != sizes->size()) return;
    const size_t rank = sizes->size(), first = static_cast<size_t>(*along < 0 ? *along + static_cast<int64_t>(rank) : *along);
    std::vector<int64_t> order;  // of the parts' dimensions
    size_t place = rank;
    std::vector<bool> taken(rank);
    for (size_t p = 0; p < rank; p++) {
      size_t d = 0;
      while (d < rank && (taken[d] || (*sizes)[d] != (*wanted)[p] || (*strides)[d] != (*steps)[p])) d++;
      if (d == rank) return;
      taken[d] = true;
      if (d == first) place = p;
      else order.push_back(static_cast<int64_t>(d < first ? d : d - 1));
    }
    std::vector<Value*> parts;
    std::vector<Node*> made;
    bool fits = true;
    for (Value* part : stack->input(0)->node()->inputs()) {
      made.push_back(graph_.create("permute", {part, graph_.constant(Datum(order))}, &n));
      made.back()->output()->set_type(part->type());
      const auto types = types_of(*made.back());
      if (!(fits = types.has_value())) break;
      made.back()->output()->set_type((*types)[0]);
      parts.push_back(made.back()->output());
    }
    if (fits) {
      made.push_back(graph_.create(NodeKind::List, std::move(parts), &n));
      made.back()->output()->set_type(Type::list(TypeKind::Tensor));
      made.push_back(graph_.create("stack", {made.back()->output(), graph_.constant(Datum(static_cast<int64_t>(place)))}, &n));
      made.back()->output()->set_type(n.output()->type());
      const auto types = types_of(*made.back());
      fits = types && (*types)[0] == n.output()->type();
    }
    if (fits) {
      n.output()->replace_uses_with(made.back()->output());
      return;
    }
    for (size_t i = made.size(); i-- > 0;) made[i]->erase();
  }

  // A view that lies as what it is a view of.
  void cancel(Node& n) {
    if (!is_reshape(n)) return;
    for (const auto& u : n.output()->uses())
      if (u.node->kind() == NodeKind::Return) return;
    Value* source = n.output();
    while (source->node() && is_reshape(*source->node())) {
      source = source->node()->input(0);
      if (!lies_alike(source, n.output())) continue;
      n.output()->replace_uses_with(source);
      return;
    }
  }

  // ---- sums -------------------------------------------------------------------------------------------------------------------

  struct Piece {
    int64_t begin, end;
    Value* value;
  };
  static bool is_sum(const Node& n) {
    return name_of(n) == "add.Tensor" && n.input(2)->is_constant() && n.input(2)->constant()->is_number() && n.input(2)->constant()->to_scalar().is(1);
  }
  static std::optional<int64_t> integer(const Value* v) {
    return v->is_constant() && v->constant()->is<int64_t>() ? std::optional<int64_t>(v->constant()->to_int()) : std::nullopt;
  }

  // The pieces of a sum of tensors that are zeros but for one slice each; all lie along `dim`.
  bool pieces_of(const Value* v, bool is_top, std::optional<int64_t>& dim, std::optional<bool>& selects, std::vector<Piece>& pieces) const {
    const Node* n = v->node();
    if (!n || !is_plain(v) || (!is_top && v->uses().size() != 1)) return false;
    if (is_sum(*n)) return pieces_of(n->input(0), false, dim, selects, pieces) && pieces_of(n->input(1), false, dim, selects, pieces);
    const bool select = name_of(*n) == "select_scatter";
    if (!select && name_of(*n) != "slice_scatter") return false;
    const Value *zeros = n->input(0), *piece = n->input(1);
    if (!zeros->node() || name_of(*zeros->node()) != "zeros" || !is_plain(piece) || !lies_alike(zeros, v)) return false;
    auto along = integer(n->input(2));
    if (!along) return false;
    const auto rank = static_cast<int64_t>(shape_of(v).size());
    *along += *along < 0 ? rank : 0;
    const auto length = shape_of(v)[static_cast<size_t>(*along)].constant();
    if (!length || dim.value_or(*along) != *along || selects.value_or(select) != select) return false;
    dim = along;
    selects = select;
    const auto bound = [&](const Value* x, int64_t otherwise) -> std::optional<int64_t> {
      if (x->is_constant() && x->constant()->is_none()) return otherwise;
      const auto i = integer(x);
      return i ? std::optional<int64_t>(std::clamp<int64_t>(*i + (*i < 0 ? *length : 0), 0, *length)) : std::nullopt;
    };
    const auto begin = bound(n->input(3), 0);
    if (!begin) return false;
    if (!select && integer(n->input(5)) != std::optional<int64_t>(1)) return false;
    const auto end = select ? std::optional<int64_t>(*begin + 1) : bound(n->input(4), *length);
    if (!end || *end <= *begin) return false;
    pieces.push_back({*begin, *end, const_cast<Value*>(piece)});
    return true;
  }

  void join_scatters(Node& n) {
    if (!is_sum(n) || n.output()->uses().empty()) return;
    const std::vector<Use>& uses = n.output()->uses();
    if (uses.size() == 1 && is_sum(*uses[0].node)) return;  // a part of a larger sum
    std::optional<int64_t> dim;
    std::optional<bool> selects;
    std::vector<Piece> pieces;
    if (!pieces_of(n.output(), true, dim, selects, pieces)) return;
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
    int64_t at = 0;
    for (const Piece& p : pieces) {
      if (p.begin != at) return;
      at = p.end;
    }
    if (at != shape_of(n.output())[static_cast<size_t>(*dim)].constant()) return;
    std::vector<Value*> values;
    for (const Piece& p : pieces) values.push_back(p.value);
    Node* const list = graph_.create(NodeKind::List, std::move(values), &n);
    list->output()->set_type(Type::list(TypeKind::Tensor));
    Node* const joined = graph_.create(*selects ? "stack" : "cat", {list->output(), graph_.constant(Datum(*dim))}, &n);
    const auto types = types_of(*joined);
    joined->output()->set_type(n.output()->type());
    if (!types || types->size() != 1 || (*types)[0].facts().sizes != n.output()->type().facts().sizes ||
        (*types)[0].facts().strides != n.output()->type().facts().strides) {
      joined->erase();
      list->erase();
      return;
    }
    n.output()->replace_uses_with(joined->output());
  }

  Graph& graph_;
  size_t removed_ = 0;
};

}  // namespace

size_t remove_copies(Graph& graph) { return Remover(graph).run(); }

}  // namespace cresset::graph
