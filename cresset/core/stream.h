#pragma once
// The name of a queue of work on a device, as guards and foreign devices pass it on. The CPU has one, the default.

#include <cstdint>
#include <iosfwd>

#include "cresset/base/device.h"

namespace cresset {

using StreamId = int64_t;

class Stream {
 public:
  enum Unsafe { UNSAFE };
  enum Default { DEFAULT };

  // `id` is the device's own number for it.
  explicit Stream(Unsafe, Device device, StreamId id) : device_(device), id_(id) {}
  explicit Stream(Default, Device device) : device_(device), id_(0) {}

  Device device() const { return device_; }
  DeviceType device_type() const { return device_.type(); }
  DeviceIndex device_index() const { return static_cast<DeviceIndex>(device_.index()); }
  StreamId id() const { return id_; }
  bool operator==(const Stream& o) const { return device_ == o.device_ && id_ == o.id_; }
  bool operator!=(const Stream& o) const { return !(*this == o); }

 private:
  Device device_;
  StreamId id_;
};
// "stream 2 on device cuda:1".
CRESSET_API std::ostream& operator<<(std::ostream& out, const Stream& s);

}  // namespace cresset

namespace std {
template <> struct hash<cresset::Stream> {
  size_t operator()(const cresset::Stream& s) const noexcept {
    return static_cast<size_t>(s.device_type()) << 24 ^ static_cast<size_t>(s.device_index() + 1) << 16 ^ static_cast<size_t>(s.id());
  }
};
}  // namespace std
