#pragma once
#include "torch/detail/library.h"
#include "torch/detail/containers.h"
