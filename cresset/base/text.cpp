#include "cresset/base/util/text.h"

#include <cerrno>
#include <cstdlib>

namespace cresset {

std::string utf8_of(std::wstring_view wide) {
  std::string s;
  for (const wchar_t wc : wide) {
    const auto c = static_cast<uint32_t>(wc);
    if (c < 0x80) {
      s += static_cast<char>(c);
      continue;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static constexpr unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
    s += static_cast<char>(lead[more] | c >> (6 * more));
    for (int i = more - 1; i >= 0; i--) s += static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3f));
  }
  return s;
}

size_t ReplaceAll(std::string& s, std::string_view from, std::string_view to) {
  if (from.empty()) return 0;
  size_t count = 0;
  for (size_t at = s.find(from); at != std::string::npos; at = s.find(from, at + to.size()), count++) s.replace(at, from.size(), to);
  return count;
}

std::string StripBasename(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string ExcludeFileExtension(const std::string& name) { return name.substr(0, name.rfind('.')); }

template <> std::optional<int64_t> tryToNumber<int64_t>(const char* text) {
  if (!text || !*text) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const long long v = std::strtoll(text, &end, 0);
  if (*end || errno == ERANGE) return std::nullopt;
  return v;
}

template <> std::optional<double> tryToNumber<double>(const char* text) {
  if (!text || !*text) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const double v = std::strtod(text, &end);
  if (*end || errno == ERANGE) return std::nullopt;
  return v;
}

}  // namespace cresset
