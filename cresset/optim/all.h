#pragma once
// The optim room with what LibTorch lacks, which cresset.h leaves out so that programs without it compile faster.

#include "cresset/optim/grad_scaler.h"
#include "cresset/optim/lbfgs_state.h"
#include "cresset/optim/lr_scheduler.h"
#include "cresset/optim/matrix.h"
#include "cresset/optim/optim.h"
#include "cresset/optim/serialize.h"
#include "cresset/optim/sparse_adam.h"
#include "cresset/optim/swa_utils.h"
