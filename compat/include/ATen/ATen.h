#pragma once
#include "torch/detail/aten.h"
