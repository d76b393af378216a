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

namespace {
[[noreturn]] void refuse(DeviceType type, const char* service) {
  CRESSET_CHECK_NOT_IMPLEMENTED(false, "DeviceGuard: devices of type ", type, " have no ", service, " of their own");
  __builtin_unreachable();
}
}  // namespace

DeviceGuardImplInterface::~DeviceGuardImplInterface() = default;
Stream DeviceGuardImplInterface::getNewStream(Device, int) const { refuse(type(), "streams"); }
Stream DeviceGuardImplInterface::getStreamFromGlobalPool(Device, bool) const { refuse(type(), "streams"); }
// The default stream of a device that computes at once is always done.
bool DeviceGuardImplInterface::queryStream(const Stream& stream) const {
  if (stream.id() != 0) refuse(type(), "streams");
  return true;
}
void DeviceGuardImplInterface::synchronizeStream(const Stream& stream) const {
  if (stream.id() != 0) refuse(type(), "streams");
}
void DeviceGuardImplInterface::synchronizeDevice(const DeviceIndex) const {}
void DeviceGuardImplInterface::record(void**, const Stream&, const DeviceIndex, const EventFlag) const { refuse(type(), "events"); }
void DeviceGuardImplInterface::block(void*, const Stream&) const { refuse(type(), "events"); }
bool DeviceGuardImplInterface::queryEvent(void*) const { refuse(type(), "events"); }
void DeviceGuardImplInterface::synchronizeEvent(void*) const { refuse(type(), "events"); }
void DeviceGuardImplInterface::destroyEvent(void*, const DeviceIndex) const noexcept {}
double DeviceGuardImplInterface::elapsedTime(void*, void*, const DeviceIndex) const { refuse(type(), "events"); }
void DeviceGuardImplInterface::recordDataPtrOnStream(const DataPtr&, const Stream& stream) const {
  if (stream.id() != 0) refuse(type(), "streams");
}

void Event::record(const Stream& stream) {
  CRESSET_CHECK(stream.device_type() == device_type(), "Event: expected a stream of a ", device_type(), " device, got ", stream.device());
  CRESSET_CHECK(index_ == -1 || index_ == stream.device_index(), "Event: it belongs to device ", device(), ", got a stream of ", stream.device());
  impl_->record(&event_, stream, index_ == -1 ? stream.device_index() : index_, flag_);
  index_ = stream.device_index();
}

double Event::elapsedTime(const Event& end) const {
  CRESSET_CHECK(event_ && end.event_, "Event: both events must be recorded before the time between them is asked");
  return impl_->elapsedTime(event_, end.event_, index_);
}

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
