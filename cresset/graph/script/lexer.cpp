#include "cresset/graph/script/lexer.h"

#include <array>

namespace cresset::graph::script {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::array<std::string_view, 47> kOperators = {"**=", "//=", ">>=", "<<=", "...", "!=", "->", ":=", "**", "//", "<<", ">>", "<=", ">=", "==", "+=",
                                                         "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^=", "@=", "(",  ")",  "[",  "]",  "{",  "}",  ",",  ":",
                                                         ".",   "=",   "+",   "-",   "*",   "/",  "%",  "@",  "&",  "|",  "^",  "~",  "<",  ">",  ";"};

class Lexer {
 public:
  explicit Lexer(std::shared_ptr<const Source> source) : source_(std::move(source)), text_(source_->text) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) {
      if (at_line_start_ && depth_ == 0) {
        if (!indentation()) continue;
        at_line_start_ = false;
      }
      word();
    }
    if (depth_) fail("the bracket is not closed", brackets_.back(), brackets_.back() + 1);
    if (!out_.empty() && out_.back().kind != TokenKind::Newline && out_.back().kind != TokenKind::Dedent) add(TokenKind::Newline, text_.size(), 0);
    while (indents_.size() > 1) {
      indents_.pop_back();
      add(TokenKind::Dedent, text_.size(), 0);
    }
    add(TokenKind::End, text_.size(), 0);
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, size_t start, size_t end) const { throw CompileError(what, Range{source_, start, end}); }
  char peek(size_t n = 0) const { return at_ + n < text_.size() ? text_[at_ + n] : '\0'; }
  void add(TokenKind kind, size_t start, size_t length) { out_.push_back({kind, std::string_view(text_).substr(start, length), start, start + length}); }

  // False for a line without words.
  bool indentation() {
    size_t width = 0, at = at_;
    for (; at < text_.size() && (text_[at] == ' ' || text_[at] == '\t' || text_[at] == '\f'); at++) width = text_[at] == '\t' ? (width / 8 + 1) * 8 : width + 1;
    if (at >= text_.size()) {
      at_ = at;
      return false;
    }
    if (text_[at] == '#') {
      comment(at);
      if (at_ < text_.size()) at_++;
      return false;
    }
    if (text_[at] == '\n' || text_[at] == '\r') {
      at_ = at + 1;
      return false;
    }
    at_ = at;
    // Text from within an indented program is that far from the margin as a whole.
    if (out_.empty()) indents_[0] = width;
    if (width > indents_.back()) {
      indents_.push_back(width);
      add(TokenKind::Indent, at, 0);
    }
    while (width < indents_.back()) {
      indents_.pop_back();
      if (indents_.empty() || width > indents_.back()) fail("the indentation fits no block around it", at, at + 1);
      add(TokenKind::Dedent, at, 0);
    }
    return true;
  }
  void comment(size_t start) {
    size_t end = text_.find('\n', start);
    if (end == std::string::npos) end = text_.size();
    const std::string_view body = std::string_view(text_).substr(start, end - start);
    size_t at = body.find_first_not_of("# ");
    const bool is_type = at != std::string_view::npos && body.substr(at, 4) == "type" && body.find("type: ignore") == std::string_view::npos;
    const size_t colon = is_type ? body.find_first_not_of(' ', at + 4) : std::string_view::npos;
    if (colon != std::string_view::npos && body[colon] == ':') {
      const bool is_signature = body.find('(') != std::string_view::npos && body.find("->") != std::string_view::npos;
      if (body.substr(0, 7) == "# type:") add(TokenKind::TypeComment, start + 7, body.size() - 7);
      else if (is_signature) fail("a comment with types begins with '# type:'", start, end);
    }
    at_ = end;
  }

  void word() {
    const char c = peek();
    const size_t start = at_;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      at_++;
    } else if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      at_ += peek(1) == '\r' ? 3 : 2;
    } else if (c == '#') {
      comment(at_);
    } else if (c == '\n') {
      at_++;
      if (depth_) return;
      add(TokenKind::Newline, start, 1);
      at_line_start_ = true;
    } else if (const size_t prefix = string_prefix()) {
      string(prefix - 1);
    } else if (is_letter(c)) {
      size_t end = at_ + 1;
      while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) end++;
      at_ = end;
      add(TokenKind::Name, start, end - start);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else {
      op();
    }
  }
  // 1 + the length of the prefix of a string that starts here; 0: none does.
  size_t string_prefix() const {
    if (!is_letter(peek()) && peek() != '"' && peek() != '\'') return 0;
    size_t n = 0;
    while (n < 3 && at_ + n < text_.size() && std::string_view("rRbBfFuU").find(peek(n)) != std::string_view::npos) n++;
    return peek(n) == '"' || peek(n) == '\'' ? n + 1 : 0;
  }
  void string(size_t prefix) {
    const size_t start = at_;
    at_ += prefix;
    const char quote = peek();
    const bool triple = peek(1) == quote && peek(2) == quote;
    at_ += triple ? 3 : 1;
    while (true) {
      if (at_ >= text_.size() || (!triple && peek() == '\n')) fail("the string has no end", start, start + prefix + 1);
      if (peek() == '\\') {
        at_ += 2;
      } else if (peek() == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
        at_ += triple ? 3 : 1;
        break;
      } else {
        at_++;
      }
    }
    if (at_ > text_.size()) fail("the string has no end", start, start + prefix + 1);
    add(TokenKind::String, start, at_ - start);
  }
  void number() {
    const size_t start = at_;
    if (peek() == '0' && std::string_view("xXbBoO").find(peek(1)) != std::string_view::npos && peek(1)) {
      at_ += 2;
      while (is_digit(peek()) || is_letter(peek())) at_++;
    } else {
      const auto digits = [&] {
        while (is_digit(peek()) || (peek() == '_' && is_digit(peek(1)))) at_++;
      };
      digits();
      if (peek() == '.') {
        at_++;
        digits();
      }
      if ((peek() == 'e' || peek() == 'E') && (is_digit(peek(1)) || ((peek(1) == '+' || peek(1) == '-') && is_digit(peek(2))))) {
        at_ += 2;
        digits();
      }
      if (peek() == 'j' || peek() == 'J') at_++;
    }
    add(TokenKind::Number, start, at_ - start);
  }
  void op() {
    const char first = peek();
    for (const std::string_view s : kOperators) {
      if (s[0] != first || text_.compare(at_, s.size(), s) != 0) continue;
      if (first == '(' || first == '[' || first == '{') {
        depth_++;
        brackets_.push_back(at_);
      }
      if (first == ')' || first == ']' || first == '}') {
        if (depth_ == 0) fail("the bracket closes nothing", at_, at_ + 1);
        depth_--;
        brackets_.pop_back();
      }
      add(TokenKind::Operator, at_, s.size());
      at_ += s.size();
      return;
    }
    fail("no word of the language begins with this letter", at_, at_ + 1);
  }

  std::shared_ptr<const Source> source_;
  const std::string& text_;
  std::vector<Token> out_;
  std::vector<size_t> indents_{0}, brackets_;
  size_t at_ = 0;
  int depth_ = 0;
  bool at_line_start_ = true;
};

