#pragma once
// A block of bytes on a device, shared by a tensor and its views.

#include <functional>

#include "cresset/base/intrusive_ptr.h"
#include "cresset/core/allocator.h"

namespace cresset {

// Counts in-place changes, so that backward can tell that a saved tensor is stale.
struct VersionCounter : RefCounted {
  std::atomic<uint32_t> value{0};
};

class FakeMode;

class CRESSET_API StorageImpl final : public RefCounted {
 public:
  // Allocates from the device's allocator.
  StorageImpl(size_t nbytes, Device device);
  // Wraps memory that is given back by `deleter` (may be empty).
  StorageImpl(void* data, size_t nbytes, Device device, std::function<void(void*)> deleter);
  // Wraps memory that lives as long as `owner`.
  StorageImpl(void* data, size_t nbytes, Device device, intrusive_ptr<RefCounted> owner);
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
  void release_memory();

  void* data_ = nullptr;
  size_t nbytes_ = 0;
  Foreign* foreign_ = nullptr;
  intrusive_ptr<VersionCounter> shared_version_;
  std::atomic<uint32_t> version_{0};
  Device device_;
  std::atomic<uint32_t> lent_{0};
};

class CRESSET_API Storage {
 public:
  Storage() = default;
  Storage(intrusive_ptr<StorageImpl> impl) : impl_(std::move(impl)) {}
  explicit operator bool() const { return impl_.defined(); }
  void* mutable_data() const { return impl_->data(); }
  const void* data() const { return impl_->data(); }
  size_t nbytes() const { return impl_->nbytes(); }
  Device device() const { return impl_->device(); }
  bool is_alias_of(const Storage& o) const { return impl_ == o.impl_; }
  uint32_t use_count() const { return impl_.use_count(); }
  StorageImpl* unsafeGetStorageImpl() const { return impl_.get(); }
  const intrusive_ptr<StorageImpl>& impl() const { return impl_; }

 private:
  intrusive_ptr<StorageImpl> impl_;
};

}  // namespace cresset
