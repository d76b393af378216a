#include "cresset/kernels/providers/onednn.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

namespace cresset::kernels {

namespace {

constexpr const char* kLibrary = "libcresset_onednn.so";

std::atomic<bool> g_enabled{true};

// Beside the object that holds this function, else wherever the loader finds it.
void* open_library() {
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&open_library), &self) && self.dli_fname) {
    const std::string path = self.dli_fname;
    const size_t slash = path.rfind('/');
    if (slash != std::string::npos)
      if (void* handle = dlopen((path.substr(0, slash + 1) + kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
}

const OnednnTable* load() {
  const char* wanted = std::getenv("CRESSET_ONEDNN");
  if (wanted && !std::strcmp(wanted, "0")) return nullptr;
  void* handle = open_library();
  if (!handle) return nullptr;
  using Entry = const OnednnTable* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, "cresset_onednn_table"));
  const OnednnTable* table = entry ? entry() : nullptr;
  return table && table->abi == kOnednnAbi ? table : nullptr;
}

}  // namespace

const OnednnTable* onednn() {
  static const OnednnTable* const table = load();
  return g_enabled.load(std::memory_order_relaxed) ? table : nullptr;
}

bool onednn_enabled() { return g_enabled.load(std::memory_order_relaxed); }

bool set_onednn_enabled(bool enabled) {
  g_enabled.store(enabled, std::memory_order_relaxed);
  return onednn() != nullptr;
}

}  // namespace cresset::kernels
