// Operators that compute each element by itself: kernels of the generated expressions, and copies and fills, which are the expression x.

#include <algorithm>
#include <cmath>

#include "call.h"
#include "cresset/core/result_type.h"

namespace opencl {

namespace {

struct Expression {
  const char *name, *function;
  int inputs, params, mask;
  bool boolean, far;
  const char *floating, *whole, *truth;  // OpenCL C for float and double, for integers, for bool; empty: none
};
const Expression kExpressions[] = {
#include "expressions.inc"
};

enum class Promote { Common, Floating, First };
struct Row {
  const char* name;
  int expression;
  Promote promote;
  int mask;
  std::vector<int> inputs, params;
};
const std::vector<Row>& rows() {
  static const std::vector<Row>& all = *new const std::vector<Row>{
#include "rows.inc"
  };
  return all;
}

const Expression& expression_of(const std::string& name) {
  for (const Expression& e : kExpressions)
    if (name == e.name) return e;
  CRESSET_CHECK(false, "opencl: there is no expression ", name);
  __builtin_unreachable();
}

// An input: a tensor of the device, or a number of the CPU.
struct Input {
  Tensor tensor;
  Scalar number;
};

// Dimensions of the walk over `shape`, merged where all arrays allow it: sizes, and for each array its strides. Outermost first.
struct Merged {
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> strides;
};
Merged merge(IntArrayRef shape, const std::vector<Tensor>& arrays) {
  Merged m;
  m.strides.resize(arrays.size());
  for (size_t d = 0; d < shape.size(); d++) {
    if (shape[d] == 1) continue;
    std::vector<int64_t> own;
    for (const Tensor& t : arrays) {
      const int64_t lead = static_cast<int64_t>(shape.size()) - t.dim(), at = static_cast<int64_t>(d) - lead;
      own.push_back(at < 0 || t.sizes()[static_cast<size_t>(at)] == 1 ? 0 : t.strides()[static_cast<size_t>(at)]);
    }
    bool joins = !m.sizes.empty();
    for (size_t a = 0; a < arrays.size() && joins; a++) joins = m.strides[a].back() == own[a] * shape[d];
    if (joins) {
      m.sizes.back() *= shape[d];
      for (size_t a = 0; a < arrays.size(); a++) m.strides[a].back() = own[a];
    } else {
      m.sizes.push_back(shape[d]);
      for (size_t a = 0; a < arrays.size(); a++) m.strides[a].push_back(own[a]);
    }
  }
  return m;
}

// `functions` is OpenCL C that `value`, an expression of v0, v1, ... and p0, p1, ..., needs. Inputs are read in the compute type, the one of the mask as a bool.
// False where a dtype has no kernel.
bool run(DeviceIndex index, const Tensor& out, const std::vector<Input>& inputs, int mask, ScalarType compute, const std::vector<Scalar>& params,
         const std::string& functions, const std::string& value) {
  const char* type = element_type(compute);
  if (!type || !stored_type(out.scalar_type())) return false;
  const std::string param_type = std::string(type) == "bool" ? "uchar" : type;
  const auto kind_of = [&](size_t i) { return static_cast<int>(i) == mask ? "bool" : type; };
  std::vector<Tensor> arrays{out};
  for (const Input& in : inputs) {
    if (!in.tensor.defined()) continue;
    if (!stored_type(in.tensor.scalar_type())) return false;
    arrays.push_back(in.tensor);
  }
  const int64_t count = out.numel();
  if (count == 0) return true;
  const Merged m = merge(out.sizes(), arrays);
  if (m.sizes.size() > kMaxDims) return false;
  const bool dense = m.sizes.size() <= 1 && (m.sizes.empty() || std::all_of(m.strides.begin(), m.strides.end(), [](const auto& s) { return s[0] == 1; }));

  // Both kernels of a source are read at once: most of the time goes to reading.
  const size_t n = arrays.size();
  std::string source = prelude() + functions + "\ntypedef struct { long sizes[8]; long strides[" + std::to_string(n) + "][8]; } Walk;\n";
  for (const bool flat : {true, false}) {
    source += "kernel void " + std::string(flat ? "flat" : "strided") + "(ulong count, " + (flat ? "" : "Walk w, int dims, ") + "global " +
              stored_type(out.scalar_type()) + "* a0";
    size_t array = 1;
    std::string loads;
    for (size_t i = 0; i < inputs.size(); i++) {
      const std::string number = std::to_string(i), kind = kind_of(i);
      if (inputs[i].tensor.defined()) {
        const std::string a = "a" + std::to_string(array);
        source += std::string(", global const ") + stored_type(inputs[i].tensor.scalar_type()) + "* " + a;
        loads += "    const " + kind + " v" + number + " = (" + kind + ")(" +
                 loaded(inputs[i].tensor.scalar_type(), a, flat ? "i" : "i" + std::to_string(array)) + ");\n";
        array++;
      } else {
        source += ", " + std::string(kind == "bool" ? "uchar" : kind) + " n" + number;
        loads += "    const " + kind + " v" + number + " = (" + kind + ")n" + number + ";\n";
      }
    }
    for (size_t i = 0; i < params.size(); i++) {
      source += ", " + param_type + " q" + std::to_string(i);
      loads += std::string("    const ") + type + " p" + std::to_string(i) + " = (" + type + ")q" + std::to_string(i) + ";\n";
    }
    source += ") {\n  for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {\n";
    if (!flat) {
      source += "    ulong rest = i;\n    long";
      for (size_t a = 0; a < n; a++) source += (a ? ", i" : " i") + std::to_string(a) + " = 0";
      source += ";\n    for (int d = dims - 1; d >= 0; d--) {\n      const long at = rest % w.sizes[d];\n      rest /= w.sizes[d];\n";
      for (size_t a = 0; a < n; a++) source += "      i" + std::to_string(a) + " += at * w.strides[" + std::to_string(a) + "][d];\n";
      source += "    }\n";
    }
    source += loads + "    " + stores(out.scalar_type(), "a0", flat ? "i" : "i0", value) + "\n  }\n}\n";
  }
  if (!compiles(index, source)) return false;

  Launch launch(index, source, dense ? "flat" : "strided");
  launch.value<uint64_t>(static_cast<uint64_t>(count));
  if (!dense) {
    std::vector<int64_t> walk(kMaxDims * (n + 1), 0);
    for (size_t d = 0; d < m.sizes.size(); d++) {
      walk[d] = m.sizes[d];
      for (size_t a = 0; a < n; a++) walk[kMaxDims * (a + 1) + d] = m.strides[a][d];
    }
    launch.bytes(walk.data(), walk.size() * sizeof(int64_t)).value<int32_t>(static_cast<int32_t>(m.sizes.size()));
  }
  const auto give_number = [&](const Scalar& s, const std::string& kind) {
    if (kind == "float") launch.value(static_cast<float>(s.toDouble()));
    else if (kind == "double") launch.value(s.toDouble());
    else if (kind == "long") launch.value(s.isFloatingPoint() ? static_cast<int64_t>(s.toDouble()) : s.toLong());
    else launch.value<uint8_t>(s.toDouble() != 0);
  };
  launch.pointer(out.data_ptr());
  for (size_t i = 0; i < inputs.size(); i++) {
    if (inputs[i].tensor.defined()) launch.pointer(inputs[i].tensor.data_ptr());
    else give_number(inputs[i].number, kind_of(i));
  }
  for (const Scalar& p : params) give_number(p, type);
  launch.run(static_cast<size_t>(count));
  return true;
}

const char* text_for(const Expression& e, ScalarType compute) {
  const std::string type = element_type(compute) ? element_type(compute) : "";
  return type == "float" || type == "double" ? e.floating : type == "long" ? e.whole : type == "bool" ? e.truth : "";
}

// An expression on inputs, into `out`.
bool compute(DeviceIndex index, const Expression& e, const Tensor& out, const std::vector<Input>& inputs, ScalarType compute,
             const std::vector<Scalar>& params) {
  const std::string text = text_for(e, compute);
  if (text.empty()) return false;
  std::string arguments;
  for (int i = 0; i < e.inputs; i++) arguments += (i ? ", v" : "v") + std::to_string(i);
  for (int i = 0; i < e.params; i++) arguments += (arguments.empty() ? "p" : ", p") + std::to_string(i);
  const std::string name = e.function;
  std::string value = name + "_operator(" + arguments + ")";
  if (e.far && is_floating_type(compute)) value = "(" + name + "_far(" + arguments + ") ? " + name + "_at_far(" + arguments + ") : " + value + ")";
  return run(index, out, inputs, e.mask, compute, params, text, value);
}

// The tensor or number of an argument. Numbers of the CPU are read.
Input input_of(const Value& v) {
  if (!v.is_tensor()) return {{}, v.to_scalar()};
  const Tensor& t = v.to_tensor();
  if (on_device(t)) return {t, 0};
  CRESSET_CHECK(t.device().is_cpu() && t.dim() == 0, "opencl: expected tensors of one device, or numbers, got one of ", t.device(), " with shape ", t.sizes());
  return {{}, t.item()};
}

ScalarType compute_dtype(const Call& c, Promote promote, const std::vector<int>& inputs, int mask) {
  if (promote == Promote::First) {
    const Value& first = c[static_cast<size_t>(inputs[mask == 0 ? 1 : 0])];
    return first.is_tensor() ? first.to_tensor().scalar_type() : cresset::ResultType::of_number(first.to_scalar().type());
  }
  cresset::ResultType types;
  for (size_t i = 0; i < inputs.size(); i++) {
    if (static_cast<int>(i) == mask) continue;
    const Value& v = c[static_cast<size_t>(inputs[i])];
    if (v.is_tensor()) types.add(*v.to_tensor().impl());
    else types.add_number(v.to_scalar().type());
  }
  const ScalarType t = types.get();
  return promote == Promote::Floating && is_integral_type(t, true) ? cresset::get_default_dtype() : t;
}

// Whether a written tensor shares memory with an input other than as that input itself.
bool shares(const Tensor& out, const std::vector<Input>& inputs) {
  for (const Input& in : inputs) {
    if (!in.tensor.defined() || in.tensor.storage().data() != out.storage().data()) continue;
    if (in.tensor.data_ptr() != out.data_ptr() || in.tensor.sizes() != out.sizes() || in.tensor.strides() != out.strides()) return true;
  }
  return false;
}

bool run_row(Call& c, const Row& row) {
  const Expression& e = kExpressions[row.expression];
  std::vector<Input> inputs;
  for (const int i : row.inputs) inputs.push_back(input_of(c[static_cast<size_t>(i)]));
  std::vector<Scalar> params;
  for (const int i : row.params) params.push_back(c[static_cast<size_t>(i)].to_scalar());
  const ScalarType type = compute_dtype(c, row.promote, row.inputs, row.mask);
  if (!*text_for(e, type)) return false;
  Tensor out = c.results()[0];
  if (!on_device(out)) return false;
  if (!shares(out, inputs)) return compute(c.device(), e, out, inputs, type, params) && c.give(out);
  const Tensor apart = make_like(out);
  if (!compute(c.device(), e, apart, inputs, type, params)) return false;
  move_elements(out, apart);
  return c.give(out);
}

// Operators over an expression that the rows name otherwise, with the numbers that they give it.
bool apply(Call& c, const char* name, const std::vector<int>& arguments, const std::vector<Scalar>& params, Promote promote = Promote::Common) {
  std::vector<Input> inputs;
  for (const int i : arguments) inputs.push_back(input_of(c[static_cast<size_t>(i)]));
  const ScalarType type = compute_dtype(c, promote, arguments, -1);
  const Tensor out = c.results()[0];
  return on_device(out) && !shares(out, inputs) && compute(c.device(), expression_of(name), out, inputs, type, params) && c.give(out);
}

bool clamp(Call& c) {
  const bool low = c.has(1), high = c.has(2);
  if (!low && !high) return false;
  if (low && high) return apply(c, "clamp", {0}, {c[1].to_scalar(), c[2].to_scalar()});
  return low ? apply(c, "clamp_min", {0}, {c[1].to_scalar()}) : apply(c, "clamp_max", {0}, {c[2].to_scalar()});
}
bool clamp_tensor(Call& c) {
  const bool low = c.has(1), high = c.has(2);
  if (low && high) return apply(c, "clamp_tensor", {0, 1, 2}, {});
  return low ? apply(c, "maximum", {0, 1}, {}) : high && apply(c, "minimum", {0, 2}, {});
}
bool gelu(Call& c) { return apply(c, c[1].to_string() == "tanh" ? "gelu_tanh" : "gelu", {0}, {}); }
bool gelu_backward(Call& c) { return apply(c, c[2].to_string() == "tanh" ? "gelu_tanh_backward" : "gelu_backward", {0, 1}, {}); }
bool elu_backward(Call& c) {
  return apply(c, c.flag(4) ? "elu_backward_from_result" : "elu_backward", {0, 5}, {c[1].to_scalar(), c[2].to_scalar(), c[3].to_scalar()});
}
bool round_decimals(Call& c) {
  const int64_t n = c.integer(1);
  return apply(c, "round_decimals", {0}, {Scalar(std::pow(10.0, static_cast<double>(std::abs(n)))), Scalar(n < 0 ? 1.0 : 0.0)});
}
bool nan_to_num(Call& c) {
  const Tensor& x = c.tensor(0);
  if (!is_floating(x)) return false;
  const double most = x.scalar_type() == ScalarType::Half ? 65504 : x.scalar_type() == ScalarType::BFloat16 ? 3.38953139e38 : 3.40282346638528859812e38;
  return apply(c, "nan_to_num", {0}, {c.has(1) ? c.number(1) : 0.0, c.has(2) ? c.number(2) : most, c.has(3) ? c.number(3) : -most});
}
bool power(Call& c) {
  const Scalar exponent = c[1].to_scalar();
  if (exponent.isComplex()) return false;
  const double n = exponent.toDouble();
  if (!is_floating_type(c.tensor(0).scalar_type())) return apply(c, "pow", {0, 1}, {});
  if (n == 0.5) return apply(c, "sqrt", {0}, {});
  if (n == -0.5) return apply(c, "rsqrt", {0}, {});
  if (n == 2) return apply(c, "square", {0}, {});
  if (n == -1) return apply(c, "reciprocal", {0}, {});
  return apply(c, "pow", {0, 1}, {});
}
// log(x / (1 - x)), of x clamped to [eps, 1 - eps].
bool logit(Call& c) {
  const Tensor& self = c.tensor(0);
  if (!is_floating(self)) return false;
  c.meta_results();
  const Tensor x = c.has(1) ? self.clamp(c[1].to_scalar(), Scalar(1 - c.number(1))) : self;
  return c.give(cresset::log(x / (1 - x)));
}
bool equal(Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  if (!on_device(a) || !on_device(b) || a.scalar_type() != b.scalar_type()) return false;
  const bool same = a.sizes() == b.sizes() && a.eq(b).all().item().toBool();
  return c.give(same);
}
// Losses: the expression of (input, target), then the reduction.
bool loss(Call& c, const char* name, const std::vector<Scalar>& params) {
  const Tensor &x = c.tensor(0), &y = c.tensor(1);
  if (!is_floating(x) || !is_floating(y) || !on_device(x) || !on_device(y)) return false;
  const int64_t reduction = c.integer(2);
  c.meta_results();  // checks
  const Tensor shape = cresset::broadcast_tensors({x, y})[0];
  const Tensor each = make(shape.sizes(), promote_types(x.scalar_type(), y.scalar_type()), c.device());
  if (!compute(c.device(), expression_of(name), each, {{x, 0}, {y, 0}}, each.scalar_type(), params)) return false;
  return c.give(reduction == 0 ? each : reduction == 1 ? each.mean() : each.sum());
}

}  // namespace

void fill_all(const Tensor& t, const Scalar& value) {
  if (!run(t.device().index(), t, {}, -1, t.scalar_type(), {value}, "", "p0")) {
    Tensor target = t;
    target.copy_(cresset::full({}, value, cresset::TensorOptions(t.scalar_type())));
  }
}
void move_elements(const Tensor& to, const Tensor& from) {
  const ScalarType a = to.scalar_type(), b = from.scalar_type();
  if (a == b && to.is_contiguous() && from.is_contiguous() && to.sizes() == from.sizes())
    return copy_bytes(to.data_ptr(), from.data_ptr(), to.nbytes(), to.device().index(), false);
  // Elements that are not computed on move as integers of their size.
  if (a == b && !stored_type(a)) {
    const Tensor x = cresset::view_as_real(to), y = cresset::view_as_real(from);
    return move_elements(x, y);
  }
  const ScalarType compute = a == ScalarType::Bool                        ? b
                             : is_floating_type(b) || is_floating_type(a) ? (a == ScalarType::Double || b == ScalarType::Double ? ScalarType::Double
                                                                             : is_floating_type(b)                              ? ScalarType::Float
                                                                                                                                : b)
                                                                          : ScalarType::Long;
  const bool done = run(to.device().index(), to, {{from, 0}}, -1, compute, {}, "", "v0");
  CRESSET_CHECK(done, "opencl: copying ", b, " to ", a, " is not possible on the device");
}

void add_pointwise(cresset::dispatch::Library& m) {
  for (const Row& row : rows()) {
    const Expression& e = kExpressions[row.expression];
    if (!*e.floating && !*e.whole && !*e.truth) continue;
    if (std::string(e.name) == "bitwise_left_shift") continue;  // counts its bits in the dtype's own width
    m.impl(row.name, cresset::dispatch::BoxedFn([&row](const OpEntry& op, Stack& stack) {
             {
               const cresset::ExcludeLayers below(cresset::kAutogradLayer);
               Call call(op, stack);
               const cresset::DeviceGuard guard(cresset::Device(kType, call.device()));
               if (run_row(call, row)) return;
             }
             on_cpu(op, stack);
           }));
  }
  native(m, "clamp", clamp);
  native(m, "clamp.Tensor", clamp_tensor);
  native(m, "clamp_min", [](Call& c) { return apply(c, "clamp_min", {0}, {c[1].to_scalar()}); });
  native(m, "clamp_max", [](Call& c) { return apply(c, "clamp_max", {0}, {c[1].to_scalar()}); });
  native(m, "gelu", gelu);
  native(m, "gelu_backward", gelu_backward);
  native(m, "elu_backward", elu_backward);
  native(m, "round.decimals", round_decimals);
  native(m, "nan_to_num", nan_to_num);
  native(m, "pow.Tensor_Scalar", power);
  native(m, "logit", logit);
  native(m, "equal", equal);
  native(m, "mse_loss", [](Call& c) { return loss(c, "mse_loss", {}); });
  native(m, "smooth_l1_loss", [](Call& c) { return c.number(3) > 0 && loss(c, "smooth_l1_loss", {c[3].to_scalar()}); });
  native(m, "huber_loss", [](Call& c) { return loss(c, "huber_loss", {c[3].to_scalar()}); });
}

}  // namespace opencl
