// Writes become values: a write to a tensor, also through a view of it, gives the tensor that all later reads see.

#include <algorithm>

#include "cresset/graph/ir/alias.h"
#include "cresset/graph/passes/passes.h"

namespace cresset::graph {

namespace {

// A value that is a view: how it comes from the tensor that owns the memory.
struct View {
  Value* root;
  std::vector<Node*> steps;
  size_t version;  // of the root, when `current` was made
  Value* current;
};

class Pass {
 public:
  explicit Pass(Graph& graph) : graph_(graph) {}

  size_t run() {
    block(graph_.block());
    // Parameters and constants that were written get their last values.
    for (Value* root : written_) {
      if (root->node()) continue;
      Value* now = current_.at(root);
      graph_.create("copy_", {root, now}, graph_.block().return_node());
      // A result that is the parameter itself stays that.
      for (size_t i = 0; i < graph_.block().results().size(); i++)
        if (graph_.block().results()[i] == now && returned_.count(i) && returned_.at(i) == root) graph_.block().return_node()->set_input(i, root);
    }
    return changed_;
  }

 private:
  [[noreturn]] void fail(const Node& n, const std::string& what) const {
    throw NotImplementedError(str("functionalize: graph ", graph_.name(), ", node ", n.text_name(), ": ", what));
  }

  View& view_of(Value* v) {
    const auto found = views_.find(v);
    if (found != views_.end()) return found->second;
    current_[v] = v;
    return views_[v] = {v, {}, 0, v};
  }
  // The value that `v` has now; made again by its views where its root has changed.
  Value* now(Value* v, Node* place) {
    const auto found = views_.find(v);
    if (found == views_.end()) return v;
    View& view = found->second;
    if (view.version == versions_[view.root]) return view.current;
    Value* t = current_.at(view.root);
    for (const Node* step : view.steps) t = again(*step, t, place);
    if (!view.steps.empty()) t->set_type(v->type());
    view.version = versions_[view.root];
    view.current = t;
    views_[t] = {view.root, view.steps, view.version, t};
    return t;
  }
  Value* again(const Node& step, Value* input, Node* place) {
    Node* n = graph_.copy(
        step, [&](Value* v) { return v == step.input(0) ? input : v; }, place);
    n->set_input(0, input);
    return n->output();
  }

  void block(Block& b) {
    for (Node* n = b.first(); n;) {
      Node* after = n->next();
      if (n->kind() == NodeKind::Return && !b.owner())
        for (size_t i = 0; i < n->inputs().size(); i++)
          if (views_.count(n->input(i))) returned_[i] = views_.at(n->input(i)).steps.empty() ? views_.at(n->input(i)).root : nullptr;
      for (size_t i = 0; i < n->inputs().size(); i++) n->set_input(i, now(n->input(i), n));
      node(*n);
      n = after;
    }
  }

  void node(Node& n) {
    if (!n.blocks().empty()) {
      for (const auto& b : n.blocks())
        for (const auto& inside : b->nodes())
          for (size_t i = 0; i < inside->inputs().size() && inside->kind() == NodeKind::Op; i++)
            if (writes_input(*inside, i)) fail(*inside, "writes within a branch or a loop are not supported");
      // Values that they read as they are now.
      for (const auto& b : n.blocks()) refresh(*b, n);
      return;
    }
    if (n.kind() == NodeKind::Call || n.kind() == NodeKind::Foreign) return;
    if (n.kind() != NodeKind::Op) return;
    const auto& arguments = n.op()->function_schema().arguments;
    const bool writes = std::any_of(arguments.begin(), arguments.end(), [](const auto& a) { return a.writes; });
    if (writes) return write(n);
    if ((n.op()->flags & dispatch::kViewOp) && n.outputs().size() == 1 && n.output()->type().is_tensor()) return look(n);
    for (size_t i = 0; i < n.outputs().size(); i++)
      if (n.op()->function_schema().returns[i].aliases) may_share_.emplace_back(n.output(i), &n);
  }
  void refresh(Block& b, Node& place) {
    for (const auto& n : b.nodes()) {
      for (size_t i = 0; i < n->inputs().size(); i++)
        if (views_.count(n->input(i))) n->set_input(i, now(n->input(i), &place));
      for (const auto& inside : n->blocks()) refresh(*inside, place);
    }
  }

