#include "cresset/graph/script/unit.h"

#include <algorithm>
#include <condition_variable>
#include <ostream>

#include "cresset/autograd/grad_mode.h"
#include "cresset/core/scope_hooks.h"
#include "cresset/graph/script/passes.h"
#include "cresset/graph/script/source_map.h"
#include "cresset/graph/script/sugar.h"
#include "cresset/graph/script/values.h"

namespace cresset::graph::script {

namespace {

struct Names {
  std::recursive_mutex mutex;
  std::map<std::string, ClassType*> classes;
  std::map<std::string, Function*> functions;
  size_t next_mangle = 0;
};
Names& names() {
  static Names* const n = new Names;
  return *n;
}
// Compilation changes classes and functions that threads share.
std::recursive_mutex& compile_mutex() {
  static auto* const m = new std::recursive_mutex;
  return *m;
}
bool is_mangled(std::string_view part) { return part.substr(0, 16) == "___torch_mangle_"; }

}  // namespace

ClassType* find_class(const std::string& name) {
  {
    Names& n = names();
    const std::lock_guard lock(n.mutex);
    const auto found = n.classes.find(name);
    if (found != n.classes.end()) return found->second;
  }
  return name.compare(0, 24, "__torch__.torch.classes.") == 0 ? custom_class(name) : nullptr;
}
Function* find_function(const std::string& name) {
  Names& n = names();
  const std::lock_guard lock(n.mutex);
  const auto found = n.functions.find(name);
  return found == n.functions.end() ? nullptr : found->second;
}
std::string short_name(const std::string& qualified) {
  const size_t dot = qualified.rfind('.');
  return dot == std::string::npos ? qualified : qualified.substr(dot + 1);
}
std::string unmangled(const std::string& qualified) {
  std::string out;
  for (size_t at = 0; at <= qualified.size();) {
    size_t end = qualified.find('.', at);
    if (end == std::string::npos) end = qualified.size();
    const std::string part = qualified.substr(at, end - at);
    if (!is_mangled(part)) out += (out.empty() ? "" : ".") + part;
    at = end + 1;
  }
  return out;
}

// ---- classes and objects

int ClassType::slot_of(std::string_view attribute) const {
  for (size_t i = 0; i < attributes.size(); i++)
    if (attributes[i].name == attribute) return static_cast<int>(i);
  return -1;
}
const Attribute* ClassType::attribute(std::string_view wanted) const {
  const int i = slot_of(wanted);
  return i < 0 ? nullptr : &attributes[static_cast<size_t>(i)];
}
int ClassType::add_attribute(Attribute attribute) {
  attributes.push_back(std::move(attribute));
  return static_cast<int>(attributes.size()) - 1;
}
Function* ClassType::method(const std::string& wanted) {
  const auto found = methods.find(wanted);
  if (found != methods.end()) return found->second;
  return find_more ? find_more(wanted) : nullptr;
}
const Property* ClassType::property(std::string_view wanted) const {
  for (const Property& p : properties)
    if (p.name == wanted) return &p;
  return nullptr;
}

Datum& ScriptObject::slot(std::string_view attribute) {
  const int i = cls->slot_of(attribute);
  CRESSET_CHECK(i >= 0, cls->name, " has no attribute '", std::string(attribute), "'");
  if (slots_.size() <= static_cast<size_t>(i)) slots_.resize(cls->attributes.size());
  return slots_[static_cast<size_t>(i)];
}
intrusive_ptr<dispatch::Object> ScriptObject::deepcopy(Memo& memo) const {
  auto copy = make_intrusive<ScriptObject>(cls, unit);
  for (size_t i = 0; i < slots_.size(); i++) {
    const Datum& v = slots_[i];
    const void* key = v.is_tensor() && v.to_tensor().defined() ? static_cast<const void*>(v.to_tensor().impl()) : v.object() ? v.object()->get() : nullptr;
    if (const auto found = memo.find(key); key && found != memo.end()) {
      copy->slots_[i] = found->second;
      continue;
    }
    if (v.object()) copy->slots_[i] = Datum((*v.object())->deepcopy(memo));
    else copy->slots_[i] = v.deepcopy();
    if (v.is_tensor() && v.to_tensor().defined() && v.to_tensor().requires_grad() && v.to_tensor().is_leaf()) {
      Tensor t = copy->slots_[i].to_tensor().detach();
      t.requires_grad_(true);
      copy->slots_[i] = Datum(t);
    }
    if (key) memo[key] = copy->slots_[i];
  }
  copy->payload = payload;
  return copy;
}
void ScriptObject::unsafeRemoveAttr(const std::string& attribute) {
  slot(attribute);
  slots_.erase(slots_.begin() + cls->slot_of(attribute));
}
ScriptObject* object_of(const Datum& v) {
  const auto* o = v.object();
  return o && (*o)->kind() == dispatch::Object::Kind::Other ? dynamic_cast<ScriptObject*>(o->get()) : nullptr;
}

EnumObject::EnumObject(ClassType* type, const std::string& wanted, std::shared_ptr<void> owner) : cls(type), member(0), owner_(std::move(owner)) {
  const auto& all = cls->members;
  while (member < all.size() && all[member].first != wanted) member++;
  CRESSET_CHECK(member < all.size(), cls->name, " has no member '", wanted, "'");
}
Datum EnumObject::equals(const dispatch::Object& o) const {
  const auto* other = dynamic_cast<const EnumObject*>(&o);
  return Datum(other && other->cls == cls && other->member == member);
}
void EnumObject::print(std::ostream& out) const { out << short_name(cls->name) << "." << name(); }

void FutureObject::finish(Datum value, std::exception_ptr error) {
  std::vector<std::function<void()>> functions;
  {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
    error_ = std::move(error);
    done_ = true;
    functions.swap(when_done_);
    changed_.notify_all();
  }
  for (const auto& function : functions) function();
}
void FutureObject::complete(Datum value) { finish(std::move(value), nullptr); }
void FutureObject::fail(std::exception_ptr error) { finish(Datum(), std::move(error)); }
void FutureObject::when_done(std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    if (!done_) return when_done_.push_back(std::move(function));
  }
  function();
}
void FutureObject::work() {
  std::function<Datum()> work;
  {
    const std::lock_guard lock(mutex_);
    if (!work_) return;
    work = std::exchange(work_, nullptr);
    worker_ = std::this_thread::get_id();
  }
  try {
    complete(work());
  } catch (...) { fail(std::current_exception()); }
}
Datum FutureObject::wait() {
  work();
  std::unique_lock lock(mutex_);
  CRESSET_CHECK(done_ || worker_ != std::this_thread::get_id(), "wait: the call waits for itself, and would never end");
  changed_.wait(lock, [&] { return done_; });
  if (error_) std::rethrow_exception(error_);
  return value_;
}
void FutureObject::setError(std::exception_ptr error) {
  if (hasError()) {
    auto next = make_intrusive<FutureObject>();
    next->fail(std::move(error));
    CRESSET_CHECK(false, "future: Error already set, namely '", tryRetrieveErrorMessage(), "', when another came: '", next->tryRetrieveErrorMessage(), "'");
  }
  fail(std::move(error));
}
Datum FutureObject::value() {
  const std::lock_guard lock(mutex_);
  CRESSET_CHECK(done_, "future: the value was asked for before it was there, expected one that is completed");
  if (error_) std::rethrow_exception(error_);
  return value_;
}
std::exception_ptr FutureObject::exception_ptr() {
  const std::lock_guard lock(mutex_);
  return error_;
}
std::string FutureObject::tryRetrieveErrorMessage() {
  const std::exception_ptr error = exception_ptr();
  CRESSET_CHECK(error != nullptr, "future: it has no error");
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) { return e.what(); } catch (...) {
    return "an exception of a type that has no message";
  }
}
bool FutureObject::done() {
  const std::lock_guard lock(mutex_);
  return done_;
}

