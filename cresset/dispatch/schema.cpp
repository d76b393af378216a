#include "cresset/dispatch/schema.h"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <utility>

#include "cresset/dispatch/schema_text.h"

namespace cresset::dispatch {

namespace {

struct KindName {
  std::string_view name;
  TypeKind kind;
};
constexpr KindName kKinds[] = {{"Tensor", TypeKind::Tensor},
                               {"int", TypeKind::Int},
                               {"float", TypeKind::Float},
                               {"bool", TypeKind::Bool},
                               {"Scalar", TypeKind::Scalar},
                               {"number", TypeKind::Scalar},
                               {"str", TypeKind::String},
                               {"ScalarType", TypeKind::DType},
                               {"Device", TypeKind::Device},
                               {"Layout", TypeKind::Layout},
                               {"MemoryFormat", TypeKind::MemoryFormat},
                               {"Generator", TypeKind::Generator},
                               {"complex", kComplexType},
                               {"SymInt", TypeKind::Int}};
// Types that are known by their names alone.
constexpr std::string_view kPlainNames[] = {"Any",    "AnyClassType", "AnyEnumType", "Dimname",       "NoneType", "None", "QScheme", "Storage",
                                            "Stream", "SymBool",      "SymFloat",    "DeviceObjType", "Capsule",  "list", "tuple"};
// PyTorch's numbers of dtypes, in texts, where they are not ours: those after bool.
struct DtypeNumber {
  int number;
  ScalarType dtype;
};
constexpr DtypeNumber kDtypeNumbers[] = {{15, ScalarType::BFloat16},        {23, ScalarType::Float8_e5m2},     {24, ScalarType::Float8_e4m3fn},
                                         {25, ScalarType::Float8_e5m2fnuz}, {26, ScalarType::Float8_e4m3fnuz}, {27, ScalarType::UInt16},
                                         {28, ScalarType::UInt32},          {29, ScalarType::UInt64},          {44, ScalarType::Float8_e8m0fnu}};
constexpr std::string_view kWrappers[] = {"Future", "RRef", "Await"};

// A cursor over the text; every error quotes the schema and the column.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  DetailedSchema schema(bool name_only = false) {
    DetailedSchema detailed;
    FunctionSchema& s = detailed.parts;
    s.ns = "cresset";
    s.name = identifier("the name of the operator");
    if (take("::")) {
      s.ns = s.name == "aten" ? "cresset" : s.name;
      s.name = identifier("the name of the operator");
    }
    if (take(".")) s.overload = identifier("the name of the overload");
    if (name_only && done()) return detailed;
    expect("(");
    bool keyword_only = false, defaults = false;
    while (!take(")")) {
      if (take("*")) {
        keyword_only = true;
      } else if (take("...")) {
        detailed.more_arguments = true;
      } else {
        s.arguments.push_back(argument(detailed.arguments.emplace_back()));
        Argument& a = s.arguments.back();
        a.keyword_only = keyword_only;
        if (!a.has_default && !keyword_only && defaults) fail("the argument `" + a.name + "` has no default value, but one before it has, before this place");
        defaults = defaults || a.has_default;
      }
      const bool more = take(",");
      if (!more && !at(')')) fail("expected `,` or `)`");
      if (more && at(')')) fail("expected an argument after the `,`");
    }
    expect("->");
    if (take("...")) {
      detailed.more_returns = true;
    } else if (take("(")) {
      while (!take(")")) {
        if (take("...")) detailed.more_returns = true;
        else s.returns.push_back(result(detailed.returns.emplace_back()));
        if (!take(",") && !at(')')) fail("expected `,` or `)`");
      }
    } else {
      s.returns.push_back(result(detailed.returns.emplace_back()));
    }
    if (!done()) fail("unexpected text after the results");
    return detailed;
  }

  Type whole_type() {
    Argument a;
    ArgumentText text;
    type(a, text);
    if (!done()) fail("unexpected text after the type");
    return a.type;
  }

