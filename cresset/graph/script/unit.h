#pragma once
// Functions, classes and objects of TorchScript.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "cresset/graph/runtime/program.h"
#include "cresset/graph/script/ast.h"
#include "cresset/graph/script/schema.h"

namespace cresset::graph::script {}  // namespace cresset::graph::script
namespace cresset::dispatch {
class ClassInfo;
}
namespace cresset::graph::script {

class CompilationUnit;
class Function;
struct Sugar;
using SugarPtr = std::shared_ptr<Sugar>;

// The world around a text: names that it does not define itself.
class Resolver {
 public:
  virtual ~Resolver() = default;
  // Null: there is no such name.
  virtual SugarPtr value(const std::string& name, const Range& range) = 0;
  virtual std::optional<Type> type(const std::string& expression, const Range& range) = 0;
  // Whether modules of a compiled class are instances of the class of modules that an expression names; nothing: it names none.
  virtual std::optional<bool> is_module_of(const std::string& /*expression*/, const std::string& /*cls*/) { return std::nullopt; }
};

// The method of modules with hooks that a call from Python runs.
inline constexpr const char* kCallWithHooks = "__call_hooked__";

enum class ClassKind : uint8_t { Class, Module, Interface, Enum };

struct Attribute {
  std::string name;
  Type type;
  bool is_parameter = false, is_buffer = false;
};

struct Property {
  std::string name, getter, setter;
};

class CRESSET_API ClassType {
 public:
  std::string name;  // qualified, of one class in the process: "__torch__.Net"
  ClassKind kind = ClassKind::Class;
  std::vector<Attribute> attributes;
  std::map<std::string, Datum> constants;
  std::map<std::string, Type> constant_types;
  std::map<std::string, Function*> methods, statics;
  std::map<std::string, SugarPtr> functions;  // attributes of a module that are functions: operators and the like
  std::vector<std::string> method_order;
  std::vector<Property> properties;
  std::vector<std::pair<std::string, Datum>> members;  // of an enum
  Type member_type;
  std::vector<Schema> interface;
  bool is_module_interface = false;
  // Of a registered class of C++, whose objects are no ScriptObjects: no file has its text.
  const dispatch::ClassInfo* custom = nullptr;
  Function* constructor = nullptr;
  std::vector<std::string> pre_hooks, hooks;  // names of methods
  std::map<std::string, std::vector<std::string>> overloads;
  std::set<std::string> ignored_attributes;  // of Python, by name, that could not become attributes
  std::map<std::string, std::string> failed_attributes;
  // Of a module: "ModuleList", "Sequential", "ModuleDict", "ParameterList", "ParameterDict".
  std::string container;
  CompilationUnit* unit = nullptr;
  // A method that is compiled when it is asked for; null: there is none.
  std::function<Function*(const std::string& name)> find_more;

  int slot_of(std::string_view attribute) const;
  const Attribute* attribute(std::string_view name) const;
  int add_attribute(Attribute attribute);
  Function* method(const std::string& name);
  const Property* property(std::string_view name) const;
  Type type() const { return Type::object(name); }
  const std::string& str() const { return name; }
  const std::string& repr_str() const { return name; }
  const std::string& annotation_str() const { return name; }
};

class CRESSET_API ScriptObject final : public dispatch::Object {
 public:
  ScriptObject(ClassType* type, std::shared_ptr<CompilationUnit> unit) : cls(type), unit(std::move(unit)), slots_(type->attributes.size()) {}
  // With room for `n` attributes, of a class and what keeps it alive.
  template <class StrongType> ScriptObject(const StrongType& type, size_t n) : cls(type.type_), unit(type.cu_), payload(type.owner_), slots_(n) {}
  template <class StrongType> static intrusive_ptr<ScriptObject> create(const StrongType& type, size_t n) { return make_intrusive<ScriptObject>(type, n); }
  ClassType* cls;
  std::shared_ptr<CompilationUnit> unit;
  std::shared_ptr<void> payload;  // lives as long as the object
  std::map<std::string, std::vector<Datum>> traced_inputs;

