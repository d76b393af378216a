// Reads the text that print.cpp writes. Every error has its line and column.

#include <charconv>
#include <cmath>

#include "cresset/core/layout.h"
#include "cresset/graph/ir/names.h"
#include "cresset/ops/functions.h"

namespace cresset::graph {

namespace {

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options) : text_(text), options_(options) {}

  Module module() {
    Module m;
    while (skip(), at_ < text_.size()) {
      const size_t start = at_;
      m.graphs.push_back(graph());
      for (size_t i = 0; i + 1 < m.graphs.size(); i++)
        if (m.graphs[i]->name() == m.graphs.back()->name()) fail_at(start, "the name of the graph @" + m.graphs.back()->name() + " is taken");
    }
    if (m.graphs.empty()) fail("expected a graph");
    return m;
  }
  std::unique_ptr<Graph> one_graph() {
    auto g = graph();
    if (skip(), at_ < text_.size()) fail("expected the end of the text");
    return g;
  }
  Type one_type() {
    Type t = type();
    if (skip(), at_ < text_.size()) fail("expected the end of the type");
    return t;
  }

 private:
  static constexpr int kMaxDepth = 100;

  // Errors.
  [[noreturn]] void fail_at(size_t at, const std::string& what) const {
    const std::string_view before = text_.substr(0, at);
    size_t line = 1;
    for (size_t end = before.find('\n'); end != std::string_view::npos; end = before.find('\n', end + 1)) line++;
    const size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    throw ValueError(str("graph text: line ", line, ", column ", column, ": ", what));
  }
  [[noreturn]] void fail(const std::string& what) const {
    std::string got = at_ < text_.size() ? std::string(text_.substr(at_, std::min<size_t>(text_.find_first_of(" \n", at_), at_ + 24) - at_)) : "";
    fail_at(at_, what + (at_ >= text_.size() ? ", got the end" : got.empty() ? "" : ", got '" + got + "'"));
  }
  // Errors of what is called in its scope are at this place.
  template <class F> auto located(size_t at, F&& f) const {
    try {
      return f();
    } catch (const Error& e) { fail_at(at, e.what()); }
  }
  struct Depth {
    explicit Depth(Parser& p) : parser(p) {
      if (++parser.depth_ > kMaxDepth) parser.fail("expected less deep nesting");
    }
    ~Depth() { parser.depth_--; }
    Parser& parser;
  };

