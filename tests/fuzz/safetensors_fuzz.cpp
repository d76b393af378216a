// Safetensors files and the indices of several.

#include "cresset/io/safetensors.h"
#include "tests/fuzz/fuzz.h"

using namespace cresset;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::expect_errors_only([&] {
    const io::SafetensorsContent content = io::parse_safetensors(data, size);
    size_t total = 0;
    for (const auto& item : content.tensors) total += item.value().nbytes();
    if (total > size) std::abort();
  });
  fuzz::expect_errors_only([&] {
    for (const auto& [tensor, file] : io::read_safetensors_index(*fuzz::source_of(data, size), "file"))
      if (file.find('/') != std::string::npos || file == "..") std::abort();
  });
  return 0;
}
