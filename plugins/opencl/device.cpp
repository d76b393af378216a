#include "device.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace opencl {

namespace {

const char* error_name(cl_int code) {
  switch (code) {
    case CL_DEVICE_NOT_FOUND: return "CL_DEVICE_NOT_FOUND";
    case CL_OUT_OF_RESOURCES: return "CL_OUT_OF_RESOURCES";
    case CL_OUT_OF_HOST_MEMORY: return "CL_OUT_OF_HOST_MEMORY";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case CL_BUILD_PROGRAM_FAILURE: return "CL_BUILD_PROGRAM_FAILURE";
    case CL_INVALID_VALUE: return "CL_INVALID_VALUE";
    case CL_INVALID_ARG_SIZE: return "CL_INVALID_ARG_SIZE";
    case CL_INVALID_KERNEL_ARGS: return "CL_INVALID_KERNEL_ARGS";
    case CL_INVALID_WORK_GROUP_SIZE: return "CL_INVALID_WORK_GROUP_SIZE";
    default: return "an OpenCL error";
  }
}

template <class T> T info(cl_device_id id, cl_device_info what) {
  T value{};
  clGetDeviceInfo(id, what, sizeof value, &value, nullptr);
  return value;
}
std::string text_info(cl_device_id id, cl_device_info what) {
  size_t size = 0;
  clGetDeviceInfo(id, what, 0, nullptr, &size);
  std::string text(size, '\0');
  clGetDeviceInfo(id, what, size, text.data(), nullptr);
  text.resize(std::strlen(text.c_str()));
  return text;
}

struct Found {
  std::vector<Chip> chips;
  std::string reason = "no platform of OpenCL is installed";
};
const Found& found() {
  static const Found& all = *new const Found([] {
    Found f;
    cl_uint platforms = 0;
    if (clGetPlatformIDs(0, nullptr, &platforms) != CL_SUCCESS || !platforms) return f;
    std::vector<cl_platform_id> ids(platforms);
    clGetPlatformIDs(platforms, ids.data(), nullptr);
    f.reason = "no platform has a device";
    for (const cl_platform_id platform : ids) {
      cl_uint count = 0;
      if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
      std::vector<cl_device_id> devices(count);
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
      for (const cl_device_id id : devices) {
        const std::string name = text_info(id, CL_DEVICE_NAME);
        if (!(info<cl_device_svm_capabilities>(id, CL_DEVICE_SVM_CAPABILITIES) & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) {
          f.reason = name + " has no shared virtual memory, which OpenCL 2.0 calls coarse-grained";
          continue;
        }
        cl_int code = CL_SUCCESS;
        const cl_context context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &code);
        if (code != CL_SUCCESS) {
          f.reason = "clCreateContext failed for " + name + " with code " + std::to_string(code);
          continue;
        }
        f.chips.push_back({id, context, name, text_info(id, CL_DEVICE_VERSION), info<cl_device_fp_config>(id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0,
                           static_cast<size_t>(info<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE)), info<size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE)});
      }
    }
    std::stable_partition(f.chips.begin(), f.chips.end(), [](const Chip& c) { return info<cl_device_type>(c.id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU; });
    return f;
  }());
  return all;
}

struct Block {
  void* data;
  size_t size;
  int64_t stream;
};

// All that a device holds at run time.
struct State {
  std::mutex mutex;
  std::vector<cl_command_queue> queues;
  std::multimap<std::pair<int64_t, size_t>, void*> idle;
  std::unordered_map<void*, Block> used;
  MemoryCounts counts;

