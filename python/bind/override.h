#pragma once
// Calls that classes with __torch_function__, or active modes, take over.

#include "python/bind/bind.h"

namespace cresset::python {

// Whether a mode has ever been active: the one load that plain calls pay for modes.
extern bool g_modes_active;
bool any_mode();
// The object's class takes calls over. For classes other than Tensor itself.
bool overrides(PyObject* o);
inline bool overridden(PyObject* o) { return (CRESSET_UNLIKELY(!is_plain_tensor(o)) && overrides(o)) || (CRESSET_UNLIKELY(g_modes_active) && any_mode()); }
// A call was asked for once: `redispatch_function` leaves out no more than that.
void overrides_asked();

// Hands the call to the modes, then to the classes among the arguments (or among `relevant`). Throws.
PyObject* call_overridden(PyObject* function, PyObject* args, PyObject* kwargs, PyObject* relevant = nullptr);
// The same for a property and a method of Tensor; set the error indicator.
PyObject* overridden_get(PyObject* self, const char* name);
PyObject* overridden_method(PyObject* self, const char* name, PyObject* args = nullptr, PyObject* kwargs = nullptr);

}  // namespace cresset::python
