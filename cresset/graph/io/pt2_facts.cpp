#include "cresset/graph/io/pt2_facts.h"

#include <charconv>

#include "cresset/core/layout.h"

namespace cresset::graph {

ScalarType read_dtype(const Field& field) {
  const int64_t n = field.integer();
  // From 1 in the order of our enumerators; what came later has numbers of its own.
  if (n >= 1 && n <= 13) return static_cast<ScalarType>(n - 1);
  switch (n) {
    case 28: return ScalarType::UInt16;
    case 29: return ScalarType::Float8_e4m3fn;
    case 30: return ScalarType::Float8_e5m2;
    case 31: return ScalarType::Float8_e4m3fnuz;
    case 32: return ScalarType::Float8_e5m2fnuz;
    case 33: return ScalarType::Float8_e8m0fnu;
    case 34: return ScalarType::UInt32;
    case 35: return ScalarType::UInt64;
    default: field.fail("expected the number of a dtype, got ", n);
  }
}

Layout read_layout(const Field& field) {
  const int64_t n = field.integer();
  if (n != 7 && n != 1) field.fail("expected layout 7 (strided) or 1 (sparse), got ", n);
  return n == 7 ? Layout::Strided : Layout::Sparse;
}

MemoryFormat read_memory_format(const Field& field) {
  switch (field.integer()) {
    case 1: return MemoryFormat::Contiguous;
    case 2: return MemoryFormat::ChannelsLast;
    case 3: return MemoryFormat::ChannelsLast3d;
    case 4: return MemoryFormat::Preserve;
    default: field.fail("expected the number of a memory format, from 1 to 4, got ", field.integer());
  }
}

Device read_device(const Field& field) {
  std::string text = field.at("type").text();
  if (field.has("index")) text += ":" + std::to_string(field.at("index").integer());
  try {
    return Device(text);
  } catch (const Error& e) { field.fail(e.what()); }
}

namespace {

// Calls with arguments, numbers, quoted strings and keywords; anything that is no size is unknown.
class Expressions {
 public:
  explicit Expressions(std::string_view text) : text_(text) {}
  Sym whole() {
    const Sym s = expression(0);
    return at_ == text_.size() ? s : Sym::unknown();
  }

 private:
  static constexpr int kMaxDepth = 64;

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') at_++;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.'; }
  std::string_view word() {
    skip();
    const size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) at_++;
    return text_.substr(start, at_ - start);
  }
  Sym give_up() {
    at_ = text_.size() + 1;
    return Sym::unknown();
  }
  std::optional<int64_t> number() {
    skip();
    int64_t v = 0;
    const char* from = text_.data() + std::min(at_, text_.size());
    const auto [end, error] = std::from_chars(from, text_.data() + text_.size(), v);
    if (error != std::errc()) return std::nullopt;
    at_ += static_cast<size_t>(end - from);
    return v;
  }

  Sym symbol() {
    if (!take('\'')) return give_up();
    const size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) return give_up();
    const std::string name(text_.substr(at_, end - at_));
    at_ = end + 1;
    // Assumptions follow: positive=True.
    while (take(',')) {
      word();
      if (!take('=')) return give_up();
      word();
    }
    return take(')') ? Sym::symbol(name) : give_up();
  }
  Sym expression(int depth) {
    if (depth > kMaxDepth) return give_up();
    if (at_ <= text_.size())
      if (const auto n = number()) return *n;
    const std::string_view name = word();
    if (name.empty() || !take('(')) return give_up();
    if (name == "Symbol") return symbol();
    std::vector<Sym> arguments;
    if (!take(')')) {
      do {
        arguments.push_back(expression(depth + 1));
        if (at_ > text_.size()) return Sym::unknown();
      } while (take(','));
      if (!take(')')) return give_up();
    }
    return apply(name, arguments);
  }
  static Sym apply(std::string_view name, const std::vector<Sym>& a) {
    const auto fold = [&](auto&& f) {
      Sym s = a[0];
      for (size_t i = 1; i < a.size(); i++) s = f(s, a[i]);
      return s;
    };
    if (a.empty()) return Sym::unknown();
    if (name == "Integer" && a.size() == 1) return a[0];
    if (name == "Add") return fold([](const Sym& x, const Sym& y) { return x + y; });
    if (name == "Mul") return fold([](const Sym& x, const Sym& y) { return x * y; });
    if (name == "Max") return fold(Sym::max);
    if (name == "Min") return fold(Sym::min);
    if (a.size() != 2 || !a[1].is_known() || a[1] == Sym(0)) return Sym::unknown();
    if (name == "FloorDiv") return Sym::floordiv(a[0], a[1]);
    if (name == "Mod" || name == "PythonMod") return Sym::mod(a[0], a[1]);
    if (name == "CeilDiv") return Sym::floordiv(a[0] + a[1] - 1, a[1]);
    const auto power = a[1].constant();
    if ((name == "Pow" || name == "PowByNatural") && power && *power > 0 && *power <= 8) {
      Sym s = a[0];
      for (int64_t i = 1; i < *power; i++) s = s * a[0];
      return s;
    }
    return Sym::unknown();
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Sym read_expression(std::string_view text) { return Expressions(text).whole(); }

Sym read_sym(const Field& field) {
  const auto [kind, value] = field.choice();
  if (kind == "as_int") return value.integer();
  if (kind != "as_expr") value.fail("expected as_int or as_expr");
  const std::string text = value.at("expr_str").text();
  try {
    return read_expression(text);
  } catch (const Error& e) { value.fail(e.what()); }
}

TensorFacts read_facts(const Field& field) {
  TensorFacts f;
  const auto syms = [&](const char* key) {
    std::vector<Sym> list;
    field.at(key).each([&](const Field& s) { list.push_back(read_sym(s)); });
    return list;
  };
  f.dtype = read_dtype(field.at("dtype"));
  f.layout = read_layout(field.at("layout"));
  f.device = read_device(field.at("device"));
  f.sizes = syms("sizes");
  f.strides = syms("strides");
  if (f.strides->size() != f.sizes->size()) field.fail("has ", f.sizes->size(), " sizes and ", f.strides->size(), " strides");
  if (f.layout != Layout::Strided) f.strides.reset();
  try {
    Sym elements(1);
    for (const Sym& size : *f.sizes) elements = elements * size;
  } catch (const Error&) { field.at("sizes").fail("has more elements than 64 bits can count"); }
  if (field.at("requires_grad").boolean()) f.requires_grad = true;
  return f;
}

}  // namespace cresset::graph
