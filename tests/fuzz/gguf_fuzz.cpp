// GGUF files: facts, rows of tensors, and every tensor as floats.

#include "cresset/io/gguf.h"
#include "tests/fuzz/fuzz.h"

using namespace cresset;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::expect_errors_only([&] {
    const io::GgufFile file(fuzz::source_of(data, size), "file");
    for (const io::GgufTensor& t : file.tensors()) {
      // One without elements may lie where the padding of the file ends.
      if (t.nbytes > 0 && (t.nbytes > size || t.offset > size - t.nbytes)) std::abort();
      fuzz::expect_errors_only([&] { file.read(t); });
    }
  });
  return 0;
}
