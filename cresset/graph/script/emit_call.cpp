// Attributes and calls.

#include <algorithm>

#include "cresset/graph/script/dtype_number.h"
#include "cresset/graph/script/emit.h"
#include "cresset/graph/script/values.h"

namespace cresset::graph::script {

// ---- attributes

SugarPtr Emitter::attribute(const SugarPtr& object, const std::string& name, const Range& range) {
  switch (object->kind) {
    case SugarKind::Namespace: {
      if (SugarPtr s = object->attribute(name, range)) return s;
      fail("module " + object->text + " has no attribute '" + name + "' that TorchScript can use", range);
    }
    case SugarKind::Class: {
      ClassType& cls = *object->cls;
      if (cls.kind == ClassKind::Enum) {
        for (size_t i = 0; i < cls.members.size(); i++)
          if (cls.members[i].first == name) return sugar_constant(Datum(intrusive_ptr<dispatch::Object>(make_intrusive<EnumObject>(&cls, i))));
        fail("enum " + short_name(cls.name) + " has no member '" + name + "'", range);
      }
      if (name == "__new__") {
        const SugarPtr s = sugar_text(SugarKind::Special, "__new__");
        s->cls = &cls;
        return s;
      }
      if (cls.kind == ClassKind::Class && !cls.statics.count(name)) cls.method(name);  // finds a class method that nothing has asked for yet
      if (const auto found = cls.statics.find(name); found != cls.statics.end()) return sugar(found->second);
      if (Function* const method = cls.kind == ClassKind::Module ? cls.method(name) : nullptr) return sugar(method);  // hooks in archives
      fail("class " + short_name(cls.name) + " has no static method '" + name + "'", range);
    }
    case SugarKind::Tuple:
      if (!object->keys.empty()) {
        for (size_t i = 0; i < object->keys.size(); i++)
          if (object->keys[i] == name) return object->items[i];
      }
      break;
    case SugarKind::Constant: {
      Value* v = as_value(object, range);
      return object_attribute(v, name, range);
    }
    case SugarKind::Value: return object_attribute(object->value, name, range);
    case SugarKind::Super:
      if (object->self) return object_attribute(object->self, name, range);
      break;
    case SugarKind::Special:
      // Archives make an object and then call its __init__; one of C++ is there from then on.
      if (object->text == "__new__ of C++" && name == "__init__") {
        const SugarPtr s = sugar_text(SugarKind::Special, "__init__ of C++");
        s->items = {object};
        return s;
      }
      break;
    case SugarKind::Function:
      if (name == "__name__") return sugar_constant(Datum(short_name(object->function->name)));
      break;
    default: break;
  }
  fail("'" + name + "' is no attribute that TorchScript can use here", range);
}

SugarPtr Emitter::tensor_attribute(Value* t, const std::string& name, const Range& range) {
  struct Row {
    const char* op;
    Type type;
  };
  static const std::map<std::string, Row> kProperties = {{"shape", {"aten::size", Type::list(TypeKind::Int)}},
                                                         {"dtype", {"prim::dtype", TypeKind::DType}},
                                                         {"device", {"prim::device", TypeKind::Device}},
                                                         {"layout", {"prim::layout", TypeKind::Layout}},
                                                         {"grad", {"prim::grad", {}}},
                                                         {"data", {"prim::data", TypeKind::Tensor}},
                                                         {"requires_grad", {"prim::requires_grad", {}}},
                                                         {"is_cuda", {"prim::is_cuda", {}}},
                                                         {"is_cpu", {"prim::is_cpu", {}}},
                                                         {"is_meta", {"prim::is_meta", {}}},
                                                         {"is_sparse", {"prim::is_sparse", {}}},
                                                         {"is_sparse_csr", {"prim::is_sparse_csr", {}}},
                                                         {"is_quantized", {"prim::is_quantized", {}}},
                                                         {"is_mkldnn", {"prim::is_mkldnn", {}}},
                                                         {"is_nested", {"prim::is_nested", {}}},
                                                         {"is_xpu", {"prim::is_xpu", {}}},
                                                         {"is_mps", {"prim::is_mps", {}}},
                                                         {"ndim", {"aten::dim", {}}},
                                                         {"itemsize", {"prim::itemsize", {}}},
                                                         {"nbytes", {"prim::nbytes", {}}},
                                                         {"T", {"aten::numpy_T", {}}},
                                                         {"mT", {"aten::mT", {}}},
                                                         {"H", {"aten::matrix_H", {}}},
                                                         {"mH", {"aten::mH", {}}},
                                                         {"real", {"aten::real", {}}},
                                                         {"imag", {"aten::imag", {}}},
                                                         {"is_leaf", {"aten::is_leaf", {}}},
                                                         {"retains_grad", {"aten::retains_grad", {}}},
                                                         {"name", {"prim::name", {}}}};
  if (const auto found = kProperties.find(name); found != kProperties.end()) {
    if (!find_candidates(found->second.op).empty()) return call_op(found->second.op, {t}, range);
    if (Function* f = library_function(found->second.op + 6)) {
      Arguments arguments;
      arguments.positional = {sugar(t)};
      arguments.ranges = {range};
      return call_function(*f, nullptr, arguments, range);
    }
    if (name == "T" || name == "mT") return call_op("aten::transpose", {t, constant(Datum(int64_t{-2})), constant(Datum(int64_t{-1}))}, range);
  }
  static const std::map<std::string, std::string> kRenamed = {{"ndimension", "dim"}, {"nelement", "numel"}, {"__and__", "bitwise_and"}};
  const auto renamed = kRenamed.find(name);
  const std::string op = "aten::" + (renamed == kRenamed.end() ? name : renamed->second);
  static const std::set<std::string> kSpecial = {"tolist", "double", "float", "half",    "bfloat16",   "int",   "long",  "bool",
                                                 "short",  "char",   "byte",  "cfloat",  "cdouble",    "chalf", "cpu",   "cuda",
                                                 "size",   "item",   "type",  "__len__", "new_tensor", "numpy", "stride"};
  if (kSpecial.count(name)) {
    const SugarPtr s = sugar_text(SugarKind::Special, "tensor." + name);
    s->self = t;
    return s;
  }
  if (find_candidates(op).empty()) {
    Function* const f = library_function(name);
    if (!f || f->schema.arguments.empty() || !f->schema.arguments[0].type.is_tensor()) fail("'Tensor' has no attribute and no method '" + name + "'", range);
    const SugarPtr s = sugar(f);
    s->self = t;
    return s;
  }
  const SugarPtr s = sugar_text(SugarKind::Builtin, op);
  s->self = t;
  return s;
}

SugarPtr Emitter::try_attribute(Value* object, ClassType& cls, const std::string& name, const Range& range) {
  if (const Attribute* a = cls.attribute(name)) return sugar(make("prim::GetAttr", {object, constant(Datum(name))}, range, a->type));
  if (const auto found = cls.constants.find(name); found != cls.constants.end()) {
    const auto type = cls.constant_types.find(name);
    if (type != cls.constant_types.end() && found->second.object() && !object_of(found->second))
      return sugar(constant_value(found->second, range, &type->second));
    return sugar_constant(found->second);
  }
  if (const Property* p = cls.property(name)) return method(object, p->getter, {}, range);
  if (const auto found = cls.overloads.find(name); found != cls.overloads.end()) {
    const SugarPtr s = sugar(SugarKind::Overloads);
    s->self = object;
    for (const std::string& n : found->second) s->overloads.push_back(cls.method(n));
    return s;
  }
  if (const auto found = cls.statics.find(name); found != cls.statics.end()) return sugar(found->second);
  if (const auto found = cls.functions.find(name); found != cls.functions.end()) return found->second;
  if (cls.kind == ClassKind::Interface) {
    for (const Schema& m : cls.interface)
      if (short_name(m.name) == name) {
        const SugarPtr s = sugar_text(SugarKind::Method, name);
        s->self = object;
        return s;
      }
    return nullptr;
  }
  if (Function* f = cls.method(name)) {
    const SugarPtr s = sugar(f);
    s->self = object;
    return s;
  }
  // A module of Python finds its properties and static methods when something asks for them, as the line above has.
  if (const Property* p = cls.property(name)) return method(object, p->getter, {}, range);
  if (const auto found = cls.statics.find(name); found != cls.statics.end()) return sugar(found->second);
  return nullptr;
}

SugarPtr Emitter::object_attribute(Value* object, const std::string& name, const Range& range) {
  const Type& t = object->type();
  if (t.is_tensor()) return tensor_attribute(object, name, range);
  if (t.kind() == TypeKind::Tuple) {
    for (size_t i = 0; i < t.fields().size(); i++)
      if (t.fields()[i] == name) {
        if (object->node() && object->node()->kind() == NodeKind::Tuple) return sugar(object->node()->input(i));
        return sugar(make("prim::TupleIndex", {object, constant(Datum(static_cast<int64_t>(i)))}, range, t.elements()[i]));
      }
  }
  if (t.kind() == TypeKind::Class) {
    ClassType* cls = class_of(t);
    if (!cls) fail("there is no class " + t.name(), range);
    if (cls->kind == ClassKind::Enum) {
      if (name == "name") return sugar(make("prim::EnumName", {object}, range, TypeKind::String));
      if (name == "value") return sugar(make("prim::EnumValue", {object}, range, cls->member_type));
      fail("members of enum " + short_name(cls->name) + " have name and value, not '" + name + "'", range);
    }
    if (SugarPtr s = try_attribute(object, *cls, name, range)) return s;
    if (cls->kind == ClassKind::Module &&
        (name == "items" || name == "keys" || name == "values" || name == "children" || name == "named_children" || name == "modules" ||
         name == "named_modules" || name == "parameters" || name == "named_parameters" || name == "buffers" || name == "named_buffers" || name == "training")) {
      const SugarPtr s = sugar_text(SugarKind::Special, "module." + name);
      s->self = object;
      return s;
    }
    if (const auto found = cls->failed_attributes.find(name); found != cls->failed_attributes.end())
      fail("Module '" + short_name(cls->name) + "' has no attribute '" + name + "' (" + found->second + ")", range);
    fail((cls->kind == ClassKind::Module ? "Module '" : "'") + short_name(cls->name) + "' has no attribute or method '" + name + "'", range);
  }
  if (t.kind() == TypeKind::Device && (name == "type" || name == "index")) return call_op("prim::" + name, {object}, range);
  if (t.kind() == TypeKind::DType && (name == "is_floating_point" || name == "is_complex")) return call_op("prim::" + name, {object}, range);
  if (t.kind() == TypeKind::Future && (name == "wait" || name == "value" || name == "done")) {
    const SugarPtr s = sugar_text(SugarKind::Special, "future." + name);
    s->self = object;
    return s;
  }
  if (t.kind() == TypeKind::Optional)
    fail("'" + annotation_text(t) + "' has no attribute and no method '" + name + "'; check that it is not None first, which refines its type", range);
  const std::string op = "aten::" + name;
  const bool has_methods = t.kind() == TypeKind::List || t.kind() == TypeKind::Dict || t.kind() == TypeKind::String || t.kind() == TypeKind::Generator;
  if (!has_methods || (find_candidates(op).empty() && name != "format"))
    fail("'" + annotation_text(t) + "' has no attribute and no method '" + name + "'", range);
  const SugarPtr s = sugar_text(SugarKind::Builtin, op);
  s->self = object;
  return s;
}

// ---- calls

Arguments Emitter::arguments_of(const Ast& a, size_t from) {
  Arguments out;
  for (size_t i = from; i < a.kids.size(); i++) {
    const Ast& k = a[i];
    if (k.kind == AstKind::Starred) {
      const auto items = items_of(expression(k[0]), k.range);
      if (!items) fail("only tuples can be starred in a call", k.range);
      for (const SugarPtr& item : *items) {
        out.positional.push_back(item);
        out.ranges.push_back(k.range);
      }
    } else if (k.kind == AstKind::Keyword) {
      if (k.text.empty()) throw NotSupportedError("** in calls is not part of TorchScript", k.range);
      out.keywords.emplace_back(k.text, expression(k[0]));
    } else {
      out.positional.push_back(expression(k));
      out.ranges.push_back(k.range);
    }
  }
  return out;
}

SugarPtr Emitter::call(const Ast& a, const Type* hint) {
  const SugarPtr callee = expression(a[0]);
  if (callee->kind == SugarKind::Special) return special(callee->text, a, hint, callee);
  return call(callee, arguments_of(a), a.range, hint);
}

SugarPtr Emitter::call(const SugarPtr& callee, Arguments arguments, const Range& range, const Type*) {
  switch (callee->kind) {
    case SugarKind::Builtin:
      if (callee->text == "aten::format") {
        std::vector<Value*> inputs;
        if (callee->self) inputs.push_back(callee->self);
        for (const SugarPtr& s : arguments.positional) inputs.push_back(as_value(s, range));
        return sugar(make("aten::format", inputs, range, TypeKind::String));
      }
      return call_builtin(callee->text, callee->self, arguments, range, callee->overloads.empty() ? nullptr : callee->overloads[arguments.has("out")]);
    case SugarKind::Function: return call_function(*callee->function, callee->self, arguments, range);
    case SugarKind::Method: {
      std::vector<Value*> values;
      ClassType* cls = class_of(callee->self->type());
      for (const Schema& s : cls->interface) {
        if (short_name(s.name) != callee->text) continue;
        std::map<std::string, Type> bound;
        std::string why;
        std::vector<Value*> inputs;
        if (!match(s, callee->self, arguments, range, true, inputs, bound, why)) fail(callee->text + ": " + why, range);
        inputs.insert(inputs.begin() + 1, constant(Datum(callee->text)));
        return sugar(make("prim::CallMethod", inputs, range, s.returns[0]));
      }
      fail("the interface has no method " + callee->text, range);
    }
    case SugarKind::Class: return call_class(*callee->cls, arguments, range);
    case SugarKind::TypeName: return call_type(callee->type, arguments, range);
    case SugarKind::Overloads:
      if (!callee->keys.empty()) {
        size_t choice = 0;
        for (size_t i = 0; i < callee->keys.size(); i++) choice |= size_t{is_set(callee->keys[i], *callee, arguments, range)} << i;
        return call_function(*callee->overloads.at(choice), callee->self, arguments, range);
      }
      return call_overloads(callee->overloads, callee->self, arguments, range);
    case SugarKind::Constant:
    case SugarKind::Value: return call_object(as_value(callee, range), arguments, range);
    case SugarKind::Exception: fail("exceptions can only be raised", range);
    default: fail("this cannot be called", range);
  }
}

bool Emitter::is_set(const std::string& flag_name, const Sugar& callee, const Arguments& arguments, const Range& range) {
  const Schema& s = callee.overloads[0]->schema;
  SugarPtr given;
  for (const auto& [name, value] : arguments.keywords)
    if (name == flag_name) given = value;
  const int place = s.index_of(flag_name);
  if (place >= 0 && static_cast<size_t>(place) < arguments.positional.size()) given = arguments.positional[static_cast<size_t>(place)];
  if (!given) return false;
  const Datum* flag = given->kind == SugarKind::Constant                               ? &given->datum
                      : given->kind == SugarKind::Value && given->value->is_constant() ? given->value->constant()
                                                                                       : nullptr;
  if (!flag || !flag->isBool()) fail(flag_name + " decides what type the result has: expected True, False or a constant of the module", range);
  return flag->toBool();
}

SugarPtr Emitter::call_overloads(const std::vector<Function*>& list, Value* self, const Arguments& arguments, const Range& range) {
  std::string reasons;
  for (const bool implicit : {false, true}) {
    for (Function* f : list) {
      std::map<std::string, Type> bound;
      std::string why;
      std::vector<Value*> inputs;
      if (match(f->schema, self, arguments, range, implicit, inputs, bound, why)) return call_function(*f, self, arguments, range);
      if (!implicit) reasons += "\n  " + f->schema.text() + ": " + why;
    }
  }
  fail("no overload takes these arguments:" + reasons, range);
}

// Errors of a function that is compiled because it is called here say so.
void Emitter::define(Function& f, const Range& range) const {
  const auto text = [&](const std::exception& e) {
    const std::string message = e.what();
    if (message.find("  File \"") == std::string::npos) return message + ":\n" + range.show();
    return message + "in '" + short_name(f.name) + "', which '" + short_name(function_.name) + "' calls here\n" + range.show();
  };
  try {
    f.ensure_defined();
  } catch (const NotSupportedError& e) { throw NotSupportedError(text(e), {}); } catch (const CompileError& e) {
    throw CompileError(text(e), {});
  }
}

SugarPtr Emitter::call_function(Function& f, Value* self, const Arguments& arguments, const Range& range) {
  define(f, range);
  std::map<std::string, Type> bound;
  std::string why;
  std::vector<Value*> inputs;
  Arguments declared = arguments;
  const size_t places = f.schema.arguments.size() - (self ? 1 : 0);
  if (f.schema.is_variadic && declared.positional.size() > places) declared.positional.resize(places);
  if (!match(f.schema, self, declared, range, true, inputs, bound, why))
    fail(short_name(f.name) + "() " + why + "\nIts declaration: " + f.schema.text(), range);
  const Type result = f.schema.returns.empty() ? Type() : f.schema.returns[0];
  if (f.native) {
    inputs.insert(inputs.begin(), constant(Datum(f.name)));
    for (size_t i = places; i < arguments.positional.size(); i++) inputs.push_back(as_value(arguments.positional[i], range));
    return sugar(make("prim::CallNative", inputs, range, result));
  }
  Node* n = graph_.create_call(f.name, inputs, block_->return_node());
  place(n, range);
  return sugar(n->add_output(result));
}

SugarPtr Emitter::call_class(ClassType& cls, const Arguments& arguments, const Range& range) {
  if (cls.custom) {
    if (!cls.constructor) fail("class " + short_name(cls.name) + " has no constructor", range);
    return call_function(*cls.constructor, nullptr, arguments, range);
  }
  if (cls.kind == ClassKind::Enum) fail("members of an enum are written " + short_name(cls.name) + ".NAME", range);
  if (cls.kind != ClassKind::Class) fail("objects of " + short_name(cls.name) + " cannot be made within a function", range);
  Function* init = cls.method("__init__");
  Value* object = make("prim::CreateObject", {constant(Datum(cls.name))}, range, cls.type());
  if (init) call_function(*init, object, arguments, range);
  else if (!arguments.positional.empty() || !arguments.keywords.empty()) fail(short_name(cls.name) + "() takes no arguments", range);
  return sugar(object);
}

SugarPtr Emitter::call_type(const Type& type, const Arguments& arguments, const Range& range) {
  if (type.kind() != TypeKind::Tuple || type.name().empty()) fail("a value of type " + annotation_text(type) + " cannot be made by a call", range);
  // A named tuple: its fields are the arguments.
  Schema s;
  s.name = short_name(type.name());
  const auto defaults = named_tuple_defaults(type.name());
  for (size_t i = 0; i < type.elements().size(); i++) {
    SchemaArgument a;
    a.name = type.fields()[i];
    a.type = type.elements()[i];
    if (const auto found = defaults.find(a.name); found != defaults.end()) a.default_value = found->second;
    s.arguments.push_back(std::move(a));
  }
  std::map<std::string, Type> bound;
  std::string why;
  std::vector<Value*> inputs;
  if (!match(s, nullptr, arguments, range, true, inputs, bound, why)) fail(s.name + "() " + why, range);
  Value* v = tuple_of_values(inputs, range);
  v->set_type(type);
  return sugar(v);
}

SugarPtr Emitter::call_module(Value* object, ClassType& cls, const Arguments& arguments, const Range& range) {
  if (cls.container == "Sequential" && !cls.method("forward")) {
    SugarPtr x;
    Arguments next = arguments;
    const std::vector<SugarPtr> parts = *iterable(sugar(object), range).unrolled;
    for (const SugarPtr& part : parts) {
      x = call_object(part->value, next, range);
      next = Arguments();
      next.positional = {x};
      next.ranges = {range};
    }
    return x ? x : arguments.positional.at(0);
  }
  if (const auto forms = cls.overloads.find("forward"); forms != cls.overloads.end() && cls.pre_hooks.empty() && cls.hooks.empty()) {
    std::vector<Function*> list;
    for (const std::string& name : forms->second) list.push_back(cls.method(name));
    return call_overloads(list, object, arguments, range);
  }
  Function* forward = cls.method("forward");
  if (!forward) fail("Module '" + short_name(cls.name) + "' has no method forward to call", range);
  // Layers of recurrent networks take packed sequences by a method of their own.
  if (!arguments.positional.empty() && arguments.positional[0]->kind == SugarKind::Value) {
    if (unmangled(arguments.positional[0]->value->type().name()) == "__torch__.torch.nn.utils.rnn.PackedSequence")
      if (Function* const packed = cls.method("forward__packed")) forward = packed;
  }
  if (cls.pre_hooks.empty() && cls.hooks.empty()) return call_function(*forward, object, arguments, range);
  Arguments current = arguments;
  if (!arguments.keywords.empty()) fail("modules with hooks are called with positional arguments", range);
  const auto inputs = [&] {
    std::vector<Value*> values;
    for (const SugarPtr& s : current.positional) values.push_back(as_value(s, range));
    return tuple_of_values(values, range);
  };
  for (const std::string& h : cls.pre_hooks) {
    const SugarPtr r = method(object, h, {inputs()}, range);
    if (r->kind == SugarKind::Value && r->value->type().kind() == TypeKind::None) continue;
    current = Arguments();
    if (const auto items = items_of(r, range)) current.positional = *items;
    else current.positional = {r};
    current.ranges.assign(current.positional.size(), range);
  }
  SugarPtr result = call_function(*forward, object, current, range);
  for (const std::string& h : cls.hooks) {
    const SugarPtr r = method(object, h, {inputs(), as_value(result, range)}, range);
    if (!(r->kind == SugarKind::Value && r->value->type().kind() == TypeKind::None)) result = r;
  }
  return result;
}

SugarPtr Emitter::call_object(Value* object, const Arguments& arguments, const Range& range) {
  ClassType* cls = class_of(object->type());
  if (!cls) fail("a value of type " + annotation_text(object->type()) + " cannot be called", range);
  if (cls->kind == ClassKind::Module) return call_module(object, *cls, arguments, range);
  const char* name = cls->kind == ClassKind::Interface ? "forward" : "__call__";
  SugarPtr callee = try_attribute(object, *cls, name, range);
  if (!callee) callee = try_attribute(object, *cls, "forward", range);
  if (!callee) fail("'" + short_name(cls->name) + "' object cannot be called: it has no method " + name, range);
  return call(callee, arguments, range, nullptr);
}

SugarPtr Emitter::method(Value* object, const std::string& name, std::vector<Value*> values, const Range& range) {
  ClassType* cls = class_of(object->type());
  SugarPtr callee = cls ? try_attribute(object, *cls, name, range) : nullptr;
  if (!callee) fail("'" + annotation_text(object->type()) + "' object has no method " + name, range);
  Arguments arguments;
  for (Value* v : values) arguments.positional.push_back(sugar(v));
  arguments.ranges.assign(values.size(), range);
  return call(callee, arguments, range, nullptr);
}

SugarPtr Emitter::call_op(const std::string& name, std::vector<Value*> positional, const Range& range) {
  Arguments arguments;
  for (Value* v : positional) arguments.positional.push_back(sugar(v));
  arguments.ranges.assign(positional.size(), range);
  return call_builtin(name, nullptr, arguments, range);
}

SugarPtr Emitter::call_builtin(const std::string& asked, Value* self, const Arguments& arguments, const Range& range, Function* other) {
  // Archives call the operators of bits by the names of Python's operators, for tensors, too.
  Value* const first = self                                                                                ? self
                       : arguments.positional.empty() || arguments.positional[0]->kind != SugarKind::Value ? nullptr
                                                                                                           : arguments.positional[0]->value;
  const std::string name = first ? operator_on(asked.c_str(), *first, *first) : asked;
  const std::vector<Candidate>& candidates = find_candidates(name);
  const auto is_enum = [](const SugarPtr& s) {
    if (s->kind == SugarKind::Constant) return s->datum.object() && dynamic_cast<const EnumObject*>(s->datum.object()->get()) != nullptr;
    ClassType* cls = s->kind == SugarKind::Value ? class_of(s->value->type()) : nullptr;
    return cls && cls->kind == ClassKind::Enum;
  };
  const bool enums =
      (name == "aten::eq" || name == "aten::ne") && arguments.positional.size() == 2 && is_enum(arguments.positional[0]) && is_enum(arguments.positional[1]);
  const auto written = [&] { return name.compare(0, 6, "aten::") == 0 ? library_function(name.substr(6)) : nullptr; };
  if (candidates.empty() && !find_builtin(name))
    if (Function* const f = written()) return call_function(*f, self, arguments, range);
  const bool subscripts = name == "aten::einsum" && first && first->type().is_tensor();
  if (candidates.empty() || enums || subscripts) {
    // Builtins of any arguments.
    const std::string exact = enums ? name + ".enum" : subscripts ? name + ".sublist" : name;
    if (!find_builtin(exact)) fail("there is no operator " + name, range);
    if (!arguments.keywords.empty()) fail(short_name(name) + "() has no keyword argument '" + arguments.keywords[0].first + "'", range);
    std::vector<Value*> inputs;
    if (self) inputs.push_back(self);
    for (size_t i = 0; i < arguments.positional.size(); i++) {
      Value* v = as_value(arguments.positional[i], range);
      const bool is_list =
          (subscripts && (i % 2 == 1 || i + 1 == arguments.positional.size())) || (name == "aten::broadcast_shapes" && v->type().kind() == TypeKind::Tuple);
      inputs.push_back(is_list ? convert(v, Type::list(TypeKind::Int), range, true) : v);
      if (!inputs.back() || (subscripts && !is_list && !v->type().is_tensor()))
        fail(short_name(name) + "() expected " + (is_list ? "a list of ints" : "a tensor") + " here, got " + annotation_text(v->type()), arguments.ranges[i]);
    }
    const int count = static_cast<int>(inputs.size());
    if (count < find_builtin(exact)->min_inputs || count > find_builtin(exact)->max_inputs) fail(name + ": another number of arguments is expected", range);
    Type result = find_builtin(exact)->result;
    if (exact == "aten::_unwrap_optional" || exact == "prim::unchecked_unwrap_optional")
      result = inputs[0]->type().kind() == TypeKind::Optional ? inputs[0]->type().elements()[0] : inputs[0]->type();
    if ((exact == "aten::wait" || exact == "prim::awaitable_wait") && inputs[0]->type().kind() == TypeKind::Future) result = inputs[0]->type().elements()[0];
    if (exact == "prim::awaitable_nowait" || exact == "prim::future") result = Type::future(inputs[0]->type());
    return sugar(make(exact.c_str(), inputs, range, result));
  }
  std::string reasons;
  size_t told = 0;
  for (const bool implicit : {false, true}) {
    for (const Candidate& c : candidates) {
      std::map<std::string, Type> bound;
      std::string why;
      std::vector<Value*> inputs;
      if (!match(c.schema, self, arguments, range, implicit, inputs, bound, why)) {
        if (!implicit && told++ < 12) reasons += "\n  " + c.schema.text() + ":\n    " + why;
        continue;
      }
      if (c.op) {
        Node* n = graph_.create(dispatch::OpHandle(c.op), inputs, block_->return_node());
        place(n, range);
        if (n->outputs().empty()) return sugar_constant(Datum());
        if (n->outputs().size() == 1) return sugar(n->output());
        std::vector<Value*> outputs;
        for (const auto& o : n->outputs()) outputs.push_back(o.get());
        Value* t = tuple_of_values(outputs, range);
        std::vector<Type> types;
        for (const Value* v : outputs) types.push_back(v->type());
        std::vector<std::string> fields = c.schema.return_names;
        if (std::any_of(fields.begin(), fields.end(), [](const std::string& s) { return s.empty(); })) fields.clear();
        t->set_type(Type::tuple(std::move(types), std::move(fields)));
        return sugar(t);
      }
      Node* n = graph_.create(*c.builtin, inputs, block_->return_node());
      place(n, range);
      const Type result = c.schema.returns.empty()       ? Type(TypeKind::None)
                          : c.schema.returns.size() == 1 ? substitute(c.schema.returns[0], bound)
                                                         : substitute(Type::tuple(c.schema.returns), bound);
      n->output()->set_type(result);
      if (result.kind() == TypeKind::None) return sugar_constant(Datum());
      return sugar(n->output());
    }
    if (!other && !implicit) other = written();
    if (!other) continue;
    other->ensure_defined();
    std::map<std::string, Type> bound;
    std::string why;
    std::vector<Value*> inputs;
    if (match(other->schema, self, arguments, range, implicit, inputs, bound, why)) return call_function(*other, self, arguments, range);
    if (!implicit) reasons += "\n  " + other->schema.text() + ":\n    " + why;
  }
  fail("Arguments for call are not valid.\nThe following variants of " + name + " are available:" + reasons + "\nThe original call is", range);
}

Value* Emitter::convert(Value* v, const Type& to, const Range& range, bool implicit, int broadcast) {
  const Type& from = v->type();
  if (is_uninitialized(v)) return v;
  if (is_subtype(from, to)) {
    // dtypes, layouts and memory formats may be written as the ints that they are.
    if (from.kind() == TypeKind::Int) {
      const Type& inner = to.kind() == TypeKind::Optional ? to.elements()[0] : to;
      if (inner.kind() == TypeKind::DType) {
        if (v->is_constant() && v->constant()->isInt()) return constant(Datum(dtype_of_number(v->constant()->toInt())));
        return make("prim::dtype_of_int", {v}, range, TypeKind::DType);
      }
      if (inner.kind() == TypeKind::Layout && v->is_constant()) return graph_.constant(Datum(layout_of_number(v->constant()->toInt())));
      if (inner.kind() == TypeKind::MemoryFormat && v->is_constant()) return graph_.constant(Datum(static_cast<MemoryFormat>(v->constant()->toInt())));
    }
    const auto is_optional = [](const Type& t, TypeKind of) { return t.kind() == TypeKind::Optional && t.elements()[0].kind() == of; };
    if (is_optional(from, TypeKind::Int) && is_optional(to, TypeKind::DType)) return make("prim::dtype_of_int", {v}, range, to);
    return v;
  }
  const Type& inner = to.kind() == TypeKind::Optional ? to.elements()[0] : to;
  if (broadcast > 0 && inner.kind() == TypeKind::List) {
    const Type& element = inner.elements()[0];
    if (is_subtype(from, element)) return list_of_values(std::vector<Value*>(static_cast<size_t>(broadcast), v), element, range);
  }
  if (inner.kind() == TypeKind::List && from.kind() == TypeKind::Tuple && implicit) {
    const Type& element = inner.elements()[0];
    if (std::all_of(from.elements().begin(), from.elements().end(),
                    [&](const Type& t) { return is_subtype(t, element) || (t.is_tensor() && element.kind() == TypeKind::Int); })) {
      std::vector<Value*> elements;
      const std::vector<SugarPtr> items = *items_of(sugar(v), range);
      for (const SugarPtr& s : items) elements.push_back(convert(s->value, element, range, true));
      return list_of_values(elements, element, range);
    }
  }
  if (inner.kind() == TypeKind::List && from.kind() == TypeKind::List) {
    const Type &a = from.elements()[0], &b = inner.elements()[0];
    // A literal without elements takes the type that is asked for.
    const bool is_literal = v->node() && v->node()->kind() == NodeKind::List && !named_.count(v);
    if (is_literal && v->node()->inputs().empty() && v->uses().empty()) {
      v->set_type(Type::list(b));
      return v;
    }
    if (implicit && is_literal && b.kind() == TypeKind::Int && a.is_tensor()) {
      std::vector<Value*> elements;
      for (Value* e : v->node()->inputs()) elements.push_back(make("aten::IntImplicit", {e}, range, TypeKind::Int));
      return list_of_values(elements, b, range);
    }
  }
  if (inner.kind() == TypeKind::Dict && v->node() && v->node()->kind() == NodeKind::Dict && v->node()->inputs().empty() && v->uses().empty() &&
      !named_.count(v) && from.kind() == TypeKind::Dict) {
    v->set_type(inner);
    return v;
  }
  if (inner.kind() == TypeKind::Tuple && from.kind() == TypeKind::Tuple && inner.elements().size() == from.elements().size() &&
      (inner.name().empty() || from.name().empty() || inner.name() == from.name())) {
    std::vector<Value*> elements;
    const auto items = *items_of(sugar(v), range);
    for (size_t i = 0; i < items.size(); i++) {
      Value* e = convert(items[i]->value, inner.elements()[i], range, implicit);
      if (!e) return nullptr;
      elements.push_back(e);
    }
    if (!inner.name().empty() && from.name().empty()) return nullptr;
    Value* t = tuple_of_values(elements, range);
    t->set_type(inner);
    return t;
  }
  if (!implicit) return nullptr;
  // A tuple for a list that is one of several types.
  if (inner.kind() == TypeKind::Union && from.kind() == TypeKind::Tuple)
    for (const Type& one : inner.elements())
      if (one.kind() == TypeKind::List)
        if (Value* list = convert(v, one, range, implicit)) return list;
  if (from.is_tensor()) {
    if (inner.kind() == TypeKind::Int) return make("aten::IntImplicit", {v}, range, TypeKind::Int);
    if (inner.kind() == TypeKind::Float) return make("aten::FloatImplicit", {v}, range, TypeKind::Float);
    if (inner.kind() == TypeKind::Number) return make("aten::ScalarImplicit", {v}, range, TypeKind::Number);
  }
  if (from.kind() == TypeKind::Number) {
    if (inner.kind() == TypeKind::Int) return make("aten::Int.Scalar", {v}, range, TypeKind::Int);
    if (inner.kind() == TypeKind::Float) return make("aten::Float.Scalar", {v}, range, TypeKind::Float);
  }
  if (from.kind() == TypeKind::String && inner.kind() == TypeKind::Device) {
    if (v->is_constant()) return graph_.constant(Datum(Device(v->constant()->to_string())));
    return make("aten::device", {v}, range, TypeKind::Device);
  }
  return nullptr;
}

namespace {

// Operators read their lists, so that one of a narrower type will do; functions may write theirs.
bool is_operator_of(const Schema& schema) { return schema.name.find("::") != std::string::npos; }

}  // namespace

Value* Emitter::as_elements(Value* v, const Type& to, const Range& range) {
  const Type& inner = to.kind() == TypeKind::Optional ? to.elements()[0] : to;
  if (inner.kind() != TypeKind::List || v->type().kind() != TypeKind::List || !is_subtype(v->type().elements()[0], inner.elements()[0])) return nullptr;
  return make("prim::unchecked_cast", {v}, range, inner);
}

bool Emitter::match(const Schema& schema, Value* self, const Arguments& arguments, const Range& range, bool implicit, std::vector<Value*>& inputs,
                    std::map<std::string, Type>& bound, std::string& why) {
  size_t next = 0;  // positional
  std::vector<bool> used(arguments.keywords.size());
  std::vector<SugarPtr> given(schema.arguments.size());
  std::vector<Range> ranges(schema.arguments.size(), range);
  size_t first = 0;
  // Functions of torch call the tensor `input` that operators call `self`.
  const bool is_operator = schema.name.compare(0, 6, "aten::") == 0 && schema.index_of("input") < 0;
  if (self && !schema.arguments.empty()) {
    const int at = schema.index_of("self");
    given[at > 0 && schema.arguments[0].name != "self" && schema.name.compare(0, 6, "aten::") == 0 ? static_cast<size_t>(at) : 0] = sugar(self);
  }
  for (size_t i = first; i < schema.arguments.size(); i++) {
    const SchemaArgument& a = schema.arguments[i];
    if (given[i]) continue;
    if (!a.keyword_only && next < arguments.positional.size()) {
      // torch.zeros(2, 3): the numbers that are left make the list that is asked for.
      const Type& t = a.type;
      const bool takes_ints = t.kind() == TypeKind::List && t.elements()[0].kind() == TypeKind::Int && schema.name.find("::") != std::string::npos;
      const bool is_last = i + 1 == schema.arguments.size() || schema.arguments[i + 1].keyword_only;
      const auto is_int = [&](const SugarPtr& s) {
        return (s->kind == SugarKind::Value && s->value->type().kind() == TypeKind::Int) || (s->kind == SugarKind::Constant && s->datum.isInt()) ||
               (implicit && s->kind == SugarKind::Value && s->value->type().is_tensor());
      };
      if (takes_ints && is_last && is_int(arguments.positional[next]) && (a.broadcast == 0 || next + 1 < arguments.positional.size())) {
        std::vector<Value*> elements;
        bool fits = true;
        for (size_t k = next; k < arguments.positional.size(); k++) {
          fits = fits && is_int(arguments.positional[k]);
          if (fits) elements.push_back(convert(as_value(arguments.positional[k], range), TypeKind::Int, range, true));
        }
        if (fits) {
          given[i] = sugar(list_of_values(elements, TypeKind::Int, range));
          next = arguments.positional.size();
          continue;
        }
      }
      // torch.einsum("ij,jk", x, y): so do tensors.
      const auto is_tensor = [](const SugarPtr& p) { return p->kind == SugarKind::Value && p->value->type().is_tensor(); };
      const bool takes_tensors = t.kind() == TypeKind::List && t.elements()[0].is_tensor() && schema.name.find("::") != std::string::npos;
      if (takes_tensors && is_last && (i > 0 || arguments.positional.size() > 1) && is_tensor(arguments.positional[next])) {
        std::vector<Value*> elements;
        for (size_t k = next; k < arguments.positional.size() && is_tensor(arguments.positional[k]); k++) elements.push_back(arguments.positional[k]->value);
        if (next + elements.size() == arguments.positional.size()) {
          given[i] = sugar(list_of_values(elements, TypeKind::Tensor, range));
          next = arguments.positional.size();
          continue;
        }
      }
      if (next < arguments.ranges.size()) ranges[i] = arguments.ranges[next];
      given[i] = arguments.positional[next++];
      continue;
    }
    for (size_t k = 0; k < arguments.keywords.size(); k++)
      if (arguments.keywords[k].first == a.name || (a.name == "self" && is_operator && arguments.keywords[k].first == "input")) {
        given[i] = arguments.keywords[k].second;
        used[k] = true;
      }
  }
  if (next < arguments.positional.size()) {
    why = str("expected at most ", schema.arguments.size(), " arguments but found ", arguments.positional.size() + (self ? 1 : 0), " positional arguments");
    return false;
  }
  for (size_t k = 0; k < used.size(); k++)
    if (!used[k]) {
      why = (schema.index_of(arguments.keywords[k].first) >= 0 ? "argument " + arguments.keywords[k].first + " specified twice"
                                                               : "Unknown keyword argument '" + arguments.keywords[k].first + "'");
      return false;
    }
  for (size_t i = 0; i < schema.arguments.size(); i++) {
    const SchemaArgument& a = schema.arguments[i];
    if (!given[i]) {
      if (!a.default_value) {
        why = "Argument " + a.name + " not provided";
        return false;
      }
      inputs.push_back(constant_value(*a.default_value, range, &a.type));
      if (inputs.back()->type() != a.type && inputs.back()->type().kind() == TypeKind::List && a.type.kind() == TypeKind::List &&
          inputs.back()->uses().empty() && !inputs.back()->is_constant())
        inputs.back()->set_type(a.type);
      continue;
    }
    Value* v = as_value(given[i], ranges[i], has_variables(a.type) ? nullptr : &a.type);
    if (has_variables(a.type)) {
      auto more = bound;
      if (!match_type(a.type, v->type(), more) || (!is_variable(a.type) && !is_subtype(v->type(), substitute(a.type, more)))) {
        // An empty list literal is of the type that is asked for.
        Value* c = nullptr;
        const Type now = substitute(a.type, bound);
        if (v->type().kind() == TypeKind::List && v->node() && v->node()->kind() == NodeKind::List) c = convert(v, now, range, true);
        if (v->type().kind() == TypeKind::Tuple && a.type.kind() == TypeKind::List && implicit) {
          const auto items = *items_of(sugar(v), range);
          std::vector<Value*> elements;
          for (const SugarPtr& s : items) elements.push_back(s->value);
          if (!elements.empty()) c = list_of_values(elements, elements[0]->type(), range);
        }
        if (!c || !match_type(a.type, c->type(), bound)) {
          why = "Expected a value of type '" + annotation_text(now) + "' for argument '" + a.name + "' but instead found type '" + annotation_text(v->type()) +
                "'.";
          return false;
        }
        inputs.push_back(c);
        continue;
      }
      // A list is only given values of its own type.
      if (is_variable(a.type)) {
        if (const auto at = bound.find(a.type.name()); at != bound.end() && i > 0) {
          const bool holder = schema.arguments[0].type.kind() == TypeKind::List || schema.arguments[0].type.kind() == TypeKind::Dict;
          if (holder && !is_subtype(v->type(), at->second)) {
            if (Value* c = convert(v, at->second, range, implicit)) {
              inputs.push_back(c);
              continue;
            }
            why = "Could not match type " + annotation_text(v->type()) + " to " + annotation_text(at->second) + " in argument '" + a.name + "'";
            return false;
          }
          if (holder) {
            inputs.push_back(v);
            continue;
          }
        }
      }
      bound = std::move(more);
      inputs.push_back(v);
      continue;
    }
    Value* c = convert(v, a.type, ranges[i], implicit, a.broadcast);
    if (!c && is_operator_of(schema)) c = as_elements(v, a.type, ranges[i]);
    if (!c) {
      why = "Expected a value of type '" + annotation_text(a.type) + "' for argument '" + a.name + "' but instead found type '" + annotation_text(v->type()) +
            "'.";
      if (v->type().kind() == TypeKind::Optional && is_subtype(v->type().elements()[0], a.type))
        why += " Check that it is not None first, which refines its type.";
      return false;
    }
    inputs.push_back(c);
  }
  return true;
}

// ---- functions of the compiler

SugarPtr Emitter::fork(const Arguments& given, const Range& range, const char* op) {
  if (given.positional.empty()) fail("fork: expected a function", range);
  Arguments arguments = given;
  if (const SugarPtr& first = given.positional[0]; first->kind == SugarKind::Special && first->text == "closure") {
    // def __forked_function(): return f(x)
    const Ast& body = *first->ast->kids.back();
    const Ast* result = body.kids.empty() || body.kids.back()->kind != AstKind::Return ? nullptr : body.kids.back()->kid(0);
    if (!result) fail("fork: expected a function that returns a call", range);
    for (size_t i = 0; i + 1 < body.kids.size(); i++) {
      bool unused = false;
      statement(body[i], nullptr, unused);
    }
    SugarPtr callee = result->kind == AstKind::Call ? expression((*result)[0]) : nullptr;
    if (!callee || callee->kind != SugarKind::Function) {
      Value* done = value(*result);
      return sugar(make("prim::future", {done}, range, Type::future(done->type())));
    }
    arguments = arguments_of(*result);
    arguments.positional.insert(arguments.positional.begin(), callee);
    arguments.ranges.insert(arguments.ranges.begin(), range);
  }
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin());
  if (!rest.ranges.empty()) rest.ranges.erase(rest.ranges.begin());
  SugarPtr callee = arguments.positional[0];
  Value* self = callee->self;
  if (callee->kind == SugarKind::Value) {
    ClassType* cls = class_of(callee->value->type());
    Function* forward = cls ? cls->method("forward") : nullptr;
    if (!forward) fail("fork: expected a function or a module", range);
    self = callee->value;
    callee = sugar(forward);
  }
  if (callee->kind != SugarKind::Function) {
    Value* done = as_value(call(callee, rest, range, nullptr), range);
    return sugar(make("prim::future", {done}, range, Type::future(done->type())));
  }
  Function& f = *callee->function;
  define(f, range);
  std::map<std::string, Type> bound;
  std::string why;
  std::vector<Value*> inputs;
  if (!match(f.schema, self, rest, range, true, inputs, bound, why)) fail("fork: " + short_name(f.name) + "() " + why, range);
  inputs.insert(inputs.begin(), constant(Datum(f.name)));
  return sugar(make(op, inputs, range, Type::future(f.schema.returns.empty() ? Type() : f.schema.returns[0])));
}

