// Operators as objects with a vector call. The overload that fits the arguments is found from plans made of the schemas; the call is boxed.

#include "python/bind/op.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "cresset/dispatch/listen.h"
#include "cresset/dispatch/registration.h"
#include "cresset/dispatch/table.h"
#include "cresset/kernels/providers/library.h"
#include "python/bind/autograd.h"
#include "python/bind/modes/symbols.h"

#include <structmember.h>

namespace cresset::python {

PyTypeObject* op_type;
PyObject* const pass = reinterpret_cast<PyObject*>(alignof(PyObject));

namespace {

using dispatch::Argument;
using dispatch::FunctionSchema;
using dispatch::Stack;
using dispatch::TypeKind;
using dispatch::Value;

constexpr size_t kMaxArguments = 32;
// From this many elements on, other threads of the interpreter run while the kernel does.
constexpr int64_t kReleaseElements = 32768;

struct OpObject {
  PyObject_HEAD vectorcallfunc call;
  OpData* data;
  PyObject* attributes;  // what programs set on functions, made at the first of them
};
PyTypeObject* method_type;
PyObject *out_name, *dtype_name_, *layout_name, *device_name, *pin_memory_name, *requires_grad_name;
std::optional<Device> g_default_device;

std::unordered_map<std::string, OpData*>& operators() {
  static auto* map = new std::unordered_map<std::string, OpData*>();
  return *map;
}
OpData& data_of(PyObject* o) { return *reinterpret_cast<OpObject*>(o)->data; }

// ---- plans -------------------------------------------------------------------------------------------------------------

// PyTorch takes Python numbers for tensors in a few operators only.
bool takes_numbers(const std::string& name) {
  static const std::unordered_set<std::string> names = {
#define CRESSET_FAST(kind, name)
#define CRESSET_TAKES_NUMBERS(name) #name,
#include "cresset/ops/python_calls.inc"
#undef CRESSET_FAST
#undef CRESSET_TAKES_NUMBERS
  };
  return names.count(name) > 0;
}

PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

// Names of an argument for users: PyTorch's documented name and NumPy's.
ArgumentPlan plan_of(const Argument& a, bool numbers) {
  ArgumentPlan plan{interned(a.name == "self" ? "input" : a.name.c_str()), {}, &a, numbers && (!a.writes || a.keyword_only)};
  size_t next = 0;
  auto also = [&](const char* name) { plan.others[next++] = interned(name); };
  if (a.name == "self")
    for (const char* name : {"self", "x", "a", "x1"}) also(name);
  if (a.name == "dim") also("axis");
  if (a.name == "dim0") also("axis0");
  if (a.name == "dim1") also("axis1");
  if (a.name == "keepdim") also("keepdims");
  if (a.name == "other") also("x2");
  return plan;
}

// One line for each field, as PyTorch prints them.
PyObject* named_repr(PyObject* self) {
  Ref text(PyUnicode_FromFormat("%s(\n", Py_TYPE(self)->tp_name));
  const PyMemberDef* fields = Py_TYPE(self)->tp_members;
  const Py_ssize_t n = PyTuple_GET_SIZE(self);
  for (Py_ssize_t i = 0; text && i < n; i++)
    text = Ref(PyUnicode_FromFormat("%U%s=%R%s", text.get(), fields[i].name, PyTuple_GET_ITEM(self, i), i + 1 < n ? ",\n" : ")"));
  return text.release();
}

// A tuple type with fields, for results that have names.
PyTypeObject* named_results(const FunctionSchema& schema) {
  if (schema.returns.size() < 2 || schema.returns[0].name.empty() || schema.returns[0].name == "_0") return nullptr;
  static auto* known = new std::unordered_map<std::string, PyTypeObject*>();
  const bool out = std::any_of(schema.arguments.begin(), schema.arguments.end(), [](const Argument& a) { return a.keyword_only && a.writes; });
  const std::string base = out ? schema.name + "_out" : schema.name;
  PyTypeObject*& type = (*known)[base + std::to_string(schema.returns.size())];
  if (type) return type;
  auto* fields = new PyStructSequence_Field[schema.returns.size() + 1]();  // the type refers to them for good
  for (size_t i = 0; i < schema.returns.size(); i++) fields[i] = {schema.returns[i].name.c_str(), nullptr};
  auto* title = new std::string("torch.return_types." + base);
  PyStructSequence_Desc desc{title->c_str(), nullptr, fields, static_cast<int>(schema.returns.size())};
  type = PyStructSequence_NewType(&desc);
  if (!type) return nullptr;
  type->tp_repr = named_repr;
  const Ref home = checked(PyUnicode_FromString("cresset.return_types"));  // where pickle looks for it
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), "__module__", home.get())) throw PythonError();
  return type;
}

