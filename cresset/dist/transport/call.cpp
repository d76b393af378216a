#include "cresset/dist/transport/call.h"

#include <iterator>

namespace cresset::distributed {

const char* collective_name(uint16_t what) {
  static constexpr const char* kNames[] = {"all_reduce", "reduce",  "broadcast", "all_gather", "gather",       "scatter",   "reduce_scatter",
                                           "all_to_all", "barrier", "send",      "recv",       "share_memory", "all_reduce"};
  return what < std::size(kNames) ? kNames[what] : "an unknown operation";
}

std::string describe(const Call& c) {
  std::string text = collective_name(c.what);
  if (c.what != static_cast<uint16_t>(Collective::Barrier)) text += str(" of ", static_cast<ScalarType>(c.dtype));
  if (c.root >= 0) text += str(" with root ", static_cast<int>(c.root));
  if (c.bytes) text += str(" with ", c.bytes, " bytes");
  return text + str(" (call ", c.sequence, ")");
}

}  // namespace cresset::distributed
