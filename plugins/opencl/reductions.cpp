// Reductions over any dimensions, and scans along one: a state that takes element after element, as text.

#include <cmath>

#include "call.h"

namespace opencl {

namespace {

// OpenCL C: the state's members; statements that begin it as `s`, that take the value v of element number `at`, that merge `o` into `s`, and that put the
// result in place `n` of `out` (and `second`).
struct Reduction {
  std::string state, begin, step, merge, finish;
};

// Sums are made in double where the device has it.
std::string wide(DeviceIndex index, ScalarType t) {
  const std::string type = element_type(t);
  return type == "bool" || type == "long" ? "long" : chip(index).fp64 ? "double" : "float";
}

bool reduce(const Tensor& x, const std::vector<int64_t>& dims, const std::vector<Tensor>& outs, const Reduction& r) {
  if (x.dim() > kMaxDims || !is_real(x.scalar_type())) return false;
  const DeviceIndex index = x.device().index();
  const std::vector<int64_t> kept = other_dims(dims, x.dim());
  int64_t length = 1;
  for (const int64_t d : dims) length *= x.sizes()[static_cast<size_t>(d)];
  const int64_t count = outs[0].numel();
  if (count == 0) return true;
  const bool by_group = length >= 512 && count < 4096;

  std::string source = prelude() + names_of(x.scalar_type()) + names_of(outs[0].scalar_type(), "O") + kOne;
  source += "typedef struct { " + r.state + " } State;\n";
  source += "kernel " + std::string(by_group ? "__attribute__((reqd_work_group_size(64, 1, 1))) " : "");
  source += "void run(ulong count, ulong length, One kept, int kept_dims, One reduced, int reduced_dims, global const T* x, global TO* out";
  if (outs.size() > 1) source += std::string(", global ") + stored_type(outs[1].scalar_type()) + "* second";
  source += ") {\n";
  const std::string walk = "    const C v = LOAD(x, base + offset_of(reduced, reduced_dims, at));\n    " + r.step + "\n";
  if (by_group) {
    source +=
        "  const ulong n = get_group_id(0);\n  const int item = get_local_id(0);\n  const long base = offset_of(kept, kept_dims, n);\n  local State all[64];\n "
        " State s;\n  " +
        r.begin + "\n  for (ulong at = item; at < length; at += 64) {\n" + walk + "  }\n  all[item] = s;\n  barrier(CLK_LOCAL_MEM_FENCE);\n" +
        "  for (int half_ = 32; half_ > 0; half_ /= 2) {\n    if (item < half_) {\n      State s = all[item];\n      const State o = all[item + half_];\n     "
        " " +
        r.merge + "\n      all[item] = s;\n    }\n    barrier(CLK_LOCAL_MEM_FENCE);\n  }\n  if (item == 0) {\n    const State s = all[0];\n    " + r.finish +
        "\n  }\n}\n";
  } else {
    source += "  const ulong n = get_global_id(0);\n  if (n >= count) return;\n  const long base = offset_of(kept, kept_dims, n);\n  State s;\n  " + r.begin +
              "\n  for (ulong at = 0; at < length; at++) {\n" + walk + "  }\n  " + r.finish + "\n}\n";
  }
  if (!compiles(index, source)) return false;
  Launch launch(index, source);
  launch.value<uint64_t>(static_cast<uint64_t>(count)).value<uint64_t>(static_cast<uint64_t>(length));
  launch.value(walk_of(x, kept)).value<int32_t>(static_cast<int32_t>(kept.size())).value(walk_of(x, dims)).value<int32_t>(static_cast<int32_t>(dims.size()));
  launch.pointer(x.data_ptr());
  for (const Tensor& t : outs) launch.pointer(t.data_ptr());
  launch.run(static_cast<size_t>(by_group ? count * 64 : count), by_group ? 64 : 0);
  return true;
}

bool run(Call& c, const std::vector<int64_t>& dims, const Reduction& r) {
  const std::vector<Tensor> outs = c.results(), writes = dense_for(outs);
  return reduce(c.tensor(0), dims, writes, r) && deliver(c, outs, writes);
}
// Argument `at` names dimensions; none are all.
std::vector<int64_t> dims_of(const Call& c, size_t at) { return wrapped_dims(c.integers(at), c.tensor(0).dim(), true); }

bool supported(const Call& c) { return is_real(c.tensor(0).scalar_type()); }

Reduction summing(const std::string& type, const std::string& value, const std::string& result) {
  return {type + " sum;", "s.sum = 0;", "s.sum += " + value + ";", "s.sum += o.sum;", "STOREO(out, n, " + result + ");"};
}
// The dtype in which elements are added: that of the result.
std::string sum_type(const Call& c, size_t dtype) {
  const ScalarType own = c.tensor(0).scalar_type();
  return wide(c.device(), c.has(dtype) ? c[dtype].to_dtype() : own);
}
bool sum(Call& c) {
  const std::string type = sum_type(c, 3);
  return supported(c) && run(c, dims_of(c, 1), summing(type, "(" + type + ")v", "s.sum"));
}
bool nansum(Call& c) {
  const std::string type = sum_type(c, 3);
  return supported(c) && run(c, dims_of(c, 1), summing(type, "v != v ? 0 : (" + type + ")v", "s.sum"));
}
bool mean(Call& c) {
  const std::string type = sum_type(c, 3);
  return supported(c) && run(c, dims_of(c, 1), summing(type, "(" + type + ")v", "s.sum / (" + type + ")length"));
}
Reduction multiplying(const std::string& type) {
  return {type + " product;", "s.product = 1;", "s.product *= (" + type + ")v;", "s.product *= o.product;", "STOREO(out, n, s.product);"};
}
bool prod_dim(Call& c) { return supported(c) && run(c, wrapped_dims({c.integer(1)}, c.tensor(0).dim(), false), multiplying(sum_type(c, 3))); }

// The extreme with its number: the first of equals; a NaN is the extreme of all.
Reduction extreme(const std::string& better, const std::string& finish) {
  const auto take = [&](const std::string& v, const std::string& at) {
    return "if (s.at < 0 || (s.v == s.v && (" + v + " " + better + " s.v || " + v + " != " + v + ")) || (" + at + " < s.at && (" + v + " == s.v || (" + v +
           " != " + v + " && s.v != s.v)))) { s.v = " + v + "; s.at = " + at + "; }";
  };
  return {"C v; long at;", "s.v = 0; s.at = -1;", take("v", "(long)at"), "if (o.at >= 0) { " + take("o.v", "o.at") + " }", finish};
}
const char *const kValue = "STOREO(out, n, s.v);", *const kNumber = "STOREO(out, n, s.at);", *const kBoth = "STOREO(out, n, s.v); second[n] = s.at;";
bool one_dim(Call& c, const Reduction& r) { return supported(c) && c.tensor(0).dim() > 0 && run(c, wrapped_dims({c.integer(1)}, c.tensor(0).dim(), false), r); }
bool arg(Call& c, const char* better) {
  if (!supported(c)) return false;
  const std::vector<int64_t> dims = c.has(1) ? wrapped_dims({c.integer(1)}, c.tensor(0).dim(), false) : wrapped_dims({}, c.tensor(0).dim(), true);
  return run(c, dims, extreme(better, kNumber));
}

bool truth(Call& c, bool all) {
  const Reduction r{"int any;", all ? "s.any = 1;" : "s.any = 0;", all ? "s.any &= v != 0;" : "s.any |= v != 0;", all ? "s.any &= o.any;" : "s.any |= o.any;",
                    "STOREO(out, n, s.any);"};
  return supported(c) && run(c, dims_of(c, 1), r);
}

// Welford's mean and sum of squares.
Reduction spread(const std::string& type, double correction, const std::string& result, bool with_mean) {
  const std::string divisor = "fmax((" + type + ")0, s.count - (" + type + ")" + std::to_string(correction) + ")";
  std::string value = result;
  replace_all(value, "VAR", "(s.squares / " + divisor + ")");
  return {type + " count, mean, squares;", "s.count = 0; s.mean = 0; s.squares = 0;",
          "s.count += 1; { const " + type + " d = v - s.mean; s.mean += d / s.count; s.squares += d * (v - s.mean); }",
          "if (o.count > 0) { const " + type +
              " d = o.mean - s.mean, both = s.count + o.count; s.squares += o.squares + d * d * s.count * o.count / both; s.mean += d * o.count / both; "
              "s.count = both; }",
          "STOREO(out, n, " + value + ");" + (with_mean ? " STOREO(second, n, length ? s.mean : NAN);" : "")};
}
bool variance(Call& c, const char* result, bool with_mean) {
  if (!is_floating(c.tensor(0)) && c.tensor(0).scalar_type() != ScalarType::Double) return false;
  return run(c, dims_of(c, 1), spread(wide(c.device(), c.tensor(0).scalar_type()), c.has(2) ? c.number(2) : 1.0, result, with_mean));
}

bool norm(Call& c) {
  if (!is_floating(c.tensor(0)) && c.tensor(0).scalar_type() != ScalarType::Double) return false;
  const double order = c.number(1);
  const std::string type = wide(c.device(), c.tensor(0).scalar_type()), a = "fabs((" + type + ")v)", text = std::to_string(order);
  Reduction r = summing(type, a, "s.sum");
  if (std::isinf(order)) {
    const std::string better = order > 0 ? ">" : "<", start = order > 0 ? "0" : "INFINITY";
    r = {type + " v;", "s.v = " + start + ";", "{ const " + type + " a = " + a + "; if (a " + better + " s.v || a != a) s.v = a; }",
         "if (o.v " + better + " s.v || o.v != o.v) s.v = o.v;", "STOREO(out, n, s.v);"};
  } else if (order == 0) {
    r = summing(type, "v != 0", "s.sum");
  } else if (order == 2) {
    r = summing(type, "(" + type + ")v * (" + type + ")v", "sqrt(s.sum)");
  } else if (order != 1) {
    r = summing(type, "pow(" + a + ", (" + type + ")" + text + ")", "pow(s.sum, 1 / (" + type + ")" + text + ")");
  }
  return run(c, dims_of(c, 2), r);
}

// log(sum(exp)) as the largest and the sum relative to it.
const char* const kLogStep =
    "if (V != -INFINITY) { if (V == s.top) s.sum += W; else if (V < s.top) s.sum += W * exp(V - s.top); else { s.sum = s.sum * exp(s.top - V) + W; s.top = V; "
    "} }";
Reduction log_sum(const std::string& type) {
  std::string step = kLogStep, merge = kLogStep;
  replace_all(step, "V", "(" + type + ")v");
  replace_all(step, "W", "1");
  replace_all(merge, "V", "o.top");
  replace_all(merge, "W", "o.sum");
  replace_all(step, "INFINITY", "INFINITY");
  return {type + " top, sum;", "s.top = -INFINITY; s.sum = 0;", step, merge, "STOREO(out, n, s.sum == 0 ? s.top : s.top + log(s.sum));"};
}
bool logsumexp(Call& c) {
  return is_floating(c.tensor(0)) && run(c, wrapped_dims(c.integers(1), c.tensor(0).dim(), true), log_sum(wide(c.device(), c.tensor(0).scalar_type())));
}

bool scan(Call& c, const char* state, const char* begin, const char* step, const char* value) {
  const Tensor& x = c.tensor(0);
  if (!is_real(x.scalar_type()) || x.dim() > kMaxDims) return false;
  const std::vector<Tensor> outs = c.results(), writes = dense_for(outs);
  const Tensor& out = writes[0];
  if (!is_real(out.scalar_type())) return false;
  if (out.numel() == 0) return c.give_all(outs);
  const int64_t rank = x.dim();
  const std::vector<int64_t> dims = wrapped_dims({c.integer(1)}, rank, false), kept = other_dims(dims, rank);
  const int64_t length = rank ? x.sizes()[static_cast<size_t>(dims[0])] : 1, rows = x.numel() / length;
  std::string text = std::string("  ") + state + "\n  " + begin +
                     "\n  for (ulong at = 0; at < length; at++) {\n    const C v = LOAD(x, from + (long)at * x_stride);\n    " + step +
                     "\n    STOREO(out, to + (long)at * out_stride, " + value + ");\n  }\n}\n";
  replace_all(text, "WIDE", wide(c.device(), out.scalar_type()));
  const std::string source = prelude() + names_of(x.scalar_type()) + names_of(out.scalar_type(), "O") + kOne +
                             "kernel void run(ulong rows, ulong length, One x_kept, One out_kept, int kept_dims, long x_stride, long out_stride, global const "
                             "T* x, global TO* out) {\n"
                             "  const ulong n = get_global_id(0);\n  if (n >= rows) return;\n  const long from = offset_of(x_kept, kept_dims, n), to = "
                             "offset_of(out_kept, kept_dims, n);\n" +
                             text;
  if (!compiles(c.device(), source)) return false;
  {
    Launch launch(c.device(), source);
    launch.value<uint64_t>(static_cast<uint64_t>(rows)).value<uint64_t>(static_cast<uint64_t>(length));
    launch.value(walk_of(x, kept)).value(walk_of(out, kept)).value<int32_t>(static_cast<int32_t>(kept.size()));
    launch.value<int64_t>(rank ? x.strides()[static_cast<size_t>(dims[0])] : 1).value<int64_t>(rank ? out.strides()[static_cast<size_t>(dims[0])] : 1);
    launch.pointer(x.data_ptr()).pointer(out.data_ptr()).run(static_cast<size_t>(rows));
  }
  return deliver(c, outs, writes);
}

}  // namespace

void add_reductions(cresset::dispatch::Library& m) {
  native(m, "sum.dim_IntList", sum);
  native(m, "nansum", nansum);
  native(m, "mean.dim", mean);
  native(m, "prod", [](Call& c) { return supported(c) && run(c, wrapped_dims({}, c.tensor(0).dim(), true), multiplying(sum_type(c, 1))); });
  native(m, "prod.dim_int", prod_dim);
  native(m, "amax", [](Call& c) { return supported(c) && run(c, dims_of(c, 1), extreme(">", kValue)); });
  native(m, "amin", [](Call& c) { return supported(c) && run(c, dims_of(c, 1), extreme("<", kValue)); });
  native(m, "max", [](Call& c) { return supported(c) && run(c, wrapped_dims({}, c.tensor(0).dim(), true), extreme(">", kValue)); });
  native(m, "min", [](Call& c) { return supported(c) && run(c, wrapped_dims({}, c.tensor(0).dim(), true), extreme("<", kValue)); });
  native(m, "max.dim", [](Call& c) { return one_dim(c, extreme(">", kBoth)); });
  native(m, "min.dim", [](Call& c) { return one_dim(c, extreme("<", kBoth)); });
  native(m, "argmax", [](Call& c) { return arg(c, ">"); });
  native(m, "argmin", [](Call& c) { return arg(c, "<"); });
  native(m, "all.dims", [](Call& c) { return truth(c, true); });
  native(m, "any.dims", [](Call& c) { return truth(c, false); });
  native(m, "var.correction", [](Call& c) { return variance(c, "VAR", false); });
  native(m, "std.correction", [](Call& c) { return variance(c, "sqrt(VAR)", false); });
  native(m, "var_mean.correction", [](Call& c) { return variance(c, "VAR", true); });
  native(m, "linalg_vector_norm", norm);
  native(m, "count_nonzero.dim_IntList", [](Call& c) { return supported(c) && run(c, dims_of(c, 1), summing("long", "v != 0", "s.sum")); });
  native(m, "logsumexp", logsumexp);
  native(m, "cumsum", [](Call& c) { return scan(c, "WIDE s;", "s = 0;", "s += (WIDE)v;", "s"); });
  native(m, "cumprod", [](Call& c) { return scan(c, "WIDE s;", "s = 1;", "s *= (WIDE)v;", "s"); });
  native(m, "logcumsumexp", [](Call& c) {
    return is_floating(c.tensor(0)) && scan(c, "struct { WIDE top, sum; } s;", "s.top = -INFINITY; s.sum = 0;",
                                            "{ const WIDE w = v; if (w != -INFINITY) { if (w == s.top) s.sum += 1; else if (w < s.top) s.sum += exp(w - "
                                            "s.top); else { s.sum = s.sum * exp(s.top - w) + 1; s.top = w; } } }",
                                            "s.sum == 0 ? s.top : s.top + log(s.sum)");
  });
}

}  // namespace opencl
