#include "cresset/graph/passes/describe.h"

#include <algorithm>

namespace cresset::graph {

namespace {

Sym product(const std::vector<Sym>& sizes) {
  Sym n = 1;
  for (const Sym& s : sizes) n = n * s;
  return n;
}
const std::vector<Sym>* sizes_of(const Node& n, size_t input) {
  if (input >= n.inputs().size()) return nullptr;
  const auto& sizes = n.input(input)->type().facts().sizes;
  return sizes ? &*sizes : nullptr;
}
Sym output_numel(const Node& n) { return n.outputs().empty() ? Sym::unknown() : n.output()->type().facts().numel().value_or(Sym::unknown()); }

// Of an operator whose result has an element for each row of `input`, which is summed over its last dimension.
Sym over_last_dimension(const Node& n, size_t input) {
  const auto* sizes = sizes_of(n, input);
  return sizes && !sizes->empty() ? output_numel(n) * sizes->back() : Sym::unknown();
}
Sym convolution(const Node& n) {
  const auto* weight = sizes_of(n, 1);
  if (!weight || weight->size() < 2) return Sym::unknown();
  Sym taps = 1;
  for (size_t d = 1; d < weight->size(); d++) taps = taps * (*weight)[d];
  return output_numel(n) * taps;
}
Sym transposed_convolution(const Node& n) {
  const auto *input = sizes_of(n, 0), *weight = sizes_of(n, 1);
  if (!input || !weight || weight->size() < 2) return Sym::unknown();
  Sym taps = 1;
  for (size_t d = 1; d < weight->size(); d++) taps = taps * (*weight)[d];
  return product(*input) * taps;
}
// Scores and their sums of values.
Sym attention(const Node& n) {
  const auto *query = sizes_of(n, 0), *key = sizes_of(n, 1), *value = sizes_of(n, 2);
  if (!query || !key || !value || query->size() < 2 || key->size() < 2 || value->size() < 2) return Sym::unknown();
  const Sym keys = (*key)[key->size() - 2];
  Sym rows = 1;
  for (size_t d = 0; d + 1 < query->size(); d++) rows = rows * (*query)[d];
  return rows * keys * (query->back() + value->back());
}

Sym macs_of(const Node& n) {
  if (n.kind() != NodeKind::Op) return 0;
  const std::string& name = n.op()->function_schema().name;
  if (name == "linear" || name == "matmul" || name == "mm" || name == "bmm" || name == "mv" || name == "dot") return over_last_dimension(n, 0);
  if (name == "addmm" || name == "baddbmm" || name == "addmv") return over_last_dimension(n, 1);
  if (name == "conv1d" || name == "conv2d" || name == "conv3d") return convolution(n);
  if (name == "convolution") {
    const Datum* transposed = n.input(6)->constant();
    return transposed && transposed->is<bool>() && transposed->to_bool() ? transposed_convolution(n) : convolution(n);
  }
  if (name == "conv_transpose1d" || name == "conv_transpose2d" || name == "conv_transpose3d") return transposed_convolution(n);
  if (name == "scaled_dot_product_attention") return attention(n);
  return 0;
}

Sym bytes_of(const Value& v) {
  if (!v.type().is_tensor()) return 0;
  return v.type().facts().nbytes().value_or(Sym::unknown());
}

}  // namespace

NodeCost cost_of(const Node& n) {
  NodeCost cost;
  if (n.kind() != NodeKind::Op || (n.op()->flags & dispatch::kViewOp)) return cost;
  cost.macs = macs_of(n);
  std::vector<const Value*> read;
  for (const Value* v : n.inputs()) {
    if (std::find(read.begin(), read.end(), v) != read.end()) continue;
    read.push_back(v);
    cost.bytes = cost.bytes + bytes_of(*v);
  }
  for (const auto& o : n.outputs()) cost.bytes = cost.bytes + bytes_of(*o);
  return cost;
}

namespace {

struct Table {
  std::vector<std::array<std::string, 5>> rows;
  Sym macs = 0, bytes = 0;
  size_t unknown = 0, nodes = 0;

