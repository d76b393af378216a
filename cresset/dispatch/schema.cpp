#include "cresset/dispatch/schema.h"

#include <cctype>
#include <cstdlib>

namespace cresset::dispatch {

namespace {

struct KindName { std::string_view name; TypeKind kind; };
constexpr KindName kKinds[] = {{"Tensor", TypeKind::Tensor}, {"int", TypeKind::Int}, {"float", TypeKind::Float}, {"bool", TypeKind::Bool},
                               {"Scalar", TypeKind::Scalar}, {"str", TypeKind::String}, {"ScalarType", TypeKind::DType},
                               {"Device", TypeKind::Device}, {"Layout", TypeKind::Layout}, {"MemoryFormat", TypeKind::MemoryFormat},
                               {"Generator", TypeKind::Generator}, {"SymInt", TypeKind::Int}};

// A cursor over the text; every error quotes the schema and the column.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  FunctionSchema schema() {
    FunctionSchema s;
    s.ns = "cresset";
    s.name = identifier("the name of the operator");
    if (take("::")) {
      s.ns = s.name == "aten" ? "cresset" : s.name;
      s.name = identifier("the name of the operator");
    }
    if (take(".")) s.overload = identifier("the name of the overload");
    expect("(");
    bool keyword_only = false;
    while (!take(")")) {
      if (take("*")) {
        keyword_only = true;
      } else {
        s.arguments.push_back(argument());
        s.arguments.back().keyword_only = keyword_only;
      }
      if (!take(",") && !at(')')) fail("expected `,` or `)`");
    }
    expect("->");
    if (take("(")) {
      while (!take(")")) {
        s.returns.push_back(result());
        if (!take(",") && !at(')')) fail("expected `,` or `)`");
      }
    } else {
      s.returns.push_back(result());
    }
    if (position_ != text_.size()) fail("unexpected text after the results");
    return s;
  }

 private:
  void skip() { while (position_ < text_.size() && text_[position_] == ' ') position_++; }
  bool at(char c) { skip(); return position_ < text_.size() && text_[position_] == c; }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  void expect(std::string_view token) { if (!take(token)) fail("expected `" + std::string(token) + "`"); }
  [[noreturn]] void fail(const std::string& what) {
    CRESSET_CHECK_VALUE(false, "schema: ", what, " at column ", position_ + 1, " of \"", std::string(text_), "\"");
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

  void type(Argument& a) {
    const std::string name = identifier("a type");
    bool known = false;
    for (const KindName& k : kKinds)
      if (k.name == name) { a.type.kind = k.kind; known = true; }
    if (!known) fail("unknown type `" + name + "` before this place");
    if (take("(")) {
      a.aliases = true;
      identifier("an alias letter");
      a.writes = take("!");
      if (take("->")) take("*");
      expect(")");
    }
    bool question = take("?");
    if (take("[")) {
      a.type.list = true;
      a.type.element_optional = question;
      question = false;
      if (!at(']')) a.type.list_size = std::atoi(identifier("a size").c_str());
      expect("]");
      question = take("?");
    }
    a.type.optional = question;
  }

  Argument argument() {
    Argument a;
    type(a);
    a.name = identifier("the name of the argument");
    if (take("=")) {
      a.has_default = true;
      a.default_value = value(a.type);
    }
    return a;
  }

  Argument result() {
    Argument a;
    type(a);
    skip();
    if (position_ < text_.size() && is_word(text_[position_])) a.name = identifier("a name");
    return a;
  }

  Value value(const Type& type) {
    if (take("None")) return {};
    if (take("True")) return true;
    if (take("False")) return false;
    if (at('"') || at('\'')) {
      const char quote = text_[position_++];
      const size_t end = text_.find(quote, position_);
      if (end == std::string_view::npos) fail("unterminated string");
      std::string s(text_.substr(position_, end - position_));
      position_ = end + 1;
      return s;
    }
    if (take("[")) {
      std::vector<double> numbers;
      std::vector<bool> bools;
      while (!take("]")) {
        if (take("True")) bools.push_back(true);
        else if (take("False")) bools.push_back(false);
        else numbers.push_back(number());
        if (!take(",") && !at(']')) fail("expected `,` or `]`");
      }
      if (type.kind == TypeKind::Bool) return bools;
      if (type.kind == TypeKind::Float) return numbers;
      return std::vector<int64_t>(numbers.begin(), numbers.end());
    }
    skip();
    if (position_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[position_])) && text_.substr(position_, 3) != "inf") return named(identifier("a value"));
    const size_t start = position_;
    const double v = number();
    const bool integral = text_.substr(start, position_ - start).find_first_of(".efn") == std::string_view::npos;
    if (type.list) return std::vector<int64_t>(type.list_size > 0 ? static_cast<size_t>(type.list_size) : 1, static_cast<int64_t>(v));
    if (integral && type.kind != TypeKind::Float) return static_cast<int64_t>(v);
    return v;
  }

  Value named(const std::string& word) {
    if (word == "contiguous_format") return MemoryFormat::Contiguous;
    if (word == "preserve_format") return MemoryFormat::Preserve;
    if (word == "strided") return Layout::Strided;
    if (word == "long") return ScalarType::Long;
    if (word == "float") return ScalarType::Float;
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

FunctionSchema parse_schema(std::string_view text) { return Parser(text).schema(); }

std::string FunctionSchema::full_name() const {
  std::string s = ns == "cresset" ? name : ns + "::" + name;
  return overload.empty() ? s : s + "." + overload;
}

int FunctionSchema::argument_index(std::string_view wanted) const {
  for (size_t i = 0; i < arguments.size(); i++)
    if (arguments[i].name == wanted) return static_cast<int>(i);
  return -1;
}

std::string type_name(const Type& type) {
  std::string s;
  for (const KindName& k : kKinds)
    if (k.kind == type.kind && s.empty()) s = k.name;
  if (type.element_optional) s += "?";
  if (type.list) s += "[]";
  if (type.optional) s += "?";
  return s;
}

}  // namespace cresset::dispatch
