// The one place where cloning of our own layers is compiled.

#define CRESSET_INSTANTIATE_LAYERS
#include "cresset/nn/all.h"
