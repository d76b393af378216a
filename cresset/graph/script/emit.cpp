// Blocks and statements. Variables are values: branches and loops give out those that they assign. A `return` is an assignment, after which
// the rest of the block stands in the other branch.

#include "cresset/graph/script/emit.h"

#include "cresset/graph/passes/passes.h"

#include <algorithm>

#if defined(__linux__)
#include <pthread.h>
#endif

namespace cresset::graph::script {

namespace {

// Of one function, loops over tuples and modules unrolled.
constexpr size_t kMaxSteps = size_t{1} << 22;

// Whether half of this thread's stack is in use: what walks the graph later needs some, too.
bool stack_is_low() {
#if defined(__linux__)
  thread_local const uintptr_t limit = [] {
    pthread_attr_t attributes;
    void* lowest = nullptr;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return uintptr_t{0};
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    return reinterpret_cast<uintptr_t>(lowest) + size / 2;
  }();
  const char here = 0;
  return reinterpret_cast<uintptr_t>(&here) < limit;
#else
  return false;
#endif
}

constexpr const char* kReturned = "$returned";
constexpr const char* kValue = "$value";
constexpr const char* kBroke = "$broke";

void assigned_by(const Ast& a, std::set<std::string>& names);
void assigned_to(const Ast& target, std::set<std::string>& names) {
  if (target.kind == AstKind::Name) names.insert(target.text);
  if (const std::string path = attribute_path(target); !path.empty()) names.insert(path);
  if (target.kind == AstKind::Tuple || target.kind == AstKind::List || target.kind == AstKind::Starred)
    for (const AstPtr& k : target.kids) assigned_to(*k, names);
}
void assigned_by(const Ast& a, std::set<std::string>& names) {
  switch (a.kind) {
    case AstKind::Assign:
      for (size_t i = 1; i < a.kids.size(); i++) assigned_to(a[i], names);
      break;
    case AstKind::Annotated:
    case AstKind::Augmented: assigned_to(a[0], names); break;
    case AstKind::For:
      assigned_to(a[0], names);
      assigned_by(a[2], names);
      break;
    case AstKind::While: assigned_by(a[1], names); break;
    case AstKind::If:
      assigned_by(a[1], names);
      assigned_by(a[2], names);
      break;
    case AstKind::With:
      assigned_by(a[0], names);
      for (size_t i = 2; i < a.kids.size(); i += 2)
        if (a.kids[i]) assigned_to(a[i], names);
      break;
    case AstKind::Block:
      for (const AstPtr& k : a.kids) assigned_by(*k, names);
      break;
    default: break;
  }
}
bool holds(const Type& type, const ClassType& cls) {
  return class_of(type) == &cls || std::any_of(type.elements().begin(), type.elements().end(), [&](const Type& t) { return holds(t, cls); });
}
bool is_module(const Type& type) {
  const ClassType* const cls = class_of(type);
  return cls && cls->kind == ClassKind::Module;
}
bool contains(const Ast& a, AstKind kind) {
  if (a.kind == kind) return true;
  if (a.kind != AstKind::Block && a.kind != AstKind::If && a.kind != AstKind::For && a.kind != AstKind::While && a.kind != AstKind::With) return false;
  return std::any_of(a.kids.begin(), a.kids.end(), [&](const AstPtr& k) { return k && contains(*k, kind); });
}
// Whether the last statement that runs leaves the block.
bool always_exits(const Ast& a) {
  switch (a.kind) {
    case AstKind::Return:
    case AstKind::Break:
    case AstKind::Continue:
    case AstKind::Raise: return true;
    case AstKind::If: return always_exits(a[1]) && always_exits(a[2]);
    case AstKind::With: return always_exits(a[0]);
    case AstKind::Block: return std::any_of(a.kids.begin(), a.kids.end(), [](const AstPtr& k) { return always_exits(*k); });
    default: return false;
  }
}

}  // namespace

Emitter::Emitter(Function& function, const Ast& def, Resolver& resolver, bool infer_return)
    : function_(function), def_(def), resolver_(resolver), graph_(*function.graph), block_(&graph_.block()), infer_return_(infer_return) {
  if (!function.schema.returns.empty()) returns_ = function.schema.returns[0];
}

void Emitter::run() {
  Frame frame;
  frame_ = &frame;
  for (const SchemaArgument& a : function_.schema.arguments) set(a.name, sugar(graph_.add_parameter(a.type, a.name)));
  set(kReturned, sugar(constant(Datum(false))));
  const Ast& body = *def_.kids.back();
  statements(body, 0, [&] {
    if (function_.cls && short_name(function_.name) == "__init__" && function_.cls->kind == ClassKind::Class) {
      returns_ = TypeKind::None;
    } else if (returns_ && !infer_return_ && returns_->kind() != TypeKind::None) {
      fail("Function was declared to return " + annotation_text(*returns_) + ", but does not return along all paths", def_.range);
    }
    leave(def_.range, sugar(constant(Datum())));
    return Flow{true, nullptr, {}};
  });
  SugarPtr result = find(kValue);
  if (!result) result = sugar(returns_ && returns_->kind() != TypeKind::None ? uninitialized(*returns_, def_.range) : constant(Datum()));
  if (!returns_) returns_ = TypeKind::None;
  for (Value* v : untyped_returns_) v->set_type(*returns_);
  block_ = &graph_.block();
  graph_.block().add_result(result->value);
  function_.schema.returns = {*returns_};
  frame_ = nullptr;
}

void emit_function(Function& function, const Ast& def, Resolver& resolver, bool infer_return) {
  function.graph = std::make_unique<Graph>(function.name);
  Emitter(function, def, resolver, infer_return).run();
  remove_dead_code(*function.graph);
}

// ---- nodes

void Emitter::place(Node* n, const Range& range) {
  if (!range.source) return;
  auto& location = locations_[{range.start, range.end}];
  if (!location || location->detail.get() == nullptr) {
    auto l = std::make_shared<Location>();
    l->file = range.source->file;
    l->function = short_name(function_.name);
    l->line = range.source->line_of(range.start);
    const size_t line_start = range.start ? range.source->text.rfind('\n', range.start - 1) : std::string::npos;
    l->column = static_cast<int>(range.start - (line_start == std::string::npos ? 0 : line_start + 1)) + 1;
    l->detail = std::make_shared<Range>(range);
    location = std::move(l);
  }
  n->set_location(location);
}
Node* Emitter::add(const char* name, std::vector<Value*> inputs, const Range& range, Type result) {
  const Builtin* b = find_builtin(name);
  CRESSET_INTERNAL_ASSERT(b);
  Node* n = graph_.create(*b, std::move(inputs), block_->return_node());
  if (result.kind() != TypeKind::Any) n->output()->set_type(std::move(result));
  place(n, range);
  return n;
}
Node* Emitter::create(NodeKind kind, std::vector<Value*> inputs, const Range& range) {
  Node* n = graph_.create(kind, std::move(inputs), block_->return_node());
  place(n, range);
  return n;
}
Value* Emitter::constant(Datum v) {
  const bool plain = v.is_none() || v.isBool() || v.isInt() || v.isDouble() || v.isString() || v.is<ScalarType>();
  std::string key;
  if (plain) {
    key = std::string(v.kind()) + literal_text(v);
    if (const auto found = constants_.find(key); found != constants_.end()) return found->second;
  }
  Value* c = graph_.constant(std::move(v));
  if (plain) constants_[key] = c;
  return c;
}
Value* Emitter::uninitialized(const Type& type, const Range& range) {
  Value* v = make("prim::Uninitialized", {}, range, type);
  uninitialized_.insert(v);
  return v;
}
Value* Emitter::list_of_values(const std::vector<Value*>& elements, const Type& element, const Range& range) {
  Node* n = create(NodeKind::List, elements, range);
  n->output()->set_type(Type::list(element));
  return n->output();
}
Value* Emitter::tuple_of_values(const std::vector<Value*>& elements, const Range& range) { return create(NodeKind::Tuple, elements, range)->output(); }

// ---- names

SugarPtr Emitter::find(const std::string& name) const {
  for (const Frame* f = frame_; f; f = f->parent) {
    if (f->gone.count(name)) return nullptr;
    const auto found = f->names.find(name);
    if (found != f->names.end()) return found->second;
  }
  return nullptr;
}
const std::string* Emitter::why_gone(const std::string& name) const {
  for (const Frame* f = frame_; f; f = f->parent) {
    const auto found = f->gone.find(name);
    if (found != f->gone.end()) return &found->second;
    if (f->names.count(name)) return nullptr;
  }
  return nullptr;
}
void Emitter::refine(const std::map<std::string, Type>& types) {
  for (const auto& [name, type] : types) {
    if (name.find('.') != std::string::npos) {
      frame_->names[name] = sugar_type(type);
      continue;
    }
    const SugarPtr s = find(name);
    if (!s || s->kind != SugarKind::Value || s->value->type() == type || type.kind() == TypeKind::Any) continue;
    Value* v = make("prim::unchecked_cast", {s->value}, Range(), type);
    frame_->names[name] = sugar(v);
    frame_->narrowed.insert(name);
  }
}

SugarPtr Emitter::outer_variable(const std::string& name) const {
  for (const Frame* f = frame_->parent; f && !f->gone.count(name); f = f->parent) {
    const auto found = f->names.find(name);
    if (found != f->names.end() && !(f->narrowed.count(name) && !f->assigned.count(name))) return found->second;
  }
  return nullptr;
}

void Emitter::assign_name(const std::string& name, SugarPtr value, const Range& range) {
  if (value->kind == SugarKind::Constant) value = sugar(as_value(value, range));
  if (value->kind == SugarKind::Value && (value->value->type().kind() == TypeKind::List || value->value->type().kind() == TypeKind::Dict))
    named_.insert(value->value);
  if (frame_->parent && value->kind == SugarKind::Value) {
    const SugarPtr outer = outer_variable(name);
    // Loops over modules are written out: their variable is another module in each trip.
    const bool are_modules = unrolled_ && outer && outer->kind == SugarKind::Value && is_module(value->value->type()) && is_module(outer->value->type());
    if (outer && outer->kind == SugarKind::Value && !are_modules && !is_subtype(value->value->type(), outer->value->type()))
      fail("Variable '" + name + "' had type " + annotation_text(outer->value->type()) + " and gets a value of type " + annotation_text(value->value->type()) +
               "; annotate its first assignment with a type that holds both, such as Optional or Union",
           range);
  }
  set(name, std::move(value));
}

// ---- blocks

Flow Emitter::statements(const Ast& block, size_t from, const Body& then) {
  for (size_t i = from; i < block.kids.size(); i++) {
    const bool is_last = i + 1 == block.kids.size() && !then;
    const Body rest = [this, &block, i, &then] { return statements(block, i + 1, then); };
    bool used_rest = false;
    const Flow f = statement(block[i], is_last ? nullptr : &rest, used_rest);
    if (f.exits || used_rest) return f;
    if (!f.may) continue;
    if (is_last) return f;
    return branches(
        block[i].range, f.may, {}, f.stays,
        [] {
          return Flow{true, nullptr, {}};
        },
        rest);
  }
  return then ? then() : Flow();
}

Flow Emitter::branches(const Range& range, Value* condition, const std::map<std::string, Type>& yes, const std::map<std::string, Type>& no, const Body& then,
                       const Body& otherwise) {
  Node* n = create(NodeKind::If, {condition}, range);
  Block* const outer = block_;
  Frame* const around = frame_;
  Frame first, second;
  first.parent = second.parent = around;
  block_ = n->add_block();
  frame_ = &first;
  refine(yes);
  const Flow a = then();
  block_ = n->add_block();
  frame_ = &second;
  refine(no);
  const Flow b = otherwise();
  frame_ = around;
  block_ = outer;
  return merge(range, n, first, a, second, b);
}

namespace {

// The type of a variable behind two branches, of which at least one has not left.
std::optional<Type> type_of_staying(const std::string& name, const Flow& a, const Value* x, const Flow& b, const Value* y) {
  const auto of = [&](const Flow& f, const Value* v) -> std::optional<Type> {
    if (f.exits || !v) return std::nullopt;
    const auto found = f.stays.find(name);
    return found == f.stays.end() ? v->type() : found->second;
  };
  const auto one = of(a, x), other = of(b, y);
  return one && other ? unify(*one, *other) : one ? one : other;
}

}  // namespace

Flow Emitter::merge(const Range& range, Node* n, Frame& yes, const Flow& a, Frame& no, const Flow& b) {
  Block *true_block = n->blocks()[0].get(), *false_block = n->blocks()[1].get();
  const auto in = [&](Block* block, const auto& body) {
    Block* const outer = std::exchange(block_, block);
    auto result = body();
    block_ = outer;
    return result;
  };
  std::map<std::string, Type> stays;
  std::set<std::string> names = yes.assigned;
  names.insert(no.assigned.begin(), no.assigned.end());
  for (const auto& [name, why] : yes.gone) names.insert(name);
  for (const auto& [name, why] : no.gone) names.insert(name);
  for (const std::string& name : names) {
    const auto look = [&](Frame& f) -> SugarPtr {
      if (f.gone.count(name)) return nullptr;
      const auto found = f.names.find(name);
      return found != f.names.end() ? found->second : find(name);
    };
    SugarPtr t = look(yes), f = look(no);
    if (!t && !f) {
      frame_->gone[name] = yes.gone.count(name) ? yes.gone[name] : no.gone[name];
      continue;
    }
    // The value to return is there whenever the function has returned.
    if (name != kValue && ((!t && !a.exits) || (!f && !b.exits))) {
      frame_->gone[name] = std::string(t ? "false" : "true") + " branch";
      frame_->names.erase(name);
      continue;
    }
    if (t == f) {
      set(name, t);
      continue;
    }
    if ((t && t->kind != SugarKind::Value && t->kind != SugarKind::Tuple && t->kind != SugarKind::Constant) ||
        (f && f->kind != SugarKind::Value && f->kind != SugarKind::Tuple && f->kind != SugarKind::Constant)) {
      if (!t || !f) set(name, t ? t : f);
      else frame_->gone[name] = "one branch with the same meaning";
      continue;
    }
    Value* x = t ? in(true_block, [&] { return as_value(t, range); }) : nullptr;
    Value* y = f ? in(false_block, [&] { return as_value(f, range); }) : nullptr;
    if (x == y) {
      set(name, sugar(x));
      continue;
    }
    const std::optional<Type> staying = name[0] == '$' ? std::nullopt : type_of_staying(name, a, x, b, y);
    const bool untyped = name == kValue && !returns_;
    // Outside of loops nothing reads a variable of a branch that left.
    const bool only_one_stays = name[0] != '$' && !loops_ && a.exits != b.exits;
    Type type;
    if (!x || is_uninitialized(x)) type = y->type();
    else if (!y || is_uninitialized(y)) type = x->type();
    else if (name == kValue && returns_) type = *returns_;
    else if (only_one_stays && a.exits && !is_subtype(x->type(), y->type())) x = nullptr, type = y->type();
    else if (only_one_stays && b.exits && !is_subtype(y->type(), x->type())) y = nullptr, type = x->type();
    else if (const auto u = unify(x->type(), y->type())) type = *u;
    else if (a.exits) x = nullptr, type = y->type();
    else if (b.exits) y = nullptr, type = x->type();
    else if (is_module(x->type()) && is_module(y->type())) {
      frame_->gone[name] = "one branch with the same module";
      continue;
    } else {
      const std::string why = "Type mismatch: " + name + " is set to type " + annotation_text(x->type()) + " in the true branch and type " +
                              annotation_text(y->type()) + " in the false branch";
      if (name[0] == '$') fail(why, range);
      frame_->gone[name] = why;  // an error where something reads it
      continue;
    }
    if (name == kValue && returns_) type = *returns_;
    if (!x) x = in(true_block, [&] { return uninitialized(type, range); });
    if (!y) y = in(false_block, [&] { return uninitialized(type, range); });
    if (is_uninitialized(x)) x->set_type(type);
    if (is_uninitialized(y)) y->set_type(type);
    Value* out = n->add_output(type, name[0] == '$' ? "" : name);
    if (untyped)
      untyped_returns_.push_back(out), untyped_returns_.push_back(is_uninitialized(x) ? x : out), untyped_returns_.push_back(is_uninitialized(y) ? y : out);
    if (is_uninitialized(x) && is_uninitialized(y)) uninitialized_.insert(out);
    true_block->add_result(x);
    false_block->add_result(y);
    set(name, sugar(out));
    if (staying && *staying != type && is_subtype(*staying, type)) stays[name] = *staying;
  }
  if (a.exits && b.exits) return {true, nullptr, {}};
  if (!a.exits && !a.may && !b.exits && !b.may) return {};
  if (a.exits && !b.may) return {false, n->input(0), std::move(stays)};
  if (b.exits && !a.may) return {false, make("aten::__not__", {n->input(0)}, range, TypeKind::Bool), std::move(stays)};
  const auto left = [&](const Flow& f) { return f.exits ? constant(Datum(true)) : f.may ? f.may : constant(Datum(false)); };
  Value* out = n->add_output(TypeKind::Bool);
  true_block->add_result(left(a));
  false_block->add_result(left(b));
  return {false, out, std::move(stays)};
}

// ---- statements

void Emitter::step(const Range& range) {
  if (++steps_ > kMaxSteps) fail(str("expected at most ", kMaxSteps, " statements and expressions once loops over tuples and modules are unrolled"), range);
  if (stack_is_low()) fail("statements, unrolled loops and functions are nested deeper than the stack of this thread allows", range);
}

Flow Emitter::statement(const Ast& a, const Body* rest, bool& used_rest) {
  step(a.range);
  switch (a.kind) {
    case AstKind::Block: return statements(a, 0, nullptr);
    case AstKind::Pass: return {};
    case AstKind::Expression: {
      if (a[0].kind == AstKind::Literal) return {};  // a docstring
      expression(a[0]);
      return {};
    }
    case AstKind::Return: {
      const Type* hint = returns_ && !infer_return_ ? &*returns_ : nullptr;
      leave(a.range, a.kid(0) ? expression(a[0], hint) : sugar(constant(Datum())));
      return {true, nullptr, {}};
    }
    case AstKind::Break:
    case AstKind::Continue:
      if (unrolled_) fail("Because loops over containers of modules and tuples are unrolled, they cannot have break or continue within", a.range);
      if (!loops_) fail(str(a.kind == AstKind::Break ? "break" : "continue", " stands outside of a loop"), a.range);
      if (a.kind == AstKind::Break) set(kBroke, sugar(constant(Datum(true))));
      return {true, nullptr, {}};
    case AstKind::Assign: {
      std::optional<Type> type;
      if (!a.type_comment.empty()) type = script::type_of_text(a.type_comment, &resolver_, a.range);
      // A literal is of the type that its variable keeps.
      std::optional<Type> kept;
      if (!type && a.kids.size() == 2 && a[1].kind == AstKind::Name && (a[0].kind == AstKind::List || a[0].kind == AstKind::Dict))
        if (const SugarPtr outer = outer_variable(a[1].text); outer && outer->kind == SugarKind::Value) kept = outer->value->type();
      if (kept && kept->kind() == TypeKind::Optional) kept = kept->elements()[0];
      SugarPtr v = expression(a[0], type ? &*type : kept ? &*kept : nullptr);
      if (type) {
        Value* converted = convert(as_value(v, a[0].range, &*type), *type, a[0].range, false);
        if (!converted)
          fail("expected a value of type " + annotation_text(*type) + ", as annotated, got " + annotation_text(as_value(v, a[0].range)->type()), a[0].range);
        if (converted->type() != *type) converted = make("prim::unchecked_cast", {converted}, a.range, *type);
        v = sugar(converted);
      }
      for (size_t i = 1; i < a.kids.size(); i++) assign(a[i], v, a[0].range);
      return {};
    }
    case AstKind::Annotated: {
      const Type type = annotation(a[1]);
      if (a[0].kind == AstKind::Attribute && !(function_.cls && short_name(function_.name) == "__init__"))
        throw ValueError("attributes of objects are annotated where they are made, in __init__:\n" + a.range.show());
      if (!a.kid(2)) throw NotSupportedError("annotated assignments without assigned value are not part of TorchScript", a.range);
      Value* v = value(a[2], &type);
      Value* converted = convert(v, type, a[2].range, false);
      if (!converted)
        fail("Variable '" + a[0].text + "' is annotated with type " + annotation_text(type) + " and gets a value of type " + annotation_text(v->type()),
             a[2].range);
      // The annotation is the type, also where the value is of a narrower one.
      if (converted->type() != type) converted = make("prim::unchecked_cast", {converted}, a.range, type);
      assign(a[0], sugar(converted), a[2].range);
      return {};
    }
    case AstKind::Augmented: augmented(a); return {};
    case AstKind::If: return branch(a, rest, used_rest);
    case AstKind::For:
    case AstKind::While: {
      if (a.kind == AstKind::For) {
        const SugarPtr over = expression(a[1]);
        const Iterable it = iterable(over, a[1].range);
        if (it.unrolled) {
          used_rest = rest != nullptr;
          if (contains(a[2], AstKind::Break) || contains(a[2], AstKind::Continue))
            fail("Because loops over containers of modules and tuples are unrolled, they cannot have break or continue within", a.range);
          return unrolled(a, *it.unrolled, 0, rest ? *rest : Body());
        }
        return loop_node(
            a.range, a[2], it.length, constant(Datum(true)), [&](Value* i) { assign(a[0], it.element(i), a[0].range); }, nullptr, {}, &a[0]);
      }
      return loop(a);
    }
    case AstKind::Assert: {
      const Condition c = condition(a[0]);
      const auto fails = [&] {
        Value* message = a.kid(1) ? as_value(expression(a[1]), a[1].range) : constant(Datum(""));
        if (message->type().kind() != TypeKind::String) message = as_value(call_op("aten::str", {message}, a.range), a.range);
        const std::string prefix = "AssertionError: ";
        if (message->is_constant()) message = constant(Datum(prefix + message->constant()->to_string()));
        else message = as_value(call_op("aten::add", {constant(Datum(prefix)), message}, a.range), a.range);
        raise(a.range, message, "");
        return Flow{true, nullptr, {}};
      };
      if (c.known) {
        if (*c.known) return {};
        return fails();
      }
      branches(
          a.range, c.value, {}, {}, [] { return Flow(); }, fails);
      refine(c.yes);
      return {};
    }
    case AstKind::Raise: raise_statement(a); return {true, nullptr, {}};
    case AstKind::With: return with(a, 1);
    case AstKind::Delete:
      for (const AstPtr& t : a.kids) remove(*t);
      return {};
    case AstKind::Def:
      if (a.range.source->archive && a.kids.size() == 2) {
        const SugarPtr s = sugar_text(SugarKind::Special, "closure");
        s->ast = &a;
        set(a.text, s);
        return {};
      }
      throw NotSupportedError("functions within functions are not part of TorchScript", a.range);
    case AstKind::Class: throw NotSupportedError("classes within functions are not part of TorchScript", a.range);
    default: break;
  }
  fail("expected a statement", a.range);
}

Flow Emitter::branch(const Ast& a, const Body* rest, bool& used_rest) {
  const Condition c = condition(a[0]);
  if (c.known) {
    Frame* const f = frame_;
    refine(*c.known ? c.yes : c.no);
    frame_ = f;
    return statements(*c.known ? a[1] : a[2], 0, nullptr);
  }
  const bool first = always_exits(a[1]), second = always_exits(a[2]);
  used_rest = rest && first != second;
  const int around = branches_;
  const auto at_depth = [this](int depth, const auto& body) {
    const int before = std::exchange(branches_, depth);
    Flow f = body();
    branches_ = before;
    return f;
  };
  const Body next = [&] { return at_depth(around, *rest); };  // what follows is in the branch of the graph alone
  const auto side = [&](const Ast& block, bool exits) {
    return at_depth(around + 1, [&] { return statements(block, 0, used_rest && !exits ? next : Body()); });
  };
  return branches(
      a.range, c.value, c.yes, c.no, [&] { return side(a[1], first); }, [&] { return side(a[2], second); });
}

Flow Emitter::unrolled(const Ast& a, std::vector<SugarPtr> items, size_t at, const Body& then) {
  if (at == items.size()) return then ? then() : Flow();
  unrolled_++;
  assign(a[0], items[at], a[0].range);
  const Body next = [&, at] {
    unrolled_--;
    const Flow f = unrolled(a, items, at + 1, then);
    unrolled_++;
    return f;
  };
  const Flow f = statements(a[2], 0, next);
  unrolled_--;
  return f;
}

Flow Emitter::loop(const Ast& a) {
  const Condition start = condition(a[0]);
  if (start.known && !*start.known) return {};
  Value* go = start.known ? constant(Datum(true)) : start.value;
  return loop_node(
      a.range, a[1], constant(Datum(int64_t{INT64_MAX})), go, [](Value*) {}, &a[0], start.yes);
}

Flow Emitter::loop_node(const Range& range, const Ast& body, Value* trips, Value* start, const std::function<void(Value*)>& begin, const Ast* go_on,
                        const std::map<std::string, Type>& refined, const Ast* target) {
  std::set<std::string> assigned;
  assigned_by(body, assigned);
  if (target) assigned_to(*target, assigned);
  const bool returns = contains(body, AstKind::Return);
  std::vector<std::string> carried;
  std::vector<Value*> inputs{trips, start};
  for (const std::string& n : assigned) {
    const SugarPtr s = find(n);
    if (!s || (s->kind != SugarKind::Value && s->kind != SugarKind::Tuple && s->kind != SugarKind::Constant)) continue;
    carried.push_back(n);
    inputs.push_back(as_value(s, range));
  }
  if (returns) {
    carried.push_back(kReturned);
    inputs.push_back(as_value(find(kReturned), range));
    carried.push_back(kValue);
    const SugarPtr v = find(kValue);
    Value* first = v ? v->value : uninitialized(returns_ ? *returns_ : Type(), range);
    if (!returns_) untyped_returns_.push_back(first);
    inputs.push_back(first);
  }
  Node* n = create(NodeKind::Loop, inputs, range);
  Block* inside = n->add_block();
  Value* i = inside->add_parameter(TypeKind::Int, "i");
  Block* const outer = block_;
  Frame* const around = frame_;
  Frame frame;
  frame.parent = around;
  frame_ = &frame;
  block_ = inside;
  const int outer_unrolled = std::exchange(unrolled_, 0);
  loops_++;
  for (size_t k = 0; k < carried.size(); k++) {
    Value* p = inside->add_parameter(inputs[k + 2]->type(), carried[k][0] == '$' ? "" : carried[k]);
    if (is_uninitialized(inputs[k + 2])) uninitialized_.insert(p);
    if (carried[k] == kValue && !returns_) untyped_returns_.push_back(p);
    frame.names[carried[k]] = sugar(p);
  }
  frame.names[kBroke] = sugar(constant(Datum(false)));
  for (const std::string& n : assigned)
    if (n.find('.') != std::string::npos) frame.gone[n] = "loop that assigns it";
  refine(refined);
  begin(i);
  statements(body, 0, nullptr);
  // Whether to stop: by break or return.
  Value* broke = find(kBroke)->value;
  Value* returned = returns ? find(kReturned)->value : constant(Datum(false));
  const auto is_false = [&](Value* v) { return v->is_constant() && v->constant()->isBool() && !v->constant()->toBool(); };
  const auto next = [&]() -> Value* {
    if (!go_on) return constant(Datum(true));
    const Condition c = condition(*go_on);
    return c.known ? constant(Datum(*c.known)) : c.value;
  };
  Value* go = nullptr;
  if (is_false(broke) && is_false(returned)) {
    go = next();
  } else {
    Value* stop = is_false(broke) ? returned : is_false(returned) ? broke : make("aten::__or__.bool", {broke, returned}, range, TypeKind::Bool);
    if (go_on) {
      Node* test = create(NodeKind::If, {stop}, range);
      Block* const at = block_;
      test->add_block()->add_result(constant(Datum(false)));
      block_ = test->add_block();
      Value* again = next();
      test->blocks()[1]->add_result(again);
      block_ = at;
      go = test->add_output(TypeKind::Bool);
    } else {
      go = make("aten::__not__", {stop}, range, TypeKind::Bool);
    }
  }
  inside->add_result(go);
  std::vector<Value*> last;
  for (size_t k = 0; k < carried.size(); k++) {
    const SugarPtr s = find(carried[k]);
    if (!s) fail(carried[k] + " is not defined at the end of each trip of the loop", range);
    Value* v = as_value(s, range);
    Value* p = inside->parameter(k + 1);
    if (is_uninitialized(p) && !is_uninitialized(v)) {
      if (v->type().kind() != TypeKind::Any) p->set_type(v->type());
    } else if (!is_uninitialized(v) && !is_subtype(v->type(), p->type())) {
      fail("Variable '" + carried[k] + "' had type " + annotation_text(p->type()) + " and gets a value of type " + annotation_text(v->type()) + " in the loop",
           range);
    }
    inside->add_result(v);
    last.push_back(v);
  }
  loops_--;
  unrolled_ = outer_unrolled;
  block_ = outer;
  frame_ = around;
  for (size_t k = 0; k < carried.size(); k++) {
    Value* out = n->add_output(inside->parameter(k + 1)->type(), carried[k][0] == '$' ? "" : carried[k]);
    if (carried[k] == kValue) untyped_returns_.push_back(out);
    set(carried[k], sugar(out));
  }
  // Names that only the loop assigns are not there after it.
  for (const std::string& name : frame.assigned)
    if (!find(name) && name[0] != '$') frame_->gone[name] = "loop that may not run";
  if (!returns) return {};
  return {false, find(kReturned)->value};
}

void Emitter::leave(const Range& range, SugarPtr s) {
  const Type* hint = returns_ ? &*returns_ : nullptr;
  Value* v = as_value(s, range, hint);
  if (!returns_) {
    returns_ = v->type();
  } else if (Value* c = convert(v, *returns_, range, !infer_return_)) {
    v = c;
  } else if (infer_return_) {
    const auto u = unify(v->type(), *returns_);
    if (!u)
      fail("An earlier return gives a value of type " + annotation_text(*returns_) + " and this one a value of type " + annotation_text(v->type()), range);
    returns_ = *u;
  } else {
    fail("The annotation of the result is " + annotation_text(*returns_) + " and the value returned has type " + annotation_text(v->type()), range);
  }
  set(kReturned, sugar(constant(Datum(true))));
  set(kValue, sugar(v));
}

void Emitter::raise(const Range& range, Value* message, const std::string& cls) {
  add("prim::RaiseException", {message, cls.empty() ? constant(Datum()) : constant(Datum(cls))}, range);
}
void Emitter::raise_statement(const Ast& a) {
  if (!a.kid(0)) fail("expected an exception after raise", a.range);
  const Ast& what = a[0];
  const Ast& cls = what.kind == AstKind::Call ? what[0] : what;
  const SugarPtr s = expression(cls);
  if (s->kind == SugarKind::Value || s->kind == SugarKind::Constant) fail("raise: expected an exception, got a value", a.range);
  std::string name = s->kind == SugarKind::Exception ? s->text : std::string(cls.range.text());
  if (name.find('.') == std::string::npos) name = "builtins." + name;
  std::vector<Value*> parts;
  if (what.kind == AstKind::Call)
    for (size_t i = 1; i < what.kids.size(); i++) parts.push_back(value(what[i].kind == AstKind::Keyword ? what[i][0] : what[i]));
  Value* message = nullptr;
  if (parts.empty()) message = constant(Datum(""));
  else if (parts.size() == 1) message = parts[0];
  else message = tuple_of_values(parts, a.range);
  if (message->type().kind() != TypeKind::String) message = as_value(call_op("aten::str", {message}, a.range), a.range);
  raise(a.range, message, name);
}

Flow Emitter::with(const Ast& a, size_t at) {
  if (at >= a.kids.size()) return statements(a[0], 0, nullptr);
  const SugarPtr context = expression(a[at]);
  const Ast* target = a.kids[at + 1].get();
  if (context->kind == SugarKind::Special && (context->text == "no_grad" || context->text == "enable_grad")) {
    Value* before = as_value(call_op("aten::is_grad_enabled", {}, a[at].range), a[at].range);
    call_op("aten::set_grad_enabled", {constant(Datum(context->text == "enable_grad"))}, a[at].range);
    const Flow f = with(a, at + 2);
    call_op("aten::set_grad_enabled", {before}, a[at].range);
    return f;
  }
  if (context->kind == SugarKind::Special && context->text == "record_function") {
    if (a[at].kind != AstKind::Call) fail("record_function: expected a name for the part, as in record_function(\"part\")", a[at].range);
    const Arguments given = arguments_of(a[at]);
    std::vector<Value*> parts;
    for (const SugarPtr& v : given.positional) parts.push_back(as_value(v, a[at].range));
    for (const char* word : {"name", "args"}) {
      const auto named = std::find_if(given.keywords.begin(), given.keywords.end(), [&](const auto& k) { return k.first == word; });
      if (named != given.keywords.end()) parts.push_back(as_value(named->second, a[at].range));
    }
    Value* const scope = as_value(call_op("profiler::_record_function_enter_new", std::move(parts), a[at].range), a[at].range);
    const Flow f = with(a, at + 2);
    call_op("profiler::_record_function_exit", {scope}, a[at].range);
    return f;
  }
  Value* object = as_value(context, a[at].range);
  ClassType* cls = class_of(object->type());
  if (!cls || !cls->method("__enter__") || !cls->method("__exit__"))
    fail("with: expected an object with __enter__ and __exit__, got " + annotation_text(object->type()), a[at].range);
  const SugarPtr entered = method(object, "__enter__", {}, a[at].range);
  make("prim::Enter", {object}, a[at].range, TypeKind::None);
  if (target) assign(*target, entered, a[at].range);
  const Flow f = with(a, at + 2);
  make("prim::Exit", {object}, a[at].range, TypeKind::None);
  Value* none = constant(Datum());
  method(object, "__exit__", {none, none, none}, a[at].range);
  return f;
}

// ---- assignment

namespace {

// From the target of an assignment to the end of its value, where that follows in the text.
Range whole_statement(const Range& target, const Range& value) {
  Range whole = target;
  if (value.source == target.source && value.end > target.end) whole.end = value.end;
  return whole;
}

}  // namespace

void Emitter::assign(const Ast& target, SugarPtr v, const Range& range) {
  switch (target.kind) {
    case AstKind::Name: return assign_name(target.text, std::move(v), range);
    case AstKind::Tuple:
    case AstKind::List: return destructure(target, std::move(v));
    case AstKind::Attribute: return assign_attribute(target, as_value(v, range), whole_statement(target.range, range));
    case AstKind::Subscript: return assign_item(target, std::move(v));
    default: fail("expected a name, an attribute or an element to assign to", target.range);
  }
}

void Emitter::destructure(const Ast& target, SugarPtr v) {
  auto items = items_of(v, target.range);
  size_t starred = target.kids.size();
  for (size_t i = 0; i < target.kids.size(); i++)
    if (target[i].kind == AstKind::Starred) {
      if (starred != target.kids.size()) fail("expected at most one starred name", target.range);
      starred = i;
    }
  if (starred == 0 && target.kids.size() == 1) fail("a starred name takes what is left beside others: there are none", target.range);
  if (!items) {
    Value* list = as_value(v, target.range);
    if (list->type().kind() != TypeKind::List) fail("a value of type " + annotation_text(list->type()) + " cannot be unpacked", target.range);
    if (starred != target.kids.size()) fail("starred names need a tuple", target.range);
    Node* n = create(NodeKind::Unpack, {list}, target.range);
    items.emplace();
    for (size_t i = 0; i < target.kids.size(); i++) items->push_back(sugar(n->add_output(list->type().elements()[0])));
  }
  if (starred == target.kids.size()) {
    if (items->size() != target.kids.size()) fail(str("need ", target.kids.size(), " values to unpack but found ", items->size()), target.range);
    for (size_t i = 0; i < items->size(); i++) assign(target[i], (*items)[i], target[i].range);
    return;
  }
  if (items->size() + 1 < target.kids.size()) fail(str("need at least ", target.kids.size() - 1, " values to unpack but found ", items->size()), target.range);
  const size_t middle = items->size() - (target.kids.size() - 1);
  for (size_t i = 0; i < starred; i++) assign(target[i], (*items)[i], target[i].range);
  const SugarPtr tuple = sugar(SugarKind::Tuple);
  tuple->items.assign(items->begin() + static_cast<std::ptrdiff_t>(starred), items->begin() + static_cast<std::ptrdiff_t>(starred + middle));
  assign(target[starred][0], sugar(as_value(tuple, target.range)), target.range);
  for (size_t i = starred + 1; i < target.kids.size(); i++) assign(target[i], (*items)[i - 1 + middle], target[i].range);
}

void Emitter::assign_attribute(const Ast& target, Value* v, const Range& range) {
  // An attribute of the name has its own type again, whatever conditions have said: it may be that of the same object.
  for (Frame* f = frame_; f; f = f->parent)
    std::erase_if(f->names, [&](const auto& entry) {
      const size_t dot = entry.first.find('.');
      return dot != std::string::npos && entry.first.compare(dot + 1, std::string::npos, target.text) == 0;
    });
  Value* object = value(target[0]);
  ClassType* cls = class_of(object->type());
  if (!cls) fail("a value of type " + annotation_text(object->type()) + " has no attributes to assign", target.range);
  const Attribute* attribute = cls->attribute(target.text);
  if (!attribute) {
    if (!cls->property(target.text)) cls->method(target.text);  // finds a property that nothing has asked for yet
    if (const Property* p = cls->property(target.text)) {
      if (p->setter.empty()) fail("the property '" + target.text + "' cannot be set", target.range);
      method(object, p->setter, {v}, target.range);
      return;
    }
    const bool in_init = function_.cls == cls && short_name(function_.name) == "__init__" && cls->kind == ClassKind::Class;
    if (!in_init) fail("'" + short_name(cls->name) + "' has no attribute '" + target.text + "' to assign; attributes are made in __init__", range);
    if (loops_ || branches_) fail("attributes are first assigned outside of branches and loops: '" + target.text + "'", range);
    if (holds(v->type(), *cls)) fail("attribute '" + target.text + "' would hold an object of the class that is being defined", range);
    cls->add_attribute({target.text, v->type()});
    attribute = cls->attribute(target.text);
  }
  Value* converted = convert(v, attribute->type, target.range, false);
  if (!converted)
    fail("attribute '" + target.text + "' is of type " + annotation_text(attribute->type) + ", got a value of type " + annotation_text(v->type()), range);
  add("prim::SetAttr", {object, constant(Datum(target.text)), converted}, target.range);
}

void Emitter::assign_item(const Ast& target, SugarPtr s) {
  Value* object = value(target[0]);
  if (object->type().is_tensor()) {
    std::vector<Value*> indices;
    bool has_indices = false;
    Value* view = tensor_index(object, target, &indices, has_indices);
    Value* v = as_value(s, target.range);
    if (!v->type().is_tensor()) {
      if (!has_indices) {
        call_op("aten::fill_", {view, v}, target.range);
        return;
      }
      Arguments arguments;
      arguments.positional = {sugar(v)};
      Value* dtype = as_value(call_op("prim::dtype", {object}, target.range), target.range);
      arguments.keywords = {{"dtype", sugar(dtype)}};
      v = as_value(call_builtin("aten::tensor", nullptr, arguments, target.range), target.range);
    }
    if (!has_indices) {
      call_op("aten::copy_", {view, v, constant(Datum(false))}, target.range);
    } else {
      Value* list = list_of_values(indices, Type::optional(TypeKind::Tensor), target.range);
      call_op("aten::index_put_", {view, list, v, constant(Datum(false))}, target.range);
    }
    return;
  }
  if (object->type().kind() == TypeKind::Class) {
    method(object, "__setitem__", {value(target[1]), as_value(s, target.range)}, target.range);
    return;
  }
  if (target.kids.size() != 2 || slice_parts(target[1])) fail("slices of lists cannot be assigned", target.range);
  const Type* element = object->type().kind() == TypeKind::List   ? &object->type().elements()[0]
                        : object->type().kind() == TypeKind::Dict ? &object->type().elements()[1]
                                                                  : nullptr;
  if (!element) fail("elements of a value of type " + annotation_text(object->type()) + " cannot be assigned", target.range);
  Value* at = value(target[1]);
  call_op("aten::_set_item", {object, at, as_value(s, target.range, element)}, target.range);
}

namespace {

const char* binary_name(const std::string& op) {
  static const std::map<std::string, const char*> kNames = {
      {"+", "aten::add"},       {"-", "aten::sub"},         {"*", "aten::mul"},        {"/", "aten::div"},     {"//", "aten::floordiv"},
      {"%", "aten::remainder"}, {"**", "aten::pow"},        {"@", "aten::matmul"},     {"&", "aten::__and__"}, {"|", "aten::__or__"},
      {"^", "aten::__xor__"},   {"<<", "aten::__lshift__"}, {">>", "aten::__rshift__"}};
  const auto found = kNames.find(op);
  return found == kNames.end() ? nullptr : found->second;
}
const char* inplace_name(const std::string& op) {
  static const std::map<std::string, const char*> kNames = {{"+", "aten::add_"},
                                                            {"-", "aten::sub_"},
                                                            {"*", "aten::mul_"},
                                                            {"/", "aten::div_"},
                                                            {"//", "aten::floor_divide_"},
                                                            {"%", "aten::remainder_"},
                                                            {"**", "aten::pow_"},
                                                            {"&", "aten::bitwise_and_"},
                                                            {"|", "aten::bitwise_or_"},
                                                            {"^", "aten::bitwise_xor_"},
                                                            {"<<", "aten::bitwise_left_shift_"},
                                                            {">>", "aten::bitwise_right_shift_"}};
  const auto found = kNames.find(op);
  return found == kNames.end() ? nullptr : found->second;
}

}  // namespace

// Bits of tensors are operators of their own.
const char* operator_on(const char* name, const Value& x, const Value& y) {
  static const std::map<std::string_view, const char*> kOfBits = {{"aten::__and__", "aten::bitwise_and"},
                                                                  {"aten::__or__", "aten::bitwise_or"},
                                                                  {"aten::__xor__", "aten::bitwise_xor"},
                                                                  {"aten::__lshift__", "aten::bitwise_left_shift"},
                                                                  {"aten::__rshift__", "aten::bitwise_right_shift"},
                                                                  {"aten::__iand__", "aten::bitwise_and_"},
                                                                  {"aten::__ior__", "aten::bitwise_or_"},
                                                                  {"aten::__ixor__", "aten::bitwise_xor_"},
                                                                  {"aten::__ilshift__", "aten::bitwise_left_shift_"},
                                                                  {"aten::__irshift__", "aten::bitwise_right_shift_"}};
  if (!x.type().is_tensor() && !y.type().is_tensor()) return name;
  const auto found = kOfBits.find(name);
  return found == kOfBits.end() ? name : found->second;
}

void Emitter::augmented(const Ast& a) {
  const char* plain = binary_name(a.text);
  const char* inplace = inplace_name(a.text);
  if (!plain) fail("the operator " + a.text + "= is not part of TorchScript", a.range);
  const auto combine = [&](Value* left, bool& in_place) -> Value* {
    const Type hint = left->type();
    SugarPtr right = expression(a[1], hint.kind() == TypeKind::List ? &hint : nullptr);
    Value* r = as_value(right, a[1].range);
    const bool changes_list = left->type().kind() == TypeKind::List && (a.text == "+" || a.text == "*");
    in_place = (left->type().is_tensor() && inplace && !find_candidates(inplace).empty()) || changes_list;
    if (left->type().kind() == TypeKind::Class) {
      static const std::map<std::string, std::string> kMagic = {{"+", "add"}, {"-", "sub"},     {"*", "mul"},    {"/", "truediv"}, {"//", "floordiv"},
                                                                {"%", "mod"}, {"**", "pow"},    {"@", "matmul"}, {"&", "and"},     {"|", "or"},
                                                                {"^", "xor"}, {"<<", "lshift"}, {">>", "rshift"}};
      const std::string& magic = kMagic.at(a.text);
      const bool changes = class_of(left->type())->method("__i" + magic + "__") != nullptr;
      return as_value(method(left, (changes ? "__i" : "__") + magic + "__", {r}, a.range), a.range);
    }
    if (in_place) return as_value(call_op(inplace, {left, r}, a.range), a.range);
    return as_value(arithmetic(a.text, plain, left, r, a.range), a.range);
  };
  bool in_place = false;
  const Ast& target = a[0];
  if (target.kind == AstKind::Name) {
    Value* left = value(target);
    Value* result = combine(left, in_place);
    assign_name(target.text, sugar(result), a.range);
  } else if (target.kind == AstKind::Attribute) {
    Value* left = value(target);
    Value* result = combine(left, in_place);
    if (!in_place) assign_attribute(target, result, a.range);
  } else if (target.kind == AstKind::Subscript) {
    Value* object = value(target[0]);
    if (object->type().is_tensor()) {
      std::vector<Value*> indices;
      bool has_indices = false;
      Value* view = tensor_index(object, target, &indices, has_indices);
      if (!has_indices) {
        combine(view, in_place);
        return;
      }
      Value* list = list_of_values(indices, Type::optional(TypeKind::Tensor), a.range);
      Value* left = as_value(call_op("aten::index", {view, list}, a.range), a.range);
      Value* result = combine(left, in_place);
      call_op("aten::index_put_", {view, list, result, constant(Datum(false))}, a.range);
      return;
    }
    if (object->type().kind() == TypeKind::Class) {
      Value* at = value(target[1]);
      Value* left = as_value(method(object, "__getitem__", {at}, a.range), a.range);
      method(object, "__setitem__", {at, combine(left, in_place)}, a.range);
      return;
    }
    if (target.kids.size() != 2 || slice_parts(target[1])) fail("slices of lists cannot be assigned", target.range);
    if (object->type().kind() == TypeKind::Tuple) fail("elements of a tuple cannot be assigned", a.range);
    Value* at = value(target[1]);
    Value* left = as_value(call_op("aten::__getitem__", {object, at}, a.range), a.range);
    Value* result = combine(left, in_place);
    if (!in_place) call_op("aten::_set_item", {object, at, result}, a.range);
  } else {
    fail("expected a name, an attribute or an element before " + a.text + "=", target.range);
  }
}

void Emitter::remove(const Ast& target) {
  if (target.kind == AstKind::Name) {
    if (!find(target.text)) fail(target.text + " is not defined", target.range);
    frame_->gone[target.text] = "code after del";
    return;
  }
  if (target.kind != AstKind::Subscript || target.kids.size() != 2) fail("del: expected a name or an element", target.range);
  Value* object = value(target[0]);
  if (object->type().kind() == TypeKind::Class) {
    method(object, "__delitem__", {value(target[1])}, target.range);
    return;
  }
  call_op("aten::Delete", {object, value(target[1])}, target.range);
}

}  // namespace cresset::graph::script
