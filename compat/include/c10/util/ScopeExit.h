#pragma once
#include "cresset/base/util/scope_exit.h"
namespace c10 {
template <class F> using scope_exit = cresset::ScopeExit<F>;
using cresset::make_scope_exit;
}  // namespace c10
