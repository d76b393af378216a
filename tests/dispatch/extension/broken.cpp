// A library whose registration fails half-way: what it registered before must be gone when load_library has raised.

#include "cresset/dispatch/registration.h"
#include "cresset/ops/functions.h"

using namespace cresset;

namespace {

Tensor identity(const Tensor& x) { return x; }

}  // namespace

CRESSET_LIBRARY(broken, m) { m.def("fine(Tensor x) -> Tensor", &identity); }
#if BROKEN == 1
CRESSET_LIBRARY_IMPL(broken, CPU, m) {
  m.impl("fine", [](const Tensor& x, double) { return x; });
}
#elif BROKEN == 2
CRESSET_LIBRARY_FRAGMENT(broken, m) { m.def("fine(Tensor x) -> Tensor"); }
#elif BROKEN == 4
CRESSET_LIBRARY_FRAGMENT(broken, m) {
  m.def("more(Tensor x) -> Tensor");
  throw 42;
}
#else
CRESSET_LIBRARY_IMPL(broken, Nowhere, m) { m.impl("fine", &identity); }
#endif
