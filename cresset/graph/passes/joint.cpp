#include "cresset/graph/passes/joint.h"

#include <algorithm>
#include <limits>

#include "cresset/graph/ir/alias.h"
#include "cresset/transform/vmap_layer.h"

namespace cresset::graph {

namespace {

constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max() / 4;

// Dinic's algorithm: paths of shortest length, found level by level, until none is left.
class Flow {
 public:
  explicit Flow(size_t vertices) : heads_(vertices, kNone) {}

  void connect(size_t from, size_t to, int64_t capacity) {
    add(from, to, capacity);
    add(to, from, 0);
  }
  void run(size_t source, size_t sink) {
    while (find_levels(source, sink)) {
      next_ = heads_;
      push(source, sink);
    }
  }
  // Vertices from which the sink can still be reached.
  std::vector<bool> reaching(size_t sink) const {
    std::vector<bool> seen(heads_.size(), false);
    std::vector<size_t> todo = {sink};
    seen[sink] = true;
    while (!todo.empty()) {
      const size_t v = todo.back();
      todo.pop_back();
      for (size_t e = heads_[v]; e != kNone; e = edges_[e].next) {
        const size_t from = edges_[e].to;
        if (edges_[e ^ 1].left == 0 || seen[from]) continue;
        seen[from] = true;
        todo.push_back(from);
      }
    }
    return seen;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Edge {
    size_t to, next;
    int64_t left;
  };

  void add(size_t from, size_t to, int64_t capacity) {
    edges_.push_back({to, heads_[from], capacity});
    heads_[from] = edges_.size() - 1;
  }
  bool find_levels(size_t source, size_t sink) {
    level_.assign(heads_.size(), kNone);
    level_[source] = 0;
    std::vector<size_t> order = {source};
    for (size_t i = 0; i < order.size() && level_[sink] == kNone; i++) {
      for (size_t e = heads_[order[i]]; e != kNone; e = edges_[e].next) {
        if (edges_[e].left == 0 || level_[edges_[e].to] != kNone) continue;
        level_[edges_[e].to] = level_[order[i]] + 1;
        order.push_back(edges_[e].to);
      }
    }
    return level_[sink] != kNone;
  }
  // Fills every path of the levels; the path is a stack of edges, programs being deeper than the machine's stack.
  void push(size_t source, size_t sink) {
    std::vector<size_t> path;
    size_t at = source;
    for (;;) {
      if (at == sink) {
        int64_t amount = kInfinite;
        for (const size_t e : path) amount = std::min(amount, edges_[e].left);
        for (const size_t e : path) {
          edges_[e].left -= amount;
          edges_[e ^ 1].left += amount;
        }
        at = source;
        path.clear();
        continue;
      }
      size_t& e = next_[at];
      while (e != kNone && (edges_[e].left == 0 || level_[edges_[e].to] != level_[at] + 1)) e = edges_[e].next;
      if (e != kNone) {
        path.push_back(e);
        at = edges_[e].to;
        continue;
      }
      if (path.empty()) return;
      // A dead end: the edge that led here is done.
      const size_t back = path.back();
      path.pop_back();
      at = edges_[back ^ 1].to;
      next_[at] = edges_[next_[at]].next;
    }
  }

  std::vector<size_t> heads_, next_, level_;
  std::vector<Edge> edges_;
};

// Whether a forward value is read by backward, or is one of its results.
std::vector<bool> read_by_backward(const std::vector<JointValue>& values) {
  std::vector<bool> read(values.size());
  for (size_t v = 0; v < values.size(); v++) {
    if (values[v].needed) read[v] = true;
    for (const size_t from : values[v].inputs)
      if (!values[v].forward && values[from].forward) read[from] = true;
  }
  return read;
}

// By base name, besides views and pointwise rows.
bool is_plain(const std::string& name) {
  static const std::unordered_set<std::string> names = {"gelu",
                                                        "silu",
                                                        "mish",
                                                        "hardswish",
                                                        "_softmax",
                                                        "_log_softmax",
                                                        "_to_copy",
                                                        "_unsafe_view",
                                                        "amax",
                                                        "amin",
                                                        "any",
                                                        "all",
                                                        "arange",
                                                        "argmax",
                                                        "argmin",
                                                        "cat",
                                                        "clone",
                                                        "contiguous",
                                                        "copy",
                                                        "cumsum",
                                                        "empty_like",
                                                        "flip",
                                                        "full",
                                                        "full_like",
                                                        "gather",
                                                        "embedding",
                                                        "index_select",
                                                        "log_softmax",
                                                        "logsumexp",
                                                        "masked_fill",
                                                        "mean",
                                                        "new_full",
                                                        "new_zeros",
                                                        "ones",
                                                        "ones_like",
                                                        "prod",
                                                        "repeat",
                                                        "reshape",
                                                        "roll",
                                                        "scalar_tensor",
                                                        "softmax",
                                                        "sum",
                                                        "stack",
                                                        "std",
                                                        "tril",
                                                        "triu",
                                                        "var",
                                                        "var_mean",
                                                        "where",
                                                        "zeros",
                                                        "zeros_like",
                                                        "native_layer_norm",
                                                        "layer_norm",
                                                        "native_group_norm",
                                                        "group_norm",
                                                        "pad",
                                                        "constant_pad_nd"};
  return names.count(name) != 0;
}

}  // namespace

std::vector<size_t> choose_kept(const std::vector<JointValue>& values) {
  const std::vector<bool> read = read_by_backward(values);
  const size_t source = 2 * values.size(), sink = source + 1;
  Flow flow(sink + 1);
  for (size_t v = 0; v < values.size(); v++) {
    const JointValue& value = values[v];
    for (const size_t from : value.inputs) CRESSET_CHECK_VALUE(from < v, "choose_kept: value ", v, " is computed from value ", from, ", which comes later");
    if (!value.forward) continue;
    flow.connect(2 * v, 2 * v + 1, value.keep ? std::min(value.bytes, kInfinite / 2) : kInfinite);
    if (value.inputs.empty() || !value.recompute) flow.connect(source, 2 * v, kInfinite);
    if (value.recompute)
      for (const size_t from : value.inputs) flow.connect(2 * from + 1, 2 * v, kInfinite);
    if (read[v]) flow.connect(2 * v + 1, sink, kInfinite);
  }
  flow.run(source, sink);
  const std::vector<bool> after = flow.reaching(sink);
  std::vector<size_t> kept;
  for (size_t v = 0; v < values.size(); v++)
    if (values[v].forward && after[2 * v + 1] && !after[2 * v]) kept.push_back(v);
  return kept;
}

bool is_cheap(const dispatch::OpEntry& op) { return (op.flags & dispatch::kViewOp) != 0 || func::is_pointwise(op) || is_plain(op.function_schema().name); }

namespace {

class Split {
 public:
  Split(const Graph& joint, const SplitOptions& options) : joint_(joint), options_(options) {
    const Block& block = joint.block();
    CRESSET_CHECK(options.inputs <= block.parameters().size() && options.results <= block.results().size(), "split_joint: expected at most ",
                  block.parameters().size(), " inputs and ", block.results().size(), " results, got ", options.inputs, " and ", options.results);
    for (size_t i = 0; i < block.parameters().size(); i++) {
      JointValue& value = add(block.parameter(i));
      value.forward = i < options.inputs;
    }
    for (const auto& n : block.nodes())
      if (n->kind() != NodeKind::Return) visit(*n);
    for (size_t i = options.results; i < block.results().size(); i++)
      if (Value* v = block.results()[i]; !v->is_constant()) values_[numbers_.at(v)].needed = true;
  }

