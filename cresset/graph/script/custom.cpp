// Registered classes of C++ (dispatch/custom_class.h) as classes of TorchScript: their methods are functions with a native body.

#include "cresset/dispatch/custom_class.h"

#include "cresset/dispatch/schema_text.h"
#include "cresset/graph/script/unit.h"

namespace cresset::graph::script {

namespace {

Schema schema_from(const dispatch::ClassMethod& method) {
  Schema s;
  s.name = method.name;
  for (const dispatch::Argument& a : method.schema.arguments) {
    SchemaArgument to;
    to.name = a.name;
    to.type = schema_type(dispatch::type_name(a.type));
    if (a.has_default) to.default_value = a.default_value;
    s.arguments.push_back(std::move(to));
  }
  s.returns = {method.schema.returns.empty() ? Type(TypeKind::None) : schema_type(dispatch::type_name(method.schema.returns[0].type))};
  return s;
}

Function* function_of(CompilationUnit& unit, ClassType& cls, const dispatch::ClassInfo& info, const dispatch::ClassMethod& method, const std::string& name) {
  Function* f = unit.create_function(cls.name + "." + name, schema_from(method));
  const Type result = f->schema.returns[0];
  f->cls = &cls;
  f->native = [&info, &method, result](std::vector<Datum>& arguments) -> Datum {
    dispatch::Stack stack = arguments;
    dispatch::call_method(info, method, stack);
    return stack.empty() ? Datum() : shared(std::move(stack[0]), result);
  };
  return f;
}

}  // namespace

ClassType* custom_class(const std::string& name) {
  static std::recursive_mutex mutex;
  static auto* const unit = new std::shared_ptr<CompilationUnit>(std::make_shared<CompilationUnit>());
  static auto* const known = new std::map<std::string, ClassType*>;
  const std::lock_guard lock(mutex);
  if (const auto found = known->find(name); found != known->end()) return found->second;
  const dispatch::ClassInfo* info = dispatch::find_class(name);
  if (!info) return nullptr;
  ClassType* cls = (*unit)->create_class(info->qualified_name(), ClassKind::Class);
  (*known)[name] = cls;
  cls->custom = info;
  if (info->constructor) {
    cls->constructor = function_of(**unit, *cls, *info, *info->constructor, "__init__");
    cls->constructor->schema.returns = {cls->type()};
  }
  for (const dispatch::ClassMethod& m : info->methods) {
    Function* f = function_of(**unit, *cls, *info, m, m.name);
    f->doc = m.doc;
    if (m.is_static) {
      cls->statics[m.name] = f;
      continue;
    }
    if (!f->schema.arguments.empty()) f->schema.arguments[0].type = cls->type();
    cls->methods[m.name] = f;
    cls->method_order.push_back(m.name);
  }
  for (const dispatch::ClassProperty& p : info->properties) {
    const std::string getter = p.name + "_getter", setter = p.set ? p.name + "_setter" : "";
    cls->methods[getter] = function_of(**unit, *cls, *info, p.get, getter);
    cls->methods[getter]->schema.arguments[0].type = cls->type();
    if (p.set) {
      cls->methods[setter] = function_of(**unit, *cls, *info, *p.set, setter);
      cls->methods[setter]->schema.arguments[0].type = cls->type();
    }
    cls->properties.push_back({p.name, getter, setter});
  }
  return cls;
}

const dispatch::ClassInfo* custom_info_of(const Datum& v) {
  if (!v.object()) return nullptr;
  const auto* holder = dynamic_cast<const CustomClassHolder*>(v.object()->get());
  return holder ? dispatch::find_class(typeid(*holder)) : nullptr;
}
Datum custom_state(const Datum& v) {
  const dispatch::ClassInfo* info = custom_info_of(v);
  CRESSET_CHECK(info && info->get_state && info->set_state, "save: an object of ", v.kind(), " has no def_pickle, and cannot be saved");
  dispatch::Stack stack{v};
  dispatch::call_method(*info, *info->get_state, stack);
  return stack[0];
}
Datum custom_from_state(ClassType& cls, Datum state) {
  CRESSET_CHECK(cls.custom && cls.custom->set_state, "archive: objects of ", cls.name, " cannot be made from their state: the class has no def_pickle");
  dispatch::Stack stack{std::move(state)};
  dispatch::call_method(*cls.custom, *cls.custom->set_state, stack);
  return stack[0];
}
Type custom_state_type(const ClassType& cls) {
  return cls.custom && cls.custom->set_state && !cls.custom->set_state->schema.arguments.empty()
             ? schema_type(dispatch::type_name(cls.custom->set_state->schema.arguments[0].type))
             : Type();
}

}  // namespace cresset::graph::script
