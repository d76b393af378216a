// Graphs that hold together: an error names the graph and the node.

#include <algorithm>

#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& g) : graph_(g) {}

  void run() {
    for (const auto& c : graph_.constants())
      if (c->type().is_tensor()) facts(*c, nullptr);
    for (const auto& [name, range] : graph_.ranges())
      CRESSET_CHECK_VALUE(range.min <= range.max, "graph ", graph_.name(), ": the size ", name, " has the empty range [", range.min, ", ", range.max, "]");
    block(graph_.block());
  }

 private:
  template <class... Parts> void require(bool holds, const Node& n, const Parts&... parts) const {
    if (CRESSET_LIKELY(holds)) return;
    std::string at;
    if (const auto& l = n.location()) at = str(" (", l->file, ":", l->line, ")");
    throw ValueError(str("graph ", graph_.name(), ", node ", n.text_name(), at, ": ", parts...));
  }

  void facts(const Value& v, const Node* n) const {
    const TensorFacts& f = v.type().facts();
    const auto fail = [&](const std::string& what) {
      throw ValueError(str("graph ", graph_.name(), n ? ", node " + n->text_name() : std::string(), ": %", v.name(), " ", what, ": ", v.type().text()));
    };
    if (f.sizes && f.strides && f.sizes->size() != f.strides->size()) fail(str("has ", f.sizes->size(), " sizes and ", f.strides->size(), " strides"));
    if (!f.sizes) return;
    for (const Sym& s : *f.sizes)
      if (s.constant().value_or(0) < 0) fail("has a negative size");
  }

  void block(const Block& b) {
    for (const auto& p : b.parameters()) {
      facts(*p, b.owner());
      in_scope_.insert(p.get());
    }
    for (const auto& n : b.nodes()) {
      for (size_t i = 0; i < n->inputs().size(); i++) {
        const Value* v = n->input(i);
        require(&v->graph() == &graph_, *n, "input ", i, " (%", v->name(), ") belongs to another graph");
        require(v->is_constant() || in_scope_.count(v), *n, "input ", i, " (%", v->name(), ") is used before it is defined, or out of its block");
        const bool known = std::any_of(v->uses().begin(), v->uses().end(), [&](const Use& u) { return u.node == n.get() && u.input == i; });
        require(known, *n, "input ", i, " (%", v->name(), ") does not know of this use");
      }
      node(*n);
      for (const auto& o : n->outputs()) {
        facts(*o, n.get());
        in_scope_.insert(o.get());
      }
    }
    // Names of values in nested blocks end with them.
    for (const auto& n : b.nodes())
      for (const auto& o : n->outputs())
        if (b.owner()) in_scope_.erase(o.get());
    for (const auto& p : b.parameters())
      if (b.owner()) in_scope_.erase(p.get());
  }

  void counts(const Node& n, size_t outputs, size_t blocks) const {
    require(n.outputs().size() == outputs, n, "expected ", outputs, " outputs, got ", n.outputs().size());
    require(n.blocks().size() == blocks, n, "expected ", blocks, " blocks, got ", n.blocks().size());
  }
  void fits(const Node& n, const Value& v, const Type& expected, const std::string& what) const {
    if (!v.type().fits(expected)) require(false, n, what, " is ", v.type().text(), ", expected ", expected.text());
  }

  void op(const Node& n) const {
    const dispatch::FunctionSchema& schema = n.op()->function_schema();
    require(n.inputs().size() == schema.arguments.size(), n, "expected ", schema.arguments.size(), " inputs for ", n.op()->schema, ", got ", n.inputs().size());
    counts(n, schema.returns.size(), 0);
    for (size_t i = 0; i < schema.arguments.size(); i++)
      fits(n, *n.input(i), Type::of_schema(schema.arguments[i].type), "argument '" + schema.arguments[i].name + "'");
    for (size_t i = 0; i < schema.returns.size(); i++) {
      const Type returned = Type::of_schema(schema.returns[i].type);
      fits(n, *n.output(i), returned.is_tensor() ? Type::optional(returned) : returned, "output %" + n.output(i)->name());
    }
  }
  void builtin(const Node& n) const {
    const int count = static_cast<int>(n.inputs().size());
    require(count >= n.builtin()->min_inputs && count <= n.builtin()->max_inputs, n, "expected between ", n.builtin()->min_inputs, " and ",
            n.builtin()->max_inputs, " inputs, got ", count);
    require(n.outputs().size() <= 1, n, "expected at most 1 output, got ", n.outputs().size());
    if (!n.outputs().empty()) fits(n, *n.output(), n.builtin()->result, "output %" + n.output()->name());
    counts(n, n.outputs().size(), 0);
  }
  void branches(const Node& n) {
    require(n.inputs().size() == 1, n, "expected 1 input, the condition, got ", n.inputs().size());
    require(n.input(0)->type().is_tensor() || n.input(0)->type().fits(TypeKind::Bool), n, "the condition is ", n.input(0)->type().text(), ", expected bool");
    counts(n, n.outputs().size(), 2);
    for (const auto& b : n.blocks()) {
      require(b->parameters().empty(), n, "expected blocks without parameters, got ", b->parameters().size());
      block(*b);
      results(n, *b, 0);
    }
  }
  // Results of a block from `skip` on are the node's outputs.
  void results(const Node& n, const Block& b, size_t skip) const {
    require(b.results().size() == n.outputs().size() + skip, n, "a block has ", b.results().size(), " results, expected ", n.outputs().size() + skip);
    for (size_t i = 0; i < n.outputs().size(); i++) fits(n, *b.results()[i + skip], n.output(i)->type(), "result " + std::to_string(i + skip) + " of a block");
  }
  void loop(const Node& n) {
    const size_t carried = n.outputs().size();
    require(n.inputs().size() == carried + 2, n, "expected the number of trips, a condition and ", carried, " carried values, got ", n.inputs().size(),
            " inputs");
    fits(n, *n.input(0), TypeKind::Int, "the number of trips");
    fits(n, *n.input(1), TypeKind::Bool, "the condition");
    counts(n, carried, 1);
    const Block& b = *n.blocks()[0];
    require(b.parameters().size() == carried + 1, n, "the block has ", b.parameters().size(), " parameters, expected the trip's number and ", carried,
            " carried values");
    for (size_t i = 0; i < carried; i++) fits(n, *n.input(i + 2), b.parameter(i + 1)->type(), "carried value " + std::to_string(i));
    block(b);
    results(n, b, 1);
    for (size_t i = 0; i < carried; i++) fits(n, *b.results()[i + 1], b.parameter(i + 1)->type(), "carried value " + std::to_string(i));
    require(b.results()[0]->type().is_tensor() || b.results()[0]->type().fits(TypeKind::Bool), n, "the first result of the block is ",
            b.results()[0]->type().text(), ", expected bool");
  }

  void node(const Node& n) {
    switch (n.kind()) {
      case NodeKind::Op: return op(n);
      case NodeKind::Builtin: return builtin(n);
      case NodeKind::If: return branches(n);
      case NodeKind::Loop: return loop(n);
      case NodeKind::List:
        counts(n, 1, 0);
        require(n.output()->type().fits(Type::list(TypeKind::Any)), n, "the output is ", n.output()->type().text(), ", expected a list");
        for (const Value* v : n.inputs())
          if (n.output()->type().kind() == TypeKind::List) fits(n, *v, n.output()->type().elements()[0], "an element");
        return;
      case NodeKind::Tuple: {
        counts(n, 1, 0);
        const Type& t = n.output()->type();
        require(t.kind() == TypeKind::Any || t.kind() == TypeKind::Tuple, n, "the output is ", t.text(), ", expected a tuple");
        require(t.kind() == TypeKind::Any || t.elements().size() == n.inputs().size(), n, "the output has ", t.elements().size(), " elements, expected ",
                n.inputs().size());
        return;
      }
      case NodeKind::Dict:
        counts(n, 1, 0);
        return require(n.inputs().size() % 2 == 0, n, "expected keys and values in turn, got ", n.inputs().size(), " inputs");
      case NodeKind::Unpack:
        require(n.inputs().size() == 1, n, "expected 1 input, a list or a tuple, got ", n.inputs().size());
        return counts(n, n.outputs().size(), 0);
      case NodeKind::Return: return counts(n, 0, 0);
      case NodeKind::Call:
      case NodeKind::Foreign:
        for (const auto& b : n.blocks()) block(*b);
        return;
    }
  }

  const Graph& graph_;
  std::unordered_set<const Value*> in_scope_;
};

}  // namespace

void Graph::verify() const { Verifier(*this).run(); }

void Module::verify() const {
  for (const auto& g : graphs)
    g->for_each([&](Node& n) {
      if (n.kind() != NodeKind::Call) return;
      const Graph* called = find(n.target());
      const auto fail = [&](const std::string& what) { throw ValueError(str("graph ", g->name(), ", node ", n.text_name(), ": ", what)); };
      if (!called) fail("there is no graph @" + n.target());
      const size_t inputs = called->block().parameters().size(), outputs = called->block().results().size();
      if (n.inputs().size() != inputs || n.outputs().size() != outputs)
        fail(str("@", n.target(), " has ", inputs, " parameters and ", outputs, " results, got ", n.inputs().size(), " inputs and ", n.outputs().size(),
                 " outputs"));
    });
}

}  // namespace cresset::graph
