#pragma once
#include "cresset/base/mt19937.h"
namespace at {
struct mt19937 : cresset::Mt19937 {
  using Mt19937::Mt19937;
  uint32_t operator()() { return random(); }
};
}  // namespace at
