#include "cresset/graph/script/schema.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "cresset/dispatch/schema_text.h"
#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/graph/script/unit.h"

namespace cresset::graph::script {

// ---- texts of types

namespace {

const char* plain_name(TypeKind k) {
  switch (k) {
    case TypeKind::Any: return "Any";
    case TypeKind::None: return "NoneType";
    case TypeKind::Tensor: return "Tensor";
    case TypeKind::Int: return "int";
    case TypeKind::Float: return "float";
    case TypeKind::Bool: return "bool";
    case TypeKind::Complex: return "complex";
    case TypeKind::Number: return "number";
    case TypeKind::String: return "str";
    case TypeKind::DType: return "int";
    case TypeKind::Device: return "Device";
    case TypeKind::Layout: return "int";
    case TypeKind::MemoryFormat: return "int";
    case TypeKind::Generator: return "Generator";
    default: return nullptr;
  }
}

std::string joined(const std::vector<Type>& types, std::string (*text)(const Type&)) {
  std::string s;
  for (const Type& t : types) s += (s.empty() ? "" : ", ") + text(t);
  return s;
}

}  // namespace

std::string annotation_text(const Type& t) {
  if (const char* n = plain_name(t.kind())) return t.kind() == TypeKind::DType ? "int" : n;
  switch (t.kind()) {
    case TypeKind::List: return "List[" + annotation_text(t.elements()[0]) + "]";
    case TypeKind::Optional: return "Optional[" + annotation_text(t.elements()[0]) + "]";
    case TypeKind::Dict: return "Dict[" + joined(t.elements(), annotation_text) + "]";
    case TypeKind::Union: return "Union[" + joined(t.elements(), annotation_text) + "]";
    case TypeKind::Future: return "Future[" + annotation_text(t.elements()[0]) + "]";
    case TypeKind::Tuple:
      if (!t.name().empty()) return t.name();
      return t.elements().empty() ? "Tuple[()]" : "Tuple[" + joined(t.elements(), annotation_text) + "]";
    default: return t.name();
  }
}

std::string schema_type_text(const Type& t) {
  switch (t.kind()) {
    case TypeKind::None: return "NoneType";
    case TypeKind::Number: return "Scalar";
    case TypeKind::List: return schema_type_text(t.elements()[0]) + "[]";
    case TypeKind::Optional: return schema_type_text(t.elements()[0]) + "?";
    case TypeKind::Dict: return "Dict(" + joined(t.elements(), schema_type_text) + ")";
    case TypeKind::Union: return "Union(" + joined(t.elements(), schema_type_text) + ")";
    case TypeKind::Future: return "Future(" + schema_type_text(t.elements()[0]) + ")";
    case TypeKind::Tuple: return t.name().empty() ? "(" + joined(t.elements(), schema_type_text) + ")" : t.name();
    case TypeKind::Class:
      if (ClassType* cls = class_of(t); cls && cls->kind == ClassKind::Enum) return "Enum<" + t.name() + ">";
      [[fallthrough]];
    default: return annotation_text(t);
  }
}

std::string literal_of(const Datum& v) {
  if (v.is_none()) return "None";
  if (v.isBool()) return v.toBool() ? "True" : "False";
  if (v.isInt()) return std::to_string(v.toInt());
  if (v.isDouble()) {
    const double d = v.toDouble();
    if (std::isnan(d)) return "float('nan')";
    if (std::isinf(d)) return d > 0 ? "float('inf')" : "float('-inf')";
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
      snprintf(text, sizeof text, "%.*g", digits, d);
      if (std::strtod(text, nullptr) == d) break;
    }
    std::string s = text;
    if (s.find_first_of(".e") == std::string::npos) s += ".";
    return s;
  }
  if (v.isComplexDouble()) {
    const complex<double> c = v.toComplexDouble();
    return "complex(" + literal_of(Datum(c.real())) + ", " + literal_of(Datum(c.imag())) + ")";
  }
  if (v.isString()) {
    std::string s = "\"";
    for (const char c : v.to_string()) {
      const auto u = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') s += '\\', s += c;
      else if (c == '\n') s += "\\n";
      else if (c == '\t') s += "\\t";
      else if (c == '\r') s += "\\r";
      else if (u < 0x20 || u == 0x7f) {
        char text[8];
        snprintf(text, sizeof text, "\\%03o", u);
        s += text;
      } else {
        s += c;
      }
    }
    return s + "\"";
  }
  if (v.isList()) {
    std::string s = "[";
    for (const Datum& e : v.toListVector()) s += (s.size() > 1 ? ", " : "") + literal_of(e);
    return s + "]";
  }
  if (v.isTuple()) {
    const auto& elements = v.toTupleRef().elements();
    std::string s = "(";
    for (const Datum& e : elements) s += (s.size() > 1 ? ", " : "") + literal_of(e);
    return s + (elements.size() == 1 ? ",)" : ")");
  }
  return v.kind();
}

