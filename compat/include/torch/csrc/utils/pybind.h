#pragma once
#include "cresset/python/pybind11.h"

namespace py = pybind11;
