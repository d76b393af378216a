#pragma once
#include "torch/detail/dispatch_keys.h"
#include "torch/detail/library.h"
