#pragma once
// The names that <ATen/ATen.h> brings beside tensors and ops.
#include "ATen/Context.h"
#include "ATen/ScalarOps.h"
#include "ATen/core/TensorAccessor.h"
#include "c10/util/intrusive_ptr.h"
#include "torch/detail/containers.h"
#include "torch/detail/guards.h"
