#pragma once
// Memory that several processes map: how storages go to other processes without a copy.

#include <string>

#include "cresset/core/memory/storage.h"

namespace cresset {

class CRESSET_API SharedMemory final : public RefCounted {
 public:
  // Fresh memory, zeros, that other processes reach by its descriptor alone, or, with a name such as "/weights", by that too: then it has a
  // file that goes with the last process that maps it. Errors: what the operating system refuses, a name that is taken.
  static intrusive_ptr<SharedMemory> create(size_t nbytes, const std::string& name = {});
  // The memory behind a descriptor, which is taken over, or behind a name, one use of which is taken over (`add_use`).
  static intrusive_ptr<SharedMemory> open(int fd, size_t nbytes);
  static intrusive_ptr<SharedMemory> open(const std::string& name, size_t nbytes);
  ~SharedMemory() override;

  void* data() const { return data_; }
  size_t nbytes() const { return nbytes_; }
  int fd() const { return fd_; }
  // Empty where there is only a descriptor.
  const std::string& name() const { return name_; }
  // Counts one use more of named memory: for a process that is about to open it.
  void add_use();

 private:
  SharedMemory(int fd, size_t nbytes, std::string name);

  int fd_;
  size_t nbytes_, mapped_;
  std::string name_;
  void *base_ = nullptr, *data_ = nullptr;
};

// Moves the memory of a storage to where other processes can map it, unless it is there; with `named` under a name that is its own.
// Errors: as SharedMemory::create and StorageImpl::move_to.
CRESSET_API SharedMemory& share_memory(StorageImpl& storage, bool named = false);
// Null where the memory is the process's own.
CRESSET_API SharedMemory* shared_memory_of(const StorageImpl& storage);

}  // namespace cresset
