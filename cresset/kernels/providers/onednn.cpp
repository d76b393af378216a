#include "cresset/kernels/providers/onednn.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "cresset/kernels/providers/library.h"

namespace cresset::kernels {

namespace {

constexpr const char* kOnednnLibrary = "libcresset_onednn.so";

std::atomic<bool> g_enabled{true};

const OnednnTable* load_onednn() {
  const char* wanted = std::getenv("CRESSET_ONEDNN");
  if (wanted && !std::strcmp(wanted, "0")) return nullptr;
  void* handle = open_provider(kOnednnLibrary);
  if (!handle) return nullptr;
  using Entry = const OnednnTable* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, "cresset_onednn_table"));
  const OnednnTable* table = entry ? entry() : nullptr;
  return table && table->abi == kOnednnAbi ? table : nullptr;
}

}  // namespace

const OnednnTable* onednn() {
  static const OnednnTable* const table = load_onednn();
  return g_enabled.load(std::memory_order_relaxed) ? table : nullptr;
}

bool onednn_enabled() { return g_enabled.load(std::memory_order_relaxed); }

bool set_onednn_enabled(bool enabled) {
  g_enabled.store(enabled, std::memory_order_relaxed);
  return onednn() != nullptr;
}

}  // namespace cresset::kernels