bool implements(ClassType& cls, ClassType& interface, std::string* why) {
  const auto fail = [&](const std::string& what) {
    if (why) *why = what;
    return false;
  };
  const bool module = cls.kind == ClassKind::Module || cls.is_module_interface;
  if (interface.is_module_interface && !module) return fail(cls.name + " is no module, as the interface " + interface.name + " wants");
  for (const Schema& wanted : interface.interface) {
    const std::string method = short_name(wanted.name);
    const Schema* has = nullptr;
    if (cls.kind == ClassKind::Interface) {
      for (const Schema& s : cls.interface)
        if (short_name(s.name) == method) has = &s;
    } else if (Function* f = cls.method(method)) {
      f->ensure_defined();
      has = &f->schema;
    }
    if (!has) return fail(cls.name + " has no method '" + method + "' of the interface " + interface.name);
    bool fits = has->arguments.size() == wanted.arguments.size();
    for (size_t i = 1; fits && i < wanted.arguments.size(); i++)
      fits = is_subtype(wanted.arguments[i].type, has->arguments[i].type) && wanted.arguments[i].name == has->arguments[i].name;
    fits = fits && !has->returns.empty() && !wanted.returns.empty() && is_subtype(has->returns[0], wanted.returns[0]);
    if (!fits) return fail("method '" + method + "' of " + cls.name + " is " + has->text() + ", the interface wants " + wanted.text());
  }
  return true;
}

