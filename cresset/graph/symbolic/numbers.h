#pragma once
// Numbers that may hang on symbols, for C++ programs: an expression, and the environment that records what is asked of it. Python's SymInt, SymFloat and SymBool
// are the same pair. (`cresset::SymInt` is PyTorch's name for an integer in schemas, where it is never a symbol.)

#include "cresset/graph/symbolic/shape_env.h"

namespace cresset::graph {

class SymbolicNumber {
 public:
  const Expr& expr() const { return expr_; }
  // Null for a plain number.
  const intrusive_ptr<ShapeEnv>& env() const { return env_; }
  bool is_symbolic() const { return !expr_.constant().has_value(); }
  std::string text() const { return expr_.text(); }
  // The number in the example; nothing is recorded. None where only the data tells.
  std::optional<Number> hint() const { return env_ ? env_->hint(expr_) : expr_.constant(); }

 protected:
  SymbolicNumber(Expr expr, intrusive_ptr<ShapeEnv> env) : expr_(env ? env->simplify(expr) : std::move(expr)), env_(std::move(env)) {}
  // The number in the example, which a guard keeps from then on. Errors: DataDependentGuardError.
  Number guarded() const { return env_ ? env_->specialize(expr_) : *expr_.constant(); }
  // Errors: numbers of two environments, whose symbols have nothing to do with each other.
  template <class R> static R make(Op op, const SymbolicNumber& a, const SymbolicNumber& b) {
    CRESSET_CHECK_VALUE(!a.env_ || !b.env_ || a.env_ == b.env_, "symbolic numbers: ", a.text(), " and ", b.text(), " are of two environments");
    return R(Expr::apply(op, {a.expr_, b.expr_}), a.env_ ? a.env_ : b.env_);
  }

  Expr expr_;
  intrusive_ptr<ShapeEnv> env_;
};

class SymBool final : public SymbolicNumber {
 public:
  SymBool(bool value) : SymbolicNumber(Expr::truth(value), nullptr) {}
  SymBool(Expr expr, intrusive_ptr<ShapeEnv> env) : SymbolicNumber(std::move(expr), std::move(env)) {}
  // Whether it holds in the example, recorded as a guard. Errors: DataDependentGuardError.
  bool guard_bool() const { return env_ ? env_->evaluate(expr_) : std::get<bool>(*expr_.constant()); }
  // The answer that holds for all values, without a guard.
  std::optional<bool> statically() const { return env_ ? env_->statically(expr_) : std::optional(std::get<bool>(*expr_.constant())); }
  // Takes it for true from now on, as `torch._check` does in Python. Errors: it is false in the example.
  void check(const std::string& message) const {
    if (env_) return env_->expect(expr_, message);
    CRESSET_CHECK(guard_bool(), message);
  }
  friend SymBool operator&&(const SymBool& a, const SymBool& b) { return make<SymBool>(Op::And, a, b); }
  friend SymBool operator||(const SymBool& a, const SymBool& b) { return make<SymBool>(Op::Or, a, b); }
  friend SymBool operator!(const SymBool& a) { return SymBool(Expr::apply(Op::Not, {a.expr_}), a.env_); }
};

// Arithmetic and comparisons of integers and floats.
template <class Self> class SymArithmetic : public SymbolicNumber {
 public:
  friend Self operator+(const Self& a, const Self& b) { return make<Self>(Op::Add, a, b); }
  friend Self operator-(const Self& a, const Self& b) { return make<Self>(Op::Sub, a, b); }
  friend Self operator*(const Self& a, const Self& b) { return make<Self>(Op::Mul, a, b); }
  friend Self operator-(const Self& a) { return Self(Expr::apply(Op::Neg, {a.expr()}), a.env()); }
  friend Self max(const Self& a, const Self& b) { return make<Self>(Op::Max, a, b); }
  friend Self min(const Self& a, const Self& b) { return make<Self>(Op::Min, a, b); }
  friend SymBool operator==(const Self& a, const Self& b) { return make<SymBool>(Op::Eq, a, b); }
  friend SymBool operator!=(const Self& a, const Self& b) { return make<SymBool>(Op::Ne, a, b); }
  friend SymBool operator<(const Self& a, const Self& b) { return make<SymBool>(Op::Lt, a, b); }
  friend SymBool operator<=(const Self& a, const Self& b) { return make<SymBool>(Op::Le, a, b); }
  friend SymBool operator>(const Self& a, const Self& b) { return make<SymBool>(Op::Gt, a, b); }
  friend SymBool operator>=(const Self& a, const Self& b) { return make<SymBool>(Op::Ge, a, b); }

 protected:
  using SymbolicNumber::SymbolicNumber;
};

class SymFloat final : public SymArithmetic<SymFloat> {
 public:
  SymFloat(double value) : SymArithmetic(Expr::number(value), nullptr) {}
  SymFloat(Expr expr, intrusive_ptr<ShapeEnv> env) : SymArithmetic(std::move(expr), std::move(env)) {}
  // The number in the example, which a guard keeps from then on. Errors: DataDependentGuardError.
  double guard_float() const { return std::get<double>(guarded()); }
  friend SymFloat operator/(const SymFloat& a, const SymFloat& b) { return make<SymFloat>(Op::TrueDiv, a, b); }
  friend SymFloat sqrt(const SymFloat& a) { return SymFloat(Expr::apply(Op::Sqrt, {a.expr()}), a.env()); }
};

class SymInt final : public SymArithmetic<SymInt> {
 public:
  SymInt(int64_t value) : SymArithmetic(Expr(value), nullptr) {}
  SymInt(Expr expr, intrusive_ptr<ShapeEnv> env) : SymArithmetic(std::move(expr), std::move(env)) {}
  // The expression behind an integer that C++ code met within a capture: the size of a fake tensor, or the product of two.
  static SymInt of(int64_t met, const intrusive_ptr<ShapeEnv>& env) { return SymInt(env->lift(met), env); }
  // The number in the example, which a guard keeps from then on. Errors: DataDependentGuardError.
  int64_t guard_int() const { return std::get<int64_t>(guarded()); }
  SymFloat to_float() const { return SymFloat(Expr::apply(Op::ToFloat, {expr_}), env_); }
  // Python's `//` and `%`.
  friend SymInt floordiv(const SymInt& a, const SymInt& b) { return make<SymInt>(Op::FloorDiv, a, b); }
  friend SymInt operator%(const SymInt& a, const SymInt& b) { return make<SymInt>(Op::Mod, a, b); }
  friend SymFloat operator/(const SymInt& a, const SymInt& b) { return make<SymFloat>(Op::TrueDiv, a, b); }
};

}  // namespace cresset::graph
