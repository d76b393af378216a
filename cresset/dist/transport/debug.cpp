#include "cresset/dist/transport/debug.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <string>

#include "cresset/dist/errors.h"

namespace cresset::distributed {

namespace {

DebugLevel level_from_environment() {
  const char* set = std::getenv("TORCH_DISTRIBUTED_DEBUG");
  std::string text = set ? set : "OFF";
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (text == "OFF") return DebugLevel::Off;
  if (text == "INFO") return DebugLevel::Info;
  CRESSET_CHECK_VALUE(text == "DETAIL", "TORCH_DISTRIBUTED_DEBUG: expected OFF, INFO or DETAIL, got '", text, "'");
  return DebugLevel::Detail;
}

std::atomic<int>& current() {
  static std::atomic<int> level{static_cast<int>(level_from_environment())};
  return level;
}

}  // namespace

DebugLevel debug_level() { return static_cast<DebugLevel>(current().load()); }
void set_debug_level(DebugLevel level) { current() = static_cast<int>(level); }
void set_debug_level_from_environment() { current() = static_cast<int>(level_from_environment()); }

}  // namespace cresset::distributed
