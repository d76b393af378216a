#pragma once
// Objects that make a device, or a stream, current and put the former one back at the end of their scope. A foreign device
// registers what they call (register_device_guard); types with a single device, the CPU among them, need nothing.

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "cresset/base/error.h"
#include "cresset/core/stream.h"

namespace cresset {

class DataPtr;

enum class EventFlag { PYTORCH_DEFAULT, BACKEND_DEFAULT, DEFAULT = BACKEND_DEFAULT, INVALID };

// The services of a type of devices that guards call.
struct CRESSET_API DeviceGuardImplInterface {
  virtual ~DeviceGuardImplInterface();
  virtual DeviceType type() const = 0;
  // Makes the device current; the one that was.
  virtual Device exchangeDevice(Device device) const = 0;
  virtual Device getDevice() const = 0;
  virtual void setDevice(Device device) const = 0;
  // The same for destructors: never raises.
  virtual void uncheckedSetDevice(Device device) const noexcept = 0;
  virtual Stream getStream(Device device) const { return Stream(Stream::DEFAULT, device); }
  virtual Stream getDefaultStream(Device device) const { return Stream(Stream::DEFAULT, device); }
  virtual Stream exchangeStream(Stream stream) const { return getStream(stream.device()); }
  virtual DeviceIndex deviceCount() const noexcept = 0;

  // Queues and events. Where a device has none of its own, these say so.
  virtual Stream getNewStream(Device device, int priority = 0) const;
  virtual Stream getStreamFromGlobalPool(Device device, bool is_high_priority = false) const;
  virtual bool queryStream(const Stream& stream) const;
  virtual void synchronizeStream(const Stream& stream) const;
  virtual void synchronizeDevice(const DeviceIndex index) const;
  // Makes the event where it is null, and has the stream set it once its work so far is done.
  virtual void record(void** event, const Stream& stream, const DeviceIndex index, const EventFlag flag) const;
  // The stream waits for the event.
  virtual void block(void* event, const Stream& stream) const;
  virtual bool queryEvent(void* event) const;
  virtual void synchronizeEvent(void* event) const;
  virtual void destroyEvent(void* event, const DeviceIndex index) const noexcept;
  // In milliseconds.
  virtual double elapsedTime(void* begin, void* end, const DeviceIndex index) const;
  // The block is used by work of this stream, so that its allocator may not hand it out before that is done.
  virtual void recordDataPtrOnStream(const DataPtr& block, const Stream& stream) const;
};

// Of a type with one device.
class CRESSET_API SingleDeviceGuardImpl : public DeviceGuardImplInterface {
 public:
  explicit SingleDeviceGuardImpl(DeviceType type) : type_(type) {}
  DeviceType type() const override { return type_; }
  Device exchangeDevice(Device) const override { return getDevice(); }
  Device getDevice() const override { return Device(type_, -1); }
  void setDevice(Device) const override {}
  void uncheckedSetDevice(Device) const noexcept override {}
  DeviceIndex deviceCount() const noexcept override { return 1; }

 private:
  DeviceType type_;
};

// The process keeps `impl` for good. Null takes a registration back.
CRESSET_API void register_device_guard(DeviceType type, const DeviceGuardImplInterface* impl);
CRESSET_API bool has_device_guard(DeviceType type);
// Errors: nothing is registered for the type, and it has devices of its own.
CRESSET_API const DeviceGuardImplInterface& device_guard_of(DeviceType type);
// Registers an object of `Impl` for a type of devices when the library is loaded.
struct CRESSET_API DeviceGuardRegistrar {
  DeviceGuardRegistrar(DeviceType type, const DeviceGuardImplInterface* impl) { register_device_guard(type, impl); }
};

// A mark in a stream of a device; made when it is first recorded.
class CRESSET_API Event {
 public:
  explicit Event(DeviceType type, EventFlag flag = EventFlag::DEFAULT) : impl_(&device_guard_of(type)), flag_(flag) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event(Event&& o) noexcept : impl_(o.impl_), flag_(o.flag_), index_(o.index_), event_(std::exchange(o.event_, nullptr)) {}
  ~Event() {
    if (event_) impl_->destroyEvent(event_, index_);
  }