std::string Schema::text() const {
  std::string s = name + (overload.empty() ? "" : "." + overload) + "(";
  bool keywords = false;
  for (size_t i = 0; i < arguments.size(); i++) {
    const SchemaArgument& a = arguments[i];
    if (i) s += ", ";
    if (a.keyword_only && !std::exchange(keywords, true)) s += "*, ";
    s += schema_type_text(a.type) + " " + a.name;
    if (a.default_value) s += "=" + literal_of(*a.default_value);
  }
  s += ") -> ";
  if (returns.size() == 1) {
    const std::string one = schema_type_text(returns[0]);
    return s + (one[0] == '(' ? "(" + one + ")" : one);
  }
  return s + "(" + joined(returns, schema_type_text) + ")";
}
int Schema::index_of(std::string_view argument) const {
  for (size_t i = 0; i < arguments.size(); i++)
    if (arguments[i].name == argument) return static_cast<int>(i);
  return -1;
}

// ---- relations of types

bool is_variable(const Type& t) { return t.kind() == TypeKind::Class && !t.name().empty() && t.name()[0] == '\''; }
bool has_variables(const Type& t) {
  if (is_variable(t)) return true;
  switch (t.kind()) {
    case TypeKind::List:
    case TypeKind::Optional:
    case TypeKind::Tuple:
    case TypeKind::Dict:
    case TypeKind::Union:
    case TypeKind::Future: return std::any_of(t.elements().begin(), t.elements().end(), has_variables);
    default: return false;
  }
}

bool is_subtype(const Type& a, const Type& b) {
  if (b.kind() == TypeKind::Any) return true;
  if (a.kind() == TypeKind::Union) return std::all_of(a.elements().begin(), a.elements().end(), [&](const Type& t) { return is_subtype(t, b); });
  if (b.kind() == TypeKind::Union) {
    if (a.kind() == TypeKind::Optional) return is_subtype(a.elements()[0], b) && is_subtype(TypeKind::None, b);
    return std::any_of(b.elements().begin(), b.elements().end(), [&](const Type& t) { return is_subtype(a, t); });
  }
  if (b.kind() == TypeKind::Optional) return a.kind() == TypeKind::None || is_subtype(a.kind() == TypeKind::Optional ? a.elements()[0] : a, b.elements()[0]);
  if (b.kind() == TypeKind::Number) {
    const TypeKind k = a.kind();
    return k == TypeKind::Number || k == TypeKind::Int || k == TypeKind::Float || k == TypeKind::Complex || k == TypeKind::Bool;
  }
  // dtypes, layouts and memory formats are ints in TorchScript.
  const auto is_enumerated = [](TypeKind k) { return k == TypeKind::DType || k == TypeKind::Layout || k == TypeKind::MemoryFormat; };
  if ((is_enumerated(a.kind()) && (b.kind() == TypeKind::Int || is_enumerated(b.kind()))) || (is_enumerated(b.kind()) && a.kind() == TypeKind::Int))
    return true;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case TypeKind::Tuple: {
      if (!b.name().empty() && a.name() != b.name()) return false;
      if (a.elements().size() != b.elements().size()) return false;
      for (size_t i = 0; i < a.elements().size(); i++)
        if (!is_subtype(a.elements()[i], b.elements()[i])) return false;
      return true;
    }
    case TypeKind::List:
    case TypeKind::Dict:
      for (size_t i = 0; i < a.elements().size(); i++)
        if (!is_subtype(a.elements()[i], b.elements()[i]) || !is_subtype(b.elements()[i], a.elements()[i])) return false;
      return true;
    case TypeKind::Future: return is_subtype(a.elements()[0], b.elements()[0]);
    case TypeKind::Class: {
      if (a.name() == b.name()) return true;
      ClassType *from = class_of(a), *to = class_of(b);
      return from && to && to->kind == ClassKind::Interface && implements(*from, *to);
    }
    default: return true;
  }
}

