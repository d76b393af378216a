#include "cresset/graph/symbolic/expr.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "cresset/base/error.h"

namespace cresset::graph {

namespace {

constexpr const char* kNames[] = {"constant", "symbol", "add",  "sub",   "mul",   "truediv", "floordiv", "mod",    "pow",   "neg",    "abs",    "max",
                                  "min",      "floor",  "ceil", "trunc", "round", "float",   "sqrt",     "cos",    "sin",   "tan",    "cosh",   "sinh",
                                  "tanh",     "acos",   "asin", "atan",  "log2",  "exp",     "log",      "bitand", "bitor", "bitxor", "lshift", "rshift",
                                  "eq",       "ne",     "lt",   "le",    "gt",    "ge",      "and",      "or",     "not",   "ite"};

std::string number_text(double v) {
  char text[32];
  snprintf(text, sizeof(text), "%.17g", v);
  for (int digits = 1; digits < 17; digits++) {
    char shorter[32];
    snprintf(shorter, sizeof(shorter), "%.*g", digits, v);
    if (strtod(shorter, nullptr) == v) {
      std::copy(std::begin(shorter), std::end(shorter), text);
      break;
    }
  }
  std::string s = text;
  return std::isfinite(v) && s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}

// An operation within a polynomial that polynomials do not have.
class TreeFunction final : public SymFunction {
 public:
  explicit TreeFunction(Expr e) : expr_(std::move(e)) {}
  const Expr& expr() const { return expr_; }
  std::string text() const override { return expr_.text(); }
  std::optional<int64_t> evaluate(const Bindings& bindings) const override {
    const auto value = expr_.evaluate(bindings);
    if (!value) return std::nullopt;
    return std::holds_alternative<bool>(*value) ? int64_t{std::get<bool>(*value)} : std::get<int64_t>(*value);
  }
  std::vector<std::string> symbols() const override { return expr_.symbols(); }
  Sym substitute(std::string_view name, const Sym& by) const override {
    std::vector<Expr> arguments;
    for (const Expr& e : expr_.arguments()) arguments.push_back(e.substitute(name, by));
    return Expr::apply(expr_.op(), arguments).integer();
  }