bool value_fits(const Datum& v, const Type& t) {
  switch (t.kind()) {
    case TypeKind::Any: return true;
    case TypeKind::None: return v.is_none();
    case TypeKind::Tensor: return v.is_tensor();
    case TypeKind::Int: return v.is<int64_t>() || v.is<ScalarType>() || v.is<Layout>() || v.is<MemoryFormat>();
    case TypeKind::Float: return v.is<double>();
    case TypeKind::Bool: return v.is<bool>();
    case TypeKind::Complex: return v.isComplexDouble();
    case TypeKind::Number: return v.is_number();
    case TypeKind::String: return v.isString();
    case TypeKind::DType: return v.is<ScalarType>() || v.is<int64_t>();
    case TypeKind::Device: return v.is<Device>();
    case TypeKind::Layout: return v.is<Layout>() || v.is<int64_t>();
    case TypeKind::MemoryFormat: return v.is<MemoryFormat>() || v.is<int64_t>();
    case TypeKind::Generator: return v.isGenerator();
    case TypeKind::Optional: return v.is_none() || value_fits(v, t.elements()[0]);
    case TypeKind::Union: return std::any_of(t.elements().begin(), t.elements().end(), [&](const Type& e) { return value_fits(v, e); });
    case TypeKind::List: {
      if (!v.isList()) return false;
      const auto list = v.toListVector();
      // The declared kind of an empty list tells what it was made for.
      if (list.empty() && v.object()) {
        const auto kind = list_of(v).element;
        return kind == dispatch::ElementKind::Any || kind == element_kind(t.elements()[0]);
      }
      return std::all_of(list.begin(), list.end(), [&](const Datum& e) { return value_fits(e, t.elements()[0]); });
    }
    case TypeKind::Dict: {
      if (!v.isGenericDict()) return false;
      for (const auto& e : dict_of(v).entries)
        if (!value_fits(e.key, t.elements()[0]) || !value_fits(e.value, t.elements()[1])) return false;
      return true;
    }
    case TypeKind::Tuple: {
      if (!v.isTuple()) return false;
      const auto& e = v.toTupleRef().elements();
      if (e.size() != t.elements().size()) return false;
      for (size_t i = 0; i < e.size(); i++)
        if (!value_fits(e[i], t.elements()[i])) return false;
      return true;
    }
    case TypeKind::Future: return v.object() && dynamic_cast<FutureObject*>(v.object()->get());
    case TypeKind::Class: {
      if (!v.object()) return false;
      ClassType* cls = class_of(t);
      if (ScriptObject* o = object_of(v)) return cls && (o->cls == cls || (cls->kind == ClassKind::Interface && implements(*o->cls, *cls)));
      if (cls && cls->custom) return custom_info_of(v) == cls->custom;
      const auto* member = dynamic_cast<const EnumObject*>(v.object()->get());
      return member && member->cls == cls;
    }
  }
  return false;
}

// ---- functions

bool& getInlineEverythingMode() {
  static bool on = false;
  return on;
}

namespace {
void inline_calls(Graph& g, bool to_run);
}

void Function::ensure_defined() {
  if (native) return;
  const std::lock_guard lock(compile_mutex());
  if (state_ == State::Done) return;
  if (state_ == State::Compiling)
    throw CompileError("function '" + short_name(name) + "' is called recursively, which TorchScript does not allow: recursive calls are not supported", {});
  state_ = State::Compiling;
  try {
    if (define) define(*this);
    if (getInlineEverythingMode() && graph) inline_calls(*graph, false);
  } catch (...) {
    state_ = State::Declared;
    graph.reset();
    throw;
  }
  state_ = State::Done;
}

namespace {

using Place = std::shared_ptr<const Location>;

// The place of a node that stands in place of a call. `known` has those that were made for this call already.
Place place_in_call(const Place& inside, const Place& call, std::map<const Location*, Place>& known) {
  if (!inside) return call;
  Place& out = known[inside.get()];
  if (!out) {
    auto made = std::make_shared<Location>(*inside);
    made->caller = inside->caller ? place_in_call(inside->caller, call, known) : call;
    out = std::move(made);
  }
  return out;
}
void place_in_call(Node& n, const Place& call, std::map<const Location*, Place>& known) {
  if (const Place place = place_in_call(n.location(), call, known)) n.set_location(place);
  for (const auto& b : n.blocks())
    for (const auto& inside : b->nodes())
      if (inside->kind() != NodeKind::Return) place_in_call(*inside, call, known);
}

// The graph of a function, with what its calls do in place of them. Functions that are operators of PyTorch stay calls unless the graph is to run.
void inline_calls(Graph& g, bool to_run) {
  size_t nodes = g.num_nodes();
  while (true) {
    std::vector<Node*> calls;
    g.for_each([&](Node& n) {
      if (n.kind() == NodeKind::Call && (to_run || library_operator(n.target()).empty())) calls.push_back(&n);
    });
    if (calls.empty()) return;
    for (Node* n : calls) inline_call(g, *n, nodes);
  }
}

}  // namespace

