#pragma once
// Warnings as objects, and handlers of one thread, as LibTorch's programs set them. Without one a warning goes where warning.h sends it.

#include "cresset/base/error.h"
#include "cresset/base/warning.h"

namespace cresset::warnings {

class CRESSET_API Warning {
 public:
  // Kinds as LibTorch names them: types that stand for a value.
  struct UserWarning {
    constexpr operator WarningKind() const { return WarningKind::user; }
  };
  struct DeprecationWarning {
    constexpr operator WarningKind() const { return WarningKind::deprecation; }
  };

  Warning(WarningKind kind, SourceLocation source, std::string message, bool verbatim = false)
      : kind_(kind), source_(source), message_(std::move(message)), verbatim_(verbatim) {}
  WarningKind type() const { return kind_; }
  const SourceLocation& source_location() const { return source_; }
  const std::string& msg() const { return message_; }
  // Whether the place in the source adds nothing for the reader.
  bool verbatim() const { return verbatim_; }

 private:
  WarningKind kind_;
  SourceLocation source_;
  std::string message_;
  bool verbatim_;
};

class CRESSET_API WarningHandler {
 public:
  virtual ~WarningHandler() = default;
  // Passes the warning on to where those of all threads go.
  virtual void process(const Warning& warning);
};

CRESSET_API CRESSET_COLD void warn(const Warning& warning);
// The handler of this thread, not owned; nullptr for none.
CRESSET_API void set_warning_handler(WarningHandler* handler) noexcept;
CRESSET_API WarningHandler* get_warning_handler() noexcept;
// Whether a warning that is given once is given every time.
inline void set_warnAlways(bool always) noexcept { set_warns_always(always); }
inline bool get_warnAlways() noexcept { return warns_always(); }

class WarningHandlerGuard {
 public:
  explicit WarningHandlerGuard(WarningHandler* handler) : before_(get_warning_handler()) { set_warning_handler(handler); }
  ~WarningHandlerGuard() { set_warning_handler(before_); }
  WarningHandlerGuard(const WarningHandlerGuard&) = delete;
  WarningHandlerGuard& operator=(const WarningHandlerGuard&) = delete;

 private:
  WarningHandler* before_;
};

class WarnAlways {
 public:
  explicit WarnAlways(bool always = true) : before_(warns_always()) { set_warns_always(always); }
  ~WarnAlways() { set_warns_always(before_); }
  WarnAlways(const WarnAlways&) = delete;
  WarnAlways& operator=(const WarnAlways&) = delete;

 private:
  bool before_;
};

}  // namespace cresset::warnings
