#pragma once
// Warnings: what a program should know although it goes on. A handler takes them to where its user looks.

#include <atomic>
#include <cstdint>
#include <string>

#include "cresset/base/macros.h"

namespace cresset {

enum class WarningKind : uint8_t { user, deprecation };

// May throw: the call that warned then fails.
using WarningHandler = void (*)(WarningKind kind, const std::string& text);

CRESSET_API void warn(const std::string& text, WarningKind kind = WarningKind::user);
// Sets where the warnings of all threads go and returns where they went before; null is the standard error stream.
CRESSET_API WarningHandler set_warning_handler(WarningHandler handler);

// Whether a warning that is given once for each process is given every time.
CRESSET_API bool warns_always();
CRESSET_API void set_warns_always(bool always);

}  // namespace cresset

// Gives a warning once for each process and place.
#define CRESSET_WARN_ONCE(text)                                                     \
  do {                                                                              \
    static std::atomic<bool> warned{false};                                         \
    if (!warned.exchange(true) || ::cresset::warns_always()) ::cresset::warn(text); \
  } while (false)
