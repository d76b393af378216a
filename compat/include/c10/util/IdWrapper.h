#pragma once
#include "cresset/base/util/type_index.h"
namespace c10::util {
using cresset::util::IdWrapper;
}