  const char* kind_name() const override { return cls->name.c_str(); }
  void for_each(FunctionRef<void(const Datum&)> visit) const override {
    for (const Datum& v : slots_) visit(v);
  }
  intrusive_ptr<dispatch::Object> deepcopy(Memo& memo) const override;
  // The values of the attributes in order.
  const std::vector<Datum>& slots() const { return slots_; }
  std::vector<Datum>& slots() { return slots_; }
  const Datum& getSlot(size_t i) const { return slots_.at(i); }
  void setSlot(size_t i, Datum value) {
    if (i >= slots_.size()) slots_.resize(i + 1);
    slots_[i] = std::move(value);
  }
  // Errors: there is no such attribute.
  Datum& slot(std::string_view name);
  Datum getAttr(const std::string& name) const { return const_cast<ScriptObject*>(this)->slot(name); }
  void setAttr(const std::string& name, Datum value) { slot(name) = std::move(value); }
  // Drops the value; the class keeps its attribute. Errors: as slot.
  void unsafeRemoveAttr(const std::string& name);

 private:
  std::vector<Datum> slots_;
};
CRESSET_API ScriptObject* object_of(const Datum& value);  // null: it is none

class CRESSET_API EnumObject final : public dispatch::Object {
 public:
  EnumObject(ClassType* type, size_t member) : cls(type), member(member) {}
  // A member of a class and what keeps it alive. Errors: it has none of this name.
  EnumObject(ClassType* type, const std::string& member, std::shared_ptr<void> owner);
  template <class EnumTypePtr> EnumObject(const EnumTypePtr& type, const std::string& name, const Datum&) : EnumObject(type->script_class(), name, type) {}
  ClassType* cls;
  size_t member;
  const std::string& name() const { return cls->members[member].first; }
  const Datum& value() const { return cls->members[member].second; }
  const char* kind_name() const override { return "enum"; }
  Datum equals(const dispatch::Object& o) const override;
  size_t hash() const override { return member; }
  void print(std::ostream& out) const override;

 private:
  std::shared_ptr<void> owner_;
};

// The result of a call that may still run.
class CRESSET_API FutureObject final : public dispatch::Object {
 public:
  FutureObject() = default;
  explicit FutureObject(Datum value) : done_(true), value_(std::move(value)) {}
  // The result of `work`, which some thread is to do.
  explicit FutureObject(std::function<Datum()> work, bool delayed = false) : delayed_(delayed), work_(std::move(work)) {}
  const char* kind_name() const override { return "future"; }
  void complete(Datum value);
  void fail(std::exception_ptr error);
  // Does the work in this thread, unless a thread has begun it.
  void work();
  // Whether only the one who waits does the work.
  bool is_delayed() const { return delayed_; }
  // Errors: that of the work; the work waits for itself.
  Datum wait();
  bool done();
  // Calls the function once it is done, in the thread that does it, or at once.
  void when_done(std::function<void()> function);

  // LibTorch's names. The result of a call that is completed from outside.
  explicit FutureObject(Type element) : element_(std::move(element)) {}
  explicit FutureObject(Type element, const std::vector<Device>&) : FutureObject(std::move(element)) {}
  class FutureError final : public std::exception {
   public:
    explicit FutureError(std::string message) : message_(std::move(message)) {}
    const char* what() const noexcept override { return message_.c_str(); }

   private:
    std::string message_;
  };
  bool completed() { return done(); }
  bool hasError() { return exception_ptr() != nullptr; }
  bool hasValue() { return done() && !hasError(); }
  void markCompleted(Datum value = {}) { complete(std::move(value)); }
  // Errors: it has one already.
  void setError(std::exception_ptr error);
  void setErrorIfNeeded(std::exception_ptr error) {
    if (!hasError()) setError(std::move(error));
  }
  // Errors: it is not done; that of the work.
  Datum value();
  void waitAndThrow() { wait(); }
  // Null: there is none, as yet.
  std::exception_ptr exception_ptr();
  // Errors: there is no error.
  std::string tryRetrieveErrorMessage();
  const Type& elementType() const { return element_; }
  // `callback` takes the future, or nothing.
  template <class F> void addCallback(F callback) {
    if constexpr (std::is_invocable_v<F&, FutureObject&>) when_done([this, callback = std::move(callback)]() mutable { callback(*this); });
    else when_done(std::move(callback));
  }
  // A future of what `callback` makes of this one.
  template <class F> intrusive_ptr<FutureObject> then(F callback, Type element) {
    auto next = make_intrusive<FutureObject>(std::move(element));
    addCallback([next, callback = std::move(callback)](FutureObject& self) mutable {
      try {
        if constexpr (std::is_invocable_v<F&, FutureObject&>) next->markCompleted(callback(self));
        else next->markCompleted(callback());
      } catch (...) { next->setError(std::current_exception()); }
    });
    return next;
  }

