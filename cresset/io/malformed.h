#pragma once
// The error of readers for files that break their format. Private to the room.

#include "cresset/base/error.h"

namespace cresset::io {

// `loader` is the public function that was called, `parts` say what is wrong with `file`.
template <class... Parts> [[noreturn]] void malformed(const char* loader, const std::string& file, const Parts&... parts) {
  cresset::detail::throw_error<Error>(cresset::str(loader, ": '", file, "' is malformed: ", parts...));
}

}  // namespace cresset::io