Overload overload_of(const std::string& entry_name, const OpData& op) {
  Overload o;
  o.entry = &dispatch::find_op(entry_name).entry();
  o.schema = &o.entry->function_schema();
  bool pin_memory = false, dtype = false;
  for (size_t i = 0; i < o.schema->arguments.size(); i++) {
    const Argument& a = o.schema->arguments[i];
    o.arguments.push_back(plan_of(a, op.numbers_as_tensors));
    const std::string_view text = o.entry->schema;
    const bool is_number = a.type.kind == TypeKind::Int && !a.type.list;
    o.arguments.back().is_index = is_number && (text.find("int " + a.name) != text.npos || text.find("int? " + a.name) != text.npos);
    o.positional += !a.keyword_only;
    o.outs += a.keyword_only && a.writes;
    if (a.name == "self") o.self = static_cast<Py_ssize_t>(i);
    if (a.name == "out") o.out = static_cast<Py_ssize_t>(i);
    if (a.name == "device") o.device = static_cast<Py_ssize_t>(i);
    pin_memory = pin_memory || (a.name == "pin_memory" && o.device == static_cast<Py_ssize_t>(i) - 1);
    dtype = dtype || a.name == "dtype";
  }
  if (!(pin_memory && dtype)) o.device = -1;
  CRESSET_CHECK(o.arguments.size() <= kMaxArguments, entry_name, ": too many arguments for a call from Python");
  o.result_type = named_results(*o.schema);
  return o;
}

void parse(OpData& op) {
  op.numbers_as_tensors = op.numbers_as_tensors || takes_numbers(op.name);
  for (const std::string& entry : op.entries) op.overloads.push_back(overload_of(entry, op));
  for (const Overload& o : op.overloads) op.factory = op.factory || o.device >= 0;
  op.parsed = true;
}

// ---- fitting -----------------------------------------------------------------------------------------------------------

bool same_name(PyObject* a, PyObject* b) { return a == b || PyUnicode_Compare(a, b) == 0; }

Py_ssize_t argument_named(const Overload& o, PyObject* name) {
  const Py_ssize_t n = static_cast<Py_ssize_t>(o.arguments.size());
  for (Py_ssize_t i = 0; i < n; i++)
    if (o.arguments[static_cast<size_t>(i)].name == name) return i;
  for (Py_ssize_t i = 0; i < n; i++) {
    const ArgumentPlan& a = o.arguments[static_cast<size_t>(i)];
    if (PyUnicode_Compare(a.name, name) == 0) return i;
    for (PyObject* other : a.others)
      if (other && same_name(other, name)) return i;
  }
  return -1;
}

// One attempt to fit arguments to an overload.
struct Fit {
  PyObject* objects[kMaxArguments];
  Ref varargs, outs;
  Stack stack;
  bool requires_grad = false;
  std::optional<ScalarType> out_dtype;                    // asked for beside `out`,
  PyObject *out_layout = nullptr, *out_device = nullptr;  // as these are
  std::string* why = nullptr;                             // what does not fit, where asked for

  template <class... T> bool fail(const T&... parts) {
    if (why) *why = str(parts...);
    return false;
  }
};