  Module run() {
    const std::vector<size_t> kept = options_.recompute ? choose_kept(values_) : all_read();
    Module m;
    m.graphs.push_back(forward(kept));
    m.graphs.push_back(backward(kept));
    m.verify();
    return m;
  }

 private:
  JointValue& add(const Value* v) {
    numbers_[v] = values_.size();
    of_.push_back(v);
    values_.emplace_back();
    JointValue& made = values_.back();
    made.keep = v->type().is_tensor();
    const auto bytes = v->type().is_tensor() ? v->type().facts().nbytes() : std::nullopt;
    made.bytes = bytes ? bytes->constant().value_or(1) : 1;
    return made;
  }

  void read_in(const Node& n, std::vector<size_t>& inputs) const {
    for (const Value* v : n.inputs())
      if (const auto found = numbers_.find(v); found != numbers_.end()) inputs.push_back(found->second);
    for (const auto& b : n.blocks())
      for (const auto& inside : b->nodes()) read_in(*inside, inputs);
  }

  void visit(const Node& n) {
    for (size_t i = 0; i < n.inputs().size(); i++)
      CRESSET_CHECK(!writes_input(n, i) || fills_own(n), "split_joint: node ", n.text_name(), " writes to its input ", i, "; functionalize the graph first");
    std::vector<size_t> inputs;
    read_in(n, inputs);
    const bool forward = std::all_of(inputs.begin(), inputs.end(), [&](size_t i) { return values_[i].forward; });
    const bool structure = n.kind() == NodeKind::List || n.kind() == NodeKind::Tuple || n.kind() == NodeKind::Unpack || n.kind() == NodeKind::Builtin;
    const bool cheap = structure || (n.kind() == NodeKind::Op && (options_.cheap ? options_.cheap(n) : is_cheap(*n.op())));
    for (const auto& o : n.outputs()) {
      JointValue& value = add(o.get());
      value.inputs = inputs;
      value.forward = forward;
      value.recompute = cheap && is_deterministic(n);
    }
  }

