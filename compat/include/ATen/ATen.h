#pragma once
#include "torch/detail/aten.h"
#include "torch/detail/symint.h"
