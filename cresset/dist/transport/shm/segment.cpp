#include "cresset/dist/transport/shm/segment.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

namespace cresset::distributed::shm {

namespace {

constexpr size_t kPage = 4096;
constexpr auto kLook = std::chrono::milliseconds(50);  // how often one who sleeps looks whether the others live
// A pause takes some 40 ns: longer spinning would keep the rank that is waited for from a processor that both share.
constexpr int kSpins = 100, kYields = 200;

size_t rounded(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

void futex_wait(std::atomic<uint32_t>& word, uint32_t seen, std::chrono::nanoseconds time) {
  if (time.count() <= 0) return;
  const timespec limit{static_cast<time_t>(time.count() / 1000000000), static_cast<long>(time.count() % 1000000000)};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, seen, &limit, nullptr, 0);
}
void futex_wake_all(std::atomic<uint32_t>& word) { syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0); }

void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

std::string link_target(const char* path) {
  char text[256];
  const ssize_t n = readlink(path, text, sizeof text);
  return n > 0 ? std::string(text, static_cast<size_t>(n)) : std::string();
}

// Equal for processes that see each other's numbers and may open each other's files.
std::string host_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return str(boot, " ", link_target("/proc/self/ns/pid"), " ", static_cast<uint64_t>(getuid()));
}

template <class T> void store_set(Store& store, const std::string& key, const T& value) { store.set(key, str(value)); }

}  // namespace

Segment::Segment(int rank, int size) : rank_(rank), size_(size) {
  const auto n = static_cast<size_t>(size);
  // Halves that the caches hold: with 4 MiB, all_reduce of 64 MB moved a quarter less.
  half_ = rounded(std::clamp<size_t>((size_t{8} << 20) / n, size_t{64} << 10, size_t{1} << 20));
  ring_ = n <= 8 ? size_t{256} << 10 : size_t{64} << 10;
  head_bytes_ = (sizeof(RoundHead) + n * sizeof(uint64_t) + 63) / 64 * 64;
  states_ = kPage;
  heads_ = rounded(states_ + n * sizeof(RankState));
  slots_ = rounded(heads_ + 2 * n * head_bytes_);
  rings_ = slots_ + 2 * n * half_;
  total_ = rounded(rings_ + n * n * (sizeof(Ring) + ring_));
  spins_ = std::thread::hardware_concurrency() >= n ? kSpins : 0;
}

