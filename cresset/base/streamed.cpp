#include "cresset/base/streamed.h"

#include <sstream>

namespace cresset {

std::string streamed(FunctionRef<void(std::ostream&)> write) {
  std::ostringstream stream;
  write(stream);
  return stream.str();
}

}  // namespace cresset
