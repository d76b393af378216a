#pragma once
// Inside the room: what registered at run time for one op, and the tables of ops, backends and layers.

#include <atomic>
#include <memory>

#include "cresset/dispatch/backend.h"

namespace cresset::dispatch {

constexpr int kMaxBackends = 256;

// Kernels are published with release stores, read without a lock and never freed, since a call may be running them.
struct Extension {
  std::atomic<const Kernel*> layers[kNumLayers] = {};
  std::atomic<const Kernel*> composite{nullptr};
  std::atomic<const Kernel*> backends[kMaxBackends] = {};
  std::string defined_at;
};

// An op defined at run time: it owns its text and has no typed slots.
struct DynamicOp : Op<void()> {
  DynamicOp(std::string full_name, std::string text)
      : Op<void()>("", "", 0, nullptr, nullptr, nullptr, nullptr, nullptr), full_name_(std::move(full_name)), text_(std::move(text)) {
    name = full_name_.c_str();
    schema = text_.c_str();
    signature = nullptr;
    call_typed = nullptr;
  }

 private:
  std::string full_name_, text_;
};

// Sorted by name; generated.
extern const OpEntry* const kBuiltinOps[];
extern const size_t kNumBuiltinOps;

Extension& extension_of(const OpEntry& op);
void keep_for_good(std::unique_ptr<const Kernel> kernel);
// What the layer does for an op without a kernel for it; null: nothing.
const BoxedFn* layer_function(int layer, const OpEntry& op);
const BoxedFn* backend_fallback(uint8_t backend);
// Layer of this name ("Autograd"), or -1.
int find_layer(std::string_view name);

// Adds to the table of out-of-tree ops. Errors: the name is taken; `defined_at` says by whom.
const OpEntry* add_dynamic_op(const FunctionSchema& schema, const std::string& text, const std::string& defined_at);
void remove_dynamic_op(const OpEntry* op);

// The autograd layer of an out-of-tree op that is neither composite nor has a kernel for the layer; defined in the autograd room.
void autograd_without_formula(const OpEntry& op, Stack& stack);
// A kernel for the autograd layer whose gradient is `backward`: it replaces arguments, results and the results' gradients on its stack
// by one value for each argument that is a tensor or a list of them. Defined in the autograd room.
BoxedFn autograd_with_formula(BoxedFn backward);

// The layer below autograd: calls the op with conjugates and negatives computed, and writes changed ones back.
void compute_lazy_math(const OpEntry& op, Stack& stack);

// The built-in kernel of a sparse backend (kSparseBackend, kSparseCompressedBackend), or null; defined in the ops room.
CRESSET_API const Kernel* sparse_kernel(const OpEntry& op, uint8_t backend);
inline bool is_sparse_backend(uint8_t backend) { return backend == kSparseBackend || backend == kSparseCompressedBackend; }
// Whether lazy tensors have to be computed first: an op that only looks at geometry, or calls others, takes them as they are.
bool needs_computed_values(const OpEntry& op);
// Calls on fake tensors: the meta kernel, with outputs that are fake.
void run_fake(const OpEntry& op, Stack& stack);
// Empty: there is none. `no_data` is None for a body over other ops.
Target kernel_without_data(const OpEntry& op);

// Runs the functional form and copies its results into the written arguments: in-place and out= for a backend without kernels for them.
void derived_from_functional(const OpEntry& op, Stack& stack);

}  // namespace cresset::dispatch
