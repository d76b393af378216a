#pragma once
// The text of an expected error.

#include <string>

#include "cresset/base/error.h"

namespace cresset {

// The text of the error that `f` raises, or "no error".
template <class E = std::exception, class F> std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& e) { return e.what(); }
  return "no error";
}

}  // namespace cresset
