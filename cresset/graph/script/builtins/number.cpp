// Numbers and truth values.

#include <algorithm>
#include <climits>
#include <cmath>
#include <complex>
#include <numeric>

#include "cresset/graph/script/dtype_number.h"
#include "cresset/graph/script/values.h"

namespace cresset::graph::script {

namespace {

[[noreturn]] void zero_division(const char* what) { CRESSET_CHECK(false, "division by zero in ", what); }

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) zero_division("//");
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
int64_t floor_mod(int64_t a, int64_t b) { return b == -1 ? 0 : a - floor_div(a, b) * b; }
// Has the sign of `b`, zeros too. By zero it is what the machine gives, as quotients of floats are: no number.
double float_mod(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

template <class T> T wrapped(T a, T b, int op) {
  if constexpr (std::is_same_v<T, int64_t>) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<int64_t>(op == 0 ? x + y : op == 1 ? x - y : x * y);
  } else {
    return op == 0 ? a + b : op == 1 ? a - b : a * b;
  }
}
template <int op> void int_op(Inputs in, size_t, Datum& out) { put(out, wrapped(as_int(*in[0]), as_int(*in[1]), op)); }
template <int op> void float_op(Inputs in, size_t, Datum& out) { put(out, wrapped(as_float(*in[0]), as_float(*in[1]), op)); }
template <int op> void complex_op(Inputs in, size_t, Datum& out) { put(out, wrapped(as_complex(*in[0]), as_complex(*in[1]), op)); }
template <int op> void any_op(Inputs in, size_t n, Datum& out) {
  if (in[0]->isComplexDouble() || in[1]->isComplexDouble()) return complex_op<op>(in, n, out);
  if (in[0]->isDouble() || in[1]->isDouble()) return float_op<op>(in, n, out);
  int_op<op>(in, n, out);
}

template <int op> void add_arithmetic(const char* name) {
  const std::string s = std::string("aten::") + name;
  const auto add = [&](const char* overload, const char* a, const char* b, const char* r, BuiltinFn run) {
    add_builtin((s + overload + "(" + a + " a, " + b + " b) -> " + r).c_str(), run);
  };
  add(".int", "int", "int", "int", int_op<op>);
  add(".float", "float", "float", "float", float_op<op>);
  add(".int_float", "int", "float", "float", float_op<op>);
  add(".float_int", "float", "int", "float", float_op<op>);
  add(".complex", "complex", "complex", "complex", complex_op<op>);
  add(".int_complex", "int", "complex", "complex", complex_op<op>);
  add(".complex_int", "complex", "int", "complex", complex_op<op>);
  add(".float_complex", "float", "complex", "complex", complex_op<op>);
  add(".complex_float", "complex", "float", "complex", complex_op<op>);
  add("", "Scalar", "Scalar", "Scalar", any_op<op>);
}

template <class F> void add_compare(const char* name, bool complexes) {
  const std::string s = std::string("aten::") + name;
  const auto add = [&](const char* overload, const char* a, const char* b, BuiltinFn run) {
    add_builtin((s + overload + "(" + a + " a, " + b + " b) -> bool").c_str(), run);
  };
  const BuiltinFn ints = [](Inputs in, size_t, Datum& out) { put(out, bool(F()(as_int(*in[0]), as_int(*in[1])))); };
  const BuiltinFn floats = [](Inputs in, size_t, Datum& out) { put(out, bool(F()(as_float(*in[0]), as_float(*in[1])))); };
  const BuiltinFn strings = [](Inputs in, size_t, Datum& out) { put(out, bool(F()(in[0]->to_string(), in[1]->to_string()))); };
  add(".int", "int", "int", ints);
  add(".float", "float", "float", floats);
  add(".int_float", "int", "float", floats);
  add(".float_int", "float", "int", floats);
  add(".str", "str", "str", strings);
  if (!complexes)
    add("", "Scalar", "Scalar", [](Inputs in, size_t, Datum& out) {
      if (in[0]->isDouble() || in[1]->isDouble()) put(out, bool(F()(as_float(*in[0]), as_float(*in[1]))));
      else put(out, bool(F()(as_int(*in[0]), as_int(*in[1]))));
    });
}
bool numbers_equal(const Datum& a, const Datum& b) {
  if (a.isComplexDouble() || b.isComplexDouble()) return as_complex(a) == as_complex(b);
  if (a.isDouble() || b.isDouble()) return as_float(a) == as_float(b);
  return as_int(a) == as_int(b);
}

}  // namespace

