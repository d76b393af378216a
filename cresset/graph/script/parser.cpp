#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "cresset/graph/script/ast.h"
#include "cresset/graph/script/lexer.h"

namespace cresset::graph::script {

namespace {

// Expressions and blocks within each other: more are refused, so that no text overflows the stack.
constexpr int kMaxDepth = 200;
// Of trees: a sum of many terms is one level for each, which all who walk it descend.
constexpr int kMaxHeight = 1000;

class Parser {
 public:
  explicit Parser(std::shared_ptr<const Source> source) : source_(std::move(source)), tokens_(tokenize(source_)) {}

  std::vector<AstPtr> file() {
    std::vector<AstPtr> out;
    while (!at_end()) {
      if (skip_newline()) continue;
      statement(out);
    }
    return out;
  }
  AstPtr whole_expression() {
    while (peek().kind == TokenKind::Indent) at_++;
    AstPtr e = expression_list();
    while (peek().kind == TokenKind::Newline || peek().kind == TokenKind::Dedent) at_++;
    if (!at_end()) fail("expected the end of the expression");
    return e;
  }

 private:
  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) {
      if (++parser.depth_ > kMaxDepth) parser.fail(str("expected at most ", kMaxDepth, " expressions within each other"));
    }
    ~Deeper() { parser.depth_--; }
    Parser& parser;
  };

