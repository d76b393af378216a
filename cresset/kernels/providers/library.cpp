#include "cresset/kernels/providers/library.h"

#include <dlfcn.h>

#include <string>

namespace cresset::kernels {

void* open_provider(const char* name) {
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&open_provider), &self) && self.dli_fname) {
    const std::string path = self.dli_fname;
    const size_t slash = path.rfind('/');
    if (slash != std::string::npos)
      if (void* handle = dlopen((path.substr(0, slash + 1) + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

}  // namespace cresset::kernels