size_t prefix_length(std::string_view word) { return word.find_first_of("\"'"); }

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

}  // namespace

std::vector<Token> tokenize(const std::shared_ptr<const Source>& source) { return Lexer(source).run(); }

bool is_format_string(std::string_view word) { return word.substr(0, prefix_length(word)).find_first_of("fF") != std::string_view::npos; }
bool is_bytes_string(std::string_view word) { return word.substr(0, prefix_length(word)).find_first_of("bB") != std::string_view::npos; }

std::string string_contents(std::string_view word, const Range& range) {
  const size_t prefix = prefix_length(word);
  const bool raw = word.substr(0, prefix).find_first_of("rR") != std::string_view::npos;
  const char quote = word[prefix];
  const bool triple = word.size() >= prefix + 6 && word[prefix + 1] == quote && word[prefix + 2] == quote;
  const size_t edge = triple ? 3 : 1;
  const std::string_view body = word.substr(prefix + edge, word.size() - prefix - 2 * edge);
  if (raw) return std::string(body);
  std::string out;
  for (size_t i = 0; i < body.size(); i++) {
    if (body[i] != '\\' || i + 1 >= body.size()) {
      out += body[i];
      continue;
    }
    const char c = body[++i];
    const auto hex = [&](size_t digits) {
      uint32_t value = 0;
      for (size_t k = 0; k < digits; k++) {
        const char h = i + 1 < body.size() ? body[++i] : 'x';
        const auto place = std::string_view("0123456789abcdef").find(static_cast<char>(h >= 'A' && h <= 'F' ? h + 32 : h));
        if (place == std::string_view::npos) throw CompileError("the escape in the string is not complete", range);
        value = value * 16 + static_cast<uint32_t>(place);
      }
      return value;
    };
    if (c >= '0' && c <= '7') {
      uint32_t value = static_cast<uint32_t>(c - '0');
      for (int k = 0; k < 2 && i + 1 < body.size() && body[i + 1] >= '0' && body[i + 1] <= '7'; k++) value = value * 8 + static_cast<uint32_t>(body[++i] - '0');
      if (range.source && range.source->archive) out += static_cast<char>(value);
      else append_utf8(out, value);
      continue;
    }
    switch (c) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case 'a': out += '\a'; break;
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'v': out += '\v'; break;
      case '\\': out += '\\'; break;
      case '\'': out += '\''; break;
      case '"': out += '"'; break;
      case '\n': break;
      case 'x': append_utf8(out, hex(2)); break;
      case 'u': append_utf8(out, hex(4)); break;
      case 'U': append_utf8(out, hex(8)); break;
      default: out += '\\', out += c;
    }
  }
  return out;
}

}  // namespace cresset::graph::script