// Puts each argument at its place in the schema.
bool place(const OpData& op, const Overload& o, const Call& call, Fit& fit) {
  const bool method = call.method;
  const Py_ssize_t n = static_cast<Py_ssize_t>(o.arguments.size());
  std::fill_n(fit.objects, n, nullptr);
  // The positions that arguments fill in order: all, or, for a method, all but that of `self`.
  const Py_ssize_t first = method ? 1 : 0, own = method ? std::max<Py_ssize_t>(o.self, 0) : -1;
  if (method && n == 0) return fit.fail("is no method");
  if (method) fit.objects[own] = call.args[0];
  auto position = [&](Py_ssize_t i) { return own >= 0 && i < own ? i : i + first; };
  const Py_ssize_t given = call.n - first;
  PyObject* const* args = call.args + first;
  const Argument* list = o.positional == first + 1 ? o.arguments[static_cast<size_t>(position(0))].argument : nullptr;
  if (list && given >= 1 && list->type.list && list->type.kind == TypeKind::Int && !PyTuple_Check(args[0]) && !PyList_Check(args[0]) && args[0] != Py_None) {
    fit.varargs = checked(PyTuple_New(given));
    for (Py_ssize_t i = 0; i < given; i++) PyTuple_SET_ITEM(fit.varargs.get(), i, Ref::share(args[i]).release());
    fit.objects[position(0)] = fit.varargs.get();
  } else {
    if (call.n > o.positional) return fit.fail("takes ", o.positional - std::min(first, o.positional), " positional arguments, got ", given);
    for (Py_ssize_t i = 0; i < given; i++) fit.objects[position(i)] = args[i];
  }
  PyObject* out = nullptr;
  for (Py_ssize_t k = 0; k < call.named(); k++) {
    PyObject* name = PyTuple_GET_ITEM(call.names, k);
    PyObject* value = call.args[call.n + k];
    if (same_name(name, out_name) && !(o.outs == 1 && o.out >= 0)) {
      if (method) return fit.fail("has no argument `out` as a method");
      if (value != Py_None) out = value;
      continue;
    }
    const Py_ssize_t index = argument_named(o, name);
    if (index < 0) {
      if (op.factory && same_name(name, requires_grad_name)) {
        if (!PyBool_Check(value)) return fit.fail("argument `requires_grad`: expected bool, got ", Py_TYPE(value)->tp_name);
        fit.requires_grad = value == Py_True;
        continue;
      }
      const bool option = same_name(name, dtype_name_) || same_name(name, layout_name) || same_name(name, device_name) || same_name(name, pin_memory_name);
      if (op.factory && o.outs == 1 && option) {
        if (value == Py_None) continue;
        if (same_name(name, dtype_name_)) fit.out_dtype = to_dtype(value);
        else if (same_name(name, layout_name)) fit.out_layout = value;
        else if (same_name(name, device_name)) fit.out_device = value;
        continue;
      }
      return fit.fail("has no argument `", PyUnicode_AsUTF8(name), "`");
    }
    if (fit.objects[index]) return fit.fail("got `", PyUnicode_AsUTF8(name), "` twice");
    fit.objects[index] = value;
  }
  size_t named_outs = 0;  // as operators are called that graphs and modes name
  for (Py_ssize_t i = 0; o.outs > 1 && i < n; i++) {
    const Argument& a = *o.arguments[static_cast<size_t>(i)].argument;
    named_outs += fit.objects[i] && a.keyword_only && a.writes;
  }
  const bool by_name = !out && o.outs > 1 && named_outs == o.outs;
  if (!by_name && (out != nullptr) != (o.outs > 1)) return fit.fail(out ? "has no argument `out`" : "expects `out`");
  if (out) {
    if (!PyTuple_Check(out) && !PyList_Check(out)) return fit.fail("expects a tuple of ", o.outs, " tensors as `out`");
    fit.outs = checked(PySequence_Tuple(out));
    if (PyTuple_GET_SIZE(fit.outs.get()) != static_cast<Py_ssize_t>(o.outs)) return fit.fail("expects a tuple of ", o.outs, " tensors as `out`");
    Py_ssize_t next = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
      const Argument& a = *o.arguments[static_cast<size_t>(i)].argument;
      if (a.writes && a.keyword_only) fit.objects[i] = PyTuple_GET_ITEM(fit.outs.get(), next++);
    }
  }
  return true;
}

// Decided by the object's type alone, before anything is converted.
bool may_fit(PyObject* o, const ArgumentPlan& plan, bool relaxed) {
  const dispatch::Type& type = plan.argument->type;
  if (type.kind == TypeKind::Tensor && !type.list) return is_tensor(o) || (o == Py_None && type.optional) || (relaxed && plan.numbers && !is_tensor(o));
  if (!relaxed && type.kind == TypeKind::Scalar && !type.list) return !is_tensor(o);
  return true;
}

// A list of dimensions that is empty by default may be None.
bool none_is_empty(const Argument& a) {
  if (!a.type.list || a.type.optional || a.type.kind != TypeKind::Int || !a.has_default) return false;
  const auto* list = std::get_if<std::vector<int64_t>>(&a.default_value.data());
  return list && list->empty();
}

