// Arithmetic and comparisons of two ints or two floats, without the table of builtins between.

#include "cresset/graph/ir/number_rules.h"
#include "cresset/graph/runtime/steps.h"

namespace cresset::graph {

namespace {

int64_t wrap(uint64_t v) { return static_cast<int64_t>(v); }
struct Add {
  static int64_t of(int64_t a, int64_t b) { return wrap(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
  static double of(double a, double b) { return a + b; }
};
struct Sub {
  static int64_t of(int64_t a, int64_t b) { return wrap(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }
  static double of(double a, double b) { return a - b; }
};
struct Mul {
  static int64_t of(int64_t a, int64_t b) { return wrap(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
  static double of(double a, double b) { return a * b; }
};
// Divisions of short numbers take a fraction of the time.
bool are_short(int64_t a, int64_t b) { return (static_cast<uint64_t>(a | b) >> 32) == 0; }
struct FloorMod {
  static int64_t of(int64_t a, int64_t b) {
    if (CRESSET_LIKELY(are_short(a, b))) return static_cast<uint32_t>(a) % static_cast<uint32_t>(b);
    const int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
};
struct FloorDiv {
  static int64_t of(int64_t a, int64_t b) {
    if (CRESSET_LIKELY(are_short(a, b))) return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
    const int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  }
};
using namespace number_rules;

// Divisors that the builtin handles: 0 is an error, and -1 may overflow.
template <class F> constexpr bool divides = std::is_same_v<F, FloorMod> || std::is_same_v<F, FloorDiv>;

template <class F, class T> uint32_t step_numbers(Machine& m, const Instruction& i, uint32_t at) {
  const T* a = std::get_if<T>(&m.registers[i.first].data());
  const T* b = std::get_if<T>(&m.registers[i.second].data());
  if (CRESSET_UNLIKELY(!a || !b)) return step_builtin(m, i, at);
  if constexpr (divides<F>)
    if (CRESSET_UNLIKELY(*b == 0 || *b == -1)) return step_builtin(m, i, at);
  const auto result = F::of(*a, *b);
  Datum& out = m.registers[i.out];
  if (auto* r = std::get_if<std::remove_const_t<decltype(result)>>(&out.data())) *r = result;
  else out = Datum(result);
  if (CRESSET_UNLIKELY(i.num_drops)) return finish(m, i, at);
  return at + 1;
}

template <class F, class T> uint32_t step_compare_branch(Machine& m, const Instruction& i, uint32_t at) {
  const Datum &left = m.registers[i.first], &right = m.registers[i.second];
  const T *a = std::get_if<T>(&left.data()), *b = std::get_if<T>(&right.data());
  if (CRESSET_LIKELY(a && b)) return F::of(*a, *b) ? at + 1 : i.jump;
  const Datum* inputs[] = {&left, &right};
  Datum holds;
  static_cast<const Builtin*>(i.target)->run(inputs, 2, holds);
  return holds.to_bool() ? at + 1 : i.jump;
}

struct Row {
  const char* name;
  Step step, branch = nullptr;
};
template <class F, class T> constexpr Row compare_row(const char* name) { return {name, step_numbers<F, T>, step_compare_branch<F, T>}; }
constexpr Row kRows[] = {{"aten::add.int", step_numbers<Add, int64_t>},
                         {"aten::sub.int", step_numbers<Sub, int64_t>},
                         {"aten::mul.int", step_numbers<Mul, int64_t>},
                         {"aten::add.float", step_numbers<Add, double>},
                         {"aten::sub.float", step_numbers<Sub, double>},
                         {"aten::mul.float", step_numbers<Mul, double>},
                         {"aten::remainder.int", step_numbers<FloorMod, int64_t>},
                         {"aten::floordiv.int", step_numbers<FloorDiv, int64_t>},
                         compare_row<Eq, int64_t>("aten::eq.int"),
                         compare_row<Ne, int64_t>("aten::ne.int"),
                         compare_row<Lt, int64_t>("aten::lt.int"),
                         compare_row<Le, int64_t>("aten::le.int"),
                         compare_row<Gt, int64_t>("aten::gt.int"),
                         compare_row<Ge, int64_t>("aten::ge.int"),
                         compare_row<Eq, double>("aten::eq.float"),
                         compare_row<Ne, double>("aten::ne.float"),
                         compare_row<Lt, double>("aten::lt.float"),
                         compare_row<Le, double>("aten::le.float"),
                         compare_row<Gt, double>("aten::gt.float"),
                         compare_row<Ge, double>("aten::ge.float")};

}  // namespace

Step find_number_step(const Builtin& builtin) {
  for (const Row& row : kRows)
    if (builtin.name == row.name) return row.step;
  return nullptr;
}
Step find_compare_branch(const Builtin& builtin) {
  for (const Row& row : kRows)
    if (builtin.name == row.name) return row.branch;
  return nullptr;
}

}  // namespace cresset::graph
