#include "cresset/graph/script/ir/ir_text.h"

#include <algorithm>
#include <cctype>

#include "cresset/graph/onnx/export.h"
#include "cresset/graph/script/dtype_number.h"
#include "cresset/graph/script/lexer.h"
#include "cresset/graph/script/sugar.h"
#include "cresset/ops/functions.h"

namespace cresset::graph::script {

namespace {

const Type& inner_of(const Type& t) { return t.kind() == TypeKind::Optional ? t.elements()[0] : t; }

Value* constant_in(Graph& g, Datum v, const Type& type) {
  Value* c = g.constant(std::move(v));
  c->set_type(type);
  return c;
}

// Defaults complete `inputs`.
bool fits(Graph& g, const Schema& schema, std::vector<Value*>& inputs, std::map<std::string, Type>& bound) {
  if (inputs.size() > schema.arguments.size()) return false;
  for (size_t i = 0; i < schema.arguments.size(); i++) {
    const SchemaArgument& a = schema.arguments[i];
    if (i >= inputs.size()) {
      if (!a.default_value) return false;
      inputs.push_back(constant_in(g, *a.default_value, Type::of(*a.default_value)));
      continue;
    }
    Value*& v = inputs[i];
    if (has_variables(a.type) ? !match_type(a.type, v->type(), bound) : !is_subtype(v->type(), a.type)) return false;
    if (inner_of(a.type).kind() == TypeKind::DType && v->is_constant() && v->constant()->isInt())
      v = constant_in(g, Datum(dtype_of_number(v->constant()->toInt())), Type(TypeKind::DType));
  }
  return true;
}

// The parts of a list between its commas, but for those within brackets.
std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i <= list.size(); i++) {
    if (i < list.size() && list[i] != ',') {
      depth += list[i] == '[' || list[i] == '(' ? 1 : list[i] == ']' || list[i] == ')' ? -1 : 0;
      continue;
    }
    if (depth != 0 && i < list.size()) continue;
    std::string_view part = list.substr(from, i - from);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    from = i + 1;
  }
  return parts;
}

class IrParser {
 public:
  IrParser(const std::string& text, bool tensors, bool is_pattern)
      : tensors_(tensors), is_pattern_(is_pattern), source_(std::make_shared<Source>()), graph_(std::make_unique<Graph>("graph")) {
    source_->text = text;
    source_->file = "<graph>";
  }

  std::unique_ptr<Graph> graph() {
    expect("graph");
    parameters(graph_->block());
    expect(":");
    nodes(graph_->block(), "return");
    skip();
    if (at_ < text().size()) fail("expected the end of the graph");
    for (auto& [value, facts] : facts_) value->set_type(Type::tensor(std::move(facts)));
    return std::move(graph_);
  }

 private:
  using Operand = std::pair<Value*, size_t>;  // with where it stands
  struct Output {
    std::string name;
    std::optional<Type> type;
    size_t at;
    std::optional<TensorFacts> facts;
  };
  struct Attribute {
    std::string name;
    Datum value;
  };

