#pragma once
// Inside the room: what registered at run time for one op, and the tables of ops, backends and layers.

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>

#include "cresset/core/hooks.h"
#include "cresset/dispatch/backend.h"
#include "cresset/dispatch/route.h"
#include "cresset/dispatch/tags.h"

namespace cresset::dispatch {

constexpr int kMaxBackends = 256;

// Kernels are published with release stores, read without a lock and never freed, since a call may be running them.
using Place = std::atomic<const RegisteredKernel*>;
struct BackendPlaces {
  Place at[kMaxBackends] = {};
};
struct Extension {
  Place layers[kNumLayers] = {};
  Place composite{nullptr};           // a body over other ops: gradients go through it
  Place explicit_composite{nullptr};  // a body for all backends, below the layers
  Place backend_select{nullptr}, inplace_or_view{nullptr};
  Place backends[kMaxBackends] = {};
  std::atomic<BackendPlaces*> autograd{nullptr}, autocast{nullptr};  // of one backend; they go before those of the layer
  std::atomic<bool> autograd_always{false};                          // a kernel of the autograd layer sees calls without gradients too
  std::atomic<void (*)()> replaced{nullptr};                         // the built-in CPU kernel, while a registered one is in its slot

  // Under the registry's lock, all below.
  std::map<std::string, Place> others;                            // keys that no call of ours asks
  std::map<Place*, std::vector<const RegisteredKernel*>> stacks;  // the last one is in use
  std::string defined_at, first_kernel_at;
  const std::type_info* signature = nullptr;  // of the typed kernels of an out-of-tree op
  int definitions = 0;
  AliasAnalysis aliases = AliasAnalysis::FromSchema;
  bool aliases_given = false;
  std::vector<Tag> tags;
  std::string python_module;
};

// An op defined at run time: it owns its text and has no typed slots.
struct DynamicOp : Op<void()> {
  explicit DynamicOp(std::string full_name) : Op<void()>("", "", 0, nullptr, nullptr, nullptr, nullptr, nullptr), full_name_(std::move(full_name)) {
    name = full_name_.c_str();
    signature = nullptr;
    call_typed = nullptr;
  }
  // Earlier texts stay, as a call may be reading them.
  void set_schema(std::string text) {
    texts_.push_back(std::make_unique<const std::string>(std::move(text)));
    schema = texts_.back()->c_str();
    parsed.store(nullptr, std::memory_order_release);
  }