void inline_call(Graph& g, Node& n, size_t& nodes) {
  Function* f = find_function(n.target());
  CRESSET_CHECK(f, "graph ", g.name(), ": there is no function ", n.target());
  f->ensure_defined();
  const Graph& from = *f->graph;
  nodes += from.num_nodes();
  CRESSET_CHECK(nodes <= kMaxNodes, "expected at most ", kMaxNodes, " nodes in ", short_name(g.name()), " with all functions that it calls");
  std::unordered_map<Value*, Value*> map;
  std::map<const Location*, std::shared_ptr<const Location>> places;
  for (size_t i = 0; i < from.block().parameters().size(); i++) map[from.block().parameter(i)] = n.input(i);
  const auto find = [&](Value* v) -> Value* {
    const auto found = map.find(v);
    if (found != map.end()) return found->second;
    Value* c = g.constant(*v->constant(), v->name());
    c->set_type(v->type());
    return map[v] = c;
  };
  for (const auto& inside : from.block().nodes()) {
    if (inside->kind() == NodeKind::Return) break;
    Node* made = g.copy(*inside, find, &n);
    place_in_call(*made, n.location(), places);
    for (size_t i = 0; i < inside->outputs().size(); i++) map[inside->output(i)] = made->output(i);
  }
  for (size_t i = 0; i < n.outputs().size(); i++) n.output(i)->replace_uses_with(find(from.block().results()[i]));
  n.erase();
}

void inline_functions(Graph& g) {
  const std::lock_guard lock(compile_mutex());
  inline_calls(g, false);
}

const Graph& Function::inlined() {
  ensure_defined();
  const std::lock_guard lock(compile_mutex());
  if (!inlined_) {
    auto g = graph->clone();
    inline_calls(*g, false);
    inlined_ = std::move(g);
  }
  return *inlined_;
}
void Function::forget_program() {
  Executable old[3];  // their end may run anything, so that no lock is held then
  std::unique_ptr<Graph> inlined;
  const std::lock_guard runs(mutex_);
  const std::lock_guard compiles(compile_mutex());
  inlined = std::move(inlined_);
  latest_ = nullptr;
  old[0] = std::exchange(plain_, {});
  old[1] = std::exchange(optimized_, {});
  old[2] = std::exchange(counted_, {});
}
std::shared_ptr<const Graph> Function::executed() {
  const std::lock_guard lock(mutex_);
  return latest_ ? latest_->graph : nullptr;
}
const Program* Function::program() {
  const std::lock_guard lock(mutex_);
  return latest_ ? latest_->program.get() : nullptr;
}

namespace {

// The places of the error in flight with the calls that led there, the innermost last, as Python's tracebacks are.
std::string trace_of_failure() {
  std::string out, original;
  auto& places = failure_places();
  std::vector<const Location*> all;
  for (const auto& innermost : places)
    for (const Location* at = innermost.get(); at; at = at->caller.get()) all.push_back(at);
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    if (!(*at)->detail) continue;
    const auto& range = *static_cast<const Range*>((*at)->detail.get());
    out += range.show((*at)->function);
    if (const Range* origin = origin_of(range); origin && origin != &range) original += origin->show((*at)->function);
  }
  places.clear();
  out = "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call last):\n" + out;
  return original.empty() ? out : out + "\nIn the program that the archive was made from:\n" + original;
}

// Calls within calls of this thread, and how many there were where the outermost one began.
struct Depth {
  int now = 0, outermost = 0;
  bool apart = false;
};
thread_local Depth t_depth;
thread_local std::weak_ptr<const Graph> t_last_graph;
constexpr int kMaxCalls = 200;

// The program, with __exit__ of what it has entered where an exception leaves it.
Datum run_with_exits(Program& program, std::vector<Datum> arguments) {
  const size_t before = entered_objects().size();
  try {
    return std::move(program.run(std::move(arguments))[0]);
  } catch (...) {
    while (entered_objects().size() > before) {
      const Datum object = std::move(entered_objects().back().object);
      entered_objects().pop_back();
      object_of(object)->cls->method("__exit__")->run({object, Datum(), Datum(), Datum()});
    }
    throw;
  }
}

