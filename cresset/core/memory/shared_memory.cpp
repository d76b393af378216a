#include "cresset/core/memory/shared_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <random>

#include "cresset/base/error.h"

namespace cresset {

namespace {

// Named memory begins with the count of its uses, on a page of its own.
constexpr size_t kHeader = 4096;
using Uses = std::atomic<int64_t>;
static_assert(Uses::is_always_lock_free, "processes count together");

std::string fresh_name() {
  static std::atomic<uint64_t> last{0};
  return "/cresset_" + std::to_string(getpid()) + "_" + std::to_string(std::random_device()()) + "_" + std::to_string(last.fetch_add(1));
}

// Removes named memory whose maker has ended and that no process has open, which the kernel knows by a lock: processes that were killed have counted
// themselves and never left.
void reap() {
  DIR* const folder = opendir("/dev/shm");
  if (!folder) return;
  while (const dirent* entry = readdir(folder)) {
    int maker = 0;
    if (std::sscanf(entry->d_name, "cresset_%d_", &maker) != 1 || maker <= 0 || kill(maker, 0) == 0 || errno != ESRCH) continue;
    const std::string path = std::string("/") + entry->d_name;
    const int fd = shm_open(path.c_str(), O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) shm_unlink(path.c_str());
    close(fd);
  }
  closedir(folder);
}

int checked_fd(int fd, const char* what, const std::string& name) {
  CRESSET_CHECK(fd >= 0, "shared memory: cannot ", what, " ", name, ": ", std::strerror(errno));
  return fd;
}

}  // namespace

SharedMemory::SharedMemory(int fd, size_t nbytes, std::string name)
    : fd_(fd), nbytes_(nbytes), mapped_(std::max<size_t>(nbytes, 1) + (name.empty() ? 0 : kHeader)), name_(std::move(name)) {
  base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (base_ == MAP_FAILED) {
    const std::string reason = std::strerror(errno);
    close(fd_);
    CRESSET_CHECK(false, "shared memory: cannot map ", nbytes, " bytes: ", reason);
  }
  data_ = name_.empty() ? base_ : static_cast<char*>(base_) + kHeader;
  if (!name_.empty()) flock(fd_, LOCK_SH);  // ends with this process, however that ends
}

SharedMemory::~SharedMemory() {
  if (!name_.empty() && static_cast<Uses*>(base_)->fetch_sub(1) == 1) shm_unlink(name_.c_str());
  munmap(base_, mapped_);
  close(fd_);
}

intrusive_ptr<SharedMemory> SharedMemory::create(size_t nbytes, const std::string& name) {
  const std::string path = name.empty() ? fresh_name() : name;
  const int fd = checked_fd(shm_open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), "make", path);
  if (name.empty()) shm_unlink(path.c_str());
  const size_t size = std::max<size_t>(nbytes, 1) + (name.empty() ? 0 : kHeader);
  if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(size))) {
    close(fd);
    if (!name.empty()) shm_unlink(path.c_str());
    CRESSET_CHECK(false, "shared memory: no room for ", nbytes, " bytes: ", std::strerror(error));
  }
  auto made = intrusive_ptr<SharedMemory>::unsafe_steal_from_new(new SharedMemory(fd, nbytes, name));
  if (!name.empty()) new (made->base_) Uses(1);
  return made;
}

intrusive_ptr<SharedMemory> SharedMemory::open(int fd, size_t nbytes) {
  struct stat facts;
  const bool fits = fstat(fd, &facts) == 0 && static_cast<size_t>(facts.st_size) >= nbytes;
  if (!fits) close(fd);
  CRESSET_CHECK(fits, "shared memory: the descriptor does not stand for ", nbytes, " bytes");
  return intrusive_ptr<SharedMemory>::unsafe_steal_from_new(new SharedMemory(fd, nbytes, {}));
}

intrusive_ptr<SharedMemory> SharedMemory::open(const std::string& name, size_t nbytes) {
  const int fd = checked_fd(shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0600), "open", name);
  struct stat facts;
  const bool fits = fstat(fd, &facts) == 0 && static_cast<size_t>(facts.st_size) >= nbytes + kHeader;
  if (!fits) close(fd);
  CRESSET_CHECK(fits, "shared memory: ", name, " has fewer than ", nbytes, " bytes");
  return intrusive_ptr<SharedMemory>::unsafe_steal_from_new(new SharedMemory(fd, nbytes, name));
}

void SharedMemory::add_use() {
  if (!name_.empty()) static_cast<Uses*>(base_)->fetch_add(1);
}

SharedMemory* shared_memory_of(const StorageImpl& storage) { return dynamic_cast<SharedMemory*>(storage.owner()); }

SharedMemory& share_memory(StorageImpl& storage, bool named) {
  if (SharedMemory* const known = shared_memory_of(storage)) return *known;
  static std::once_flag reaped;
  if (named) std::call_once(reaped, reap);
  const auto memory = SharedMemory::create(storage.nbytes(), named ? fresh_name() : std::string());
  storage.move_to(memory->data(), memory);
  return *memory;
}

}  // namespace cresset
