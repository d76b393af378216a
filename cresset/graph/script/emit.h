#pragma once
// From trees to graphs: one function at a time, with types.

#include <array>
#include <set>

#include "cresset/graph/script/sugar.h"

namespace cresset::graph::script {

// Whether statements left the block that they are in, by return, break, continue or an exception.
struct Flow {
  bool exits = false;                   // always
  Value* may = nullptr;                 // if this is true at run time
  std::map<std::string, Type> stays{};  // variables that have a narrower type where it has not left
};

// A condition: its value, or what it is known to be, and what it says about types of variables.
struct Condition {
  Value* value = nullptr;
  std::optional<bool> known;
  std::map<std::string, Type> yes, no;
};

// The names that a block assigns.
struct Frame {
  Frame* parent = nullptr;
  std::map<std::string, SugarPtr> names;
  std::set<std::string> assigned;
  std::set<std::string> narrowed;           // names that a condition has given a narrower type here
  std::map<std::string, std::string> gone;  // names that are defined on one way only, with what to tell
};

struct Arguments {
  std::vector<SugarPtr> positional;
  std::vector<std::pair<std::string, SugarPtr>> keywords;
  std::vector<Range> ranges;
  bool has(std::string_view keyword) const {
    for (const auto& [name, value] : keywords)
      if (name == keyword) return true;
    return false;
  }
};

class Emitter {
 public:
  Emitter(Function& function, const Ast& def, Resolver& resolver, bool infer_return);
  void run();

 private:
  using Body = std::function<Flow()>;

  // Counts statements and expressions, of which loops over tuples and modules make many. Errors: too many of them, or too deep within each other.
  void step(const Range& range);

  // emit.cpp: blocks, statements
  Flow statements(const Ast& block, size_t from, const Body& then);
  Flow statement(const Ast& a, const Body* rest, bool& used_rest);
  Flow branch(const Ast& a, const Body* rest, bool& used_rest);
  Flow branches(const Range& range, Value* condition, const std::map<std::string, Type>& yes, const std::map<std::string, Type>& no, const Body& then,
                const Body& otherwise);
  Flow merge(const Range& range, Node* n, Frame& yes, const Flow& a, Frame& no, const Flow& b);
  Flow loop(const Ast& a);
  Flow unrolled(const Ast& a, std::vector<SugarPtr> items, size_t at, const Body& then);
  // `target`: what each trip assigns before the body.
  Flow loop_node(const Range& range, const Ast& body, Value* trips, Value* start, const std::function<void(Value*)>& begin, const Ast* condition,
                 const std::map<std::string, Type>& refined, const Ast* target = nullptr);
  Flow with(const Ast& a, size_t at);
  void assign(const Ast& target, SugarPtr value, const Range& range);
  // The variable of a name around this block, whose type stays; conditions in between have not defined it. Null: there is none.
  SugarPtr outer_variable(const std::string& name) const;
  void assign_name(const std::string& name, SugarPtr value, const Range& range);
  void assign_attribute(const Ast& target, Value* value, const Range& range);
  void assign_item(const Ast& target, SugarPtr value);
  void augmented(const Ast& a);
  void raise_statement(const Ast& a);
  void raise(const Range& range, Value* message, const std::string& cls);
  void leave(const Range& range, SugarPtr value);
  void destructure(const Ast& target, SugarPtr value);
  void refine(const std::map<std::string, Type>& types);
  void remove(const Ast& target);

  // emit_expression.cpp
  SugarPtr expression(const Ast& a, const Type* hint = nullptr);
  Value* value(const Ast& a, const Type* hint = nullptr) { return as_value(expression(a, hint), a.range, hint); }
  SugarPtr name(const Ast& a);
  Value* as_value(const SugarPtr& s, const Range& range, const Type* hint = nullptr);
  Value* constant_value(const Datum& v, const Range& range, const Type* hint = nullptr);
  Condition condition(const Ast& a);
  Condition special_condition(const std::string& what, const Ast& a);
  // Of `hasattr` and of `getattr` with a default: whether an object or named tuple has the attribute.
  bool has_attribute(const std::string& what, const SugarPtr& object, const Range& range, const Ast& name);
  Condition join(const Ast& a, bool is_and);
  Condition identity(const Ast& a, bool is);
  Condition instance_of(const Ast& call, const Ast& object, const Ast& types);
  Value* to_bool(Value* v, const Range& range);
  SugarPtr choice(const Ast& a, const Type* hint);
  SugarPtr binary(const Ast& a, const Type* hint);
  // Of two values that are no objects, by the sign in the text and the operator for it.
  SugarPtr arithmetic(const std::string& sign, const char* op, Value* x, Value* y, const Range& range);
  SugarPtr list_literal(const Ast& a, const Type* hint);
  SugarPtr dict_literal(const Ast& a, const Type* hint);
  SugarPtr comprehension(const Ast& a, const Type* hint);
  SugarPtr subscript(const Ast& a, const Type* hint);
  // The bounds and the step of a slice, written out or a variable; null where they go without saying. None: the index is no slice.
  using SliceParts = std::array<SugarPtr, 3>;
  std::optional<SliceParts> slice_parts(const Ast& index);
  std::vector<Value*> slice_inputs(std::vector<Value*> inputs, const SliceParts& parts, const Range& range);
  SugarPtr slice_items(const std::vector<SugarPtr>& items, const SliceParts& parts, const Range& range);
  SugarPtr module_part(Value* v, ClassType& cls, const Ast& a, const Type* hint);
  Value* tensor_index(Value* v, const Ast& a, std::vector<Value*>* indices, bool& has_indices);
  SugarPtr tuple_items(const SugarPtr& s, const Range& range);  // as a Tuple sugar, or null
  std::optional<std::vector<SugarPtr>> items_of(const SugarPtr& s, const Range& range);
  // The things that a loop goes over: their length and how to get one, or all of them.
  struct Iterable {
    Value* length = nullptr;
    std::function<SugarPtr(Value*)> element;
    std::optional<std::vector<SugarPtr>> unrolled;
  };
  Iterable iterable(const SugarPtr& s, const Range& range);
  SugarPtr format(const Ast& a);
  bool is_none_literal(const Ast& a) const { return a.kind == AstKind::Literal && a.value.is_none(); }

