// Arrays of NumPy, alone and in archives.

#include "cresset/io/npy.h"
#include "tests/fuzz/fuzz.h"

using namespace cresset;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto source = fuzz::source_of(data, size);
  fuzz::expect_errors_only([&] {
    const Tensor t = io::read_npy(*source, "file");
    if (t.numel() > 0 && t.nbytes() > size) std::abort();
  });
  fuzz::expect_errors_only([&] { io::inspect_npy(*source, "file"); });
  fuzz::expect_errors_only([&] { io::inspect_npz(*source, "file"); });
  fuzz::expect_errors_only([&] { io::read_npz(*source, "file"); });
  return 0;
}
