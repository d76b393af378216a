#pragma once
// Fake tensors: shape, strides, dtype and device without data. docs/records/0008-fake-tensors.md says how they run.

#include <unordered_map>
#include "cresset/base/mutex.h"

#include "cresset/base/error.h"
#include "cresset/core/tensor_impl.h"

namespace cresset {

// A question that a fake tensor cannot answer, having no data; `op` is the operator that was asked.
class CRESSET_API UnsupportedFakeTensorError : public Error {
 public:
  UnsupportedFakeTensorError(std::string op, const std::string& message) : Error(message), op_(std::move(op)) {}
  const std::string& op() const { return op_; }

 private:
  std::string op_;
};
// The result is a number that depends on data: item, equal.
class CRESSET_API DataDependentOutputError : public UnsupportedFakeTensorError {
  using UnsupportedFakeTensorError::UnsupportedFakeTensorError;
};
// The shape of the result depends on data: nonzero, unique.
class CRESSET_API DynamicOutputShapeError : public UnsupportedFakeTensorError {
  using UnsupportedFakeTensorError::UnsupportedFakeTensorError;
};
class CRESSET_API FakeDeviceMismatchError : public Error {
  using Error::Error;
};
// A real tensor, or one of another mode, beside a fake one.
class CRESSET_API MixedFakeError : public Error {
  using Error::Error;
};

namespace dispatch {
struct OpEntry;
class Value;
}  // namespace dispatch

// Sizes that are symbols, of the tensors of a mode (`cresset/graph/symbolic/shape_env.h`).
class CRESSET_API SymbolicShapes : public RefCounted {
 public:
  // A fake tensor of the mode that no operator made.
  virtual void made(const intrusive_ptr<TensorImpl>& fake) = 0;
  // Runs `body`, which replaces the arguments on the stack by the results.
  virtual void run(const dispatch::OpEntry& op, std::vector<dispatch::Value>& stack, const std::function<void()>& body) = 0;
  // The same for an operator over others, whose results are theirs.
  virtual void run_composite(const dispatch::OpEntry& op, std::vector<dispatch::Value>& stack, const std::function<void()>& body) = 0;
  // Gives results whose sizes depend on data; false where the operator is none of those that are known.
  virtual bool run_data_dependent(const dispatch::OpEntry& op, std::vector<dispatch::Value>& stack) = 0;
  // Whether a place reaches the end of a dimension of a size, both numbers that may stand for symbols: it is the size itself, or, in the example and from then on,
  // beyond it. False where only data tells.
  virtual bool reaches(int64_t place, int64_t size) = 0;
};

// A condition on a symbol whose number only the data tells.
class CRESSET_API DataDependentGuardError : public Error {
  using Error::Error;
};

// A condition has been found that the trace so far does not know: it is to begin again.
class CRESSET_API RestartTraceError : public Error {
  using Error::Error;
};

// The mode that fake tensors belong to. It counts the bytes that they would take on each device.
class CRESSET_API FakeMode final : public RefCounted {
 public:
  explicit FakeMode(bool allow_non_fake_inputs = false) : allow_non_fake_inputs_(allow_non_fake_inputs) {}

  // Real tensors in a call count as fake ones of their device.
  bool allow_non_fake_inputs() const { return allow_non_fake_inputs_; }

  // How many elements a sparse tensor stores where only data tells: 0, or, for captures of programs, nothing that may be asked for.
  bool refuses_unknown_counts() const { return refuses_unknown_counts_; }
  void refuse_unknown_counts() { refuses_unknown_counts_ = true; }

  // Null where all sizes are numbers.
  SymbolicShapes* shapes() const { return shapes_.get(); }
  // `front`: the front end's object for them, which lives as long as the mode.
  void set_shapes(intrusive_ptr<SymbolicShapes> shapes, intrusive_ptr<RefCounted> front) {
    shapes_ = std::move(shapes);
    front_ = std::move(front);
  }
  RefCounted* shapes_front() const { return front_.get(); }

  struct Memory {
    int64_t allocated_bytes = 0;
    int64_t peak_allocated_bytes = 0;
  };
  // Bytes that the storages of this mode would take, rounded up to 64 bytes each, as the allocators do.
  Memory memory(Device device) const;
  void reset_peak(Device device);
  void count(Device device, int64_t bytes);

  // A fake tensor of the geometry, dtype and device of a real one, without a history. Tensors that share memory get fakes that do. A sparse one stores
  // nothing, as it is not known how many elements there are.
  intrusive_ptr<TensorImpl> fake_of(const TensorImpl& real);
  // A fake tensor in place of one just made from numbers, for the device; one number stays known.
  intrusive_ptr<TensorImpl> constant(const TensorImpl& real, Device device);
  // The fake tensor that was made for this object and is still in use, or one that `make` makes now.
  intrusive_ptr<TensorImpl> remembered(const intrusive_ptr<TensorImpl>& real, const std::function<intrusive_ptr<TensorImpl>()>& make);

 private:
  template <class T> struct Memo {
    struct Pair {
      weak_intrusive_ptr<T> real, fake;
    };
    std::unordered_map<const T*, Pair> pairs;
    size_t limit = 64;
    intrusive_ptr<T> find(const T* real) const;
    void put(const intrusive_ptr<T>& real, const intrusive_ptr<T>& fake);
  };
  CRESSET_LOCAL Memory& memory_of(Device device) const;
  CRESSET_LOCAL intrusive_ptr<TensorImpl> fake_sparse(const TensorImpl& real);

  const bool allow_non_fake_inputs_;
  bool refuses_unknown_counts_ = false;
  intrusive_ptr<SymbolicShapes> shapes_;
  intrusive_ptr<RefCounted> front_;
  mutable std::mutex mutex_;
  mutable SmallVector<std::pair<Device, Memory>, 2> memory_;
  Memo<StorageImpl> storages_;
  Memo<TensorImpl> tensors_;
};

inline bool is_fake(const TensorImpl& t) { return t.backend() == kFakeBackend; }
// The mode that a fake tensor belongs to; null of others.
CRESSET_API FakeMode* mode_of_fake(const TensorImpl& t);

// The real tensor behind a fake one whose values are known, or null.
CRESSET_API intrusive_ptr<TensorImpl> known_values(const TensorImpl& fake);

// Makes every tensor of this thread fake that an operator creates in its scope; none does with a null mode.
class CRESSET_API FakeModeScope {
 public:
  explicit FakeModeScope(FakeMode* mode);
  ~FakeModeScope();
  FakeModeScope(const FakeModeScope&) = delete;
  FakeModeScope& operator=(const FakeModeScope&) = delete;

 private:
  FakeMode* saved_;
  uint8_t included_;
  NoData no_data_;
  intrusive_ptr<FakeMode> kept_;
};

}  // namespace cresset
