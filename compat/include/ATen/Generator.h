#pragma once
#include "c10/core/GeneratorImpl.h"
#include "torch/detail/tensor.h"
