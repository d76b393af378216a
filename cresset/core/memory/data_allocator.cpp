#include "cresset/core/memory/data_allocator.h"

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "cresset/base/error.h"
#include "cresset/core/device_guard.h"

namespace cresset {

namespace {

// Blocks that storages hold by their addresses. Never destroyed, since tensors may be freed as late as that.
struct Blocks {
  std::mutex mutex;
  std::map<std::pair<const DataAllocator*, void*>, DataPtr> held;
};
Blocks& blocks() {
  static Blocks& all = *new Blocks;
  return all;
}

}  // namespace

DataPtr DataAllocator::clone(const void* data, size_t nbytes) {
  DataPtr block = allocate(nbytes);
  copy_data(block.get(), data, nbytes);
  return block;
}

void* DataAllocator::raw_allocate(size_t nbytes) {
  DataPtr block = allocate(nbytes);
  CRESSET_CHECK(raw_deleter() && block.get() == block.get_context(),
                "raw_allocate: expected an allocator with a raw_deleter, whose blocks need no context of their own");
  return block.release_context();
}

void DataAllocator::raw_deallocate(void* data) {
  const auto free_block = raw_deleter();
  CRESSET_CHECK(free_block, "raw_deallocate: expected an allocator with a raw_deleter");
  free_block(data);
}

void DataAllocator::adopt(DataPtr block) {
  void* const data = block.get();
  Blocks& all = blocks();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.held[{this, data}] = std::move(block);
}

void* DataAllocator::allocate(size_t nbytes, Device device) {
  if (nbytes == 0) return nullptr;
  const OptionalDeviceGuard guard(device.has_index() && has_device_guard(device.type()) ? std::optional<Device>(device) : std::nullopt);
  DataPtr block = allocate(nbytes);
  void* const data = block.get();
  CRESSET_CHECK_AS(OutOfMemoryError, data, "allocator: ", device, " has no room for ", nbytes, " bytes");
  adopt(std::move(block));
  return data;
}

void DataAllocator::deallocate(void* data, size_t, Device) {
  DataPtr block;  // freed after the lock is
  Blocks& all = blocks();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto at = all.held.find({this, data});
  if (at == all.held.end()) return;
  block = std::move(at->second);
  all.held.erase(at);
}

void DataAllocator::copy(void* to, const void* from, size_t nbytes, Device) { copy_data(to, from, nbytes); }

void DataAllocator::default_copy_data(void* to, const void* from, size_t nbytes) const { std::memcpy(to, from, nbytes); }

namespace {

// An allocator of ours by LibTorch's interface.
class Wrapped final : public DataAllocator {
 public:
  explicit Wrapped(DeviceType type) : type_(type) {}
  DataPtr allocate(size_t nbytes) override {
    const Device device = type_ == kCPU ? Device(kCPU) : has_device_guard(type_) ? device_guard_of(type_).getDevice() : Device(type_, 0);
    auto block = std::make_unique<Block>(Block{get_allocator(type_)->allocate(nbytes, device), nbytes, device});
    void* const data = block->data;
    return {data, block.release(), &free_block, device};
  }
  void copy_data(void* to, const void* from, size_t nbytes) const override {
    if (type_ == kCPU) return default_copy_data(to, from, nbytes);
    get_allocator(type_)->copy(to, from, nbytes, Device(type_, 0));
  }

 private:
  struct Block {
    void* data;
    size_t nbytes;
    Device device;
  };
  static void free_block(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    get_allocator(block->device.type())->deallocate(block->data, block->nbytes, block->device);
  }
  DeviceType type_;
};

constexpr int kTypes = static_cast<int>(DeviceType::MaxRegistered) + 1;
std::atomic<DataAllocator*> g_wrapped[kTypes];

}  // namespace

DataAllocator* data_allocator_of(DeviceType type) {
  if (auto* own = dynamic_cast<DataAllocator*>(get_allocator(type))) return own;
  std::atomic<DataAllocator*>& place = g_wrapped[static_cast<int>(type)];
  DataAllocator* found = place.load(std::memory_order_acquire);
  if (found) return found;
  auto made = std::make_unique<Wrapped>(type);
  if (place.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) found = made.release();
  return found;
}

}  // namespace cresset
