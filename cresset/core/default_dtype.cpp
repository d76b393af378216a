#include "cresset/core/default_dtype.h"

#include <atomic>

#include "cresset/base/error.h"

namespace cresset {

namespace {
std::atomic<ScalarType> g_default{ScalarType::Float};
}

ScalarType get_default_dtype() { return g_default.load(std::memory_order_relaxed); }

void set_default_dtype(ScalarType t) {
  CRESSET_CHECK_TYPE(is_floating_type(t), "set_default_dtype: only floating-point dtypes can be the default, got ", t);
  g_default.store(t);
}

}  // namespace cresset
