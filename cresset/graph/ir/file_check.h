#pragma once
// Checks of a text, such as a printed graph, that are given as a list of patterns in their order.

#include <string>
#include <string_view>
#include <vector>

#include "cresset/base/macros.h"

namespace cresset::graph {

// Each search begins where the last match ended. An error says which check failed, and where the search began.
class CRESSET_API FileCheck {
 public:
  FileCheck() = default;
  FileCheck(const FileCheck&) = delete;
  FileCheck& operator=(const FileCheck&) = delete;
  // Prints its checks to standard output if run() was never called: such a test has tested nothing.
  ~FileCheck();

  // The text comes later.
  FileCheck* check(const std::string& pattern);
  // The text stands between the match before and the one after, or the end, nowhere.
  FileCheck* check_not(const std::string& pattern);
  // The text comes later in the same line.
  FileCheck* check_same(const std::string& pattern);
  // The text comes in the next line.
  FileCheck* check_next(const std::string& pattern);
  // The text comes `count` times, and, if exactly, not once more before the next check's match. Errors: a count of 0 without `exactly`.
  FileCheck* check_count(const std::string& pattern, size_t count, bool exactly = false);
  // Neighbours of this kind come in any order.
  FileCheck* check_dag(const std::string& pattern);
  // The text comes later with as many `~` below it, and no others beside those.
  FileCheck* check_source_highlighted(const std::string& pattern);
  // A match of the regular expression (ECMAScript's) comes later.
  FileCheck* check_regex(const std::string& pattern);

  // Errors: the first check that fails; no checks.
  void run(const std::string& text);
  // Also the checks that `checks` holds in lines `# CHECK: pattern`, `# CHECK-NEXT: pattern`, `# CHECK-COUNT-3: pattern`, … Errors: a line of checks
  // that cannot be read.
  void run(const std::string& checks, const std::string& text);

 private:
  enum class Kind : uint8_t { Text, Not, Same, Next, Count, Dag, Highlighted, Regex };
  struct Check {
    Kind kind;
    std::string pattern;
    size_t count = 1;
    bool exactly = false;
  };
  struct Match {
    size_t begin, end;
  };
  FileCheck* add(Kind kind, const std::string& pattern);
  void read_line(std::string_view line);
  // From the last match's end. `group`: neighbours that take any order.
  Match find(const Check& check, const std::string& text, Match last) const;
  Match find_group(size_t first, size_t last, const std::string& text, Match before) const;
  static std::string name_of(const Check& check);
  [[noreturn]] static void fail(const Check& check, const std::string& text, size_t from, std::string_view found);

  std::vector<Check> checks_;
  bool has_run_ = false;
};

}  // namespace cresset::graph
