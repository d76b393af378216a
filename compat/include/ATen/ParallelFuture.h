#pragma once
#include "ATen/Parallel.h"
namespace at {
using cresset::intraop_launch_future;
}
