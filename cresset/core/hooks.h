#pragma once
// The calls that go up: every function by which a room reaches one above it is declared here, and nowhere else. (The autograd data of a
// tensor needs none: it is an object with a virtual destructor.)

#include <atomic>
#include <cstdint>
#include <vector>

#include "cresset/base/device.h"

#include "cresset/base/macros.h"
#include "cresset/base/std_function.h"

namespace cresset {

class StorageImpl;
class TensorImpl;

// Set by a front end, which thereby learns that a tensor or storage ends whose object it keeps: while any is kept, `release` runs at the
// end of every one.
template <class T> struct ObjectHook {
  std::atomic<int> kept{0};
  void (*release)(T& ending) = nullptr;
};
CRESSET_API ObjectHook<TensorImpl>& object_hook();
CRESSET_API ObjectHook<StorageImpl>& storage_object_hook();

namespace autograd {
class Node;
// Defined in the autograd room: the number that the thread's next node gets.
CRESSET_API uint64_t next_sequence_nr();
}  // namespace autograd

// The part of the profile room that hears of more than calls of operators. Null while nothing is recorded, which costs those who ask one load.
struct ObserverHooks {
  // Memory of a storage: `bytes` are negative where it is given back.
  void (*memory)(const void* data, int64_t bytes, Device device);
  // Around all that backward does for a node (`whole`), and around its function alone.
  void (*node_begins)(const autograd::Node& node, bool whole);
  void (*node_ends)();
};
CRESSET_API extern std::atomic<const ObserverHooks*> g_observer_hooks;

namespace dispatch {

struct OpEntry;
struct Kernel;
class Value;
using Stack = std::vector<Value>;
using BoxedFn = std::function<void(const OpEntry&, Stack&)>;

// Defined in the ops room: the built-in kernel of a sparse backend (kSparseBackend, kSparseCompressedBackend), or null.
CRESSET_API const Kernel* sparse_kernel(const OpEntry& op, uint8_t backend);

// Defined in the autograd room: the layer of an out-of-tree op that is neither composite nor has a kernel for the layer.
void autograd_without_formula(const OpEntry& op, Stack& stack);
// Defined in the autograd room: a kernel for the layer whose gradient is `backward`, which replaces arguments, results and the results'
// gradients on its stack by one value for each argument that is a tensor or a list of them.
BoxedFn autograd_with_formula(BoxedFn backward);

}  // namespace dispatch

namespace autograd {

// Set by the autograd room while forward mode has a level open: learns of every view that is made, since a tangent that its base gets by a later change in
// place is the view's too.
using ViewNote = void(TensorImpl& view);
CRESSET_API std::atomic<ViewNote*>& view_note();

// Set by the transform room: vmap's part of the layer that it shares with forward mode; true if it has run the call.
using BatchingLayer = bool(const dispatch::OpEntry& op, dispatch::Stack& stack);
CRESSET_API void set_batching_layer(BatchingLayer* layer);

}  // namespace autograd
}  // namespace cresset
