#pragma once
#include <string>

#include "cresset/base/util/text.h"
namespace c10 {
using std::stod;
using std::stoi;
using std::stoll;
using std::stoull;
using std::to_string;
}  // namespace c10