bool Mapping::map(int fd, size_t bytes) {
  void* const memory = mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return false;
  base_ = static_cast<char*>(memory);
  bytes_ = bytes;
  return true;
}
// The mark stands behind the data.
std::shared_ptr<Mapping> Mapping::make(size_t bytes) {
  std::shared_ptr<Mapping> made(new Mapping);
  bytes = rounded(bytes);
  made->fd_ = memfd_create("cresset-row", MFD_CLOEXEC);
  if (made->fd_ < 0 || ftruncate(made->fd_, static_cast<off_t>(bytes + kPage)) != 0 || !made->map(made->fd_, bytes)) return nullptr;
  if (getrandom(&made->mark_, sizeof made->mark_, 0) != sizeof made->mark_) return nullptr;
  std::memcpy(made->base_ + bytes, &made->mark_, sizeof made->mark_);
  return made;
}
std::shared_ptr<Mapping> Mapping::open(const std::string& path, size_t bytes, uint64_t mark) {
  std::shared_ptr<Mapping> made(new Mapping);
  bytes = rounded(bytes);
  made->fd_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat s {};
  const bool fits = made->fd_ >= 0 && fstat(made->fd_, &s) == 0 && static_cast<size_t>(s.st_size) == bytes + kPage && made->map(made->fd_, bytes);
  made->close();
  if (!fits) return nullptr;
  std::memcpy(&made->mark_, made->base_ + bytes, sizeof made->mark_);
  return made->mark_ == mark ? made : nullptr;
}
Mapping::~Mapping() {
  close();
  if (base_) munmap(base_, bytes_ + kPage);
}
std::string Mapping::path() const { return str("/proc/", getpid(), "/fd/", fd_); }
void Mapping::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool Segment::map(int fd) {
  void* memory = mmap(nullptr, total_, PROT_READ | PROT_WRITE, fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return false;
  base_ = static_cast<char*>(memory);
  return true;
}

std::unique_ptr<Segment> Segment::join(Store& store, int rank, int size, Deadline deadline) {
  std::unique_ptr<Segment> segment(new Segment(rank, size));
  auto here = [&] {
    segment->state(rank).process = getpid();
    segment->state(rank).status = static_cast<uint32_t>(Status::Here);
  };
  if (size == 1) {
    CRESSET_CHECK_AS(DistBackendError, segment->map(-1), "dist: no memory: ", std::strerror(errno));
    here();
    return segment;
  }
  const auto wait = [&](const std::string& key) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    store.wait({key}, std::max(left, std::chrono::milliseconds(1)));
    return store.get_to_str(key);
  };
  const std::string host = host_identity();
  if (rank > 0) {
    store.set(str("host ", rank), host);
    const std::string address = wait("memory");
    if (address == "none") return nullptr;
    const size_t space = address.find(' ');
    const int fd = open(address.substr(0, space).c_str(), O_RDWR | O_CLOEXEC);
    struct stat s {};
    bool mapped = fd >= 0 && fstat(fd, &s) == 0 && static_cast<size_t>(s.st_size) == segment->total_ && segment->map(fd);
    if (fd >= 0) close(fd);
    mapped = mapped && std::to_string(segment->mark().load()) == address.substr(space + 1);
    if (mapped) segment->state(rank).process = getpid();
    store_set(store, str("mapped ", rank), mapped ? 1 : 0);
    if (wait("engine") != "memory") return nullptr;
    here();
    segment->watch_processes();
    return segment;
  }
  bool together = true;
  for (int r = 1; r < size; r++) together = wait(str("host ", r)) == host && together;
  const int fd = together ? memfd_create("cresset-group", MFD_CLOEXEC) : -1;
  together = fd >= 0 && ftruncate(fd, static_cast<off_t>(segment->total_)) == 0 && segment->map(fd);
  if (together) {
    uint64_t mark = 0;
    [[maybe_unused]] const ssize_t got = getrandom(&mark, sizeof mark, 0);
    segment->mark() = mark;
    here();
    store.set("memory", str("/proc/", getpid(), "/fd/", fd, " ", mark));
    for (int r = 1; r < size; r++) together = wait(str("mapped ", r)) == "1" && together;
  } else {
    store.set("memory", std::string("none"));
  }
  if (fd >= 0) close(fd);
  store.set("engine", std::string(together ? "memory" : "network"));
  if (!together) return nullptr;
  segment->watch_processes();
  // The store may go with this rank: the others no longer ask it from here on.
  for (int r = 1; r < size; r++) {
    while (segment->state(r).status == static_cast<uint32_t>(Status::Absent)) {
      const std::string why = segment->gone(r);
      CRESSET_CHECK_AS(DistBackendError, why.empty() && std::chrono::steady_clock::now() < deadline,
                       "dist: the start of the group: ", why.empty() ? str("the time is up while waiting for rank ", r) : why);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  return segment;
}

Segment::~Segment() {
  if (base_) {
    if (state(rank_).status == static_cast<uint32_t>(Status::Here)) retire(Status::Left, "");
    munmap(base_, total_);
  }
  for (const int fd : processes_)
    if (fd >= 0) close(fd);
}

void Segment::watch_processes() {
  for (int r = 0; r < size_; r++) processes_.push_back(r == rank_ ? -1 : static_cast<int>(syscall(SYS_pidfd_open, state(r).process.load(), 0)));
}

std::string Segment::gone(int rank) {
  RankState& s = state(rank);
  const auto status = static_cast<Status>(s.status.load(std::memory_order_acquire));
  if (status == Status::Left) return str("rank ", rank, " has left the group");
  if (status == Status::Failed) return str("rank ", rank, " has given up: ", std::string(s.reason, strnlen(s.reason, sizeof s.reason)));
  pollfd p{processes_.empty() ? -1 : processes_[static_cast<size_t>(rank)], POLLIN, 0};
  if (p.fd >= 0 && poll(&p, 1, 0) > 0) return str("rank ", rank, " (process ", s.process.load(), ") has ended");
  return {};
}

void Segment::retire(Status status, const std::string& reason) {
  RankState& own = state(rank_);
  std::strncpy(own.reason, reason.c_str(), sizeof own.reason - 1);
  own.status.store(static_cast<uint32_t>(status), std::memory_order_release);
  epoch().fetch_add(1);
  futex_wake_all(epoch());
  for (int r = 0; r < size_; r++) ring_bell(r);
}

void Segment::publish(uint64_t round) {
  state(rank_).round.store(round, std::memory_order_release);
  epoch().fetch_add(1, std::memory_order_seq_cst);
  if (sleepers().load(std::memory_order_seq_cst)) futex_wake_all(epoch());
}

void Segment::wait_for_all(uint64_t round, Deadline deadline, const std::string& what) {
  for (int r = 0; r < size_; r++) {
    std::atomic<uint64_t>& published = state(r).round;
    auto there = [&] { return published.load(std::memory_order_acquire) >= round; };
    for (int i = 0; i < spins_ && !there(); i++) pause_processor();
    for (int i = 0; i < kYields && !there(); i++) sched_yield();
    while (!there()) {
      sleepers().fetch_add(1, std::memory_order_seq_cst);
      const uint32_t seen = epoch().load(std::memory_order_seq_cst);
      const auto now = std::chrono::steady_clock::now();
      if (!there()) futex_wait(epoch(), seen, std::min<std::chrono::nanoseconds>(kLook, deadline - now));
      sleepers().fetch_sub(1, std::memory_order_seq_cst);
      if (there()) break;
      const std::string why = gone(r);
      CRESSET_CHECK_AS(DistBackendError, why.empty() || there(), "dist: ", what, ": ", why);
      CRESSET_CHECK_AS(DistBackendError, std::chrono::steady_clock::now() < deadline || there(), "dist: ", what, ": the time is up while waiting for rank ", r);
    }
  }
}

void Segment::ring_bell(int rank) {
  RankState& s = state(rank);
  s.bell.fetch_add(1, std::memory_order_seq_cst);
  if (s.listening.load(std::memory_order_seq_cst)) futex_wake_all(s.bell);
}

void Segment::listen(uint32_t seen, Deadline deadline) {
  RankState& own = state(rank_);
  own.listening.fetch_add(1, std::memory_order_seq_cst);
  if (own.bell.load(std::memory_order_seq_cst) == seen)
    futex_wait(own.bell, seen, std::min<std::chrono::nanoseconds>(kLook, deadline - std::chrono::steady_clock::now()));
  own.listening.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace cresset::distributed::shm
