#include "cresset/core/storage.h"

#include <algorithm>
#include <cstring>

namespace cresset {

StorageImpl::StorageImpl(size_t nbytes, Device device) : nbytes_(nbytes), device_(device) {
  if (CRESSET_LIKELY(device.is_cpu())) data_ = cpu_allocate(nbytes);
  else if (!device.is_meta()) data_ = get_allocator(device.type())->allocate(nbytes, device);
}

StorageImpl::StorageImpl(void* data, size_t nbytes, Device device, std::function<void(void*)> deleter)
    : data_(data), nbytes_(nbytes), foreign_(new Foreign{std::move(deleter)}), device_(device) {}

StorageImpl::~StorageImpl() { free_data(); }

const intrusive_ptr<VersionCounter>& StorageImpl::shared_version() {
  if (!shared_version_) {
    auto counter = make_intrusive<VersionCounter>();
    counter->value.store(version_.load());
    shared_version_ = std::move(counter);
  }
  return shared_version_;
}

void StorageImpl::free_data() {
  if (CRESSET_UNLIKELY(foreign_ != nullptr)) {
    if (foreign_->deleter) foreign_->deleter(data_);
    delete foreign_;
    foreign_ = nullptr;
  } else if (CRESSET_LIKELY(device_.is_cpu())) {
    cpu_deallocate(data_, nbytes_);
  } else if (data_) {
    get_allocator(device_.type())->deallocate(data_, nbytes_, device_);
  }
  data_ = nullptr;
}

void StorageImpl::resize(size_t nbytes) {
  CRESSET_CHECK(resizable(), "resize: the storage wraps memory it does not own (", nbytes_, " bytes) and cannot become ", nbytes,
                " bytes; clone the tensor first");
  if (device_.is_meta()) { nbytes_ = nbytes; return; }
  if (!device_.is_cpu()) {
    Allocator& allocator = *get_allocator(device_.type());
    void* fresh = allocator.allocate(nbytes, device_);
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

}  // namespace cresset