// Errors get their places in the outermost program of a thread; gradients are recorded afterwards as they were before.
Datum run_outermost(const Function& function, Program& program, std::vector<Datum> arguments) {
  struct Deeper {
    Deeper() { t_depth.now++; }
    ~Deeper() { t_depth.now--; }
  } deeper;
  const int most = std::min({kMaxCalls, function.unit ? function.unit->limits.max_calls : kMaxCalls, LimitScope::current().max_calls});
  CRESSET_CHECK(t_depth.now <= most, "expected at most ", most, " calls of methods within each other");
  if (t_depth.now > t_depth.outermost + 1) return std::move(program.run(std::move(arguments))[0]);
  const bool grad = GradMode::is_enabled();
  failure_places().clear();
  try {
    return run_with_exits(program, std::move(arguments));
  } catch (const ScriptRaise& e) {
    GradMode::set_enabled(grad);
    throw ScriptRaise(trace_of_failure() + (e.python_class.empty() ? "RuntimeError" : e.python_class) + ": " + e.original, e.python_class, e.original);
  } catch (const CompileError&) {
    GradMode::set_enabled(grad);
    failure_places().clear();
    throw;
  } catch (const OutOfMemoryError& e) {
    GradMode::set_enabled(grad);
    throw OutOfMemoryError(trace_of_failure() + "RuntimeError: " + e.what());
  } catch (const NotImplementedError& e) {
    GradMode::set_enabled(grad);
    throw NotImplementedError(trace_of_failure() + "RuntimeError: " + e.what());
  } catch (const std::exception& e) {
    GradMode::set_enabled(grad);
    throw ScriptFailure(trace_of_failure() + "RuntimeError: " + e.what());
  } catch (...) {
    GradMode::set_enabled(grad);
    failure_places().clear();
    throw;
  }
}

}  // namespace

Datum Function::run(std::vector<Datum> arguments) { return run_as(schema.name, std::move(arguments)); }
Datum Function::run_as(std::string_view scope, std::vector<Datum> arguments) {
  for (size_t i = arguments.size(); i < schema.arguments.size(); i++) {
    const SchemaArgument& a = schema.arguments[i];
    CRESSET_CHECK(a.default_value, short_name(name), "() is missing value for argument '", a.name, "'. Declaration: ", schema.text());
    arguments.push_back(*a.default_value);
  }
  if (native) return native(arguments);
  Program* program = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const bool optimizes = optimizes_execution();
    const bool counts = LimitScope::current().are_counted() || (unit && unit->limits.are_counted());
    Executable& wanted = !optimizes ? plain_ : counts ? counted_ : optimized_;
    if (!wanted.program) {
      ProgramOptions options;
      options.script = true;
      options.plan_memory = false;  // values may outlive the run in lists and objects
      if (unit) options.limits = unit->limits;
      ensure_defined();
      {
        const std::lock_guard compiles(compile_mutex());
        wanted.graph = graph->clone();
        inline_calls(*wanted.graph, true);
        erase_types(*wanted.graph);
      }
      if (optimizes) optimize(*wanted.graph, !counts);
      wanted.program = std::make_unique<Program>(*wanted.graph, options);
    }
    latest_ = &wanted;
    program = wanted.program.get();
    t_last_graph = wanted.graph;
  }
  CRESSET_CHECK(arguments.size() == schema.arguments.size(), short_name(name), "() expected at most ", schema.arguments.size(), " argument(s) but received ",
                arguments.size(), " argument(s). Declaration: ", schema.text());
  const ScopeOfFunction observed(scope);
  return run_outermost(*this, *program, std::move(arguments));
}
std::shared_ptr<const Graph> last_executed_graph() { return t_last_graph.lock(); }
bool& optimizes_execution() {
  thread_local bool on = true;
  return on;
}
bool runs_apart() { return t_depth.apart; }
Datum Function::run_apart(std::vector<Datum> arguments) {
  struct Apart {
    Depth outer = std::exchange(t_depth, {t_depth.now, t_depth.now, true});
    std::vector<std::shared_ptr<const Location>> places = std::exchange(failure_places(), {});
    ~Apart() {
      t_depth = outer;
      failure_places() = std::move(places);
    }
  } apart;
  return run_as("<forked function>", std::move(arguments));
}

// ---- units

