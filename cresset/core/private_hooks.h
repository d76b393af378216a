#pragma once
// Services of the device that programs define, DeviceType::PrivateUse1, beside those of its guard and its allocator.

#include "cresset/core/memory/data_allocator.h"
#include "cresset/core/random/generator.h"

namespace cresset {

struct CRESSET_API AcceleratorHooksInterface {
  virtual ~AcceleratorHooksInterface();
  // Called before the first use of the device.
  virtual void init() const {}
  virtual bool isBuilt() const { return true; }
  virtual bool isAvailable() const { return deviceCount() > 0; }
  virtual bool hasPrimaryContext(DeviceIndex) const { return false; }
  virtual DeviceIndex deviceCount() const;
  virtual void setCurrentDevice(DeviceIndex index) const;
  virtual DeviceIndex getCurrentDevice() const;
  virtual DeviceIndex exchangeDevice(DeviceIndex index) const;
  virtual DeviceIndex maybeExchangeDevice(DeviceIndex index) const { return exchangeDevice(index); }
  virtual bool isPinnedPtr(const void*) const { return false; }
  // These raise where the device has none.
  virtual DataAllocator* getPinnedMemoryAllocator() const;
  virtual Device getDeviceFromPtr(void* data) const;
  virtual const Generator& getDefaultGenerator(DeviceIndex index = -1) const;
  virtual Generator getNewGenerator(DeviceIndex index = -1) const;
};

struct CRESSET_API PrivateUse1HooksInterface : AcceleratorHooksInterface {
  // Gives the storage room for so many bytes.
  virtual void resizePrivateUse1Bytes(const Storage& storage, size_t nbytes) const;
};

struct PrivateUse1HooksArgs {};

// The process keeps the hooks for good. Errors: there are hooks already.
CRESSET_API void register_private_hooks(PrivateUse1HooksInterface* hooks);
CRESSET_API bool has_private_hooks();
// Errors: there are none.
CRESSET_API const PrivateUse1HooksInterface& private_hooks();

}  // namespace cresset