  // The type of values of which the text says none.
  Type untyped() const { return is_pattern_ ? TypeKind::Any : TypeKind::Tensor; }
  const std::string& text() const { return source_->text; }
  [[noreturn]] void fail(const std::string& what) const { fail(what, at_); }
  [[noreturn]] void fail(const std::string& what, size_t at) const {
    const size_t start = std::min(at, text().empty() ? 0 : text().size() - 1);
    throw CompileError(what, {source_, start, std::min(start + 1, text().size())});
  }
  void skip() {
    while (at_ < text().size()) {
      if (std::isspace(static_cast<unsigned char>(text()[at_]))) at_++;
      else if (text()[at_] == '#') at_ = std::min(text().find('\n', at_), text().size());
      else return;
    }
  }
  char peek() {
    skip();
    return at_ < text().size() ? text()[at_] : '\0';
  }
  bool accept(std::string_view s) {
    skip();
    if (text().compare(at_, s.size(), s) != 0) return false;
    at_ += s.size();
    return true;
  }
  void expect(std::string_view s) {
    if (!accept(s)) fail(str("expected '", std::string(s), "'"));
  }
  // Letters, digits, dots and colons of operators.
  std::string word() {
    skip();
    const size_t start = at_;
    const auto goes_on = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':'; };
    while (at_ < text().size() && goes_on(text()[at_]) && !(text()[at_] == ':' && text().compare(at_, 2, "::") != 0 && text()[at_ - 1] != ':')) at_++;
    if (start == at_) fail("expected a name");
    return text().substr(start, at_ - start);
  }
  std::string value_name() {
    expect("%");
    const size_t start = at_;
    while (at_ < text().size() && (std::isalnum(static_cast<unsigned char>(text()[at_])) || text()[at_] == '_' || text()[at_] == '.')) at_++;
    if (start == at_) fail("expected the name of a value");
    return text().substr(start, at_ - start);
  }
  // Up to a comma, a closing bracket, an equals sign or the end of the line outside of brackets.
  Type type(std::optional<TensorFacts>* facts = nullptr) {
    skip();
    const size_t start = at_;
    int depth = 0;
    for (; at_ < text().size(); at_++) {
      const char c = text()[at_];
      if (depth == 0 && (c == ',' || c == ')' || c == '=' || c == '\n')) break;
      if (c == '(' || c == '[') depth++;
      if (c == ')' || c == ']') depth--;
    }
    std::string t = text().substr(start, at_ - start);
    while (!t.empty() && t.back() == ' ') t.pop_back();
    if (facts && (*facts = facts_of(t, start))) return TypeKind::Tensor;
    return type_in(t, start);
  }
  Type type_in(const std::string& t, size_t start) const {
    if (auto facts = facts_of(t, start)) return Type::tensor(std::move(*facts));
    const auto ends = [&](std::string_view s) { return t.size() > s.size() && t.compare(t.size() - s.size(), s.size(), s) == 0; };
    if (ends("[]")) return Type::list(type_in(t.substr(0, t.size() - 2), start));
    if (ends("?")) return Type::optional(type_in(t.substr(0, t.size() - 1), start));
    const size_t open = t.find_first_of("([");
    const std::string outer = t.substr(0, open);
    if (open != std::string::npos && ends(")") && (outer.empty() || outer == "Union" || outer == "Dict")) {
      std::vector<Type> parts;
      for (const std::string& part : parts_of(std::string_view(t).substr(open + 1, t.size() - open - 2))) parts.push_back(type_in(part, start));
      if (outer.empty()) return Type::tuple(std::move(parts));
      if (outer == "Union" && parts.size() > 1) return Type::union_of(std::move(parts));
      if (outer == "Dict" && parts.size() == 2) return Type::dict(parts[0], parts[1]);
    }
    try {
      const Type read = open != std::string::npos && t[open] == '[' ? type_of_text(t, nullptr) : schema_type(t);
      if (!has_variables(read)) return read;
    } catch (const Error&) {}
    fail(str("'", t, "' is no type"), start);
  }
  // Of "Float(2, *, strides=[3, 1], requires_grad=0, device=cpu)", "FloatTensor(device=cpu)" where no sizes are known, and "Tensor(2, *)" where no dtype is;
  // nothing for other texts.
  std::optional<TensorFacts> facts_of(const std::string& t, size_t start) const {
    const size_t open = std::min(t.find('('), t.size());
    if (open < t.size() && t.back() != ')') return std::nullopt;
    constexpr std::string_view kBare = "Tensor";
    std::string_view name = std::string_view(t).substr(0, open);
    const bool is_bare = name.size() >= kBare.size() && name.substr(name.size() - kBare.size()) == kBare;
    if (is_bare) name.remove_suffix(kBare.size());
    TensorFacts facts;
    for (int i = 0; i < static_cast<int>(ScalarType::Undefined) && !facts.dtype; i++)
      if (name == toString(static_cast<ScalarType>(i))) facts.dtype = static_cast<ScalarType>(i);
    if (!facts.dtype && !(is_bare && name.empty() && open < t.size())) return std::nullopt;
    if (!is_bare && open == t.size()) return std::nullopt;
    if (!is_bare) facts.sizes.emplace();
    const auto size = [&](const std::string& part) {
      if (part == "*") return Sym::unknown();
      const bool is_number = part.find_first_not_of("0123456789") == std::string::npos && part.size() < 19;
      if (is_number) return Sym(static_cast<int64_t>(std::stoll(part)));
      const std::string number = part.compare(0, 4, "SS(-") == 0 && part.back() == ')' ? part.substr(4, part.size() - 5) : "";
      if (number.empty() || number.size() > 18 || number.find_first_not_of("0123456789") != std::string::npos)
        fail(str("'", part, "' is no size, expected a number, * or SS(-1)"), start);
      return onnx::numbered_size(std::stoll(number));
    };
    for (const std::string& part : parts_of(open < t.size() ? std::string_view(t).substr(open + 1, t.size() - open - 2) : std::string_view())) {
      const size_t equals = part.find('=');
      const std::string name = part.substr(0, equals), value = equals == std::string::npos ? "" : part.substr(equals + 1);
      if (equals == std::string::npos) {
        if (!facts.sizes) facts.sizes.emplace();
        facts.sizes->push_back(size(part));
      } else if (name == "strides" && value.size() >= 2 && value.front() == '[' && value.back() == ']') {
        facts.strides.emplace();
        for (const std::string& s : parts_of(std::string_view(value).substr(1, value.size() - 2))) facts.strides->push_back(size(s));
      } else if (name == "requires_grad" && (value == "0" || value == "1")) {
        facts.requires_grad = value == "1";
      } else if (name == "device") {
        facts.device = Device(value);
      } else {
        fail(str("'", part, "' is nothing that types of tensors say; expected sizes, strides=[...], requires_grad=0 or 1, device=..."), start);
      }
    }
    const size_t count = facts.sizes ? facts.sizes->size() : 0;
    if (facts.strides && facts.strides->size() != count) fail(str("the tensor has ", count, " sizes and ", facts.strides->size(), " strides"), start);
    return facts;
  }
  Datum literal() {
    const char c = peek();
    const size_t start = at_;
    if (c == '"' || c == '\'') {
      for (at_++; at_ < text().size() && text()[at_] != c; at_++)
        if (text()[at_] == '\\') at_++;
      if (at_ >= text().size()) fail("the string has no end", start);
      at_++;
      return Datum(string_contents(std::string_view(text()).substr(start, at_ - start), {source_, start, at_}));
    }
    if (accept("[")) {
      std::vector<Datum> list;
      while (!accept("]")) {
        if (++depth_ > 100) fail("lists nest deeper than 100");
        list.push_back(literal());
        depth_--;
        if (!accept(",") && peek() != ']') fail("expected ',' or ']'");
      }
      const Type element = list.empty() ? Type() : Type::of(list[0]);
      return make_list(element_kind(element), std::move(list));
    }
    if (accept("annotate(")) {
      const Type t = type();
      expect(",");
      Datum v = literal();
      expect(")");
      return t.kind() == TypeKind::List && v.isList() ? make_list(element_kind(t.elements()[0]), v.toListVector()) : v;
    }
    if (c == '{') {
      if (!tensors_) fail("tensors among the constants are read where it is asked for", start);
      expect("{");
      const Datum number = literal();
      expect("}");
      return Datum(number.isInt() ? full({}, number.toInt(), TensorOptions(kLong)) : full({}, number.to_double(), TensorOptions(kFloat)));
    }
    for (const auto& [name, v] : {std::pair("None", Datum()), std::pair("True", Datum(true)), std::pair("False", Datum(false))})
      if (accept(name)) return v;
    while (at_ < text().size() &&
           (std::isalnum(static_cast<unsigned char>(text()[at_])) || std::string_view("+-.").find(text()[at_]) != std::string_view::npos))
      at_++;
    const std::string number = text().substr(start, at_ - start);
    size_t used = 0;
    try {
      if (number.find_first_of(".eni") == std::string::npos) {
        const Datum v(static_cast<int64_t>(std::stoll(number, &used)));
        if (used == number.size()) return v;
      } else {
        const Datum v(std::stod(number, &used));
        if (used == number.size()) return v;
      }
    } catch (const std::exception&) {}
    fail("expected a number, a string, a list, True, False or None", start);
  }
  Value* constant(Datum v, const std::optional<Type>& type = {}) {
    Value* c = graph_->constant(std::move(v));
    c->set_type(type ? *type : Type::of(*c->constant()));
    return c;
  }

  Value* named(const std::string& name, size_t at) const {
    const auto found = values_.find(name);
    if (found == values_.end()) fail(str("there is no value %", name), at);
    return found->second;
  }
  void define(const std::string& name, Value* v, size_t at) {
    if (!values_.emplace(name, v).second) fail(str("%", name, " is defined twice"), at);
    defined_.push_back(name);
  }
  void parameters(Block& block) {
    expect("(");
    while (!accept(")")) {
      const size_t at = at_;
      const std::string name = value_name();
      std::optional<TensorFacts> facts;
      const Type t = accept(":") ? type(&facts) : untyped();
      Value* const parameter = block.add_parameter(t, name);
      if (facts) facts_.emplace_back(parameter, std::move(*facts));
      define(name, parameter, at);
      if (!accept(",") && peek() != ')') fail("expected ',' or ')'");
    }
  }
  std::vector<Operand> operands() {
    std::vector<Operand> out;
    expect("(");
    while (!accept(")")) {
      skip();
      const size_t at = at_;
      if (peek() == '%') out.emplace_back(named(value_name(), at), at);
      else out.emplace_back(constant(literal()), at);
      if (!accept(",") && peek() != ')') fail("expected ',' or ')'");
    }
    return out;
  }
  // Until the results of the block, which stand behind `end`.
  void nodes(Block& block, std::string_view end) {
    if (++depth_ > 100) fail("blocks nest deeper than 100");
    const size_t outer = defined_.size();
    while (!accept(end)) {
      if (peek() == '\0') fail(str("expected '", std::string(end), "'"));
      node(block);
    }
    for (const Operand& o : operands()) block.add_result(o.first);
    // Names of a block end with it.
    while (defined_.size() > outer && &block != &graph_->block()) {
      values_.erase(defined_.back());
      defined_.pop_back();
    }
    depth_--;
  }

  void node(Block& block) {
    std::vector<Output> outputs;
    while (peek() == '%') {
      Output o;
      o.at = at_;
      o.name = value_name();
      if (accept(":")) o.type = type(&o.facts);
      outputs.push_back(std::move(o));
      if (!accept(",")) break;
    }
    if (!outputs.empty()) expect("=");
    else accept("=");  // before a node without results it may stand or not
    skip();
    const size_t at = at_;
    const std::string kind = word();
    std::vector<Attribute> attributes;
    if (accept("["))
      while (!accept("]")) {
        std::string name = word();
        expect("=");
        attributes.push_back({std::move(name), literal()});
        if (!accept(",") && peek() != ']') fail("expected ',' or ']'");
      }
    if (kind == "prim::Constant") return make_constant(attributes, outputs, at);
    Node* n =
        is_pattern_ || is_foreign(kind) ? make_foreign(block, kind, attributes, operands(), outputs) : make(block, kind, attributes, operands(), outputs, at);
    if (!outputs.empty() && n->outputs().size() != outputs.size())
      fail(str(kind, " has ", n->outputs().size(), " results, and the graph names ", outputs.size()), at);
    for (size_t i = 0; i < outputs.size(); i++) {
      if (outputs[i].type) n->output(i)->set_type(*outputs[i].type);
      if (outputs[i].facts) facts_.emplace_back(n->output(i), *outputs[i].facts);
      define(outputs[i].name, n->output(i), outputs[i].at);
    }
  }
  void make_constant(const std::vector<Attribute>& attributes, const std::vector<Output>& outputs, size_t at) {
    operands();
    if (outputs.size() != 1) fail("a constant has one value", at);
    Datum v;
    for (const Attribute& a : attributes) {
      if (a.name != "value") fail(str("a constant has no attribute ", a.name), at);
      v = a.value;
    }
    const Type t = outputs[0].type.value_or(Type::of(v));
    if (t.kind() == TypeKind::Bool && v.isInt()) v = Datum(v.toInt() != 0);
    if (t.kind() == TypeKind::Float && v.isInt()) v = Datum(static_cast<double>(v.toInt()));
    if (t.kind() == TypeKind::Device && v.isString()) v = Datum(Device(v.to_string()));
    if (!value_fits(v, t)) fail(str("the constant is no ", schema_type_text(t)), at);
    define(outputs[0].name, constant(v, t), outputs[0].at);
  }
  // Operators of other formats can be written and looked at, and not run.
  static bool is_foreign(const std::string& kind) {
    const size_t at = kind.find("::");
    if (at == std::string::npos || kind == "aten::ATen") return at != std::string::npos;
    const std::string space = kind.substr(0, at);
    return space != "aten" && space != "prim" && find_candidates(kind).empty() && !find_builtin(kind);
  }
  Node* make_foreign(Block& block, const std::string& kind, const std::vector<Attribute>& attributes, const std::vector<Operand>& operands,
                     const std::vector<Output>& outputs) {
    std::vector<Value*> inputs;
    for (const Operand& o : operands) inputs.push_back(o.first);
    Node* const n = graph_->create_foreign(kind, inputs, block.return_node());
    for (const Attribute& a : attributes) n->set_attribute(a.name, a.value);
    for (const Output& o : outputs) n->add_output(o.type.value_or(untyped()), o.name);
    for (int i = 0; accept("block" + std::to_string(i)); i++) {
      Block* inner = n->add_block();
      parameters(*inner);
      expect(":");
      nodes(*inner, "->");
    }
    return n;
  }
  Node* make(Block& block, const std::string& kind, const std::vector<Attribute>& attributes, const std::vector<Operand>& operands,
             const std::vector<Output>& outputs, size_t at) {
    std::vector<Value*> inputs;
    for (const Operand& o : operands) inputs.push_back(o.first);
    Node* const place = block.return_node();
    const auto structure = [&](NodeKind k) { return graph_->create(k, inputs, place); };
    if (kind == "prim::TupleUnpack" || kind == "prim::ListUnpack") {
      Node* n = structure(NodeKind::Unpack);
      for (const Output& o : outputs) n->add_output(o.type.value_or(TypeKind::Tensor), o.name);
      return n;
    }
    if (kind == "prim::If" || kind == "prim::Loop") {
      Node* n = structure(kind == "prim::If" ? NodeKind::If : NodeKind::Loop);
      for (const Output& o : outputs) n->add_output(o.type.value_or(TypeKind::Tensor), o.name);
      for (int i = 0; i < (n->kind() == NodeKind::If ? 2 : 1); i++) {
        expect("block" + std::to_string(i));
        Block* inner = n->add_block();
        parameters(*inner);
        expect(":");
        nodes(*inner, "->");
      }
      return n;
    }
    std::vector<std::pair<std::string, Datum>> named;
    for (const Attribute& a : attributes) named.emplace_back(a.name, a.value);
    try {
      return create_by_kind(*graph_, kind, std::move(inputs), named, place);
    } catch (const CompileError&) { throw; } catch (const Error& e) {
      fail(e.what(), at);
    }
  }

  bool tensors_, is_pattern_;
  std::shared_ptr<Source> source_;
  std::unique_ptr<Graph> graph_;
  size_t at_ = 0;
  int depth_ = 0;
  std::map<std::string, Value*> values_;
  std::vector<std::string> defined_;
  std::vector<std::pair<Value*, TensorFacts>> facts_;
};

}  // namespace

