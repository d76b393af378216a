#pragma once
// Lines of a log on the standard error stream, and checks that say what they compared.

#include <sstream>
#include <string>

#include "cresset/base/error.h"
#include "cresset/base/macros.h"

namespace cresset::logging {

enum Severity { INFO = 0, WARNING = 1, ERROR = 2, FATAL = 3 };

// Lines below this severity are not written; CRESSET_LOG_LEVEL, else WARNING.
CRESSET_API int& minimum_severity();
// Whether a failed check ends the process instead of raising.
CRESSET_API bool& fatal_checks();

// One line, written when it is destroyed. FATAL ends the process then.
class CRESSET_API Line {
 public:
  Line(const char* file, int line, int severity) : file_(file), line_(line), severity_(severity) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line();
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
  const char* file_;
  int line_, severity_;
};

// Makes a conditional line an expression without a value.
struct Voidify {
  void operator&(std::ostream&) const {}
};

// Errors: always.
[[noreturn]] CRESSET_API void check_failed(const char* file, int line, const char* condition, const std::string& message);

// "5 vs 6".
template <class A, class B> std::string compared(const A& a, const B& b) {
  std::ostringstream text;
  text << a << " vs " << b;
  return text.str();
}

}  // namespace cresset::logging
