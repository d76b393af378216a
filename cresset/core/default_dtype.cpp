#include "cresset/core/default_dtype.h"

#include <atomic>

#include "cresset/base/error.h"

namespace cresset {

namespace {
std::atomic<ScalarType> g_default{ScalarType::Float};
}

ScalarType get_default_dtype() { return g_default.load(std::memory_order_relaxed); }

void set_default_dtype(ScalarType t) {
  CRESSET_CHECK_TYPE(t != ScalarType::Undefined, "set_default_dtype: expected a dtype, got none");
  g_default.store(t);
}

}  // namespace cresset
