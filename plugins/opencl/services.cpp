// The device's services to the core: its guard, streams and events, and the hooks of PrivateUse1.

#include "cresset/core/private_hooks.h"
#include "cresset/core/random/generator.h"
#include "device.h"
#include "random.h"

namespace opencl {

namespace {

using cresset::Device;
using cresset::Stream;

struct Guard final : cresset::DeviceGuardImplInterface {
  cresset::DeviceType type() const override { return kType; }
  Device exchangeDevice(Device d) const override {
    const Device before = getDevice();
    setDevice(d);
    return before;
  }
  Device getDevice() const override { return Device(kType, current_index()); }
  void setDevice(Device d) const override {
    if (!d.has_index()) return;
    chip(d.index());
    set_current_index(d.index());
  }
  void uncheckedSetDevice(Device d) const noexcept override { set_current_index(d.index()); }
  Stream getStream(Device d) const override { return Stream(Stream::UNSAFE, numbered(d), current_stream(numbered(d).index())); }
  Stream getDefaultStream(Device d) const override { return Stream(Stream::DEFAULT, numbered(d)); }
  Stream exchangeStream(Stream s) const override { return Stream(Stream::UNSAFE, s.device(), exchange_stream(s.device_index(), s.id())); }
  DeviceIndex deviceCount() const noexcept override { return static_cast<DeviceIndex>(chips().size()); }
  Stream getNewStream(Device d, int) const override { return Stream(Stream::UNSAFE, numbered(d), new_stream(numbered(d).index())); }
  Stream getStreamFromGlobalPool(Device d, bool) const override { return getNewStream(d, 0); }

  bool queryStream(const Stream& s) const override {
    cl_event mark = nullptr;
    check(clEnqueueMarkerWithWaitList(queue(s.device_index(), s.id()), 0, nullptr, &mark), "clEnqueueMarkerWithWaitList");
    const bool done = queryEvent(mark);
    clReleaseEvent(mark);
    return done;
  }
  void synchronizeStream(const Stream& s) const override { check(clFinish(queue(s.device_index(), s.id())), "clFinish"); }
  void synchronizeDevice(const DeviceIndex index) const override { synchronize(index); }
  void record(void** event, const Stream& s, const DeviceIndex, const cresset::EventFlag) const override {
    cl_event mark = nullptr;
    check(clEnqueueMarkerWithWaitList(queue(s.device_index(), s.id()), 0, nullptr, &mark), "clEnqueueMarkerWithWaitList");
    check(clFlush(queue(s.device_index(), s.id())), "clFlush");
    if (*event) clReleaseEvent(static_cast<cl_event>(*event));
    *event = mark;
  }
  void block(void* event, const Stream& s) const override {
    if (!event) return;
    const cl_event mark = static_cast<cl_event>(event);
    check(clEnqueueBarrierWithWaitList(queue(s.device_index(), s.id()), 1, &mark, nullptr), "clEnqueueBarrierWithWaitList");
  }
  bool queryEvent(void* event) const override {
    cl_int status = CL_COMPLETE;
    check(clGetEventInfo(static_cast<cl_event>(event), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr), "clGetEventInfo");
    return status == CL_COMPLETE;
  }
  void synchronizeEvent(void* event) const override {
    const cl_event mark = static_cast<cl_event>(event);
    check(clWaitForEvents(1, &mark), "clWaitForEvents");
  }
  void destroyEvent(void* event, const DeviceIndex) const noexcept override { clReleaseEvent(static_cast<cl_event>(event)); }
  double elapsedTime(void* begin, void* end, const DeviceIndex) const override { return (finished(end) - finished(begin)) * 1e-6; }
  void recordDataPtrOnStream(const cresset::DataPtr&, const Stream&) const override {}  // blocks wait for all queues when they are given back

 private:
  static Device numbered(Device d) { return d.has_index() ? d : Device(kType, current_index()); }
  static double finished(void* event) {
    const cl_event mark = static_cast<cl_event>(event);
    check(clWaitForEvents(1, &mark), "clWaitForEvents");
    cl_ulong at = 0;
    check(clGetEventProfilingInfo(mark, CL_PROFILING_COMMAND_END, sizeof at, &at, nullptr), "clGetEventProfilingInfo");
    return static_cast<double>(at);
  }
};

struct Hooks final : cresset::PrivateUse1HooksInterface {
  bool hasPrimaryContext(DeviceIndex index) const override { return index >= 0 && static_cast<size_t>(index) < chips().size(); }
  DeviceIndex deviceCount() const override { return static_cast<DeviceIndex>(chips().size()); }
  const cresset::Generator& getDefaultGenerator(DeviceIndex index) const override { return default_generator(index < 0 ? current_index() : index); }
  cresset::Generator getNewGenerator(DeviceIndex) const override { return cresset::make_generator(); }
};

}  // namespace

void register_device() {
  cresset::register_privateuse1_backend("opencl");
  cresset::set_allocator(kType, &memory());
  static const Guard& guard = *new const Guard;
  cresset::register_device_guard(kType, &guard);
  cresset::register_private_hooks(new Hooks);
}

}  // namespace opencl
