#include "cresset/graph/capture/place.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>

#ifdef CRESSET_BACKTRACE
#include <backtrace.h>
#endif

namespace cresset::graph {

namespace {

std::string readable(const char* symbol) {
  int status = 1;
  char* const text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  const std::string out = status == 0 ? text : symbol;
  std::free(text);
  return out;
}

bool is_ours(const char* file) {
  const char* const slash = std::strrchr(file, '/');
  return std::strncmp(slash ? slash + 1 : file, "libcresset", 10) == 0;
}

#ifdef CRESSET_BACKTRACE
// Functions that are inlined come innermost first; those of headers are none of the program.
int first_of_program(void* out, uintptr_t, const char* file, int line, const char* function) {
  if (!file || std::strstr(file, "/cresset/core/") || std::strstr(file, "/cresset/base/") || std::strstr(file, "/include/c++/")) return 0;
  *static_cast<std::string*>(out) = std::string(file) + ":" + std::to_string(line) + (function ? " in " + readable(function) : "");
  return 1;
}

std::string line_of(uintptr_t address) {
  static backtrace_state* const state = backtrace_create_state(
      nullptr, 1, [](void*, const char*, int) {}, nullptr);
  std::string out;
  if (state)
    backtrace_pcinfo(
        state, address, first_of_program, [](void*, const char*, int) {}, &out);
  return out;
}
#else
std::string line_of(uintptr_t) { return {}; }
#endif

}  // namespace

std::string place_of_caller() {
  void* frames[64];
  const int n = backtrace(frames, 64);
  bool inside = false;  // what stands before our own frames is a sanitizer's
  for (int i = 0; i < n; i++) {
    Dl_info info;
    if (!dladdr(frames[i], &info) || !info.dli_fname) continue;
    inside |= is_ours(info.dli_fname);
    if (!inside || is_ours(info.dli_fname)) continue;
    const auto address = reinterpret_cast<uintptr_t>(frames[i]) - 1;  // within the call, not after it
    if (std::string line = line_of(address); !line.empty()) return line;
    if (info.dli_sname) return readable(info.dli_sname);
    std::ostringstream out;
    out << info.dli_fname << "+0x" << std::hex << address - reinterpret_cast<uintptr_t>(info.dli_fbase);
    return out.str();
  }
  return {};
}

}  // namespace cresset::graph
