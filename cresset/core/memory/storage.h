#pragma once
// A block of bytes on a device, shared by a tensor and its views.

#include "cresset/base/std_function.h"

#include "cresset/base/intrusive_ptr.h"
#include "cresset/core/memory/allocator.h"

namespace cresset {

// Counts in-place changes, so that backward can tell that a saved tensor is stale.
struct VersionCounter : RefCounted {
  std::atomic<uint32_t> value{0};
};

class FakeMode;

class DataPtr;

class CRESSET_API StorageImpl final : public RefCounted {
 public:
  struct use_byte_size_t {};
  // Allocates from the device's allocator.
  StorageImpl(size_t nbytes, Device device);
  // Wraps memory that is given back by `deleter` (may be empty).
  StorageImpl(void* data, size_t nbytes, Device device, std::function<void(void*)> deleter);
  // Wraps memory that lives as long as `owner`.
  StorageImpl(void* data, size_t nbytes, Device device, intrusive_ptr<RefCounted> owner);
  // Takes over memory, or allocates it where there is no DataPtr.
  StorageImpl(use_byte_size_t, size_t nbytes, DataPtr data, Allocator* allocator = nullptr, bool resizable = true);
  StorageImpl(use_byte_size_t, size_t nbytes, Allocator* allocator = nullptr, bool resizable = true);
  // Has a size and no memory (`cresset/core/fake_mode.h`).
  StorageImpl(size_t nbytes, Device device, FakeMode& mode);
  ~StorageImpl() override;

  static void* operator new(size_t n) { return cpu_allocate(n); }
  static void operator delete(void* p, size_t n) { cpu_deallocate(p, n); }

  void* data() const { return data_; }
  size_t nbytes() const { return nbytes_; }
  Device device() const { return device_; }
  bool resizable() const { return (!foreign_ && lent_.load(std::memory_order_relaxed) == 0) || is_fake(); }
  // Memory that is lent (to a NumPy array, say) stays where it is until it is returned.
  void lend() { lent_.fetch_add(1, std::memory_order_relaxed); }
  void take_back() { lent_.fetch_sub(1, std::memory_order_relaxed); }
  bool is_fake() const { return CRESSET_UNLIKELY(foreign_ != nullptr) && fake_mode() != nullptr; }
  FakeMode* fake_mode() const;
  // The bytes of a fake storage where they are known all the same; it must not be written.
  intrusive_ptr<StorageImpl> constant() const;
  void set_constant(intrusive_ptr<StorageImpl> bytes);
  // Keeps the first min(old, new) bytes. Errors: memory that was wrapped or is lent.
  void resize(size_t nbytes);
  // Looks at other memory of the same device from now on and returns what it had, which tensors over it lose. The size is still to be told by
  // `set_nbytes`. Errors: memory that is lent, fake or on another device.
  DataPtr set_data_ptr(DataPtr data);
  // Tells the size of memory that `set_data_ptr` brought; otherwise as `resize`.
  void set_nbytes(size_t nbytes);
  // Copies the bytes into the memory of `owner` and looks at that from now on, as does every tensor over the storage.
  // Errors: memory that is lent or not on the CPU.
  void move_to(void* data, intrusive_ptr<RefCounted> owner);
  // Of memory that was moved, or wrapped with an owner; null otherwise.
  RefCounted* owner() const;
  std::atomic<uint32_t>& version() { return CRESSET_UNLIKELY(shared_version_.defined()) ? shared_version_->value : version_; }
  // The counter as an object that may outlive the storage: a tensor that leaves for other memory still counts with those it leaves behind.
  const intrusive_ptr<VersionCounter>& shared_version();

 protected:
  void release_resources() override { free_data(); }

 private:
  struct Foreign;
  void free_data();
  CRESSET_LOCAL void release_memory();
  CRESSET_LOCAL void release_foreign();
  CRESSET_LOCAL void adopt(DataPtr data, Allocator* allocator);

  void* data_ = nullptr;
  size_t nbytes_ = 0;
  Foreign* foreign_ = nullptr;
  intrusive_ptr<VersionCounter> shared_version_;
  std::atomic<uint32_t> version_{0};
  Device device_;
  std::atomic<uint32_t> lent_{0};
};

// Memory with the function that gives it back, owned. Without such a function: the address alone.
class CRESSET_API DataPtr {
 public:
  using Deleter = void (*)(void*);