bool same(const Datum& a, const Datum& b) {
  if (a.is_number() && b.is_number()) return numbers_equal(a, b);
  // dtypes and the like are ints in files.
  if (a.is<ScalarType>() && b.is<int64_t>()) return number_of(a.to_dtype()) == b.to_int();
  if (b.is<ScalarType>() && a.is<int64_t>()) return number_of(b.to_dtype()) == a.to_int();
  if (a.is<Layout>() && b.is<int64_t>()) return number_of(a.to_layout()) == b.to_int();
  if (b.is<Layout>() && a.is<int64_t>()) return number_of(b.to_layout()) == a.to_int();
  return a == b;
}

namespace {

// Each pair has a truth value of its own: a tensor of several elements has none, though it is compared with itself.
bool are_equal_tensors(const Datum& a, const Datum& b) {
  const auto &x = list_of(a).elements, &y = list_of(b).elements;
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const Datum& p, const Datum& q) { return p == q; });
}

template <bool Equal> void add_equality(const char* name) {
  const std::string s = std::string("aten::") + name;
  const BuiltinFn numbers = [](Inputs in, size_t, Datum& out) { put(out, same(*in[0], *in[1]) == Equal); };
  const BuiltinFn any = [](Inputs in, size_t, Datum& out) { put(out, same(*in[0], *in[1]) == Equal); };
  const auto add = [&](const char* overload, const char* a, const char* b, BuiltinFn run) {
    add_builtin((s + overload + "(" + a + " a, " + b + " b) -> bool").c_str(), run);
  };
  add(".bool", "bool", "bool", numbers);
  add(".int", "int", "int", numbers);
  add(".complex", "complex", "complex", numbers);
  add(".float", "float", "float", numbers);
  add(".int_float", "int", "float", numbers);
  add(".float_int", "float", "int", numbers);
  add(".float_complex", "float", "complex", numbers);
  add(".complex_float", "complex", "float", numbers);
  add("", "Scalar", "Scalar", numbers);
  add(".str", "str", "str", any);
  add(".device", "Device", "Device", any);
  add(".int_list", "int[]", "int[]", any);
  add(".float_list", "float[]", "float[]", any);
  add(".bool_list", "bool[]", "bool[]", any);
  add(".str_list", "str[]", "str[]", any);
  add(".dtype", "ScalarType", "ScalarType", any);
  add(".layout", "Layout", "Layout", any);
  add(".memory_format", "MemoryFormat", "MemoryFormat", any);
  add(".Tensor_list", "Tensor[]", "Tensor[]", [](Inputs in, size_t, Datum& out) { put(out, are_equal_tensors(*in[0], *in[1]) == Equal); });
  add(".any_list", "t[]", "t[]", any);
  add(".any_dict", "Dict(t, v)", "Dict(t, v)", any);
}

int64_t whole(double v) {
  CRESSET_CHECK_VALUE(v >= -9223372036854775808.0 && v < 9223372036854775808.0, "expected a float that an int can hold, got ", v);
  return static_cast<int64_t>(v);
}
double power_of(double a, double b) {
  CRESSET_CHECK(!(a == 0 && b < 0), "0.0 cannot be raised to a negative power: got ", b);
  return std::pow(a, b);
}
int64_t int_power(int64_t base, int64_t n) {
  if (n < 0) return base == 1 ? 1 : base == -1 ? (n % 2 ? -1 : 1) : 0;
  int64_t result = 1;
  for (auto k = static_cast<uint64_t>(n); k; k >>= 1, base = wrapped(base, base, 2))
    if (k & 1) result = wrapped(result, base, 2);
  return result;
}
std::string digits_of(int64_t v, unsigned base, const char* prefix) {
  uint64_t u = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  std::string s;
  do s.insert(s.begin(), "0123456789abcdef"[u % base]);
  while (u /= base);
  return (v < 0 ? "-" : "") + std::string(prefix) + s;
}

