#include "python/bind_compile/formula.h"

#include <cmath>
#include <cstring>

namespace cresset::compile {

namespace {

struct Name {
  const char* name;
  FormulaOp op;
};
constexpr Name kNames[] = {{"add", FormulaOp::Add},   {"sub", FormulaOp::Sub},         {"mul", FormulaOp::Mul},       {"floordiv", FormulaOp::FloorDiv},
                           {"mod", FormulaOp::Mod},   {"truediv", FormulaOp::TrueDiv}, {"neg", FormulaOp::Neg},       {"eq", FormulaOp::Eq},
                           {"ne", FormulaOp::Ne},     {"lt", FormulaOp::Lt},           {"le", FormulaOp::Le},         {"gt", FormulaOp::Gt},
                           {"ge", FormulaOp::Ge},     {"and", FormulaOp::And},         {"or", FormulaOp::Or},         {"not", FormulaOp::Not},
                           {"max", FormulaOp::Max},   {"min", FormulaOp::Min},         {"abs", FormulaOp::Abs},       {"floor", FormulaOp::Floor},
                           {"ceil", FormulaOp::Ceil}, {"trunc", FormulaOp::Trunc},     {"float", FormulaOp::ToFloat}, {"ite", FormulaOp::Ite}};

bool compile_node(PyObject* tree, int num_places, std::vector<FormulaStep>& out) {
  FormulaStep step{};
  if (PyFloat_Check(tree)) {
    step.op = FormulaOp::Float;
    step.real = PyFloat_AS_DOUBLE(tree);
    out.push_back(step);
    return true;
  }
  if (PyLong_Check(tree)) {
    step.op = FormulaOp::Const;
    step.number = PyLong_AsLongLong(tree);
    out.push_back(step);
    return !PyErr_Occurred();
  }
  if (!PyTuple_Check(tree) || PyTuple_GET_SIZE(tree) < 2 || !PyUnicode_Check(PyTuple_GET_ITEM(tree, 0))) {
    PyErr_Format(PyExc_ValueError, "guards: expected a condition, got %R", tree);
    return false;
  }
  const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tree, 0));
  if (std::strcmp(name, "$") == 0) {
    int read = 0;
    if (!PyArg_ParseTuple(tree, "siii", &name, &step.place, &read, &step.dim)) return false;
    if (step.place < 0 || step.place >= num_places || read < 0 || read > static_cast<int>(Read::Number)) {
      PyErr_SetString(PyExc_ValueError, "guards: no such place");
      return false;
    }
    step.op = FormulaOp::Var;
    step.read = static_cast<Read>(read);
    out.push_back(step);
    return true;
  }
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(tree); i++)
    if (!compile_node(PyTuple_GET_ITEM(tree, i), num_places, out)) return false;
  step.count = static_cast<int>(PyTuple_GET_SIZE(tree)) - 1;
  for (const Name& known : kNames) {
    if (std::strcmp(known.name, name) != 0) continue;
    step.op = known.op;
    out.push_back(step);
    return true;
  }
  PyErr_Format(PyExc_ValueError, "guards: there is no operation %s", name);
  return false;
}

bool floor_div(int64_t a, int64_t b, int64_t& out) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  out = a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
  return true;
}

}  // namespace

bool Formula::compile(PyObject* tree, int num_places) {
  steps_.clear();
  return compile_node(tree, num_places, steps_);
}

bool Formula::apply(const FormulaStep& s, std::vector<Number>& stack) {
  if (stack.size() < static_cast<size_t>(s.count)) return false;
  const size_t first = stack.size() - static_cast<size_t>(s.count);
  Number r = stack[first];
  const auto truth = [](const Number& n) { return n.real ? n.d != 0 : n.i != 0; };
  if (s.op == FormulaOp::Ite) {
    if (s.count != 3) return false;
    r = truth(r) ? stack[first + 1] : stack[first + 2];
  } else if (s.count == 1) {
    switch (s.op) {
      case FormulaOp::Not: r = {false, !truth(r), 0}; break;
      case FormulaOp::Neg: r = r.real ? Number{true, 0, -r.d} : Number{false, -r.i, 0}; break;
      case FormulaOp::Abs: r = r.real ? Number{true, 0, std::fabs(r.d)} : Number{false, r.i < 0 ? -r.i : r.i, 0}; break;
      case FormulaOp::Floor: r = {false, r.real ? static_cast<int64_t>(std::floor(r.d)) : r.i, 0}; break;
      case FormulaOp::Ceil: r = {false, r.real ? static_cast<int64_t>(std::ceil(r.d)) : r.i, 0}; break;
      case FormulaOp::Trunc: r = {false, r.real ? static_cast<int64_t>(std::trunc(r.d)) : r.i, 0}; break;
      case FormulaOp::ToFloat: r = {true, 0, r.as_real()}; break;
      default: return false;
    }
  } else {
    for (size_t k = first + 1; k < stack.size(); k++) {
      const Number& b = stack[k];
      const bool real = r.real || b.real;
      const double x = r.as_real(), y = b.as_real();
      int64_t n = 0;
      switch (s.op) {
        case FormulaOp::Add:
          if (!real && __builtin_add_overflow(r.i, b.i, &n)) return false;
          r = real ? Number{true, 0, x + y} : Number{false, n, 0};
          break;
        case FormulaOp::Sub:
          if (!real && __builtin_sub_overflow(r.i, b.i, &n)) return false;
          r = real ? Number{true, 0, x - y} : Number{false, n, 0};
          break;
        case FormulaOp::Mul:
          if (!real && __builtin_mul_overflow(r.i, b.i, &n)) return false;
          r = real ? Number{true, 0, x * y} : Number{false, n, 0};
          break;
        case FormulaOp::FloorDiv:
          if (real) {
            r = {true, 0, std::floor(x / y)};
          } else {
            if (!floor_div(r.i, b.i, n)) return false;
            r = {false, n, 0};
          }
          break;
        case FormulaOp::Mod:
          if (real || !floor_div(r.i, b.i, n)) return false;
          r = {false, r.i - n * b.i, 0};
          break;
        case FormulaOp::TrueDiv: r = {true, 0, x / y}; break;
        case FormulaOp::Eq: r = {false, real ? x == y : r.i == b.i, 0}; break;
        case FormulaOp::Ne: r = {false, real ? x != y : r.i != b.i, 0}; break;
        case FormulaOp::Lt: r = {false, real ? x < y : r.i < b.i, 0}; break;
        case FormulaOp::Le: r = {false, real ? x <= y : r.i <= b.i, 0}; break;
        case FormulaOp::Gt: r = {false, real ? x > y : r.i > b.i, 0}; break;
        case FormulaOp::Ge: r = {false, real ? x >= y : r.i >= b.i, 0}; break;
        case FormulaOp::And: r = {false, truth(r) && truth(b), 0}; break;
        case FormulaOp::Or: r = {false, truth(r) || truth(b), 0}; break;
        case FormulaOp::Max: r = real ? Number{true, 0, std::fmax(x, y)} : Number{false, r.i > b.i ? r.i : b.i, 0}; break;
        case FormulaOp::Min: r = real ? Number{true, 0, std::fmin(x, y)} : Number{false, r.i < b.i ? r.i : b.i, 0}; break;
        default: return false;
      }
    }
  }
  stack.resize(first);
  stack.push_back(r);
  return true;
}

}  // namespace cresset::compile
