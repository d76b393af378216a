#pragma once
// Fake tensors: what a program would make, without its data. Operators compute shapes, strides, dtypes and devices, autograd records and runs,
// and nothing is allocated, on devices that need not be there:
//
//   auto mode = make_fake_mode();
//   FakeModeScope scope(mode.get());
//   Linear net(1 << 20, 1 << 20);                          // 4 TiB
//   auto y = net(randn({8, 1 << 20}));
//   mode->memory(kCPU).peak_allocated_bytes;               // what it would have taken

#include "cresset/core/fake_mode.h"
#include "cresset/core/tensor.h"

namespace cresset {

// With allow_non_fake_inputs real tensors may stand beside fake ones, and count as fake.
CRESSET_API intrusive_ptr<FakeMode> make_fake_mode(bool allow_non_fake_inputs = false);

inline bool is_fake(const Tensor& t) { return t.defined() && is_fake(*t.impl()); }
// Null for a real tensor.
CRESSET_API intrusive_ptr<FakeMode> fake_mode_of(const Tensor& t);

// A fake tensor like `t`: shape, strides, dtype, device, whether it is a leaf and requires gradients, its gradient. The same tensor for the same
// one, and tensors that share memory get fakes that do. A fake `t` of another mode keeps its sizes. Errors: they are symbols that `mode`
// does not know.
CRESSET_API Tensor fake_like(FakeMode& mode, const Tensor& t);
// A fake tensor on `device` of the shape, strides and dtype of a meta tensor.
CRESSET_API Tensor fake_on(FakeMode& mode, const Tensor& meta, Device device);

}  // namespace cresset