std::optional<Type> unify(const Type& a, const Type& b) {
  if (is_subtype(a, b)) return b;
  if (is_subtype(b, a)) return a;
  if (a.kind() == TypeKind::None) return Type::optional(b);
  if (b.kind() == TypeKind::None) return Type::optional(a);
  if (a.kind() == TypeKind::Optional || b.kind() == TypeKind::Optional) {
    const Type& x = a.kind() == TypeKind::Optional ? a.elements()[0] : a;
    const Type& y = b.kind() == TypeKind::Optional ? b.elements()[0] : b;
    if (const auto u = unify(x, y)) return Type::optional(*u);
    return std::nullopt;
  }
  if (a.kind() == TypeKind::Tuple && b.kind() == TypeKind::Tuple && a.elements().size() == b.elements().size() && a.name() == b.name()) {
    std::vector<Type> parts;
    for (size_t i = 0; i < a.elements().size(); i++) {
      const auto u = unify(a.elements()[i], b.elements()[i]);
      if (!u) return std::nullopt;
      parts.push_back(*u);
    }
    return Type::tuple(std::move(parts), a.fields(), a.name());
  }
  if (a.kind() == TypeKind::Future && b.kind() == TypeKind::Future)
    if (const auto u = unify(a.elements()[0], b.elements()[0])) return Type::future(*u);
  return std::nullopt;
}

bool match_type(const Type& pattern, const Type& type, std::map<std::string, Type>& bound) {
  if (!has_variables(pattern)) return is_subtype(type, pattern);
  if (is_variable(pattern)) {
    const auto [at, is_new] = bound.emplace(pattern.name(), type);
    if (is_new) return true;
    const auto u = unify(at->second, type);
    if (!u) return false;
    at->second = *u;
    return true;
  }
  if (pattern.kind() == TypeKind::Optional) {
    if (type.kind() == TypeKind::None) return true;
    return match_type(pattern.elements()[0], type.kind() == TypeKind::Optional ? type.elements()[0] : type, bound);
  }
  if (pattern.kind() != type.kind() || pattern.elements().size() != type.elements().size()) return false;
  for (size_t i = 0; i < pattern.elements().size(); i++)
    if (!match_type(pattern.elements()[i], type.elements()[i], bound)) return false;
  return true;
}
Type substitute(const Type& pattern, const std::map<std::string, Type>& bound) {
  if (is_variable(pattern)) {
    const auto found = bound.find(pattern.name());
    return found == bound.end() ? Type() : found->second;
  }
  if (!has_variables(pattern)) return pattern;
  std::vector<Type> parts;
  for (const Type& t : pattern.elements()) parts.push_back(substitute(t, bound));
  switch (pattern.kind()) {
    case TypeKind::List: return Type::list(parts[0]);
    case TypeKind::Optional: return Type::optional(parts[0]);
    case TypeKind::Dict: return Type::dict(parts[0], parts[1]);
    case TypeKind::Future: return Type::future(parts[0]);
    case TypeKind::Union: return Type::union_of(std::move(parts));
    default: return Type::tuple(std::move(parts));
  }
}

// ---- texts of schemas

