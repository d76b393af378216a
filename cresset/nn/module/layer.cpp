// The one place where short constructors of our own layers are compiled.

#define CRESSET_INSTANTIATE_LAYERS
#include "cresset/nn/all.h"
