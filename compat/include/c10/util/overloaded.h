#pragma once
#include "cresset/base/util/overloaded.h"
namespace c10 {
using cresset::overloaded;
}