template <double (*F)(double)> void real_function(Inputs in, size_t, Datum& out) { put(out, F(as_float(*in[0]))); }
template <double (*F)(double)> void add_math(const char* name) {
  for (const char* type : {"int", "float", "Scalar"})
    add_builtin((std::string("aten::") + name + "." + type + "(" + type + " a) -> " + (type[0] == 'S' ? "Scalar" : "float")).c_str(), real_function<F>);
}
template <std::complex<double> (*F)(const std::complex<double>&)> std::pair<const char*, BuiltinFn> complex_math(const char* name) {
  return {name, [](Inputs in, size_t, Datum& out) {
            const complex<double> v = as_complex(*in[0]);
            const std::complex<double> r = F({v.real(), v.imag()});
            put(out, complex<double>(r.real(), r.imag()));
          }};
}
double degrees(double v) { return v * 180.0 / 3.14159265358979323846; }
double radians(double v) { return v * 3.14159265358979323846 / 180.0; }
double binary_atan2(double a, double b) { return std::atan2(a, b); }
double binary_copysign(double a, double b) { return std::copysign(a, b); }
double binary_fmod(double a, double b) { return std::fmod(a, b); }
double nearest_remainder(double a, double b) { return std::remainder(a, b); }
double log_to_base(double a, double b) { return std::log(a) / std::log(b); }
template <double (*F)(double, double)> void add_math2(const char* name) {
  for (const auto& [overload, a, b] : {std::array<const char*, 3>{"int", "int", "int"},
                                       {"float", "float", "float"},
                                       {"int_float", "int", "float"},
                                       {"float_int", "float", "int"},
                                       {"Scalar_Scalar", "Scalar", "Scalar"}})
    add_builtin((std::string("aten::") + name + "." + overload + "(" + a + " a, " + b + " b) -> float").c_str(),
                [](Inputs in, size_t, Datum& out) { put(out, F(as_float(*in[0]), as_float(*in[1]))); });
}
double whole_gamma(double v) { return std::tgamma(v); }
double log_gamma(double v) { return std::lgamma(v); }

void add_division() {
  const BuiltinFn divide = [](Inputs in, size_t, Datum& out) {
    if (in[0]->isComplexDouble() || in[1]->isComplexDouble()) return put(out, as_complex(*in[0]) / as_complex(*in[1]));
    put(out, as_float(*in[0]) / as_float(*in[1]));
  };
  add_builtin("aten::div.int(int a, int b) -> float", divide);
  add_builtin("aten::div.complex(complex a, complex b) -> complex", divide);
  add_builtin("aten::div.float(float a, float b) -> float", divide);
  add_builtin("aten::div.int_float(int a, float b) -> float", divide);
  add_builtin("aten::div.float_int(float a, int b) -> float", divide);
  add_builtin("aten::div.complex_float(complex a, float b) -> complex", divide);
  add_builtin("aten::div.float_complex(float a, complex b) -> complex", divide);
  add_builtin("aten::div(Scalar a, Scalar b) -> float", divide);
  const BuiltinFn floor_float = [](Inputs in, size_t, Datum& out) { put(out, std::floor(as_float(*in[0]) / as_float(*in[1]))); };
  const BuiltinFn mod_float = [](Inputs in, size_t, Datum& out) { put(out, float_mod(as_float(*in[0]), as_float(*in[1]))); };
  for (const auto& [overload, a, b] : {std::array<const char*, 3>{"float", "float", "float"}, {"int_float", "int", "float"}, {"float_int", "float", "int"}}) {
    add_builtin((std::string("aten::floordiv.") + overload + "(" + a + " a, " + b + " b) -> float").c_str(), floor_float);
    add_builtin((std::string("aten::remainder.") + overload + "(" + a + " a, " + b + " b) -> float").c_str(), mod_float);
    add_builtin((std::string("aten::divmod.") + overload + "(" + a + " x, " + b + " y) -> (float, float)").c_str(), [](Inputs in, size_t, Datum& out) {
      const double a = as_float(*in[0]), b = as_float(*in[1]), r = float_mod(a, b);
      if (b == 0) zero_division("divmod");
      out = Datum(dispatch::TupleObject::create({Datum((a - r) / b), Datum(r)}));
    });
  }
  add_builtin("aten::floordiv.int(int a, int b) -> int", [](Inputs in, size_t, Datum& out) { put(out, floor_div(as_int(*in[0]), as_int(*in[1]))); });
  add_builtin("aten::remainder.int(int a, int b) -> int", [](Inputs in, size_t, Datum& out) { put(out, floor_mod(as_int(*in[0]), as_int(*in[1]))); });
  add_builtin("aten::divmod.int(int x, int y) -> (int, int)", [](Inputs in, size_t, Datum& out) {
    const int64_t a = as_int(*in[0]), b = as_int(*in[1]);
    out = Datum(dispatch::TupleObject::create({Datum(floor_div(a, b)), Datum(floor_mod(a, b))}));
  });
  add_builtin("aten::floordiv(Scalar a, Scalar b) -> Scalar", [](Inputs in, size_t, Datum& out) {
    if (in[0]->isDouble() || in[1]->isDouble()) put(out, std::floor(as_float(*in[0]) / as_float(*in[1])));
    else put(out, floor_div(as_int(*in[0]), as_int(*in[1])));
  });
  add_builtin("aten::remainder(Scalar a, Scalar b) -> Scalar", [](Inputs in, size_t, Datum& out) {
    if (in[0]->isDouble() || in[1]->isDouble()) put(out, float_mod(as_float(*in[0]), as_float(*in[1])));
    else put(out, floor_mod(as_int(*in[0]), as_int(*in[1])));
  });
}

