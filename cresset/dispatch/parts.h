#pragma once
// Bodies of rows that a dispatch mode hears as the operators that PyTorch's are made of (docs/records/0019-dispatch-modes.md).

#include "cresset/base/macros.h"

namespace cresset::dispatch {

// In its scope, in this thread, bodies that have two ways go by PyTorch's operators.
class CRESSET_API PartsScope {
 public:
  explicit PartsScope(bool on);
  ~PartsScope();
  PartsScope(const PartsScope&) = delete;
  PartsScope& operator=(const PartsScope&) = delete;

 private:
  const bool saved_;
};
CRESSET_API bool wants_parts();

}  // namespace cresset::dispatch