  // Words and signs.
  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') at_++;
      else break;
    }
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("expected '") + c + "'");
  }
  bool sees(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }
  std::string_view peek_word() {
    skip();
    // Several are asked about the same word.
    if (word_.data() != text_.data() + at_) {
      size_t end = at_;
      while (end < text_.size() && is_name_char(text_[end])) end++;
      word_ = text_.substr(at_, end - at_);
    }
    return word_;
  }
  bool take_word(std::string_view word) {
    if (peek_word() != word) return false;
    at_ += word.size();
    return true;
  }
  std::string name(const char* what) {
    const std::string_view w = peek_word();
    if (w.empty() || (w[0] >= '0' && w[0] <= '9')) fail(std::string("expected ") + what);
    at_ += w.size();
    return std::string(w);
  }
  // "ns::name.overload".
  std::string op_name() {
    skip();
    const size_t start = at_;
    while (at_ < text_.size() &&
           (is_name_char(text_[at_]) || (text_[at_] == ':' && at_ + 1 < text_.size() && (text_[at_ + 1] == ':' || text_[at_ - 1] == ':'))))
      at_++;
    if (at_ == start) fail("expected an operator");
    return std::string(text_.substr(start, at_ - start));
  }
  int64_t integer(const char* what) {
    skip();
    int64_t v = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (error != std::errc()) fail(std::string("expected ") + what);
    at_ = static_cast<size_t>(end - text_.data());
    return v;
  }
  std::string quoted_text() {
    expect('"');
    std::string s;
    while (true) {
      if (at_ >= text_.size() || text_[at_] == '\n') fail("expected the closing quote");
      const char c = text_[at_++];
      if (c == '"') return s;
      if (c != '\\') {
        s += c;
        continue;
      }
      if (at_ >= text_.size()) fail("expected the closing quote");
      const char e = text_[at_++];
      if (e == 'n') s += '\n';
      else if (e == '"' || e == '\\') s += e;
      else if (e == 'x') s += byte();
      else fail_at(at_ - 2, "expected one of the escapes \\n \\\" \\\\ \\x");
    }
  }
  char byte() {
    unsigned v = 0;
    const auto [end, error] = at_ + 2 <= text_.size() ? std::from_chars(text_.data() + at_, text_.data() + at_ + 2, v, 16)
                                                      : std::from_chars_result{text_.data(), std::errc::invalid_argument};
    if (error != std::errc() || end != text_.data() + at_ + 2) fail("expected two hexadecimal digits");
    at_ += 2;
    return static_cast<char>(v);
  }

  // Types.
  Sym sym() {
    skip();
    const size_t start = at_;
    int open = 0;
    while (at_ < text_.size() && text_[at_] != '\n' && (open > 0 || (text_[at_] != ',' && text_[at_] != ']'))) {
      open += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
      at_++;
    }
    const std::string_view text = text_.substr(start, at_ - start);
    return located(start, [&] { return Sym::parse(text); });
  }
  std::vector<Sym> syms() {
    expect('[');
    std::vector<Sym> list;
    if (take(']')) return list;
    do list.push_back(sym());
    while (take(','));
    expect(']');
    return list;
  }
  std::vector<Type> types() {
    expect('[');
    std::vector<Type> list;
    if (take(']')) return list;
    do list.push_back(type());
    while (take(','));
    expect(']');
    return list;
  }
  Type type() {
    const Depth depth(*this);
    const size_t start = (skip(), at_);
    const std::string word = name("a type");
    if (word == "Tensor" || (find_dtype(word) && sees('['))) return tensor_type(word);
    static const std::map<std::string, TypeKind, std::less<>> kPlain = {{"Any", TypeKind::Any},
                                                                        {"None", TypeKind::None},
                                                                        {"int", TypeKind::Int},
                                                                        {"float", TypeKind::Float},
                                                                        {"bool", TypeKind::Bool},
                                                                        {"complex", TypeKind::Complex},
                                                                        {"number", TypeKind::Number},
                                                                        {"str", TypeKind::String},
                                                                        {"dtype", TypeKind::DType},
                                                                        {"device", TypeKind::Device},
                                                                        {"layout", TypeKind::Layout},
                                                                        {"memory_format", TypeKind::MemoryFormat},
                                                                        {"Generator", TypeKind::Generator}};
    if (const auto found = kPlain.find(word); found != kPlain.end()) return found->second;
    if (word == "Class") {
      expect('[');
      std::string object = quoted_text();
      expect(']');
      return Type::object(std::move(object));
    }
    if (word == "NamedTuple") return named_tuple();
    const bool is_known = word == "List" || word == "Optional" || word == "Dict" || word == "Tuple" || word == "Union" || word == "Future";
    if (!is_known) fail_at(start, "expected a type, got '" + word + "'");
    std::vector<Type> inside = types();
    const size_t wanted = word == "Dict" ? 2 : 1;
    if (word != "Tuple" && word != "Union" && inside.size() != wanted) fail_at(start, word + " has " + std::to_string(wanted) + " types inside");
    if (word == "List") return Type::list(inside[0]);
    if (word == "Optional") return Type::optional(inside[0]);
    if (word == "Dict") return Type::dict(inside[0], inside[1]);
    if (word == "Future") return Type::future(inside[0]);
    return word == "Tuple" ? Type::tuple(std::move(inside)) : Type::union_of(std::move(inside));
  }
  Type named_tuple() {
    expect('[');
    const std::string tuple = quoted_text();
    std::vector<Type> elements;
    std::vector<std::string> fields;
    while (take(',')) {
      fields.push_back(name("the name of a field"));
      expect(':');
      elements.push_back(type());
    }
    expect(']');
    return Type::tuple(std::move(elements), std::move(fields), tuple);
  }
  Type tensor_type(const std::string& word) {
    TensorFacts f;
    if (word != "Tensor") f.dtype = find_dtype(word);
    if (sees('[')) {
      f.sizes = syms();
      f.device = Device(kCPU);
      f.layout = Layout::Strided;
    }
    bool strides_said = false;
    if (take('{')) {
      do strides_said = fact(f) || strides_said;
      while (take(','));
      expect('}');
    }
    if (f.sizes && !strides_said && f.layout == Layout::Strided) f.strides = contiguous(*f.sizes);
    return Type::tensor(std::move(f));
  }
  // Whether it was the strides.
  bool fact(TensorFacts& f) {
    const size_t start = (skip(), at_);
    const std::string key = name("a fact about a tensor");
    expect('=');
    if (key == "strides") {
      if (take('?')) f.strides.reset();
      else f.strides = syms();
      return true;
    }
    if (key == "device") {
      skip();
      const size_t at = at_;
      while (at_ < text_.size() && (is_name_char(text_[at_]) || text_[at_] == ':' || text_[at_] == '?')) at_++;
      const std::string device(text_.substr(at, at_ - at));
      f.device = device == "?" ? std::nullopt : std::optional<Device>(located(at, [&] { return Device(device); }));
    } else if (key == "layout") {
      f.layout = take('?') ? std::nullopt : std::optional<Layout>(layout());
    } else if (key == "dtype") {
      f.dtype = dtype();
    } else if (key == "grad") {
      f.requires_grad = take_word("true");
      if (!*f.requires_grad && !take_word("false")) fail("expected true or false");
    } else {
      fail_at(start, "expected strides, device, layout, dtype or grad, got '" + key + "'");
    }
    return false;
  }
  static std::vector<Sym> contiguous(const std::vector<Sym>& sizes) {
    std::vector<Sym> strides(sizes.size());
    Sym step = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      strides[d] = step;
      const auto n = sizes[d].constant();
      if (!n || *n > 1) step = step * sizes[d];
    }
    return strides;
  }
  ScalarType dtype() {
    const size_t start = (skip(), at_);
    const std::string word = name("a dtype");
    const auto found = find_dtype(word);
    if (!found) fail_at(start, "expected a dtype, got '" + word + "'");
    return *found;
  }
  Layout layout() {
    const size_t start = (skip(), at_);
    const std::string word = name("a layout");
    for (int i = 0; i <= static_cast<int>(Layout::Mkldnn); i++)
      if (word == layout_name(static_cast<Layout>(i))) return static_cast<Layout>(i);
    fail_at(start, "expected a layout, got '" + word + "'");
  }
  MemoryFormat memory_format() {
    const size_t start = (skip(), at_);
    const std::string word = name("a memory format");
    for (int i = 0; i <= static_cast<int>(MemoryFormat::ChannelsLast3d); i++)
      if (word == memory_format_name(static_cast<MemoryFormat>(i))) return static_cast<MemoryFormat>(i);
    fail_at(start, "expected a memory format, got '" + word + "'");
  }

  // Literals.
  Datum number() {
    skip();
    const size_t start = at_;
    const bool negative = at_ < text_.size() && text_[at_] == '-';
    if (negative) at_++;
    const std::string_view word = peek_word();
    if (word == "inf" || word == "nan") {
      at_ += 3;
      return word == "nan" ? NAN : negative ? -INFINITY : INFINITY;
    }
    size_t end = at_;
    bool is_float = false;
    while (end < text_.size() && ((text_[end] >= '0' && text_[end] <= '9') || text_[end] == '.' || text_[end] == 'e' ||
                                  ((text_[end] == '-' || text_[end] == '+') && text_[end - 1] == 'e'))) {
      is_float = is_float || text_[end] == '.' || text_[end] == 'e';
      end++;
    }
    const char *from = text_.data() + start, *to = text_.data() + end;
    at_ = start;
    if (is_float) {
      double v = 0;
      const auto r = std::from_chars(from, to, v);
      if (r.ec != std::errc() || r.ptr != to) fail("expected a number that a float can hold");
      at_ = end;
      return v;
    }
    if (end < text_.size() && text_[end] == 'u') {
      uint64_t v = 0;
      const auto r = std::from_chars(from, to, v);
      if (r.ec != std::errc() || r.ptr != to) fail("expected a number of 64 bits");
      at_ = end + 1;
      Datum d;
      d.data() = v;
      return d;
    }
    int64_t v = 0;
    const auto r = std::from_chars(from, to, v);
    if (r.ec != std::errc() || r.ptr != to) fail("expected a number of 64 bits");
    at_ = end;
    return v;
  }
  double real() { return number().to_double(); }
  bool boolean() {
    if (take_word("true")) return true;
    if (!take_word("false")) fail("expected true or false");
    return false;
  }
  template <class F> auto list_of(F&& element) {
    std::vector<decltype(element())> list;
    expect('[');
    if (take(']')) return list;
    do list.push_back(element());
    while (take(','));
    expect(']');
    return list;
  }
  Datum literal() {
    const Depth depth(*this);
    skip();
    if (at_ >= text_.size()) fail("expected a value");
    const char c = text_[at_];
    if (c == '"') return quoted_text();
    if (c == '[') return list_of([&] { return integer("an integer"); });
    if (c == '-' || (c >= '0' && c <= '9')) return number();
    const size_t start = at_;
    const std::string_view word = peek_word();
    if (word == "inf" || word == "nan") return number();
    at_ += word.size();
    if (word == "none") return {};
    if (word == "true") return true;
    if (word == "false") return false;
    if (word == "complex") {
      expect('(');
      const double re = real();
      expect(',');
      const double im = real();
      expect(')');
      return complex<double>(re, im);
    }
    if (word == "device") {
      const std::string text = quoted_text();
      return located(start, [&] { return Device(text); });
    }
    if (word == "float") return list_of([&] { return real(); });
    if (word == "number") return list_of([&] { return literal().to_scalar(); });
    if (word == "str") return list_of([&] { return quoted_text(); });
    if (word == "bool") {
      const std::vector<bool> list = list_of([&] { return boolean(); });
      return list;
    }
    for (const char* kind : {"dtype.", "layout.", "memory_format."})
      if (word.substr(0, std::string_view(kind).size()) == kind) {
        at_ = start + std::string_view(kind).size();
        if (kind[0] == 'd') return dtype();
        if (kind[0] == 'l') return layout();
        return memory_format();
      }
    fail_at(start, "expected a value, got '" + std::string(word.empty() ? text_.substr(start, 1) : word) + "'");
  }

  // Graphs.
  std::unique_ptr<Graph> graph() {
    if (!take_word("graph")) fail("expected 'graph'");
    expect('@');
    auto g = std::make_unique<Graph>(name("the name of the graph"));
    graph_ = g.get();
    scope_.clear();
    defined_.clear();
    parameters(g->block());
    expect('{');
    while (take_word("dim")) range();
    while (take_word("tensor")) tensor();
    body(g->block());
    g->verify();
    return g;
  }
  void range() {
    const std::string symbol = name("the name of a size");
    if (!take_word("in")) fail("expected 'in'");
    expect('[');
    SymRange r;
    r.min = integer("the smallest value");
    expect(',');
    if (!take_word("inf")) r.max = integer("the largest value");
    expect(']');
    graph_->ranges()[symbol] = r;
  }
  // A new name of a value; the graph gives values the names that they ask for as long as these are free.
  std::string new_name(char sign) {
    expect(sign);
    const size_t at = at_;
    std::string n = name("the name of a value");
    if (graph_->has_name(n)) fail_at(at, std::string("the name ") + sign + n + " is taken");
    return n;
  }
  void define(const std::string& n, Value* v) {
    CRESSET_INTERNAL_ASSERT(v->name() == n);
    scope_[n] = v;
    defined_.push_back(n);
  }
  void tensor() {
    const std::string n = new_name('@');
    expect(':');
    const Type t = type();
    Value* v = graph_->unbound(t, n);
    define(n, v);
    const size_t at = (skip(), at_);
    if (take('=')) {
      const std::vector<Datum> elements = list_of([&] { return literal(); });
      v->bind(located(at, [&] { return Datum(tensor_of(t, elements)); }));
    }
  }
  static Tensor tensor_of(const Type& type, const std::vector<Datum>& elements) {
    const TensorFacts& f = type.facts();
    const int64_t n = f.numel().value_or(Sym(-1)).constant().value_or(-1);
    CRESSET_CHECK_VALUE(n == static_cast<int64_t>(elements.size()) && f.dtype, "expected as many elements as the type says, got ", elements.size());
    std::vector<int64_t> sizes;
    for (const Sym& s : *f.sizes) {
      sizes.push_back(s.constant().value_or(-1));
      CRESSET_CHECK_VALUE(sizes.back() >= 0, "expected sizes that are numbers, got ", s.text());
    }
    const Tensor t = empty(sizes, TensorOptions().dtype(*f.dtype));
    for (size_t i = 0; i < elements.size(); i++) {
      void* data = t.data_ptr();
      switch (*f.dtype) {
        case kFloat: static_cast<float*>(data)[i] = static_cast<float>(elements[i].to_double()); break;
        case kDouble: static_cast<double*>(data)[i] = elements[i].to_double(); break;
        case kLong: static_cast<int64_t*>(data)[i] = elements[i].to_int(); break;
        case kInt: static_cast<int32_t*>(data)[i] = static_cast<int32_t>(elements[i].to_int()); break;
        case kBool: static_cast<bool*>(data)[i] = elements[i].to_bool(); break;
        default: CRESSET_CHECK_VALUE(false, "expected elements of float32, float64, int64, int32 or bool, got ", *f.dtype);
      }
    }
    return t;
  }
  void parameters(Block& b) {
    expect('(');
    if (take(')')) return;
    do {
      const std::string n = new_name('%');
      expect(':');
      define(n, b.add_parameter(type(), n));
    } while (take(','));
    expect(')');
  }
  Value* operand() {
    skip();
    const size_t start = at_;
    const bool is_value = sees('%'), is_tensor = sees('@');
    if (!is_value && !is_tensor) {
      Datum d = literal();
      return graph_->constant(std::move(d));
    }
    at_++;
    const std::string n = name("the name of a value");
    const auto found = scope_.find(n);
    if (found == scope_.end() || found->second->is_constant() != is_tensor)
      fail_at(start, std::string("the value ") + text_[start] + n + " is used before it is defined");
    return found->second;
  }
  std::vector<Value*> operands() {
    std::vector<Value*> list;
    do list.push_back(operand());
    while (take(','));
    return list;
  }
  void tail(Node& n) {
    if (take('<')) {
      do {
        const std::string key = name("the name of an attribute");
        expect('=');
        n.set_attribute(key, literal());
      } while (take(','));
      expect('>');
    }
    if (!take_word("at")) return;
    auto l = std::make_shared<Location>();
    l->file = quoted_text();
    expect(':');
    l->line = static_cast<int>(integer("a line"));
    expect(':');
    l->column = static_cast<int>(integer("a column"));
    if (take_word("in")) l->function = quoted_text();
    n.set_location(std::move(l));
  }
  // After the opening brace, up to the closing one.
  void body(Block& b) {
    const Depth depth(*this);
    while (!take_word("return")) node(b);
    if (!sees('}') && !sees('<') && peek_word() != "at")
      for (Value* v : operands()) b.add_result(v);
    tail(*b.return_node());
    expect('}');
  }
  Node* make_node(size_t start, Node* place) {
    if (take_word("foreign")) {
      const std::string target = quoted_text();
      return graph_->create_foreign(target, inputs(), place);
    }
    const std::string op = op_name();
    for (const NodeKind kind : {NodeKind::If, NodeKind::Loop, NodeKind::List, NodeKind::Tuple, NodeKind::Dict, NodeKind::Unpack})
      if (op == structure_name(kind)) {
        std::vector<Value*> list = inputs();
        return located(start, [&] { return graph_->create(kind, std::move(list), place); });
      }
    if (op == structure_name(NodeKind::Call)) {
      expect('@');
      const std::string target = name("the name of a graph");
      return graph_->create_call(target, inputs(), place);
    }
    if (const Builtin* builtin = find_builtin(op)) {
      std::vector<Value*> list = inputs();
      return located(start, [&] { return graph_->create(*builtin, std::move(list), place); });
    }
    const dispatch::OpHandle handle = dispatch::find_op_or_null(op);
    if (!handle && options_.allow_foreign) return graph_->create_foreign(op, inputs(), place);
    if (!handle) located(start, [&] { return dispatch::find_op(op); });
    std::vector<Value*> list = inputs();
    return located(start, [&] { return graph_->create(handle, std::move(list), place); });
  }
  std::vector<Value*> inputs() {
    expect('(');
    if (take(')')) return {};
    std::vector<Value*> list = operands();
    expect(')');
    return list;
  }
  void node(Block& b) {
    if (++num_nodes_ > options_.max_nodes) fail("expected at most " + std::to_string(options_.max_nodes) + " nodes");
    skip();
    std::vector<std::pair<std::string, Type>> outputs;
    if (sees('%')) {
      do {
        const std::string n = new_name('%');
        for (const auto& o : outputs)
          if (o.first == n) fail("the name %" + n + " is taken");
        expect(':');
        outputs.emplace_back(n, type());
      } while (take(','));
      expect('=');
    }
    const size_t start = (skip(), at_);
    Node* n = make_node(start, b.return_node());
    // The text says the names and the types.
    while (!n->outputs().empty()) n->remove_output(n->outputs().size() - 1);
    for (auto& [output, t] : outputs) n->add_output(std::move(t), output);
    tail(*n);
    while (sees('{') || sees('(')) {
      Block* inside = n->add_block();
      const size_t around = defined_.size();
      if (sees('(')) parameters(*inside);
      expect('{');
      body(*inside);
      for (; defined_.size() > around; defined_.pop_back()) scope_.erase(defined_.back());
    }
    for (const auto& o : n->outputs()) define(o->name(), o.get());
  }

  std::string_view text_;
  const ParseOptions& options_;
  std::string_view word_;  // the last that was looked at
  size_t at_ = 0, num_nodes_ = 0;
  int depth_ = 0;
  Graph* graph_ = nullptr;
  std::unordered_map<std::string, Value*> scope_;
  std::vector<std::string> defined_;  // names in scope, in their order
};

}  // namespace

std::unique_ptr<Graph> parse_graph(std::string_view text, const ParseOptions& options) { return Parser(text, options).one_graph(); }
Module parse_module(std::string_view text, const ParseOptions& options) {
  Module m = Parser(text, options).module();
  m.verify();
  return m;
}
Type parse_type(std::string_view text) { return Parser(text, {}).one_type(); }

}  // namespace cresset::graph
