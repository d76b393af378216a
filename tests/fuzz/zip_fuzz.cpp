// Archives: their tables, and the content of every entry.

#include "tests/fuzz/fuzz.h"

using namespace cresset;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto source = fuzz::source_of(data, size);
  io::ZipReader::looks_like_zip(*source);
  fuzz::expect_errors_only([&] {
    const io::ZipReader zip(*source, "file");
    zip.find("data.pkl");
    for (const io::ZipEntry& entry : zip.entries()) {
      // An entry that is stored as it is lies within the file; deflate makes at most a thousandfold of it.
      if (entry.stored && (entry.data_offset > size || entry.size > size - entry.data_offset)) std::abort();
      fuzz::expect_errors_only([&] {
        const std::string head = zip.head(entry, 64);
        if (head.size() > 64) std::abort();
      });
      fuzz::expect_errors_only([&] {
        const std::string content = zip.read(entry, true);
        if (content.size() / 1100 > size) std::abort();
        fuzz::touch(content.data(), content.size());
      });
    }
  });
  return 0;
}
