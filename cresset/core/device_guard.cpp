#include "cresset/core/device_guard.h"

#include <atomic>
#include <ostream>

namespace cresset {

namespace {

constexpr int kTypes = static_cast<int>(DeviceType::MaxRegistered) + 1;
std::atomic<const DeviceGuardImplInterface*> g_guards[kTypes];

// Without a device number there is nothing to switch.
bool is_single(DeviceType type) { return type == DeviceType::CPU || type == DeviceType::Meta; }

}  // namespace

DeviceGuardImplInterface::~DeviceGuardImplInterface() = default;

void register_device_guard(DeviceType type, const DeviceGuardImplInterface* impl) { g_guards[static_cast<int>(type)].store(impl, std::memory_order_release); }

bool has_device_guard(DeviceType type) { return is_single(type) || g_guards[static_cast<int>(type)].load(std::memory_order_acquire); }

const DeviceGuardImplInterface& device_guard_of(DeviceType type) {
  if (const auto* impl = g_guards[static_cast<int>(type)].load(std::memory_order_acquire)) return *impl;
  CRESSET_CHECK(is_single(type), "DeviceGuard: no backend is loaded for devices of type ", type);
  static const SingleDeviceGuardImpl cpu(DeviceType::CPU), meta(DeviceType::Meta);
  return type == DeviceType::CPU ? cpu : meta;
}

std::ostream& operator<<(std::ostream& out, const Stream& s) { return out << "stream " << s.id() << " on device " << s.device().str(); }

}  // namespace cresset