bool fit_overload(const OpData& op, const Overload& o, const Call& call, bool relaxed, Fit& fit) {
  if (!place(op, o, call, fit)) return false;
  const size_t n = o.arguments.size();
  for (size_t i = 0; i < n; i++) {
    const ArgumentPlan& a = o.arguments[i];
    if (!fit.objects[i] && !a.argument->has_default) return fit.fail("misses argument `", PyUnicode_AsUTF8(a.name), "`");
    if (fit.objects[i] && !may_fit(fit.objects[i], a, relaxed))
      return fit.fail("argument `", PyUnicode_AsUTF8(a.name), "`: expected ", dispatch::type_name(a.argument->type), ", got ",
                      Py_TYPE(fit.objects[i])->tp_name);
  }
  fit.stack.clear();
  fit.stack.reserve(n);
  for (size_t i = 0; i < n; i++) {
    const ArgumentPlan& a = o.arguments[i];
    if (!fit.objects[i] || (fit.objects[i] == Py_None && none_is_empty(*a.argument))) {
      fit.stack.push_back(a.argument->default_value);
      continue;
    }
    Value& v = fit.stack.emplace_back();
    std::optional<SymbolsAsNumbers> number;
    if (CRESSET_UNLIKELY(a.is_index && is_symbol(fit.objects[i]))) number.emplace();
    if (!read_value(fit.objects[i], a.argument->type, relaxed, a.numbers, v))
      return fit.fail("argument `", PyUnicode_AsUTF8(a.name), "`: expected ", dispatch::type_name(a.argument->type), ", got ",
                      Py_TYPE(fit.objects[i])->tp_name);
    const dispatch::Type& type = a.argument->type;
    if (type.list && type.list_size > 1 && v.is<std::vector<int64_t>>() && std::get<std::vector<int64_t>>(v.data()).size() == 1)
      v = std::vector<int64_t>(static_cast<size_t>(type.list_size), std::get<std::vector<int64_t>>(v.data())[0]);
  }
  if (o.device >= 0 && CRESSET_UNLIKELY(g_default_device.has_value()) && fit.stack[static_cast<size_t>(o.device)].is_none())
    fit.stack[static_cast<size_t>(o.device)] = *g_default_device;
  return true;
}

// ---- results -----------------------------------------------------------------------------------------------------------

PyObject* results_of(const Overload& o, Fit& fit) {
  const auto& returns = o.schema->returns;
  if (returns.empty()) {
    // A list whose tensors were written is itself the result.
    const bool written_list = !o.schema->arguments.empty() && o.schema->arguments[0].writes && o.schema->arguments[0].type.list;
    return Ref::share(written_list ? fit.objects[0] : Py_None).release();
  }
  const size_t base = fit.stack.size() - std::min(fit.stack.size(), returns.size());
  size_t next_argument = 0;
  auto one = [&](size_t i) -> PyObject* {
    if (returns[i].writes)
      for (; next_argument < o.arguments.size(); next_argument++)
        if (PyObject* given = fit.objects[next_argument]; o.arguments[next_argument].argument->writes && given) {
          next_argument++;
          if (fit.requires_grad && is_tensor(given)) tensor_of(given).requires_grad_(true);
          if (!PyNumber_Check(given) || is_tensor(given)) return Ref::share(given).release();
          break;  // a number that stood for `out`: the tensor made of it
        }
    Value& v = fit.stack[base + i];
    if (auto* t = std::get_if<Tensor>(&v.data())) {
      if (fit.requires_grad) t->requires_grad_(true);
      return wrap(std::move(*t));
    }
    // Numbers of tensors of symbolic sizes.
    PyObject* const self = v.is<int64_t>() && !o.arguments.empty() ? fit.objects[0] : nullptr;
    if (self && is_tensor(self) && has_symbolic_sizes(tensor_of(self))) return wrap_symbol(tensor_of(self), v.to_int());
    return wrap(v);
  };
  if (returns.size() == 1) return one(0);
  Ref tuple = checked(o.result_type ? PyStructSequence_New(o.result_type) : PyTuple_New(static_cast<Py_ssize_t>(returns.size())));
  for (size_t i = 0; i < returns.size(); i++) {
    if (o.result_type) PyStructSequence_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), one(i));
    else PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), one(i));
  }
  return tuple.release();
}

int64_t elements_of(const Stack& stack) {
  int64_t n = 0;
  for (const Value& v : stack) dispatch::for_each_tensor(v, [&](const Tensor& t) { n += t.numel(); });
  return n;
}

void call(const OpData& op, const Overload& o, Stack& stack) {
  if (op.bodies) return o.entry->call_typed(o.entry->slot(dispatch::OpEntry::decomposition_slot), stack);
  dispatch::call_boxed(*o.entry, stack);
}