  std::vector<size_t> all_read() const {
    // Nodes that only backward needs run there; lists are made again of their elements.
    std::vector<JointValue> values = values_;
    std::vector<bool> leads(values.size());
    for (size_t i = 0; i < options_.results; i++)
      if (const auto found = numbers_.find(joint_.block().results()[i]); found != numbers_.end()) leads[found->second] = true;
    for (size_t v = values.size(); v-- > 0;) {
      // Results of one node are computed together.
      if (const Node* n = of_[v]->node())
        for (const auto& o : n->outputs()) leads[v] = leads[v] || leads[numbers_.at(o.get())];
      for (const size_t from : values[v].inputs) leads[from] = leads[from] || leads[v];
      values[v].forward = values[v].forward && (leads[v] || values[v].inputs.empty());
      values[v].recompute = !values[v].keep && values[v].recompute;
    }
    return choose_kept(values);
  }

  // Copies the nodes of `joint_` that `results` need, down to the values that have a place already.
  void fill(Graph& g, std::unordered_map<const Value*, Value*>& made, const std::vector<Value*>& results, bool draws = false) const {
    const auto map = [&](Value* v) {
      if (const auto found = made.find(v); found != made.end()) return found->second;
      CRESSET_CHECK(v->is_constant(), "split_joint: value ", v->name(), " is not there where it is read");
      Value* c = g.constant(*v->constant(), v->name());
      c->set_type(v->type());
      return made[v] = c;
    };
    std::unordered_set<const Node*> wanted;
    std::vector<const Node*> todo;
    const auto want = [&](const Value* v) {
      if (v->node() && !made.count(v) && wanted.insert(v->node()).second) todo.push_back(v->node());
    };
    for (const Value* v : results) want(v);
    // Random numbers are drawn in eager mode whether anything reads them or not.
    for (const auto& n : joint_.block().nodes())
      if (draws && n->kind() == NodeKind::Op && !n->outputs().empty() && !is_deterministic(*n) && values_[numbers_.at(n->output())].forward) want(n->output());
    while (!todo.empty()) {
      const Node* n = todo.back();
      todo.pop_back();
      std::vector<size_t> inputs;
      read_in(*n, inputs);
      for (const size_t i : inputs) want(of_[i]);
    }
    for (const auto& n : joint_.block().nodes()) {
      if (!wanted.count(n.get())) continue;
      Node* copy = g.copy(*n, map, g.block().return_node());
      for (size_t i = 0; i < n->outputs().size(); i++) made.emplace(n->output(i), copy->output(i));
    }
    for (Value* v : results) g.block().add_result(map(v));
  }

  std::unique_ptr<Graph> forward(const std::vector<size_t>& kept) const {
    auto g = std::make_unique<Graph>("forward");
    g->ranges() = joint_.ranges();
    std::unordered_map<const Value*, Value*> made;
    for (size_t i = 0; i < options_.inputs; i++) made[of_[i]] = g->add_parameter(of_[i]->type(), of_[i]->name());
    const auto& all = joint_.block().results();
    std::vector<Value*> results(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(options_.results));
    for (const size_t v : kept) results.push_back(const_cast<Value*>(of_[v]));
    fill(*g, made, results, true);
    return g;
  }
  std::unique_ptr<Graph> backward(const std::vector<size_t>& kept) const {
    auto g = std::make_unique<Graph>("backward");
    g->ranges() = joint_.ranges();
    std::unordered_map<const Value*, Value*> made;
    for (const size_t v : kept) made[of_[v]] = g->add_parameter(of_[v]->type(), of_[v]->name());
    for (size_t i = options_.inputs; i < joint_.block().parameters().size(); i++) made[of_[i]] = g->add_parameter(of_[i]->type(), of_[i]->name());
    const auto& all = joint_.block().results();
    fill(*g, made, std::vector<Value*>(all.begin() + static_cast<std::ptrdiff_t>(options_.results), all.end()));
    return g;
  }

  const Graph& joint_;
  const SplitOptions options_;
  std::vector<JointValue> values_;
  std::vector<const Value*> of_;
  std::unordered_map<const Value*, size_t> numbers_;
};

}  // namespace

Module split_joint(const Graph& joint, const SplitOptions& options) { return Split(joint, options).run(); }

}  // namespace cresset::graph