  DeviceType device_type() const { return impl_->type(); }
  DeviceIndex device_index() const { return index_; }
  Device device() const { return Device(device_type(), index_); }
  EventFlag flag() const { return flag_; }
  void* eventId() const { return event_; }
  bool was_marked_for_recording() const { return event_ != nullptr; }
  // Errors: a stream of another device than that of the first recording.
  void record(const Stream& stream);
  void recordOnce(const Stream& stream) {
    if (!event_) record(stream);
  }
  void block(const Stream& stream) const {
    if (event_) impl_->block(event_, stream);
  }
  bool query() const { return !event_ || impl_->queryEvent(event_); }
  void synchronize() const {
    if (event_) impl_->synchronizeEvent(event_);
  }
  // In milliseconds. Errors: one of the two is not recorded.
  double elapsedTime(const Event& end) const;

 private:
  const DeviceGuardImplInterface* impl_;
  EventFlag flag_;
  DeviceIndex index_ = -1;
  void* event_ = nullptr;
};

// Finds at run time what a type of devices does.
class VirtualGuardImpl {
 public:
  VirtualGuardImpl(DeviceType type) : impl_(&device_guard_of(type)) {}
  VirtualGuardImpl(const DeviceGuardImplInterface* impl) : impl_(impl) {}
  DeviceType type() const { return impl_->type(); }
  Device exchangeDevice(Device d) const { return impl_->exchangeDevice(d); }
  Device getDevice() const { return impl_->getDevice(); }
  void setDevice(Device d) const { impl_->setDevice(d); }
  void uncheckedSetDevice(Device d) const noexcept { impl_->uncheckedSetDevice(d); }
  Stream getStream(Device d) const { return impl_->getStream(d); }
  Stream getDefaultStream(Device d) const { return impl_->getDefaultStream(d); }
  Stream exchangeStream(Stream s) const { return impl_->exchangeStream(s); }
  DeviceIndex deviceCount() const noexcept { return impl_->deviceCount(); }

