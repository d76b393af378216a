#pragma once
// Memory that only its device can touch: tensors hold addresses without any access rights, so that a CPU kernel that reads one by
// mistake ends the process at once. The device's processor uses a second range at a fixed distance.

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "cresset/core/memory/allocator.h"

namespace toy {

class Memory final : public cresset::Allocator {
 public:
  Memory() {
    void* range = mmap(nullptr, 2 * kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CRESSET_CHECK(range != MAP_FAILED, "toy memory: cannot reserve addresses");
    base_ = static_cast<char*>(range);
    CRESSET_CHECK(mprotect(base_ + kSize, kSize, PROT_READ | PROT_WRITE) == 0, "toy memory: cannot map the processor's range");
  }

  void* allocate(size_t nbytes, cresset::Device) override {
    if (nbytes == 0) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    live_++;
    std::vector<char*>& free = free_[rounded(nbytes)];
    if (!free.empty()) {
      char* block = free.back();
      free.pop_back();
      return block;
    }
    CRESSET_CHECK_AS(cresset::OutOfMemoryError, used_ + rounded(nbytes) <= kSize, "toy memory: no room for ", nbytes, " bytes");
    char* block = base_ + used_;
    used_ += rounded(nbytes);
    return block;
  }
  void deallocate(void* data, size_t nbytes, cresset::Device) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    live_--;
    free_[rounded(nbytes)].push_back(static_cast<char*>(data));
  }
  void copy(void* to, const void* from, size_t nbytes, cresset::Device) override {
    std::memcpy(processor_address(to), processor_address(const_cast<void*>(from)), nbytes);
  }

  void* processor_address(void* data) const { return data ? static_cast<char*>(data) + kSize : nullptr; }
  int64_t live() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return live_;
  }

 private:
  static constexpr size_t kSize = size_t{64} << 20;
  static size_t rounded(size_t n) { return (n + 255) / 256 * 256; }
  mutable std::mutex mutex_;
  char* base_ = nullptr;
  size_t used_ = 0;
  int64_t live_ = 0;
  std::map<size_t, std::vector<char*>> free_;
};

}  // namespace toy
