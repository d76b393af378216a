#pragma once
// Memory for storages. The CPU one caches: thread-local bins for small blocks, size classes above, huge pages for large ones.

#include <cstddef>
#include <cstdint>

#include "cresset/base/device.h"

namespace cresset {

class DataPtr;

// Where the bytes of one device type come from. Implementations must be safe to call from any thread.
class CRESSET_API Allocator {
 public:
  virtual ~Allocator() = default;
  // At least nbytes bytes, 64-byte aligned on the CPU; nullptr for nbytes == 0. Errors: OutOfMemoryError.
  virtual void* allocate(size_t nbytes, Device device) = 0;
  // nbytes is what was asked of allocate.
  virtual void deallocate(void* data, size_t nbytes, Device device) = 0;
  // Copies bytes within the device; what growing a storage needs. Errors: NotImplementedError where the allocator cannot.
  virtual void copy(void* to, const void* from, size_t nbytes, Device device);
  // Memory of the CPU that gives itself back.
  DataPtr allocate(size_t nbytes);
};

struct AllocatorStats {
  int64_t allocated_bytes = 0;  // handed out and not yet returned
  int64_t peak_allocated_bytes = 0;
  int64_t reserved_bytes = 0;     // handed out or cached
  int64_t num_allocs = 0;         // calls
  int64_t num_system_allocs = 0;  // calls that reached the operating system
};

CRESSET_API Allocator* cpu_allocator();
// The shared library that the allocator comes from stays loaded from then on, since tensors may outlive every other use of it.
CRESSET_API void set_allocator(DeviceType type, Allocator* allocator);
// Errors: no allocator registered for the device type.
CRESSET_API Allocator* get_allocator(DeviceType type);

// Small and large blocks of all threads together; counts of other threads' bins may lag behind.
CRESSET_API AllocatorStats cpu_allocator_stats();
CRESSET_API void reset_cpu_allocator_peak();
// Gives cached blocks back to the operating system.
CRESSET_API void empty_cpu_cache();

// The CPU allocator's entry points, for callers that must not pay for a virtual call.
CRESSET_API void* cpu_allocate(size_t nbytes);
CRESSET_API void cpu_deallocate(void* data, size_t nbytes);

}  // namespace cresset
