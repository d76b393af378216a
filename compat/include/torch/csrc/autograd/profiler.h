#pragma once
// All of it.

#include "torch/csrc/autograd/profiler_kineto.h"
