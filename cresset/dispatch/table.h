#pragma once
// Ops of a library beside libcresset: constant entries like the built-in ones.

#include "cresset/dispatch/op.h"

namespace cresset::dispatch {

struct OpTable {
  const OpEntry* const* ops;  // sorted by name
  size_t count;
  const char* const* notes;  // texts for the front ends, up to a null
};

// Makes the ops findable by name, for good. The table must not go away; adding it again changes nothing.
CRESSET_API void add_ops(const OpTable& table);

}  // namespace cresset::dispatch
