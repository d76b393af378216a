#pragma once
// Values as PyTorch's checkpoints in memory: what torch.load and torch.save read and write, without Python.

#include <vector>

#include "cresset/dispatch/values/value.h"

namespace cresset {

// The bytes of a checkpoint that holds the value. A tensor or container that occurs several times is written once, storages are shared.
// Errors: storages, objects, generators; a container within itself.
CRESSET_API std::vector<char> pickle_save(const dispatch::Value& value);
// Numbers, text, tensors, dtypes, devices, lists, tuples and dicts of them; what was one object in the file is one object.
// Errors: damaged bytes; what is not data; more than 1,000 containers within each other.
CRESSET_API dispatch::Value pickle_load(const std::vector<char>& data);

}  // namespace cresset
