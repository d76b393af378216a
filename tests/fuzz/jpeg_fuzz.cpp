// JPEG files by our use of libjpeg-turbo, and the orientation that EXIF data tells.

#include "tests/fuzz/images.h"

using namespace cresset;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  fuzz::check_image(data, size - 1, vision::ImageFormat::jpeg, fuzz::read_options(data[size - 1]));
  return 0;
}
