#pragma once
#include "cresset/base/function_ref.h"
namespace c10 {
template <class Signature> using function_ref = cresset::FunctionRef<Signature>;
}