 private:
  std::string full_name_;
  std::vector<std::unique_ptr<const std::string>> texts_;
};

// Sorted by name; generated, as all that rows say about ops for this room.
extern const OpEntry* const kBuiltinOps[];
extern const size_t kNumBuiltinOps;
extern const OpEntry* const kMixedDeviceOps[];  // they take tensors of several devices
extern const size_t kNumMixedDeviceOps;
extern const OpEntry* const kStoredDtypeOps[];  // their kernels read and write stored dtypes themselves
extern const size_t kNumStoredDtypeOps;
extern const OpEntry* const kChosenOutOps[];  // they choose between tensors, and ask for the very dtype of the result
extern const size_t kNumChosenOutOps;

// The ops that boxed kernels are made of.
struct RoleOps {
  const OpEntry &conj, &copy, &differs, &empty, &negate, &resize;
};
extern const RoleOps kRoleOps;

// An op that PyTorch has no kernel for in float8, whose numbers are stored, moved and converted, with its name of the kernel.
struct Float8Refusal {
  enum Exception : uint8_t { never, empty, alone, coo };  // no elements; float8 tensors alone; the COO layout
  const OpEntry* op;
  const char* kernel;
  Exception unless;
};
extern const Float8Refusal kFloat8Refusals[];
extern const size_t kNumFloat8Refusals;

inline bool contains(const OpEntry* const* ops, size_t n, const OpEntry& op) { return std::find(ops, ops + n, &op) != ops + n; }

Extension& extension_of(const OpEntry& op);
// The layer's function for an op without a kernel for it; null: none.
const BoxedFn* layer_function(int layer, const OpEntry& op);
const BoxedFn* backend_fallback(uint8_t backend);
const BoxedFn* autograd_fallback(uint8_t backend);
// Layer of this name ("Autograd"), or -1.
int find_layer(std::string_view name);

// The op of this name, made without a schema where there is none yet: kernels may come before the definition.
const OpEntry& declared_op(const std::string& name);
// Gives an op its schema. Errors: it is built in, or has one; both places are named. `again` allows the same schema a second time.
const OpEntry* define_op(const FunctionSchema& schema, const std::string& text, const std::string& where, bool again = false);
// Takes one definition back; an op without definitions and kernels is gone.
void undefine_op(const OpEntry* op);

// The place of a key in an op's table; null: no such key.
Place* place_for(const OpEntry& op, const std::string& key);
bool is_known_key(const std::string& key);
bool is_composite_key(const std::string& key);
// The backend that a key such as "SparseCUDA" or "toy" stands for, which is made where LibTorch has it and we do not yet; -1: none.
CRESSET_API int backend_of_key(const std::string& key);
// Puts a kernel before what is there, with a warning where that is a kernel; the handle takes it away again.
// Errors: C++ types that differ from those of the op's other kernels.
struct Registration {
  const OpEntry* op = nullptr;
  std::string key;
  const RegisteredKernel* kernel = nullptr;
};
Registration add_kernel(const OpEntry& op, const std::string& key, RegisteredKernel kernel);
void remove_kernel(const Registration& r);
// An error of a block that ran before main or inside dlopen, where no exception may leave it: said at once, and again by find_op.
void keep_registration_error(const std::string& text);
// The fallback of a layer, a backend, or a layer for one backend. Errors: there is one.
void set_fallback(const std::string& key, BoxedFn fallback);
void clear_fallback(const std::string& key);
// The built-in function of a slot, whether or not a registered one is in it.
AnyFn builtin_of(const OpEntry& op, OpEntry::Slot slot);

// The layer below autograd: calls the op with conjugates and negatives computed, and writes changed ones back.
void compute_lazy_math(const OpEntry& op, Stack& stack);

inline bool is_sparse_backend(uint8_t backend) { return backend == kSparseBackend || backend == kSparseCompressedBackend; }
// Whether lazy tensors have to be computed first: an op that only looks at geometry, or calls others, takes them as they are.
bool needs_computed_values(const OpEntry& op);
// A body that a program gave a composite of the tree, where the backend has no kernel of a program; null: the op has its own, or is none.
const RegisteredKernel* body_of_program(const OpEntry& op, uint8_t backend);
// Calls on fake tensors: the meta kernel, with outputs that are fake.
void run_fake(const OpEntry& op, Stack& stack);
[[noreturn]] void no_kernel(const OpEntry& op, uint8_t backend);
// Empty: there is none. `no_data` is None for a body over other ops.
Target kernel_without_data(const OpEntry& op);
// The kernel of a backend of sparse tensors, of whatever device, or what stands in for one; empty: there is none.
Target kernel_of_parts(const OpEntry& op, uint8_t backend, const std::type_info* signature = nullptr);

// Whether results of a device's kernel for an op of the tree are held to the operator's shape rule: of functional ones that have a rule.
bool has_checked_results(const OpEntry& op, const RegisteredKernel& kernel, uint8_t backend);
// Calls such a kernel. Errors: sizes or a dtype that differ from the rule's.
void run_checked(const OpEntry& op, Stack& stack);

// copy_ by a device's _copy_from, which copies between tensors of one shape, and of one dtype where a side is on the CPU.
void copy_by_copy_from(const OpEntry& copy_from, Stack& stack);

// Runs the functional form and copies its results into the written arguments: in-place and out= for a backend without kernels for them.
void derived_from_functional(const OpEntry& op, Stack& stack);

}  // namespace cresset::dispatch
