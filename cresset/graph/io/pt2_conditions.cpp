#include "cresset/graph/io/pt2_conditions.h"

#include <algorithm>
#include <charconv>

#include "cresset/graph/io/json.h"

namespace cresset::graph {

namespace {

// ---- places -----------------------------------------------------------------------------------------------------------------

constexpr int kMaxDepth = 64;

std::string item(const Field::Json& key) {
  if (key.is_string()) return "['" + key.get<std::string>() + "']";
  return key.is_number_integer() ? "[" + std::to_string(key.get<int64_t>()) + "]" : "";
}

// The texts of the leaves below a node; `place` is null below nodes whose children have no text.
void leaves(const Field& node, const std::optional<std::string>& place, int depth, std::vector<std::string>& found) {
  if (depth > kMaxDepth) node.fail("is nested more than ", kMaxDepth, " deep");
  std::vector<Field> children;
  node.at("children_spec").each([&](const Field& child) { children.push_back(child); });
  if (!node.has("type") || (children.empty() && node.at("type").text() == "builtins.leaf")) return found.push_back(place.value_or(""));
  const std::string kind = node.at("type").text();
  const bool in_order = kind == "builtins.tuple" || kind == "builtins.list", by_key = kind == "builtins.dict" || kind == "collections.OrderedDict";
  Field::Json keys;
  if (by_key) keys = Field::Json::parse(node.at("context").text(), nullptr, false);
  const bool has_keys = keys.is_array() && keys.size() == children.size();
  for (size_t i = 0; i < children.size(); i++) {
    const std::string step = in_order ? "[" + std::to_string(i) + "]" : has_keys ? item(keys[i]) : "";
    leaves(children[i], place && !step.empty() ? std::optional(*place + step) : std::nullopt, depth + 1, found);
  }
}

// ---- text -------------------------------------------------------------------------------------------------------------------

class Reader {
 public:
  Reader(const std::string& text, const std::vector<std::string>& places) : text_(text), places_(places) { condition_.text = text; }

  Condition read() {
    condition_.holds = either();
    skip();
    if (at_ != text_.size() || condition_.holds.kind() != Kind::Bool) fail("a condition");
    return std::move(condition_);
  }

 private:
  [[noreturn]] void fail(const char* expected) const { throw ValueError(str("'", text_.substr(0, 200), "': expected ", expected, " at character ", at_)); }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') at_++;
  }
  bool take(std::string_view token) {
    skip();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    const size_t end = at_ + token.size();
    if (is_word(token.back()) && end < text_.size() && is_word(text_[end])) return false;
    at_ = end;
    return true;
  }
  void expect(const char* token) {
    if (!take(token)) fail(token);
  }
  static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
  std::string_view word() {
    skip();
    const size_t start = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.')) at_++;
    return std::string_view(text_).substr(start, at_ - start);
  }

