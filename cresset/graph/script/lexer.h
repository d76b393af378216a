#pragma once
// Words of TorchScript: those of Python, with indentation as words of its own.

#include <string_view>
#include <vector>

#include "cresset/graph/script/source.h"

namespace cresset::graph::script {

enum class TokenKind : uint8_t { Name, Number, String, Operator, Newline, Indent, Dedent, TypeComment, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;  // of the source; of a String with prefix and quotes; of a TypeComment what stands behind "type:"
  size_t start = 0, end = 0;
  bool is(std::string_view s) const { return (kind == TokenKind::Operator || kind == TokenKind::Name) && text == s; }
};

// Errors: CompileError for letters that begin no word, strings and brackets without end, indentation that fits no outer block.
CRESSET_API std::vector<Token> tokenize(const std::shared_ptr<const Source>& source);

// The contents of a string word: escapes resolved, unless its prefix has an r.
std::string string_contents(std::string_view word, const Range& range);
bool is_format_string(std::string_view word);
bool is_bytes_string(std::string_view word);

}  // namespace cresset::graph::script
