#pragma once
#include <string>

#include "torch/detail/tensor.h"