  // emit_call.cpp
  SugarPtr attribute(const SugarPtr& object, const std::string& name, const Range& range);
  SugarPtr object_attribute(Value* object, const std::string& name, const Range& range);
  SugarPtr try_attribute(Value* object, ClassType& cls, const std::string& name, const Range& range);
  SugarPtr tensor_attribute(Value* t, const std::string& name, const Range& range);
  SugarPtr call(const Ast& a, const Type* hint);
  SugarPtr call(const SugarPtr& callee, Arguments arguments, const Range& range, const Type* hint);
  SugarPtr special(const std::string& what, const Ast& a, const Type* hint, const SugarPtr& callee);
  SugarPtr call_builtin(const std::string& name, Value* self, const Arguments& arguments, const Range& range, Function* other = nullptr);
  void define(Function& f, const Range& range) const;
  SugarPtr call_function(Function& f, Value* self, const Arguments& arguments, const Range& range);
  SugarPtr call_class(ClassType& cls, const Arguments& arguments, const Range& range);
  SugarPtr call_type(const Type& type, const Arguments& arguments, const Range& range);
  SugarPtr call_object(Value* object, const Arguments& arguments, const Range& range);
  SugarPtr call_module(Value* object, ClassType& cls, const Arguments& arguments, const Range& range);
  // Whether a call sets a flag that chooses between functions. Errors: it is not known while compiling.
  bool is_set(const std::string& flag, const Sugar& callee, const Arguments& arguments, const Range& range);
  SugarPtr call_overloads(const std::vector<Function*>& list, Value* self, const Arguments& arguments, const Range& range);
  SugarPtr cast(const std::string& type, const Arguments& arguments, const Range& range, const Type* hint);
  SugarPtr method(Value* object, const std::string& name, std::vector<Value*> arguments, const Range& range);
  Arguments arguments_of(const Ast& call, size_t from = 1);
  // The inputs of a call, in the order of the schema; false with the reason where they do not fit.
  bool match(const Schema& schema, Value* self, const Arguments& arguments, const Range& range, bool convert, std::vector<Value*>& inputs,
             std::map<std::string, Type>& bound, std::string& why);
  Value* convert(Value* v, const Type& to, const Range& range, bool implicit, int broadcast = 0);
  // A list for a list of a wider type, whose elements are only read; null: it is none.
  Value* as_elements(Value* v, const Type& to, const Range& range);
  SugarPtr fork(const Arguments& arguments, const Range& range, const char* op);
  SugarPtr old_tensor(ScalarType dtype, Arguments arguments, const Range& range);
  SugarPtr print_call(const Arguments& arguments, const Range& range);
  Type annotation(const Ast& a) { return type_of_annotation(a, &resolver_); }

  // Nodes
  Node* add(const char* builtin, std::vector<Value*> inputs, const Range& range, Type result = {});
  Value* make(const char* builtin, std::vector<Value*> inputs, const Range& range, Type result) {
    return add(builtin, std::move(inputs), range, std::move(result))->output();
  }
  Node* create(NodeKind kind, std::vector<Value*> inputs, const Range& range);
  void place(Node* n, const Range& range);
  Value* list_of_values(const std::vector<Value*>& elements, const Type& element, const Range& range);
  Value* tuple_of_values(const std::vector<Value*>& elements, const Range& range);
  Value* constant(Datum v);
  Value* uninitialized(const Type& type, const Range& range);
  bool is_uninitialized(const Value* v) const { return uninitialized_.count(v) != 0; }
  SugarPtr call_op(const std::string& name, std::vector<Value*> positional, const Range& range);

  SugarPtr find(const std::string& name) const;
  const std::string* why_gone(const std::string& name) const;
  void set(const std::string& name, SugarPtr value) {
    frame_->names[name] = std::move(value);
    frame_->assigned.insert(name);
    frame_->gone.erase(name);
  }
  [[noreturn]] void fail(const std::string& message, const Range& range) const { throw CompileError(message, range); }

  Function& function_;
  const Ast& def_;
  Resolver& resolver_;
  Graph& graph_;
  Block* block_;
  Frame* frame_ = nullptr;
  std::optional<Type> returns_;
  bool infer_return_;
  int loops_ = 0, unrolled_ = 0, branches_ = 0;
  size_t steps_ = 0;
  std::set<const Value*> uninitialized_;
  std::set<const Value*> named_;         // lists and dicts that a name keeps: their type stays
  std::vector<Value*> untyped_returns_;  // values of $value made before the type was known
  std::map<std::pair<size_t, size_t>, std::shared_ptr<const Location>> locations_;
  std::map<std::string, Value*> constants_;
};

// "self.x" of an attribute of a variable, by which conditions narrow its type; empty for other expressions.
inline std::string attribute_path(const Ast& a) { return a.kind == AstKind::Attribute && a[0].kind == AstKind::Name ? a[0].text + "." + a.text : ""; }

// The name of the operator of two values that the symbol of the name stands for.
const char* operator_on(const char* name, const Value& x, const Value& y);

}  // namespace cresset::graph::script
