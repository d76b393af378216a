#pragma once
#include "torch/detail/dispatch_keys.h"
