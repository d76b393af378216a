#pragma once
// The nn room with what cresset.h leaves out, so that programs without it compile faster.

#include "cresset/nn/adaptive.h"
#include "cresset/nn/bases.h"
#include "cresset/nn/cross_map.h"
#include "cresset/nn/ctc.h"
#include "cresset/nn/fractional.h"
#include "cresset/nn/grid.h"
#include "cresset/nn/hooks.h"
#include "cresset/nn/nn.h"
#include "cresset/nn/packed.h"
#include "cresset/nn/parallel.h"
#include "cresset/nn/reparametrize.h"
