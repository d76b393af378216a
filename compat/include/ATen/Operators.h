#pragma once
#include "torch/detail/tensor.h"
