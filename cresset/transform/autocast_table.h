#pragma once
// Which operators a region of mixed precision changes. Private to the room.

#include "cresset/dispatch/op.h"

namespace cresset {
namespace amp {

enum class CastPolicy : uint8_t {
  none,     // PyTorch has a kernel for it: what its body here calls is left alone
  absent,   // as if it had no row
  lower,    // floating arguments in the lower precision
  single,   // in float32
  promote,  // in the widest of their dtypes
  refuse,   // an error that says what to call instead
};

struct CastRow {
  const dispatch::OpEntry* op;
  CastPolicy cpu, other;
  bool (*applies)(const dispatch::Stack& arguments) = nullptr;
};
// The column `autocast` of the rows; generated. It follows PyTorch's lists, which tests/python/amp compares it with.
extern CRESSET_API const CastRow kCastRows[];
extern CRESSET_API const size_t kNumCastRows;

// Of the modes of padding, circular is a composite of PyTorch's.
bool is_not_circular(const dispatch::Stack& arguments);

}  // namespace amp
}  // namespace cresset