  const Token& peek(size_t n = 0) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }
  bool at_end() const { return peek().kind == TokenKind::End; }
  bool is(std::string_view s) const { return peek().is(s); }
  bool accept(std::string_view s) {
    if (!is(s)) return false;
    at_++;
    return true;
  }
  Range range(const Token& t) const { return {source_, t.start, t.end}; }
  [[noreturn]] void fail(const std::string& what) const { throw CompileError(what, range(peek())); }
  [[noreturn]] void unsupported(const std::string& what) const { throw NotSupportedError(what, range(peek())); }
  void expect(std::string_view s) {
    if (!accept(s)) fail(str("expected '", std::string(s), "', got ", describe(peek())));
  }
  static std::string describe(const Token& t) {
    switch (t.kind) {
      case TokenKind::Newline: return "the end of the line";
      case TokenKind::Indent: return "more indentation";
      case TokenKind::Dedent: return "the end of the block";
      case TokenKind::End: return "the end of the text";
      default: return "'" + std::string(t.text) + "'";
    }
  }
  bool skip_newline() {
    if (peek().kind != TokenKind::Newline && peek().kind != TokenKind::TypeComment && !is(";")) return false;
    at_++;
    return true;
  }
  static bool is_keyword(std::string_view s) {
    static constexpr std::string_view kWords[] = {"and",      "as",     "assert",  "async", "await", "break",  "class", "continue", "def",  "del",  "elif",
                                                  "else",     "except", "finally", "for",   "from",  "global", "if",    "import",   "in",   "is",   "lambda",
                                                  "nonlocal", "not",    "or",      "pass",  "raise", "return", "try",   "while",    "with", "yield"};
    for (const auto w : kWords)
      if (w == s) return true;
    return false;
  }
  std::string name() {
    if (peek().kind != TokenKind::Name || is_keyword(peek().text)) fail(str("expected a name, got ", describe(peek())));
    return std::string(tokens_[at_++].text);
  }
  AstPtr make(AstKind kind, size_t start) const { return std::make_unique<Ast>(kind, Range{source_, start, start}); }
  AstPtr finish(AstPtr a) const {
    a->range.end = at_ ? tokens_[at_ - 1].end : a->range.start;
    for (const AstPtr& k : a->kids)
      if (k) a->height = std::max(a->height, k->height + 1);
    if (a->height > kMaxHeight)
      throw CompileError(str("expected at most ", kMaxHeight, " operations upon each other"), Range{source_, tokens_[at_ - 1].start, tokens_[at_ - 1].end});
    return a;
  }
  static bool is_literal_string(const Ast& a) { return a.kind == AstKind::Literal && a.value.isString(); }

  // ---- statements

  void statement(std::vector<AstPtr>& out) {
    const Deeper deeper(*this);
    const size_t start = peek().start;
    if (peek().kind == TokenKind::Indent) fail("unexpected indentation");
    if (is("@") || is("def")) return out.push_back(definition());
    if (is("async")) unsupported("async functions are not part of TorchScript");
    if (is("class")) return out.push_back(class_definition());
    if (is("if")) return out.push_back(branch());
    if (accept("while")) {
      AstPtr a = make(AstKind::While, start);
      a->kids.push_back(expression());
      a->range.end = tokens_[at_ - 1].end;
      a->kids.push_back(block());
      no_else("while");
      return out.push_back(std::move(a));
    }
    if (accept("for")) {
      AstPtr a = make(AstKind::For, start);
      a->kids.push_back(target_list());
      expect("in");
      a->kids.push_back(expression_list());
      a->range.end = tokens_[at_ - 1].end;
      a->kids.push_back(block());
      no_else("for");
      return out.push_back(std::move(a));
    }
    if (accept("with")) return out.push_back(with(start));
    if (is("match") && peek(1).kind == TokenKind::Name && !is_keyword(peek(1).text)) unsupported("match statements are not part of TorchScript");
    if (is("try")) unsupported("try blocks are not part of TorchScript");
    simple_line(out);
  }
  void no_else(const char* what) {
    if (is("else")) unsupported(str("else branches of ", what, " loops are not part of TorchScript"));
  }
  void simple_line(std::vector<AstPtr>& out) {
    while (true) {
      out.push_back(simple());
      if (peek().kind == TokenKind::TypeComment) {
        out.back()->type_comment = std::string(peek().text);
        at_++;
      }
      if (accept(";")) {
        if (peek().kind == TokenKind::Newline) break;
        continue;
      }
      break;
    }
    if (peek().kind == TokenKind::Newline) at_++;
    else if (!at_end() && peek().kind != TokenKind::Dedent) fail(str("expected the end of the statement, got ", describe(peek())));
  }
  AstPtr block() {
    const Deeper deeper(*this);
    expect(":");
    AstPtr b = make(AstKind::Block, peek().start);
    if (peek().kind == TokenKind::TypeComment) {
      b->type_comment = std::string(peek().text);
      at_++;
    }
    if (peek().kind != TokenKind::Newline) {
      simple_line(b->kids);
      return finish(std::move(b));
    }
    while (peek().kind == TokenKind::Newline) at_++;
    const auto comment = [&] {
      while (peek().kind == TokenKind::TypeComment) {
        // Behind the signature, comments are those of statements.
        if (b->type_comment.find("->") == std::string::npos) b->type_comment += (b->type_comment.empty() ? "" : "\n") + std::string(peek().text);
        at_++;
      }
    };
    comment();
    if (peek().kind != TokenKind::Indent) fail("expected an indented block");
    at_++;
    comment();
    while (peek().kind != TokenKind::Dedent && !at_end()) {
      if (skip_newline()) continue;
      statement(b->kids);
    }
    finish_block(*b);
    if (peek().kind == TokenKind::Dedent) at_++;
    return b;
  }
  void finish_block(Ast& b) const {
    if (!b.kids.empty()) b.range = {source_, b.kids.front()->range.start, b.kids.back()->range.end};
  }
  AstPtr branch() {
    AstPtr a = make(AstKind::If, peek().start);
    at_++;
    a->kids.push_back(expression());
    a->range.end = tokens_[at_ - 1].end;
    a->kids.push_back(block());
    if (is("elif")) {
      AstPtr other = make(AstKind::Block, peek().start);
      if (++branches_ > kMaxHeight) fail(str("expected at most ", kMaxHeight, " branches of one condition"));
      other->kids.push_back(branch());
      branches_--;
      finish_block(*other);
      a->kids.push_back(std::move(other));
    } else if (accept("else")) {
      a->kids.push_back(block());
    } else {
      a->kids.push_back(make(AstKind::Block, a->range.end));
    }
    return a;
  }
  AstPtr with(size_t start) {
    AstPtr a = make(AstKind::With, start);
    a->kids.push_back(nullptr);
    do {
      a->kids.push_back(expression());
      a->kids.push_back(accept("as") ? target() : nullptr);
    } while (accept(","));
    a->range.end = tokens_[at_ - 1].end;
    a->kids[0] = block();
    return a;
  }
  AstPtr definition() {
    std::vector<std::string> decorators;
    while (accept("@")) {
      const size_t start = peek().start;
      size_t end = start;
      int depth = 0;
      while (peek().kind != TokenKind::Newline && !at_end()) {
        if (is("(")) depth++;
        if (depth == 0) end = peek().end;
        at_++;
      }
      decorators.push_back(source_->text.substr(start, end - start));
      while (skip_newline()) continue;
    }
    if (is("class")) {
      AstPtr c = class_definition();
      c->decorators = std::move(decorators);
      return c;
    }
    const size_t start = peek().start;
    if (is("async")) unsupported("async functions are not part of TorchScript");
    expect("def");
    AstPtr def = make(AstKind::Def, start);
    def->decorators = std::move(decorators);
    def->text = name();
    expect("(");
    bool keyword_only = false;
    std::string comments;
    while (!accept(")")) {
      if (peek().kind == TokenKind::TypeComment) {
        // Behind a parameter it is that parameter's type.
        const std::string text(peek().text);
        if (!def->kids.empty() && text.find("->") == std::string::npos) def->kids.back()->type_comment = text;
        else comments += text + "\n";
        at_++;
        continue;
      }
      if (is("**") || (is("*") && !peek(1).is(","))) unsupported("functions with variable arguments (*args, **kwargs) cannot be compiled");
      if (accept("*")) {
        keyword_only = true;
      } else if (!accept("/")) {
        AstPtr p = make(AstKind::Parameter, peek().start);
        p->text = name();
        p->value = Datum(keyword_only);
        p->kids.push_back(accept(":") ? expression() : nullptr);
        p->kids.push_back(accept("=") ? expression() : nullptr);
        def->kids.push_back(finish(std::move(p)));
      }
      if (!is(")") && peek().kind != TokenKind::TypeComment) expect(",");
    }
    def->kids.push_back(accept("->") ? expression() : nullptr);
    def->range.end = tokens_[at_ - 1].end;
    AstPtr body = block();
    def->type_comment = comments + body->type_comment;
    def->kids.push_back(std::move(body));
    return def;
  }
  AstPtr class_definition() {
    AstPtr c = make(AstKind::Class, peek().start);
    expect("class");
    c->text = name();
    c->kids.push_back(nullptr);
    if (accept("(")) {
      while (!accept(")")) {
        c->kids.push_back(argument());
        if (!is(")")) expect(",");
      }
    }
    c->range.end = tokens_[at_ - 1].end;
    c->kids[0] = block();
    return c;
  }

  AstPtr simple() {
    const size_t start = peek().start;
    if (accept("return")) {
      AstPtr a = make(AstKind::Return, start);
      a->kids.push_back(ends_here() ? nullptr : expression_list());
      return finish(std::move(a));
    }
    if (accept("pass")) return finish(make(AstKind::Pass, start));
    if (accept("break")) return finish(make(AstKind::Break, start));
    if (accept("continue")) return finish(make(AstKind::Continue, start));
    if (accept("assert")) {
      AstPtr a = make(AstKind::Assert, start);
      a->kids.push_back(expression());
      a->kids.push_back(accept(",") ? expression() : nullptr);
      return finish(std::move(a));
    }
    if (accept("raise")) {
      AstPtr a = make(AstKind::Raise, start);
      a->kids.push_back(ends_here() ? nullptr : expression());
      if (accept("from")) expression();
      return finish(std::move(a));
    }
    if (accept("del")) {
      AstPtr a = make(AstKind::Delete, start);
      do a->kids.push_back(expression());
      while (accept(","));
      return finish(std::move(a));
    }
    if (is("global") || is("nonlocal")) unsupported(str(std::string(peek().text), " variables are not part of TorchScript"));
    if (is("import") || is("from")) {
      AstPtr a = make(AstKind::Pass, start);
      a->text = "import";
      while (peek().kind != TokenKind::Newline && !at_end()) at_++;
      return finish(std::move(a));
    }
    if (is("yield") || is("await")) unsupported(str("'", std::string(peek().text), "' is not part of TorchScript"));
    AstPtr first = expression_list();
    if (accept(":")) {
      AstPtr a = make(AstKind::Annotated, start);
      a->kids.push_back(std::move(first));
      a->kids.push_back(expression());
      a->kids.push_back(accept("=") ? expression_list() : nullptr);
      return finish(std::move(a));
    }
    if (is("=")) {
      AstPtr a = make(AstKind::Assign, start);
      a->kids.push_back(nullptr);
      while (accept("=")) {
        a->kids.push_back(std::move(first));
        if (is("yield") || is("await")) unsupported(str("'", std::string(peek().text), "' is not part of TorchScript"));
        first = expression_list();
      }
      a->kids[0] = std::move(first);
      return finish(std::move(a));
    }
    const std::string_view t = peek().text;
    if (peek().kind == TokenKind::Operator && t.size() >= 2 && t.back() == '=' && t != "==" && t != "!=" && t != "<=" && t != ">=" && t != ":=") {
      AstPtr a = make(AstKind::Augmented, start);
      a->text = std::string(t.substr(0, t.size() - 1));
      at_++;
      a->kids.push_back(std::move(first));
      a->kids.push_back(expression_list());
      return finish(std::move(a));
    }
    AstPtr a = make(AstKind::Expression, start);
    a->kids.push_back(std::move(first));
    return finish(std::move(a));
  }
  bool ends_here() const {
    return peek().kind == TokenKind::Newline || at_end() || is(";") || peek().kind == TokenKind::TypeComment || peek().kind == TokenKind::Dedent;
  }

  // ---- expressions

  // a, b, c
  AstPtr expression_list() {
    const size_t start = peek().start;
    AstPtr first = starred_or_expression();
    if (!is(",")) return first;
    AstPtr tuple = make(AstKind::Tuple, start);
    tuple->kids.push_back(std::move(first));
    while (accept(",")) {
      if (ends_here() || is("=") || is(")") || is("]") || is(":") || is("}")) break;
      tuple->kids.push_back(starred_or_expression());
    }
    return finish(std::move(tuple));
  }
  AstPtr starred_or_expression() {
    if (!is("*")) return expression();
    AstPtr s = make(AstKind::Starred, peek().start);
    at_++;
    s->kids.push_back(binary(0));
    return finish(std::move(s));
  }
  // The target of a loop: no `in` within.
  AstPtr target() {
    const Deeper deeper(*this);
    if (is("*")) {
      AstPtr s = make(AstKind::Starred, peek().start);
      at_++;
      s->kids.push_back(target());
      return finish(std::move(s));
    }
    return binary(0);
  }
  AstPtr target_list() {
    const size_t start = peek().start;
    AstPtr first = target();
    if (!is(",")) return first;
    AstPtr tuple = make(AstKind::Tuple, start);
    tuple->kids.push_back(std::move(first));
    while (accept(",")) {
      if (is("in")) break;
      tuple->kids.push_back(target());
    }
    return finish(std::move(tuple));
  }

  AstPtr expression() {
    const Deeper deeper(*this);
    const size_t start = peek().start;
    if (is("lambda")) unsupported("lambda functions are not part of TorchScript");
    if (is("yield") || is("await")) unsupported(str("'", std::string(peek().text), "' is not part of TorchScript"));
    AstPtr a = disjunction();
    if (is(":=")) unsupported("assignments within expressions are not part of TorchScript");
    if (!accept("if")) return a;
    AstPtr choice = make(AstKind::Choice, start);
    choice->kids.push_back(disjunction());
    choice->kids.push_back(std::move(a));
    expect("else");
    choice->kids.push_back(expression());
    return finish(std::move(choice));
  }
  AstPtr disjunction() {
    AstPtr a = conjunction();
    while (accept("or")) a = pair(AstKind::Or, "or", std::move(a), conjunction());
    return a;
  }
  AstPtr conjunction() {
    AstPtr a = negation();
    while (accept("and")) a = pair(AstKind::And, "and", std::move(a), negation());
    return a;
  }
  AstPtr pair(AstKind kind, std::string text, AstPtr a, AstPtr b) {
    AstPtr out = make(kind, a->range.start);
    out->text = std::move(text);
    out->kids.push_back(std::move(a));
    out->kids.push_back(std::move(b));
    return finish(std::move(out));
  }
  AstPtr negation() {
    const Deeper deeper(*this);
    if (!is("not")) return comparison();
    AstPtr a = make(AstKind::Unary, peek().start);
    a->text = "not";
    at_++;
    a->kids.push_back(negation());
    return finish(std::move(a));
  }
  std::string comparison_operator() {
    for (const char* s : {"==", "!=", "<=", ">=", "<", ">", "in"})
      if (accept(s)) return s;
    if (accept("is")) return accept("not") ? "is not" : "is";
    if (is("not") && peek(1).is("in")) {
      at_ += 2;
      return "not in";
    }
    return "";
  }
  // a < b < c compares twice; the middle is evaluated twice.
  AstPtr comparison() {
    AstPtr a = binary(0), all;
    for (std::string op = comparison_operator(); !op.empty(); op = comparison_operator()) {
      AstPtr b = binary(0), again;
      if (may_compare()) again = copy(*b);
      AstPtr one = pair(AstKind::Compare, op, std::move(a), std::move(b));
      all = all ? pair(AstKind::And, "and", std::move(all), std::move(one)) : std::move(one);
      a = std::move(again);
      if (!a) break;
    }
    return all ? std::move(all) : std::move(a);
  }
  bool may_compare() const {
    for (const char* s : {"==", "!=", "<", ">", "<=", ">=", "in", "is"})
      if (is(s)) return true;
    return is("not") && peek(1).is("in");
  }
  static AstPtr copy(const Ast& a) {
    AstPtr out = std::make_unique<Ast>(a.kind, a.range);
    out->text = a.text;
    out->value = a.value;
    out->height = a.height;
    for (const AstPtr& k : a.kids) out->kids.push_back(k ? copy(*k) : nullptr);
    return out;
  }
  static int rank(std::string_view op) {
    static constexpr std::pair<std::string_view, int> kRanks[] = {{"|", 0}, {"^", 1}, {"&", 2}, {"<<", 3}, {">>", 3}, {"+", 4},
                                                                  {"-", 4}, {"*", 5}, {"/", 5}, {"//", 5}, {"%", 5},  {"@", 5}};
    for (const auto& [s, r] : kRanks)
      if (s == op) return r;
    return -1;
  }
  AstPtr binary(int least) {
    const Deeper deeper(*this);
    AstPtr a = unary();
    while (peek().kind == TokenKind::Operator) {
      const int r = rank(peek().text);
      if (r < least) break;
      std::string op(peek().text);
      at_++;
      a = pair(AstKind::Binary, std::move(op), std::move(a), binary(r + 1));
    }
    return a;
  }
  AstPtr unary() {
    const Deeper deeper(*this);
    if (!is("-") && !is("+") && !is("~")) return power();
    AstPtr a = make(AstKind::Unary, peek().start);
    a->text = std::string(peek().text);
    at_++;
    if (a->text == "-") negated_ = at_;
    AstPtr inner = unary();
    if (a->text == "-" && inner->kind == AstKind::Literal && inner->value.is_number() && !inner->value.isBool()) {
      const Datum& v = inner->value;
      a->kind = AstKind::Literal;
      a->value = v.isInt()      ? Datum(static_cast<int64_t>(0 - static_cast<uint64_t>(v.toInt())))
                 : v.isDouble() ? Datum(-v.toDouble())
                                : Datum(-v.toComplexDouble());
      return finish(std::move(a));
    }
    a->kids.push_back(std::move(inner));
    return finish(std::move(a));
  }
  AstPtr power() {
    AstPtr a = postfix();
    if (!accept("**")) return a;
    return pair(AstKind::Binary, "**", std::move(a), unary());
  }
  AstPtr postfix() {
    AstPtr a = atom();
    while (true) {
      const size_t start = a->range.start;
      if (accept(".")) {
        AstPtr b = make(AstKind::Attribute, start);
        if (peek().kind != TokenKind::Name) fail("expected the name of an attribute");
        b->text = std::string(peek().text);  // may be a keyword in archives
        at_++;
        b->kids.push_back(std::move(a));
        a = finish(std::move(b));
      } else if (accept("(")) {
        AstPtr b = make(AstKind::Call, start);
        b->kids.push_back(std::move(a));
        while (!accept(")")) {
          b->kids.push_back(argument());
          if (!is(")")) expect(",");
        }
        a = finish(std::move(b));
      } else if (accept("[")) {
        AstPtr b = make(AstKind::Subscript, start);
        b->kids.push_back(std::move(a));
        do {
          if (is("]")) {
            b->text = "tuple";
            break;
          }
          b->kids.push_back(index());
        } while (accept(","));
        if (b->kids.size() == 2 && b->kids[1]->kind == AstKind::Tuple && holds_places(*b->kids[1])) {
          const AstPtr places = std::move(b->kids[1]);
          b->kids.pop_back();
          for (AstPtr& k : places->kids) b->kids.push_back(written_out(std::move(k)));
        }
        if (b->kids.size() > 2) b->text = "tuple";
        expect("]");
        a = finish(std::move(b));
      } else {
        return a;
      }
    }
  }
  // `Ellipsis` and `slice(a, b, c)`, as generated programs write `...` and `a:b:c`.
  static bool is_place(const Ast& a) {
    if (a.kind == AstKind::Name) return a.text == "Ellipsis";
    return a.kind == AstKind::Call && a[0].kind == AstKind::Name && a[0].text == "slice" && a.kids.size() > 1 && a.kids.size() < 5 &&
           std::none_of(a.kids.begin(), a.kids.end(), [](const AstPtr& k) { return k->kind == AstKind::Keyword || k->kind == AstKind::Starred; });
  }
  static bool holds_places(const Ast& tuple) {
    return std::any_of(tuple.kids.begin(), tuple.kids.end(), [](const AstPtr& k) { return is_place(*k); });
  }
  AstPtr written_out(AstPtr a) {
    if (!is_place(*a)) return a;
    AstPtr place = make(a->kind == AstKind::Name ? AstKind::Ellipsis : AstKind::Slice, a->range.start);
    place->range = a->range;
    if (a->kind == AstKind::Name) return place;
    if (a->kids.size() == 2) place->kids.push_back(nullptr);  // slice(stop)
    for (size_t i = 1; i < a->kids.size(); i++) {
      AstPtr& part = a->kids[i];
      const bool open = part->kind == AstKind::Literal && part->value.is_none();
      place->kids.push_back(open ? nullptr : std::move(part));
    }
    place->kids.resize(3);
    return place;
  }
  AstPtr index() {
    const size_t start = peek().start;
    AstPtr parts[3];
    bool is_slice = false;
    if (!is(":")) parts[0] = starred_or_expression();
    for (size_t i = 1; i < 3 && accept(":"); i++) {
      is_slice = true;
      if (!is(":") && !is("]") && !is(",")) parts[i] = expression();
    }
    if (!is_slice) return written_out(std::move(parts[0]));
    AstPtr s = make(AstKind::Slice, start);
    for (AstPtr& p : parts) s->kids.push_back(std::move(p));
    return finish(std::move(s));
  }
  AstPtr argument() {
    const size_t start = peek().start;
    if (accept("*")) {
      AstPtr s = make(AstKind::Starred, start);
      s->kids.push_back(expression());
      return finish(std::move(s));
    }
    if (accept("**")) {
      AstPtr k = make(AstKind::Keyword, start);
      k->kids.push_back(expression());
      return finish(std::move(k));
    }
    if (peek().kind == TokenKind::Name && peek(1).is("=")) {
      AstPtr k = make(AstKind::Keyword, start);
      k->text = name();
      at_++;
      k->kids.push_back(expression());
      return finish(std::move(k));
    }
    AstPtr e = expression();
    if (is("for")) return comprehension(std::move(e), start, AstKind::ListOf);
    return e;
  }
  AstPtr comprehension(AstPtr element, size_t start, AstKind kind, AstPtr value = nullptr) {
    AstPtr a = make(kind, start);
    a->kids.push_back(std::move(element));
    if (value) a->kids.push_back(std::move(value));
    expect("for");
    a->kids.push_back(target_list());
    expect("in");
    a->kids.push_back(disjunction());
    if (is("if")) unsupported("conditions within comprehensions are not part of TorchScript");
    if (is("for")) unsupported("comprehensions over several iterables are not part of TorchScript");
    return finish(std::move(a));
  }

  AstPtr atom() {
    const Deeper deeper(*this);
    const Token& t = peek();
    const size_t start = t.start;
    if (t.kind == TokenKind::Name) return name_or_constant();
    if (t.kind == TokenKind::Number) return number();
    if (t.kind == TokenKind::String) return strings();
    if (accept("...")) return finish(make(AstKind::Ellipsis, start));
    if (accept("(")) return parenthesised(start);
    if (accept("[")) {
      AstPtr list = make(AstKind::List, start);
      if (accept("]")) return finish(std::move(list));
      AstPtr first = starred_or_expression();
      if (is("for")) {
        AstPtr c = comprehension(std::move(first), start, AstKind::ListOf);
        expect("]");
        return finish(std::move(c));
      }
      list->kids.push_back(std::move(first));
      while (accept(",")) {
        if (is("]")) break;
        list->kids.push_back(starred_or_expression());
      }
      expect("]");
      return finish(std::move(list));
    }
    if (accept("{")) return braces(start);
    fail(str("expected an expression, got ", describe(t)));
  }
  AstPtr parenthesised(size_t start) {
    AstPtr tuple = make(AstKind::Tuple, start);
    if (accept(")")) return finish(std::move(tuple));
    AstPtr first = starred_or_expression();
    if (is("for")) {
      AstPtr c = comprehension(std::move(first), start, AstKind::ListOf);
      expect(")");
      return finish(std::move(c));
    }
    if (accept(")")) return first;
    tuple->kids.push_back(std::move(first));
    while (accept(",")) {
      if (is(")")) break;
      tuple->kids.push_back(starred_or_expression());
    }
    expect(")");
    return finish(std::move(tuple));
  }
  AstPtr braces(size_t start) {
    AstPtr dict = make(AstKind::Dict, start);
    while (!accept("}")) {
      if (is("**")) unsupported("dict expansion, {**d}, is not part of TorchScript");
      AstPtr key = expression();
      if (!is(":")) unsupported("sets are not part of TorchScript");
      at_++;
      AstPtr value = expression();
      if (dict->kids.empty() && is("for")) {
        AstPtr c = comprehension(std::move(key), start, AstKind::DictOf, std::move(value));
        expect("}");
        return finish(std::move(c));
      }
      dict->kids.push_back(std::move(key));
      dict->kids.push_back(std::move(value));
      if (!is("}")) expect(",");
    }
    return finish(std::move(dict));
  }
  AstPtr name_or_constant() {
    const Token& t = peek();
    AstPtr a = make(AstKind::Name, t.start);
    if (t.text == "None" || t.text == "True" || t.text == "False") {
      a->kind = AstKind::Literal;
      if (t.text != "None") a->value = Datum(t.text == "True");
      at_++;
      return finish(std::move(a));
    }
    if (t.text == "lambda" || t.text == "yield" || t.text == "await") unsupported(str("'", std::string(t.text), "' is not part of TorchScript"));
    a->text = name();
    return finish(std::move(a));
  }
  AstPtr number() {
    const Token& t = peek();
    AstPtr a = make(AstKind::Literal, t.start);
    std::string s;
    for (const char c : t.text)
      if (c != '_') s += c;
    const bool is_negated = negated_ == at_;
    at_++;
    const bool based = s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X' || s[1] == 'b' || s[1] == 'B' || s[1] == 'o' || s[1] == 'O');
    if (based) {
      const int base = s[1] == 'x' || s[1] == 'X' ? 16 : s[1] == 'b' || s[1] == 'B' ? 2 : 8;
      int64_t v = 0;
      const auto [end, error] = std::from_chars(s.data() + 2, s.data() + s.size(), v, base);
      if (error != std::errc() || end != s.data() + s.size()) throw CompileError("the number is no int of 64 bits", range(t));
      a->value = Datum(v);
    } else if (s.back() == 'j' || s.back() == 'J') {
      a->value = Datum(complex<double>(0, std::strtod(s.c_str(), nullptr)));
    } else if (s.find_first_of(".eE") != std::string::npos) {
      a->value = Datum(std::strtod(s.c_str(), nullptr));
    } else {
      int64_t v = 0;
      const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
      // The lowest int is written as the negative of a number that is none.
      if (is_negated && s == "9223372036854775808") v = INT64_MIN;
      else if (error != std::errc() || end != s.data() + s.size()) throw CompileError("the number is no int of 64 bits", range(t));
      a->value = Datum(v);
    }
    return finish(std::move(a));
  }
  AstPtr strings() {
    const size_t start = peek().start;
    std::vector<AstPtr> parts;
    bool formats = false;
    while (peek().kind == TokenKind::String) {
      const Token& t = peek();
      if (is_bytes_string(t.text)) unsupported("bytes are not part of TorchScript");
      if (is_format_string(t.text)) {
        formats = true;
        format_parts(t, parts);
      } else {
        AstPtr piece = make(AstKind::Literal, t.start);
        piece->value = Datum(string_contents(t.text, range(t)));
        parts.push_back(std::move(piece));
      }
      at_++;
    }
    if (formats) {
      AstPtr f = make(AstKind::Format, start);
      f->kids = std::move(parts);
      return finish(std::move(f));
    }
    std::string whole;
    for (const AstPtr& p : parts) whole += p->value.to_string();
    AstPtr a = make(AstKind::Literal, start);
    a->value = Datum(std::move(whole));
    return finish(std::move(a));
  }
  void format_parts(const Token& t, std::vector<AstPtr>& parts) {
    const std::string body = string_contents(t.text, range(t));
    std::string piece;
    const auto flush = [&] {
      if (piece.empty()) return;
      AstPtr a = std::make_unique<Ast>(AstKind::Literal, range(t));
      a->value = Datum(std::exchange(piece, {}));
      parts.push_back(std::move(a));
    };
    for (size_t i = 0; i < body.size(); i++) {
      if ((body[i] == '{' || body[i] == '}') && i + 1 < body.size() && body[i + 1] == body[i]) {
        piece += body[i++];
        continue;
      }
      if (body[i] != '{') {
        piece += body[i];
        continue;
      }
      flush();
      int depth = 0;
      const size_t from = i + 1;
      for (i++; i < body.size() && (depth || body[i] != '}'); i++) {
        if (body[i] == '(' || body[i] == '[' || body[i] == '{') depth++;
        if (body[i] == ')' || body[i] == ']' || body[i] == '}') depth--;
        if (!depth && (body[i] == ':' || (body[i] == '!' && i + 1 < body.size() && body[i + 1] != '=')))
          throw NotSupportedError("format specifications within f-strings are not part of TorchScript", range(t));
      }
      if (i >= body.size()) throw CompileError("the expression within the f-string has no end", range(t));
      const Deeper deeper(*this);
      auto inner = std::make_shared<Source>();
      inner->text = body.substr(from, i - from);
      inner->file = source_->file;
      inner->first_line = source_->line_of(t.start);
      parts.push_back(parse_expression(inner));
    }
    flush();
  }

  std::shared_ptr<const Source> source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  size_t negated_ = SIZE_MAX;  // the token behind the last minus that is a sign
  int depth_ = 0, branches_ = 0;
};

}  // namespace

std::vector<AstPtr> parse_source(const std::shared_ptr<const Source>& source) { return Parser(source).file(); }
AstPtr parse_expression(const std::shared_ptr<const Source>& source) { return Parser(source).whole_expression(); }

}  // namespace cresset::graph::script
