#include "cresset/dispatch/custom_class.h"

#include <cctype>
#include <map>
#include <mutex>

namespace cresset {

namespace dispatch {

namespace {

constexpr std::string_view kPrefix = "__torch__.torch.classes.";

// Objects of a retired class may still be about, so that none is freed.
struct Classes {
  std::mutex mutex;
  std::map<std::string, ClassInfo*, std::less<>> by_name;  // "ns.Name"
  std::map<std::string, ClassInfo*> by_type;               // the mangled name is the same in every library
};
Classes& classes() {
  static Classes& c = *new Classes;
  return c;
}

bool is_identifier(const std::string& s) {
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0]))) return false;
  for (const char c : s)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  return true;
}

}  // namespace

std::string ClassInfo::qualified_name() const { return std::string(kPrefix) + ns + "." + name; }

const ClassMethod* ClassInfo::find_method(std::string_view method) const {
  if (method == "__init__") return constructor ? &*constructor : nullptr;
  if (method == "__getstate__") return get_state ? &*get_state : nullptr;
  if (method == "__setstate__") return set_state ? &*set_state : nullptr;
  for (const ClassMethod& m : methods)
    if (m.name == method) return &m;
  return nullptr;
}
const ClassProperty* ClassInfo::find_property(std::string_view property) const {
  for (const ClassProperty& p : properties)
    if (p.name == property) return &p;
  return nullptr;
}
void ClassInfo::add(ClassMethod method) {
  CRESSET_CHECK(!find_method(method.name) && !find_property(method.name), "class_: ", qualified_name(), " has a member ", method.name, " already");
  methods.push_back(std::move(method));
}
void ClassInfo::add(ClassProperty property) {
  CRESSET_CHECK(!find_method(property.name) && !find_property(property.name), "class_: ", qualified_name(), " has a member ", property.name, " already");
  properties.push_back(std::move(property));
}

ClassInfo& register_class(const std::string& ns, const std::string& name, const std::type_info& type, const std::string& doc, const std::string& where) {
  for (const std::string& part : {ns, name})
    CRESSET_CHECK(is_identifier(part), "class_: expected a name of letters, digits and _, got \"", part, "\" at ", where);
  Classes& all = classes();
  std::lock_guard lock(all.mutex);
  const std::string key = ns + "." + name;
  if (const auto known = all.by_name.find(key); known != all.by_name.end())
    CRESSET_CHECK(false, "class_: ", key, " is registered twice, the second time at ", where, ", the first time at ", known->second->where);
  if (const auto known = all.by_type.find(type.name()); known != all.by_type.end())
    CRESSET_CHECK(false, "class_: the C++ type of ", key, " at ", where, " is registered as ", known->second->qualified_name(), " at ", known->second->where);
  auto* info = new ClassInfo;
  info->ns = ns;
  info->name = name;
  info->doc = doc;
  info->where = where;
  info->type = &type;
  all.by_name.emplace(key, info);
  all.by_type.emplace(type.name(), info);
  return *info;
}

void retire_class(const ClassInfo& info) {
  Classes& all = classes();
  std::lock_guard lock(all.mutex);
  all.by_name.erase(info.ns + "." + info.name);
  for (auto i = all.by_type.begin(); i != all.by_type.end(); ++i) {
    if (i->second != &info) continue;
    all.by_type.erase(i);
    break;
  }
}

const ClassInfo* find_class(std::string_view name) {
  if (name.substr(0, kPrefix.size()) == kPrefix) name.remove_prefix(kPrefix.size());
  Classes& all = classes();
  std::lock_guard lock(all.mutex);
  const auto found = all.by_name.find(name);
  return found == all.by_name.end() ? nullptr : found->second;
}
const ClassInfo* find_class(const std::type_info& type) {
  Classes& all = classes();
  std::lock_guard lock(all.mutex);
  const auto found = all.by_type.find(type.name());
  return found == all.by_type.end() ? nullptr : found->second;
}
std::vector<const ClassInfo*> all_classes() {
  Classes& all = classes();
  std::lock_guard lock(all.mutex);
  std::vector<const ClassInfo*> list;
  for (const auto& [name, info] : all.by_name) list.push_back(info);
  return list;
}
const ClassInfo& class_of(const std::type_info& type) {
  const ClassInfo* info = find_class(type);
  CRESSET_CHECK(info, "class_: the C++ type ", type.name(), " is used in an operator or a value, and registered as no class");
  return *info;
}

Object* object_in(const Value& v, const std::type_info& expected) {
  CRESSET_CHECK_TYPE(v.object(), class_of(expected).qualified_name(), ": expected an object of the class, got ", v.kind());
  return v.object()->get();
}

void call_method(const ClassInfo& info, const ClassMethod& method, Stack& stack) {
  const auto& arguments = method.schema.arguments;
  CRESSET_CHECK(stack.size() <= arguments.size(), info.name, ".", method.name, ": expected at most ", arguments.size(), " arguments, got ", stack.size());
  while (stack.size() < arguments.size()) {
    const Argument& a = arguments[stack.size()];
    CRESSET_CHECK(a.has_default, info.name, ".", method.name, ": misses the argument `", a.name, "`");
    stack.push_back(a.default_value);
  }
  method.call(stack);
}

}  // namespace dispatch

const char* CustomClassHolder::kind_name() const {
  const dispatch::ClassInfo* info = dispatch::find_class(typeid(*this));
  return info ? info->name.c_str() : "object";
}

intrusive_ptr<dispatch::Object> CustomClassHolder::deepcopy(Memo& memo) const {
  const dispatch::ClassInfo* info = dispatch::find_class(typeid(*this));
  if (!info || !info->get_state || !info->set_state) return dispatch::Object::deepcopy(memo);
  dispatch::Stack stack{dispatch::Value(intrusive_ptr<dispatch::Object>::share(const_cast<CustomClassHolder*>(this)))};
  info->get_state->call(stack);
  stack.back() = stack.back().deepcopy();
  info->set_state->call(stack);
  return *stack.back().object();
}

dispatch::ClassMethod ClassParts::method(const std::string& name, const dispatch::detail::Signature& signature, bool is_static, const std::string& doc,
                                         std::initializer_list<arg> args, const std::string& where) {
  dispatch::ClassMethod made;
  made.name = name;
  made.doc = doc;
  made.is_static = is_static;
  made.schema.name = name;
  for (const dispatch::Type& type : signature.arguments) {
    dispatch::Argument a;
    a.name = "_" + std::to_string(made.schema.arguments.size());
    a.type = type;
    made.schema.arguments.push_back(std::move(a));
  }
  for (const dispatch::Type& type : signature.results) made.schema.returns.emplace_back().type = type;
  const size_t first = is_static ? 0 : 1;
  CRESSET_CHECK(made.schema.arguments.size() >= first, "class_: the method ", name, " of ", where, " takes no object");
  if (!is_static) made.schema.arguments[0].name = "self";
  CRESSET_CHECK(args.size() == 0 || args.size() + first == made.schema.arguments.size(), "class_: ", name, " of ", where, " has ",
                made.schema.arguments.size() - first, " parameters and ", args.size(), " names for them: name all or none");
  size_t at = first;
  for (const arg& a : args) {
    dispatch::Argument& argument = made.schema.arguments[at++];
    if (!a.name_.empty()) argument.name = a.name_;
    argument.has_default = a.has_default_;
    argument.default_value = a.default_;
  }
  return made;
}

}  // namespace cresset
