#pragma once
// at::_ops: a struct for each overload, whose static `call` is the operator.
#include "cresset/ops/op_structs.h"
#include "torch/detail/tensor.h"
namespace at {
namespace _ops = cresset::_ops;
}
#define ATEN_FN2(op_name, overload) at::_ops::op_name##_##overload::call
#define ATEN_FN(op_name) at::_ops::op_name::call
