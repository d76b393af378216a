#pragma once
// How extensions of ours beside this one exchange values with Python: functions in the capsule `_cresset._values`.

#include <Python.h>

#include "cresset/dispatch/values/value.h"

namespace cresset::python {

struct ValuesApi {
  static constexpr const char* kName = "_cresset._values";
  // A new reference; null with Python's error set. Lists are lists, tuples are tuples.
  PyObject* (*to_python)(const dispatch::Value& value);
  // False with Python's error set. Lists of one kind become lists of that kind, others lists of any values.
  bool (*to_value)(PyObject* object, dispatch::Value& value);
};

bool add_values_api(PyObject* module);

}  // namespace cresset::python
