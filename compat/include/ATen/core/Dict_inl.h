#pragma once
#include "torch/detail/containers.h"
