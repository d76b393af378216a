#pragma once
#include "torch/detail/library.h"