  // From the loosest operators to the tightest, as Python's.
  Expr either() {
    if (++depth_ > kMaxDepth) fail("fewer than 64 nested parts");
    Expr e = both();
    while (take("or")) e = Expr::apply(Op::Or, {e, both()});
    depth_--;
    return e;
  }
  Expr both() {
    Expr e = negated();
    while (take("and")) e = Expr::apply(Op::And, {e, negated()});
    return e;
  }
  Expr negated() {
    bool is_negated = false;
    while (take("not")) is_negated = !is_negated;
    const Expr e = compared();
    return is_negated ? Expr::apply(Op::Not, {e}) : e;
  }
  std::optional<Op> comparison() {
    if (take("==")) return Op::Eq;
    if (take("!=")) return Op::Ne;
    if (take("<=")) return Op::Le;
    if (take(">=")) return Op::Ge;
    if (take("<")) return Op::Lt;
    return take(">") ? std::optional(Op::Gt) : std::nullopt;
  }
  Expr compared() {
    Expr left = sum();
    std::optional<Expr> all;
    while (const auto op = comparison()) {
      const Expr right = sum(), one = Expr::apply(*op, {left, right});
      all = all ? Expr::apply(Op::And, {*all, one}) : one;
      left = right;
    }
    return all.value_or(left);
  }
  Expr sum() {
    Expr e = product();
    for (;;) {
      if (take("+")) e = Expr::apply(Op::Add, {e, product()});
      else if (take("-")) e = Expr::apply(Op::Sub, {e, product()});
      else return e;
    }
  }
  Expr product() {
    Expr e = signed_();
    for (;;) {
      if (take("//")) e = Expr::apply(Op::FloorDiv, {e, signed_()});
      else if (take("*")) e = Expr::apply(Op::Mul, {e, signed_()});
      else if (take("/")) e = Expr::apply(Op::TrueDiv, {e, signed_()});
      else if (take("%")) e = Expr::apply(Op::Mod, {e, signed_()});
      else return e;
    }
  }
  Expr signed_() {
    bool is_negative = false;
    while (take("-")) is_negative = !is_negative;
    const Expr e = power();
    return is_negative ? Expr::apply(Op::Neg, {e}) : e;
  }
  Expr power() {
    const Expr base = atom();
    if (!take("**")) return base;
    if (++depth_ > kMaxDepth) fail("fewer than 64 nested parts");
    const Expr exponent = signed_();
    depth_--;
    return Expr::apply(Op::Pow, {base, exponent});
  }
  Expr atom() {
    if (take("(")) {
      const Expr e = either();
      expect(")");
      return e;
    }
    skip();
    if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') return number();
    if (take("L")) return size();
    return call();
  }
  Expr number() {
    const char *from = text_.data() + at_, *end = text_.data() + text_.size();
    int64_t whole = 0;
    const auto [stop, error] = std::from_chars(from, end, whole);
    const bool is_float = stop != end && (*stop == '.' || *stop == 'e');
    if (!is_float && error != std::errc()) fail("a number of 64 bits");
    if (!is_float) {
      at_ += static_cast<size_t>(stop - from);
      return whole;
    }
    double value = 0;
    at_ += static_cast<size_t>(std::from_chars(from, end, value).ptr - from);
    return Expr::number(value);
  }
  Expr call() {
    const std::string_view name = word();
    if (name == "True" || name == "False") return Expr::truth(name == "True");
    static constexpr std::pair<std::string_view, Op> kFunctions[] = {
        {"max", Op::Max},          {"min", Op::Min},        {"abs", Op::Abs},          {"float", Op::ToFloat}, {"round", Op::Round},
        {"math.floor", Op::Floor}, {"math.ceil", Op::Ceil}, {"math.trunc", Op::Trunc}, {"int", Op::Trunc},     {"math.sqrt", Op::Sqrt}};
    const auto found = std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const auto& f) { return f.first == name; });
    if (found == std::end(kFunctions)) fail("a number, a size or a function of numbers");
    expect("(");
    std::vector<Expr> arguments{either()};
    while (take(",")) arguments.push_back(either());
    expect(")");
    return Expr::apply(found->second, arguments);
  }

  // `['x'][0].size()[1]` behind the name of all arguments.
  Expr size() {
    std::string place;
    while (!take(".size()[")) place += step();
    const size_t dimension = index();
    const auto found = place.empty() ? places_.end() : std::find(places_.begin(), places_.end(), place);
    if (found == places_.end()) fail("an argument of the program");
    const size_t input = static_cast<size_t>(found - places_.begin());
    const std::string symbol = "size_" + std::to_string(input) + "_" + std::to_string(dimension);
    const auto same = [&](const Condition::Size& s) { return s.symbol == symbol; };
    if (std::none_of(condition_.sizes.begin(), condition_.sizes.end(), same)) condition_.sizes.push_back({symbol, input, dimension});
    return Expr::symbol(symbol, Kind::Int);
  }
  std::string step() {
    expect("[");
    skip();
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      const size_t end = text_.find(text_[at_], at_ + 1);
      if (end == std::string::npos) fail("a name between quotes");
      std::string key = "['" + text_.substr(at_ + 1, end - at_ - 1) + "']";
      at_ = end + 1;
      expect("]");
      return key;
    }
    return "[" + std::to_string(index()) + "]";
  }
  size_t index() {
    const Expr e = number();
    expect("]");
    const auto n = e.constant();
    if (!n || !std::holds_alternative<int64_t>(*n)) fail("an index");
    return static_cast<size_t>(std::get<int64_t>(*n));
  }

  const std::string& text_;
  const std::vector<std::string>& places_;
  Condition condition_;
  size_t at_ = 0;
  int depth_ = 0;
};

// ---- inputs -----------------------------------------------------------------------------------------------------------------

// One call's inputs beside the types that they should have.
class Inputs {
 public:
  Inputs(const std::vector<ExportedInput>& inputs, const std::vector<Datum>& given, const Graph& graph) : inputs_(inputs), given_(given), graph_(graph) {}

  void check() {
    for (size_t i = 0; i < inputs_.size(); i++) check_kind(i);
    each_size([&](size_t i, size_t d, const Sym& expected, int64_t n) { bind(i, d, expected, n); });
    each_size([&](size_t i, size_t d, const Sym& expected, int64_t n) { solve(i, d, expected, n); });
    each_size([&](size_t i, size_t d, const Sym& expected, int64_t n) {
      const auto size = expected.evaluate(sizes_);
      if (size && *size != n) fail(i, str("size ", *size, " in dimension ", d));
    });
  }
  void check(const Condition& condition) const {
    Bindings sizes;
    for (const Condition::Size& s : condition.sizes) {
      const Datum& value = given_[s.input];
      if (!value.is_tensor() || s.dimension >= static_cast<size_t>(value.to_tensor().dim())) return;
      sizes[s.symbol] = value.to_tensor().sizes()[s.dimension];
    }
    const auto holds = condition.holds.evaluate(sizes);
    if (!holds || !std::holds_alternative<bool>(*holds) || std::get<bool>(*holds)) return;
    std::string found;
    for (const Condition::Size& s : condition.sizes)
      found += str(found.empty() ? "" : ", ", "input '", inputs_[s.input].name, "' has size ", sizes[s.symbol], " in dimension ", s.dimension);
    throw ValueError(str("exported program: expected sizes with ", condition.text, "; ", found));
  }

