#include "cresset/graph/script/source.h"

#include <algorithm>

namespace cresset::graph::script {

int Source::line_of(size_t at) const {
  std::call_once(scanned_, [&] {
    for (size_t i = 0; i < text.size(); i++)
      if (text[i] == '\n') ends_.push_back(i);
  });
  return first_line + static_cast<int>(std::lower_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
}

std::string Source::excerpt(size_t start, size_t end) const {
  start = std::min(start, text.size());
  const auto line_start = [&](size_t at) {
    const size_t found = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    return found == std::string::npos ? size_t{0} : found + 1;
  };
  const auto line_end = [&](size_t at) {
    const size_t found = text.find('\n', at);
    return found == std::string::npos ? text.size() : found;
  };
  const size_t first = line_start(start), last = line_end(start);
  size_t from = first;
  for (int i = 0; i < 2 && from > 0; i++) from = line_start(from - 1);
  std::string out = text.substr(from, last - from) + "\n" + std::string(start - first, ' ');
  out += std::string(std::max<size_t>(1, std::min(end, last) > start ? std::min(end, last) - start : 1), '~') + " <--- HERE\n";
  size_t at = last;
  for (int i = 0; i < 2 && at < text.size(); i++) {
    const size_t next = line_end(at + 1);
    if (next == text.size() && next == at + 1) break;
    out += text.substr(at + 1, next - at - 1) + "\n";
    at = next;
  }
  return out;
}

std::string Range::show(const std::string& function) const {
  if (!source) return "";
  std::string out = "  File \"" + source->file + "\", line " + std::to_string(source->line_of(start));
  if (!function.empty()) out += ", in " + function;
  return out + "\n" + source->excerpt(start, end);
}

}  // namespace cresset::graph::script
