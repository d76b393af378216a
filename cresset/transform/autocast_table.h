#pragma once
// Which operators a region of mixed precision changes. Private to the room.

#include "cresset/dispatch/values/value.h"

namespace cresset {
namespace amp {

enum class CastPolicy : uint8_t {
  none,     // PyTorch has a kernel for it: what its body here calls is left alone
  absent,   // as if it were not in the table
  lower,    // floating arguments in the lower precision
  single,   // in float32
  promote,  // in the widest of their dtypes
  refuse,   // an error that says what to call instead
};

struct CastRow {
  const char* name;  // of the operator, without an overload's name: all its functional forms
  CastPolicy cpu, other;
  bool (*applies)(const dispatch::Stack& arguments) = nullptr;
};
extern CRESSET_API const CastRow kCastRows[];
extern CRESSET_API const int kNumCastRows;

}  // namespace amp
}  // namespace cresset
