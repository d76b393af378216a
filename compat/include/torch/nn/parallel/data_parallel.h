#pragma once
#include "cresset/nn/module/parallel.h"
#include "torch/detail/frontend.h"
