#pragma once
#include "torch/detail/guards.h"
