#pragma once
// Texts of programs, places in them, and errors that show the place.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cresset/base/error.h"

namespace cresset::graph::script {

struct CRESSET_API Source {
  std::string text, file;
  int first_line = 1;    // of `text` in the file
  bool archive = false;  // escapes of strings are bytes

  int line_of(size_t at) const;
  // The lines around [start, end), with a row of marks below the line of `start`.
  std::string excerpt(size_t start, size_t end) const;

 private:
  mutable std::once_flag scanned_;
  mutable std::vector<size_t> ends_;  // of the lines, found when the first place is asked for
};

struct CRESSET_API Range {
  std::shared_ptr<const Source> source;
  size_t start = 0, end = 0;

  std::string text() const { return source ? source->text.substr(start, end - start) : std::string(); }
  // '  File "f.py", line 3, in f' and the excerpt.
  std::string show(const std::string& function = "") const;
};

// The program is no TorchScript, or its types do not fit. `what()` ends with the place.
class CRESSET_API CompileError : public Error {
 public:
  CompileError(const std::string& message, const Range& range) : Error(message + (range.source ? ":\n" + range.show() : std::string())) {}
};
// Python that TorchScript does not have.
class CRESSET_API NotSupportedError : public CompileError {
 public:
  using CompileError::CompileError;
};

}  // namespace cresset::graph::script
