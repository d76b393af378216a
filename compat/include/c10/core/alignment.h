#pragma once
#include <cstddef>
namespace c10 {
constexpr size_t gAlignment = 64;  // of the memory of tensors
constexpr size_t gPagesize = 4096;
}  // namespace c10
