#include "cresset/graph/codegen/machine/trace.h"

#include <functional>
#include <unordered_map>

// Expressions take the branches of an instruction set with this instruction, as the loops do that have machine code beside them.
#ifndef __FMA__
#define __FMA__ 1
#endif
#include "cresset/graph/codegen/machine/traced.h"
#include "cresset/kernels/expr/math.h"

namespace cresset::kernels::expr::math {
template <class T> constexpr bool is_pack<graph::machine::Traced<T, graph::machine::Form::Single>> = false;
template <class T> constexpr bool exponent_of_subnormals<graph::machine::Traced<T, graph::machine::Form::Avx512>> = true;
}  // namespace cresset::kernels::expr::math

#include "cresset/kernels/expr/activation.h"
#include "cresset/kernels/expr/loss.h"
#include "cresset/kernels/expr/simple.h"
#include "cresset/kernels/expr/special.h"

namespace cresset::graph::machine {

namespace {

constexpr int kMaxPaths = 64;

int as_node(bool b) { return tracer->program.add({Op::Constant, Type::Mask, -1, -1, -1, b}); }
template <class T, Form form> int as_node(Traced<T, form> t) { return t.node; }

// cond ? yes : no.
int choose(Program& p, int cond, int yes, int no) {
  if (yes == no) return yes;
  const Node a = p.nodes[static_cast<size_t>(yes)], b = p.nodes[static_cast<size_t>(no)];
  if (a.type == Type::Mask && a.op == Op::Constant && b.op == Op::Constant)
    return a.immediate ? cond : p.add({Op::Xor, Type::Mask, cond, p.add({Op::Constant, Type::Mask, -1, -1, -1, 1})});
  return p.add({Op::Select, a.type, cond, yes, no});
}

struct Explorer {
  Program& program;
  const std::function<int()>& expression;
  int paths = 0;

