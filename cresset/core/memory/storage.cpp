#include "cresset/core/memory/storage.h"

#include <memory>

#include <algorithm>
#include <cstring>

#include "cresset/core/fake_mode.h"
#include "cresset/core/hooks.h"
#include "cresset/core/memory/data_allocator.h"
#include "cresset/core/observed.h"
#include "cresset/core/scope_hooks.h"

namespace cresset {

struct StorageImpl::Foreign {
  std::function<void(void*)> deleter;
  intrusive_ptr<FakeMode> mode = nullptr;
  intrusive_ptr<StorageImpl> constant = nullptr;
  intrusive_ptr<RefCounted> owner = nullptr;
  bool size_unknown = false;
};

namespace {
ObjectHook<StorageImpl> g_object_hook;
}

ObjectHook<StorageImpl>& storage_object_hook() { return g_object_hook; }

std::atomic<const ObserverHooks*> g_observer_hooks{nullptr};
std::atomic<ObservedMethod*> g_observed_method{nullptr};
std::atomic<const ScopeHooks*> g_scope_hooks{nullptr};

namespace {

inline void observe_memory(const void* data, int64_t bytes, Device device) {
  const ObserverHooks* hooks = g_observer_hooks.load(std::memory_order_acquire);
  if (CRESSET_UNLIKELY(hooks != nullptr) && data) hooks->memory(data, bytes, device);
}

// Errors: the device's allocator gives nothing.
void* device_block(size_t nbytes, Device device) {
  void* const data = get_allocator(device.type())->allocate(nbytes, device);
  CRESSET_CHECK_AS(OutOfMemoryError, data || nbytes == 0, "allocator: ", device, " has no room for ", nbytes, " bytes");
  return data;
}

}  // namespace

StorageImpl::StorageImpl(size_t nbytes, Device device) : nbytes_(nbytes), device_(device) {
  if (CRESSET_LIKELY(device.is_cpu())) data_ = cpu_allocate(nbytes);
  else if (!device.is_meta()) data_ = device_block(nbytes, device);
  observe_memory(data_, static_cast<int64_t>(nbytes), device);
}

StorageImpl::StorageImpl(void* data, size_t nbytes, Device device, std::function<void(void*)> deleter)
    : data_(data), nbytes_(nbytes), foreign_(new Foreign{std::move(deleter)}), device_(device) {}

StorageImpl::StorageImpl(size_t nbytes, Device device, FakeMode& mode)
    : nbytes_(nbytes), foreign_(new Foreign{{}, intrusive_ptr<FakeMode>::share(&mode)}), device_(device) {
  mode.count(device, static_cast<int64_t>(nbytes));
}

StorageImpl::StorageImpl(void* data, size_t nbytes, Device device, intrusive_ptr<RefCounted> owner)
    : data_(data), nbytes_(nbytes), foreign_(new Foreign{{}, nullptr, nullptr, std::move(owner)}), device_(device) {}

StorageImpl::~StorageImpl() { free_data(); }

FakeMode* StorageImpl::fake_mode() const { return foreign_ ? foreign_->mode.get() : nullptr; }

intrusive_ptr<StorageImpl> StorageImpl::constant() const { return foreign_ ? foreign_->constant : nullptr; }

void StorageImpl::set_constant(intrusive_ptr<StorageImpl> bytes) {
  CRESSET_INTERNAL_ASSERT(is_fake());
  foreign_->constant = std::move(bytes);
}

const intrusive_ptr<VersionCounter>& StorageImpl::shared_version() {
  if (!shared_version_) {
    auto counter = make_intrusive<VersionCounter>();
    counter->value.store(version_.load());
    shared_version_ = std::move(counter);
  }
  return shared_version_;
}

RefCounted* StorageImpl::owner() const { return foreign_ ? foreign_->owner.get() : nullptr; }

void StorageImpl::move_to(void* data, intrusive_ptr<RefCounted> owner) {
  CRESSET_CHECK(device_.is_cpu() && !is_fake(), "storage: only memory on the CPU can move, got ", device_);
  CRESSET_CHECK(lent_.load(std::memory_order_relaxed) == 0, "storage: its ", nbytes_,
                " bytes are lent, to a NumPy array for instance, and cannot move; clone the tensor first");
  if (data_ && nbytes_) std::memcpy(data, data_, nbytes_);
  auto* foreign = new Foreign{{}, nullptr, nullptr, std::move(owner)};
  release_memory();
  foreign_ = foreign;
  data_ = data;
}

void StorageImpl::free_data() {
  if (CRESSET_UNLIKELY(g_object_hook.kept.load(std::memory_order_relaxed) != 0)) g_object_hook.release(*this);
  release_memory();
}

CRESSET_NOINLINE void StorageImpl::release_foreign() {
  if (foreign_->deleter) foreign_->deleter(data_);
  if (foreign_->mode) foreign_->mode->count(device_, -static_cast<int64_t>(nbytes_));
  delete foreign_;
  foreign_ = nullptr;
}

void StorageImpl::release_memory() {
  if (CRESSET_UNLIKELY(foreign_ != nullptr)) {
    release_foreign();
  } else if (CRESSET_LIKELY(device_.is_cpu())) {
    observe_memory(data_, -static_cast<int64_t>(nbytes_), device_);
    cpu_deallocate(data_, nbytes_);
  } else if (data_) {
    observe_memory(data_, -static_cast<int64_t>(nbytes_), device_);
    get_allocator(device_.type())->deallocate(data_, nbytes_, device_);
  }
  data_ = nullptr;
}

// A block of the device's own allocator may be replaced by a larger one; other memory stays.
void StorageImpl::adopt(DataPtr data, Allocator* allocator) {
  data_ = data.get();
  auto* own = device_.is_cpu() ? nullptr : dynamic_cast<DataAllocator*>(allocator);
  if (own && own == get_allocator(device_.type())) {
    own->adopt(std::move(data));
    observe_memory(data_, static_cast<int64_t>(nbytes_), device_);
    return;
  }
  foreign_ = new Foreign{[owner = std::make_shared<DataPtr>(std::move(data))](void*) { owner->clear(); }};
}

DataPtr StorageImpl::set_data_ptr(DataPtr data) {
  CRESSET_CHECK(lent_.load(std::memory_order_relaxed) == 0 && !is_fake(), "set_data_ptr: the storage's ", nbytes_, " bytes are ",
                is_fake() ? "fake" : "lent, to a NumPy array for instance", " and cannot be replaced");
  CRESSET_CHECK(data.device().type() == device_.type(), "set_data_ptr: got memory on ", data.device(), " for a storage on ", device_);
  auto before = make_intrusive<StorageImpl>(nullptr, nbytes_, device_, std::function<void(void*)>());
  std::swap(before->data_, data_);
  std::swap(before->foreign_, foreign_);
  delete std::exchange(foreign_, nullptr);
  adopt(std::move(data), nullptr);
  foreign_->size_unknown = true;
  void* const address = before->data_;
  return {address, before.release(), [](void* impl) { intrusive_ptr<StorageImpl>::reclaim(static_cast<StorageImpl*>(impl)); }, device_};
}

void StorageImpl::set_nbytes(size_t nbytes) {
  if (!foreign_ || !std::exchange(foreign_->size_unknown, false)) return resize(nbytes);
  nbytes_ = nbytes;
}

void StorageImpl::resize(size_t nbytes) {
  CRESSET_CHECK(resizable(), "resize: Trying to resize storage that is not resizable: its ", nbytes_, " bytes are ",
                foreign_ ? "not its own" : "lent, to a NumPy array for instance,", " and cannot become ", nbytes, "; clone the tensor first");
  if (is_fake()) {
    foreign_->mode->count(device_, static_cast<int64_t>(nbytes));
    foreign_->mode->count(device_, -static_cast<int64_t>(nbytes_));
    foreign_->constant.reset();
  }
  if (device_.is_meta() || is_fake()) {
    nbytes_ = nbytes;
    return;
  }
  if (!device_.is_cpu()) {
    Allocator& allocator = *get_allocator(device_.type());
    void* fresh = device_block(nbytes, device_);
    const size_t kept = data_ && fresh ? std::min(nbytes, nbytes_) : 0;
    if (kept > 0) allocator.copy(fresh, data_, kept, device_);
    if (data_) allocator.deallocate(data_, nbytes_, device_);
    data_ = fresh;
    nbytes_ = nbytes;
    return;
  }
  void* fresh = cpu_allocate(nbytes);
  if (data_ && fresh) std::memcpy(fresh, data_, nbytes < nbytes_ ? nbytes : nbytes_);
  cpu_deallocate(data_, nbytes_);
  data_ = fresh;
  nbytes_ = nbytes;
}

Storage::Storage(use_byte_size_t, size_t nbytes, Allocator* allocator, bool resizable)
    : impl_(make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(), nbytes, allocator, resizable)) {}
