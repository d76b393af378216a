#include "cresset/base/warning_handler.h"

#include <cstdio>
#include <utility>

namespace cresset {

namespace {
std::atomic<WarningHandler> g_handler{nullptr};
std::atomic<bool> g_always{false};
thread_local warnings::WarningHandler* t_handler = nullptr;
}  // namespace

void warn(const std::string& text, WarningKind kind) {
  if (t_handler) return t_handler->process(warnings::Warning(kind, {}, text));
  if (const WarningHandler handler = g_handler.load()) return handler(kind, text);
  std::fprintf(stderr, "%s: %s\n", kind == WarningKind::deprecation ? "deprecation warning" : "warning", text.c_str());
}

WarningHandler set_warning_handler(WarningHandler handler) { return g_handler.exchange(handler); }

bool warns_always() { return g_always.load(std::memory_order_relaxed); }
void set_warns_always(bool always) { g_always.store(always, std::memory_order_relaxed); }

namespace warnings {

void WarningHandler::process(const Warning& warning) {
  WarningHandler* const own = std::exchange(t_handler, nullptr);
  cresset::warn(warning.msg(), warning.type());
  t_handler = own;
}

void warn(const Warning& warning) {
  if (t_handler) t_handler->process(warning);
  else cresset::warn(warning.msg(), warning.type());
}

void set_warning_handler(WarningHandler* handler) noexcept { t_handler = handler; }
WarningHandler* get_warning_handler() noexcept {
  static WarningHandler* const process = new WarningHandler;
  return t_handler ? t_handler : process;
}

}  // namespace warnings

}  // namespace cresset
