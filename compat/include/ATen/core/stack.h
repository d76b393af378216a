#pragma once
#include "torch/detail/containers.h"
#include "torch/detail/library.h"
