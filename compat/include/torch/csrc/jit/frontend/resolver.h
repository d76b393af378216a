#pragma once
#include "torch/csrc/jit/frontend/source_range.h"
#include "torch/detail/script_objects.h"