SugarPtr Emitter::print_call(const Arguments& arguments, const Range& range) {
  std::vector<Value*> inputs;
  for (const SugarPtr& s : arguments.positional) inputs.push_back(as_value(s, range));
  make("prim::Print", inputs, range, TypeKind::None);
  return sugar_constant(Datum());
}

SugarPtr Emitter::cast(const std::string& type, const Arguments& arguments, const Range& range, const Type* hint) {
  if (type == "list") {
    if (arguments.positional.empty())
      return sugar(list_of_values({}, hint && hint->kind() == TypeKind::List ? hint->elements()[0] : Type(TypeKind::Tensor), range));
    const SugarPtr s = arguments.positional[0];
    if (s->kind == SugarKind::Value &&
        (s->value->type().kind() == TypeKind::List || s->value->type().kind() == TypeKind::String || s->value->type().kind() == TypeKind::Dict))
      return call_op(s->value->type().kind() == TypeKind::Dict ? "aten::keys" : "aten::list", {s->value}, range);
    const Iterable it = iterable(s, range);
    if (it.unrolled) {
      std::vector<Value*> elements;
      for (const SugarPtr& e : *it.unrolled) elements.push_back(as_value(e, range));
      Type element = elements.empty() ? Type(TypeKind::Tensor) : elements[0]->type();
      for (const Value* e : elements)
        if (const auto u = unify(element, e->type())) element = *u;
      return sugar(list_of_values(elements, element, range));
    }
    Node* made = create(NodeKind::List, {}, range);
    Ast nothing(AstKind::Block, range);
    loop_node(range, nothing, it.length, constant(Datum(true)),
              [&](Value* i) {
                Value* v = as_value(it.element(i), range);
                made->output()->set_type(Type::list(v->type()));
                call_op("aten::append", {made->output(), v}, range);
              },
              nullptr, {});
    return sugar(made->output());
  }
  if (type == "tuple") {
    if (arguments.positional.empty()) return sugar(SugarKind::Tuple);
    if (SugarPtr t = tuple_items(arguments.positional[0], range)) return t;
    Value* v = as_value(arguments.positional[0], range);
    ClassType* cls = class_of(v->type());
    if (cls && !cls->container.empty()) {
      const SugarPtr t = sugar(SugarKind::Tuple);
      t->items = *iterable(sugar(v), range).unrolled;
      return t;
    }
    fail("tuple: expected a value whose length is known, got " + annotation_text(v->type()), range);
  }
  if (type == "dict") {
    if (arguments.positional.empty()) {
      Node* n = create(NodeKind::Dict, {}, range);
      n->output()->set_type(hint && hint->kind() == TypeKind::Dict ? *hint : Type::dict(TypeKind::String, TypeKind::Tensor));
      if (!arguments.keywords.empty()) {
        bool first = true;
        for (const auto& [key, s] : arguments.keywords) {
          Value* v = as_value(s, range);
          if (std::exchange(first, false)) n->output()->set_type(Type::dict(TypeKind::String, v->type()));
          call_op("aten::_set_item", {n->output(), constant(Datum(key)), v}, range);
        }
      }
      return sugar(n->output());
    }
    Arguments first;
    first.positional = {arguments.positional[0]};
    const bool is_zip = first.positional[0]->kind == SugarKind::Zip;
    const SugarPtr made = call_op("aten::dict", {as_value(is_zip ? cast("list", first, range, nullptr) : first.positional[0], range)}, range);
    for (const auto& [key, s] : arguments.keywords) call_op("aten::_set_item", {as_value(made, range), constant(Datum(key)), as_value(s, range)}, range);
    return made;
  }
  if (arguments.positional.empty()) {
    if (type == "str") return sugar_constant(Datum(""));
    if (type == "int") return sugar_constant(Datum(int64_t{0}));
    if (type == "float") return sugar_constant(Datum(0.0));
    return sugar_constant(Datum(false));
  }
  Value* v = as_value(arguments.positional[0], range);
  if (type == "str") {
    if (v->type().kind() == TypeKind::Class && class_of(v->type()) && class_of(v->type())->method("__str__")) return method(v, "__str__", {}, range);
    return call_op("aten::str", {v}, range);
  }
  if (type == "bool") return sugar(to_bool(v, range));
  if (type == "complex") {
    if (arguments.positional.size() == 1 && arguments.keywords.empty()) {
      ClassType* const cls = class_of(v->type());
      return cls && cls->method("__complex__") ? method(v, "__complex__", {}, range) : call_op("aten::Complex", {v}, range);
    }
    Value* w = as_value(arguments.positional.size() > 1 ? arguments.positional[1] : arguments.keywords[0].second, range);
    return call_op("aten::Complex", {v, w}, range);
  }
  if (v->type().kind() == (type == "int" ? TypeKind::Int : TypeKind::Float)) return sugar(v);
  if (v->type().kind() == TypeKind::Class)
    if (ClassType* cls = class_of(v->type()); cls && cls->method("__" + type + "__")) return method(v, "__" + type + "__", {}, range);
  return call_op(type == "int" ? "aten::Int" : "aten::Float", {v}, range);
}

