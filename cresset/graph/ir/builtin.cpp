#include "cresset/graph/ir/builtin.h"

#include <cmath>
#include <map>
#include <memory>
#include <mutex>

#include "cresset/core/tensor_impl.h"
#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/graph/ir/levels.h"
#include "cresset/graph/ir/number_rules.h"
#include "cresset/transform/autocast.h"

namespace cresset::graph {

namespace {

using Inputs = const Datum* const*;

bool is_int(const Datum& v) { return v.is<int64_t>() || v.is<bool>(); }
int64_t int_of(const Datum& v) { return v.is<bool>() ? v.to_bool() : v.to_int(); }
double float_of(const Datum& v) { return v.is<bool>() ? v.to_bool() : v.to_double(); }

void put(Datum& out, int64_t v) {
  if (auto* at = std::get_if<int64_t>(&out.data())) *at = v;
  else out = Datum(v);
}
void put(Datum& out, bool v) { out = Datum(v); }
void put(Datum& out, double v) {
  if (auto* at = std::get_if<double>(&out.data())) *at = v;
  else out = Datum(v);
}

int64_t floor_divide(int64_t a, int64_t b) {
  CRESSET_CHECK(b != 0, "ir::floordiv: ", a, " is divided by 0");
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
double python_mod(double a, double b) {
  CRESSET_CHECK(b != 0, "ir::mod: ", a, " is divided by 0");
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// Ints wrap, as they do in tensors.
struct Add {
  static int64_t of(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
  static double of(double a, double b) { return a + b; }
};
struct Sub {
  static int64_t of(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }
  static double of(double a, double b) { return a - b; }
};
struct Mul {
  static int64_t of(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
  static double of(double a, double b) { return a * b; }
};
struct FloorDiv {
  static int64_t of(int64_t a, int64_t b) { return floor_divide(a, b); }
  static double of(double a, double b) {
    CRESSET_CHECK(b != 0, "ir::floordiv: ", a, " is divided by 0");
    return std::floor(a / b);
  }
};
struct Mod {
  static int64_t of(int64_t a, int64_t b) { return b == -1 ? 0 : a - floor_divide(a, b) * b; }
  static double of(double a, double b) { return python_mod(a, b); }
};
struct Max {
  template <class T> static T of(T a, T b) { return b > a ? b : a; }
};
struct Min {
  template <class T> static T of(T a, T b) { return b < a ? b : a; }
};
using namespace number_rules;
template <class F> void binary(Inputs in, size_t, Datum& out) {
  if (is_int(*in[0]) && is_int(*in[1])) put(out, F::of(int_of(*in[0]), int_of(*in[1])));
  else put(out, F::of(float_of(*in[0]), float_of(*in[1])));
}
// Equality is that of any two values.
template <bool Equal> void equality(Inputs in, size_t, Datum& out) {
  if (in[0]->is_number() && in[1]->is_number()) return Equal ? binary<Eq>(in, 2, out) : binary<Ne>(in, 2, out);
  put(out, (*in[0] == *in[1]) == Equal);
}

void true_divide(Inputs in, size_t, Datum& out) {
  const double b = float_of(*in[1]);
  CRESSET_CHECK(b != 0, "ir::truediv: ", float_of(*in[0]), " is divided by 0");
  put(out, float_of(*in[0]) / b);
}
void power(Inputs in, size_t, Datum& out) {
  if (!is_int(*in[0]) || !is_int(*in[1]) || int_of(*in[1]) < 0) return put(out, std::pow(float_of(*in[0]), float_of(*in[1])));
  int64_t result = 1, base = int_of(*in[0]);
  for (uint64_t n = static_cast<uint64_t>(int_of(*in[1])); n; n >>= 1, base = Mul::of(base, base))
    if (n & 1) result = Mul::of(result, base);
  put(out, result);
}
void negate(Inputs in, size_t, Datum& out) {
  if (is_int(*in[0])) put(out, Sub::of(int64_t{0}, int_of(*in[0])));
  else put(out, -float_of(*in[0]));
}
void absolute(Inputs in, size_t, Datum& out) {
  if (is_int(*in[0])) put(out, int_of(*in[0]) < 0 ? Sub::of(int64_t{0}, int_of(*in[0])) : int_of(*in[0]));
  else put(out, std::fabs(float_of(*in[0])));
}
int64_t whole(double v) {
  CRESSET_CHECK_VALUE(v >= -9223372036854775808.0 && v < 9223372036854775808.0, "expected a number that an int can hold, got ", v);
  return static_cast<int64_t>(v);
}
void to_int(Inputs in, size_t, Datum& out) { put(out, is_int(*in[0]) ? int_of(*in[0]) : whole(float_of(*in[0]))); }
void to_float(Inputs in, size_t, Datum& out) { put(out, float_of(*in[0])); }
void to_bool(Inputs in, size_t, Datum& out) { put(out, is_int(*in[0]) ? int_of(*in[0]) != 0 : float_of(*in[0]) != 0); }
void floor_of(Inputs in, size_t, Datum& out) { put(out, is_int(*in[0]) ? int_of(*in[0]) : whole(std::floor(float_of(*in[0])))); }
void ceil_of(Inputs in, size_t, Datum& out) { put(out, is_int(*in[0]) ? int_of(*in[0]) : whole(std::ceil(float_of(*in[0])))); }
void round_of(Inputs in, size_t, Datum& out) { put(out, is_int(*in[0]) ? int_of(*in[0]) : whole(std::nearbyint(float_of(*in[0])))); }
void square_root(Inputs in, size_t, Datum& out) {
  const double v = float_of(*in[0]);
  CRESSET_CHECK_VALUE(v >= 0, "ir::sqrt: expected a number that is not negative, got ", v);
  put(out, std::sqrt(v));
}
void both(Inputs in, size_t, Datum& out) { put(out, in[0]->to_bool() && in[1]->to_bool()); }
void either(Inputs in, size_t, Datum& out) { put(out, in[0]->to_bool() || in[1]->to_bool()); }
void negation(Inputs in, size_t, Datum& out) { put(out, !in[0]->to_bool()); }
void is_none(Inputs in, size_t, Datum& out) { put(out, in[0]->is_none() || (in[0]->is_tensor() && !in[0]->to_tensor().defined())); }

int64_t place_of(int64_t i, int64_t n, const char* what) {
  CRESSET_CHECK_INDEX(i >= -n && i < n, what, ": index ", i, " is out of range for ", n, " elements");
  return i < 0 ? i + n : i;
}
const Tensor& tensor_of(const Datum& v, const char* what) {
  CRESSET_CHECK_TYPE(v.is_tensor() && v.to_tensor().defined(), what, ": expected a tensor, got ", v.kind());
  return v.to_tensor();
}
void size_of(Inputs in, size_t, Datum& out) {
  const Tensor& t = tensor_of(*in[0], "ir::size");
  put(out, t.sizes()[static_cast<size_t>(place_of(in[1]->to_int(), t.dim(), "ir::size"))]);
}
void stride_of(Inputs in, size_t, Datum& out) {
  const Tensor& t = tensor_of(*in[0], "ir::stride");
  put(out, t.strides()[static_cast<size_t>(place_of(in[1]->to_int(), t.dim(), "ir::stride"))]);
}
void sizes_of(Inputs in, size_t, Datum& out) { out = Datum(tensor_of(*in[0], "ir::sizes").sizes().vec()); }
void offset_of(Inputs in, size_t, Datum& out) { put(out, tensor_of(*in[0], "ir::storage_offset").storage_offset()); }
void numel_of(Inputs in, size_t, Datum& out) { put(out, tensor_of(*in[0], "ir::numel").numel()); }
void rank_of(Inputs in, size_t, Datum& out) { put(out, tensor_of(*in[0], "ir::dim").dim()); }

void item_of(Inputs in, size_t, Datum& out) { out = Datum(tensor_of(*in[0], "ir::item").item()); }
void ints_of(Inputs in, size_t, Datum& out) {
  const Tensor& t = tensor_of(*in[0], "ir::ints");
  CRESSET_CHECK(t.dim() == 1, "ir::ints: expected a tensor of one dimension, got one of shape ", t.sizes());
  std::vector<int64_t> list;
  for (int64_t i = 0; i < t.size(0); i++) list.push_back(t.select(0, i).item().toLong());
  out = Datum(std::move(list));
}

size_t length(const Datum& v) {
  if (v.is<std::vector<Tensor>>()) return std::get<std::vector<Tensor>>(v.data()).size();
  if (v.is<std::vector<int64_t>>()) return std::get<std::vector<int64_t>>(v.data()).size();
  if (v.is<std::string>()) return v.to_string().size();
  if (v.isTuple()) return v.toTupleRef().size();
  if (v.isGenericDict()) return v.toGenericDict().size();
  CRESSET_CHECK_TYPE(v.isList(), "ir::len: expected a list, tuple, dict or string, got ", v.kind());
  return v.toListVector().size();
}
void length_of(Inputs in, size_t, Datum& out) { put(out, static_cast<int64_t>(length(*in[0]))); }
void element_of(Inputs in, size_t, Datum& out) {
  const Datum& v = *in[0];
  if (v.isGenericDict()) {
    out = v.toGenericDict().at(*in[1]);
    return;
  }
  const size_t at = static_cast<size_t>(place_of(in[1]->to_int(), static_cast<int64_t>(length(v)), "ir::getitem"));
  if (v.is<std::vector<Tensor>>()) out = Datum(std::get<std::vector<Tensor>>(v.data())[at]);
  else if (v.is<std::vector<int64_t>>()) put(out, std::get<std::vector<int64_t>>(v.data())[at]);
  else if (v.isTuple()) out = v.toTupleRef().elements()[at];
  else out = v.toListVector()[at];
}

// Promotes as a number does, not as a tensor of its dtype.
void number_as_tensor(Inputs in, size_t, Datum& out) { out = Datum(wrapped_scalar_tensor(in[0]->to_scalar())); }

void check(Inputs in, size_t n, Datum& out) {
  CRESSET_CHECK(in[0]->to_bool(), n > 1 && !in[1]->is_none() ? in[1]->to_string() : std::string("a condition that the program relies on does not hold"));
  out = Datum();
}

// Begins a region of mixed precision, and gives the number that its end takes: what held before.
void begin_autocast(Inputs in, size_t, Datum& out) {
  const DeviceType device = Device(in[0]->to_string()).type();
  const ScalarType before = amp::get_autocast_dtype(device), dtype = in[1]->is_none() ? before : in[1]->to_dtype();
  const bool was_enabled = amp::is_autocast_enabled(device), enabled = in[2]->to_bool();
  CRESSET_CHECK(!enabled || dtype == kBFloat16 || dtype == kHalf, "ir::begin_autocast: expected the dtype bfloat16 or float16, got ", dtype);
  amp::set_autocast_dtype(device, dtype);
  amp::set_autocast_enabled(device, enabled);
  put(out, static_cast<int64_t>(before) * 2 + was_enabled);
}
void end_autocast(Inputs in, size_t, Datum& out) {
  const DeviceType device = Device(in[0]->to_string()).type();
  amp::set_autocast_dtype(device, static_cast<ScalarType>(in[1]->to_int() / 2));
  amp::set_autocast_enabled(device, in[1]->to_int() % 2);
  out = Datum();
}

constexpr TypeKind kAnyType = TypeKind::Any, kIntType = TypeKind::Int, kFloatType = TypeKind::Float, kBoolType = TypeKind::Bool, kNumberType = TypeKind::Number;

struct Table {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<const Builtin>, std::less<>> rows;

  void add(const char* name, int min, int max, Type result, void (*run)(Inputs, size_t, Datum&), bool pure = true) {
    rows.emplace(name, std::make_unique<const Builtin>(Builtin{name, min, max, std::move(result), pure, run}));
  }
  Table() {
    add("ir::add", 2, 2, kNumberType, binary<Add>);
    add("ir::sub", 2, 2, kNumberType, binary<Sub>);
    add("ir::mul", 2, 2, kNumberType, binary<Mul>);
    add("ir::floordiv", 2, 2, kNumberType, binary<FloorDiv>);
    add("ir::mod", 2, 2, kNumberType, binary<Mod>);
    add("ir::truediv", 2, 2, kFloatType, true_divide);
    add("ir::pow", 2, 2, kNumberType, power);
    add("ir::max", 2, 2, kNumberType, binary<Max>);
    add("ir::min", 2, 2, kNumberType, binary<Min>);
    add("ir::neg", 1, 1, kNumberType, negate);
    add("ir::abs", 1, 1, kNumberType, absolute);
    add("ir::eq", 2, 2, kBoolType, equality<true>);
    add("ir::ne", 2, 2, kBoolType, equality<false>);
    add("ir::lt", 2, 2, kBoolType, binary<Lt>);
    add("ir::le", 2, 2, kBoolType, binary<Le>);
    add("ir::gt", 2, 2, kBoolType, binary<Gt>);
    add("ir::ge", 2, 2, kBoolType, binary<Ge>);
    add("ir::and", 2, 2, kBoolType, both);
    add("ir::or", 2, 2, kBoolType, either);
    add("ir::not", 1, 1, kBoolType, negation);
    add("ir::is_none", 1, 1, kBoolType, is_none);
    add("ir::int", 1, 1, kIntType, to_int);
    add("ir::float", 1, 1, kFloatType, to_float);
    add("ir::bool", 1, 1, kBoolType, to_bool);
    add("ir::floor", 1, 1, kIntType, floor_of);
    add("ir::ceil", 1, 1, kIntType, ceil_of);
    add("ir::round", 1, 1, kIntType, round_of);
    add("ir::sqrt", 1, 1, kFloatType, square_root);
    add("ir::size", 2, 2, kIntType, size_of);
    add("ir::sizes", 1, 1, Type::list(kIntType), sizes_of);
    add("ir::stride", 2, 2, kIntType, stride_of);
    add("ir::storage_offset", 1, 1, kIntType, offset_of);
    add("ir::numel", 1, 1, kIntType, numel_of);
    add("ir::dim", 1, 1, kIntType, rank_of);
    add("ir::item", 1, 1, kNumberType, item_of);
    add("ir::ints", 1, 1, Type::list(kIntType), ints_of);
    add("ir::len", 1, 1, kIntType, length_of);
    add("ir::getitem", 2, 2, kAnyType, element_of);
    add("ir::tensor", 1, 1, TypeKind::Tensor, number_as_tensor);
    add("ir::check", 1, 2, TypeKind::None, check, false);
    add("ir::begin_autocast", 3, 3, kIntType, begin_autocast, false);
    add("ir::end_autocast", 2, 2, TypeKind::None, end_autocast, false);
    for (Builtin& builtin : level_builtins()) {
      const std::string name = builtin.name;
      rows.emplace(name, std::make_unique<const Builtin>(std::move(builtin)));
    }
  }
};

Table& table() {
  static Table* const t = new Table;  // graphs of static objects outlive it otherwise
  return *t;
}

}  // namespace

const Builtin* find_builtin(std::string_view name) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  const auto found = t.rows.find(name);
  return found == t.rows.end() ? nullptr : found->second.get();
}
std::vector<const Builtin*> all_builtins() {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  std::vector<const Builtin*> out;
  for (const auto& row : t.rows) out.push_back(row.second.get());
  return out;
}
const Builtin& register_builtin(Builtin builtin) {
  CRESSET_CHECK_VALUE(builtin.name.find("::") != std::string::npos, "builtin: expected a name with a namespace, \"ns::name\", got '", builtin.name, "'");
  CRESSET_CHECK_VALUE(builtin.run, "builtin ", builtin.name, ": expected a function");
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  const auto [at, is_new] = t.rows.emplace(builtin.name, nullptr);
  CRESSET_CHECK_VALUE(is_new, "builtin ", builtin.name, ": the name is taken");
  at->second = std::make_unique<const Builtin>(std::move(builtin));
  return *at->second;
}

}  // namespace cresset::graph
