#include "cresset/kernels/providers/lapack.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "cresset/kernels/isa.h"
#include "cresset/kernels/providers/library.h"

namespace cresset::kernels {

namespace {

constexpr const char* kLapackLibrary = "libcresset_lapack.so";

// A variable of the environment while OpenBLAS reads it, at loading.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Environment() {
    if (before_) setenv(name_, before_->c_str(), 1);
    else unsetenv(name_);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

const LapackTable* table_of(void* handle) {
  using Entry = const LapackTable* (*)();
  const auto entry = handle ? reinterpret_cast<Entry>(dlsym(handle, "cresset_lapack_table")) : nullptr;
  const LapackTable* table = entry ? entry() : nullptr;
  return table && table->abi == kLapackAbi ? table : nullptr;
}

// OpenBLAS takes a processor that it does not know for one of these, several times slower than what it could run.
bool underrated(const char* core) {
  for (const char* name : {"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Katmai", "Coppermine", "Northwood", "Banias", "Generic"})
    if (!strcasecmp(core, name)) return true;
  return false;
}

const LapackTable* load_lapack() {
  const char* wanted = std::getenv("CRESSET_LAPACK");
  if (wanted && !std::strcmp(wanted, "0")) return nullptr;
  // One pool of threads is awake, ours: OpenBLAS starts none.
  const Environment one_thread("OPENBLAS_NUM_THREADS", "1");
  void* handle = open_provider(kLapackLibrary);
  const LapackTable* table = table_of(handle);
  if (table && underrated(table->core) && active_isa() != static_cast<int>(Isa::baseline) && !std::getenv("OPENBLAS_CORETYPE")) {
    const Environment core("OPENBLAS_CORETYPE", active_isa() == static_cast<int>(Isa::avx512) ? "SkylakeX" : "Haswell");
    dlclose(handle);
    table = table_of(open_provider(kLapackLibrary));
  }
  return table;
}

}  // namespace

const LapackTable* lapack() {
  static const LapackTable* const table = load_lapack();
  return table;
}

}  // namespace cresset::kernels