  DataPtr() = default;
  DataPtr(void* data, Device device) : data_(data), device_(device) {}
  DataPtr(void* data, void* context, Deleter deleter, Device device) : data_(data), context_(context), deleter_(deleter), device_(device) {}
  DataPtr(DataPtr&& o) noexcept { swap(o); }
  DataPtr& operator=(DataPtr&& o) noexcept {
    swap(o);
    return *this;
  }
  ~DataPtr() { clear(); }

  void* get() const { return data_; }
  void* mutable_get() const { return data_; }
  void* operator->() const { return data_; }
  explicit operator bool() const { return data_ != nullptr || context_ != nullptr; }
  Device device() const { return device_; }
  void* get_context() const { return context_; }
  Deleter get_deleter() const { return deleter_; }
  // Leaves the memory to the caller.
  void* release_context() { return std::exchange(context_, nullptr); }
  void clear() {
    if (deleter_ && context_) deleter_(context_);
    data_ = context_ = nullptr;
  }
  friend bool operator==(const DataPtr& a, std::nullptr_t) { return !a; }
  friend bool operator!=(const DataPtr& a, std::nullptr_t) { return static_cast<bool>(a); }

 private:
  void swap(DataPtr& o) {
    std::swap(data_, o.data_);
    std::swap(context_, o.context_);
    std::swap(deleter_, o.deleter_);
    std::swap(device_, o.device_);
  }

  void* data_ = nullptr;
  void* context_ = nullptr;
  Deleter deleter_ = nullptr;
  Device device_ = Device(DeviceType::CPU);
};

class CRESSET_API Storage {
 public:
  struct use_byte_size_t {};
  struct unsafe_borrow_t {
    explicit unsafe_borrow_t() = default;
  };

  Storage() = default;
  // Fresh memory of the allocator's device, or memory that is there.
  Storage(use_byte_size_t, size_t nbytes, Allocator* allocator = nullptr, bool resizable = true);
  Storage(use_byte_size_t, size_t nbytes, DataPtr data, Allocator* allocator = nullptr, bool resizable = true);
  Storage(intrusive_ptr<StorageImpl> impl) : impl_(std::move(impl)) {}
  explicit operator bool() const { return impl_.defined(); }
  void* mutable_data() const { return impl_->data(); }
  const void* data() const { return impl_->data(); }
  // The address, not owned.
  DataPtr data_ptr() const { return {impl_->data(), impl_->device()}; }
  DataPtr mutable_data_ptr() const { return data_ptr(); }
  size_t nbytes() const { return impl_->nbytes(); }
  int64_t sym_nbytes() const { return static_cast<int64_t>(nbytes()); }
  // Keeps the bytes that fit; behind `set_data_ptr` it tells the size.
  void set_nbytes(size_t nbytes) const { impl_->set_nbytes(nbytes); }
  DataPtr set_data_ptr(DataPtr data) const { return impl_->set_data_ptr(std::move(data)); }
  void set_data_ptr_noswap(DataPtr data) const { impl_->set_data_ptr(std::move(data)); }
  bool resizable() const { return impl_->resizable(); }
  Device device() const { return impl_->device(); }
  DeviceType device_type() const { return device().type(); }
  Allocator* allocator() const { return get_allocator(device_type()); }
  bool is_alias_of(const Storage& o) const { return impl_ == o.impl_; }
  bool unique() const { return impl_.unique(); }
  void reset() { impl_.reset(); }
  weak_intrusive_ptr<StorageImpl> getWeakStorageImpl() const { return impl_; }
  StorageImpl* unsafeReleaseStorageImpl() { return impl_.release(); }
  uint32_t use_count() const { return impl_.use_count(); }
  StorageImpl* unsafeGetStorageImpl() const { return impl_.get(); }
  const intrusive_ptr<StorageImpl>& impl() const { return impl_; }

 private:
  intrusive_ptr<StorageImpl> impl_;
};

}  // namespace cresset