 private:
  const DeviceGuardImplInterface* impl_;
};

// A guard of one implementation, which is made of a type of devices or, where its class stands for one, of nothing.
template <class Impl> class InlineDeviceGuard {
  static constexpr bool kVirtual = std::is_same<Impl, VirtualGuardImpl>::value;

 public:
  explicit InlineDeviceGuard(Device device) : InlineDeviceGuard(device, Impl(device.type())) {}
  template <class U = Impl, class = std::enable_if_t<!std::is_same<U, VirtualGuardImpl>::value>> explicit InlineDeviceGuard(DeviceIndex index)
      : InlineDeviceGuard(Device(U::static_type, index)) {}
  template <class U = Impl, class = std::enable_if_t<std::is_same<U, VirtualGuardImpl>::value>>
  explicit InlineDeviceGuard(Device device, const DeviceGuardImplInterface* impl) : InlineDeviceGuard(device, impl ? Impl(impl) : Impl(device.type())) {}
  InlineDeviceGuard(const InlineDeviceGuard&) = delete;
  InlineDeviceGuard& operator=(const InlineDeviceGuard&) = delete;
  InlineDeviceGuard(InlineDeviceGuard&&) = delete;
  InlineDeviceGuard& operator=(InlineDeviceGuard&&) = delete;
  ~InlineDeviceGuard() { impl_.uncheckedSetDevice(original_); }

  // Errors: a device of another type.
  void set_device(Device device) {
    CRESSET_CHECK((kVirtual && device.type() == original_.type()) || device.type() == impl_.type(), "DeviceGuard: expected a device of type ", impl_.type(),
                  ", got ", device);
    const Device wanted = device.index() == -1 ? original_ : device;
    impl_.setDevice(wanted);
    current_ = wanted;
  }
  // The same; a guard that finds its implementation at run time also takes devices of other types.
  void reset_device(Device device, const DeviceGuardImplInterface* impl = nullptr) {
    if (device.type() == original_.type()) return set_device(device);
    if constexpr (kVirtual) {
      impl_.setDevice(original_);
      impl_ = impl ? Impl(impl) : Impl(device.type());
      original_ = impl_.exchangeDevice(device);
      current_ = device.index() == -1 ? original_ : device;
    } else {
      (void)impl;
      set_device(device);
    }
  }
  void set_index(DeviceIndex index) { set_device(Device(original_.type(), index)); }
  Device original_device() const { return original_; }
  Device current_device() const { return current_; }

 private:
  explicit InlineDeviceGuard(Device device, Impl impl)
      : impl_(impl), original_(device.index() == -1 ? impl_.getDevice() : impl_.exchangeDevice(device)), current_(device.index() == -1 ? original_ : device) {}

  Impl impl_;
  Device original_, current_;
};

// A guard that may guard nothing yet.
template <class Impl> class InlineOptionalDeviceGuard {
 public:
  InlineOptionalDeviceGuard() = default;
  explicit InlineOptionalDeviceGuard(std::optional<Device> device) {
    if (device) guard_.emplace(*device);
  }
  template <class... Args, class = std::enable_if_t<std::is_constructible<InlineDeviceGuard<Impl>, Args...>::value>>
  explicit InlineOptionalDeviceGuard(Args&&... args) : guard_(std::in_place, std::forward<Args>(args)...) {}

  void set_device(Device device) { guard_ ? guard_->set_device(device) : void(guard_.emplace(device)); }
  void reset_device(Device device, const DeviceGuardImplInterface* impl = nullptr) {
    if (guard_) guard_->reset_device(device, impl);
    else if constexpr (std::is_same<Impl, VirtualGuardImpl>::value) guard_.emplace(device, impl);
    else guard_.emplace(device);
  }
  void set_index(DeviceIndex index) { guard_ ? guard_->set_index(index) : void(guard_.emplace(index)); }
  void reset() { guard_.reset(); }
  std::optional<Device> original_device() const { return guard_ ? std::optional<Device>(guard_->original_device()) : std::nullopt; }
  std::optional<Device> current_device() const { return guard_ ? std::optional<Device>(guard_->current_device()) : std::nullopt; }

 private:
  std::optional<InlineDeviceGuard<Impl>> guard_;
};

// Makes the stream current, and its device.
template <class Impl> class InlineStreamGuard : private InlineDeviceGuard<Impl> {
 public:
  explicit InlineStreamGuard(Stream stream)
      : InlineDeviceGuard<Impl>(stream.device()),
        impl_(stream.device_type()),
        on_original_(impl_.getStream(this->original_device())),
        on_current_(impl_.exchangeStream(stream)),
        current_(stream) {}
  template <class U = Impl, class = std::enable_if_t<std::is_same<U, VirtualGuardImpl>::value>>
  explicit InlineStreamGuard(Stream stream, const DeviceGuardImplInterface* impl)
      : InlineDeviceGuard<Impl>(stream.device(), impl),
        impl_(impl ? Impl(impl) : Impl(stream.device_type())),
        on_original_(impl_.getStream(this->original_device())),
        on_current_(impl_.exchangeStream(stream)),
        current_(stream) {}
  ~InlineStreamGuard() { impl_.exchangeStream(on_current_); }

  // Errors: a device of another type, where the implementation is fixed.
  void reset_stream(Stream stream) {
    impl_.exchangeStream(on_current_);
    this->reset_device(stream.device());
    impl_ = Impl(stream.device_type());
    on_current_ = impl_.exchangeStream(stream);
    current_ = stream;
  }
  // Of the device that was current before the guard.
  Stream original_stream() const { return on_original_; }
  Stream current_stream() const { return current_; }
  Device original_device() const { return InlineDeviceGuard<Impl>::original_device(); }
  Device current_device() const { return InlineDeviceGuard<Impl>::current_device(); }

 private:
  Impl impl_;
  Stream on_original_, on_current_, current_;
};

template <class Impl> class InlineOptionalStreamGuard {
 public:
  InlineOptionalStreamGuard() = default;
  explicit InlineOptionalStreamGuard(std::optional<Stream> stream) {
    if (stream) guard_.emplace(*stream);
  }
  template <class... Args, class = std::enable_if_t<std::is_constructible<InlineStreamGuard<Impl>, Args...>::value>>
  explicit InlineOptionalStreamGuard(Args&&... args) : guard_(std::in_place, std::forward<Args>(args)...) {}

  void reset_stream(Stream stream) { guard_ ? guard_->reset_stream(stream) : void(guard_.emplace(stream)); }
  void reset() { guard_.reset(); }
  std::optional<Stream> original_stream() const { return guard_ ? std::optional<Stream>(guard_->original_stream()) : std::nullopt; }
  std::optional<Stream> current_stream() const { return guard_ ? std::optional<Stream>(guard_->current_stream()) : std::nullopt; }

 private:
  std::optional<InlineStreamGuard<Impl>> guard_;
};

// Streams of several devices of one type at once.
template <class Impl> class InlineMultiStreamGuard {
 public:
  explicit InlineMultiStreamGuard(const std::vector<Stream>& streams) {
    if (streams.empty()) return;
    impl_.emplace(streams[0].device_type());
    for (const Stream& s : streams) {
      CRESSET_CHECK(s.device_type() == impl_->type(), "MultiStreamGuard: expected streams of one type of devices, got ", impl_->type(), " and ",
                    s.device_type());
      originals_.push_back(impl_->exchangeStream(s));
    }
  }
  InlineMultiStreamGuard(const InlineMultiStreamGuard&) = delete;
  InlineMultiStreamGuard& operator=(const InlineMultiStreamGuard&) = delete;
  ~InlineMultiStreamGuard() {
    for (const Stream& s : originals_) impl_->exchangeStream(s);
  }

 private:
  std::optional<Impl> impl_;
  std::vector<Stream> originals_;
};

using DeviceGuard = InlineDeviceGuard<VirtualGuardImpl>;
using OptionalDeviceGuard = InlineOptionalDeviceGuard<VirtualGuardImpl>;
using StreamGuard = InlineStreamGuard<VirtualGuardImpl>;
using OptionalStreamGuard = InlineOptionalStreamGuard<VirtualGuardImpl>;
using MultiStreamGuard = InlineMultiStreamGuard<VirtualGuardImpl>;

// A type of devices that only counts: a thread's current device and streams are plain numbers. For tests of guards.
template <DeviceType T> struct FakeGuardImpl final : DeviceGuardImplInterface {
  static constexpr DeviceType static_type = T;
  static constexpr size_t kFakeGuardImplMaxDevices = 8;

  FakeGuardImpl() = default;
  // Errors: another type.
  explicit FakeGuardImpl(DeviceType type) { CRESSET_CHECK(type == T, "FakeGuardImpl: expected devices of type ", T, ", got ", type); }
  DeviceType type() const override { return T; }
  Device exchangeDevice(Device d) const override {
    const Device before = getDevice();
    setDevice(d);
    return before;
  }
  Device getDevice() const override { return Device(T, current_); }
  void setDevice(Device d) const override {
    CRESSET_CHECK(d.type() == T && d.index() >= 0 && static_cast<size_t>(d.index()) < kFakeGuardImplMaxDevices, "FakeGuardImpl: there is no device ", d);
    current_ = static_cast<DeviceIndex>(d.index());
  }
  void uncheckedSetDevice(Device d) const noexcept override { current_ = static_cast<DeviceIndex>(d.index()); }
  Stream getStream(Device d) const override { return Stream(Stream::UNSAFE, d, streams_[d.index()]); }
  Stream exchangeStream(Stream s) const override {
    const StreamId before = std::exchange(streams_[s.device_index()], s.id());
    return Stream(Stream::UNSAFE, s.device(), before);
  }
  DeviceIndex deviceCount() const noexcept override { return static_cast<DeviceIndex>(kFakeGuardImplMaxDevices); }

  static DeviceIndex getDeviceIndex() { return current_; }
  static void setDeviceIndex(DeviceIndex i) { current_ = i; }
  static StreamId getCurrentStreamIdFor(DeviceIndex i) { return streams_[i]; }
  static void resetStreams() {
    for (StreamId& s : streams_) s = 0;
  }

 private:
  static inline thread_local DeviceIndex current_ = 0;
  static inline thread_local StreamId streams_[kFakeGuardImplMaxDevices] = {};
};

}  // namespace cresset
