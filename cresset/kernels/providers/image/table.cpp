// libcresset_image.so: what it gives, and checks that need no codec.

#include <cstring>

#include "cresset/kernels/providers/image/codecs.h"

namespace cresset::kernels::image_codecs {

int exif_orientation(const unsigned char* data, size_t size) {
  constexpr int kTag = 0x0112, kShort = 3;
  if (size < 8) return 1;
  const bool is_little = std::memcmp(data, "II\x2a\0", 4) == 0;
  if (!is_little && std::memcmp(data, "MM\0\x2a", 4) != 0) return 1;
  const auto two = [&](size_t at) { return is_little ? data[at] | data[at + 1] << 8 : data[at] << 8 | data[at + 1]; };
  const auto four = [&](size_t at) {
    return is_little ? static_cast<size_t>(two(at)) | static_cast<size_t>(two(at + 2)) << 16
                     : static_cast<size_t>(two(at)) << 16 | static_cast<size_t>(two(at + 2));
  };
  const size_t directory = four(4);
  if (directory > size - 2) return 1;
  const int entries = two(directory);
  for (int i = 0; i < entries; i++) {
    const size_t entry = directory + 2 + static_cast<size_t>(i) * 12;
    if (entry > size || size - entry < 12) return 1;
    if (two(entry) != kTag) continue;
    const int value = two(entry + 8);
    return two(entry + 2) == kShort && value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

bool size_is_plausible(int64_t height, int64_t width, int64_t values, double most_per_byte, const DecodeRequest& request, std::string& error) {
  if (height * width > request.max_pixels) {
    error = "it has " + std::to_string(width) + " x " + std::to_string(height) + " pixels, more than the " + std::to_string(request.max_pixels) +
            " that are allowed";
    return false;
  }
  if (static_cast<double>(values) > most_per_byte * static_cast<double>(request.size)) {
    error = "it is truncated or a bomb: " + std::to_string(request.size) + " bytes cannot hold " + std::to_string(width) + " x " + std::to_string(height) +
            " pixels";
    return false;
  }
  return true;
}

}  // namespace cresset::kernels::image_codecs

extern "C" __attribute__((visibility("default"))) const cresset::kernels::ImageTable* cresset_image_table() {
  using namespace cresset::kernels;
  static const ImageTable table{kImageAbi, image_codecs::decode_jpeg, image_codecs::decode_png, image_codecs::encode_jpeg, image_codecs::encode_png};
  return &table;
}
