#pragma once
// Text of anything that prints into a stream, without <sstream> in headers.

#include <iosfwd>
#include <string>

#include "cresset/base/function_ref.h"
#include "cresset/base/macros.h"

namespace cresset {

CRESSET_API std::string streamed(FunctionRef<void(std::ostream&)> write);

}  // namespace cresset