CompilationUnit::~CompilationUnit() {
  Names& n = names();
  const std::lock_guard lock(n.mutex);
  for (const auto& [name, c] : classes) n.classes.erase(name);
  for (const auto& [name, f] : functions) n.functions.erase(name);
  for (const auto& f : dropped_) n.functions.erase(f->name);
}
void CompilationUnit::drop_all_functions() {
  const std::lock_guard lock(names().mutex);
  for (auto at = functions.begin(); at != functions.end();) {
    if (at->second->cls) {
      ++at;
      continue;
    }
    dropped_.push_back(std::move(at->second));
    at = functions.erase(at);
  }
}

std::function<Function*(const std::string&, const std::string&)>& foreign_operators() {
  static auto* const find = new std::function<Function*(const std::string&, const std::string&)>;
  return *find;
}
std::string foreign_operator_name(const std::string& function) {
  constexpr std::string_view kPrefix = "__torch__.torch.ops.";
  if (function.compare(0, kPrefix.size(), kPrefix) != 0) return "";
  const std::string plain = unmangled(function).substr(kPrefix.size());
  const size_t dot = plain.find('.');
  return dot == std::string::npos ? "" : plain.substr(0, dot) + "::" + plain.substr(dot + 1);
}

std::string CompilationUnit::free_name(const std::string& wanted) {
  Names& n = names();
  const std::lock_guard lock(n.mutex);
  std::string name = wanted;
  while (n.classes.count(name) || n.functions.count(name)) {
    const std::string plain = unmangled(wanted);
    const size_t dot = plain.rfind('.');
    const std::string mark = "___torch_mangle_" + std::to_string(n.next_mangle++);
    name = dot == std::string::npos ? mark + "." + plain : plain.substr(0, dot) + "." + mark + plain.substr(dot);
  }
  return name;
}

ClassType* CompilationUnit::create_class(const std::string& wanted, ClassKind kind) {
  Names& n = names();
  const std::lock_guard lock(n.mutex);
  const std::string name = free_name(wanted);
  auto cls = std::make_unique<ClassType>();
  cls->name = name;
  cls->kind = kind;
  cls->unit = this;
  n.classes[name] = cls.get();
  return (classes[name] = std::move(cls)).get();
}
ClassType* CompilationUnit::class_named(const std::string& wanted) const {
  if (const auto found = classes.find(wanted); found != classes.end()) return found->second.get();
  for (const auto& [name, cls] : classes)
    if (unmangled(name) == wanted) return cls.get();
  return nullptr;
}
Function* CompilationUnit::create_function(const std::string& wanted, Schema schema) {
  Names& n = names();
  const std::lock_guard lock(n.mutex);
  const std::string name = free_name(wanted);
  auto f = std::make_unique<Function>();
  f->name = name;
  f->schema = std::move(schema);
  f->schema.name = short_name(name);
  f->unit = this;
  n.functions[name] = f.get();
  return (functions[name] = std::move(f)).get();
}
Function* CompilationUnit::find(const std::string& wanted) const {
  const auto found = functions.find(wanted);
  if (found != functions.end()) return found->second.get();
  for (const auto& [name, f] : functions)
    if (!f->cls && (short_name(name) == wanted || unmangled(name) == wanted)) return f.get();
  return nullptr;
}

