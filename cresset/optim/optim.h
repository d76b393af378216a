#pragma once
// The optim room: optimizers and learning rate schedules.

#include "cresset/optim/adagrad.h"
#include "cresset/optim/adam.h"
#include "cresset/optim/lbfgs.h"
#include "cresset/optim/rmsprop.h"
#include "cresset/optim/schedulers.h"
#include "cresset/optim/sgd.h"
