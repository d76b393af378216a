#include "cresset/base/warning.h"

#include <cstdio>

namespace cresset {

namespace {
std::atomic<WarningHandler> g_handler{nullptr};
std::atomic<bool> g_always{false};
}  // namespace

void warn(const std::string& text, WarningKind kind) {
  if (const WarningHandler handler = g_handler.load()) return handler(kind, text);
  std::fprintf(stderr, "%s: %s\n", kind == WarningKind::deprecation ? "deprecation warning" : "warning", text.c_str());
}

WarningHandler set_warning_handler(WarningHandler handler) { return g_handler.exchange(handler); }

bool warns_always() { return g_always.load(std::memory_order_relaxed); }
void set_warns_always(bool always) { g_always.store(always, std::memory_order_relaxed); }

}  // namespace cresset