  std::mutex kernels_mutex;
  std::unordered_map<std::string, std::map<std::string, cl_kernel>> kernels;  // of each source, by name
  std::unordered_map<std::string, std::string> failures;
  std::mutex launch;  // a kernel's arguments belong to the kernel
};
State& state(DeviceIndex index) {
  static State* const all = new State[std::max<size_t>(chips().size(), 1)];
  chip(index);
  return all[index];
}

thread_local DeviceIndex t_index = 0;
thread_local std::map<DeviceIndex, int64_t> t_streams;
std::atomic<int64_t> g_compiled{0};

cl_command_queue make_queue(const Chip& c) {
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  cl_int code = CL_SUCCESS;
  const cl_command_queue q = clCreateCommandQueueWithProperties(c.context, c.id, properties, &code);
  check(code, "clCreateCommandQueueWithProperties");
  return q;
}

size_t rounded(size_t nbytes) {
  if (nbytes <= 512) return 512;
  size_t size = 512;
  while (size < nbytes && size < (size_t{1} << 20)) size *= 2;
  return size >= nbytes ? size : (nbytes + (size_t{1} << 20) - 1) >> 20 << 20;
}

void release_idle(const Chip& c, State& s) {
  for (const cl_command_queue q : s.queues) clFinish(q);
  for (const auto& [key, data] : s.idle) {
    clSVMFree(c.context, data);
    s.counts.reserved -= static_cast<int64_t>(key.second);
  }
  s.idle.clear();
}

std::string build_log(cl_program program, const Chip& c) {
  size_t size = 0;
  clGetProgramBuildInfo(program, c.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  clGetProgramBuildInfo(program, c.id, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  log.resize(std::min<size_t>(std::strlen(log.c_str()), 2000));
  return log;
}

// The compiled kernels of a source, or null with the compiler's log.
const std::map<std::string, cl_kernel>* kernels_of(DeviceIndex index, const std::string& source, std::string& log) {
  State& s = state(index);
  const std::lock_guard lock(s.kernels_mutex);
  if (const auto at = s.kernels.find(source); at != s.kernels.end()) return &at->second;
  if (const auto at = s.failures.find(source); at != s.failures.end()) return log = at->second, nullptr;
  const Chip& c = chip(index);
  const char* text = source.c_str();
  cl_int code = CL_SUCCESS;
  const cl_program program = clCreateProgramWithSource(c.context, 1, &text, nullptr, &code);
  check(code, "clCreateProgramWithSource");
  code = clBuildProgram(program, 1, &c.id, "-w", nullptr, nullptr);
  cl_uint count = 0;
  if (code == CL_SUCCESS) code = clCreateKernelsInProgram(program, 0, nullptr, &count);
  std::vector<cl_kernel> kernels(count);
  if (code == CL_SUCCESS) code = clCreateKernelsInProgram(program, count, kernels.data(), nullptr);
  if (code != CL_SUCCESS) {
    log = s.failures[source] = build_log(program, c);
    clReleaseProgram(program);
    return nullptr;
  }
  g_compiled++;
  auto& named = s.kernels[source];
  for (const cl_kernel k : kernels) {
    char name[64] = "";
    clGetKernelInfo(k, CL_KERNEL_FUNCTION_NAME, sizeof name, name, nullptr);
    named[name] = k;
  }
  return &named;
}

}  // namespace

void check(cl_int code, const char* asked) {
  if (code == CL_SUCCESS) return;
  CRESSET_CHECK(false, "opencl: ", asked, " failed with ", error_name(code), " (", code, ")");
}

const std::vector<Chip>& chips() { return found().chips; }
const std::string& reason_without_chips() { return found().reason; }
const Chip& chip(DeviceIndex index) {
  CRESSET_CHECK(!chips().empty(), "opencl: there is no device to compute on: ", reason_without_chips());
  CRESSET_CHECK(index >= 0 && static_cast<size_t>(index) < chips().size(), "opencl: there is no device ", static_cast<int>(index), ", they are numbered 0 to ",
                chips().size() - 1);
  return chips()[static_cast<size_t>(index)];
}

DeviceIndex current_index() { return t_index; }
void set_current_index(DeviceIndex index) { t_index = index; }

int64_t current_stream(DeviceIndex index) {
  const auto at = t_streams.find(index);
  return at == t_streams.end() ? 0 : at->second;
}
int64_t exchange_stream(DeviceIndex index, int64_t stream) {
  const int64_t before = current_stream(index);
  t_streams[index] = stream;
  return before;
}
int64_t new_stream(DeviceIndex index) {
  queue(index, 0);
  State& s = state(index);
  const std::lock_guard lock(s.mutex);
  s.queues.push_back(make_queue(chip(index)));
  return static_cast<int64_t>(s.queues.size()) - 1;
}
cl_command_queue queue(DeviceIndex index, int64_t stream) {
  State& s = state(index);
  const std::lock_guard lock(s.mutex);
  if (s.queues.empty()) s.queues.push_back(make_queue(chip(index)));
  CRESSET_CHECK(stream >= 0 && static_cast<size_t>(stream) < s.queues.size(), "opencl: device ", static_cast<int>(index), " has no stream ", stream);
  return s.queues[static_cast<size_t>(stream)];
}
void synchronize(DeviceIndex index) {
  State& s = state(index);
  std::vector<cl_command_queue> queues;
  {
    const std::lock_guard lock(s.mutex);
    queues = s.queues;
  }
  for (const cl_command_queue q : queues) check(clFinish(q), "clFinish");
}

Memory& memory() {
  static Memory& m = *new Memory;
  return m;
}

void* Memory::allocate(size_t nbytes, cresset::Device device) {
  if (nbytes == 0) return nullptr;
  const DeviceIndex index = device.has_index() ? device.index() : current_index();
  const Chip& c = chip(index);
  State& s = state(index);
  const size_t size = rounded(nbytes);
  const int64_t stream = current_stream(index);
  const std::lock_guard lock(s.mutex);
  void* data = nullptr;
  if (const auto at = s.idle.find({stream, size}); at != s.idle.end()) {
    data = at->second;
    s.idle.erase(at);
  } else {
    data = clSVMAlloc(c.context, CL_MEM_READ_WRITE, size, 0);
    if (!data) {
      release_idle(c, s);
      data = clSVMAlloc(c.context, CL_MEM_READ_WRITE, size, 0);
    }
    CRESSET_CHECK(data, "opencl: out of memory: device ", static_cast<int>(index), " could not give ", size, " bytes, ", s.counts.allocated, " are in use");
    s.counts.reserved += static_cast<int64_t>(size);
  }
  s.used[data] = {data, size, stream};
  s.counts.allocated += static_cast<int64_t>(size);
  s.counts.peak = std::max(s.counts.peak, s.counts.allocated);
  return data;
}
void Memory::deallocate(void* data, size_t, cresset::Device device) {
  if (!data) return;
  State& s = state(device.has_index() ? device.index() : 0);
  const std::lock_guard lock(s.mutex);
  const auto at = s.used.find(data);
  if (at == s.used.end()) return;
  const Block block = at->second;
  s.used.erase(at);
  // Work of other queues may still use the block.
  for (size_t q = 0; s.queues.size() > 1 && q < s.queues.size(); q++)
    if (static_cast<int64_t>(q) != block.stream) clFinish(s.queues[q]);
  s.idle.emplace(std::make_pair(block.stream, block.size), data);
  s.counts.allocated -= static_cast<int64_t>(block.size);
}
void Memory::copy(void* to, const void* from, size_t nbytes, cresset::Device device) {
  copy_bytes(to, from, nbytes, device.has_index() ? device.index() : current_index(), false);
}
MemoryCounts memory_counts(DeviceIndex index) {
  State& s = state(index);
  const std::lock_guard lock(s.mutex);
  return s.counts;
}
void reset_peak(DeviceIndex index) {
  State& s = state(index);
  const std::lock_guard lock(s.mutex);
  s.counts.peak = s.counts.allocated;
}
void empty_cache() {
  for (size_t i = 0; i < chips().size(); i++) {
    State& s = state(static_cast<DeviceIndex>(i));
    const std::lock_guard lock(s.mutex);
    release_idle(chips()[i], s);
  }
}

void copy_bytes(void* to, const void* from, size_t nbytes, DeviceIndex index, bool blocking) {
  if (nbytes == 0) return;
  check(clEnqueueSVMMemcpy(queue(index), blocking ? CL_TRUE : CL_FALSE, to, from, nbytes, 0, nullptr, nullptr), "clEnqueueSVMMemcpy");
}

bool compiles(DeviceIndex index, const std::string& source) {
  std::string log;
  return kernels_of(index, source, log) != nullptr;
}
int64_t compiled_kernels() { return g_compiled; }

Launch::Launch(DeviceIndex index, const std::string& source, const char* name) : index_(index) {
  std::string log;
  const auto* const kernels = kernels_of(index, source, log);
  CRESSET_CHECK(kernels, "opencl: a kernel does not compile on ", chip(index).name, ":\n", log);
  kernel_ = kernels->at(name);
  state(index).launch.lock();
}
Launch::~Launch() { state(index_).launch.unlock(); }
Launch& Launch::pointer(const void* data) {
  check(clSetKernelArgSVMPointer(kernel_, next_++, data), "clSetKernelArgSVMPointer");
  return *this;
}
Launch& Launch::bytes(const void* data, size_t size) {
  check(clSetKernelArg(kernel_, next_++, size, data), "clSetKernelArg");
  return *this;
}
void Launch::run(size_t count, size_t group) {
  if (count == 0) return;
  if (group == 0 && count >= 64) {
    // A size that divides well: the count is rounded up, and kernels look at their number.
    group = 64;
    count = (count + group - 1) / group * group;
  }
  check(clEnqueueNDRangeKernel(queue(index_), kernel_, 1, nullptr, &count, group ? &group : nullptr, 0, nullptr, nullptr), "clEnqueueNDRangeKernel");
}

}  // namespace opencl
