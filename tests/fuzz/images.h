#pragma once
// Shared by the targets of images: the last byte of an input chooses how the rest is read.

#include "cresset/io/image.h"
#include "cresset/tensor.h"
#include "tests/fuzz/fuzz.h"

namespace cresset::fuzz {

inline vision::ImageReadOptions read_options(uint8_t choice) {
  vision::ImageReadOptions options(static_cast<vision::ImageReadMode>(choice % 5), (choice / 5) % 2);
  if ((choice / 10) % 2) options.least_height = 3, options.least_width = 2;
  // Large images are rare, for they take their time.
  if (choice < 240) options.max_pixels = 1 << 12;
  return options;
}

// Reads the image, and writes it again where that is possible.
inline void check_image(const uint8_t* data, size_t size, vision::ImageFormat format, const vision::ImageReadOptions& options) {
  expect_errors_only([&] {
    const Tensor image = vision::decode_image(data, size, format, options, "file");
    if (image.dim() != 3 || image.numel() == 0 || image.size(1) * image.size(2) > options.max_pixels) std::abort();
    // Deflate makes at most a thousandfold, a pixel of one bit becomes four bytes; a byte of a JPEG can hold 512 pixels, of ten
    // components.
    if (image.nbytes() / (1040 * 32) > size) std::abort();
    const Tensor pixels = image.contiguous();
    touch(pixels.const_data_ptr(), pixels.nbytes());
    if (image.scalar_type() != kByte || (image.size(0) != 1 && image.size(0) != 3) || image.numel() > 4096) return;
    const Tensor file = format == vision::ImageFormat::png ? vision::encode_png(image, 1) : vision::encode_jpeg(image);
    if (format == vision::ImageFormat::png && !vision::decode_png(file).equal(image)) std::abort();
  });
}

}  // namespace cresset::fuzz
