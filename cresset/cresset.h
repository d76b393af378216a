#pragma once
// All of Cresset's C++ front end.

#include "cresset/autograd/autograd.h"
#include "cresset/autograd/forward/forward_mode.h"
#include "cresset/autograd/function.h"
#include "cresset/data/data.h"
#include "cresset/nn/module/safetensors.h"
#include "cresset/nn/module/serialize.h"
#include "cresset/nn/nn.h"
#include "cresset/optim/optim.h"
#include "cresset/tensor.h"
#include "cresset/transform/func.h"