 private:
  bool done() {
    skip();
    return position_ == text_.size();
  }
  void skip() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_]))) position_++;
  }
  bool at(char c) {
    skip();
    return position_ < text_.size() && text_[position_] == c;
  }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail("expected `" + std::string(token) + "`");
  }
  [[noreturn]] void fail(const std::string& what) {
    const std::string text(text_);
    CRESSET_CHECK_VALUE(false, "schema: ", what, " at column ", position_ + 1, " of \"", text, "\"\n  ", text, "\n  ", std::string(position_, ' '), "^");
    __builtin_unreachable();
  }
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  std::string identifier(const char* what) {
    skip();
    const size_t start = position_;
    while (position_ < text_.size() && is_word(text_[position_])) position_++;
    if (start == position_) fail(std::string("expected ") + what);
    return std::string(text_.substr(start, position_ - start));
  }

  static bool is_one_of(std::string_view name, const std::string_view* names, size_t n) {
    for (size_t i = 0; i < n; i++)
      if (names[i] == name) return true;
    return false;
  }
  // "(int, Tensor)" after the bracket that opens it, as parts in canonical form.
  std::string parts_text() {
    std::string text;
    while (!take(")")) {
      Argument part;
      ArgumentText as_written;
      type(part, as_written);
      text += (text.empty() ? "" : ", ") + as_written.base + as_written.suffix;
      if (!take(",") && !at(')')) fail("expected `,` or `)`");
    }
    return text;
  }

  // A type without its brackets and question marks.
  Type plain_type(ArgumentText& text) {
    if (take("(")) {
      text.base = "(" + parts_text() + ")";
      return type_of_text(text.base);
    }
    const std::string name = identifier("a type");
    text.base = name == "number" ? "Scalar" : name == "None" ? "NoneType" : name;
    for (const KindName& k : kKinds) {
      if (k.name != name) continue;
      Type t;
      t.kind = k.kind;
      return t;
    }
    const bool wrapper = name == "Dict" || is_one_of(name, kWrappers, std::size(kWrappers));
    if (wrapper) {
      expect("(");
      text.base += "(" + parts_text() + ")";
    } else if (name == "__torch__") {
      while (take(".")) text.base += "." + identifier("the name of a class");
    } else {
      const bool variable = std::islower(static_cast<unsigned char>(name[0])) && name.size() <= 2;  // t, t1: any one type
      if (!variable && !is_one_of(name, kPlainNames, std::size(kPlainNames))) fail("unknown type `" + name + "` before this place");
    }
    return type_of_text(text.base);
  }

  void alias(Argument& a, ArgumentText& text) {
    if (!take("(")) return;
    a.aliases = true;
    while (!take(")")) {
      if (take("->")) text.alias += " -> ";
      else if (take("|")) text.alias += "|";
      else if (take("*")) text.alias += "*";
      else if (take("!")) {
        a.writes = true;
        text.alias += "!";
      } else text.alias += identifier("an alias letter");
    }
  }

  void type(Argument& a, ArgumentText& text) {
    a.type = plain_type(text);
    if (a.type.kind == TypeKind::Tensor || is_text_type(a.type)) alias(a, text);
    for (;;) {
      if (take("?")) {
        a.type = optional_of(a.type);
        text.suffix += "?";
      } else if (take("[")) {
        a.type = list_of(a.type);
        text.suffix += "[";
        if (!at(']')) {
          text.suffix += identifier("a size");
          a.type.list_size = std::atoi(text.suffix.c_str() + text.suffix.rfind('[') + 1);
        }
        expect("]");
        text.suffix += "]";
        if (!a.aliases && a.type.kind == TypeKind::Tensor) alias(a, text);
      } else {
        return;
      }
    }
  }

  Argument argument(ArgumentText& text) {
    Argument a;
    type(a, text);
    a.name = identifier("the name of the argument");
    if (take("=")) {
      a.has_default = true;
      a.default_value = value(a.type);
      if (a.type.kind == TypeKind::Tensor && !a.type.list && !a.default_value.is_none()) fail("a tensor has no other default than None, before this place");
    }
    return a;
  }

  Argument result(ArgumentText& text) {
    Argument a;
    type(a, text);
    skip();
    if (position_ < text_.size() && is_word(text_[position_])) a.name = identifier("a name");
    return a;
  }

  Value value(const Type& type) {
    if (word_ahead("None")) return {};
    if (word_ahead("True")) return true;
    if (word_ahead("False")) return false;
    if (at('"') || at('\'')) {
      const char quote = text_[position_++];
      std::string s;
      for (; position_ < text_.size() && text_[position_] != quote; position_++) {
        if (text_[position_] == '\\' && position_ + 1 < text_.size()) position_++;
        s += text_[position_];
      }
      if (position_ == text_.size()) fail("unterminated string");
      position_++;
      return s;
    }
    if (take("[")) {
      std::vector<double> numbers;
      std::vector<bool> bools;
      std::vector<std::string> words;
      while (!take("]")) {
        if (word_ahead("True")) bools.push_back(true);
        else if (word_ahead("False")) bools.push_back(false);
        else if (at('"') || at('\'')) words.push_back(value({}).to_string());
        else numbers.push_back(number());
        if (!take(",") && !at(']')) fail("expected `,` or `]`");
      }
      if (type.kind == TypeKind::Bool) return bools;
      if (type.kind == TypeKind::String) return words;
      if (type.kind == TypeKind::Float) return numbers;
      return std::vector<int64_t>(numbers.begin(), numbers.end());
    }
    skip();
    if (position_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[position_])) && text_.substr(position_, 3) != "inf" &&
        text_.substr(position_, 3) != "nan")
      return named(identifier("a value"));
    const size_t start = position_;
    const double v = number();
    const bool integral = text_.substr(start, position_ - start).find_first_of(".efn") == std::string_view::npos;
    if (type.list) return std::vector<int64_t>(type.list_size > 0 ? static_cast<size_t>(type.list_size) : 1, static_cast<int64_t>(v));
    if (integral && type.kind == TypeKind::DType) {
      for (const DtypeNumber& d : kDtypeNumbers)
        if (v == d.number) return d.dtype;
      if (v < 0 || v > static_cast<double>(ScalarType::Bool)) fail("expected the number of a dtype before this place");
      return static_cast<ScalarType>(static_cast<int>(v));
    }
    if (integral && type.kind != TypeKind::Float) return static_cast<int64_t>(v);
    return v;
  }

  bool word_ahead(std::string_view word) {
    skip();
    if (text_.substr(position_, word.size()) != word) return false;
    if (position_ + word.size() < text_.size() && is_word(text_[position_ + word.size()])) return false;
    position_ += word.size();
    return true;
  }

  Value named(const std::string& word) {
    if (word == "contiguous_format") return MemoryFormat::Contiguous;
    if (word == "preserve_format") return MemoryFormat::Preserve;
    if (word == "channels_last") return MemoryFormat::ChannelsLast;
    if (word == "strided") return Layout::Strided;
    if (word == "long") return ScalarType::Long;
    if (word == "float") return ScalarType::Float;
    for (int i = 0; i < kNumDTypes; i++)
      if (word == dtype_name(static_cast<ScalarType>(i))) return static_cast<ScalarType>(i);
    if (word == "Mean") return 1;
    if (word == "Sum") return 2;
    fail("unknown default `" + word + "` before this place");
  }

  double number() {
    skip();
    const std::string rest(text_.substr(position_, 40));
    char* end = nullptr;
    const double v = std::strtod(rest.c_str(), &end);
    if (end == rest.c_str()) fail("expected a value");
    position_ += static_cast<size_t>(end - rest.c_str());
    return v;
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

FunctionSchema parse_schema(std::string_view text) { return Parser(text).schema().parts; }
DetailedSchema parse_detailed(std::string_view text) { return Parser(text).schema(); }
FunctionSchema parse_name(std::string_view text) { return Parser(text).schema(true).parts; }
Type parse_type(std::string_view text) { return Parser(text).whole_type(); }

std::string FunctionSchema::full_name() const {
  std::string s = ns == "cresset" ? name : ns + "::" + name;
  return overload.empty() ? s : s + "." + overload;
}

int FunctionSchema::argument_index(std::string_view wanted) const {
  for (size_t i = 0; i < arguments.size(); i++)
    if (arguments[i].name == wanted) return static_cast<int>(i);
  return -1;
}

namespace {

// The texts of types that have no kind; their kinds count from here.
constexpr int kFirstTextKind = 64;
struct TypeTexts {
  std::mutex mutex;
  std::deque<std::string> all;
};
TypeTexts& type_texts() {
  static TypeTexts& t = *new TypeTexts;
  return t;
}

std::string base_name(const Type& type) {
  if (is_text_type(type)) {
    TypeTexts& texts = type_texts();
    std::lock_guard lock(texts.mutex);
    return texts.all[static_cast<size_t>(type.kind) - kFirstTextKind];
  }
  for (const KindName& k : kKinds)
    if (k.kind == type.kind) return std::string(k.name);
  return {};
}

}  // namespace

Type type_of_text(const std::string& text) {
  TypeTexts& texts = type_texts();
  std::lock_guard lock(texts.mutex);
  size_t i = 0;
  while (i < texts.all.size() && texts.all[i] != text) i++;
  CRESSET_CHECK(i + kFirstTextKind < 255, "schema: no room for another type, ", text, "; there are ", i, " of such types");
  if (i == texts.all.size()) texts.all.push_back(text);
  Type t;
  t.kind = static_cast<TypeKind>(i + kFirstTextKind);
  return t;
}
bool is_text_type(const Type& type) { return static_cast<int>(type.kind) >= kFirstTextKind; }

Type list_of(Type t) {
  if (t.list) t = type_of_text(type_name(t));  // a list of lists
  t.list = true;
  t.element_optional = std::exchange(t.optional, false);
  return t;
}
Type optional_of(Type t) {
  t.optional = true;
  return t;
}

std::string type_name(const Type& type) {
  std::string s = base_name(type);
  if (type.element_optional) s += "?";
  if (type.list) s += "[]";
  if (type.optional) s += "?";
  return s;
}

DetailedSchema::DetailedSchema(FunctionSchema schema) : parts(std::move(schema)) {
  const auto texts = [](const std::vector<Argument>& list, std::vector<ArgumentText>& out) {
    for (const Argument& a : list) {
      std::string base = base_name(a.type);
      std::string suffix = type_name(a.type).substr(base.size());
      out.push_back({std::move(base), std::move(suffix), a.writes ? "a!" : ""});
    }
  };
  texts(parts.arguments, arguments);
  texts(parts.returns, returns);
}

namespace {

std::string float_text(double v) {
  if (std::isnan(v) || std::isinf(v)) return std::isnan(v) ? "nan" : v < 0 ? "-inf" : "inf";
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", v);
  std::string s = digits;
  return s.find_first_of(".e") == std::string::npos ? s + "." : s;
}

template <class List, class F> std::string list_text(const List& list, F&& text) {
  std::string s = "[";
  for (const auto& v : list) s += (s.size() > 1 ? ", " : "") + text(v);
  return s + "]";
}

std::string default_text(const Value& v) {
  const auto whole = [](int64_t i) { return std::to_string(i); };
  const auto quoted = [](const std::string& s) { return "\"" + s + "\""; };
  if (v.is_none()) return "None";
  if (v.is<bool>()) return v.to_bool() ? "True" : "False";
  if (v.is<int64_t>()) return whole(v.to_int());
  if (v.is<double>()) return float_text(v.to_double());
  if (v.is<std::string>()) return quoted(v.to_string());
  if (v.is<ScalarType>()) {
    for (const DtypeNumber& d : kDtypeNumbers)
      if (v.to_dtype() == d.dtype) return whole(d.number);
    return whole(static_cast<int64_t>(v.to_dtype()));
  }
  if (v.is<Layout>()) return whole(static_cast<int64_t>(v.to_layout()));
  if (v.is<MemoryFormat>()) return whole(static_cast<int64_t>(v.to_memory_format()));
  if (v.is<std::vector<int64_t>>()) return list_text(v.to_int_list(), whole);
  if (v.is<std::vector<double>>()) return list_text(v.to_double_list(), float_text);
  if (v.is<std::vector<bool>>()) return list_text(v.to_bool_list(), [](bool b) { return std::string(b ? "True" : "False"); });
  if (auto* list = std::get_if<std::vector<std::string>>(&v.data())) return list_text(*list, quoted);
  return "[]";
}

std::string argument_text(const Argument& a, const ArgumentText& text) {
  std::string s = text.base + (text.alias.empty() ? "" : "(" + text.alias + ")") + text.suffix;
  if (!a.name.empty()) s += " " + a.name;
  if (!a.has_default) return s;
  const bool filled = a.type.list && a.type.list_size > 1 && a.default_value.is<std::vector<int64_t>>();
  if (!filled) return s + "=" + default_text(a.default_value);
  const std::vector<int64_t> list = a.default_value.to_int_list();
  for (const int64_t v : list)
    if (v != list[0]) return s + "=" + default_text(a.default_value);
  return s + "=" + (list.empty() ? "[]" : std::to_string(list[0]));
}

}  // namespace

std::string schema_text(const DetailedSchema& schema) {
  const FunctionSchema& p = schema.parts;
  std::string s = p.ns.empty() ? "" : (p.ns == "cresset" ? "aten" : p.ns) + "::";
  s += p.name + (p.overload.empty() ? "" : "." + p.overload) + "(";
  bool keyword_only = false, first = true;
  const auto part = [&](const std::string& text) {
    s += (first ? "" : ", ") + text;
    first = false;
  };
  for (size_t i = 0; i < p.arguments.size(); i++) {
    if (p.arguments[i].keyword_only && !keyword_only) part("*");
    keyword_only = p.arguments[i].keyword_only;
    part(argument_text(p.arguments[i], schema.arguments[i]));
  }
  if (schema.more_arguments) part("...");
  s += ") -> ";
  if (p.returns.size() == 1 && !schema.more_returns) return s + argument_text(p.returns[0], schema.returns[0]);
  if (p.returns.empty() && schema.more_returns) return s + "...";
  s += "(";
  first = true;
  for (size_t i = 0; i < p.returns.size(); i++) part(argument_text(p.returns[i], schema.returns[i]));
  if (schema.more_returns) part("...");
  return s + ")";
}

std::string schema_difference(const FunctionSchema& a, const FunctionSchema& b) {
  const auto compare = [](const std::vector<Argument>& x, const std::vector<Argument>& y, const char* what) -> std::string {
    if (x.size() != y.size()) return str("The number of ", what, "s is different. ", x.size(), " vs ", y.size(), ".");
    for (size_t i = 0; i < x.size(); i++)
      if (!(x[i].type == y[i].type)) return str("Type mismatch in ", what, " ", i + 1, ": ", type_name(x[i].type), " vs ", type_name(y[i].type));
    return {};
  };
  const std::string text = compare(a.arguments, b.arguments, "argument");
  return text.empty() ? compare(a.returns, b.returns, "return") : text;
}

}  // namespace cresset::dispatch
