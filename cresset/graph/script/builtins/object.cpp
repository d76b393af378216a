// Objects, exceptions, futures, and what looks at the types of values.

#include <atomic>
#include <cstdio>
#include <optional>

#include "cresset/core/scope_hooks.h"
#include "cresset/graph/script/dtype_number.h"
#include "cresset/graph/script/fork.h"
#include "cresset/graph/script/sugar.h"
#include "cresset/graph/script/unit.h"
#include "cresset/graph/script/values.h"

namespace cresset::graph::script {

namespace {

void print_to_output(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}
std::atomic<PrintHandler>& print_handler() {
  static std::atomic<PrintHandler> handler(print_to_output);
  return handler;
}

// A named part of a program, for those who record it; it ends with the object at the latest.
class RecordedPart final : public dispatch::Object {
 public:
  explicit RecordedPart(const std::string& name) { scope_.emplace(name); }
  const char* kind_name() const override { return "_RecordFunction"; }
  void end() { scope_.reset(); }

 private:
  std::optional<ScopeOfFunction> scope_;
};

ScriptObject& object(const Datum& v, const char* what) {
  ScriptObject* o = object_of(v);
  CRESSET_CHECK_TYPE(o, what, ": expected an object, got ", v.kind());
  return *o;
}

void get_attribute(Inputs in, size_t, Datum& out) { out = object(*in[0], "attribute").slot(in[1]->to_string()); }
// A module of a container by its place, which may count from the end, or by its key.
void module_of_container(Inputs in, size_t, Datum& out) {
  ScriptObject& o = object(*in[0], "container of modules");
  if (in[1]->isString()) {
    const Attribute* const a = o.cls->attribute(in[1]->to_string());
    CRESSET_CHECK_INDEX(a && class_of(a->type), "KeyError: the ModuleDict has no module ", python_repr(*in[1]));
    out = o.slot(a->name);
    return;
  }
  std::vector<const std::string*> names;
  for (const Attribute& a : o.cls->attributes)
    if (const ClassType* const part = class_of(a.type); part && part->kind == ClassKind::Module) names.push_back(&a.name);
  const auto count = static_cast<int64_t>(names.size());
  const int64_t i = as_int(*in[1]);
  CRESSET_CHECK_INDEX(i >= -count && i < count, "the index ", i, " is out of range for ", count, " modules");
  out = o.slot(*names[static_cast<size_t>(i < 0 ? i + count : i)]);
}
void set_attribute(Inputs in, size_t, Datum& out) {
  object(*in[0], "attribute").slot(in[1]->to_string()) = *in[2];
  out = Datum();
}
void enter(Inputs in, size_t, Datum& out) {
  Entered entered{*in[0], nullptr};
  if (ScriptObject* const o = object_of(*in[0]); o && unmangled(o->cls->name) == "__torch__.torch.amp.autocast_mode.autocast") {
    const Datum& dtype = o->slot("fast_dtype");
    const auto fast = dtype.isInt() ? dtype_of_number(dtype.toInt()) : dtype.to_dtype();
    entered.region = std::make_shared<autocast>(Device(o->slot("device").to_string()).type(), fast, o->slot("_enabled").toBool());
  }
  entered_objects().push_back(std::move(entered));
  out = Datum();
}
void leave(Inputs, size_t, Datum& out) {
  if (!entered_objects().empty()) entered_objects().pop_back();
  out = Datum();
}
void create_object(Inputs in, size_t, Datum& out) {
  ClassType* cls = find_class(in[0]->to_string());
  CRESSET_CHECK(cls, "there is no class ", in[0]->to_string());
  out = Datum(intrusive_ptr<dispatch::Object>(make_intrusive<ScriptObject>(cls, cls->unit->shared_from_this())));
}
// The method of that name, of the class that the object has when the program runs.
void call_method(Inputs in, size_t n, Datum& out) {
  ScriptObject& o = object(*in[0], "method");
  Function* f = o.cls->method(in[1]->to_string());
  CRESSET_CHECK(f, o.cls->name, " has no method ", in[1]->to_string());
  std::vector<Datum> arguments{*in[0]};
  for (size_t i = 2; i < n; i++) arguments.push_back(*in[i]);
  out = f->run(std::move(arguments));
}
void call_native(Inputs in, size_t n, Datum& out) {
  Function* f = find_function(in[0]->to_string());
  CRESSET_CHECK(f, "there is no function ", in[0]->to_string());
  std::vector<Datum> arguments;
  for (size_t i = 1; i < n; i++) arguments.push_back(*in[i]);
  out = f->run(std::move(arguments));
}
void raise(Inputs in, size_t n, Datum&) {
  const std::string message = in[0]->isString() ? in[0]->to_string() : python_str(*in[0]);
  throw ScriptRaise(message, n > 1 && in[1]->isString() ? in[1]->to_string() : "", message);
}

const Type& cached_type(const std::string& text) {
  static std::mutex mutex;
  static auto* const types = new std::map<std::string, Type>;
  const std::lock_guard lock(mutex);
  const auto found = types->find(text);
  if (found != types->end()) return found->second;
  return (*types)[text] = type_of_text(text, nullptr);
}
void is_instance(Inputs in, size_t n, Datum& out) {
  bool is = false;
  for (size_t i = 1; i < n && !is; i++) {
    const std::string& text = in[i]->to_string();
    if (text == "tuple") is = in[0]->isTuple();
    else if (text == "list") is = in[0]->isList() && !in[0]->isTuple() && !in[0]->isString();
    else if (text == "dict") is = in[0]->isGenericDict();
    else is = value_fits(*in[0], cached_type(text));
  }
  put(out, is);
}

template <intrusive_ptr<FutureObject> (*Start)(Function&, std::vector<Datum>)> void start_call(Inputs in, size_t n, Datum& out) {
  Function* f = find_function(in[0]->to_string());
  CRESSET_CHECK(f, "fork: there is no function ", in[0]->to_string());
  std::vector<Datum> arguments;
  for (size_t i = 1; i < n; i++) arguments.push_back(*in[i]);
  out = Datum(intrusive_ptr<dispatch::Object>(Start(*f, std::move(arguments))));
}
FutureObject& future_of(const Datum& v) {
  auto* const o = v.object() ? dynamic_cast<FutureObject*>(v.object()->get()) : nullptr;
  CRESSET_CHECK_TYPE(o, "wait: expected a future, got ", v.kind());
  return *o;
}
// An exception of a forked call is an error of the one who waits.
Datum waited(const Datum& v) {
  try {
    return future_of(v).wait();
  } catch (const ScriptRaise& e) { throw Error(e.what()); }
}
const EnumObject& enum_of(const Datum& v) {
  const auto* const o = v.object() ? dynamic_cast<const EnumObject*>(v.object()->get()) : nullptr;
  CRESSET_CHECK_TYPE(o, "expected a member of an enum, got ", v.kind());
  return *o;
}

bool is_same_object(const Datum& a, const Datum& b) {
  if (a.is_none() || b.is_none()) {
    const auto none = [](const Datum& v) { return v.is_none() || (v.is_tensor() && !v.to_tensor().defined()); };
    return none(a) && none(b);
  }
  if (a.isBool() || b.isBool()) return a.isBool() && b.isBool() && same(a, b);
  if (a.is<ScalarType>() || b.is<ScalarType>()) return same(a, b);
  return a.is(b);
}

std::string str_of(const Datum& v) {
  if (ScriptObject* o = object_of(v))
    if (Function* f = o->cls->method("__str__")) return f->run({v}).to_string();
  return python_str(v);
}

}  // namespace

void add_object_builtins() {
  const auto add = [](const char* name, int least, int most, Type result, BuiltinFn run, bool pure = false) {
    register_builtin({name, least, most, std::move(result), pure, run});
  };
  const auto add_reading = [](const char* name, int least, int most, Type result, BuiltinFn run) {
    register_builtin({name, least, most, std::move(result), false, run, Builtin::Effect::Nothing});
  };
  const auto add_writing = [](const char* name, int least, int most, Type result, BuiltinFn run) {
    register_builtin({name, least, most, std::move(result), false, run, Builtin::Effect::Inputs});
  };
  add_reading("prim::GetAttr", 2, 2, {}, get_attribute);
  add_reading("prim::ModuleContainerIndex", 2, 2, {}, module_of_container);
  add_writing("prim::SetAttr", 3, 3, {}, set_attribute);
  add_reading("prim::CreateObject", 1, 1, {}, create_object);
  add("prim::Enter", 1, 1, TypeKind::None, enter);
  add("prim::Exit", 1, 1, TypeKind::None, leave);
  add("prim::CallMethod", 2, INT_MAX, {}, call_method);
  add("prim::CallNative", 1, INT_MAX, {}, call_native);
  add_writing("prim::RaiseException", 1, 2, {}, raise);
  add_reading("prim::Uninitialized", 0, 0, {}, [](Inputs, size_t, Datum& out) { out = Datum(); });
  add_reading("prim::unchecked_cast", 1, 1, {}, [](Inputs in, size_t, Datum& out) { out = *in[0]; });
  add_reading("prim::unchecked_unwrap_optional", 1, 1, {}, [](Inputs in, size_t, Datum& out) { out = *in[0]; });
  add_writing("aten::_unwrap_optional", 1, 1, {}, [](Inputs in, size_t, Datum& out) {
    CRESSET_CHECK(!in[0]->is_none(), "Unwrapping null optional: expected a value, got None");
    out = *in[0];
  });
  add("prim::isinstance", 2, INT_MAX, TypeKind::Bool, is_instance, true);
  add("prim::fork", 1, INT_MAX, {}, start_call<fork_call>);
  for (const char* done : {"prim::future", "prim::awaitable_nowait"})
    add(done, 1, 1, {}, [](Inputs in, size_t, Datum& out) { out = Datum(intrusive_ptr<dispatch::Object>(make_intrusive<FutureObject>(*in[0]))); });
  add("aten::wait", 1, 1, {}, [](Inputs in, size_t, Datum& out) { out = waited(*in[0]); });
  add("prim::awaitable", 1, INT_MAX, {}, start_call<delay_call>);
  add("prim::awaitable_wait", 1, 1, {}, [](Inputs in, size_t, Datum& out) { out = waited(*in[0]); });
  add(
      "prim::EnumName", 1, 1, TypeKind::String, [](Inputs in, size_t, Datum& out) { out = Datum(enum_of(*in[0]).name()); }, true);
  add(
      "prim::EnumValue", 1, 1, {}, [](Inputs in, size_t, Datum& out) { out = enum_of(*in[0]).value(); }, true);
  add_reading("aten::__is__", 2, 2, TypeKind::Bool, [](Inputs in, size_t, Datum& out) { put(out, is_same_object(*in[0], *in[1])); });
  add_reading("aten::__isnot__", 2, 2, TypeKind::Bool, [](Inputs in, size_t, Datum& out) { put(out, !is_same_object(*in[0], *in[1])); });
  add(
      "aten::eq.enum", 2, 2, TypeKind::Bool, [](Inputs in, size_t, Datum& out) { put(out, *in[0] == *in[1]); }, true);
  add(
      "aten::ne.enum", 2, 2, TypeKind::Bool, [](Inputs in, size_t, Datum& out) { put(out, *in[0] != *in[1]); }, true);
  add(
      "prim::TupleIndex", 2, 2, {},
      [](Inputs in, size_t, Datum& out) {
        const auto& e = in[0]->toTupleRef().elements();
        const auto n = static_cast<int64_t>(e.size());
        int64_t i = as_int(*in[1]);
        CRESSET_CHECK_INDEX(i >= -n && i < n, "tuple index out of range: got ", i, " for ", n, " elements");
        const Datum v = e[static_cast<size_t>(i < 0 ? i + n : i)];
        out = v;
      },
      true);
  add_builtin(
      "profiler::_record_function_enter_new(str name, str? args=None) -> Any",
      [](Inputs in, size_t, Datum& out) { out = Datum(intrusive_ptr<dispatch::Object>(make_intrusive<RecordedPart>(in[0]->to_string()))); }, false);
  add_builtin(
      "profiler::_record_function_exit._RecordFunction(Any record) -> ()",
      [](Inputs in, size_t, Datum& out) {
        auto* const part = in[0]->object() ? dynamic_cast<RecordedPart*>(in[0]->object()->get()) : nullptr;
        CRESSET_CHECK_TYPE(part, "_record_function_exit: expected a part that _record_function_enter_new began, got ", in[0]->kind());
        part->end();
        out = Datum();
      },
      false);
  add_writing("prim::Print", 0, INT_MAX, {}, [](Inputs in, size_t n, Datum& out) {
    std::string line;
    for (size_t i = 0; i < n; i++) line += (i ? " " : "") + str_of(*in[i]);
    line += "\n";
    print_handler().load()(line);
    out = Datum();
  });
}

std::vector<Entered>& entered_objects() {
  thread_local std::vector<Entered> objects;
  return objects;
}

void set_print_handler(PrintHandler to) { print_handler() = to; }

}  // namespace cresset::graph::script
