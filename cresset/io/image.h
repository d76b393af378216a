#pragma once
// Images of files and back, by libjpeg-turbo and libpng: tensors (C, H, W) of bytes. Not included by cresset/cresset.h.

#include <cstdint>
#include <string>

#include "cresset/core/tensor.h"

namespace cresset::vision {

enum class ImageReadMode : int { UNCHANGED = 0, GRAY = 1, GRAY_ALPHA = 2, RGB = 3, RGB_ALPHA = 4 };

enum class ImageFormat : int { any, jpeg, png };

struct ImageReadOptions {
  ImageReadOptions(ImageReadMode read_mode = ImageReadMode::UNCHANGED, bool turn_upright = false) : mode(read_mode), apply_exif_orientation(turn_upright) {}

  // The channels that come out. A JPEG has no alpha.
  ImageReadMode mode;
  // Whether the image is turned and mirrored as its EXIF data tells.
  bool apply_exif_orientation;
  // An image of more pixels is an error, whatever its file says.
  int64_t max_pixels = int64_t{1} << 28;
  // A JPEG may come out smaller by 2, 4 or 8, which is faster, but not smaller than this; 0: in its own size.
  int64_t least_height = 0, least_width = 0;
};

// Whether the codecs are there, in the build and now.
CRESSET_API bool codecs_found();

// All that decode give uint8 (uint16 for PNGs of 16 bits), channels last in memory.
// Errors: data that is no JPEG or PNG, truncated or damaged; sizes that the data cannot hold, or above max_pixels; a build without the
// codecs. `name` is what the data is called there.
CRESSET_API Tensor decode_image(const void* data, size_t size, ImageFormat format, const ImageReadOptions& options, const std::string& name);
CRESSET_API Tensor decode_image(const Tensor& data, const ImageReadOptions& options = {});
CRESSET_API Tensor decode_jpeg(const Tensor& data, const ImageReadOptions& options = {});
CRESSET_API Tensor decode_png(const Tensor& data, const ImageReadOptions& options = {});
CRESSET_API Tensor read_image(const std::string& path, const ImageReadOptions& options = {});

// The bytes of a file with an image (C, H, W) of uint8, C being 1 or 3; quality is 1 to 100, compression 0 to 9.
// Errors: other dtypes, shapes and ranges.
CRESSET_API Tensor encode_jpeg(const Tensor& image, int64_t quality = 75);
CRESSET_API Tensor encode_png(const Tensor& image, int64_t compression_level = 6);
// The file is replaced in one step.
CRESSET_API void write_jpeg(const Tensor& image, const std::string& path, int64_t quality = 75);
CRESSET_API void write_png(const Tensor& image, const std::string& path, int64_t compression_level = 6);

// A file's bytes as a tensor (N) of uint8, and back.
CRESSET_API Tensor read_file(const std::string& path);
CRESSET_API void write_file(const std::string& path, const Tensor& data);

}  // namespace cresset::vision