namespace {

class SchemaReader {
 public:
  explicit SchemaReader(std::string_view text) : text_(text) {}

  Schema read() {
    Schema s;
    s.name = word();
    if (accept('.')) s.overload = word();
    expect('(');
    bool keyword_only = false;
    while (!accept(')')) {
      if (accept('*')) {
        keyword_only = true;
        expect(',');
        continue;
      }
      SchemaArgument a;
      a.type = type(&a.broadcast, &a.writes);
      a.name = word();
      a.keyword_only = keyword_only;
      if (accept('=')) a.default_value = literal();
      s.arguments.push_back(std::move(a));
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    skip();
    expect('-');
    expect('>');
    s.returns.push_back(type());
    if (s.returns[0].kind() == TypeKind::Tuple && s.returns[0].elements().empty()) s.returns.clear();
    return s;
  }
  Type type(int* broadcast = nullptr, bool* writes = nullptr) {
    skip();
    Type t;
    if (accept('(')) {
      std::vector<Type> parts;
      while (!accept(')')) {
        parts.push_back(type());
        if (!accept(',')) {
          expect(')');
          break;
        }
      }
      t = Type::tuple(std::move(parts));
    } else {
      std::string w = word();
      while (w.compare(0, 9, "__torch__") == 0 && accept('.')) w += "." + word();
      t = named(w);
    }
    while (true) {
      if (peek() == '(' && alias_ahead()) {
        while (peek() != ')') {
          if (peek() == '!' && writes) *writes = true;
          at_++;
        }
        at_++;
      } else if (accept('[')) {
        int n = 0;
        while (peek() >= '0' && peek() <= '9') n = n * 10 + (text_[at_++] - '0');
        expect(']');
        if (broadcast) *broadcast = n;
        t = Type::list(t);
      } else if (accept('?')) {
        t = Type::optional(t);
      } else {
        return t;
      }
    }
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') at_++;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool accept(char c) {
    skip();
    if (peek() != c) return false;
    at_++;
    return true;
  }
  void expect(char c) { CRESSET_CHECK_VALUE(accept(c), "schema '", std::string(text_), "': expected '", c, "' at ", at_); }
  std::string word() {
    skip();
    const size_t start = at_;
    while (at_ < text_.size() && (isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' || text_[at_] == ':')) at_++;
    return std::string(text_.substr(start, at_ - start));
  }
  bool alias_ahead() const {
    const size_t end = text_.find(')', at_);
    for (size_t i = at_ + 1; i < end; i++)
      if (!islower(static_cast<unsigned char>(text_[i])) && text_[i] != '!' && text_[i] != '|' && text_[i] != '*' && text_[i] != '>' && text_[i] != '-' &&
          text_[i] != ' ')
        return false;
    return end - at_ <= 8;
  }
  Type named(const std::string& w) {
    static const std::map<std::string, TypeKind> kNames = {{"Tensor", TypeKind::Tensor},
                                                           {"int", TypeKind::Int},
                                                           {"SymInt", TypeKind::Int},
                                                           {"float", TypeKind::Float},
                                                           {"bool", TypeKind::Bool},
                                                           {"complex", TypeKind::Complex},
                                                           {"Scalar", TypeKind::Number},
                                                           {"number", TypeKind::Number},
                                                           {"str", TypeKind::String},
                                                           {"Any", TypeKind::Any},
                                                           {"AnyClassType", TypeKind::Any},
                                                           {"NoneType", TypeKind::None},
                                                           {"None", TypeKind::None},
                                                           {"Device", TypeKind::Device},
                                                           {"ScalarType", TypeKind::DType},
                                                           {"Layout", TypeKind::Layout},
                                                           {"MemoryFormat", TypeKind::MemoryFormat},
                                                           {"Generator", TypeKind::Generator}};
    if (w == "Dict") {
      expect('(');
      Type k = type();
      expect(',');
      Type v = type();
      expect(')');
      return Type::dict(std::move(k), std::move(v));
    }
    if (w == "Future") {
      expect('(');
      Type t = type();
      expect(')');
      return Type::future(std::move(t));
    }
    if (const auto found = kNames.find(w); found != kNames.end()) return found->second;
    return Type::object(w.compare(0, 9, "__torch__") == 0 ? w : "'" + w);
  }
  Datum literal() {
    skip();
    if (accept('[')) {
      std::vector<Datum> list;
      while (!accept(']')) {
        list.push_back(literal());
        accept(',');
      }
      return make_list(dispatch::ElementKind::Int, std::move(list));
    }
    if (peek() == '"' || peek() == '\'') {
      const char quote = text_[at_++];
      std::string s;
      while (peek() != quote) s += text_[at_++];
      at_++;
      return Datum(std::move(s));
    }
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ')' && text_[at_] != ']') at_++;
    const std::string w(text_.substr(start, at_ - start));
    if (w == "None") return {};
    if (w == "True" || w == "False") return Datum(w == "True");
    if (w.find_first_of(".e") != std::string::npos) return Datum(std::stod(w));
    return Datum(static_cast<int64_t>(std::stoll(w)));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Type schema_type(const std::string& text) { return SchemaReader(text).type(); }

namespace {

struct Registered {
  std::map<std::string, std::vector<Candidate>> by_name;
  std::map<const Builtin*, Schema> schemas;
};
Registered& registered() {
  static Registered* const r = new Registered;
  return *r;
}
std::recursive_mutex& registered_mutex() {
  static auto* const m = new std::recursive_mutex;
  return *m;
}

Schema schema_of_op(const dispatch::OpEntry& op) {
  const dispatch::FunctionSchema& from = op.function_schema();
  Schema s;
  s.name = (from.ns == "cresset" || from.ns.empty() ? "aten" : from.ns) + "::" + from.name;
  s.overload = from.overload;
  for (const dispatch::Argument& a : from.arguments) {
    SchemaArgument to;
    to.name = a.name;
    to.type = Type::of_schema(a.type);
    if (a.has_default) to.default_value = a.default_value;
    to.keyword_only = a.keyword_only;
    to.broadcast = a.type.list_size;
    to.writes = a.writes;
    s.arguments.push_back(std::move(to));
  }
  for (const dispatch::Argument& r : from.returns) {
    s.returns.push_back(Type::of_schema(r.type));
    s.return_names.push_back(r.name);
  }
  return s;
}

// Operators of the dispatcher by name without overload.
const std::vector<const dispatch::OpEntry*>& ops_named(const std::string& name) {
  static auto* const table = new std::map<std::string, std::vector<const dispatch::OpEntry*>>;
  static size_t known = 0;
  const auto all = dispatch::all_ops();
  if (all.size() != known) {
    table->clear();
    for (const dispatch::OpEntry* op : all) {
      std::string full = op->name;
      if (full.find("::") == std::string::npos) full = "aten::" + full;
      if (full.compare(0, 9, "cresset::") == 0) full = "aten::" + full.substr(9);
      const size_t dot = full.find('.', full.find("::"));
      (*table)[full.substr(0, dot)].push_back(op);
    }
    known = all.size();
  }
  static const std::vector<const dispatch::OpEntry*> none;
  const auto found = table->find(name);
  return found == table->end() ? none : found->second;
}

}  // namespace

void add_builtin(const char* text, BuiltinFn run, bool pure) {
  Schema schema = SchemaReader(text).read();
  const auto takes = static_cast<int>(schema.arguments.size());
  // Where nothing is written and nothing comes out, something else happens.
  auto effect = Builtin::Effect::Inputs;
  if (std::string_view(text).find('!') == std::string_view::npos)
    effect = schema.returns.empty() || schema.name == "aten::grad" ? Builtin::Effect::Anything : Builtin::Effect::Nothing;
  Type result = schema.returns.size() == 1 ? schema.returns[0] : schema.returns.empty() ? Type(TypeKind::None) : Type::tuple(schema.returns);
  if (has_variables(result)) result = Type();
  if (result.kind() == TypeKind::None) result = Type();
  const std::string name = schema.name + (schema.overload.empty() ? "" : "." + schema.overload);
  const Builtin& builtin = register_builtin(Builtin{name, takes, takes, result, pure, run, effect});
  Registered& r = registered();
  r.schemas[&builtin] = schema;
  r.by_name[schema.name].push_back({std::move(schema), nullptr, &builtin});
}

const Schema* schema_of(const Builtin& builtin) {
  const std::lock_guard lock(registered_mutex());
  const auto found = registered().schemas.find(&builtin);
  return found == registered().schemas.end() ? nullptr : &found->second;
}

void register_builtins() {
  static std::once_flag once;
  std::call_once(once, [] {
    add_number_builtins();
    add_list_builtins();
    add_dict_builtins();
    add_string_builtins();
    add_object_builtins();
    add_tensor_builtins();
    add_generator_builtins();
  });
}

namespace {

// The operator that has the name as an alias; empty: none has.
std::string operator_behind(const std::string& name) {
  static const std::map<std::string_view, std::string_view> kAliases = {
#include "cresset/graph/op_aliases.inc"
  };
  constexpr std::string_view kSpace = "aten::";
  if (name.compare(0, kSpace.size(), kSpace) != 0) return {};
  const auto found = kAliases.find(std::string_view(name).substr(kSpace.size()));
  return found == kAliases.end() ? std::string() : std::string(kSpace) + std::string(found->second);
}

}  // namespace

const std::vector<Candidate>& find_candidates(const std::string& name) {
  register_builtins();
  const std::lock_guard lock(registered_mutex());
  static auto* const cache = new std::map<std::string, std::vector<Candidate>>;
  if (const auto known = cache->find(name); known != cache->end()) return known->second;
  std::vector<Candidate> list;
  std::vector<const dispatch::OpEntry*> operators = ops_named(name);
  if (operators.empty())
    if (const std::string behind = operator_behind(name); !behind.empty()) operators = ops_named(behind);
  for (const dispatch::OpEntry* op : operators) list.push_back({schema_of_op(*op), op, nullptr});
  // Forms that write into an argument come last: they have one more.
  std::stable_sort(list.begin(), list.end(),
                   [](const Candidate& a, const Candidate& b) { return ((a.op->flags & dispatch::kOutOp) != 0) < ((b.op->flags & dispatch::kOutOp) != 0); });
  if (const auto found = registered().by_name.find(name); found != registered().by_name.end())
    list.insert(list.end(), found->second.begin(), found->second.end());
  // A name that is not there may be registered later; a list that a thread may be reading stays as it is.
  static const std::vector<Candidate> none;
  return list.empty() ? none : cache->emplace(name, std::move(list)).first->second;
}

// ---- lists and dicts

dispatch::ListObject& list_of(const Datum& v) {
  const auto* o = v.object();
  CRESSET_CHECK_TYPE(o && (*o)->kind() == dispatch::Object::Kind::List, "expected a list, got ", v.kind());
  return static_cast<dispatch::ListObject&>(**o);
}
dispatch::DictObject& dict_of(const Datum& v) {
  const auto* o = v.object();
  CRESSET_CHECK_TYPE(o && (*o)->kind() == dispatch::Object::Kind::Dict, "expected a dict, got ", v.kind());
  return static_cast<dispatch::DictObject&>(**o);
}
Datum make_list(dispatch::ElementKind kind, std::vector<Datum> elements) {
  auto list = make_intrusive<dispatch::ListObject>(kind);
  list->elements = std::move(elements);
  return Datum(intrusive_ptr<dispatch::Object>(std::move(list)));
}
Datum shared(Datum value, const Type& type) {
  const Type& t = type.kind() == TypeKind::Optional ? type.elements()[0] : type;
  if (t.kind() != TypeKind::List || value.object() || !value.isList()) return value;
  return make_list(element_kind(t.elements()[0]), value.toListVector());
}

}  // namespace cresset::graph::script