 private:
  void finish(Datum value, std::exception_ptr error);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false, delayed_ = false;
  std::function<Datum()> work_;
  std::thread::id worker_;
  Type element_;
  Datum value_;
  std::exception_ptr error_;
  std::vector<std::function<void()>> when_done_;
};

// An exception that the program raised. `python_class` is the name that it gave.
class CRESSET_API ScriptRaise : public Error {
 public:
  ScriptRaise(const std::string& message, std::string python_class, std::string original)
      : Error(message), python_class(std::move(python_class)), original(std::move(original)) {}
  std::string python_class, original;
};
// Any other error of a running program, with its places.
class CRESSET_API ScriptFailure : public Error {
 public:
  using Error::Error;
};

using Limits = RunLimits;

// "Net" of "__torch__.___torch_mangle_3.Net"; with `keep_path`, what stands before, too.
CRESSET_API std::string short_name(const std::string& qualified);

// A qualified name, and by a call, as LibTorch has it, its last part.
struct FunctionName : std::string {
  using std::string::string;
  FunctionName(std::string text) : std::string(std::move(text)) {}
  std::string operator()() const { return short_name(*this); }
};

class SchemaView;  // cresset/graph/script/schema_view.h

class CRESSET_API Function {
 public:
  SchemaView getSchema() const;
  FunctionName name;  // qualified
  Schema schema;
  CompilationUnit* unit = nullptr;
  ClassType* cls = nullptr;  // of a method: the first parameter is the object
  // Compiled from its definition when first needed, unless it has a native body.
  std::function<void(Function&)> define;
  std::function<Datum(std::vector<Datum>&)> native;
  std::string doc;
  const std::string& doc_string() const { return doc; }
  // LibTorch's names: a call with the arguments by place and by name; how many there are; the name in its parts.
  Datum operator()(std::vector<Datum> arguments, const std::unordered_map<std::string, Datum>& keywords = {});
  size_t num_inputs() const { return schema.arguments.size(); }
  template <class F = Function> auto qualname() const { return libtorch_name(static_cast<const F&>(*this)); }
  bool is_ignored = false;  // a native body that Python has, and no file can
  std::unique_ptr<Graph> graph;
  std::shared_ptr<void> view;  // of a front end: its own objects for the parts of the graph

  // Errors: CompileError; one that calls itself.
  void ensure_defined();
  // The arguments in order, defaults left out or not. Errors: ScriptRaise, ScriptFailure.
  Datum run(std::vector<Datum> arguments);
  // The same for a call that is no part of the one that this thread runs: errors have places of its own.
  Datum run_apart(std::vector<Datum> arguments);
  // The graph with the graphs of all functions that it calls within. Errors: it has more than kMaxNodes nodes.
  const Graph& inlined();
  // The graph that runs, after all passes, and its program, from the first run on; null before.
  std::shared_ptr<const Graph> executed();
  const Program* program();
  // After the graph was changed.
  void forget_program();

 private:
  // Observers see the call under the name of `scope`.
  Datum run_as(std::string_view scope, std::vector<Datum> arguments);
  enum class State : uint8_t { Declared, Compiling, Done };
  State state_ = State::Declared;
  struct Executable {
    std::shared_ptr<Graph> graph;
    std::unique_ptr<Program> program;
  };
  std::unique_ptr<Graph> inlined_;
  Executable plain_, optimized_, counted_;  // the last for runs with limits, which count the trips of the text
  const Executable* latest_ = nullptr;
  std::mutex mutex_;
};

class CRESSET_API CompilationUnit : public std::enable_shared_from_this<CompilationUnit> {
 public:
  CompilationUnit() { register_builtins(); }
  explicit CompilationUnit(const std::string& text) : CompilationUnit() { define_text(text, nullptr); }
  ~CompilationUnit();
  CompilationUnit(const CompilationUnit&) = delete;
  CompilationUnit& operator=(const CompilationUnit&) = delete;