void add_power() {
  const BuiltinFn floats = [](Inputs in, size_t, Datum& out) { put(out, power_of(as_float(*in[0]), as_float(*in[1]))); };
  const BuiltinFn complexes = [](Inputs in, size_t, Datum& out) {
    const std::complex<double> a(as_complex(*in[0]).real(), as_complex(*in[0]).imag()), b(as_complex(*in[1]).real(), as_complex(*in[1]).imag());
    const std::complex<double> r = std::pow(a, b);
    put(out, complex<double>(r.real(), r.imag()));
  };
  add_builtin("aten::pow.int(int a, int b) -> float", floats);
  add_builtin("aten::pow.complex(complex a, complex b) -> complex", complexes);
  add_builtin("aten::pow.float(float a, float b) -> float", floats);
  add_builtin("aten::pow.int_float(int a, float b) -> float", floats);
  add_builtin("aten::pow.float_int(float a, int b) -> float", floats);
  add_builtin("aten::pow.float_complex(float a, complex b) -> complex", complexes);
  add_builtin("aten::pow.complex_float(complex a, float b) -> complex", complexes);
  add_builtin("aten::pow.Scalar_Scalar(Scalar a, Scalar b) -> float", floats);
  add_builtin("aten::pow.int_to_int(int a, int b) -> int", [](Inputs in, size_t, Datum& out) { put(out, int_power(as_int(*in[0]), as_int(*in[1]))); });
}

const Tensor& implicit_number(const Datum& v) {
  const Tensor& t = v.to_tensor();
  CRESSET_CHECK(!t.requires_grad(), "script: a tensor that requires grad stands for no number");
  CRESSET_CHECK(t.dim() == 0, "script: expected a tensor of no dimensions where a number is to stand, got one of ", t.dim(), " dimensions");
  return t;
}

int64_t implicit_int(const Datum& v) {
  const Tensor& t = implicit_number(v);
  CRESSET_CHECK(!isFloatingType(t.scalar_type()) && !isComplexType(t.scalar_type()),
                "script: expected a tensor of integers where an int is to stand, got one of ", t.scalar_type(), "; convert it with int()");
  return t.item().toLong();
}

void add_bits() {
#define CRESSET_BITS(name, op)                                                                                                                              \
  add_builtin("aten::__" name "__.bool(bool a, bool b) -> bool", [](Inputs in, size_t, Datum& out) { put(out, (as_int(*in[0]) op as_int(*in[1])) != 0); }); \
  add_builtin("aten::__" name "__.int(int a, int b) -> int", [](Inputs in, size_t, Datum& out) { put(out, as_int(*in[0]) op as_int(*in[1])); });
  CRESSET_BITS("and", &)
  CRESSET_BITS("or", |)
  CRESSET_BITS("xor", ^)
#undef CRESSET_BITS
  add_builtin("aten::__lshift__.int(int a, int b) -> int", [](Inputs in, size_t, Datum& out) {
    const int64_t n = as_int(*in[1]);
    CRESSET_CHECK_VALUE(n >= 0, "<<: expected a shift that is not negative, got ", n);
    put(out, n > 63 ? int64_t{0} : static_cast<int64_t>(static_cast<uint64_t>(as_int(*in[0])) << n));
  });
  add_builtin("aten::__rshift__.int(int a, int b) -> int", [](Inputs in, size_t, Datum& out) {
    const int64_t n = as_int(*in[1]);
    CRESSET_CHECK_VALUE(n >= 0, ">>: expected a shift that is not negative, got ", n);
    put(out, as_int(*in[0]) >> std::min<int64_t>(n, 63));
  });
  add_builtin("aten::bitwise_not.int(int a) -> int", [](Inputs in, size_t, Datum& out) { put(out, ~as_int(*in[0])); });
  add_builtin("aten::__not__(bool self) -> bool", [](Inputs in, size_t, Datum& out) { put(out, !as_int(*in[0])); });
}