// A factory makes nothing but what `out` is.
void check_options_of_out(const OpData& op, const Tensor& out, const Fit& fit) {
  CRESSET_CHECK(!fit.out_dtype || out.scalar_type() == *fit.out_dtype, op.name, ": dtype ", *fit.out_dtype, " does not match that of `out`, ",
                out.scalar_type());
  CRESSET_CHECK(!fit.out_layout || fit.out_layout == constant(out.layout()), op.name, ": the layout does not match that of `out`, ", out.layout());
  if (!fit.out_device) return;
  const Device device = to_device(fit.out_device);
  CRESSET_CHECK(device.type() == out.device().type() && (!device.has_index() || device.index() == out.device().index() || device.is_cpu()), op.name,
                ": device ", device, " does not match that of `out`, ", out.device());
}

PyObject* run(const OpData& op, const Overload& o, Fit& fit) {
  if ((fit.out_dtype || fit.out_layout || fit.out_device) && o.out >= 0) check_options_of_out(op, tensor_of(fit.objects[o.out]), fit);
  if (elements_of(fit.stack) >= kReleaseElements) {
    const NoGil free;
    call(op, o, fit.stack);
  } else {
    call(op, o, fit.stack);
  }
  return results_of(o, fit);
}

// ---- calls -------------------------------------------------------------------------------------------------------------

bool takes_over(PyObject* o, int depth) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == tensor_type || type == parameter_type || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == dtype_type ||
      o == Py_None || type == &PyUnicode_Type || type == size_type)
    return false;
  if (type == &PyTuple_Type || type == &PyList_Type) {
    for (Py_ssize_t i = 0; depth > 0 && i < PySequence_Fast_GET_SIZE(o); i++)
      if (takes_over(PySequence_Fast_GET_ITEM(o, i), depth - 1)) return true;
    return false;
  }
  return overrides(o);
}

Ref dict_of(const Call& call) {
  Ref dict = checked(PyDict_New());
  for (Py_ssize_t i = 0; i < call.named(); i++)
    if (PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(call.names, i), call.args[call.n + i])) throw PythonError();
  return dict;
}

// The numbers that old programs give before tensors, addcmul(t, value, a, b) or addmm(beta, t, alpha, a, b), are the keyword-only
// numbers of an overload in their order. Null where the overload is not called so.
PyObject* call_by_old_order(OpData& op, const Overload& o, const Call& call) {
  SmallVector<PyObject*, 6> args, names, numbers;
  bool ahead = false;  // a number stands before a tensor
  for (Py_ssize_t i = 0; i < call.n; i++) {
    if (is_tensor(call.args[i])) ahead = ahead || !numbers.empty();
    (is_tensor(call.args[i]) ? args : numbers).push_back(call.args[i]);
  }
  if (!ahead || !std::all_of(numbers.begin(), numbers.end(), is_number) || static_cast<Py_ssize_t>(args.size()) != o.positional) return nullptr;
  size_t next = 0;
  for (const ArgumentPlan& a : o.arguments) {
    if (!a.argument->keyword_only) {
      if (a.argument->type.kind != TypeKind::Tensor || a.argument->type.list) return nullptr;
    } else if (a.argument->type.kind == TypeKind::Scalar && next < numbers.size()) {
      args.push_back(numbers[next++]);
      names.push_back(a.name);
    }
  }
  if (next < numbers.size()) return nullptr;
  for (Py_ssize_t k = 0; k < call.named(); k++) {
    args.push_back(call.args[call.n + k]);
    names.push_back(PyTuple_GET_ITEM(call.names, k));
  }
  const Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
  for (size_t i = 0; i < names.size(); i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Ref::share(names[i]).release());
  Fit fit;
  if (!fit_overload(op, o, {args.data(), o.positional, tuple.get(), call.method}, true, fit)) return nullptr;
  if (!op.warned) {
    op.warned = true;
    const std::string text = op.name + ": numbers before tensors are deprecated; name them (alpha, beta, value)";
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1)) throw PythonError();
  }
  return run(op, o, fit);
}

[[noreturn]] void throw_unfit(OpData& op, const Call& call) {
  std::string reasons;
  for (const Overload& o : op.overloads) {
    Fit fit;
    std::string why;
    fit.why = &why;
    fit_overload(op, o, call, true, fit);
    reasons += std::string("\n  ") + o.entry->schema + ": " + why;
  }
  CRESSET_CHECK_TYPE(false, op.name, ": the arguments fit no form of it", reasons);
  __builtin_unreachable();
}

}  // namespace

bool has_default_device() { return g_default_device.has_value(); }

OpData* find_op_data(const char* name) {
  const auto found = operators().find(name);
  return found == operators().end() ? nullptr : found->second;
}

