#pragma once
// An allocator whose blocks are owned by DataPtr, as LibTorch's c10::Allocator gives them: foreign devices written for it use this class.

#include "cresset/core/memory/storage.h"

namespace cresset {

class CRESSET_API DataAllocator : public Allocator {
 public:
  // A block on the device that is current, with the function that frees it.
  virtual DataPtr allocate(size_t nbytes) = 0;
  // The function that frees any block by its address; null: each block has a context of its own.
  virtual DataPtr::Deleter raw_deleter() const { return nullptr; }
  virtual void copy_data(void* to, const void* from, size_t nbytes) const = 0;

  // A block with the same bytes.
  DataPtr clone(const void* data, size_t nbytes);
  // Errors: blocks with contexts of their own, which an address does not tell.
  void* raw_allocate(size_t nbytes);
  void raw_deallocate(void* data);

  // The block becomes one that `deallocate` knows.
  void adopt(DataPtr block);
  void* allocate(size_t nbytes, Device device) final;
  void deallocate(void* data, size_t nbytes, Device device) final;
  void copy(void* to, const void* from, size_t nbytes, Device device) final;

 protected:
  // For memory that the CPU can address.
  void default_copy_data(void* to, const void* from, size_t nbytes) const;
};

// The allocator of a type of devices by this interface, whichever it was written for.
CRESSET_API DataAllocator* data_allocator_of(DeviceType type);

}  // namespace cresset
