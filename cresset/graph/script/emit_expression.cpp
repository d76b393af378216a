// Expressions.

#include <algorithm>

#include "cresset/graph/script/emit.h"
#include "cresset/graph/script/values.h"

namespace cresset::graph::script {

namespace {

// The type of the elements of a literal that nothing annotates: one that holds values of both.
Type either_of(const Type& a, const Type& b) {
  if (const auto u = unify(a, b)) return *u;
  return type_of_text("Union[" + annotation_text(a) + ", " + annotation_text(b) + "]", nullptr);
}

std::optional<int64_t> constant_int(const SugarPtr& s) {
  if (s->kind == SugarKind::Constant && s->datum.isInt()) return s->datum.toInt();
  if (s->kind == SugarKind::Value && s->value->is_constant() && s->value->constant()->isInt()) return s->value->constant()->toInt();
  return std::nullopt;
}

}  // namespace

SugarPtr Emitter::expression(const Ast& a, const Type* hint) {
  step(a.range);
  switch (a.kind) {
    case AstKind::Name: return name(a);
    case AstKind::Literal: return sugar_constant(a.value);
    case AstKind::Attribute: {
      const SugarPtr found = attribute(expression(a[0]), a.text, a.range);
      const std::string path = attribute_path(a);
      const SugarPtr narrowed = path.empty() ? nullptr : find(path);
      if (!narrowed || found->kind != SugarKind::Value || found->value->type() == narrowed->type) return found;
      return sugar(make("prim::unchecked_cast", {found->value}, a.range, narrowed->type));
    }
    case AstKind::Call: return call(a, hint);
    case AstKind::Subscript: return subscript(a, hint);
    case AstKind::Unary: {
      if (a.text == "not") {
        const Condition c = condition(a);
        return c.known ? sugar_constant(Datum(*c.known)) : sugar(c.value);
      }
      Value* v = value(a[0]);
      static const std::map<std::string, std::pair<const char*, const char*>> kOps = {
          {"-", {"aten::neg", "__neg__"}}, {"~", {"aten::bitwise_not", "__invert__"}}, {"+", {nullptr, "__pos__"}}};
      const auto& [op, magic] = kOps.at(a.text);
      if (v->type().kind() == TypeKind::Class) return method(v, magic, {}, a.range);
      return op ? call_op(op, {v}, a.range) : sugar(v);
    }
    case AstKind::Binary:
    case AstKind::Compare: return binary(a, hint);
    case AstKind::And:
    case AstKind::Or: {
      const Condition c = condition(a);
      return c.known ? sugar_constant(Datum(*c.known)) : sugar(c.value);
    }
    case AstKind::Choice: return choice(a, hint);
    case AstKind::List: return list_literal(a, hint);
    case AstKind::Dict: return dict_literal(a, hint);
    case AstKind::Tuple: {
      const SugarPtr t = sugar(SugarKind::Tuple);
      for (size_t i = 0; i < a.kids.size(); i++) {
        if (a[i].kind == AstKind::Starred) {
          const auto items = items_of(expression(a[i][0]), a[i].range);
          if (!items) fail("only tuples can be starred", a[i].range);
          t->items.insert(t->items.end(), items->begin(), items->end());
          continue;
        }
        const Type* element = hint && hint->kind() == TypeKind::Tuple && i < hint->elements().size() ? &hint->elements()[i] : nullptr;
        t->items.push_back(sugar(value(a[i], element)));
      }
      return t;
    }
    case AstKind::ListOf:
    case AstKind::DictOf: return comprehension(a, hint);
    case AstKind::Format: return format(a);
    case AstKind::Starred: fail("a starred expression stands where it cannot", a.range);
    default: fail("this expression is not part of TorchScript", a.range);
  }
}

SugarPtr Emitter::name(const Ast& a) {
  if (SugarPtr s = find(a.text)) return s;
  if (const std::string* why = why_gone(a.text)) fail(why->compare(0, 4, "Type") == 0 ? *why : a.text + " is not defined in the " + *why, a.range);
  if (SugarPtr s = resolver_.value(a.text, a.range)) return s;
  if (SugarPtr s = builtin_name(a.text)) return s;
  fail("undefined value " + a.text, a.range);
}

Value* Emitter::constant_value(const Datum& v, const Range& range, const Type* hint) {
  if (v.isList() && !v.isTuple()) {
    std::vector<Value*> elements;
    const Type* element_hint = hint && hint->kind() == TypeKind::List ? &hint->elements()[0] : nullptr;
    for (const Datum& e : v.toListVector()) elements.push_back(constant_value(e, range, element_hint));
    Type element = element_hint ? *element_hint : elements.empty() ? Type(TypeKind::Tensor) : elements[0]->type();
    for (const Value* e : elements)
      if (const auto u = unify(element, e->type())) element = *u;
    return list_of_values(elements, element, range);
  }
  if (v.isTuple()) {
    std::vector<Value*> elements;
    for (const Datum& e : v.toTupleRef().elements()) elements.push_back(constant_value(e, range));
    return tuple_of_values(elements, range);
  }
  if (v.isGenericDict()) {
    std::vector<Value*> parts;
    for (const auto& e : dict_of(v).entries) {
      parts.push_back(constant_value(e.key, range));
      parts.push_back(constant_value(e.value, range));
    }
    return create(NodeKind::Dict, parts, range)->output();
  }
  if (v.object()) {
    Value* c = graph_.constant(v);
    if (const auto* e = dynamic_cast<const EnumObject*>(v.object()->get())) c->set_type(e->cls->type());
    if (ScriptObject* o = object_of(v)) c->set_type(o->cls->type());
    return c;
  }
  if (v.is_tensor()) {
    Value* c = graph_.constant(v);
    c->set_type(TypeKind::Tensor);
    return c;
  }
  // A float is wanted and an int is written: as in Python.
  return constant(v);
}

Value* Emitter::as_value(const SugarPtr& s, const Range& range, const Type* hint) {
  switch (s->kind) {
    case SugarKind::Value: return s->value;
    case SugarKind::Constant: return constant_value(s->datum, range, hint);
    case SugarKind::Tuple: {
      std::vector<Value*> elements;
      for (size_t i = 0; i < s->items.size(); i++) {
        const Type* element = hint && hint->kind() == TypeKind::Tuple && i < hint->elements().size() ? &hint->elements()[i] : nullptr;
        elements.push_back(as_value(s->items[i], range, element));
      }
      return tuple_of_values(elements, range);
    }
    case SugarKind::Zip: {
      if (s->text == "range") {
        const Iterable it = iterable(s, range);
        Value* list = list_of_values({}, TypeKind::Int, range);
        const auto append = [&](Value* i) { call_op("aten::append", {list, as_value(it.element(i), range)}, range); };
        Ast nothing(AstKind::Block, range);
        loop_node(range, nothing, it.length, constant(Datum(true)), append, nullptr, {});
        return list;
      }
      break;
    }
    default: break;
  }
  static const std::map<SugarKind, const char*> kNames = {{SugarKind::Namespace, "a module of Python"},
                                                          {SugarKind::Builtin, "a builtin function"},
                                                          {SugarKind::Special, "a function of the compiler"},
                                                          {SugarKind::Function, "a function"},
                                                          {SugarKind::Method, "a method"},
                                                          {SugarKind::Class, "a class"},
                                                          {SugarKind::TypeName, "a type"},
                                                          {SugarKind::Exception, "an exception"},
                                                          {SugarKind::Overloads, "a function with overloads"},
                                                          {SugarKind::Zip, "an iterable"},
                                                          {SugarKind::Slice, "a slice"},
                                                          {SugarKind::Super, "super()"}};
  const auto found = kNames.find(s->kind);
  fail(str(found == kNames.end() ? "this" : found->second, " cannot be used as a value", s->text.empty() ? "" : " (" + s->text + ")"), range);
}

// ---- conditions

Value* Emitter::to_bool(Value* v, const Range& range) {
  switch (v->type().kind()) {
    case TypeKind::Bool: return v;
    case TypeKind::Int: return make("aten::Bool.int", {v}, range, TypeKind::Bool);
    case TypeKind::Float: return make("aten::Bool.float", {v}, range, TypeKind::Bool);
    case TypeKind::Number: return make("aten::Bool.Scalar", {v}, range, TypeKind::Bool);
    case TypeKind::Tensor: return make("aten::Bool.Tensor", {v}, range, TypeKind::Bool);
    case TypeKind::String:
    case TypeKind::List:
    case TypeKind::Dict: return as_value(call_op("aten::gt", {as_value(call_op("aten::len", {v}, range), range), constant(Datum(int64_t{0}))}, range), range);
    case TypeKind::Class:
      if (ClassType* cls = class_of(v->type()); cls && cls->method("__bool__")) {
        Value* const answer = as_value(method(v, "__bool__", {}, range), range);
        if (answer->type().kind() != TypeKind::Bool)
          fail(short_name(cls->name) + ".__bool__ must return a bool, got a value of type " + annotation_text(answer->type()), range);
        return answer;
      }
      [[fallthrough]];
    default: fail("Could not cast value of type " + annotation_text(v->type()) + " to bool; write a comparison, such as len(x) > 0 or x is not None", range);
  }
}

// isinstance, hasattr, is_scripting and is_tracing, whatever name the program calls them by.
Condition Emitter::special_condition(const std::string& what, const Ast& a) {
  if (what == "is_scripting") return {nullptr, true, {}, {}};
  if (what == "is_tracing") return {nullptr, false, {}, {}};
  if (a.kids.size() != 3) fail(what + ": expected 2 arguments, got " + str(a.kids.size() - 1), a.range);
  if (what == "isinstance") return instance_of(a, a[1], a[2]);
  return {nullptr, has_attribute(what, expression(a[1]), a[1].range, a[2]), {}, {}};
}

bool Emitter::has_attribute(const std::string& what, const SugarPtr& object, const Range& range, const Ast& name) {
  if (name.kind != AstKind::Literal || !name.value.isString()) fail(what + ": the name must be a string literal", name.range);
  const std::string& n = name.value.to_string();
  if (object->kind == SugarKind::Namespace) fail(what + ": expected an object, got module " + object->text, range);
  const Type type = as_value(object, range)->type();
  if (type.kind() == TypeKind::Tuple && !type.name().empty()) return std::find(type.fields().begin(), type.fields().end(), n) != type.fields().end();
  ClassType* const cls = class_of(type);
  if (!cls) fail(what + ": expected an object or a named tuple, got a value of type " + annotation_text(type), range);
  // The method first: a module of Python finds its properties and static methods when something asks for them.
  if (cls->attribute(n) || cls->constants.count(n) || cls->method(n)) return true;
  return cls->property(n) || cls->statics.count(n) || cls->functions.count(n) || cls->overloads.count(n);
}

Condition Emitter::condition(const Ast& a) {
  if (a.kind == AstKind::Unary && a.text == "not") {
    Condition c = condition(a[0]);
    std::swap(c.yes, c.no);
    if (c.known) c.known = !*c.known;
    else c.value = make("aten::__not__", {c.value}, a.range, TypeKind::Bool);
    return c;
  }
  if (a.kind == AstKind::And || a.kind == AstKind::Or) return join(a, a.kind == AstKind::And);
  if (a.kind == AstKind::Compare && (a.text == "is" || a.text == "is not")) return identity(a, a.text == "is");
  if (a.kind == AstKind::Call && a[0].kind != AstKind::Call) {
    const Ast& f = a[0];
    const bool may_be_special = f.kind == AstKind::Name || f.kind == AstKind::Attribute;
    const std::string last = may_be_special ? f.text : "";
    if (last == "isinstance" || last == "hasattr" || last == "is_scripting" || last == "is_tracing") {
      const SugarPtr callee = expression(f);
      if (callee->kind == SugarKind::Special && callee->text == last) return special_condition(last, a);
    }
  }
  const SugarPtr s = expression(a);
  if (s->kind == SugarKind::Constant && (s->datum.isBool() || s->datum.isInt()))
    return {nullptr, s->datum.isBool() ? s->datum.toBool() : s->datum.toInt() != 0, {}, {}};
  Value* v = as_value(s, a.range);
  if (v->is_constant() && v->constant()->isBool()) return {nullptr, v->constant()->toBool(), {}, {}};
  return {to_bool(v, a.range), std::nullopt, {}, {}};
}

Condition Emitter::join(const Ast& a, bool is_and) {
  const Condition left = condition(a[0]);
  if (left.known) {
    if (*left.known != is_and) return {nullptr, *left.known, {}, {}};
    Frame frame;
    frame.parent = frame_;
    frame_ = &frame;
    refine(is_and ? left.yes : left.no);
    Condition right = condition(a[1]);
    frame_ = frame.parent;
    auto& more = is_and ? right.yes : right.no;
    for (const auto& [name, type] : is_and ? left.yes : left.no) more.emplace(name, type);
    return right;
  }
  Node* n = create(NodeKind::If, {left.value}, a.range);
  Block* const outer = block_;
  Block *first = n->add_block(), *second = n->add_block();
  Frame frame;
  frame.parent = frame_;
  frame_ = &frame;
  block_ = is_and ? first : second;
  refine(is_and ? left.yes : left.no);
  const Condition right = condition(a[1]);
  Condition out;
  Value* v = right.known ? constant(Datum(*right.known)) : right.value;
  block_->add_result(v);
  (is_and ? second : first)->add_result(constant(Datum(!is_and)));
  frame_ = frame.parent;
  block_ = outer;
  out.value = n->add_output(TypeKind::Bool);
  auto& facts = is_and ? out.yes : out.no;
  facts = is_and ? left.yes : left.no;
  for (const auto& [name, type] : is_and ? right.yes : right.no) facts[name] = type;
  if (right.known && *right.known != is_and) {
    out.known = *right.known;
    out.yes.clear();
    out.no.clear();
  }
  return out;
}

namespace {

// The type without None, and whether None was part of it.
std::optional<Type> without_none(const Type& t) {
  if (t.kind() == TypeKind::Optional) return t.elements()[0];
  if (t.kind() != TypeKind::Union) return std::nullopt;
  std::vector<Type> rest;
  for (const Type& e : t.elements())
    if (e.kind() != TypeKind::None) rest.push_back(e);
  if (rest.size() == t.elements().size()) return std::nullopt;
  return rest.size() == 1 ? rest[0] : Type::union_of(std::move(rest));
}

}  // namespace

Condition Emitter::identity(const Ast& a, bool is) {
  const SugarPtr left_sugar = expression(a[0]), right_sugar = expression(a[1]);
  const bool left_none = is_none_literal(a[0]), right_none = is_none_literal(a[1]);
  if (left_none || right_none) {
    const SugarPtr& s = right_none ? left_sugar : right_sugar;
    const Ast& operand = right_none ? a[0] : a[1];
    // Functions and the like are never None.
    if (s->kind != SugarKind::Value && s->kind != SugarKind::Constant) return {nullptr, !is, {}, {}};
    Value* v = as_value(s, operand.range);
    if (v->type().kind() == TypeKind::None) return {nullptr, is, {}, {}};
    const auto rest = without_none(v->type());
    if (!rest && v->type().kind() != TypeKind::Any) return {nullptr, !is, {}, {}};
    Condition c;
    c.value = make(is ? "aten::__is__" : "aten::__isnot__", {v, constant(Datum())}, a.range, TypeKind::Bool);
    if (rest && operand.kind == AstKind::Name) {
      (is ? c.no : c.yes)[operand.text] = *rest;
      (is ? c.yes : c.no)[operand.text] = TypeKind::None;
    } else if (const std::string path = attribute_path(operand); rest && !path.empty()) {
      (is ? c.no : c.yes)[path] = *rest;
    }
    return c;
  }
  Value *x = as_value(left_sugar, a[0].range), *y = as_value(right_sugar, a[1].range);
  Condition c;
  c.value = make(is ? "aten::__is__" : "aten::__isnot__", {x, y}, a.range, TypeKind::Bool);
  return c;
}

Condition Emitter::instance_of(const Ast& call, const Ast& object, const Ast& types) {
  std::vector<Type> wanted;
  std::vector<std::string> texts;
  bool any_elements = false;  // of a class of Python without arguments: every list, every dict
  std::vector<std::string> modules;
  const auto add = [&](const Ast& t) {
    if (const std::string text = t.range.text(); resolver_.is_module_of(text, "")) return modules.push_back(text);
    static const std::map<std::string, std::pair<const char*, Type>> kOpen = {
        {"list", {"list", Type::list(Type())}}, {"tuple", {"tuple", Type::object("tuple")}}, {"dict", {"dict", Type::dict(Type(), Type())}}};
    static const std::set<std::string> kBare = {"List", "Tuple", "Dict", "Optional", "Union"};
    if (t.kind == AstKind::Name && !find(t.text) && kBare.count(t.text))
      fail("isinstance: " + t.text + " stands for no type without those that it contains, as in " + t.text + (t.text == "Dict" ? "[str, int]" : "[int]"),
           t.range);
    const auto open = t.kind == AstKind::Name && !find(t.text) ? kOpen.find(t.text) : kOpen.end();
    any_elements = any_elements || open != kOpen.end();
    wanted.push_back(open != kOpen.end() ? open->second.second : annotation(t));
    texts.push_back(open != kOpen.end() ? open->second.first : annotation_text(wanted.back()));
  };
  const std::function<void(const Ast&)> add_all = [&](const Ast& t) {
    if (t.kind != AstKind::Tuple) return add(t);
    for (const AstPtr& part : t.kids) add_all(*part);
  };
  if (types.kind == AstKind::List)
    for (const AstPtr& t : types.kids) add_all(*t);
  else add_all(types);
  const SugarPtr s = expression(object);
  Value* v = as_value(s, object.range);
  const Type& type = v->type();
  const auto is_one = [&](const Type& t) {
    if (t.kind() == TypeKind::Class && std::any_of(modules.begin(), modules.end(), [&](const std::string& m) { return *resolver_.is_module_of(m, t.name()); }))
      return true;
    return std::any_of(wanted.begin(), wanted.end(), [&](const Type& w) {
      if (w.kind() == TypeKind::Class && w.name() == "tuple") return t.kind() == TypeKind::Tuple;
      if (w.kind() == TypeKind::List && w.elements()[0].kind() == TypeKind::Any) return t.kind() == TypeKind::List;
      if (w.kind() == TypeKind::Dict && w.elements()[0].kind() == TypeKind::Any) return t.kind() == TypeKind::Dict;
      return is_subtype(t, w);
    });
  };
  std::vector<Type> parts;
  if (type.kind() == TypeKind::Union) parts = type.elements();
  else if (type.kind() == TypeKind::Optional) parts = {type.elements()[0], TypeKind::None};
  else if (type.kind() == TypeKind::Number) parts = {TypeKind::Int, TypeKind::Float, TypeKind::Complex};
  else if (type.kind() != TypeKind::Any) return {nullptr, is_one(type), {}, {}};
  std::vector<Type> yes, no;
  for (const Type& p : parts) (is_one(p) ? yes : no).push_back(p);
  if (!parts.empty() && (yes.empty() || no.empty())) return {nullptr, no.empty(), {}, {}};
  std::vector<Value*> inputs{v};
  for (const std::string& text : texts) inputs.push_back(constant(Datum(text)));
  Condition c;
  c.value = make("prim::isinstance", inputs, call.range, TypeKind::Bool);
  if (object.kind == AstKind::Name) {
    const auto whole = [](std::vector<Type> list) {
      if (list.size() == 1) return list[0];
      if (list.size() == 2 && (list[1].kind() == TypeKind::None || list[0].kind() == TypeKind::None))
        return Type::optional(list[0].kind() == TypeKind::None ? list[1] : list[0]);
      return Type::union_of(std::move(list));
    };
    if (parts.empty() && any_elements) return c;  // what they hold is not known
    if (parts.empty()) {
      if (wanted.size() == 1) c.yes[object.text] = wanted[0];
      else c.yes[object.text] = Type::union_of(wanted);
    } else {
      c.yes[object.text] = whole(yes);
      c.no[object.text] = whole(no);
    }
  }
  return c;
}

SugarPtr Emitter::choice(const Ast& a, const Type* hint) {
  const Condition c = condition(a[0]);
  if (c.known) {
    Frame frame;
    frame.parent = frame_;
    frame_ = &frame;
    refine(*c.known ? c.yes : c.no);
    const SugarPtr s = expression(*c.known ? a[1] : a[2], hint);
    frame_ = frame.parent;
    return s;
  }
  Node* n = create(NodeKind::If, {c.value}, a.range);
  Block* const outer = block_;
  Value* results[2];
  for (size_t i = 0; i < 2; i++) {
    Frame frame;
    frame.parent = frame_;
    frame_ = &frame;
    block_ = n->add_block();
    refine(i == 0 ? c.yes : c.no);
    results[i] = value(a[i + 1], hint);
    frame_ = frame.parent;
  }
  block_ = outer;
  auto type = unify(results[0]->type(), results[1]->type());
  if (hint && is_subtype(results[0]->type(), *hint) && is_subtype(results[1]->type(), *hint)) type = *hint;
  if (!type)
    fail("Type mismatch: the branches of the conditional expression are of types " + annotation_text(results[0]->type()) + " and " +
             annotation_text(results[1]->type()),
         a.range);
  for (size_t i = 0; i < 2; i++) n->blocks()[i]->add_result(results[i]);
  return sugar(n->add_output(*type));
}

// ---- operators

SugarPtr Emitter::binary(const Ast& a, const Type* hint) {
  struct Operator {
    const char *op, *magic, *reflected;
  };
  static const std::map<std::string, Operator> kOps = {{"+", {"aten::add", "__add__", "__radd__"}},
                                                       {"-", {"aten::sub", "__sub__", "__rsub__"}},
                                                       {"*", {"aten::mul", "__mul__", "__rmul__"}},
                                                       {"/", {"aten::div", "__truediv__", nullptr}},
                                                       {"//", {"aten::floordiv", "__floordiv__", nullptr}},
                                                       {"%", {"aten::remainder", "__mod__", nullptr}},
                                                       {"**", {"aten::pow", "__pow__", nullptr}},
                                                       {"@", {"aten::matmul", "__matmul__", nullptr}},
                                                       {"&", {"aten::__and__", "__and__", nullptr}},
                                                       {"|", {"aten::__or__", "__or__", nullptr}},
                                                       {"^", {"aten::__xor__", "__xor__", nullptr}},
                                                       {"<<", {"aten::__lshift__", "__lshift__", nullptr}},
                                                       {">>", {"aten::__rshift__", "__rshift__", nullptr}},
                                                       {"==", {"aten::eq", "__eq__", nullptr}},
                                                       {"!=", {"aten::ne", "__ne__", nullptr}},
                                                       {"<", {"aten::lt", "__lt__", nullptr}},
                                                       {"<=", {"aten::le", "__le__", nullptr}},
                                                       {">", {"aten::gt", "__gt__", nullptr}},
                                                       {">=", {"aten::ge", "__ge__", nullptr}}};
  if (a.text == "is" || a.text == "is not") {
    const Condition c = identity(a, a.text == "is");
    return c.known ? sugar_constant(Datum(*c.known)) : sugar(c.value);
  }
  const Type* list_hint = hint && hint->kind() == TypeKind::List && a.text == "+" ? hint : nullptr;
  SugarPtr left_sugar = expression(a[0], list_hint), right_sugar = expression(a[1], list_hint);
  if (a.text == "+" && left_sugar->kind != SugarKind::Constant) {
    const auto left = tuple_items(left_sugar, a.range), right = tuple_items(right_sugar, a.range);
    if (left && right) {
      const SugarPtr joined = sugar(SugarKind::Tuple);
      joined->items = left->items;
      joined->items.insert(joined->items.end(), right->items.begin(), right->items.end());
      return joined;
    }
  }
  Value *x = as_value(left_sugar, a[0].range), *y = as_value(right_sugar, a[1].range);
  if (a.text == "in" || a.text == "not in") {
    SugarPtr s;
    const ClassType* const owner = class_of(y->type());
    if (owner && owner->container == "ModuleDict" && x->is_constant() && x->constant()->isString()) {
      const Attribute* const part = owner->attribute(x->constant()->to_string());
      const ClassType* const cls = part ? class_of(part->type) : nullptr;
      s = sugar(constant(Datum(cls && cls->kind == ClassKind::Module)));
    } else if (owner && owner->container == "ModuleDict" && x->type().kind() == TypeKind::String) {
      std::vector<Value*> keys;
      const std::vector<SugarPtr> items = *iterable(sugar(y), a.range).unrolled;
      for (const SugarPtr& key : items) keys.push_back(as_value(key, a.range));
      s = call_op("aten::__contains__", {list_of_values(keys, TypeKind::String, a.range), x}, a.range);
    } else if (y->type().kind() == TypeKind::Class) {
      s = method(y, "__contains__", {x}, a.range);
    } else if (y->type().kind() == TypeKind::Tuple) {
      const auto items = items_of(sugar(y), a.range);
      std::vector<Value*> elements;
      for (const SugarPtr& i : *items) elements.push_back(i->value);
      if (elements.empty()) s = sugar(constant(Datum(false)));
      else s = call_op("aten::__contains__", {list_of_values(elements, elements[0]->type(), a.range), x}, a.range);
    } else {
      s = call_op("aten::__contains__", {y, x}, a.range);
    }
    return a.text == "in" ? s : sugar(make("aten::__not__", {to_bool(as_value(s, a.range), a.range)}, a.range, TypeKind::Bool));
  }
  const Operator& op = kOps.at(a.text);
  const auto is_enum = [](const Type& t) {
    ClassType* cls = class_of(t);
    return cls && cls->kind == ClassKind::Enum;
  };
  if ((a.text == "==" || a.text == "!=") && is_enum(x->type()) && is_enum(y->type()))
    return sugar(make(a.text == "==" ? "aten::eq.enum" : "aten::ne.enum", {x, y}, a.range, TypeKind::Bool));
  if (x->type().kind() == TypeKind::Class) {
    ClassType* cls = class_of(x->type());
    if (cls && !cls->method(op.magic) && a.text == "!=" && cls->method("__eq__"))
      return sugar(make("aten::__not__", {as_value(method(x, "__eq__", {y}, a.range), a.range)}, a.range, TypeKind::Bool));
    return method(x, op.magic, {y}, a.range);
  }
  if (y->type().kind() == TypeKind::Class && op.reflected) return method(y, op.reflected, {x}, a.range);
  if (a.text == "%" && x->type().kind() == TypeKind::String) return sugar(make("aten::percentFormat", {x, y}, a.range, TypeKind::String));
  if (x->type().kind() == TypeKind::Tuple && y->type().kind() == TypeKind::Tuple && (a.text == "==" || a.text == "!=")) {
    const auto first = items_of(sugar(x), a.range), second = items_of(sugar(y), a.range);
    Value* all = constant(Datum(first->size() == second->size()));
    for (size_t i = 0; i < first->size() && first->size() == second->size(); i++) {
      Value* one = as_value(call_op("aten::eq", {(*first)[i]->value, (*second)[i]->value}, a.range), a.range);
      all = i == 0 ? one : make("aten::__and__.bool", {all, one}, a.range, TypeKind::Bool);
    }
    return a.text == "==" ? sugar(all) : sugar(make("aten::__not__", {all}, a.range, TypeKind::Bool));
  }
  return arithmetic(a.text, op.op, x, y, a.range);
}

SugarPtr Emitter::arithmetic(const std::string& sign, const char* op, Value* x, Value* y, const Range& range) {
  // `2 - x` and `2 / x`: the operators of tensors take the tensor first.
  if (!x->type().is_tensor() && y->type().is_tensor() && is_subtype(x->type(), TypeKind::Number)) {
    if (sign == "+" || sign == "*" || sign == "==" || sign == "!=") return call_op(op, {y, x}, range);
    static const std::map<std::string, const char*> kMirrored = {{"<", "aten::gt"}, {"<=", "aten::ge"}, {">", "aten::lt"}, {">=", "aten::le"}};
    if (const auto found = kMirrored.find(sign); found != kMirrored.end()) return call_op(found->second, {y, x}, range);
    if (sign == "-") return call_op("aten::rsub", {y, x}, range);
    if (sign == "/") return call_op("aten::mul", {as_value(call_op("aten::reciprocal", {y}, range), range), x}, range);
    if (sign == "//") return call_op("aten::floor_divide", {as_value(call_op("prim::NumToTensor", {x}, range), range), y}, range);
  }
  if (sign == "//" && x->type().is_tensor()) return call_op("aten::floor_divide", {x, y}, range);
  return call_op(operator_on(op, *x, *y), {x, y}, range);
}

// ---- literals and comprehensions

namespace {

// The type that a literal is to have: of several that are allowed, the only one of its kind; null: it has its own. Errors: a literal without elements may be of any of several.
const Type* wanted_of(const Type* hint, TypeKind kind, const Ast& literal) {
  const Type* type = hint && hint->kind() == TypeKind::Optional ? &hint->elements()[0] : hint;
  if (!type || type->kind() != TypeKind::Union) return type;
  const Type* found = nullptr;
  for (const Type& t : type->elements()) {
    if (t.kind() != kind) continue;
    if (found && literal.kids.empty()) throw CompileError("without elements it may be of several of the types in " + annotation_text(*type), literal.range);
    if (found) return nullptr;
    found = &t;
  }
  return found;
}

}  // namespace

SugarPtr Emitter::list_literal(const Ast& a, const Type* hint) {
  const Type* h = wanted_of(hint, TypeKind::List, a);
  const Type* element_hint = h && h->kind() == TypeKind::List ? &h->elements()[0] : nullptr;
  std::vector<Value*> elements;
  for (const AstPtr& k : a.kids) {
    if (k->kind == AstKind::Starred) {
      const auto items = items_of(expression((*k)[0]), k->range);
      if (!items) fail("only tuples can be starred", k->range);
      for (const SugarPtr& i : *items) elements.push_back(as_value(i, k->range));
    } else {
      elements.push_back(value(*k, element_hint));
    }
  }
  Type element = element_hint ? *element_hint : elements.empty() ? Type(TypeKind::Tensor) : elements[0]->type();
  for (size_t i = 0; i < elements.size(); i++) {
    Value*& e = elements[i];
    if (element_hint) {
      Value* c = convert(e, element, a.range, false);
      if (c) {
        e = c;
        continue;
      }
      fail("expected elements of type " + annotation_text(element) + " as annotated, got " + annotation_text(e->type()), a.range);
    }
    element = either_of(element, e->type());
  }
  return sugar(list_of_values(elements, element, a.range));
}

SugarPtr Emitter::dict_literal(const Ast& a, const Type* hint) {
  const Type* h = wanted_of(hint, TypeKind::Dict, a);
  Type key = TypeKind::String, item = TypeKind::Tensor;
  const bool hinted = h && h->kind() == TypeKind::Dict;
  if (hinted) key = h->elements()[0], item = h->elements()[1];
  std::vector<Value*> parts;
  for (size_t i = 0; i < a.kids.size(); i++) parts.push_back(value(a[i], hinted ? (i % 2 ? &item : &key) : nullptr));
  for (size_t i = 0; i < parts.size(); i++) {
    Type& t = i % 2 ? item : key;
    if (i < 2 && !hinted) {
      t = parts[i]->type();
      continue;
    }
    if (Value* c = convert(parts[i], t, a.range, false)) {
      parts[i] = c;
      continue;
    }
    if (!hinted && i % 2) {
      t = either_of(t, parts[i]->type());
      continue;
    }
    fail(std::string("Dict ") + (i % 2 ? "values" : "keys") + " must contain only a single type: got " + annotation_text(t) + " and " +
             annotation_text(parts[i]->type()),
         a.range);
  }
  Node* n = create(NodeKind::Dict, parts, a.range);
  n->output()->set_type(Type::dict(key, item));
  return sugar(n->output());
}

SugarPtr Emitter::comprehension(const Ast& a, const Type* hint) {
  const bool is_dict = a.kind == AstKind::DictOf;
  const size_t shift = is_dict ? 1 : 0;
  const Ast &target = a[1 + shift], &over = a[2 + shift];
  const Iterable it = iterable(expression(over), over.range);
  if (it.unrolled) {
    std::vector<Value*> elements;
    for (const SugarPtr& item : *it.unrolled) {
      Frame frame;
      frame.parent = frame_;
      frame_ = &frame;
      assign(target, item, target.range);
      for (size_t i = 0; i <= shift; i++) elements.push_back(value(a[i]));
      frame_ = frame.parent;
    }
    if (is_dict) {
      Node* const made = create(NodeKind::Dict, elements, a.range);
      if (!elements.empty()) {
        Type item = elements[1]->type();
        for (size_t i = 3; i < elements.size(); i += 2) item = either_of(item, elements[i]->type());
        made->output()->set_type(Type::dict(elements[0]->type(), item));
      }
      return sugar(made->output());
    }
    return sugar(list_of_values(elements, elements.empty() ? Type(TypeKind::Tensor) : elements[0]->type(), a.range));
  }
  // The type of the result is known when its first element is.
  Node* made = create(is_dict ? NodeKind::Dict : NodeKind::List, {}, a.range);
  const Type* h = hint && hint->kind() == TypeKind::Optional ? &hint->elements()[0] : hint;
  Ast nothing(AstKind::Block, a.range);
  loop_node(a.range, nothing, it.length, constant(Datum(true)),
            [&](Value* i) {
              assign(target, it.element(i), target.range);
              if (is_dict) {
                Value *k = value(a[0], h && h->kind() == TypeKind::Dict ? &h->elements()[0] : nullptr),
                      *v = value(a[1], h && h->kind() == TypeKind::Dict ? &h->elements()[1] : nullptr);
                made->output()->set_type(h && h->kind() == TypeKind::Dict ? *h : Type::dict(k->type(), v->type()));
                call_op("aten::_set_item", {made->output(), k, v}, a.range);
              } else {
                Value* v = value(a[0], h && h->kind() == TypeKind::List ? &h->elements()[0] : nullptr);
                made->output()->set_type(h && h->kind() == TypeKind::List && is_subtype(v->type(), h->elements()[0]) ? *h : Type::list(v->type()));
                call_op("aten::append", {made->output(), v}, a.range);
              }
            },
            nullptr, {});
  return sugar(made->output());
}

SugarPtr Emitter::format(const Ast& a) {
  std::string pattern;
  std::vector<Value*> inputs{nullptr};
  for (const AstPtr& k : a.kids) {
    if (k->kind == AstKind::Literal && k->value.isString()) {
      for (const char c : k->value.to_string()) pattern += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
      continue;
    }
    pattern += "{}";
    Value* v = value(*k);
    if (v->type().kind() == TypeKind::Class && class_of(v->type()) && class_of(v->type())->method("__str__"))
      v = as_value(method(v, "__str__", {}, k->range), k->range);
    inputs.push_back(v);
  }
  inputs[0] = constant(Datum(pattern));
  return sugar(make("aten::format", inputs, a.range, TypeKind::String));
}

// ---- sequences

std::optional<std::vector<SugarPtr>> Emitter::items_of(const SugarPtr& s, const Range& range) {
  if (s->kind == SugarKind::Tuple) return s->items;
  if (s->kind == SugarKind::Constant && s->datum.isTuple()) {
    std::vector<SugarPtr> out;
    for (const Datum& e : s->datum.toTupleRef().elements()) out.push_back(sugar_constant(e));
    return out;
  }
  if (s->kind != SugarKind::Value || s->value->type().kind() != TypeKind::Tuple) return std::nullopt;
  Value* v = s->value;
  std::vector<SugarPtr> out;
  if (v->node() && v->node()->kind() == NodeKind::Tuple) {
    for (Value* e : v->node()->inputs()) out.push_back(sugar(e));
    return out;
  }
  if (v->type().elements().empty()) return out;
  Node* n = create(NodeKind::Unpack, {v}, range);
  for (const Type& t : v->type().elements()) out.push_back(sugar(n->add_output(t)));
  return out;
}
SugarPtr Emitter::tuple_items(const SugarPtr& s, const Range& range) {
  auto items = items_of(s, range);
  if (!items) return nullptr;
  const SugarPtr t = sugar(SugarKind::Tuple);
  t->items = std::move(*items);
  return t;
}

Emitter::Iterable Emitter::iterable(const SugarPtr& s, const Range& range) {
  Iterable out;
  if (s->kind == SugarKind::Zip) {
    if (s->text == "range") {
      Value *start = s->items[0]->value, *stop = s->items[1]->value, *step = s->items[2]->value;
      const auto is = [](Value* v, int64_t n) { return v->is_constant() && v->constant()->isInt() && v->constant()->toInt() == n; };
      if (is(start, 0) && is(step, 1)) {
        out.length = stop;
        out.element = [](Value* i) { return sugar(i); };
      } else {
        out.length = make("aten::__range_length", {start, stop, step}, range, TypeKind::Int);
        out.element = [=, this](Value* i) { return sugar(make("aten::__derive_index", {i, start, step}, range, TypeKind::Int)); };
      }
      return out;
    }
    std::vector<Iterable> parts;
    bool unrolls = false;
    const bool counts = s->text == "enumerate";
    for (size_t k = counts ? 1 : 0; k < s->items.size(); k++) {
      parts.push_back(iterable(s->items[k], range));
      unrolls = unrolls || parts.back().unrolled.has_value();
    }
    Value* first = counts ? s->items[0]->value : nullptr;
    if (unrolls) {
      size_t n = SIZE_MAX;
      for (const Iterable& p : parts) {
        if (p.unrolled) n = std::min(n, p.unrolled->size());
        else if (!p.length->is_constant() || !p.length->constant()->isInt())
          fail("modules and tuples are gone over together with what has a length that is known: this has one that is found when the program runs", range);
        else n = std::min(n, static_cast<size_t>(std::max<int64_t>(p.length->constant()->toInt(), 0)));
      }
      out.unrolled.emplace();
      for (size_t i = 0; i < n; i++) {
        const SugarPtr t = sugar(SugarKind::Tuple);
        if (counts) {
          if (first->is_constant()) t->items.push_back(sugar(constant(Datum(first->constant()->to_int() + static_cast<int64_t>(i)))));
          else t->items.push_back(call_op("aten::add", {first, constant(Datum(static_cast<int64_t>(i)))}, range));
        }
        for (const Iterable& p : parts) t->items.push_back(p.unrolled ? (*p.unrolled)[i] : p.element(constant(Datum(static_cast<int64_t>(i)))));
        out.unrolled->push_back(t);
      }
      return out;
    }
    if (parts.size() == 1) {
      out.length = parts[0].length;
    } else {
      std::vector<Value*> lengths;
      for (const Iterable& p : parts) lengths.push_back(p.length);
      out.length = as_value(call_op("prim::min", {list_of_values(lengths, TypeKind::Int, range)}, range), range);
    }
    out.element = [=, this](Value* i) {
      const SugarPtr t = sugar(SugarKind::Tuple);
      const bool zero = first && first->is_constant() && first->constant()->isInt() && first->constant()->toInt() == 0;
      if (counts) t->items.push_back(zero ? sugar(i) : call_op("aten::add", {i, first}, range));
      for (const Iterable& p : parts) t->items.push_back(p.element(i));
      return t;
    };
    return out;
  }
  if (auto items = items_of(s, range)) {
    out.unrolled = std::move(items);
    return out;
  }
  if (s->kind == SugarKind::Constant && s->datum.isList() && !s->datum.isString()) {
    out.unrolled.emplace();
    for (const Datum& e : s->datum.toListVector()) out.unrolled->push_back(sugar_constant(e));
    return out;
  }
  if (s->kind == SugarKind::Class && s->cls && s->cls->kind == ClassKind::Enum) {
    std::vector<Value*> members;
    for (size_t i = 0; i < s->cls->members.size(); i++)
      members.push_back(as_value(sugar_constant(Datum(intrusive_ptr<dispatch::Object>(make_intrusive<EnumObject>(s->cls, i)))), range));
    return iterable(sugar(list_of_values(members, s->cls->type(), range)), range);
  }
  Value* v = as_value(s, range);
  ClassType* cls = class_of(v->type());
  if (cls && cls->kind == ClassKind::Module && !cls->container.empty()) {
    out.unrolled.emplace();
    const bool is_dict = cls->container == "ModuleDict" || cls->container == "ParameterDict";
    for (const Attribute& a : cls->attributes) {
      ClassType* part = class_of(a.type);
      const bool is_item = cls->container[0] == 'P' ? a.is_parameter : part && part->kind == ClassKind::Module;
      if (!is_item) continue;
      if (is_dict) out.unrolled->push_back(sugar_constant(Datum(a.name)));
      else out.unrolled->push_back(sugar(make("prim::GetAttr", {v, constant(Datum(a.name))}, range, a.type)));
    }
    return out;
  }
  switch (v->type().kind()) {
    case TypeKind::List:
    case TypeKind::String:
    case TypeKind::Tensor:
      out.length = as_value(call_op("aten::len", {v}, range), range);
      if (v->type().is_tensor()) {
        out.element = [=, this](Value* i) { return call_op("aten::select", {v, constant(Datum(int64_t{0})), i}, range); };
      } else {
        out.element = [=, this](Value* i) { return call_op("aten::__getitem__", {v, i}, range); };
      }
      return out;
    case TypeKind::Dict: return iterable(call_op("aten::keys", {v}, range), range);
    case TypeKind::Class:
      if (cls && cls->method("__len__") && cls->method("__getitem__")) {
        out.length = as_value(method(v, "__len__", {}, range), range);
        out.element = [=, this](Value* i) { return method(v, "__getitem__", {i}, range); };
        return out;
      }
      [[fallthrough]];
    default: fail("a value of type " + annotation_text(v->type()) + " is not iterable", range);
  }
}

std::optional<Emitter::SliceParts> Emitter::slice_parts(const Ast& index) {
  SliceParts parts;
  if (index.kind == AstKind::Slice) {
    for (size_t i = 0; i < parts.size(); i++)
      if (index.kid(i)) parts[i] = expression(*index.kid(i));
    return parts;
  }
  const SugarPtr s = index.kind == AstKind::Name ? find(index.text) : nullptr;
  if (!s || s->kind != SugarKind::Slice) return std::nullopt;
  std::copy(s->items.begin(), s->items.end(), parts.begin());
  return parts;
}
std::vector<Value*> Emitter::slice_inputs(std::vector<Value*> inputs, const SliceParts& parts, const Range& range) {
  for (size_t i = 0; i < parts.size(); i++) inputs.push_back(parts[i] ? as_value(parts[i], range) : constant(i == 2 ? Datum(int64_t{1}) : Datum()));
  return inputs;
}
SugarPtr Emitter::slice_items(const std::vector<SugarPtr>& items, const SliceParts& parts, const Range& range) {
  Datum bounds[3];
  for (size_t i = 0; i < parts.size(); i++) {
    if (!parts[i] || (parts[i]->kind == SugarKind::Constant && parts[i]->datum.is_none())) continue;
    const auto n = constant_int(parts[i]);
    if (!n) fail("slices of tuples and of containers of modules need constant bounds", range);
    bounds[i] = Datum(*n);
  }
  const SugarPtr t = sugar(SugarKind::Tuple);
  for (const size_t i : slice_of(bounds[0], bounds[1], bounds[2], static_cast<int64_t>(items.size())).places()) t->items.push_back(items[i]);
  return t;
}

SugarPtr Emitter::module_part(Value* v, ClassType& cls, const Ast& a, const Type* hint) {
  const SugarPtr i = expression(a[1]);
  const bool by_key = cls.container.empty() && as_value(i, a[1].range)->type().kind() == TypeKind::String;
  const bool is_dict = by_key || cls.container == "ModuleDict" || cls.container == "ParameterDict";
  const auto chosen = [&]() -> SugarPtr {
    // An interface says what all of them have in common.
    const ClassType* const wanted = hint ? class_of(*hint) : nullptr;
    if (!wanted || cls.container[0] == 'P') return nullptr;
    for (const Attribute& part : cls.attributes) {
      const ClassType* const of = class_of(part.type);
      if (of && of->kind == ClassKind::Module && !is_subtype(part.type, *hint))
        fail("module '" + part.name + "' of " + short_name(cls.name) + " is not of the annotated type " + annotation_text(*hint), a.range);
    }
    Value* const key = convert(as_value(i, a[1].range), is_dict ? TypeKind::String : TypeKind::Int, a[1].range, true);
    if (!key) fail(std::string("modules are looked up by ") + (is_dict ? "strings" : "ints"), a[1].range);
    return sugar(make("prim::ModuleContainerIndex", {v, key}, a.range, *hint));
  };
  if (cls.container.empty())
    if (SugarPtr found = chosen()) return found;
  if (is_dict) {
    const Datum* const key = i->kind == SugarKind::Constant                           ? &i->datum
                             : i->kind == SugarKind::Value && i->value->is_constant() ? i->value->constant()
                                                                                      : nullptr;
    if (key && key->isString() && cls.attribute(key->to_string()))
      return sugar(make("prim::GetAttr", {v, constant(*key)}, a.range, cls.attribute(key->to_string())->type));
    if (!key)
      if (SugarPtr found = chosen()) return found;
    fail("Key Error: modules of a ModuleDict are looked up by string literals that name one, or by variables where an interface is annotated", a.range);
  }
  const auto n = constant_int(i);
  if (!n)
    if (SugarPtr found = chosen()) return found;
  if (!n) fail("Unable to extract a constant index: modules of a list are looked up by int literals, or by variables where an interface is annotated", a.range);
  const auto items = *iterable(sugar(v), a.range).unrolled;
  const auto count = static_cast<int64_t>(items.size());
  if (*n < -count || *n >= count) fail(str("the index ", *n, " is out of range for ", count, " modules"), a.range);
  return items[static_cast<size_t>(*n < 0 ? *n + count : *n)];
}

SugarPtr Emitter::subscript(const Ast& a, const Type* hint) {
  const SugarPtr object = expression(a[0]);
  if (object->kind == SugarKind::TypeName || object->kind == SugarKind::Special) return sugar_type(annotation(a));
  const bool is_tuple = object->kind == SugarKind::Tuple || (object->kind == SugarKind::Constant && object->datum.isTuple()) ||
                        (object->kind == SugarKind::Value && object->value->type().kind() == TypeKind::Tuple);
  if (is_tuple && a.kids.size() == 2) {
    const Ast& index = a[1];
    if (const auto parts = slice_parts(index)) return slice_items(*items_of(object, a.range), *parts, index.range);
    if (const auto n = constant_int(expression(index))) {
      const auto count = static_cast<int64_t>(object->kind == SugarKind::Value ? object->value->type().elements().size() : items_of(object, a.range)->size());
      if (*n < -count || *n >= count) fail(str("Tuple index out of range: got ", *n, " for ", count, " elements"), a.range);
      const auto at = static_cast<size_t>(*n < 0 ? *n + count : *n);
      if (object->kind == SugarKind::Value && !(object->value->node() && object->value->node()->kind() == NodeKind::Tuple))
        return sugar(make("prim::TupleIndex", {object->value, constant(Datum(static_cast<int64_t>(at)))}, a.range, object->value->type().elements()[at]));
      return (*items_of(object, a.range))[at];
    }
    Value* v = as_value(object, a.range);
    const auto& types = v->type().elements();
    for (const Type& t : types)
      if (t != types[0]) fail("a tuple of several types needs a constant index", a.range);
    return sugar(make("prim::TupleIndex", {v, value(index)}, a.range, types.empty() ? Type() : types[0]));
  }
  Value* v = as_value(object, a[0].range);
  if (v->type().is_tensor()) {
    std::vector<Value*> indices;
    bool has_indices = false;
    Value* view = tensor_index(v, a, &indices, has_indices);
    if (!has_indices) return sugar(view);
    return call_op("aten::index", {view, list_of_values(indices, Type::optional(TypeKind::Tensor), a.range)}, a.range);
  }
  if (a.kids.size() != 2) fail("only tensors take several indices", a.range);
  ClassType* cls = class_of(v->type());
  if (cls && cls->kind == ClassKind::Module && !cls->container.empty()) {
    const auto parts = slice_parts(a[1]);
    return parts ? slice_items(*iterable(sugar(v), a.range).unrolled, *parts, a[1].range) : module_part(v, *cls, a, hint);
  }
  // Classes of archives are not known to be containers.
  if (cls && cls->kind == ClassKind::Module && hint && class_of(*hint) && !cls->method("__getitem__")) return module_part(v, *cls, a, hint);
  if (cls) return method(v, "__getitem__", {value(a[1])}, a.range);
  if (const auto parts = slice_parts(a[1])) return call_op("aten::slice", slice_inputs({v}, *parts, a[1].range), a[1].range);
  return call_op("aten::__getitem__", {v, value(a[1])}, a.range);
}

// x[0], x[1:], x[None], x[...]: views; tensors among the indices are left in `indices`, one for each dimension up to the last.
Value* Emitter::tensor_index(Value* v, const Ast& a, std::vector<Value*>* indices, bool& has_indices) {
  struct Part {
    const Ast* ast;
    SugarPtr sugar;
    std::optional<SliceParts> slice;
  };
  std::vector<Part> parts;
  for (size_t i = 1; i < a.kids.size(); i++) {
    const Ast& k = a[i];
    if (k.kind == AstKind::Ellipsis) {
      parts.push_back({&k, nullptr, {}});
      continue;
    }
    if (auto slice = slice_parts(k)) {
      parts.push_back({&k, nullptr, std::move(slice)});
      continue;
    }
    SugarPtr s = expression(k);
    const auto items = a.kids.size() == 2 ? items_of(s, k.range) : std::nullopt;
    if (!items) {
      parts.push_back({&k, s, {}});
      continue;
    }
    for (const SugarPtr& item : *items) parts.push_back({&k, item, {}});
  }
  const auto takes_dimension = [](const Part& p) {
    if (p.ast->kind == AstKind::Ellipsis && !p.sugar) return false;
    return !(p.sugar && p.sugar->kind == SugarKind::Constant && p.sugar->datum.is_none());
  };
  int64_t dim = 0;
  bool behind = false;  // an ellipsis, from where on dimensions are negative
  for (size_t i = 0; i < parts.size(); i++) {
    const Part& p = parts[i];
    if (!p.sugar && p.ast->kind == AstKind::Ellipsis) {
      // Dimensions from here are counted from the end.
      int64_t after = 0;
      for (size_t k = i + 1; k < parts.size(); k++) after += takes_dimension(parts[k]);
      dim = -after;
      behind = true;
      continue;
    }
    if (!p.sugar) {
      v = as_value(call_op("aten::slice", slice_inputs({v, constant(Datum(dim))}, *p.slice, p.ast->range), a.range), a.range);
      dim++;
      continue;
    }
    if (p.sugar->kind == SugarKind::Constant && p.sugar->datum.is_none()) {
      v = as_value(call_op("aten::unsqueeze", {v, constant(Datum(behind ? dim - 1 : dim))}, a.range), a.range);
      if (!behind) dim++;
      continue;
    }
    Value* index = as_value(p.sugar, p.ast->range);
    if (index->type().kind() == TypeKind::Int) {
      v = as_value(call_op("aten::select", {v, constant(Datum(dim)), index}, a.range), a.range);
      if (dim < 0) dim++;  // one dimension fewer behind
      continue;
    }
    if (index->type().kind() == TypeKind::Bool) index = as_value(call_op("aten::tensor", {index}, a.range), a.range);
    if (index->type().kind() == TypeKind::List) {
      const Type& element = index->type().elements()[0];
      index = as_value(call_op("aten::tensor", {index}, a.range), a.range);
      if (element.kind() == TypeKind::Float) index = as_value(call_op("aten::to", {index, constant(Datum(kInt64))}, a.range), a.range);
    }
    if (index->type().kind() == TypeKind::Optional && index->type().elements()[0].is_tensor())
      index = make("prim::unchecked_cast", {index}, a.range, TypeKind::Tensor);
    if (!index->type().is_tensor()) fail("a tensor cannot be indexed by a value of type " + annotation_text(index->type()), p.ast->range);
    has_indices = true;
    if (behind) {
      // From the end: the dimensions before are as many as the tensor has at run time, which `index` cannot say.
      fail("tensors behind ... in an index are not supported", a.range);
    }
    while (static_cast<int64_t>(indices->size()) < dim) indices->push_back(constant(Datum()));
    indices->push_back(index);
    dim++;
  }
  return v;
}

}  // namespace cresset::graph::script
