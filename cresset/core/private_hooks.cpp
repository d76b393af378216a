#include "cresset/core/private_hooks.h"

#include <atomic>

#include "cresset/base/error.h"
#include "cresset/core/device_guard.h"

namespace cresset {

namespace {

std::atomic<PrivateUse1HooksInterface*> g_hooks{nullptr};

std::string name() { return device_type_name(DeviceType::PrivateUse1); }
const DeviceGuardImplInterface& guard() { return device_guard_of(DeviceType::PrivateUse1); }
[[noreturn]] void refuse(const char* service) {
  CRESSET_CHECK_NOT_IMPLEMENTED(false, "hooks: the device ", name(), " has no ", service, "; its PrivateUse1HooksInterface does not override that function");
  __builtin_unreachable();
}

}  // namespace

AcceleratorHooksInterface::~AcceleratorHooksInterface() = default;
DeviceIndex AcceleratorHooksInterface::deviceCount() const { return has_device_guard(DeviceType::PrivateUse1) ? guard().deviceCount() : DeviceIndex(0); }
void AcceleratorHooksInterface::setCurrentDevice(DeviceIndex index) const { guard().setDevice(Device(DeviceType::PrivateUse1, index)); }
DeviceIndex AcceleratorHooksInterface::getCurrentDevice() const { return guard().getDevice().index(); }
DeviceIndex AcceleratorHooksInterface::exchangeDevice(DeviceIndex index) const {
  return guard().exchangeDevice(Device(DeviceType::PrivateUse1, index)).index();
}
DataAllocator* AcceleratorHooksInterface::getPinnedMemoryAllocator() const { refuse("pinned memory"); }
Device AcceleratorHooksInterface::getDeviceFromPtr(void*) const { refuse("way to tell devices by addresses"); }
const Generator& AcceleratorHooksInterface::getDefaultGenerator(DeviceIndex) const { refuse("generator"); }
Generator AcceleratorHooksInterface::getNewGenerator(DeviceIndex) const { refuse("generator"); }
void PrivateUse1HooksInterface::resizePrivateUse1Bytes(const Storage& storage, size_t nbytes) const { storage.set_nbytes(nbytes); }

void register_private_hooks(PrivateUse1HooksInterface* hooks) {
  PrivateUse1HooksInterface* before = nullptr;
  CRESSET_CHECK(g_hooks.compare_exchange_strong(before, hooks), "hooks: those of the device ", name(), " are registered already, they can be only once");
}
bool has_private_hooks() { return g_hooks.load(std::memory_order_acquire) != nullptr; }
const PrivateUse1HooksInterface& private_hooks() {
  const PrivateUse1HooksInterface* hooks = g_hooks.load(std::memory_order_acquire);
  CRESSET_CHECK(hooks, "hooks: none are registered for the device ", name(), "; a device library calls RegisterPrivateUse1HooksInterface");
  return *hooks;
}

}  // namespace cresset