Storage::Storage(use_byte_size_t, size_t nbytes, DataPtr data, Allocator* allocator, bool resizable)
    : impl_(make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(), nbytes, std::move(data), allocator, resizable)) {}

namespace {

bool is_own(Allocator* allocator) { return !allocator || allocator == cpu_allocator() || allocator == data_allocator_of(kCPU); }

// Empty: the CPU's own memory, which may grow.
DataPtr block_of(size_t nbytes, Allocator* allocator) { return is_own(allocator) ? DataPtr() : allocator->allocate(nbytes); }

}  // namespace

StorageImpl::StorageImpl(use_byte_size_t, size_t nbytes, DataPtr data, Allocator* allocator, bool resizable)
    : data_(data.get()), nbytes_(nbytes), device_(data.device()) {
  const bool own = !data && device_.is_cpu() && (nbytes > 0 || is_own(allocator));
  if (!own) {
    adopt(std::move(data), resizable ? allocator : nullptr);
    return;
  }
  data_ = cpu_allocate(nbytes);
  observe_memory(data_, static_cast<int64_t>(nbytes), device_);
  if (resizable) return;
  foreign_ = new Foreign{[nbytes](void* block) {
    observe_memory(block, -static_cast<int64_t>(nbytes), Device(kCPU));
    cpu_deallocate(block, nbytes);
  }};
}
StorageImpl::StorageImpl(use_byte_size_t, size_t nbytes, Allocator* allocator, bool resizable)
    : StorageImpl(use_byte_size_t(), nbytes, block_of(nbytes, allocator), allocator, resizable) {}

namespace {
struct Block {
  Allocator* allocator;
  void* data;
  size_t nbytes;
};
}  // namespace

DataPtr Allocator::allocate(size_t nbytes) {
  if (auto* own = dynamic_cast<DataAllocator*>(this)) return own->allocate(nbytes);
  const Device cpu(kCPU);
  auto block = std::make_unique<Block>(Block{this, allocate(nbytes, cpu), nbytes});
  void* const data = block->data;
  return {data, block.release(),
          [](void* context) {
            const std::unique_ptr<Block> given(static_cast<Block*>(context));
            given->allocator->deallocate(given->data, given->nbytes, Device(kCPU));
          },
          cpu};
}

}  // namespace cresset
