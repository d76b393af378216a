// A library whose registration fails half-way: what it registered before must be gone when load_library has raised.

#include "cresset/dispatch/registration.h"
#include "cresset/ops/functions.h"

using namespace cresset;

namespace {

Tensor identity(const Tensor& x) { return x; }

}  // namespace

CRESSET_LIBRARY(broken, m) { m.def("fine(Tensor x) -> Tensor", &identity); }
CRESSET_LIBRARY_IMPL(broken, CPU, m) {
#if BROKEN == 1
  m.impl("fine", [](const Tensor& x, double) { return x; });
#elif BROKEN == 2
  m.impl("fine", &identity);
  m.impl("fine", &identity);
#else
  m.impl("missing", &identity);
#endif
}
