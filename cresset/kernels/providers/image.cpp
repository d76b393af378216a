#include "cresset/kernels/providers/image.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "cresset/kernels/providers/library.h"

namespace cresset::kernels {

namespace {

const ImageTable* load_image() {
  const char* wanted = std::getenv("CRESSET_IMAGE");
  if (wanted && !std::strcmp(wanted, "0")) return nullptr;
  void* handle = open_provider("libcresset_image.so");
  using Entry = const ImageTable* (*)();
  const auto entry = handle ? reinterpret_cast<Entry>(dlsym(handle, "cresset_image_table")) : nullptr;
  const ImageTable* table = entry ? entry() : nullptr;
  return table && table->abi == kImageAbi ? table : nullptr;
}

}  // namespace

const ImageTable* image() {
  static const ImageTable* const table = load_image();
  return table;
}

}  // namespace cresset::kernels