namespace {

bool any_subclass(const Call& call) {
  for (Py_ssize_t i = 0; i < call.n + call.named(); i++)
    if (is_tensor(call.args[i]) && dispatch::is_subclass(tensor_of(call.args[i]))) return true;
  return false;
}

// Reads the arguments again where symbols stand among real tensors: there they are the numbers of the example.
void settle_symbols(const OpData& op, const Overload& o, const Call& call, bool relaxed, Fit& fit) {
  bool fake = layer_state().fake_mode != nullptr;
  for (const Value& v : fit.stack) dispatch::for_each_tensor(v, [&](const Tensor& t) { fake = fake || is_fake(*t.impl()); });
  if (fake) return;
  const SymbolsAsNumbers scope;
  fit_overload(op, o, call, relaxed, fit);
}

// Programs that listen see what a factory was not told, as in PyTorch: no pinned memory, and the device where no tensor says it.
void state_options(const Overload& o, Stack& stack) {
  if (o.device < 0 || std::string_view(o.entry->name).substr(0, 3) == "to.") return;
  Value &device = stack[static_cast<size_t>(o.device)], &pinned = stack[static_cast<size_t>(o.device) + 1];
  if (pinned.is_none()) pinned = Value(false);
  if (device.is_none() && o.schema->arguments[0].type.kind != TypeKind::Tensor && !has_default_device()) device = Value(Device(kCPU));
}

}  // namespace

PyObject* call_op(OpData& op, const Call& call) {
  bool over = CRESSET_UNLIKELY(g_modes_active) && any_mode();
  for (Py_ssize_t i = 0; !over && i < call.n + call.named(); i++) over = takes_over(call.args[i], 1);
  overrides_asked();
  if (CRESSET_UNLIKELY(over)) {
    const Ref args = checked(PyTuple_New(call.n));
    for (Py_ssize_t i = 0; i < call.n; i++) PyTuple_SET_ITEM(args.get(), i, Ref::share(call.args[i]).release());
    const Ref named = dict_of(call);
    return call_overridden(call.method ? op.method : op.function, args.get(), named.get());
  }
  if (CRESSET_UNLIKELY(!op.parsed)) parse(op);
  Fit fit;
  // For programs that listen numbers are tensors wherever they may be, as in PyTorch.
  const bool numbers = op.numbers_as_tensors && CRESSET_UNLIKELY(g_modes_active) && (dispatch::is_listening() || any_subclass(call));
  for (const bool relaxed : {numbers, true})
    for (const Overload& o : op.overloads)
      if (fit_overload(op, o, call, relaxed, fit)) {
        if (CRESSET_UNLIKELY(sym_int_type != nullptr) && symbols_read()) settle_symbols(op, o, call, relaxed, fit);
        if (CRESSET_UNLIKELY(g_modes_active) && dispatch::is_listening()) state_options(o, fit.stack);
        return run(op, o, fit);
      }
  for (const Overload& o : op.overloads)
    if (PyObject* result = call_by_old_order(op, o, call)) return result;
  throw_unfit(op, call);
}

namespace {

template <bool Method> PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  OpData& op = data_of(self);
  const Call call{args, PyVectorcall_NARGS(nargsf), names, Method};
  return guarded([&] {
    if (op.shortcut && (CRESSET_LIKELY(!g_modes_active) || !(any_mode() || dispatch::is_listening())))
      if (PyObject* result = op.shortcut(call); result != pass) return result;
    if (Method) CRESSET_CHECK_TYPE(call.n > 0 && is_tensor(args[0]), op.name, ": a method of Tensor, called without one");
    return call_op(op, call);
  });
}

PyObject* op_bind(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Ref::share(self).release();
  return PyMethod_New(self, instance);
}
PyObject* op_name(PyObject* self, void*) { return PyUnicode_FromString(data_of(self).name.c_str()); }
PyObject* op_module(PyObject*, void*) { return PyUnicode_FromString("torch"); }
PyObject* op_doc(PyObject* self, void*) {
  return guarded([&] { return PyUnicode_FromString(operator_doc(data_of(self).name).c_str()); });
}
PyObject* op_repr(PyObject* self) {
  return PyUnicode_FromFormat(Py_TYPE(self) == op_type ? "<built-in method %s>" : "<method '%s' of 'Tensor' objects>", data_of(self).name.c_str());
}
PyObject* op_reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    const char* getter = Py_TYPE(self) == op_type ? "_operator" : "_operator_method";
    return Py_BuildValue("O(s)", package_function(getter), data_of(self).name.c_str());
  });
}
// The class that programs are told: an operator is a function of C, its method a method of C, for isinstance and inspect.
PyObject* op_class(PyObject* self, void*) {
  return Ref::share(reinterpret_cast<PyObject*>(Py_TYPE(self) == op_type ? &PyCFunction_Type : &PyMethodDescr_Type)).release();
}
PyObject* op_owner(PyObject*, void*) { return Ref::share(Py_None).release(); }
PyObject* op_objclass(PyObject*, void*) { return Ref::share(reinterpret_cast<PyObject*>(tensor_type)).release(); }
PyObject* op_self(PyObject* self, PyObject*) { return Ref::share(self).release(); }
PyMethodDef op_methods[] = {
    {"__reduce__", op_reduce, METH_NOARGS, nullptr}, {"__copy__", op_self, METH_NOARGS, nullptr}, {"__deepcopy__", op_self, METH_O, nullptr}, {}};
