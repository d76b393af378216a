#pragma once
// The nn room with what cresset.h leaves out, so that programs without it compile faster.

#include "cresset/nn/layers/adaptive.h"
#include "cresset/nn/layers/cross_map.h"
#include "cresset/nn/layers/ctc.h"
#include "cresset/nn/layers/fractional.h"
#include "cresset/nn/layers/grid.h"
#include "cresset/nn/module/bases.h"
#include "cresset/nn/module/hooks.h"
#include "cresset/nn/module/parallel.h"
#include "cresset/nn/nn.h"
#include "cresset/nn/utils/packed.h"
#include "cresset/nn/utils/reparametrize.h"