  // The name itself, or one that differs where a live class or function has it already.
  static std::string free_name(const std::string& wanted);
  ClassType* create_class(const std::string& name, ClassKind kind);
  Function* create_function(const std::string& name, Schema schema);
  // From a Def; types of the signature are resolved now, the body when it is needed.
  Function* define(const std::string& name, std::shared_ptr<const Ast> def, std::shared_ptr<Resolver> resolver, ClassType* self,
                   const std::map<std::string, Datum>& defaults = {});
  // All functions of a text, which know each other. Errors: as compilation.
  void define_text(const std::string& text, std::shared_ptr<Resolver> outside, const std::string& prefix = "");
  Function* find(const std::string& name) const;  // by the last part too, for functions of a text
  // Errors: there is no such function.
  Function& get_function(const std::string& name) const;
  Function* find_function(const std::string& name) const { return find(name); }
  // Adds the functions of a text. A null resolver: their names are those of the language and of each other.
  template <class Prefix, class Self>
  void define(const Prefix& prefix, const std::string& text, std::shared_ptr<Resolver> resolver, const Self&, bool = false) {
    if constexpr (std::is_same_v<Prefix, std::nullopt_t>) define_text(text, std::move(resolver));
    else define_text(text, std::move(resolver), prefix ? prefix->qualifiedName() + "." : "");
  }
  std::vector<Function*> get_functions() const {
    std::vector<Function*> out;
    for (const auto& [name, f] : functions) out.push_back(f.get());
    return out;
  }
  // By the name in its text, also where another live class has it; null: there is none.
  ClassType* class_named(const std::string& name) const;
  // LibTorch's names: types as <ATen/core/jit_type.h> has them, null for classes that are not there.
  template <class Name> auto get_class(const Name& name) const { return libtorch_class(*this, name); }
  template <class Name> auto get_interface(const Name& name) const { return libtorch_interface(*this, name); }
  template <class Name> auto get_type(const Name& name) const { return libtorch_type(*this, name); }
  // Functions that are no methods leave the unit; those who hold one may go on calling it.
  void drop_all_functions();
  template <class... Args> Datum run_method(const std::string& name, Args&&... args) const {
    return run_values(name, std::vector<Datum>{Datum(std::forward<Args>(args))...});
  }
  Datum run_values(const std::string& name, std::vector<Datum> arguments) const;

  std::vector<std::shared_ptr<void>> kept;             // what definitions refer to
  std::vector<std::shared_ptr<CompilationUnit>> uses;  // units whose classes and functions ours name
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::map<std::string, std::unique_ptr<ClassType>> classes;
  Limits limits;

 private:
  std::vector<std::unique_ptr<Function>> dropped_;
};

// Of a function with all that it calls: programs of strangers may call themselves twice as large at every level.
inline constexpr size_t kMaxNodes = size_t{1} << 17;
// Puts what functions do in place of their calls. Errors: as Function::inlined; more than kMaxNodes nodes.
CRESSET_API void inline_functions(Graph& graph);
// The same of one call, whose function's own calls stay. `nodes` counts those of the graph.
void inline_call(Graph& graph, Node& call, size_t& nodes);

// The graph that the last function of this thread ran, after all passes; null: none has run, or its function is gone.
CRESSET_API std::shared_ptr<const Graph> last_executed_graph();
// Whether functions that this thread runs go through `optimize` before.
CRESSET_API bool& optimizes_execution();

// Whether this thread runs a forked call, whose errors another thread may get.
CRESSET_API bool runs_apart();

// Whether graphs of functions that are compiled from now on hold what they call, in place of the calls. Programs do in any case.
CRESSET_API bool& getInlineEverythingMode();

// Operators that a front end has and the dispatcher does not, by namespace and name; null: there is none, or no such front end.
CRESSET_API std::function<Function*(const std::string& ns, const std::string& name)>& foreign_operators();
// "ns::name" of a function that is such an operator; empty: it is none.
CRESSET_API std::string foreign_operator_name(const std::string& function);

// Of the whole process, by qualified name; null: there is none.
CRESSET_API ClassType* find_class(const std::string& name);
CRESSET_API Function* find_function(const std::string& name);
// The class of C++ of this name, "__torch__.torch.classes.my.Stack"; null: none is registered.
ClassType* custom_class(const std::string& name);
const dispatch::ClassInfo* custom_info_of(const Datum& value);
// By def_pickle. Errors: the class has none.
Datum custom_state(const Datum& value);
Datum custom_from_state(ClassType& cls, Datum state);
Type custom_state_type(const ClassType& cls);
inline ClassType* class_of(const Type& type) { return type.kind() == TypeKind::Class ? find_class(type.name()) : nullptr; }
CRESSET_API std::string unmangled(const std::string& qualified);

// Whether an object of the class has all methods of the interface; `why` says which it lacks.
CRESSET_API bool implements(ClassType& cls, ClassType& interface, std::string* why = nullptr);

// The value as one of `type`. Errors: TypeError text, with what was expected.
CRESSET_API bool value_fits(const Datum& value, const Type& type);

}  // namespace cresset::graph::script
