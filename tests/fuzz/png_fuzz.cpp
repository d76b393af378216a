// PNG files by our use of libpng. Signature, lengths and checksums are mended first, for a mutant where they are wrong goes no
// further.

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/fuzz/images.h"

using namespace cresset;

namespace {

using File = std::vector<uint8_t>;

void put(File& file, size_t at, size_t number) {
  for (size_t i = 0; i < 4; i++) file[at + i] = static_cast<uint8_t>(number >> (24 - 8 * i));
}

// The sum of all that the stream makes goes behind its end.
void mend_stream(File& file, size_t at, size_t length) {
  if (length < 6) return;
  z_stream stream{};
  if (inflateInit2(&stream, -15) != Z_OK) return;
  stream.next_in = file.data() + at + 2;
  stream.avail_in = static_cast<uInt>(length - 2);
  uint8_t made[4096];
  uLong sum = adler32(0, nullptr, 0);
  int state = Z_OK;
  while (state == Z_OK && stream.total_out < size_t{1} << 16) {
    stream.next_out = made;
    stream.avail_out = sizeof made;
    state = inflate(&stream, Z_NO_FLUSH);
    sum = adler32(sum, made, static_cast<uInt>(sizeof made - stream.avail_out));
  }
  if (state == Z_STREAM_END && stream.avail_in >= 4) put(file, at + length - stream.avail_in, sum);
  inflateEnd(&stream);
}

void mend(File& file) {
  const size_t size = file.size();
  if (size < 45) return;
  std::memcpy(&file[0], "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
  std::memcpy(&file[size - 12], "\0\0\0\0IEND", 8);
  for (size_t at = 8; at + 12 <= size;) {
    const size_t most = at + 24 <= size ? size - at - 24 : 0;
    size_t length = size_t{file[at]} << 24 | size_t{file[at + 1]} << 16 | size_t{file[at + 2]} << 8 | file[at + 3];
    if (length > most) put(file, at, length = most);
    if (!std::all_of(&file[at + 4], &file[at + 8], [](uint8_t c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; })) std::memcpy(&file[at + 4], "juNk", 4);
    if (!std::memcmp(&file[at + 4], "IDAT", 4)) mend_stream(file, at + 8, length);
    put(file, at + 8 + length, crc32(0, &file[at + 4], static_cast<uInt>(length + 4)));
    at += length + 12;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  File file(data, data + size - 1);
  // Some come as they are.
  if (data[size - 1] % 16) mend(file);
  fuzz::check_image(file.data(), file.size(), vision::ImageFormat::png, fuzz::read_options(data[size - 1]));
  return 0;
}
