#pragma once
#include "cresset/autograd/comm.h"
#include "torch/torch.h"
