#include "cresset/graph/script/ir/rewrite.h"

#include <algorithm>

#include "cresset/graph/passes/passes.h"
#include "cresset/graph/script/ir/ir_text.h"
#include "cresset/graph/script/print.h"
#include "cresset/graph/script/schema.h"

namespace cresset::graph::script {

namespace {

bool has_attribute(const NodeView& view, const std::string& name, const Datum& value) {
  return std::any_of(view.attributes.begin(), view.attributes.end(),
                     [&](const auto& a) { return a.first == name && literal_text(a.second) == literal_text(value); });
}
// Whether the node's inputs from `count` on are what its operator takes where nothing is said.
bool are_defaults(const Node& n, const std::string& kind, const std::vector<size_t>& inputs, size_t count) {
  for (const Candidate& c : find_candidates(kind)) {
    if (n.kind() == NodeKind::Op ? c.op != n.op() : c.builtin != n.builtin()) continue;
    const auto is_default = [&](size_t i) {
      const Value* v = n.input(i);
      const auto& otherwise = i < c.schema.arguments.size() ? c.schema.arguments[i].default_value : std::nullopt;
      return v->is_constant() && otherwise && literal_text(*v->constant()) == literal_text(*otherwise);
    };
    return std::all_of(inputs.begin() + static_cast<ptrdiff_t>(count), inputs.end(), is_default);
  }
  return false;
}

std::optional<std::vector<Value*>> alike(const Node& pattern, const Node& n) {
  const NodeView view = view_of(n);
  std::vector<Value*> inputs;
  for (const size_t i : view.inputs) inputs.push_back(n.input(i));
  if (pattern.op_name() == "match::module") {
    const auto name = pattern.attributes().find("name");
    const bool is_module = view.kind == "prim::GetAttr" && n.output()->type().kind() == TypeKind::Class && name != pattern.attributes().end() &&
                           name->second.isString() && short_name(n.output()->type().name()) == name->second.to_string();
    return is_module ? std::optional(inputs) : std::nullopt;
  }
  const size_t wanted = pattern.inputs().size();
  if (view.kind != pattern.op_name() || wanted > inputs.size()) return std::nullopt;
  for (const auto& [name, value] : pattern.attributes())
    if (!has_attribute(view, name, value)) return std::nullopt;
  if (wanted < inputs.size() && !are_defaults(n, view.kind, view.inputs, wanted)) return std::nullopt;
  return inputs;
}

Node* copy_by_kind(Graph& g, const Node& from, const std::vector<Value*>& inputs, Node* place) {
  const std::string& kind = from.op_name();
  const std::vector<std::pair<std::string, Datum>> attributes(from.attributes().begin(), from.attributes().end());
  Node* made = nullptr;
  if (kind == "prim::TupleUnpack" || kind == "prim::ListUnpack") {
    made = g.create(NodeKind::Unpack, inputs, place);
  } else {
    try {
      made = create_by_kind(g, kind, inputs, attributes, place);
    } catch (const Error&) {  // an operator that there is none of
      made = g.create_foreign(kind, inputs, place);
      for (const auto& [name, value] : attributes) made->set_attribute(name, value);
    }
  }
  for (size_t i = made->outputs().size(); i < from.outputs().size(); i++) {
    const Type& type = from.output(i)->type();
    made->add_output(type.kind() == TypeKind::Any ? Type(TypeKind::Tensor) : type, from.output(i)->name());
  }
  return made;
}

// The node of each value of the pattern, as number of its nodes.
std::map<std::string, size_t> numbers_of_values(const Graph& pattern) {
  std::map<std::string, size_t> out;
  size_t number = 0;
  for (const auto& n : pattern.block().nodes()) {
    for (const auto& o : n->outputs()) out[o->name()] = number;
    number++;
  }
  return out;
}

class Replacement {
 public:
  Replacement(Graph& graph, const Graph& pattern, const Graph& replacement, const NamePairs& places) : graph_(graph), from_(replacement) {
    const std::map<std::string, size_t> numbers = numbers_of_values(pattern);
    for (const auto& [made, found] : places) {
      const auto at = numbers.find(found);
      CRESSET_CHECK_VALUE(at != numbers.end(), "rewrite: the pattern has no value %", found);
      places_[made] = at->second;
    }
  }

  std::vector<Value*> make(const Match& m, Node* place) const {
    std::unordered_map<Value*, Value*> made;
    for (size_t i = 0; i < m.parameters.size(); i++) made[from_.block().parameter(i)] = m.parameters[i];
    const auto value = [&](Value* v) {
      const auto found = made.find(v);
      if (found != made.end()) return found->second;
      Value* c = graph_.constant(*v->constant(), v->name());
      c->set_type(v->type());
      return made[v] = c;
    };
    for (const auto& n : from_.block().nodes()) {
      if (n->kind() == NodeKind::Return) break;
      std::vector<Value*> inputs;
      for (Value* v : n->inputs()) inputs.push_back(value(v));
      Node* copy = copy_by_kind(graph_, *n, inputs, place);
      CRESSET_CHECK_VALUE(copy->outputs().size() >= n->outputs().size(), "rewrite: ", n->op_name(), " has ", copy->outputs().size(), " results");
      const auto known = n->outputs().empty() ? places_.end() : places_.find(n->output(0)->name());
      copy->set_location((known == places_.end() ? place : m.nodes[known->second])->location());
      for (size_t i = 0; i < n->outputs().size(); i++) made[n->output(i)] = copy->output(i);
    }
    std::vector<Value*> results;
    for (Value* v : from_.block().results()) results.push_back(value(v));
    return results;
  }

 private:
  Graph& graph_;
  const Graph& from_;
  std::map<std::string, size_t> places_;
};

}  // namespace

size_t rewrite_by_text(Graph& graph, const std::string& pattern, const std::string& replacement, const NamePairs& places) {
  const std::unique_ptr<Graph> from = parse_pattern(pattern), to = parse_pattern(replacement);
  const auto inputs = [](const Graph& g) { return g.block().parameters().size(); };
  const auto results = [](const Graph& g) { return g.block().results().size(); };
  CRESSET_CHECK_VALUE(inputs(*from) == inputs(*to) && results(*from) == results(*to), "rewrite: the pattern has ", inputs(*from), " parameters and ",
                      results(*from), " results, the replacement ", inputs(*to), " and ", results(*to));
  const Replacement made(graph, *from, *to, places);
  return replace_matches(
      graph, find_matches(graph, *from, alike), [](const Match&) { return true; }, [&](const Match& m, Node* place) { return made.make(m, place); });
}

}  // namespace cresset::graph::script
