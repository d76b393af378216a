#pragma once
// Expressions of integers, floats and truth values over named symbols. Integers are kept as polynomials (`cresset/graph/ir/sym.h`), the rest as trees.

#include <functional>
#include <variant>

#include "cresset/graph/ir/sym.h"

namespace cresset::graph {

enum class Kind : uint8_t { Int, Float, Bool };

// Sub, Gt and Ge exist for callers alone: they are written with the others.
enum class Op : uint8_t {
  Constant,
  Symbol,
  Add,
  Sub,
  Mul,
  TrueDiv,
  FloorDiv,
  Mod,
  Pow,
  Neg,
  Abs,
  Max,
  Min,
  Floor,
  Ceil,
  Trunc,
  Round,
  ToFloat,
  Sqrt,
  Cos,
  Sin,
  Tan,
  Cosh,
  Sinh,
  Tanh,
  Acos,
  Asin,
  Atan,
  Log2,
  Exp,
  Log,
  BitAnd,
  BitOr,
  BitXor,
  LShift,
  RShift,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or,
  Not,
  Ite
};
CRESSET_API const char* op_name(Op op);
// Errors: ValueError for a name that is none.
CRESSET_API Op op_named(std::string_view name);

using Number = std::variant<int64_t, double, bool>;

class CRESSET_API Expr {
 public:
  Expr() : Expr(Sym(0)) {}
  Expr(Sym integer) : integer_(std::move(integer)) {}
  Expr(int64_t value) : integer_(value) {}
  static Expr number(double value);
  static Expr truth(bool value);
  static Expr symbol(std::string name, Kind kind);
  // Numbers alone give a number. Errors: TypeError for kinds that do not fit, ValueError for a division by the number 0.
  static Expr apply(Op op, const std::vector<Expr>& arguments);

  Kind kind() const { return kind_; }
  const Sym& integer() const { return integer_; }
  Op op() const { return tree_ ? tree_->op : Op::Constant; }
  const std::vector<Expr>& arguments() const { return tree_->arguments; }

  std::optional<Number> constant() const;
  // The value where symbols have these; floats are bound by the bits of a double. None where one has no value, or the value is none.
  std::optional<Number> evaluate(const Bindings& bindings) const;
  std::vector<std::string> symbols() const;
  Expr substitute(std::string_view name, const Sym& by) const;
  // The same expression with every integer part changed by `change`.
  Expr map_integers(const std::function<Sym(const Sym&)>& change) const;
  // As PyTorch writes sizes: 2*s0 + 1, (s0//2), Mod(s0, 2), Eq(s0, s1), s0 > 2.
  std::string text() const;
  friend bool operator==(const Expr& a, const Expr& b) {
    return a.kind_ == b.kind_ && (a.kind_ == Kind::Int ? a.integer_ == b.integer_ : a.text() == b.text());
  }

 private:
  struct Tree {
    Op op;
    std::vector<Expr> arguments;
    Number number;
    std::string name;
  };
  static Expr tree(Kind kind, Op op, std::vector<Expr> arguments, Number number = int64_t{0}, std::string name = "");
  static Expr integers(Op op, const std::vector<Expr>& arguments);
  static Expr compared(Op op, const Expr& a, const Expr& b);
  static Expr logical(Op op, const std::vector<Expr>& arguments);

  Kind kind_ = Kind::Int;
  Sym integer_;
  std::shared_ptr<const Tree> tree_;
};

// A sum as PyTorch writes it.
CRESSET_API std::string size_text(const Sym& s);
// The operation on numbers. None where it has no value: a division by zero, an overflow.
CRESSET_API std::optional<Number> compute(Op op, const std::vector<Number>& arguments);
CRESSET_API double to_double(const Number& n);
// The expression behind a function that a polynomial holds; null for one of another kind.
CRESSET_API const Expr* expression_of(const SymFunction& f);

}  // namespace cresset::graph
