#pragma once
// OpenCL itself: devices, memory, queues, events and compiled kernels, without operators.

#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>

#include <string>
#include <vector>

#include "cresset/core/device_guard.h"
#include "cresset/core/memory/storage.h"

namespace opencl {

using cresset::DeviceIndex;
constexpr cresset::DeviceType kType = cresset::DeviceType::PrivateUse1;

// Errors: a code other than success, with its name and what was asked.
void check(cl_int code, const char* asked);

struct Chip {
  cl_device_id id;
  cl_context context;
  std::string name, version;
  bool fp64;
  size_t memory, largest_group;
};
// All devices of all platforms that have shared virtual memory, GPUs first. Errors (of `chip`): there is none of this number.
const std::vector<Chip>& chips();
const Chip& chip(DeviceIndex index);
// The last error that hid a platform's devices: for the message that none were found.
const std::string& reason_without_chips();

DeviceIndex current_index();
void set_current_index(DeviceIndex index);
// Queues are in order. Number 0 is each device's default; others are made by new_stream and stay.
int64_t current_stream(DeviceIndex index);
int64_t exchange_stream(DeviceIndex index, int64_t stream);
int64_t new_stream(DeviceIndex index);
cl_command_queue queue(DeviceIndex index, int64_t stream);
inline cl_command_queue queue(DeviceIndex index) { return queue(index, current_stream(index)); }
void synchronize(DeviceIndex index);

// Blocks of shared virtual memory, kept for the stream that they were handed out on.
class Memory final : public cresset::Allocator {
 public:
  void* allocate(size_t nbytes, cresset::Device device) override;
  void deallocate(void* data, size_t nbytes, cresset::Device device) override;
  void copy(void* to, const void* from, size_t nbytes, cresset::Device device) override;
};
Memory& memory();
struct MemoryCounts {
  int64_t allocated = 0, peak = 0, reserved = 0;
};
MemoryCounts memory_counts(DeviceIndex index);
void reset_peak(DeviceIndex index);
// Gives blocks that nothing uses back to OpenCL.
void empty_cache();

// Bytes between the device and the CPU, or within the device. Those that touch the CPU are done when the call returns.
void copy_bytes(void* to, const void* from, size_t nbytes, DeviceIndex index, bool blocking);

// A call of a kernel: its arguments in order, then the run. The source is compiled once for a device.
class Launch {
 public:
  // Errors: a source that does not compile, with the compiler's log.
  Launch(DeviceIndex index, const std::string& source, const char* name = "run");
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  Launch& pointer(const void* data);
  template <class T> Launch& value(const T& v) { return bytes(&v, sizeof v); }
  Launch& bytes(const void* data, size_t size);
  // One item for each of `count`; with `group`, items of a group share local memory and count is a multiple of it.
  void run(size_t count, size_t group = 0);

 private:
  DeviceIndex index_;
  cl_kernel kernel_;
  cl_uint next_ = 0;
};
// Whether the source compiles for the device; asked once for each.
bool compiles(DeviceIndex index, const std::string& source);
int64_t compiled_kernels();

// Registers guard, hooks and allocator under the name "opencl". Called once, when the library is loaded.
void register_device();

}  // namespace opencl