PyGetSetDef op_properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                               {"__name__", op_name, nullptr, nullptr, nullptr},
                               {"__qualname__", op_name, nullptr, nullptr, nullptr},
                               {"__module__", op_module, nullptr, nullptr, nullptr},
                               {"__doc__", op_doc, nullptr, nullptr, nullptr},
                               {"__class__", op_class, nullptr, nullptr, nullptr},
                               {"__self__", op_owner, nullptr, nullptr, nullptr},
                               {}};
PyGetSetDef method_properties[] = {{"__name__", op_name, nullptr, nullptr, nullptr},
                                   {"__qualname__", op_name, nullptr, nullptr, nullptr},
                                   {"__module__", op_module, nullptr, nullptr, nullptr},
                                   {"__doc__", op_doc, nullptr, nullptr, nullptr},
                                   {"__class__", op_class, nullptr, nullptr, nullptr},
                                   {"__objclass__", op_objclass, nullptr, nullptr, nullptr},
                                   {}};
PyMemberDef op_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, call), READONLY, nullptr},
                            {"__dictoffset__", T_PYSSIZET, offsetof(OpObject, attributes), READONLY, nullptr},
                            {}};
PyMemberDef method_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, call), READONLY, nullptr}, {}};
PyType_Slot op_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                          {Py_tp_repr, reinterpret_cast<void*>(op_repr)},
                          {Py_tp_methods, op_methods},
                          {Py_tp_getset, op_properties},
                          {Py_tp_members, op_members},
                          {}};
PyType_Slot method_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                              {Py_tp_repr, reinterpret_cast<void*>(op_repr)},
                              {Py_tp_descr_get, reinterpret_cast<void*>(op_bind)},
                              {Py_tp_methods, op_methods},
                              {Py_tp_getset, method_properties},
                              {Py_tp_members, method_members},
                              {}};

PyObject* new_op(PyTypeObject* type, OpData* data, vectorcallfunc call) {
  auto* op = PyObject_New(OpObject, type);
  op->data = data;
  op->call = call;
  op->attributes = nullptr;
  return reinterpret_cast<PyObject*>(op);
}

