#pragma once
// Shared by the two codecs of the image provider.

#include "cresset/kernels/providers/image.h"

namespace cresset::kernels::image_codecs {

bool decode_jpeg(const DecodeRequest& request, PlaceImage place, std::string& error);
bool decode_png(const DecodeRequest& request, PlaceImage place, std::string& error);
bool encode_jpeg(const uint8_t* pixels, int64_t height, int64_t width, int channels, int quality, TakeBytes take, std::string& error);
bool encode_png(const uint8_t* pixels, int64_t height, int64_t width, int channels, int compression, TakeBytes take, std::string& error);

// The orientation that EXIF data, a TIFF header and its first directory, tells; 1 where it tells none.
int exif_orientation(const unsigned char* data, size_t size);

// Whether an image of this size may come of a file of this size: `most_per_byte` is what the format can pack into a byte.
bool size_is_plausible(int64_t height, int64_t width, int64_t values, double most_per_byte, const DecodeRequest& request, std::string& error);

}  // namespace cresset::kernels::image_codecs