  void look(Node& n) {
    const View base = view_of(n.input(0));
    std::vector<Node*> steps = base.steps;
    steps.push_back(&n);
    views_[n.output()] = {base.root, std::move(steps), versions_[base.root], n.output()};
  }

  // The operator of the same name that gives a new value.
  const dispatch::OpEntry* functional(const Node& n) const {
    if (n.op()->functional) return n.op()->functional;
    std::string name = n.op()->name;
    const std::string& base = n.op()->function_schema().name;
    if (base.empty() || base.back() != '_') return nullptr;
    name.erase(name.find(base) + base.size() - 1, 1);
    const dispatch::OpHandle op = dispatch::find_op_or_null(name);
    return op ? &op.entry() : nullptr;
  }
  void write(Node& n) {
    const auto& schema = n.op()->function_schema();
    if (!schema.arguments[0].writes || std::count_if(schema.arguments.begin(), schema.arguments.end(), [](const auto& a) { return a.writes; }) != 1)
      fail(n, "expected an operator that writes its first argument alone");
    if (n.op()->flags & dispatch::kViewOp) fail(n, "views that are made in place are not supported");
    const View view = view_of(n.input(0));
    check_sharing(n, view.root);
    Value* value = new_value(n);
    // Into the root, view by view.
    std::vector<Value*> inputs{current_.at(view.root)};
    for (size_t i = 0; i + 1 < view.steps.size(); i++) inputs.push_back(again(*view.steps[i], inputs.back(), &n));
    Value* whole = value;
    for (size_t i = view.steps.size(); i-- > 0;) whole = put_back(n, *view.steps[i], inputs[i], whole);
    if (std::find(written_.begin(), written_.end(), view.root) == written_.end()) written_.push_back(view.root);
    versions_[view.root]++;
    current_[view.root] = whole;
    views_[whole] = {view.root, {}, versions_[view.root], whole};
    views_[value] = {view.root, view.steps, versions_[view.root], value};
    views_[n.input(0)] = views_[value];
    // The operator returned its target.
    for (const auto& o : n.outputs()) o->replace_uses_with(value);
    n.erase();
    changed_++;
  }
  // The elements that the operator writes, in the dtype and shape of its target.
  Value* new_value(Node& n) {
    Value* old = n.input(0);
    Value* out;
    if (n.op()->function_schema().name == "copy_") {
      Node* shaped = graph_.create("expand_as", {graph_.create("to.other", {n.input(1), old}, &n)->output(), old}, &n);
      out = graph_.create("clone", {shaped->output()}, &n)->output();
    } else if (const auto& given = n.op()->function_schema().arguments; !functional(n) && given.back().name == "generator") {
      // Random numbers for all of its elements.
      std::vector<Value*> inputs = n.inputs();
      inputs[0] = graph_.create("empty_like", {old}, &n)->output();
      inputs[0]->set_type(old->type());
      out = graph_.create(dispatch::OpHandle(n.op()), inputs, &n)->output();
    } else {
      const dispatch::OpEntry* op = functional(n);
      if (!op) fail(n, "there is no operator of the same name that gives a new value");
      const auto& arguments = op->function_schema().arguments;
      std::vector<Value*> inputs = n.inputs();
      if (arguments.size() != inputs.size()) fail(n, str("expected ", inputs.size(), " arguments of ", op->name, ", which has ", arguments.size()));
      Node* made = graph_.create(dispatch::OpHandle(op), inputs, &n);
      made->set_location(n.location());
      // The target keeps its dtype.
      out = graph_.create("to.other", {made->output(), old}, &n)->output();
      const bool same = made->output()->type().is_tensor() && old->type().facts().dtype && keeps_dtype(n);
      if (same) {
        out->node()->erase();
        out = made->output();
      }
    }
    out->set_type(old->type().facts() == TensorFacts() ? Type(TypeKind::Tensor) : old->type());
    return out;
  }
  // All tensors have the target's dtype, so that nothing is promoted.
  static bool keeps_dtype(const Node& n) {
    const auto dtype = n.input(0)->type().facts().dtype;
    for (const Value* v : n.inputs())
      if (v->type().is_tensor() && v->type().facts().dtype != dtype) return false;
    return dtype && is_floating_type(*dtype);
  }