 private:
  [[noreturn]] void fail(size_t i, const std::string& what) const {
    const Tensor& t = given_[i].to_tensor();
    throw ValueError(str("exported program: input '", inputs_[i].name, "': expected ", what, ", got ", t.scalar_type(), " of shape ", t.sizes(),
                         "; it was exported as ", inputs_[i].type.text()));
  }
  void check_kind(size_t i) const {
    if (!inputs_[i].type.is_tensor()) return;
    const TensorFacts& f = inputs_[i].type.facts();
    CRESSET_CHECK_TYPE(given_[i].is_tensor() && given_[i].to_tensor().defined(), "exported program: input '", inputs_[i].name, "': expected a tensor, got ",
                       given_[i].kind());
    const Tensor& t = given_[i].to_tensor();
    if (f.dtype && t.scalar_type() != *f.dtype) fail(i, std::string("dtype ") + dtype_name(*f.dtype));
    if (f.sizes && static_cast<size_t>(t.dim()) != f.sizes->size()) fail(i, str(f.sizes->size(), " dimensions"));
  }
  template <class F> void each_size(F&& visit) {
    for (size_t i = 0; i < inputs_.size(); i++) {
      if (!inputs_[i].type.is_tensor() || !inputs_[i].type.facts().sizes) continue;
      const auto& expected = *inputs_[i].type.facts().sizes;
      for (size_t d = 0; d < expected.size(); d++) visit(i, d, expected[d], given_[i].to_tensor().sizes()[d]);
    }
  }
  // Programs are captured for sizes from 2 on, and run with 0 and 1 too.
  bool is_in_range(const std::string& name, int64_t n) const {
    const auto range = graph_.ranges().find(name);
    return range == graph_.ranges().end() || (std::max<int64_t>(n, 2) >= range->second.min && n <= range->second.max);
  }
  void bind(size_t i, size_t d, const Sym& expected, int64_t n) {
    const auto name = expected.as_symbol();
    if (!name) return;
    const auto [at, is_new] = sizes_.emplace(*name, n);
    if (at->second != n) fail(i, str("size ", at->second, " in dimension ", d, ", the ", *name, " of another input"));
    if (is_in_range(*name, n)) return;
    const SymRange& range = graph_.ranges().at(*name);
    fail(i, str("a size from ", range.min, " to ", range.max, " in dimension ", d));
  }
  // A size a*s + b, whose symbol no other size gives.
  void solve(size_t i, size_t d, const Sym& expected, int64_t n) {
    std::vector<std::string> unknown = expected.symbols();
    unknown.erase(std::remove_if(unknown.begin(), unknown.end(), [&](const std::string& name) { return sizes_.count(name) != 0; }), unknown.end());
    if (unknown.size() != 1) return;
    const auto at = [&](int64_t value) {
      Bindings tried = sizes_;
      tried[unknown[0]] = value;
      return expected.evaluate(tried);
    };
    const auto b = at(0), one = at(1), two = at(2);
    if (!b || !one || !two || *two - *one != *one - *b || *one == *b) return;
    const int64_t a = *one - *b, value = (n - *b) / a;
    if (at(value) != n || value < 0 || !is_in_range(unknown[0], value)) {
      const auto range = graph_.ranges().find(unknown[0]);
      const std::string limits = range == graph_.ranges().end() ? "" : str(" from ", range->second.min, " to ", range->second.max);
      fail(i, str("size ", size_text(expected), " in dimension ", d, ", for a whole ", unknown[0], limits));
    }
    sizes_[unknown[0]] = value;
  }

  const std::vector<ExportedInput>& inputs_;
  const std::vector<Datum>& given_;
  const Graph& graph_;
  Bindings sizes_;
};

}  // namespace

std::vector<std::string> places_of(const std::string& tree, const std::vector<std::string>& argument_names) {
  std::vector<std::string> found;
  const Field::Json document = Field::Json::parse(tree, nullptr, false);
  if (!document.is_array() || document.size() != 2) return found;
  std::vector<Field> parts;
  Field(document[1], "in_spec").at("children_spec").each([&](const Field& part) { parts.push_back(part); });
  if (parts.size() != 2) return found;
  size_t i = 0;
  parts[0].at("children_spec").each([&](const Field& argument) {
    const std::string name = i < argument_names.size() ? argument_names[i] : "arg_" + std::to_string(i);
    leaves(argument, "['" + name + "']", 0, found);
    i++;
  });
  leaves(parts[1], "", 0, found);
  return found;
}

Condition read_condition(const std::string& text, const std::vector<std::string>& places) { return Reader(text, places).read(); }

void check_inputs(const std::vector<ExportedInput>& inputs, const std::vector<Datum>& given, const Graph& graph, const std::vector<Condition>& conditions) {
  Inputs call(inputs, given, graph);
  call.check();
  for (const Condition& condition : conditions) call.check(condition);
}

}  // namespace cresset::graph
