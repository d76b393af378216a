#pragma once
// All rows of ops/distributions/*.toml; not for users.

#include "cresset/dispatch/table.h"

namespace cresset::distributions {

extern const dispatch::OpTable kRowTable;

}  // namespace cresset::distributions