  // `whole` with the part that `step` looks at replaced.
  Value* put_back(Node& at, const Node& step, Value* whole, Value* part) {
    const std::string& name = step.op()->function_schema().name;
    const auto with = [&](const char* op) {
      std::vector<Value*> inputs{whole, part};
      inputs.insert(inputs.end(), step.inputs().begin() + 1, step.inputs().end());
      return graph_.create(op, std::move(inputs), &at)->output();
    };
    const auto from = [&](const char* op, std::vector<Value*> more) {
      more.insert(more.begin(), part);
      return graph_.create(op, std::move(more), &at)->output();
    };
    if (name == "select") return with("select_scatter");
    if (name == "slice") return with("slice_scatter");
    if (name == "diagonal") return with("diagonal_scatter");
    if (name == "transpose" || name == "swapaxes" || name == "swapdims") return from("transpose.int", {step.input(1), step.input(2)});
    if (name == "t") return from("t", {});
    if (name == "unsqueeze") return from("squeeze.dim", {step.input(1)});
    if (name == "alias" || name == "detach") return part;
    if (name == "view" || name == "squeeze" || name == "_unsafe_view") return from("view", {graph_.create("ir::sizes", {whole}, &at)->output()});
    if (name == "permute" && step.input(1)->is_constant()) {
      const std::vector<int64_t> dims = step.input(1)->constant()->to_int_list();
      std::vector<int64_t> inverse(dims.size());
      const auto n = static_cast<int64_t>(dims.size());
      for (size_t d = 0; d < dims.size(); d++) inverse[static_cast<size_t>(dims[d] < 0 ? dims[d] + n : dims[d])] = static_cast<int64_t>(d);
      return from("permute", {graph_.constant(inverse)});
    }
    fail(at, "a write through " + step.text_name() + ", a view without a known inverse");
  }

  // An operator that may or may not have given a view of this memory leaves it open what a write means.
  void check_sharing(const Node& n, const Value* root) {
    for (const auto& [value, node] : may_share_) {
      Value* source = node->input(0);
      const auto found = views_.find(source);
      const Value* base = found == views_.end() ? source : found->second.root;
      if (base == root || value == root) fail(n, "the tensor may share memory with %" + value->name() + ", made by " + node->text_name());
    }
  }

  Graph& graph_;
  std::unordered_map<Value*, View> views_;
  std::unordered_map<Value*, Value*> current_;
  std::unordered_map<Value*, size_t> versions_;
  std::vector<Value*> written_;
  std::vector<std::pair<Value*, Node*>> may_share_;
  std::unordered_map<size_t, Value*> returned_;
  size_t changed_ = 0;
};

}  // namespace

size_t functionalize(Graph& graph) { return Pass(graph).run(); }

size_t run_pass(Graph& graph, std::string_view name) {
  if (name == "dead") return remove_dead_code(graph);
  if (name == "common") return merge_common_subexpressions(graph);
  if (name == "constants") return fold_constants(graph);
  if (name == "shapes") return propagate_shapes(graph);
  if (name == "functional") return functionalize(graph);
  if (name == "unroll") return unroll_loops(graph);
  throw ValueError(str("run_pass: expected dead, common, constants, shapes or functional, got '", std::string(name), "'"));
}

}  // namespace cresset::graph