SugarPtr Emitter::special(const std::string& what, const Ast& a, const Type* hint, const SugarPtr& callee) {
  const Range& range = a.range;
  if (what == "isinstance" || what == "hasattr" || what == "is_scripting" || what == "is_tracing") {
    const Condition c = special_condition(what, a);
    return c.known ? sugar_constant(Datum(*c.known)) : sugar(c.value);
  }
  if (what == "annotate" || what == "cast") {
    if (a.kids.size() != 3) fail("annotate: expected a type and a value", range);
    const Type type = annotation(a[1]);
    Value* v = value(a[2], &type);
    Value* c = convert(v, type, range, true);
    if (!c) fail("expected an expression of type " + annotation_text(type) + " but instead found type " + annotation_text(v->type()), range);
    if (c->type() != type) c = make("prim::unchecked_cast", {c}, range, type);
    return sugar(c);
  }
  if (what == "unchecked_cast") {
    const Type type = annotation(a[1]);
    return sugar(make("prim::unchecked_cast", {value(a[2], &type)}, range, type));
  }
  if (what == "__new__" && callee->cls->custom) {
    const SugarPtr s = sugar_text(SugarKind::Special, "__new__ of C++");
    s->cls = callee->cls;
    return s;
  }
  if (what == "__init__ of C++") {
    const SugarPtr& object = callee->items[0];
    const SugarPtr made = call_class(*object->cls, arguments_of(a), range);
    object->kind = SugarKind::Value;
    object->value = made->value;
    return sugar_constant(Datum());
  }
  if (what == "__new__") return sugar(make("prim::CreateObject", {constant(Datum(callee->cls->name))}, range, callee->cls->type()));
  if (what == "uninitialized") return sugar(uninitialized(annotation(a[1]), range));
  if (what == "getattr") {
    if (a.kids.size() != 3 && a.kids.size() != 4) fail("getattr: expected an object, a name and maybe a default", range);
    if (a[2].kind != AstKind::Literal || !a[2].value.isString()) fail("getattr: the name must be a string literal", a[2].range);
    const SugarPtr object = expression(a[1]);
    if (a.kids.size() == 4 && !has_attribute(what, object, a[1].range, a[2])) return expression(a[3], hint);
    return attribute(object, a[2].value.to_string(), range);
  }
  if (what == "super") {
    const SugarPtr s = sugar(SugarKind::Super);
    if (const SugarPtr self = find("self")) s->self = self->value;
    return s;
  }
  if (what == "no_grad" || what == "enable_grad" || what == "record_function") return callee;
  const Type string_hint = TypeKind::String;
  Arguments arguments = arguments_of(a);
  const auto one = [&](size_t i) { return as_value(arguments.positional.at(i), range); };
  if (what == "range") {
    const SugarPtr s = sugar_text(SugarKind::Zip, "range");
    if (arguments.positional.empty() || arguments.positional.size() > 3) fail("range: expected 1 to 3 ints", range);
    std::vector<Value*> parts;
    for (const SugarPtr& p : arguments.positional) {
      Value* v = convert(as_value(p, range), TypeKind::Int, range, true);
      if (!v) fail("range: expected ints, got " + annotation_text(as_value(p, range)->type()), range);
      parts.push_back(v);
    }
    if (parts.size() == 1) parts.insert(parts.begin(), constant(Datum(int64_t{0})));
    if (parts.size() == 2) parts.push_back(constant(Datum(int64_t{1})));
    for (Value* p : parts) s->items.push_back(sugar(p));
    return s;
  }
  if (what == "enumerate" || what == "zip") {
    const SugarPtr s = sugar_text(SugarKind::Zip, what);
    if (arguments.positional.empty()) fail(what + ": expected something to go over", range);
    if (what == "enumerate") {
      Value* start = arguments.positional.size() > 1 ? one(1)
                     : arguments.keywords.empty()    ? constant(Datum(int64_t{0}))
                                                     : as_value(arguments.keywords[0].second, range);
      s->items = {sugar(start), arguments.positional[0]};
    } else {
      s->items = arguments.positional;
    }
    return s;
  }
  if (what == "reversed") {
    Value* v = as_value(cast("list", arguments, range, nullptr), range);
    call_op("aten::reverse", {v}, range);
    return sugar(v);
  }
  if (what == "len") {
    if (arguments.positional.size() != 1) fail("len: expected one argument", range);
    const SugarPtr s = arguments.positional[0];
    if (const auto items = s->kind == SugarKind::Value && s->value->type().kind() != TypeKind::Tuple ? std::nullopt : items_of(s, range))
      return sugar_constant(Datum(static_cast<int64_t>(items->size())));
    if (s->kind == SugarKind::Zip) return sugar(iterable(s, range).length);
    Value* v = as_value(s, range);
    ClassType* cls = class_of(v->type());
    if (cls && cls->kind == ClassKind::Module && !cls->container.empty() && !cls->method("__len__")) {
      const size_t n = iterable(s, range).unrolled->size();
      return sugar_constant(Datum(static_cast<int64_t>(n)));
    }
    if (cls) return method(v, "__len__", {}, range);
    return call_op("aten::len", {v}, range);
  }
  if (what == "print") {
    if (!arguments.keywords.empty()) fail("print: keyword arguments, such as " + arguments.keywords[0].first + ", are not part of TorchScript", range);
    return print_call(arguments, range);
  }
  if (what == "slice") {
    const size_t n = arguments.positional.size();
    if (n < 1 || n > 3 || !arguments.keywords.empty()) fail("slice: expected 1 to 3 bounds", range);
    const SugarPtr s = sugar(SugarKind::Slice);
    s->items.resize(3);
    for (size_t i = 0; i < n; i++) s->items[n == 1 ? 1 : i] = arguments.positional[i];
    return s;
  }
  if (what == "int" || what == "float" || what == "bool" || what == "str" || what == "list" || what == "tuple" || what == "dict" || what == "complex")
    return cast(what, arguments, range, hint);
  if (what == "abs" || what == "round" || what == "min" || what == "max" || what == "sorted" || what == "sum" || what == "any" || what == "all" ||
      what == "divmod" || what == "pow") {
    const std::string name = (what == "abs" || what == "min" || what == "max" ? "prim::" : "aten::") + what;
    if ((what == "min" || what == "max") && arguments.positional.size() > 2) {
      SugarPtr best = arguments.positional[0];
      for (size_t i = 1; i < arguments.positional.size(); i++) best = call_op(name, {as_value(best, range), one(i)}, range);
      return best;
    }
    if (!arguments.positional.empty()) {
      Value* v = one(0);
      if (v->type().is_tensor() && what != "abs") {
        if (what == "pow" || what == "sum" || what == "any" || what == "all" || what == "round")
          return call_builtin("aten::" + what, nullptr, arguments, range);
        if (what == "min" || what == "max") return call_builtin("aten::" + what, nullptr, arguments, range);
      }
      if (v->type().kind() == TypeKind::Class) return method(v, "__" + what + "__", {}, range);
      if (what == "sorted" && v->type().kind() == TypeKind::String) v = as_value(cast("list", arguments, range, nullptr), range);
      if (what == "sorted" && v->type().kind() == TypeKind::List) {
        Value* copy = as_value(call_op("aten::sorted", {v}, range), range);
        for (const auto& [key, s] : arguments.keywords) {
          if (key != "reverse") fail("sorted: '" + key + "' is not part of TorchScript", range);
          call_op("aten::sort", {copy, as_value(s, range)}, range);
        }
        return sugar(copy);
      }
      if (v->type().kind() == TypeKind::Tuple && arguments.positional.size() == 1) arguments.positional = {cast("list", arguments, range, nullptr)};
    }
    return call_builtin(name, nullptr, arguments, range);
  }
  if (what == "ord" || what == "chr" || what == "hex" || what == "oct" || what == "bin" || what == "hash")
    return call_builtin("aten::" + what, nullptr, arguments, range);
  if (what == "fork") return fork(arguments, range, "prim::fork");
  if (what == "_awaitable") return fork(arguments, range, "prim::awaitable");
  if (what == "_awaitable_nowait") return sugar(make("prim::awaitable_nowait", {one(0)}, range, Type::future(one(0)->type())));
  if (what == "wait" || what == "future.wait" || what == "future.value" || what == "_awaitable_wait") {
    Value* f = callee->self ? callee->self : one(0);
    if (f->type().kind() != TypeKind::Future) fail("wait: expected a Future, got a value of type " + annotation_text(f->type()), range);
    return sugar(make(what == "_awaitable_wait" ? "prim::awaitable_wait" : "aten::wait", {f}, range, f->type().elements()[0]));
  }
  if (what == "module.items" || what == "module.keys" || what == "module.values" || what == "module.children" || what == "module.named_children" ||
      what == "module.parameters" || what == "module.named_parameters" || what == "module.buffers" || what == "module.named_buffers" ||
      what == "module.modules" || what == "module.named_modules") {
    ClassType* cls = class_of(callee->self->type());
    const bool named = what == "module.items" || what.find("named") != std::string::npos, keys = what == "module.keys";
    const SugarPtr out = sugar(SugarKind::Tuple);
    const bool parameters = what.find("parameters") != std::string::npos || cls->container == "ParameterDict",
               buffers = what.find("buffers") != std::string::npos;
    const bool deep = what.find("modules") != std::string::npos || parameters || buffers;
    const std::function<void(Value*, ClassType&, const std::string&)> walk = [&](Value* v, ClassType& c, const std::string& prefix) {
      if (what.find("modules") != std::string::npos) {
        const SugarPtr t = sugar(SugarKind::Tuple);
        t->items = {sugar_constant(Datum(prefix)), sugar(v)};
        out->items.push_back(named ? t : sugar(v));
      }
      for (const Attribute& attribute : c.attributes) {
        ClassType* part = class_of(attribute.type);
        const bool is_module = part && part->kind == ClassKind::Module;
        const std::string path = prefix.empty() ? attribute.name : prefix + "." + attribute.name;
        const bool wanted = parameters ? attribute.is_parameter : buffers ? attribute.is_buffer : is_module && what.find("modules") == std::string::npos;
        Value* e = wanted || (deep && is_module) ? make("prim::GetAttr", {v, constant(Datum(attribute.name))}, range, attribute.type) : nullptr;
        if (wanted) {
          const SugarPtr t = sugar(SugarKind::Tuple);
          t->items = {sugar_constant(Datum(path)), sugar(e)};
          out->items.push_back(keys ? t->items[0] : named ? t : t->items[1]);
        }
        if (deep && is_module) walk(e, *part, path);
      }
    };
    walk(callee->self, *cls, "");
    return out;
  }
  if (what == "device") {
    if (arguments.positional.size() == 1 && one(0)->type().kind() == TypeKind::Device) return arguments.positional[0];
    if (arguments.positional.size() == 1 && one(0)->is_constant() && one(0)->constant()->isString())
      return sugar(constant_value(Datum(Device(one(0)->constant()->to_string())), range));
    return call_builtin("aten::device", nullptr, arguments, range);
  }
  if (const auto dtype = dtype_of_old_type(what)) return old_tensor(*dtype, std::move(arguments), range);
  if (what == "autograd.grad") {
    for (SugarPtr& s : arguments.positional)
      if (s->kind == SugarKind::Value && s->value->type().is_tensor()) s = sugar(list_of_values({s->value}, TypeKind::Tensor, range));
    return call_builtin("aten::grad", nullptr, arguments, range);
  }
  if (what.compare(0, 7, "tensor.") == 0) {
    const std::string name = what.substr(7);
    Value* t = callee->self;
    static const std::map<std::string, ScalarType> kCasts = {{"double", kDouble},    {"float", kFloat}, {"half", kHalf},           {"bfloat16", kBFloat16},
                                                             {"int", kInt},          {"long", kLong},   {"bool", kBool},           {"short", kShort},
                                                             {"char", kChar},        {"byte", kByte},   {"cfloat", kComplexFloat}, {"cdouble", kComplexDouble},
                                                             {"chalf", kComplexHalf}};
    if (const auto found = kCasts.find(name); found != kCasts.end())
      return call_op("aten::to", {t, constant(Datum(found->second)), constant(Datum(false)), constant(Datum(false)), constant(Datum())}, range);
    if (name == "cpu" || name == "cuda") {
      Value* device = graph_.constant(Datum(Device(name)));
      return call_op("aten::to", {t, device, constant(Datum()), constant(Datum(false)), constant(Datum(false))}, range);
    }
    if (name == "tolist") {
      if (!hint) fail("tolist() needs an annotation of its result: x: List[float] = t.tolist()", range);
      Type element = *hint;
      int64_t depth = 0;
      for (; element.kind() == TypeKind::List; depth++) {
        const Type inner = element.elements()[0];
        element = inner;
      }
      const int64_t kind = element.kind() == TypeKind::Int ? 0 : element.kind() == TypeKind::Float ? 1 : element.kind() == TypeKind::Bool ? 2 : 3;
      Value* v = as_value(call_op("prim::tolist", {t, constant(Datum(depth)), constant(Datum(kind))}, range), range);
      v->set_type(*hint);
      return sugar(v);
    }
    if (name == "numpy") throw NotSupportedError("NumPy arrays are not part of TorchScript", range);
    if (name == "item") return sugar(make("aten::item", {t}, range, TypeKind::Number));
    if (name == "__len__") return call_op("aten::len", {t}, range);
    if (name == "new_tensor") {
      arguments.keywords.emplace_back("dtype", call_op("prim::dtype", {t}, range));
      return call_builtin("aten::tensor", nullptr, arguments, range);
    }
    return call_builtin(name == "type" ? "aten::to" : "aten::" + name, t, arguments, range);
  }
  fail("'" + what + "' cannot be called here", range);
}

// torch.LongTensor and its kin: of sizes, or of one value that holds the numbers.
SugarPtr Emitter::old_tensor(ScalarType dtype, Arguments arguments, const Range& range) {
  std::vector<Value*> sizes;
  for (const SugarPtr& s : arguments.positional)
    if (Value* v = as_value(s, range); v->type().kind() == TypeKind::Int) sizes.push_back(v);
  const bool are_sizes = sizes.size() == arguments.positional.size();
  if (!are_sizes && arguments.positional.size() > 1)
    fail("expected sizes, or one value that holds the numbers: these are several, of which not all are int", range);
  if (sizes.empty() && are_sizes) sizes.push_back(constant(Datum(int64_t{0})));
  if (are_sizes) arguments.positional = {sugar(list_of_values(sizes, TypeKind::Int, range))}, arguments.ranges = {range};
  arguments.keywords.emplace_back("dtype", sugar_constant(Datum(dtype)));
  return call_builtin(are_sizes ? "aten::empty" : "aten::tensor", nullptr, arguments, range);
}

}  // namespace cresset::graph::script