 private:
  Expr expr_;
};

std::optional<int64_t> truncated(double v) {
  if (!(v >= -9.2e18 && v <= 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(v);
}

std::optional<Number> compute_integers(Op op, int64_t a, int64_t b) {
  int64_t out;
  switch (op) {
    case Op::Add: return __builtin_add_overflow(a, b, &out) ? std::optional<Number>() : out;
    case Op::Sub: return __builtin_sub_overflow(a, b, &out) ? std::optional<Number>() : out;
    case Op::Mul: return __builtin_mul_overflow(a, b, &out) ? std::optional<Number>() : out;
    case Op::TrueDiv: return b == 0 ? std::optional<Number>() : static_cast<double>(a) / static_cast<double>(b);
    case Op::FloorDiv:
    case Op::Mod: {
      if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
      const int64_t q = a / b - (a % b != 0 && (a < 0) != (b < 0));
      return op == Op::Mod ? a - q * b : q;
    }
    case Op::Pow: {
      if (b < 0) return std::pow(static_cast<double>(a), static_cast<double>(b));
      if (b > 64 && (a > 1 || a < -1)) return std::nullopt;
      int64_t product = 1;
      for (int64_t i = 0; i < (b > 64 ? b % 2 + 2 : b); i++)
        if (__builtin_mul_overflow(product, a, &product)) return std::nullopt;
      return product;
    }
    case Op::Max: return std::max(a, b);
    case Op::Min: return std::min(a, b);
    case Op::BitAnd: return a & b;
    case Op::BitOr: return a | b;
    case Op::BitXor: return a ^ b;
    case Op::LShift: return b < 0 || b > 62 || __builtin_mul_overflow(a, int64_t{1} << b, &out) ? std::optional<Number>() : out;
    case Op::RShift: return b < 0 ? std::optional<Number>() : a >> std::min<int64_t>(b, 63);
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    case Op::Ge: return a >= b;
    default: return std::nullopt;
  }
}

std::optional<Number> compute_floats(Op op, double a, double b) {
  switch (op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::TrueDiv: return b == 0 ? std::optional<Number>() : a / b;
    case Op::FloorDiv: return b == 0 ? std::optional<Number>() : std::floor(a / b);
    case Op::Mod: return b == 0 ? std::optional<Number>() : a - std::floor(a / b) * b;
    case Op::Pow: return std::pow(a, b);
    case Op::Max: return std::max(a, b);
    case Op::Min: return std::min(a, b);
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    case Op::Ge: return a >= b;
    default: return std::nullopt;
  }
}

std::optional<Number> compute_one(Op op, const Number& n) {
  const double x = to_double(n);
  if (const auto* i = std::get_if<int64_t>(&n)) {
    if (op == Op::Neg) return *i == INT64_MIN ? std::optional<Number>() : -*i;
    if (op == Op::Abs) return *i == INT64_MIN ? std::optional<Number>() : std::abs(*i);
    if (op == Op::Floor || op == Op::Ceil || op == Op::Trunc || op == Op::Round) return *i;
  }
  auto integer = [](double v) -> std::optional<Number> {
    const auto i = truncated(v);
    return i ? std::optional<Number>(*i) : std::nullopt;
  };
  switch (op) {
    case Op::Neg: return -x;
    case Op::Abs: return std::fabs(x);
    case Op::Floor: return integer(std::floor(x));
    case Op::Ceil: return integer(std::ceil(x));
    case Op::Trunc: return integer(std::trunc(x));
    case Op::Round: return integer(std::nearbyint(x));
    case Op::ToFloat: return x;
    case Op::Sqrt: return x < 0 ? std::optional<Number>() : std::sqrt(x);
    case Op::Cos: return std::cos(x);
    case Op::Sin: return std::sin(x);
    case Op::Tan: return std::tan(x);
    case Op::Cosh: return std::cosh(x);
    case Op::Sinh: return std::sinh(x);
    case Op::Tanh: return std::tanh(x);
    case Op::Acos: return std::acos(x);
    case Op::Asin: return std::asin(x);
    case Op::Atan: return std::atan(x);
    case Op::Log2: return x <= 0 ? std::optional<Number>() : std::log2(x);
    case Op::Exp: return std::exp(x);
    case Op::Log: return x <= 0 ? std::optional<Number>() : std::log(x);
    case Op::Not: return x == 0;
    default: return std::nullopt;
  }
}

bool is_comparison(Op op) { return op >= Op::Eq && op <= Op::Ge; }

}  // namespace

const char* op_name(Op op) { return kNames[static_cast<int>(op)]; }
Op op_named(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); i++)
    if (name == kNames[i]) return static_cast<Op>(i);
  throw ValueError(str("symbolic expression: there is no operation '", std::string(name), "'"));
}

double to_double(const Number& n) {
  return std::visit([](auto v) { return static_cast<double>(v); }, n);
}

const Expr* expression_of(const SymFunction& f) {
  const auto* tree = dynamic_cast<const TreeFunction*>(&f);
  return tree ? &tree->expr() : nullptr;
}

std::optional<Number> compute(Op op, const std::vector<Number>& n) {
  if (op == Op::Ite) return to_double(n.at(0)) != 0 ? n.at(1) : n.at(2);
  if (op == Op::And) return std::all_of(n.begin(), n.end(), [](const Number& v) { return to_double(v) != 0; });
  if (op == Op::Or) return std::any_of(n.begin(), n.end(), [](const Number& v) { return to_double(v) != 0; });
  if (n.size() == 1) return compute_one(op, n[0]);
  auto whole = [](const Number& v) -> std::optional<int64_t> {
    if (const auto* i = std::get_if<int64_t>(&v)) return *i;
    if (const auto* b = std::get_if<bool>(&v)) return *b;
    return std::nullopt;
  };
  const auto a = whole(n.at(0)), b = whole(n.at(1));
  if (a && b) return compute_integers(op, *a, *b);
  return compute_floats(op, to_double(n[0]), to_double(n[1]));
}

Expr Expr::tree(Kind kind, Op op, std::vector<Expr> arguments, Number number, std::string name) {
  Expr e;
  e.kind_ = kind;
  e.tree_ = std::make_shared<Tree>(Tree{op, std::move(arguments), number, std::move(name)});
  return e;
}
Expr Expr::number(double value) { return tree(Kind::Float, Op::Constant, {}, value); }
Expr Expr::truth(bool value) { return tree(Kind::Bool, Op::Constant, {}, value); }
Expr Expr::symbol(std::string name, Kind kind) {
  if (kind == Kind::Int) return Sym::symbol(std::move(name));
  return tree(kind, Op::Symbol, {}, int64_t{0}, std::move(name));
}

std::optional<Number> Expr::constant() const {
  if (!tree_) {
    const auto c = integer_.constant();
    return c ? std::optional<Number>(*c) : std::nullopt;
  }
  return tree_->op == Op::Constant ? std::optional<Number>(tree_->number) : std::nullopt;
}

namespace {

Expr of_number(const Number& n) {
  if (const auto* i = std::get_if<int64_t>(&n)) return *i;
  if (const auto* b = std::get_if<bool>(&n)) return Expr::truth(*b);
  return Expr::number(std::get<double>(n));
}

bool gives_integer(Op op, const std::vector<Expr>& arguments) {
  switch (op) {
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round: return true;
    case Op::TrueDiv:
    case Op::ToFloat:
    case Op::Sqrt: return false;
    default: break;
  }
  if (op >= Op::Cos && op <= Op::Log) return false;
  return std::all_of(arguments.begin() + (op == Op::Ite), arguments.end(), [](const Expr& e) { return e.kind() == Kind::Int; });
}

}  // namespace

Expr Expr::integers(Op op, const std::vector<Expr>& n) {
  const bool two = n.size() == 2 && n[0].kind_ == Kind::Int && n[1].kind_ == Kind::Int;
  if (two) {
    const Sym &a = n[0].integer_, &b = n[1].integer_;
    switch (op) {
      case Op::Add: return a + b;
      case Op::Sub: return a - b;
      case Op::Mul: return a * b;
      case Op::FloorDiv: return Sym::floordiv(a, b);
      case Op::Mod: return Sym::mod(a, b);
      case Op::Max: return Sym::max(a, b);
      case Op::Min: return Sym::min(a, b);
      case Op::Pow:
        if (const auto power = b.constant(); power && *power >= 0 && *power <= 16) {
          Sym product = 1;
          for (int64_t i = 0; i < *power; i++) product = product * a;
          return product;
        }
        break;
      case Op::LShift:
        if (const auto shift = b.constant(); shift && *shift >= 0 && *shift < 62) return a * Sym(int64_t{1} << *shift);
        break;
      case Op::RShift:
        if (const auto shift = b.constant(); shift && *shift >= 0 && *shift < 62) return Sym::floordiv(a, Sym(int64_t{1} << *shift));
        break;
      default: break;
    }
  }
  if (n.size() == 1 && n[0].kind_ == Kind::Int) {
    if (op == Op::Neg) return Sym(0) - n[0].integer_;
    if (op == Op::Floor || op == Op::Ceil || op == Op::Trunc || op == Op::Round) return n[0];
  }
  // The floor of a quotient of integers is an integer division.
  if ((op == Op::Floor || op == Op::Ceil) && n[0].op() == Op::TrueDiv && n[0].arguments()[0].kind_ == Kind::Int && n[0].arguments()[1].kind_ == Kind::Int) {
    const Sym &a = n[0].arguments()[0].integer_, &b = n[0].arguments()[1].integer_;
    if (op == Op::Floor) return Sym::floordiv(a, b);
    return Sym(0) - Sym::floordiv(Sym(0) - a, b);
  }
  if ((op == Op::Floor || op == Op::Ceil || op == Op::Trunc || op == Op::Round) && n[0].op() == Op::ToFloat) return n[0].arguments()[0];
  return Sym::function(std::make_shared<TreeFunction>(tree(Kind::Int, op, n)));
}

Expr Expr::compared(Op op, const Expr& a, const Expr& b) {
  if (a.kind_ == Kind::Bool || b.kind_ == Kind::Bool) {
    CRESSET_CHECK_TYPE(a.kind_ == b.kind_ && (op == Op::Eq || op == Op::Ne), "symbolic expression: truth values have no order");
    return tree(Kind::Bool, op, {a, b});
  }
  if (a.kind_ == Kind::Int && b.kind_ == Kind::Int) {
    if (const auto d = (a.integer_ - b.integer_).constant()) return truth(std::get<bool>(*compute(op, {*d, int64_t{0}})));
  }
  return tree(Kind::Bool, op, {a, b});
}

Expr Expr::logical(Op op, const std::vector<Expr>& n) {
  for (const Expr& e : n) CRESSET_CHECK_TYPE(e.kind_ == Kind::Bool, "symbolic expression: ", op_name(op), " expects truth values, got ", e.text());
  if (op == Op::Not) {
    constexpr std::pair<Op, Op> opposites[] = {{Op::Eq, Op::Ne}, {Op::Lt, Op::Ge}, {Op::Gt, Op::Le}};
    for (const auto& [x, y] : opposites) {
      if (n[0].op() == x) return tree(Kind::Bool, y, n[0].arguments());
      if (n[0].op() == y) return tree(Kind::Bool, x, n[0].arguments());
    }
    return n[0].op() == Op::Not ? n[0].arguments()[0] : tree(Kind::Bool, op, n);
  }
  std::vector<Expr> parts;
  for (const Expr& e : n) {
    const auto known = e.constant();
    if (known && std::get<bool>(*known) == (op == Op::Or)) return e;
    if (!known) parts.push_back(e);
  }
  if (parts.empty()) return truth(op == Op::And);
  return parts.size() == 1 ? parts[0] : tree(Kind::Bool, op, std::move(parts));
}

Expr Expr::apply(Op op, const std::vector<Expr>& n) {
  std::vector<Number> numbers;
  for (const Expr& e : n)
    if (const auto c = e.constant()) numbers.push_back(*c);
  if (numbers.size() == n.size()) {
    const auto value = compute(op, numbers);
    CRESSET_CHECK_VALUE(value, "symbolic expression: ", op_name(op), " has no value for ", n[0].text(), n.size() > 1 ? " and " + n[1].text() : "");
    return of_number(*value);
  }
  if (op == Op::And || op == Op::Or || op == Op::Not) return logical(op, n);
  if (is_comparison(op)) return compared(op, n.at(0), n.at(1));
  if (op == Op::Ite) {
    if (const auto known = n.at(0).constant()) return to_double(*known) != 0 ? n[1] : n[2];
    if (n[1] == n[2]) return n[1];
    if (n[1].kind_ == Kind::Bool) return tree(Kind::Bool, op, n);
  }
  if (gives_integer(op, n)) return integers(op, n);
  if (op == Op::TrueDiv && n[0].kind_ == Kind::Int && n[1].constant() == std::optional<Number>(int64_t{1})) return apply(Op::ToFloat, {n[0]});
  if (op == Op::ToFloat && n[0].kind_ == Kind::Float) return n[0];
  std::vector<Expr> floats = n;
  if (op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Max || op == Op::Min || op == Op::FloorDiv || op == Op::Mod || op == Op::Pow)
    for (Expr& e : floats)
      if (e.kind_ == Kind::Int) e = apply(Op::ToFloat, {e});
  return tree(Kind::Float, op, std::move(floats));
}

std::optional<Number> Expr::evaluate(const Bindings& bindings) const {
  if (!tree_) {
    try {
      const auto v = integer_.evaluate(bindings);
      return v ? std::optional<Number>(*v) : std::nullopt;
    } catch (const Error&) { return std::nullopt; }
  }
  if (tree_->op == Op::Constant) return tree_->number;
  if (tree_->op == Op::Symbol) {
    const auto found = bindings.find(tree_->name);
    if (found == bindings.end()) return std::nullopt;
    return kind_ == Kind::Float ? Number(std::bit_cast<double>(found->second)) : Number(found->second != 0);
  }
  std::vector<Number> values;
  for (const Expr& e : tree_->arguments) {
    const auto v = e.evaluate(bindings);
    if (!v) return std::nullopt;
    values.push_back(*v);
  }
  return compute(tree_->op, values);
}

std::vector<std::string> Expr::symbols() const {
  if (!tree_) return integer_.symbols();
  std::set<std::string> found;
  if (tree_->op == Op::Symbol) found.insert(tree_->name);
  for (const Expr& e : tree_->arguments)
    for (std::string& s : e.symbols()) found.insert(std::move(s));
  return {found.begin(), found.end()};
}

Expr Expr::map_integers(const std::function<Sym(const Sym&)>& change) const {
  if (!tree_) return change(integer_);
  if (tree_->arguments.empty()) return *this;
  std::vector<Expr> arguments;
  for (const Expr& e : tree_->arguments) arguments.push_back(e.map_integers(change));
  return apply(tree_->op, arguments);
}
Expr Expr::substitute(std::string_view name, const Sym& by) const {
  return map_integers([&](const Sym& s) { return s.substitute(name, by); });
}

// ---- text --------------------------------------------------------------------------------------------------------------

namespace {

bool is_atom(const std::string& s) { return s.find_first_of(" */+-") == std::string::npos || (s.back() == ')' && (s[0] == '(' || isupper(s[0]))); }
std::string in_parentheses(const std::string& s) { return is_atom(s) ? s : "(" + s + ")"; }

std::string factor_text(const Sym::Factor& f) {
  std::string base;
  switch (f.function) {
    case Sym::Function::Symbol: base = f.name; break;
    case Sym::Function::FloorDiv: base = "(" + in_parentheses(size_text(f.arguments[0])) + "//" + in_parentheses(size_text(f.arguments[1])) + ")"; break;
    case Sym::Function::Mod: base = "Mod(" + size_text(f.arguments[0]) + ", " + size_text(f.arguments[1]) + ")"; break;
    case Sym::Function::Max: base = "Max(" + size_text(f.arguments[0]) + ", " + size_text(f.arguments[1]) + ")"; break;
    case Sym::Function::Min: base = "Min(" + size_text(f.arguments[0]) + ", " + size_text(f.arguments[1]) + ")"; break;
    default: base = f.other->text();
  }
  return f.power == 1 ? base : base + "**" + std::to_string(f.power);
}

const char* function_name(Op op) {
  switch (op) {
    case Op::Mod: return "Mod";
    case Op::Abs: return "Abs";
    case Op::Max: return "Max";
    case Op::Min: return "Min";
    case Op::Floor: return "FloorToInt";
    case Op::Ceil: return "CeilToInt";
    case Op::Trunc: return "TruncToInt";
    case Op::Round: return "RoundToInt";
    case Op::ToFloat: return "ToFloat";
    case Op::Sqrt: return "OpaqueUnaryFn_sqrt";
    case Op::TrueDiv: return "IntTrueDiv";
    case Op::BitAnd: return "BitwiseFn_bitwise_and";
    case Op::BitOr: return "BitwiseFn_bitwise_or";
    case Op::BitXor: return "BitwiseFn_bitwise_xor";
    case Op::LShift: return "LShift";
    case Op::RShift: return "RShift";
    case Op::Ne: return "Ne";
    case Op::Eq: return "Eq";
    case Op::Ite: return "Where";
    default: return nullptr;
  }
}

const char* infix(Op op) {
  switch (op) {
    case Op::Add: return " + ";
    case Op::Sub: return " - ";
    case Op::Mul: return "*";
    case Op::TrueDiv: return "/";
    case Op::FloorDiv: return "//";
    case Op::Pow: return "**";
    case Op::Lt: return " < ";
    case Op::Le: return " <= ";
    case Op::Gt: return " > ";
    case Op::Ge: return " >= ";
    case Op::And: return " & ";
    case Op::Or: return " | ";
    default: return nullptr;
  }
}

}  // namespace

std::string size_text(const Sym& s) {
  if (!s.is_known()) return "?";
  std::vector<Sym::Term> terms = s.terms();
  if (terms.empty()) return "0";
  auto degree = [](const Sym::Term& t) {
    int d = 0;
    for (const Sym::Factor& f : t.factors) d += f.power;
    return d;
  };
  std::stable_sort(terms.begin(), terms.end(), [&](const Sym::Term& a, const Sym::Term& b) { return degree(a) > degree(b); });
  // A sum does not begin with a minus where another term can.
  if (terms.size() > 1 && terms[0].coefficient < 0)
    for (size_t i = 1; i < terms.size(); i++)
      if (terms[i].coefficient > 0) {
        std::rotate(terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(i), terms.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        break;
      }
  std::string text;
  for (const Sym::Term& t : terms) {
    const bool negative = t.coefficient < 0;
    std::string number = std::to_string(t.coefficient);
    if (negative) number.erase(0, 1);
    std::string product = t.factors.empty() || number != "1" ? number : "";
    for (const Sym::Factor& f : t.factors) product += (product.empty() ? "" : "*") + factor_text(f);
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    text += product;
  }
  return text;
}

std::string Expr::text() const {
  if (!tree_) return size_text(integer_);
  const std::vector<Expr>& n = tree_->arguments;
  if (tree_->op == Op::Constant) return kind_ == Kind::Bool ? (std::get<bool>(tree_->number) ? "True" : "False") : number_text(std::get<double>(tree_->number));
  if (tree_->op == Op::Symbol) return tree_->name;
  if (tree_->op == Op::Not) return "Not(" + n[0].text() + ")";
  if (tree_->op == Op::Neg) return "-" + in_parentheses(n[0].text());
  const bool integral = tree_->op != Op::TrueDiv || (n[0].kind_ == Kind::Int && n[1].kind_ == Kind::Int);
  if (const char* sign = infix(tree_->op); sign && !(tree_->op == Op::TrueDiv && integral)) {
    const bool low = tree_->op == Op::Add || is_comparison(tree_->op);
    std::string text;
    for (const Expr& e : n) text += (text.empty() ? "" : sign) + (low ? e.text() : in_parentheses(e.text()));
    return text;
  }
  const char* name = function_name(tree_->op);
  std::string text = name ? name : std::string("OpaqueUnaryFn_") + op_name(tree_->op);
  text += "(";
  for (size_t i = 0; i < n.size(); i++) text += (i ? ", " : "") + n[i].text();
  return text + ")";
}

}  // namespace cresset::graph
