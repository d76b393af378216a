#pragma once
// The names of what ranks do.

#include "cresset/dist/errors.h"
#include "cresset/dist/transport/engine.h"

namespace cresset::distributed {

enum class Collective : uint16_t {
  AllReduce,
  Reduce,
  Broadcast,
  AllGather,
  Gather,
  Scatter,
  ReduceScatter,
  AllToAll,
  Barrier,
  Send,
  Receive,
  Share,
  AllReduceRow
};
CRESSET_API const char* collective_name(uint16_t what);
// "all_reduce of float32 with 64 bytes (call 3)"
CRESSET_API std::string describe(const Call& call);

}  // namespace cresset::distributed
