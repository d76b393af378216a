#include "cresset/base/util/logging.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "cresset/base/util/interpreter_lock.h"

namespace cresset {

namespace {
std::atomic<PythonGILHooks*> g_hooks{nullptr};
}

bool check_python_gil() {
  const PythonGILHooks* hooks = g_hooks.load(std::memory_order_acquire);
  return hooks && hooks->check_python_gil();
}
void SetPythonGILHooks(PythonGILHooks* hooks) {
  if (std::getenv("TORCH_DISABLE_DEADLOCK_DETECTION")) return;
  g_hooks.store(hooks, std::memory_order_release);
}

namespace logging {

int& minimum_severity() {
  static int severity = [] {
    const char* level = std::getenv("CRESSET_LOG_LEVEL");
    return level ? std::atoi(level) : WARNING;
  }();
  return severity;
}
bool& fatal_checks() {
  static bool fatal = false;
  return fatal;
}

Line::~Line() {
  static const char* const kNames[] = {"I", "W", "E", "F"};
  if (severity_ >= minimum_severity())
    std::fprintf(stderr, "[%s %s:%d] %s\n", kNames[severity_ < 0 ? 0 : severity_ > FATAL ? FATAL : severity_], file_, line_, text_.str().c_str());
  if (severity_ == FATAL) std::abort();
}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  if (fatal_checks()) Line(file, line, FATAL).stream() << condition << ' ' << message;
  detail::throw_error<Error>(str("check at ", file, ":", line, ": expected ", condition, message.empty() ? "" : ", got ", message));
}

}  // namespace logging

}  // namespace cresset