  void add(const Block& b, const std::string& indent) {
    for (const auto& n : b.nodes()) {
      if (n->kind() == NodeKind::Return) break;
      const NodeCost cost = cost_of(*n);
      nodes++;
      unknown += !cost.macs.is_known() || !cost.bytes.is_known();
      if (cost.macs.is_known()) macs = macs + cost.macs;
      if (cost.bytes.is_known()) bytes = bytes + cost.bytes;
      std::string names, types;
      for (const auto& o : n->outputs()) {
        names += (o->index() ? ", %" : "%") + o->name();
        types += (o->index() ? ", " : "") + o->type().text();
      }
      const bool counts = n->kind() == NodeKind::Op;
      rows.push_back({indent + names, n->op_name(), types, counts && !(cost.macs == Sym(0)) ? cost.macs.text() : "", counts ? cost.bytes.text() : ""});
      for (const auto& inside : n->blocks()) add(*inside, indent + "  ");
    }
  }
  std::string text() const {
    size_t width[5] = {};
    for (const auto& row : rows)
      for (size_t c = 0; c < 5; c++) width[c] = std::min<size_t>(std::max(width[c], row[c].size()), 60);
    std::string s;
    for (const auto& row : rows) {
      std::string line;
      for (size_t c = 0; c < 5; c++) {
        const size_t fill = width[c] - std::min(width[c], row[c].size());
        line += c >= 3 ? std::string(fill, ' ') + row[c] : row[c] + std::string(fill, ' ');
        line += "  ";
      }
      s += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return s;
  }
};

}  // namespace

std::string describe(const Graph& graph) {
  std::string s = "graph " + graph.name() + "\n";
  for (const auto& p : graph.block().parameters()) s += "  input %" + p->name() + ": " + p->type().text() + "\n";
  Sym weights = 0;
  size_t count = 0;
  for (const auto& c : graph.constants()) {
    if (!c->type().is_tensor()) continue;
    count++;
    weights = weights + bytes_of(*c);
  }
  s += "  " + std::to_string(count) + " weights, " + weights.text() + " bytes\n";
  for (const auto& [name, range] : graph.ranges())
    s += "  " + name + " from " + std::to_string(range.min) + (range.max == SymRange::kNoBound ? std::string() : " to " + std::to_string(range.max)) + "\n";
  Table table;
  table.rows.push_back({"node", "operator", "result", "MACs", "bytes"});
  table.add(graph.block(), "");
  s += table.text();
  s += "results:";
  for (const Value* v : graph.block().results())
    s += v->is_constant() ? v->name().empty() ? " " + literal_text(*v->constant()) : " @" + v->name() : " %" + v->name();
  s += "\ntotal: " + std::to_string(table.nodes) + " nodes, " + table.macs.text() + " MACs, " + table.bytes.text() + " bytes";
  if (table.unknown) s += ", and " + std::to_string(table.unknown) + " nodes of unknown sizes";
  return s + "\n";
}

namespace {

std::string escaped(const std::string& text) {
  std::string s;
  for (const char c : text) {
    if (c == '"' || c == '\\') s += '\\';
    s += c;
  }
  return s;
}

class Drawing {
 public:
  explicit Drawing(const Graph& graph) {
    text_ = "digraph \"" + escaped(graph.name()) + "\" {\n  node [shape=box];\n";
    block(graph.block(), "return");
    text_ += "}\n";
  }
  std::string take() { return std::move(text_); }

 private:
  void block(const Block& b, const std::string& end) {
    for (const auto& p : b.parameters())
      text_ += "  \"%" + escaped(p->name()) + "\" [shape=ellipse, label=\"" + escaped(p->name() + "\n" + p->type().text()) + "\"];\n";
    for (const auto& n : b.nodes()) node(*n, end);
  }
  void node(const Node& n, const std::string& end) {
    // Nodes without results are told apart by their place.
    std::string id = n.kind() == NodeKind::Return ? end : n.outputs().empty() ? n.op_name() + " " + std::to_string(nameless_++) : "%" + n.output()->name();
    const std::string type = n.outputs().empty() ? "" : "\\n" + escaped(n.output()->type().text());
    text_ += "  \"" + escaped(id) + "\" [label=\"" + escaped(n.op_name()) + type + "\"];\n";
    for (const Value* v : n.inputs()) {
      if (v->is_constant()) continue;
      const std::string from = v->node() ? "%" + v->node()->output()->name() : "%" + v->name();
      text_ += "  \"" + escaped(from) + "\" -> \"" + escaped(id) + "\";\n";
    }
    for (size_t i = 0; i < n.blocks().size(); i++) block(*n.blocks()[i], "return " + std::to_string(i) + " of " + id);
  }

  std::string text_;
  size_t nameless_ = 0;
};

}  // namespace

std::string dot(const Graph& graph) { return Drawing(graph).take(); }

}  // namespace cresset::graph
