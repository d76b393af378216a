#pragma once
#include "ATen/core/blob.h"
#include "torch/detail/script_objects.h"