OpData* new_data(PyObject* args) {
  const char* name;
  PyObject* entries;
  int numbers = 0;
  if (!PyArg_ParseTuple(args, "sO!|p", &name, &PyList_Type, &entries, &numbers)) throw PythonError();
  auto* data = new OpData{name, {}};  // operators live as long as the process
  data->numbers_as_tensors = numbers != 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(entries); i++) data->entries.emplace_back(PyUnicode_AsUTF8(PyList_GET_ITEM(entries, i)));
  data->function = new_op(op_type, data, op_vectorcall<false>);
  data->method = new_op(method_type, data, op_vectorcall<true>);
  return data;
}
// make_op(name, [entry names], numbers_as_tensors=False): a function over these overloads, tried in this order.
PyObject* make_op(PyObject*, PyObject* args) {
  return guarded([&] { return Ref::share(new_data(args)->function).release(); });
}
// add_op(name, [entry names]): the operator of this name, as a function and as a method.
PyObject* add_named_op(PyObject*, PyObject* args) {
  return guarded([&] {
    OpData* data = new_data(args);
    data->shortcut = find_shortcut(data->name);
    operators()[data->name] = data;
    return Py_BuildValue("(OO)", data->function, data->method);
  });
}
PyObject* list_of_texts(const std::vector<std::string>& texts) {
  return present_list(texts, [](const std::string& s) { return PyUnicode_FromString(s.c_str()); });
}
// decomposition(entry name): the decomposition of a fused operator, as an operator of its own.
PyObject* decomposition(PyObject*, PyObject* name) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw PythonError();
    const dispatch::OpEntry& op = dispatch::find_op(text).entry();
    const dispatch::AnyFn body = op.slot(dispatch::OpEntry::decomposition_slot);
    CRESSET_CHECK_VALUE(body && !(op.flags & dispatch::kCompositeOp), "decomposition: expected a fused operator, got ", text);
    const std::string own = std::string("decomposed::") + op.name;
    static auto& library = *new dispatch::Library(dispatch::Library::fragment, "decomposed", "", __FILE__, __LINE__);
    if (!dispatch::find_op_or_null(own))
      library.def(op.schema, dispatch::BoxedFn([&op, body](const dispatch::OpEntry&, dispatch::Stack& stack) { op.call_typed(body, stack); }));
    const Ref made = checked(Py_BuildValue("(s[s])", op.function_schema().name.c_str(), own.c_str()));
    return Ref::share(new_data(made.get())->function).release();
  });
}
// body(entry name): the operators that a composite or fused operator is made of, as a function of its arguments; None for any other.
PyObject* body(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw PythonError();
    const dispatch::OpEntry& op = dispatch::find_op(text).entry();
    if (!op.slot(dispatch::OpEntry::decomposition_slot)) Py_RETURN_NONE;
    const Ref made = checked(Py_BuildValue("(s[s])", op.function_schema().name.c_str(), text));
    OpData* data = new_data(made.get());
    data->bodies = true;
    return Ref::share(data->function).release();
  });
}
// open_ops(library): opens libcresset_<library>.so. Returns the names and the arguments' names of its ops, and the library's notes.
PyObject* open_ops(PyObject*, PyObject* library) {
  return guarded([&] {
    const char* name = PyUnicode_AsUTF8(library);
    if (!name) throw PythonError();
    void* handle = kernels::open_provider((std::string("libcresset_") + name + ".so").c_str());
    CRESSET_CHECK(handle, "open_ops: cannot open libcresset_", name, ".so: ", dlerror());
    const auto* table = static_cast<const dispatch::OpTable* const*>(dlsym(handle, "cresset_op_table"));
    CRESSET_CHECK(table, "open_ops: libcresset_", name, ".so holds no ops");
    dispatch::add_ops(**table);
    Ref ops = checked(PyList_New(0));
    for (size_t i = 0; i < (*table)->count; i++) {
      const dispatch::OpEntry& entry = *(*table)->ops[i];
      std::vector<std::string> arguments;
      for (const Argument& a : entry.function_schema().arguments) arguments.push_back(a.name);
      const Ref row = checked(Py_BuildValue("(sN)", entry.name, list_of_texts(arguments)));
      if (PyList_Append(ops.get(), row.get())) throw PythonError();
    }
    std::vector<std::string> texts;
    for (const char* const* note = (*table)->notes; *note; note++) texts.emplace_back(*note);
    return Py_BuildValue("(NN)", ops.release(), list_of_texts(texts));
  });
}
PyObject* set_default_device(PyObject*, PyObject* device) {
  return guarded([&]() -> PyObject* {
    if (device == Py_None) g_default_device.reset();
    else g_default_device = to_device(device);
    Py_RETURN_NONE;
  });
}
// named_result(entry name): the tuple type of its results, or None.
PyObject* named_result(PyObject*, PyObject* entry) {
  return guarded([&]() -> PyObject* {
    const char* name = PyUnicode_AsUTF8(entry);
    if (!name) throw PythonError();
    PyTypeObject* type = named_results(dispatch::find_op(name).entry().function_schema());
    return Ref::share(type ? reinterpret_cast<PyObject*>(type) : Py_None).release();
  });
}
PyMethodDef functions[] = {{"make_op", make_op, METH_VARARGS, nullptr},
                           {"add_op", add_named_op, METH_VARARGS, nullptr},
                           {"named_result", named_result, METH_O, nullptr},
                           {"body", body, METH_O, nullptr},
                           {"decomposition", decomposition, METH_O, nullptr},
                           {"open_ops", open_ops, METH_O, nullptr},
                           {"_set_default_device", set_default_device, METH_O, nullptr},
                           {}};

}  // namespace

bool add_op(PyObject* module) {
  out_name = interned("out");
  dtype_name_ = interned("dtype");
  layout_name = interned("layout");
  device_name = interned("device");
  pin_memory_name = interned("pin_memory");
  requires_grad_name = interned("requires_grad");
  PyType_Spec op_spec{"cresset.Op", sizeof(OpObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, op_slots};
  PyType_Spec method_spec{"cresset.OpMethod", sizeof(OpObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                          method_slots};
  op_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&op_spec));
  method_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&method_spec));
  return op_type && method_type && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace cresset::python