  int explore(std::vector<bool> wanted) {
    if (++paths > kMaxPaths) return -1;
    Tracer mine{program, wanted, {}};
    tracer = &mine;
    int result = expression();
    const auto decisions = std::move(mine.decisions);
    for (size_t i = decisions.size(); result >= 0 && i-- > wanted.size();) {
      std::vector<bool> other = wanted;
      other.resize(i, true);
      other.push_back(false);
      const int no = explore(std::move(other));
      result = no < 0 ? -1 : choose(program, decisions[i].first, result, no);
    }
    return result;
  }
};

using Arguments = const std::vector<int>&;
using Numbers = const std::vector<double>&;

template <class E, class V, class T, size_t... I, size_t... P> int call(Arguments in, Numbers params, std::index_sequence<I...>, std::index_sequence<P...>) {
  const auto input = [&]<size_t i>() {
    if constexpr (static_cast<int>(i) == E::mask) return static_cast<uint8_t>(static_cast<bool>(Mask{in[i]}));
    else return V::at(in[i]);
  };
  return as_node(E{}(input.template operator()<I>()..., V(static_cast<T>(params[P]))...));
}

template <class E, class T> int apply(Arguments in, Numbers params) {
  constexpr auto inputs = std::make_index_sequence<static_cast<size_t>(E::inputs)>();
  constexpr auto numbers = std::make_index_sequence<static_cast<size_t>(E::params)>();
  if constexpr (!E::template simd<T>) return call<E, Traced<T, Form::Single>, T>(in, params, inputs, numbers);
  else if (tracer->program.isa == Isa::Avx512) return call<E, Traced<T, Form::Avx512>, T>(in, params, inputs, numbers);
  else return call<E, Traced<T, Form::Avx2>, T>(in, params, inputs, numbers);
}

struct Row {
  size_t inputs, params;
  int mask;
  bool native_low;
  int (*single)(Arguments, Numbers);
  int (*twice)(Arguments, Numbers);
};

template <class E> constexpr bool kOnlySingle = false;
template <> constexpr bool kOnlySingle<kernels::expr::Log2> = true;
template <> constexpr bool kOnlySingle<kernels::expr::Log10> = true;
template <> constexpr bool kOnlySingle<kernels::expr::Gelu> = true;
template <> constexpr bool kOnlySingle<kernels::expr::GeluBackward> = true;

template <class E> Row row() {
  Row r{E::inputs, E::params, E::mask, E::native_low, apply<E, float>, nullptr};
  if constexpr (!kOnlySingle<E>) r.twice = apply<E, double>;
  return r;
}

// Expressions that are one instruction, whose C++ names functions of the C library.
template <Op op, class T> int instruction(Arguments in, Numbers) { return Traced<T, Form::Avx2>::make(op, Traced<T, Form::Avx2>::at(in[0])).node; }
template <Op op> Row single_instruction() { return {1, 0, -1, false, instruction<op, float>, instruction<op, double>}; }
template <class T> int root_reciprocal(Arguments in, Numbers) {
  using V = Traced<T, Form::Single>;
  return (V(T(1)) / V::make(Op::Sqrt, V::at(in[0]))).node;
}
// Powers by 3, and the others that loops have no functions for, are left to them.
template <class T> int third_power(Arguments in, Numbers) {
  const Node exponent = tracer->program.nodes[static_cast<size_t>(in[1])];
  if (exponent.op != Op::Constant || exponent.immediate != __builtin_bit_cast(BitsOf<T>, T(3))) return -1;
  return apply<kernels::expr::Cube, T>({in[0]}, {});
}

// clang-format off
#define CRESSET_SINGLE_ROWS(X)                                                                                                       \
  X(eq, Eq) X(ne, Ne) X(lt, Lt) X(le, Le) X(gt, Gt) X(ge, Ge) X(tanh, Tanh) X(where, Where) X(masked_fill, MaskedFill)               \
  X(dropout_apply, DropoutApply) X(sign, Sign) X(erf, Erf) X(mse_loss, MseLoss) X(mse_loss_backward, MseLossBackward)
// clang-format on

const std::unordered_map<std::string, Row>& rows() {
  using namespace kernels::expr;
  static const auto* const known = [] {
    auto* const t = new std::unordered_map<std::string, Row>();
#define CRESSET_ROW(name, Expr) t->emplace(#name, row<Expr>());
    CRESSET_ACTIVATION_KERNELS(CRESSET_ROW)
    CRESSET_ACTIVATION_BACKWARD_KERNELS(CRESSET_ROW)
    CRESSET_ARITHMETIC_KERNELS(CRESSET_ROW)
    CRESSET_EXP_LOG_KERNELS(CRESSET_ROW)
    CRESSET_MINMAX_KERNELS(CRESSET_ROW)
    CRESSET_SINGLE_ROWS(CRESSET_ROW)
#undef CRESSET_ROW
    t->emplace("abs", single_instruction<Op::Abs>());
    t->emplace("floor", single_instruction<Op::Floor>());
    t->emplace("ceil", single_instruction<Op::Ceil>());
    t->emplace("trunc", single_instruction<Op::Trunc>());
    t->emplace("round", single_instruction<Op::Round>());
    t->emplace("sqrt", single_instruction<Op::Sqrt>());
    t->emplace("rsqrt", Row{1, 0, -1, false, root_reciprocal<float>, root_reciprocal<double>});
    t->emplace("pow", Row{2, 0, -1, false, third_power<float>, third_power<double>});
    return t;
  }();
  return *known;
}

}  // namespace

int constant(Program& program, ScalarType dtype, double value) {
  const Type type = type_of(dtype);
  const uint64_t bits = type == Type::Mask  ? (value != 0)
                        : type == Type::F64 ? __builtin_bit_cast(uint64_t, value)
                                            : __builtin_bit_cast(uint32_t, static_cast<float>(value));
  return program.add({Op::Constant, type, -1, -1, -1, bits});
}

int rounded(Program& program, int node, ScalarType dtype) {
  if (dtype != ScalarType::BFloat16 && dtype != ScalarType::Half) return node;
  return program.add({Op::Round, Type::F32, node, -1, -1, 1 + static_cast<uint64_t>(dtype)});
}

int trace(Program& program, const std::string& name, ScalarType compute, const std::vector<int>& inputs, const std::vector<Scalar>& params) {
  const auto found = rows().find(name);
  if (found == rows().end()) return -1;
  const Row& row = found->second;
  const auto function = compute == ScalarType::Double ? row.twice : compute == ScalarType::Bool ? nullptr : row.single;
  if (!function || inputs.size() != row.inputs || params.size() != row.params) return -1;
  for (size_t i = 0; i < inputs.size(); i++)
    if (program.type(inputs[i]) != (static_cast<int>(i) == row.mask ? Type::Mask : type_of(compute))) return -1;
  std::vector<double> numbers;
  for (const Scalar& s : params) {
    if (s.isComplex()) return -1;
    double value = s.toDouble();
    if (row.native_low && compute == ScalarType::BFloat16) value = static_cast<float>(BFloat16(static_cast<float>(value)));
    if (row.native_low && compute == ScalarType::Half) value = static_cast<float>(Half(static_cast<float>(value)));
    numbers.push_back(value);
  }
  const std::function<int()> expression = [&] { return function(inputs, numbers); };
  Tracer* const before = tracer;
  const int result = Explorer{program, expression}.explore({});
  tracer = before;
  return result;
}

}  // namespace cresset::graph::machine