void add_conversions() {
  const BuiltinFn to_int = [](Inputs in, size_t, Datum& out) {
    if (in[0]->is_tensor()) put(out, in[0]->to_tensor().item().toLong());
    else if (in[0]->isDouble()) put(out, whole(in[0]->toDouble()));
    else put(out, as_int(*in[0]));
  };
  const BuiltinFn to_float = [](Inputs in, size_t, Datum& out) {
    if (in[0]->is_tensor()) put(out, in[0]->to_tensor().item().toDouble());
    else put(out, as_float(*in[0]));
  };
  const BuiltinFn to_bool = [](Inputs in, size_t, Datum& out) {
    if (in[0]->is_tensor()) put(out, in[0]->to_tensor().item().toBool());
    else if (in[0]->isDouble()) put(out, in[0]->toDouble() != 0);
    else put(out, as_int(*in[0]) != 0);
  };
  for (const char* t : {"Tensor", "bool", "float", "Scalar", "int"}) add_builtin((std::string("aten::Int.") + t + "(" + t + " a) -> int").c_str(), to_int);
  for (const char* t : {"Tensor", "Scalar", "int", "bool", "float"})
    add_builtin((std::string("aten::Float.") + t + "(" + t + " a) -> float").c_str(), to_float);
  for (const char* t : {"Tensor", "int", "float", "Scalar", "bool"}) add_builtin((std::string("aten::Bool.") + t + "(" + t + " a) -> bool").c_str(), to_bool);
  // A tensor where a number is asked for, which no cast in the text has made one.
  add_builtin("aten::IntImplicit(Tensor a) -> int", [](Inputs in, size_t, Datum& out) { put(out, implicit_int(*in[0])); });
  add_builtin("aten::FloatImplicit(Tensor a) -> float", [](Inputs in, size_t, Datum& out) { put(out, implicit_number(*in[0]).item().toDouble()); });
  add_builtin("aten::ScalarImplicit(Tensor a) -> Scalar", [](Inputs in, size_t, Datum& out) { out = Datum(implicit_number(*in[0]).item()); });
  add_builtin("aten::Int.str(str a) -> int", [](Inputs in, size_t, Datum& out) {
    const std::string& s = in[0]->to_string();
    try {
      size_t used = 0;
      const long long v = std::stoll(s, &used);
      while (used < s.size() && isspace(static_cast<unsigned char>(s[used]))) used++;
      if (used == s.size()) return put(out, static_cast<int64_t>(v));
    } catch (const std::exception&) {}
    CRESSET_CHECK_VALUE(false, "invalid literal for int() with base 10: '", s, "'");
  });
  add_builtin("aten::Float.str(str a) -> float", [](Inputs in, size_t, Datum& out) {
    const std::string& s = in[0]->to_string();
    char* end = nullptr;
    const double v = std::strtod(s.c_str(), &end);
    CRESSET_CHECK_VALUE(end != s.c_str() && static_cast<size_t>(end - s.c_str()) == s.size(), "could not convert string to float: '", s, "'");
    put(out, v);
  });
  add_builtin("aten::Complex.Scalar(Scalar a) -> complex", [](Inputs in, size_t, Datum& out) { put(out, as_complex(*in[0])); });
  add_builtin("aten::Complex.Tensor_Tensor(Tensor a, Tensor b) -> complex",
              [](Inputs in, size_t, Datum& out) { put(out, complex<double>(in[0]->to_tensor().item().toDouble(), in[1]->to_tensor().item().toDouble())); });
  for (const std::string number : {"float", "int", "bool"}) {
    add_builtin(("aten::Complex.Tensor_" + number + "(Tensor x, " + number + " y) -> complex").c_str(),
                [](Inputs in, size_t, Datum& out) { put(out, complex<double>(in[0]->to_tensor().item().toDouble(), as_float(*in[1]))); });
    add_builtin(("aten::Complex." + number + "_Tensor(" + number + " x, Tensor y) -> complex").c_str(),
                [](Inputs in, size_t, Datum& out) { put(out, complex<double>(as_float(*in[0]), in[1]->to_tensor().item().toDouble())); });
  }
  for (const auto& [overload, a, b] : {std::array<const char*, 3>{"int_int", "int", "int"},
                                       {"float_float", "float", "float"},
                                       {"int_float", "int", "float"},
                                       {"float_int", "float", "int"},
                                       {"bool_bool", "bool", "bool"},
                                       {"int_bool", "int", "bool"},
                                       {"float_bool", "float", "bool"},
                                       {"bool_float", "bool", "float"},
                                       {"bool_int", "bool", "int"}})
    add_builtin((std::string("aten::Complex.") + overload + "(" + a + " x, " + b + " y) -> complex").c_str(),
                [](Inputs in, size_t, Datum& out) { put(out, complex<double>(as_float(*in[0]), as_float(*in[1]))); });
  for (const auto& [overload, a, b] :
       {std::array<const char*, 3>{"int", "int", "int"}, {"float", "float", "float"}, {"int_float", "int", "float"}, {"float_int", "float", "int"}})
    add_builtin((std::string("aten::polar.") + overload + "(" + a + " a, " + b + " b) -> complex").c_str(), [](Inputs in, size_t, Datum& out) {
      const std::complex<double> r = std::polar(as_float(*in[0]), as_float(*in[1]));
      put(out, complex<double>(r.real(), r.imag()));
    });
}

}  // namespace