namespace {

// "(int, Tensor) -> Tensor" of a comment, or one type for each line.
std::pair<std::vector<std::string>, std::string> split_comment(const std::string& comment) {
  std::pair<std::vector<std::string>, std::string> out;
  const size_t arrow = comment.rfind("->");
  const size_t first = comment.find_first_not_of(' ');
  if (arrow == std::string::npos && (first == std::string::npos || comment[first] != '(')) return out;
  if (arrow != std::string::npos) out.second = comment.substr(arrow + 2);
  const size_t open = comment.find('('), close = comment.rfind(')', arrow);
  if (open == std::string::npos || close == std::string::npos) return out;
  int depth = 0;
  std::string part;
  for (size_t i = open + 1; i < close; i++) {
    const char c = comment[i];
    if (c == '[' || c == '(') depth++;
    if (c == ']' || c == ')') depth--;
    if (c == ',' && depth == 0) {
      out.first.push_back(std::exchange(part, {}));
      continue;
    }
    part += c;
  }
  if (part.find_first_not_of(' ') != std::string::npos) out.first.push_back(part);
  return out;
}

namespace {

// Of BroadcastingList2[int], also within an Optional, 2: one number stands for a list of so many.
int broadcast_of(const std::string& annotation) {
  constexpr std::string_view kName = "BroadcastingList";
  const size_t at = annotation.find(kName);
  const char c = at == std::string::npos || at + kName.size() >= annotation.size() ? '0' : annotation[at + kName.size()];
  return c >= '1' && c <= '9' ? c - '0' : 0;
}

}  // namespace

namespace {

// The value of an expression that stands for one, as defaults of parameters do; none: it has to be computed.
std::optional<Datum> constant_of(const Ast& a, Resolver* resolver, const Type& given) {
  const Type& type = given.kind() == TypeKind::Optional ? given.elements()[0] : given;
  switch (a.kind) {
    case AstKind::Literal: return a.value;
    case AstKind::Name:
      if (const SugarPtr s = builtin_name(a.text); s && s->kind == SugarKind::Constant) return s->datum;
      return std::nullopt;
    case AstKind::Unary: {
      const auto v = a.text == "-" ? constant_of(a[0], resolver, type) : std::nullopt;
      if (v && v->isDouble()) return Datum(-v->toDouble());
      return v && v->isInt() ? std::optional<Datum>(-v->toInt()) : std::nullopt;
    }
    case AstKind::Attribute: {
      const SugarPtr home = a[0].kind == AstKind::Name && resolver ? resolver->value(a[0].text, a.range) : nullptr;
      const SugarPtr found = home && home->attribute ? home->attribute(a.text, a.range) : nullptr;
      return found && found->kind == SugarKind::Constant ? std::optional<Datum>(found->datum) : std::nullopt;
    }
    case AstKind::Call: {
      const std::string callee = a[0].text;
      if (callee == "annotate" && a.kids.size() == 3) return constant_of(a[2], resolver, type);
      const auto v = callee == "device" && a.kids.size() == 2 ? constant_of(a[1], resolver, type) : std::nullopt;
      return v && v->isString() ? std::optional<Datum>(Device(v->to_string())) : std::nullopt;
    }
    case AstKind::List:
    case AstKind::Tuple: {
      std::vector<Datum> list;
      const bool is_tuple = a.kind == AstKind::Tuple && type.kind() == TypeKind::Tuple;
      for (size_t i = 0; i < a.kids.size(); i++) {
        const bool has = is_tuple ? i < type.elements().size() : type.kind() == TypeKind::List;
        const auto v = constant_of(a[i], resolver, has ? type.elements()[is_tuple ? i : 0] : Type());
        if (!v) return std::nullopt;
        list.push_back(*v);
      }
      if (is_tuple) return Datum(dispatch::TupleObject::create(std::move(list)));
      return make_list(type.kind() == TypeKind::List ? element_kind(type.elements()[0]) : dispatch::ElementKind::Any, std::move(list));
    }
    default: return std::nullopt;
  }
}

// A default of Python as the annotation wants it: an integer may stand for a fraction, a tuple for a list. Nothing where elements are of another type.
std::optional<Datum> as_annotated(const Datum& value, const Type& given) {
  const Type& type = given.kind() == TypeKind::Optional ? given.elements()[0] : given;
  if (type.kind() == TypeKind::Float && value.isInt()) return Datum(value.to_double());
  if (type.kind() != TypeKind::List || !(value.isTuple() || value.isList())) return value_fits(value, given) ? std::optional<Datum>(value) : std::nullopt;
  std::vector<Datum> list = value.isTuple() ? value.toTupleRef().elements() : value.toListVector();
  for (Datum& element : list) {
    const std::optional<Datum> fitting = as_annotated(element, type.elements()[0]);
    if (!fitting || !is_subtype(Type::of(*fitting), type.elements()[0])) return std::nullopt;
    element = *fitting;
  }
  return make_list(element_kind(type.elements()[0]), std::move(list));
}

}  // namespace

Schema signature(const Ast& def, Resolver* resolver, ClassType* self, const std::map<std::string, Datum>& defaults, bool& infer_return) {
  Schema s;
  s.name = def.text;
  const size_t count = def.kids.size() - 2;
  const Ast* returns = def.kids[count].get();
  auto [comment_types, comment_return] = split_comment(def.type_comment);
  size_t skip = self ? 1 : 0;
  const bool has_own = comment_types.size() == 1 && comment_types[0] == "...";  // each parameter has a comment of its own
  if (has_own) comment_types.clear();
  if (!comment_types.empty() && comment_types.size() + skip != count && comment_types.size() != count)
    throw CompileError(str("the comment with types names ", comment_types.size(), " arguments, the function has ", count - skip), def.range);
  if (comment_types.size() == count) skip = 0;
  if (self && count == 0) throw CompileError("a method has a parameter for its object, self: " + def.text + "() has none", def.range);
  for (size_t i = skip; has_own && i < count; i++)
    if (!def[i].kid(0) && def[i].type_comment.empty())
      throw CompileError("'" + def[i].text + "' has no comment with its type, which '(...)' promises for each parameter", def[i].range);
  for (size_t i = 0; i < count; i++) {
    const Ast& p = def[i];
    SchemaArgument a;
    a.name = p.text;
    a.keyword_only = p.value.to_bool();
    if (i == 0 && self) a.type = self->type();
    else if (p.kid(0)) a.type = type_of_annotation(*p.kid(0), resolver);
    else if (has_own && !p.type_comment.empty()) a.type = type_of_text(p.type_comment, resolver, p.range);
    else if (i >= skip && i - skip < comment_types.size()) a.type = type_of_text(comment_types[i - skip], resolver, p.range);
    else a.type = TypeKind::Tensor;
    if (const auto found = defaults.find(a.name); found != defaults.end()) {
      a.default_value = found->second;
    } else if (const Ast* d = p.kid(1)) {
      a.default_value = constant_of(*d, resolver, a.type);
      if (!a.default_value) throw CompileError(str("the default of '", a.name, "' is no constant"), p.range);
    }
    const bool is_told = !p.kid(0) && i >= skip && i - skip < comment_types.size();
    a.broadcast = broadcast_of(p.kid(0) ? std::string(p.kid(0)->range.text()) : is_told ? comment_types[i - skip] : p.type_comment);
    if (a.broadcast > 0 && a.default_value && a.default_value->isInt())
      a.default_value = Datum(std::vector<int64_t>(static_cast<size_t>(a.broadcast), a.default_value->toInt()));
    if (a.default_value && !(a.default_value = as_annotated(*a.default_value, a.type)))
      throw CompileError(str("the default of '", a.name, "' is not of type ", annotation_text(a.type)), p.range);
    s.arguments.push_back(std::move(a));
  }
  infer_return = !returns && comment_return.empty();
  if (returns) s.returns = {type_of_annotation(*returns, resolver)};
  else if (!comment_return.empty()) s.returns = {type_of_text(comment_return, resolver, def.range)};
  return s;
}

}  // namespace

