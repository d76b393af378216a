#include "cresset/graph/ir/file_check.h"

#include <charconv>
#include <cstdio>
#include <regex>

#include "cresset/base/error.h"

namespace cresset::graph {

namespace {

constexpr std::string_view kMarker = "CHECK";

std::string_view line_at(std::string_view text, size_t at) {
  const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

bool is_highlighted(std::string_view text, size_t begin, size_t length) {
  const size_t end_of_line = text.find('\n', begin);
  if (end_of_line == std::string_view::npos) return false;
  const size_t start = begin == 0 ? 0 : text.rfind('\n', begin - 1) + 1, column = begin - start;
  const std::string_view below = line_at(text, end_of_line + 1);
  const auto is_mark = [&](size_t i) { return i < below.size() && below[i] == '~'; };
  for (size_t i = column; i < column + length; ++i) {
    if (!is_mark(i)) return false;
  }
  return !is_mark(column + length) && (column == 0 || !is_mark(column - 1));
}

}  // namespace

FileCheck::~FileCheck() {
  if (has_run_) return;
  std::printf("FileCheck: run() was never called for these checks:\n");
  for (const Check& c : checks_) std::printf("\t%s\n", name_of(c).c_str());
}

FileCheck* FileCheck::add(Kind kind, const std::string& pattern) {
  checks_.push_back({kind, pattern});
  return this;
}
FileCheck* FileCheck::check(const std::string& pattern) { return add(Kind::Text, pattern); }
FileCheck* FileCheck::check_not(const std::string& pattern) { return add(Kind::Not, pattern); }
FileCheck* FileCheck::check_same(const std::string& pattern) { return add(Kind::Same, pattern); }
FileCheck* FileCheck::check_next(const std::string& pattern) { return add(Kind::Next, pattern); }
FileCheck* FileCheck::check_dag(const std::string& pattern) { return add(Kind::Dag, pattern); }
FileCheck* FileCheck::check_source_highlighted(const std::string& pattern) { return add(Kind::Highlighted, pattern); }
FileCheck* FileCheck::check_regex(const std::string& pattern) { return add(Kind::Regex, pattern); }
FileCheck* FileCheck::check_count(const std::string& pattern, size_t count, bool exactly) {
  CRESSET_CHECK(count != 0 || exactly, "FileCheck: expected a count above 0 for \"", pattern, "\", or exactly=True");
  checks_.push_back({Kind::Count, pattern, count, exactly});
  if (exactly) add(Kind::Not, pattern);
  return this;
}

std::string FileCheck::name_of(const Check& c) {
  static constexpr const char* kNames[] = {"", "-NOT", "-SAME", "-NEXT", "-COUNT-", "-DAG", "-SOURCE-HIGHLIGHTED", "-REGEX"};
  std::string name = std::string(kMarker) + kNames[static_cast<size_t>(c.kind)];
  if (c.kind == Kind::Count) name += (c.exactly ? "EXACTLY-" : "") + std::to_string(c.count);
  return name + ": " + c.pattern;
}

void FileCheck::fail(const Check& check, const std::string& text, size_t from, std::string_view found) {
  CRESSET_CHECK(false, "FileCheck: ", std::string(found), ", from ", name_of(check), "\nin the text behind this place:\n",
                text.substr(std::min(from, text.size())));
  std::abort();
}

FileCheck::Match FileCheck::find(const Check& c, const std::string& text, Match last) const {
  const size_t from = last.end;
  const auto next = [&](size_t at) {
    const size_t begin = text.find(c.pattern, at);
    if (begin == std::string::npos) fail(c, text, from, (c.kind == Kind::Highlighted ? "found no highlighted \"" : "found no \"") + c.pattern + "\"");
    return Match{begin, begin + c.pattern.size()};
  };
  switch (c.kind) {
    case Kind::Same: {
      const Match m = next(from);
      if (text.find('\n', from) < m.begin) fail(c, text, from, "found \"" + c.pattern + "\" in a later line only");
      return m;
    }
    case Kind::Next: {
      const size_t line = text.find('\n', from);
      if (line == std::string::npos) fail(c, text, from, "found no next line");
      const Match m = next(line + 1);
      if (text.find('\n', line + 1) < m.begin) fail(c, text, from, "found \"" + c.pattern + "\" behind the next line only");
      return m;
    }
    case Kind::Count: {
      Match m{from, from};
      for (size_t i = 0; i < c.count; ++i) m = next(m.end);
      return m;
    }
    case Kind::Highlighted:
      for (Match m = next(from);; m = next(m.end)) {
        if (is_highlighted(text, m.begin, c.pattern.size())) return m;
        if (c.pattern.empty()) fail(c, text, from, "expected a text to look for");
      }
    case Kind::Regex: {
      std::smatch m;
      if (!std::regex_search(text.begin() + static_cast<ptrdiff_t>(from), text.end(), m, std::regex(c.pattern))) fail(c, text, from, "found no match");
      const size_t begin = from + static_cast<size_t>(m.position());
      return {begin, begin + static_cast<size_t>(m.length())};
    }
    default: return next(from);
  }
}

FileCheck::Match FileCheck::find_group(size_t first, size_t last, const std::string& text, Match before) const {
  Match group{text.size(), before.end};
  for (size_t i = first; i < last; ++i) {
    const Match m = find(checks_[i], text, before);
    group = {std::min(group.begin, m.begin), std::max(group.end, m.end)};
  }
  return group;
}

void FileCheck::run(const std::string& text) {
  has_run_ = true;
  CRESSET_CHECK(!checks_.empty(), "FileCheck: expected checks, got none");
  Match before{0, 0};
  for (size_t i = 0; i < checks_.size();) {
    // Texts that must not come are looked for when both ends of their range are known.
    size_t first = i;
    while (first < checks_.size() && checks_[first].kind == Kind::Not) ++first;
    size_t behind = std::min(first + 1, checks_.size());
    while (behind > first && behind < checks_.size() && checks_[first].kind == Kind::Dag && checks_[behind].kind == Kind::Dag) ++behind;
    const Match m = first == checks_.size() ? Match{text.size(), text.size()} : find_group(first, behind, text, before);
    for (; i < first; ++i) {
      const size_t at = text.find(checks_[i].pattern, before.end);
      if (at != std::string::npos && at + checks_[i].pattern.size() <= m.begin) fail(checks_[i], text, before.end, "found \"" + checks_[i].pattern + "\"");
    }
    before = m;
    i = behind;
  }
}

void FileCheck::read_line(std::string_view line) {
  const size_t hash = line.rfind('#');
  if (hash == std::string_view::npos) return;
  std::string_view rest = line.substr(hash + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  if (rest.substr(0, kMarker.size()) != kMarker) return;
  const size_t colon = rest.find(": ");
  CRESSET_CHECK(colon != std::string_view::npos, "FileCheck: expected \"# CHECK…: pattern\", got \"", std::string(line), "\"");
  std::string_view kind = rest.substr(kMarker.size(), colon - kMarker.size());
  const std::string pattern(rest.substr(colon + 2));
  static const std::pair<std::string_view, Kind> kKinds[] = {{"", Kind::Text},       {"-NOT", Kind::Not}, {"-SAME", Kind::Same},
                                                             {"-NEXT", Kind::Next},  {"-DAG", Kind::Dag}, {"-SOURCE-HIGHLIGHTED", Kind::Highlighted},
                                                             {"-REGEX", Kind::Regex}};
  for (const auto& [name, k] : kKinds) {
    if (kind == name) return void(add(k, pattern));
  }
  static constexpr std::string_view kCount = "-COUNT-", kExactly = "EXACTLY-";
  bool is_read = kind.substr(0, kCount.size()) == kCount;
  if (is_read) kind.remove_prefix(kCount.size());
  const bool exactly = is_read && kind.substr(0, kExactly.size()) == kExactly;
  if (exactly) kind.remove_prefix(kExactly.size());
  size_t count = 0;
  const auto read = std::from_chars(kind.data(), kind.data() + kind.size(), count);
  is_read = is_read && read.ec == std::errc() && read.ptr == kind.data() + kind.size();
  CRESSET_CHECK(is_read, "FileCheck: expected CHECK, CHECK-NEXT, -SAME, -NOT, -DAG, -COUNT-3, -COUNT-EXACTLY-3, -SOURCE-HIGHLIGHTED or -REGEX, got \"",
                std::string(line), "\"");
  check_count(pattern, count, exactly);
}

void FileCheck::run(const std::string& checks, const std::string& text) {
  has_run_ = true;
  for (size_t begin = 0; begin < checks.size();) {
    const size_t end = std::min(checks.find('\n', begin), checks.size());
    read_line(std::string_view(checks).substr(begin, end - begin));
    begin = end + 1;
  }
  run(text);
}

}  // namespace cresset::graph