void add_number_builtins() {
  add_arithmetic<0>("add");
  add_arithmetic<1>("sub");
  add_arithmetic<2>("mul");
  add_division();
  add_power();
  add_bits();
  add_conversions();
  add_equality<true>("eq");
  add_equality<false>("ne");
  add_compare<std::less<>>("lt", false);
  add_compare<std::less_equal<>>("le", false);
  add_compare<std::greater<>>("gt", false);
  add_compare<std::greater_equal<>>("ge", false);
  add_builtin("aten::neg.int(int a) -> int", [](Inputs in, size_t, Datum& out) { put(out, wrapped(int64_t{0}, as_int(*in[0]), 1)); });
  add_builtin("aten::neg.float(float a) -> float", [](Inputs in, size_t, Datum& out) { put(out, -as_float(*in[0])); });
  add_builtin("aten::neg.complex(complex a) -> complex", [](Inputs in, size_t, Datum& out) { put(out, -as_complex(*in[0])); });
  add_builtin("aten::neg.Scalar(Scalar a) -> Scalar", [](Inputs in, size_t, Datum& out) {
    if (in[0]->isDouble()) put(out, -as_float(*in[0]));
    else if (in[0]->isComplexDouble()) put(out, -as_complex(*in[0]));
    else put(out, wrapped(int64_t{0}, as_int(*in[0]), 1));
  });
  add_builtin("prim::abs.int(int a) -> int",
              [](Inputs in, size_t, Datum& out) { put(out, as_int(*in[0]) < 0 ? wrapped(int64_t{0}, as_int(*in[0]), 1) : as_int(*in[0])); });
  add_builtin("prim::abs.float(float a) -> float", [](Inputs in, size_t, Datum& out) { put(out, std::fabs(as_float(*in[0]))); });
  add_builtin("prim::abs.complex(complex a) -> float",
              [](Inputs in, size_t, Datum& out) { put(out, std::hypot(as_complex(*in[0]).real(), as_complex(*in[0]).imag())); });
  add_builtin("prim::abs.Scalar(Scalar a) -> Scalar", [](Inputs in, size_t, Datum& out) {
    if (in[0]->isDouble()) put(out, std::fabs(as_float(*in[0])));
    else put(out, std::abs(as_int(*in[0])));
  });
  add_builtin("prim::abs(Tensor x) -> Tensor", [](Inputs in, size_t, Datum& out) { out = Datum(in[0]->to_tensor().abs()); });
  for (const char* name : {"min", "max"}) {
    const bool is_min = name[1] == 'i';
    const auto add = [&](const char* overload, const char* a, const char* b, const char* r, BuiltinFn lo, BuiltinFn hi) {
      add_builtin((std::string("prim::") + name + overload + "(" + a + " a, " + b + " b) -> " + r).c_str(), is_min ? lo : hi);
    };
    const BuiltinFn imin = [](Inputs in, size_t, Datum& out) { put(out, std::min(as_int(*in[0]), as_int(*in[1]))); };
    const BuiltinFn imax = [](Inputs in, size_t, Datum& out) { put(out, std::max(as_int(*in[0]), as_int(*in[1]))); };
    const BuiltinFn fmin = [](Inputs in, size_t, Datum& out) { put(out, as_float(*in[1]) < as_float(*in[0]) ? as_float(*in[1]) : as_float(*in[0])); };
    const BuiltinFn fmax = [](Inputs in, size_t, Datum& out) { put(out, as_float(*in[1]) > as_float(*in[0]) ? as_float(*in[1]) : as_float(*in[0])); };
    add(".int", "int", "int", "int", imin, imax);
    add(".float", "float", "float", "float", fmin, fmax);
    add(".int_float", "int", "float", "float", fmin, fmax);
    add(".float_int", "float", "int", "float", fmin, fmax);
    add("", "Scalar", "Scalar", "Scalar", fmin, fmax);
  }
  add_builtin("aten::floor.int(int a) -> int", [](Inputs in, size_t, Datum& out) { put(out, as_int(*in[0])); });
  add_builtin("aten::floor.float(float a) -> int", [](Inputs in, size_t, Datum& out) { put(out, whole(std::floor(as_float(*in[0])))); });
  add_builtin("aten::floor.Scalar(Scalar a) -> Scalar", [](Inputs in, size_t, Datum& out) { put(out, whole(std::floor(as_float(*in[0])))); });
  add_builtin("aten::ceil.int(int a) -> int", [](Inputs in, size_t, Datum& out) { put(out, as_int(*in[0])); });
  add_builtin("aten::ceil.float(float a) -> int", [](Inputs in, size_t, Datum& out) { put(out, whole(std::ceil(as_float(*in[0])))); });
  add_builtin("aten::ceil.Scalar(Scalar a) -> Scalar", [](Inputs in, size_t, Datum& out) { put(out, whole(std::ceil(as_float(*in[0])))); });
  add_builtin("aten::round.int(int a) -> float", [](Inputs in, size_t, Datum& out) { put(out, as_float(*in[0])); });
  add_builtin("aten::round.float(float a) -> float", [](Inputs in, size_t, Datum& out) { put(out, std::nearbyint(as_float(*in[0]))); });
  add_builtin("aten::round.Scalar(Scalar a) -> Scalar", [](Inputs in, size_t, Datum& out) { put(out, std::nearbyint(as_float(*in[0]))); });
  add_builtin("aten::gcd.int(int a, int b) -> int", [](Inputs in, size_t, Datum& out) { put(out, std::gcd(as_int(*in[0]), as_int(*in[1]))); });
  add_builtin("aten::factorial.int(int a) -> int", [](Inputs in, size_t, Datum& out) {
    const int64_t n = as_int(*in[0]);
    CRESSET_CHECK_VALUE(n >= 0, "factorial: expected a number that is not negative, got ", n);
    int64_t r = 1;
    for (int64_t k = 2; k <= n; k++) {
      CRESSET_CHECK(k <= 20, "factorial: the result of ", n, " does not fit an int");
      r *= k;
    }
    put(out, r);
  });
  for (const auto& [name, run] :
       {complex_math<std::sqrt>("sqrt"), complex_math<std::exp>("exp"), complex_math<std::log>("log"), complex_math<std::log10>("log10"),
        complex_math<std::sin>("sin"), complex_math<std::cos>("cos"), complex_math<std::tan>("tan"), complex_math<std::asin>("asin"),
        complex_math<std::acos>("acos"), complex_math<std::atan>("atan"), complex_math<std::sinh>("sinh"), complex_math<std::cosh>("cosh"),
        complex_math<std::tanh>("tanh"), complex_math<std::asinh>("asinh"), complex_math<std::acosh>("acosh"), complex_math<std::atanh>("atanh")})
    add_builtin((std::string("aten::") + name + ".complex(complex a) -> complex").c_str(), run);
  add_builtin("aten::angle.complex(complex a) -> float",
              [](Inputs in, size_t, Datum& out) { put(out, std::atan2(as_complex(*in[0]).imag(), as_complex(*in[0]).real())); });
  add_math<std::sqrt>("sqrt");
  add_math<std::exp>("exp");
  add_math<std::expm1>("expm1");
  add_math<std::log>("log");
  add_math<std::log1p>("log1p");
  add_math<std::log10>("log10");
  add_math<std::log2>("log2");
  add_math<std::sin>("sin");
  add_math<std::cos>("cos");
  add_math<std::tan>("tan");
  add_math<std::asin>("asin");
  add_math<std::acos>("acos");
  add_math<std::atan>("atan");
  add_math<std::sinh>("sinh");
  add_math<std::cosh>("cosh");
  add_math<std::tanh>("tanh");
  add_math<std::asinh>("asinh");
  add_math<std::acosh>("acosh");
  add_math<std::atanh>("atanh");
  add_math<std::fabs>("fabs");
  add_math<std::erf>("erf");
  add_math<std::erfc>("erfc");
  add_math<whole_gamma>("gamma");
  add_math<log_gamma>("lgamma");
  add_math<degrees>("degrees");
  add_math<radians>("radians");
  add_math2<binary_atan2>("atan2");
  add_math2<binary_copysign>("copysign");
  add_math2<binary_fmod>("fmod");
  add_math2<nearest_remainder>("mathremainder");
  for (const char* a : {"int", "float"})
    for (const char* b : {"int", "float"})
      add_builtin((std::string("aten::log.") + a + "_" + b + "(" + a + " a, " + b + " b) -> float").c_str(),
                  [](Inputs in, size_t, Datum& out) { put(out, log_to_base(as_float(*in[0]), as_float(*in[1]))); });
  add_builtin("aten::modf(float a) -> (float, float)", [](Inputs in, size_t, Datum& out) {
    double whole_part = 0;
    const double part = std::modf(as_float(*in[0]), &whole_part);
    out = Datum(dispatch::TupleObject::create({Datum(part), Datum(whole_part)}));
  });
  add_builtin("aten::frexp(float a) -> (float, int)", [](Inputs in, size_t, Datum& out) {
    int exponent = 0;
    const double part = std::frexp(as_float(*in[0]), &exponent);
    out = Datum(dispatch::TupleObject::create({Datum(part), Datum(static_cast<int64_t>(exponent))}));
  });
  add_builtin("aten::ldexp(float x, int i) -> float", [](Inputs in, size_t, Datum& out) {
    put(out, std::ldexp(as_float(*in[0]), static_cast<int>(std::clamp<int64_t>(as_int(*in[1]), INT_MIN, INT_MAX))));
  });
  add_builtin("aten::isnan.float(float a) -> bool", [](Inputs in, size_t, Datum& out) { put(out, bool(std::isnan(as_float(*in[0])))); });
  add_builtin("aten::isinf.float(float a) -> bool", [](Inputs in, size_t, Datum& out) { put(out, bool(std::isinf(as_float(*in[0])))); });
  add_builtin("aten::isfinite.float(float a) -> bool", [](Inputs in, size_t, Datum& out) { put(out, bool(std::isfinite(as_float(*in[0])))); });
  const auto add_complex_test = [](const char* name, BuiltinFn run) {
    add_builtin((std::string("aten::") + name + ".complex(complex a) -> bool").c_str(), run);
  };
  add_complex_test("isnan", [](Inputs in, size_t, Datum& out) { put(out, std::isnan(as_complex(*in[0]).real()) || std::isnan(as_complex(*in[0]).imag())); });
  add_complex_test("isinf", [](Inputs in, size_t, Datum& out) { put(out, std::isinf(as_complex(*in[0]).real()) || std::isinf(as_complex(*in[0]).imag())); });
  add_complex_test("isfinite",
                   [](Inputs in, size_t, Datum& out) { put(out, std::isfinite(as_complex(*in[0]).real()) && std::isfinite(as_complex(*in[0]).imag())); });
  add_builtin("aten::__range_length(int lo, int hi, int step) -> int", [](Inputs in, size_t, Datum& out) {
    const int64_t lo = as_int(*in[0]), hi = as_int(*in[1]), step = as_int(*in[2]);
    CRESSET_CHECK_VALUE(step != 0, "range() arg 3 must not be zero");
    if (step > 0 ? lo >= hi : lo <= hi) return put(out, int64_t{0});
    // Differences and steps of any ints fit without a sign.
    const auto first = static_cast<uint64_t>(lo), last = static_cast<uint64_t>(hi);
    const uint64_t count = step > 0 ? (last - 1 - first) / static_cast<uint64_t>(step) : (first - 1 - last) / (0 - static_cast<uint64_t>(step));
    CRESSET_CHECK_VALUE(count < static_cast<uint64_t>(INT64_MAX), "range: expected a length that an int can hold, from ", lo, " to ", hi, " by ", step);
    put(out, static_cast<int64_t>(count) + 1);
  });
  add_builtin("aten::__derive_index(int index, int start, int step) -> int",
              [](Inputs in, size_t, Datum& out) { put(out, as_int(*in[1]) + as_int(*in[0]) * as_int(*in[2])); });
  add_builtin("aten::hex(int i) -> str", [](Inputs in, size_t, Datum& out) { put(out, digits_of(as_int(*in[0]), 16, "0x")); });
  add_builtin("aten::oct(int i) -> str", [](Inputs in, size_t, Datum& out) { put(out, digits_of(as_int(*in[0]), 8, "0o")); });
  add_builtin("aten::bin(int i) -> str", [](Inputs in, size_t, Datum& out) { put(out, digits_of(as_int(*in[0]), 2, "0b")); });
}

}  // namespace cresset::graph::script
