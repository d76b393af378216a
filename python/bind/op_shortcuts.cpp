// Unboxed shortcuts for the operators that dominate small programs, and Tensor's operator slots. They handle plain tensors only.

#include <cstring>
#include <unordered_map>

#include "cresset/dispatch/listen.h"
#include "python/bind/autograd.h"
#include "python/bind/op.h"

namespace cresset::python {

namespace {

// From this many elements on, other threads of the interpreter run while the kernel does.
constexpr int64_t kReleaseElements = 32768;

template <class F> auto computed(int64_t elements, F&& f) {
  if (CRESSET_LIKELY(elements < kReleaseElements)) return f();
  const NoGil free;
  return f();
}

// A number of Python's own that fits a Scalar; false for anything else.
bool quick_number(PyObject* o, Scalar& out) {
  if (PyFloat_CheckExact(o)) {
    out = PyFloat_AS_DOUBLE(o);
    return true;
  }
  if (PyLong_CheckExact(o)) {
    int overflow;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    out = static_cast<int64_t>(v);
    return overflow == 0;
  }
  if (!PyBool_Check(o)) return false;
  out = o == Py_True;
  return true;
}
bool quick_int(PyObject* o, int64_t& out) {
  if (!PyLong_CheckExact(o)) return false;
  int overflow;
  out = PyLong_AsLongLongAndOverflow(o, &overflow);
  return overflow == 0;
}
// A tuple or list of integers, or integers written out.
bool quick_ints(PyObject* const* args, Py_ssize_t n, DimVector& out) {
  if (n == 1 && (PyTuple_Check(args[0]) || PyList_CheckExact(args[0]))) {
    n = PySequence_Fast_GET_SIZE(args[0]);
    args = PySequence_Fast_ITEMS(args[0]);
  } else if (n == 0) {
    return false;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    int64_t v;
    if (!quick_int(args[i], v)) return false;
    out.push_back(v);
  }
  return true;
}

// ---- operators of two operands -----------------------------------------------------------------------------------------

#define CRESSET_BINARY(Name, function)                                                      \
  struct Name {                                                                             \
    static constexpr const char* name = #function;                                          \
    static Tensor run(const Tensor& a, const Tensor& b) { return cresset::function(a, b); } \
    static Tensor run(const Tensor& a, const Scalar& b) { return cresset::function(a, b); } \
  };
CRESSET_BINARY(Add, add)
CRESSET_BINARY(Sub, sub)
CRESSET_BINARY(Mul, mul)
CRESSET_BINARY(Div, div)
CRESSET_BINARY(Pow, pow)
CRESSET_BINARY(FloorDivide, floor_divide)
CRESSET_BINARY(Remainder, remainder)
CRESSET_BINARY(And, bitwise_and)
CRESSET_BINARY(Or, bitwise_or)
CRESSET_BINARY(Xor, bitwise_xor)
CRESSET_BINARY(LeftShift, bitwise_left_shift)
CRESSET_BINARY(RightShift, bitwise_right_shift)
CRESSET_BINARY(Eq, eq)
CRESSET_BINARY(Ne, ne)
CRESSET_BINARY(Lt, lt)
CRESSET_BINARY(Le, le)
CRESSET_BINARY(Gt, gt)
CRESSET_BINARY(Ge, ge)
#undef CRESSET_BINARY
#define CRESSET_INPLACE(Name, function)                                          \
  struct Name {                                                                  \
    static constexpr const char* name = #function;                               \
    template <class B> static void run(Tensor& a, const B& b) { a.function(b); } \
  };
CRESSET_INPLACE(AddInplace, add_)
CRESSET_INPLACE(SubInplace, sub_)
CRESSET_INPLACE(MulInplace, mul_)
CRESSET_INPLACE(DivInplace, div_)
CRESSET_INPLACE(PowInplace, pow_)
CRESSET_INPLACE(FloorDivideInplace, floor_divide_)
CRESSET_INPLACE(RemainderInplace, remainder_)
CRESSET_INPLACE(AndInplace, bitwise_and_)
CRESSET_INPLACE(OrInplace, bitwise_or_)
CRESSET_INPLACE(XorInplace, bitwise_xor_)
CRESSET_INPLACE(LeftShiftInplace, bitwise_left_shift_)
CRESSET_INPLACE(RightShiftInplace, bitwise_right_shift_)
#undef CRESSET_INPLACE
struct MatMul {
  static constexpr const char* name = "matmul";
};

// The method of Tensor that a hook gets for `a op b` and for `number op tensor`, where it is not the operator of the row.
template <class Op> constexpr const char* handed_method = nullptr;
template <class Op> constexpr const char* reflected_method = nullptr;
template <> constexpr const char* handed_method<FloorDivide> = "__floordiv__";
template <> constexpr const char* handed_method<Eq> = "__eq__";
template <> constexpr const char* handed_method<And> = "__and__";
template <> constexpr const char* handed_method<Or> = "__or__";
template <> constexpr const char* handed_method<Xor> = "__xor__";
template <> constexpr const char* handed_method<LeftShift> = "__lshift__";
template <> constexpr const char* handed_method<RightShift> = "__rshift__";
template <> constexpr const char* handed_method<AndInplace> = "__iand__";
template <> constexpr const char* handed_method<OrInplace> = "__ior__";
template <> constexpr const char* handed_method<XorInplace> = "__ixor__";
template <> constexpr const char* handed_method<LeftShiftInplace> = "__ilshift__";
template <> constexpr const char* handed_method<RightShiftInplace> = "__irshift__";
template <> constexpr const char* reflected_method<Sub> = "__rsub__";
template <> constexpr const char* reflected_method<Div> = "__rtruediv__";
template <> constexpr const char* reflected_method<FloorDivide> = "__rfloordiv__";
template <> constexpr const char* reflected_method<Remainder> = "__rmod__";
template <> constexpr const char* reflected_method<Pow> = "__rpow__";
template <> constexpr const char* reflected_method<MatMul> = "__rmatmul__";
template <> constexpr const char* reflected_method<LeftShift> = "__rlshift__";
template <> constexpr const char* reflected_method<RightShift> = "__rrshift__";

template <class Op> PyObject* two(PyObject* a, PyObject* b) {
  if (!is_plain_tensor(a)) return pass;
  const Tensor& left = tensor_of(a);
  if (is_plain_tensor(b)) {
    const Tensor& right = tensor_of(b);
    return wrap(computed(left.numel() + right.numel(), [&] { return Op::run(left, right); }));
  }
  Scalar number;
  if (!quick_number(b, number)) return pass;
  return wrap(computed(left.numel(), [&] { return Op::run(left, number); }));
}
template <class Op> PyObject* two_in_place(PyObject* a, PyObject* b) {
  if (!is_plain_tensor(a)) return pass;
  Tensor& left = tensor_ref(a);
  Scalar number;
  if (is_plain_tensor(b)) computed(left.numel(), [&] { Op::run(left, tensor_of(b)); });
  else if (quick_number(b, number)) computed(left.numel(), [&] { Op::run(left, number); });
  else return pass;
  return Ref::share(a).release();
}

template <class Op> PyObject* binary(const Call& c) { return c.n == 2 && !c.names ? two<Op>(c.args[0], c.args[1]) : pass; }
template <class Op> PyObject* in_place(const Call& c) { return c.n == 2 && !c.names ? two_in_place<Op>(c.args[0], c.args[1]) : pass; }

// With `out=`, a tensor.
template <class Op, auto Out> PyObject* binary_or_out(const Call& c) {
  if (!c.names) return binary<Op>(c);
  if (c.n != 2 || c.named() != 1 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(c.names, 0), "out") != 0) return pass;
  if (!is_plain_tensor(c.args[0]) || !is_plain_tensor(c.args[1]) || !is_plain_tensor(c.args[2])) return pass;
  Tensor& out = tensor_ref(c.args[2]);
  computed(out.numel(), [&] { Out(out, tensor_of(c.args[0]), tensor_of(c.args[1])); });
  return Ref::share(c.args[2]).release();
}
// ---- operators of one operand, views, products -------------------------------------------------------------------------

template <auto F> PyObject* unary(const Call& c) {
  if (c.n != 1 || c.names || !is_plain_tensor(c.args[0])) return pass;
  const Tensor& t = tensor_of(c.args[0]);
  return wrap(computed(t.numel(), [&] { return F(t); }));
}
template <auto F> PyObject* unary_in_place(const Call& c) {
  if (c.n != 1 || c.names || !is_plain_tensor(c.args[0])) return pass;
  Tensor& t = tensor_ref(c.args[0]);
  computed(t.numel(), [&] { F(t); });
  return Ref::share(c.args[0]).release();
}
template <auto F> PyObject* product(const Call& c) {
  if (c.n != 2 || c.names || !is_plain_tensor(c.args[0]) || !is_plain_tensor(c.args[1])) return pass;
  const Tensor &a = tensor_of(c.args[0]), &b = tensor_of(c.args[1]);
  return wrap(computed(a.numel() + b.numel(), [&] { return F(a, b); }));
}
PyObject* linear_call(const Call& c) {
  if (c.n < 2 || c.n > 3 || c.names || !is_plain_tensor(c.args[0]) || !is_plain_tensor(c.args[1])) return pass;
  const bool has_bias = c.n == 3 && c.args[2] != Py_None;
  if (has_bias && !is_plain_tensor(c.args[2])) return pass;
  const Tensor &input = tensor_of(c.args[0]), &weight = tensor_of(c.args[1]);
  const std::optional<Tensor> bias = has_bias ? std::optional<Tensor>(tensor_of(c.args[2])) : std::nullopt;
  return wrap(computed(input.numel() + weight.numel(), [&] { return linear(input, weight, bias); }));
}

template <auto F> PyObject* with_ints(const Call& c) {
  DimVector ints;
  // Integers written out are for methods.
  if (c.n < 2 || (c.n > 2 && !c.method) || c.names || !is_plain_tensor(c.args[0]) || !quick_ints(c.args + 1, c.n - 1, ints)) return pass;
  if (!c.method && PyLong_Check(c.args[1])) return pass;
  return wrap(F(tensor_of(c.args[0]), ints));
}
template <auto F> PyObject* with_int(const Call& c) {
  int64_t i;
  if (c.n != 2 || c.names || !is_plain_tensor(c.args[0]) || !quick_int(c.args[1], i)) return pass;
  const Tensor& t = tensor_of(c.args[0]);
  return wrap(computed(t.numel(), [&] { return F(t, i); }));
}
template <auto F> PyObject* with_two_ints(const Call& c) {
  int64_t i, j;
  if (c.n != 3 || c.names || !is_plain_tensor(c.args[0]) || !quick_int(c.args[1], i) || !quick_int(c.args[2], j)) return pass;
  return wrap(F(tensor_of(c.args[0]), i, j));
}
PyObject* copied(const Call& c) {
  if (c.n != 2 || c.names || !is_plain_tensor(c.args[0]) || !is_plain_tensor(c.args[1])) return pass;
  Tensor& t = tensor_ref(c.args[0]);
  computed(t.numel(), [&] { t.copy_(tensor_of(c.args[1])); });
  return Ref::share(c.args[0]).release();
}

PyObject* converted(const Call& c) {
  if (c.n != 2 || c.names || !is_plain_tensor(c.args[0]) || Py_TYPE(c.args[1]) != dtype_type) return pass;
  const Tensor& t = tensor_of(c.args[0]);
  const ScalarType type = to_dtype(c.args[1]);
  return wrap(computed(t.numel(), [&] { return t.to(type); }));
}

template <auto F> PyObject* factory(const Call& c) {
  DimVector sizes;
  if (c.names || has_default_device() || !quick_ints(c.args, c.n, sizes)) return pass;
  return wrap(F(sizes));
}
// The kinds of the column `fast` of the rows.
template <auto F> struct Two {
  template <class B> static Tensor run(const Tensor& a, const B& b) { return F(a, b); }
};
template <auto F> struct TwoInPlace {
  template <class B> static void run(Tensor& a, const B& b) { F(a, b); }
};
#define CRESSET_FAST_binary(name) binary<Two<[](const Tensor& a, const auto& b) { return cresset::name(a, b); }>>
#define CRESSET_FAST_binary_or_out(name)                                                 \
  binary_or_out<Two<[](const Tensor& a, const auto& b) { return cresset::name(a, b); }>, \
                [](Tensor& out, const Tensor& a, const Tensor& b) { name##_out(out, a, b); }>
#define CRESSET_FAST_in_place(name) in_place<TwoInPlace<[](Tensor& a, const auto& b) { a.name(b); }>>
#define CRESSET_FAST_unary(name) unary<[](const Tensor& a) { return a.name(); }>
#define CRESSET_FAST_unary_in_place(name) unary_in_place<[](Tensor& a) { a.name(); }>
#define CRESSET_FAST_product(name) product<[](const Tensor& a, const Tensor& b) { return cresset::name(a, b); }>
#define CRESSET_FAST_with_ints(name) with_ints<[](const Tensor& a, IntArrayRef ints) { return a.name(ints); }>
#define CRESSET_FAST_with_int(name) with_int<[](const Tensor& a, int64_t i) { return a.name(i); }>
#define CRESSET_FAST_with_two_ints(name) with_two_ints<[](const Tensor& a, int64_t i, int64_t j) { return a.name(i, j); }>
#define CRESSET_FAST_factory(name) factory<[](IntArrayRef sizes) { return cresset::name(sizes); }>
#define CRESSET_FAST_linear_call(name) linear_call
#define CRESSET_FAST_copied(name) copied
#define CRESSET_FAST_converted(name) converted

const std::unordered_map<std::string, Shortcut>& shortcuts() {
  static const auto* table = new std::unordered_map<std::string, Shortcut>{
#define CRESSET_FAST(kind, name) {#name, CRESSET_FAST_##kind(name)},
#define CRESSET_TAKES_NUMBERS(name)
#include "cresset/ops/python_calls.inc"
#undef CRESSET_FAST
#undef CRESSET_TAKES_NUMBERS
  };
  return *table;
}

// ---- slots -------------------------------------------------------------------------------------------------------------

bool quick() { return CRESSET_LIKELY(!g_modes_active) || !(any_mode() || dispatch::is_listening()); }

// A call that may not know its operands: a TypeError lets Python ask the other side.
PyObject* or_not_implemented(PyObject* result) {
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}
PyObject* attempt(const char* name, PyObject* a, PyObject* b, bool method) {
  OpData* op = find_op_data(name);
  PyObject* args[] = {a, b};
  return or_not_implemented(guarded([&] { return call_op(*op, Call{args, 2, nullptr, method}); }));
}
// Hands the method of the operator to the hook of an operand or to a mode; `pass` where there is neither.
PyObject* handed(const char* method, PyObject* self, PyObject* other) {
  if (!method || !(overridden(self) || overridden(other))) return pass;
  const Ref args(PyTuple_Pack(1, other));
  return args ? or_not_implemented(overridden_method(self, method, args.get())) : nullptr;
}
template <class Op> PyObject* attempt(PyObject* a, PyObject* b) {
  PyObject* result = handed(handed_method<Op>, a, b);
  return result != pass ? result : attempt(Op::name, a, b, true);
}

// Meaning of `number op tensor`. By default the operator itself with its operands exchanged.
template <class Op> PyObject* reflected(PyObject* other, PyObject* self) { return attempt(Op::name, self, other, true); }
template <> PyObject* reflected<Sub>(PyObject* other, PyObject* self) { return attempt("rsub", self, other, true); }
template <> PyObject* reflected<Div>(PyObject* other, PyObject* self) {
  const Ref inverse(guarded([&] {
    PyObject* args[] = {self};
    return call_op(*find_op_data("reciprocal"), Call{args, 1, nullptr, true});
  }));
  if (!inverse) return nullptr;
  // By way of the operator, which asks the other side too: arrays of NumPy take over there.
  return or_not_implemented(PyNumber_Multiply(inverse.get(), other));
}
template <class Op> PyObject* as_function(PyObject* other, PyObject* self) { return attempt(Op::name, other, self, false); }
template <> PyObject* reflected<Pow>(PyObject* other, PyObject* self) { return as_function<Pow>(other, self); }
template <> PyObject* reflected<FloorDivide>(PyObject* other, PyObject* self) { return as_function<FloorDivide>(other, self); }
template <> PyObject* reflected<Remainder>(PyObject* other, PyObject* self) { return as_function<Remainder>(other, self); }
template <> PyObject* reflected<LeftShift>(PyObject* other, PyObject* self) { return as_function<LeftShift>(other, self); }
template <> PyObject* reflected<RightShift>(PyObject* other, PyObject* self) { return as_function<RightShift>(other, self); }
template <> PyObject* reflected<MatMul>(PyObject* other, PyObject* self) { return as_function<MatMul>(other, self); }

template <class Op> PyObject* from_the_right(PyObject* other, PyObject* self) {
  PyObject* result = handed(reflected_method<Op>, self, other);
  return result != pass ? result : reflected<Op>(other, self);
}

template <class Op> PyObject* slot(PyObject* a, PyObject* b) {
  if (quick()) {
    PyObject* result = guarded([&] { return two<Op>(a, b); });
    if (result != pass) return result;
  }
  return is_tensor(a) ? attempt<Op>(a, b) : from_the_right<Op>(a, b);
}
template <> PyObject* slot<MatMul>(PyObject* a, PyObject* b) {
  if (quick() && is_plain_tensor(a) && is_plain_tensor(b)) {
    PyObject* args[] = {a, b};
    return guarded([&] { return CRESSET_FAST_product(matmul)(Call{args, 2, nullptr}); });
  }
  return is_tensor(a) ? attempt<MatMul>(a, b) : from_the_right<MatMul>(a, b);
}

// A listener hears of shifts by the operator under its name, as in PyTorch.
template <class B> using Shift = dispatch::Op<Tensor(const Tensor&, B)>;
template <class B> Shift<B> shift_named(const char* name, const char* schema, Tensor (*run)(const Tensor&, B)) {
  return Shift<B>(name, schema, 0, nullptr, run, run, nullptr, nullptr);
}
template <class Op> PyObject* shift(PyObject* a, PyObject* b, const Shift<const Tensor&>& by_tensor, const Shift<const Scalar&>& by_number) {
  if (!is_tensor(a) || !dispatch::is_listening()) return slot<Op>(a, b);
  const bool tensor = is_tensor(b);
  const dispatch::OpEntry& row = dispatch::find_op(std::string(Op::name) + (tensor ? ".Tensor" : ".Tensor_Scalar")).entry();
  const dispatch::HeardAs heard(row, tensor ? static_cast<const dispatch::OpEntry&>(by_tensor) : by_number);
  return attempt<Op>(a, b);
}
PyObject* left_shift(PyObject* a, PyObject* b) {
  static const auto by_tensor = shift_named<const Tensor&>("__lshift__.Tensor", "__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", &LeftShift::run);
  static const auto by_number = shift_named<const Scalar&>("__lshift__.Scalar", "__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", &LeftShift::run);
  return shift<LeftShift>(a, b, by_tensor, by_number);
}
PyObject* right_shift(PyObject* a, PyObject* b) {
  static const auto by_tensor = shift_named<const Tensor&>("__rshift__.Tensor", "__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", &RightShift::run);
  static const auto by_number = shift_named<const Scalar&>("__rshift__.Scalar", "__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", &RightShift::run);
  return shift<RightShift>(a, b, by_tensor, by_number);
}
template <class Op> PyObject* slot_in_place(PyObject* a, PyObject* b) {
  if (quick()) {
    PyObject* result = guarded([&] { return two_in_place<Op>(a, b); });
    if (result != pass) return result;
  }
  return attempt<Op>(a, b);
}
PyObject* power(PyObject* a, PyObject* b, PyObject*) { return slot<Pow>(a, b); }
PyObject* power_in_place(PyObject* a, PyObject* b, PyObject*) { return slot_in_place<PowInplace>(a, b); }

PyObject* slot_of_one(const char* name, PyObject* a) {
  return guarded([&] {
    PyObject* args[] = {a};
    return call_op(*find_op_data(name), Call{args, 1, nullptr, true});
  });
}
PyObject* negative(PyObject* a) { return slot_of_one("neg", a); }
PyObject* positive_of(PyObject* a) { return slot_of_one("positive", a); }
PyObject* absolute(PyObject* a) { return slot_of_one("abs", a); }
PyObject* invert(PyObject* a) {
  if (overridden(a)) return overridden_method(a, "__invert__");
  if (is_plain_tensor(a) && !is_integral_type(tensor_of(a).scalar_type(), true)) {
    PyErr_Format(PyExc_TypeError, "~: is only for integers and truth values, got a tensor of dtype %s", dtype_name(tensor_of(a).scalar_type()));
    return nullptr;
  }
  return slot_of_one("bitwise_not", a);
}

bool is_array(PyObject* o) { return is_numpy(o) && !strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray"); }

PyObject* compare(PyObject* a, PyObject* b, int operation) {
  // Equality alone takes arrays, as in PyTorch.
  if (operation == Py_EQ && CRESSET_UNLIKELY(is_array(b))) {
    const Ref tensor(PyObject_CallOneArg(package_function("from_numpy"), b));
    return tensor ? slot<Eq>(a, tensor.get()) : nullptr;
  }
  switch (operation) {
    case Py_EQ: return slot<Eq>(a, b);
    case Py_NE: return slot<Ne>(a, b);
    case Py_LT: return slot<Lt>(a, b);
    case Py_LE: return slot<Le>(a, b);
    case Py_GT: return slot<Gt>(a, b);
    default: return slot<Ge>(a, b);
  }
}

}  // namespace

Shortcut find_shortcut(const std::string& name) {
  const auto found = shortcuts().find(name);
  return found == shortcuts().end() ? nullptr : found->second;
}

PyType_Slot operator_slots[] = {{Py_nb_add, reinterpret_cast<void*>(slot<Add>)},
                                {Py_nb_subtract, reinterpret_cast<void*>(slot<Sub>)},
                                {Py_nb_multiply, reinterpret_cast<void*>(slot<Mul>)},
                                {Py_nb_true_divide, reinterpret_cast<void*>(slot<Div>)},
                                {Py_nb_floor_divide, reinterpret_cast<void*>(slot<FloorDivide>)},
                                {Py_nb_remainder, reinterpret_cast<void*>(slot<Remainder>)},
                                {Py_nb_power, reinterpret_cast<void*>(power)},
                                {Py_nb_matrix_multiply, reinterpret_cast<void*>(slot<MatMul>)},
                                {Py_nb_and, reinterpret_cast<void*>(slot<And>)},
                                {Py_nb_or, reinterpret_cast<void*>(slot<Or>)},
                                {Py_nb_xor, reinterpret_cast<void*>(slot<Xor>)},
                                {Py_nb_lshift, reinterpret_cast<void*>(left_shift)},
                                {Py_nb_rshift, reinterpret_cast<void*>(right_shift)},
                                {Py_nb_inplace_add, reinterpret_cast<void*>(slot_in_place<AddInplace>)},
                                {Py_nb_inplace_subtract, reinterpret_cast<void*>(slot_in_place<SubInplace>)},
                                {Py_nb_inplace_multiply, reinterpret_cast<void*>(slot_in_place<MulInplace>)},
                                {Py_nb_inplace_true_divide, reinterpret_cast<void*>(slot_in_place<DivInplace>)},
                                {Py_nb_inplace_floor_divide, reinterpret_cast<void*>(slot_in_place<FloorDivideInplace>)},
                                {Py_nb_inplace_remainder, reinterpret_cast<void*>(slot_in_place<RemainderInplace>)},
                                {Py_nb_inplace_power, reinterpret_cast<void*>(power_in_place)},
                                {Py_nb_inplace_and, reinterpret_cast<void*>(slot_in_place<AndInplace>)},
                                {Py_nb_inplace_or, reinterpret_cast<void*>(slot_in_place<OrInplace>)},
                                {Py_nb_inplace_xor, reinterpret_cast<void*>(slot_in_place<XorInplace>)},
                                {Py_nb_inplace_lshift, reinterpret_cast<void*>(slot_in_place<LeftShiftInplace>)},
                                {Py_nb_inplace_rshift, reinterpret_cast<void*>(slot_in_place<RightShiftInplace>)},
                                {Py_nb_negative, reinterpret_cast<void*>(negative)},
                                {Py_nb_positive, reinterpret_cast<void*>(positive_of)},
                                {Py_nb_absolute, reinterpret_cast<void*>(absolute)},
                                {Py_nb_invert, reinterpret_cast<void*>(invert)},
                                {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                                {}};

void name_operator_arguments(PyTypeObject* type) {
  struct Method {
    const char* name;
    const char* text;
  };
  static constexpr Method methods[] = {{"__floordiv__", "__floordiv__($self, other, /)\n--\n\nReturn self//other."},
                                       {"__rfloordiv__", "__rfloordiv__($self, other, /)\n--\n\nReturn other//self."},
                                       {"__rsub__", "__rsub__($self, other, /)\n--\n\nReturn other-self."},
                                       {"__rtruediv__", "__rtruediv__($self, other, /)\n--\n\nReturn other/self."},
                                       {"__rmod__", "__rmod__($self, other, /)\n--\n\nReturn other%self."},
                                       {"__rmatmul__", "__rmatmul__($self, other, /)\n--\n\nReturn other@self."},
                                       {"__rlshift__", "__rlshift__($self, other, /)\n--\n\nReturn other<<self."},
                                       {"__rrshift__", "__rrshift__($self, other, /)\n--\n\nReturn other>>self."},
                                       {"__rpow__", "__rpow__($self, other, mod=None, /)\n--\n\nReturn pow(other, self, mod)."}};
  static wrapperbase renamed[std::size(methods)];
  for (size_t i = 0; i < std::size(methods); i++) {
    PyObject* found = PyDict_GetItemString(type->tp_dict, methods[i].name);
    if (!found || !Py_IS_TYPE(found, &PyWrapperDescr_Type)) continue;
    // Types derived from this one go by the function and the wrapper, which stay.
    auto& base = reinterpret_cast<PyWrapperDescrObject*>(found)->d_base;
    renamed[i] = *base;
    renamed[i].doc = methods[i].text;
    base = &renamed[i];
    if (strcmp(methods[i].name, "__rtruediv__") != 0) continue;
    // Hooks know division from the right by its older name.
    PyObject* const known = std::exchange(PyDescr_NAME(found), PyUnicode_InternFromString("__rdiv__"));
    Py_XDECREF(known);
  }
}

}  // namespace cresset::python
