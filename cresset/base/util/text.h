#pragma once
// Text helpers of LibTorch's: joining, splitting, numbers, and strings of wide characters.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cresset/base/streamed.h"

namespace cresset {

template <class Container> std::string Join(const std::string& delimiter, const Container& values) {
  return streamed([&](auto& out) {
    bool first = true;
    for (const auto& v : values) {
      if (!first) out << delimiter;
      out << v;
      first = false;
    }
  });
}

CRESSET_API std::string utf8_of(std::wstring_view wide);
// Replaces every `from`; the number of replacements.
CRESSET_API size_t ReplaceAll(std::string& s, std::string_view from, std::string_view to);
CRESSET_API std::string StripBasename(const std::string& path);
CRESSET_API std::string ExcludeFileExtension(const std::string& name);
inline bool starts_with(std::string_view s, std::string_view prefix) { return s.substr(0, prefix.size()) == prefix; }
inline bool ends_with(std::string_view s, std::string_view suffix) { return s.size() >= suffix.size() && s.substr(s.size() - suffix.size()) == suffix; }
inline bool starts_with(std::string_view s, char prefix) { return !s.empty() && s.front() == prefix; }
inline bool ends_with(std::string_view s, char suffix) { return !s.empty() && s.back() == suffix; }
inline bool isPrintable(const char* s, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (s[i] < ' ' || s[i] > '~') return false;
  return true;
}
template <class Stream> void printQuotedString(Stream& out, std::string_view s) {
  out << '"';
  for (const char c : s) {
    if (c == '\n') out << "\\n";
    else if (c == '\t') out << "\\t";
    else if (c == '"' || c == '\\') out << '\\' << c;
    else out << c;
  }
  out << '"';
}

// The whole text as a number, in C's notations; nothing where it is none, or out of range.
template <class T> CRESSET_API std::optional<T> tryToNumber(const char* text);
template <class T> std::optional<T> tryToNumber(const std::string& text) { return tryToNumber<T>(text.c_str()); }

}  // namespace cresset
