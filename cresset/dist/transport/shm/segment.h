#pragma once
// Inside the room: memory that all ranks of a group on one host map. It has no name: it goes with the last process that maps it.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cresset/dist/store/store.h"
#include "cresset/dist/transport/engine.h"

namespace cresset::distributed::shm {

enum class Status : uint32_t { Absent, Here, Failed, Left };

struct alignas(128) RankState {
  std::atomic<uint64_t> round{0};  // what it has published
  std::atomic<uint32_t> status{0};
  std::atomic<int32_t> process{0};
  alignas(64) std::atomic<uint32_t> bell{0};  // rung when something has come to it, or room has
  std::atomic<uint32_t> listening{0};
  char reason[192];
};

// The call that a rank makes, in front of its half of the slot.
struct alignas(64) RoundHead {
  uint16_t what, dtype, reduction;
  int16_t root;
  uint32_t rounds;
  uint64_t call, bytes, memory;
};

struct alignas(128) Ring {
  std::atomic<uint64_t> written{0};
  alignas(64) std::atomic<uint64_t> read{0};
};

// Memory of all ranks, in equal parts.
class Mapping {
 public:
  // A new one, or that of another process at "/proc/…"; null where it cannot be mapped.
  static std::shared_ptr<Mapping> make(size_t bytes);
  static std::shared_ptr<Mapping> open(const std::string& path, size_t bytes, uint64_t mark);
  ~Mapping();
  Mapping(const Mapping&) = delete;

  char* data() const { return base_; }
  // Where another process opens it, until it is closed, and by what it knows it.
  std::string path() const;
  uint64_t mark() const { return mark_; }
  void close();

 private:
  Mapping() = default;
  bool map(int fd, size_t bytes);
  char* base_ = nullptr;
  size_t bytes_ = 0;
  uint64_t mark_ = 0;
  int fd_ = -1;
};

class Segment {
 public:
  // Null where the ranks are not on one host, or cannot map one memory. Errors: ranks that do not come before the deadline.
  static std::unique_ptr<Segment> join(Store& store, int rank, int size, Deadline deadline);
  ~Segment();
  Segment(const Segment&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  size_t half_bytes() const { return half_; }
  size_t ring_bytes() const { return ring_; }

  RankState& state(int rank) { return *at<RankState>(states_ + static_cast<size_t>(rank) * sizeof(RankState)); }
  RoundHead& head(int rank, uint64_t round) { return *at<RoundHead>(head_offset(rank, round)); }
  // How many bytes a rank has for each other in this call; behind its head.
  uint64_t* sizes(int rank, uint64_t round) { return at<uint64_t>(head_offset(rank, round) + sizeof(RoundHead)); }
  char* half(int rank, uint64_t round) { return at<char>(slots_ + (2 * static_cast<size_t>(rank) + round % 2) * half_); }
  Ring& ring(int from, int to) { return *at<Ring>(ring_offset(from, to)); }
  char* ring_data(int from, int to) { return at<char>(ring_offset(from, to) + sizeof(Ring)); }

  void publish(uint64_t round);
  // Waits until all ranks have published the round. Errors: a rank is gone, or the deadline has passed; `what` says during what.
  void wait_for_all(uint64_t round, Deadline deadline, const std::string& what);
  void ring_bell(int rank);
  // Sleeps until the bell rings after it stood at `seen`, or some milliseconds have passed.
  void listen(uint32_t seen, Deadline deadline);
  // Says why this rank takes no part any more, and wakes all who wait.
  void retire(Status status, const std::string& reason);
  // Why a rank takes no part any more; empty for one that does.
  std::string gone(int rank);

 private:
  Segment(int rank, int size);
  template <class T> T* at(size_t offset) { return reinterpret_cast<T*>(base_ + offset); }
  size_t head_offset(int rank, uint64_t round) const { return heads_ + (2 * static_cast<size_t>(rank) + round % 2) * head_bytes_; }
  size_t ring_offset(int from, int to) const {
    return rings_ + (static_cast<size_t>(from) * static_cast<size_t>(size_) + static_cast<size_t>(to)) * (sizeof(Ring) + ring_);
  }
  bool map(int fd);
  void watch_processes();
  std::atomic<uint32_t>& epoch() { return *at<std::atomic<uint32_t>>(0); }
  std::atomic<uint32_t>& sleepers() { return *at<std::atomic<uint32_t>>(64); }
  std::atomic<uint64_t>& mark() { return *at<std::atomic<uint64_t>>(128); }

  const int rank_, size_;
  size_t half_, ring_, head_bytes_, states_, heads_, slots_, rings_, total_;
  char* base_ = nullptr;
  std::vector<int> processes_;  // pidfds
  int spins_;
};

}  // namespace cresset::distributed::shm
