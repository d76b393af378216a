#pragma once
#include "torch/custom_class.h"
#include "torch/detail/dispatch_keys.h"
#include "torch/detail/library.h"
