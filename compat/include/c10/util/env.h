#pragma once
// Variables of the environment.
#include <cstdlib>
#include <optional>
#include <string>

#include "torch/detail/macros.h"

namespace c10::utils {
// An existing value stays unless it may be overwritten.
inline void set_env(const char* name, const char* value, bool overwrite = true) {
  TORCH_CHECK(setenv(name, value, overwrite) == 0, "set_env: the environment takes no variable '", name, "'");
}
inline std::optional<std::string> get_env(const char* name) noexcept {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}
inline bool has_env(const char* name) noexcept { return std::getenv(name) != nullptr; }
// 1 is true and 0 is false; nothing for a variable that is not set, and, with a warning, for any other value.
inline std::optional<bool> check_env(const char* name) {
  const auto value = get_env(name);
  if (value == "1") return true;
  if (value == "0") return false;
  if (value) TORCH_WARN("ignoring the value '", *value, "' of the environment variable ", name, "; expected 0 or 1");
  return std::nullopt;
}
}  // namespace c10::utils
