#pragma once
// The header of a C++ extension of Python. The interpreter's headers and pybind11 are found by cresset.utils.cpp_extension.
#include "torch/all.h"
#include "torch/custom_class.h"
#include "torch/detail/library.h"
#include "torch/python.h"
