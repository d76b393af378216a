#pragma once
// Inside the room: how ops run on tensors in the mkldnn layout.

#include "cresset/dispatch/op.h"

namespace cresset::ops::mkldnn {

using Boxed = void (*)(const dispatch::OpEntry&, dispatch::Stack&);
struct Row {
  const dispatch::OpEntry* op;
  Boxed kernel;
};
// The column `mkldnn` of the rows; generated.
extern const Row kRows[];
extern const size_t kNumRows;

// Null: the op's own kernel, which looks at no elements.
constexpr Boxed itself = nullptr;
// The op on the values, its results in the opaque layout.
void on_values(const dispatch::OpEntry& op, dispatch::Stack& stack);
// The same with all operands in the layout: it does not mix with dense ones.
void on_pairs(const dispatch::OpEntry& op, dispatch::Stack& stack);
// The same with the input in the layout.
void on_input(const dispatch::OpEntry& op, dispatch::Stack& stack);
void batch_norm(const dispatch::OpEntry& op, dispatch::Stack& stack);
void to_dense(const dispatch::OpEntry& op, dispatch::Stack& stack);
[[noreturn]] void refuse_view(const dispatch::OpEntry& op, dispatch::Stack& stack);

}  // namespace cresset::ops::mkldnn
