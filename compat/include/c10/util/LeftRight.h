#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "cresset/base/util/containers.h"
#include "torch/detail/macros.h"
namespace c10 {
using cresset::LeftRight;
}