Node* create_by_kind(Graph& g, const std::string& kind, std::vector<Value*> inputs, const std::vector<std::pair<std::string, Datum>>& attributes, Node* place) {
  if (kind == "prim::ListConstruct") return g.create(NodeKind::List, inputs, place);
  if (kind == "prim::TupleConstruct") return g.create(NodeKind::Tuple, inputs, place);
  if (kind == "prim::DictConstruct") return g.create(NodeKind::Dict, inputs, place);
  for (const auto& [name, v] : attributes) {
    // Our builtins take names of attributes and methods behind the object.
    CRESSET_CHECK(name == "name" && !inputs.empty(), kind, ": the attribute ", name, " is unknown");
    inputs.insert(inputs.begin() + 1, constant_in(g, v, Type::of(v)));
  }
  const std::vector<Candidate>& candidates = find_candidates(kind);
  std::string tried;
  for (const Candidate& c : candidates) {
    std::map<std::string, Type> bound;
    std::vector<Value*> given = inputs;
    if (!fits(g, c.schema, given, bound)) {
      tried += "\n  " + c.schema.text();
      continue;
    }
    if (c.op) return g.create(dispatch::OpHandle(c.op), given, place);
    Node* n = g.create(*c.builtin, given, place);
    n->output()->set_type(c.schema.returns.empty()       ? Type(TypeKind::None)
                          : c.schema.returns.size() == 1 ? substitute(c.schema.returns[0], bound)
                                                         : substitute(Type::tuple(c.schema.returns), bound));
    return n;
  }
  if (const Builtin* b = candidates.empty() ? find_builtin(kind) : nullptr) {
    const int count = static_cast<int>(inputs.size());
    CRESSET_CHECK(count >= b->min_inputs && count <= b->max_inputs, kind, " does not take ", count, " values");
    return g.create(*b, inputs, place);
  }
  CRESSET_CHECK(!candidates.empty(), "there is no operator ", kind);
  std::string types;
  for (const Value* v : inputs) types += (types.empty() ? "" : ", ") + schema_type_text(v->type());
  CRESSET_CHECK(false, "no variant of ", kind, " takes (", types, "); there are", tried);
}