Function* CompilationUnit::define(const std::string& name, std::shared_ptr<const Ast> def, std::shared_ptr<Resolver> resolver, ClassType* self,
                                  const std::map<std::string, Datum>& defaults) {
  bool infer_return = false;
  Schema s = signature(*def, resolver.get(), self, defaults, infer_return);
  Function* f = create_function(name, std::move(s));
  f->cls = self;
  f->define = [def = std::move(def), resolver = std::move(resolver), infer_return](Function& made) { emit_function(made, *def, *resolver, infer_return); };
  return f;
}

namespace {

class TextResolver final : public Resolver {
 public:
  TextResolver(CompilationUnit& unit, std::shared_ptr<Resolver> outside) : unit_(unit), outside_(std::move(outside)) {}
  std::map<std::string, Function*> functions;

  SugarPtr value(const std::string& name, const Range& range) override {
    if (const auto found = functions.find(name); found != functions.end()) return sugar(found->second);
    if (outside_)
      if (SugarPtr s = outside_->value(name, range)) return s;
    if (name == "torch") return torch_namespace();
    if (name == "__torch__") return torch_classes();
    if (name == "ops") return ops_namespace();
    if (name == "fork") return sugar_text(SugarKind::Special, "fork");
    if (name == "math") return math_namespace();
    return nullptr;
  }
  std::optional<Type> type(const std::string& text, const Range& range) override { return outside_ ? outside_->type(text, range) : std::nullopt; }

 private:
  CompilationUnit& unit_;
  std::shared_ptr<Resolver> outside_;
};

}  // namespace

void CompilationUnit::define_text(const std::string& text, std::shared_ptr<Resolver> outside, const std::string& prefix) {
  auto source = std::make_shared<Source>();
  source->text = text;
  source->file = "<string>";
  auto resolver = std::make_shared<TextResolver>(*this, std::move(outside));
  std::vector<Function*> made;
  for (AstPtr& a : parse_source(source)) {
    if (a->kind != AstKind::Def) {
      if (a->kind == AstKind::Pass) continue;
      throw CompileError("expected a function", a->range);
    }
    const std::string name = a->text;
    const auto is_it = [wanted = prefix + name](const auto& f) { return !f.second->cls && unmangled(f.first) == wanted; };
    if (std::any_of(functions.begin(), functions.end(), is_it)) throw CompileError("there is a function '" + name + "' already", a->range);
    made.push_back(resolver->functions[name] = define(prefix + name, std::move(a), resolver, nullptr));
  }
  for (Function* f : made) f->ensure_defined();
}

}  // namespace cresset::graph::script
