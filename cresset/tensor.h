#pragma once
// Tensor with its operators, indexing, and the guards that switch gradients on and off.

#include "cresset/autograd/grad_mode.h"
#include "cresset/base/parallel.h"
#include "cresset/core/random/generator.h"
#include "cresset/core/tensor.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/index/indexing.h"
#include "cresset/ops/layout/from_data.h"
#include "cresset/ops/reduce/moments.h"