std::unique_ptr<Graph> parse_ir(const std::string& text, bool tensors) {
  register_builtins();
  auto graph = IrParser(text, tensors, false).graph();
  graph->verify();
  return graph;
}
std::unique_ptr<Graph> parse_pattern(const std::string& text) {
  register_builtins();
  return IrParser(text, false, true).graph();
}

Function* function_of_graph(CompilationUnit& unit, const std::string& name, const Graph& graph) {
  auto made = graph.clone();
  if (made->block().results().size() != 1) {
    std::vector<Value*> results = made->block().results();
    Node* tuple = made->create(NodeKind::Tuple, results);
    made->block().return_node()->remove_inputs();
    made->block().add_result(tuple->output());
  }
  Schema schema;
  for (const auto& p : made->block().parameters()) {
    SchemaArgument a;
    a.name = p->name();
    a.type = p->type().without_facts();
    schema.arguments.push_back(std::move(a));
  }
  schema.returns = {made->block().results()[0]->type().without_facts()};
  Function* f = unit.create_function(name, std::move(schema));
  f->graph = std::move(made);
  f->graph->set_name(f->name);
  f->graph->for_each([&](Node& n) {
    if (n.kind() != NodeKind::Call) return;
    Function* called = find_function(n.target());
    if (called && called->unit && called->unit != &unit) unit.uses.push_back(called->unit->shared_from_this());
  });
  return f;
}

}  // namespace cresset::graph::script
