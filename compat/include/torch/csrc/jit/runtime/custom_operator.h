#pragma once
#include "torch/csrc/jit/runtime/operator.h"
