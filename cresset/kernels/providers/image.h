#pragma once
// The image provider: a shared library of its own (libcresset_image.so), opened at first use, that calls libjpeg-turbo and libpng.
//
// Images in memory are rows of pixels, the channels of a pixel side by side.

#include <cstdint>
#include <string>

#include "cresset/base/function_ref.h"
#include "cresset/base/macros.h"

namespace cresset::kernels {

struct ImageFacts {
  int64_t height, width;
  int channels;
  int bytes;        // of a value: 1, or 2 in the machine's order
  int orientation;  // EXIF's, 1 to 8; 1 where there is none
};

struct DecodeRequest {
  const unsigned char* data;
  size_t size;
  int channels;                       // 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha; 0: those of the file
  int64_t max_pixels;                 // more are an error
  int64_t least_height, least_width;  // a JPEG may come out smaller by 2, 4 or 8, but not smaller than this; 0: in its own size
  bool is_turned_later;               // least_height and least_width are those of the image that EXIF's orientation was applied to
};

// Asked for the image's memory once its header is read. It may throw.
using PlaceImage = FunctionRef<void*(const ImageFacts&)>;
// Receives a whole encoded file. It may throw.
using TakeBytes = FunctionRef<void(const void*, size_t)>;

// All return whether it worked, and what is wrong if not.
struct ImageTable {
  int abi;
  bool (*decode_jpeg)(const DecodeRequest& request, PlaceImage place, std::string& error);
  bool (*decode_png)(const DecodeRequest& request, PlaceImage place, std::string& error);
  // channels: 1 or 3.
  bool (*encode_jpeg)(const uint8_t* pixels, int64_t height, int64_t width, int channels, int quality, TakeBytes take, std::string& error);
  bool (*encode_png)(const uint8_t* pixels, int64_t height, int64_t width, int channels, int compression, TakeBytes take, std::string& error);
};
constexpr int kImageAbi = 1;

// The provider's table, or null.
CRESSET_API const ImageTable* image();

}  // namespace cresset::kernels
