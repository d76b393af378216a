#pragma once
// Conditions on sizes, as lists of instructions over numbers that are read from tensors and integers.

#include <cstdint>
#include <vector>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace cresset::compile {

enum class Read : uint8_t { Size, Stride, Offset, Number };

enum class FormulaOp : uint8_t {
  Const,
  Float,
  Var,
  Add,
  Sub,
  Mul,
  FloorDiv,
  Mod,
  TrueDiv,
  Neg,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or,
  Not,
  Max,
  Min,
  Abs,
  Floor,
  Ceil,
  Trunc,
  ToFloat,
  Ite
};

struct FormulaStep {
  FormulaOp op;
  Read read = Read::Size;
  int place = 0, dim = 0, count = 2;
  int64_t number = 0;
  double real = 0;
};

class Formula {
 public:
  // From nested tuples (operation, parts...), numbers, and ("$", place, read, dim). False, with an error set, for what is none of these.
  bool compile(PyObject* tree, int num_places);
  // `value(place, read, dim, out)` gives a number; false if there is none, and then the condition does not hold. Overflow, and division by zero, make it
  // false as well.
  template <class Value> bool holds(Value&& value) const;

 private:
  struct Number {
    bool real;
    int64_t i;
    double d;
    double as_real() const { return real ? d : static_cast<double>(i); }
  };
  static bool apply(const FormulaStep& step, std::vector<Number>& stack);

  std::vector<FormulaStep> steps_;
};

template <class Value> bool Formula::holds(Value&& value) const {
  thread_local std::vector<Number> stack;
  stack.clear();
  for (const FormulaStep& s : steps_) {
    if (s.op == FormulaOp::Const) {
      stack.push_back({false, s.number, 0});
    } else if (s.op == FormulaOp::Float) {
      stack.push_back({true, 0, s.real});
    } else if (s.op == FormulaOp::Var) {
      int64_t n = 0;
      if (!value(s.place, s.read, s.dim, n)) return false;
      stack.push_back({false, n, 0});
    } else if (!apply(s, stack)) {
      return false;
    }
  }
  return stack.size() == 1 && (stack[0].real ? stack[0].d != 0 : stack[0].i != 0);
}

}  // namespace cresset::compile
