#pragma once
#include "ATen/cpu/vec/vec.h"
#include "cresset/kernels/vec/functional.h"
