// The Python extension of `torch.compile`: frames, guards and what was compiled (docs/records/0027-compile.md).

#include "python/bind_compile/region.h"

namespace {
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_cresset_compile", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
}

PyMODINIT_FUNC PyInit__cresset_compile() {
  PyObject* module = PyModule_Create(&definition);
  if (module && !(cresset::compile::add_guards(module) && cresset::compile::add_region(module) && cresset::compile::add_fused(module) &&
                  cresset::compile::add_step(module) && cresset::compile::add_package(module)))
    Py_CLEAR(module);
  return module;
}
