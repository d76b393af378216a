#pragma once
// How extensions of ours beside this one exchange values with Python: functions in the capsule `_cresset._values`.

#include <vector>

#include "cresset/dispatch/values/value.h"
#include "python/common/reference.h"

namespace cresset::python {

struct ValuesApi {
  static constexpr const char* kName = "_cresset._values";
  // A new reference; null with Python's error set. Lists are lists, tuples are tuples.
  PyObject* (*to_python)(const dispatch::Value& value);
  // False with Python's error set. Lists of one kind become lists of that kind, others lists of any values.
  bool (*to_value)(PyObject* object, dispatch::Value& value);
  // Sets Python's error from the C++ exception in flight.
  void (*set_error)();
};

// The values of a sequence. Errors: PythonError for an object that is no value.
inline std::vector<dispatch::Value> values_of(const ValuesApi& api, PyObject* sequence) {
  const Ref items = checked(PySequence_Fast(sequence, "graph: expected a list of values"));
  std::vector<dispatch::Value> values(static_cast<size_t>(PySequence_Fast_GET_SIZE(items.get())));
  for (size_t i = 0; i < values.size(); i++)
    if (!api.to_value(PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)), values[i])) throw PythonError();
  return values;
}

bool add_values_api(PyObject* module);

}  // namespace cresset::python
