#pragma once
// at::vec: vectors of the CPU for loops of programs.
#include "ATen/cpu/vec/vec_base.h"
#include "c10/util/qint32.h"
#include "c10/util/qint8.h"
#include "c10/util/quint8.h"
#include "cresset/kernels/vec/quantized.h"
