// The codecs of images, built with the sanitizers, in place of those that the library opens.

#include "cresset/kernels/providers/image.h"

extern "C" const cresset::kernels::ImageTable* cresset_image_table();

namespace cresset::kernels {

const ImageTable* image() { return cresset_image_table(); }

}  // namespace cresset::kernels
