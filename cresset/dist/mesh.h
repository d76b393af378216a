#pragma once
// Inside the room: the connections of a group, one pair of ranks at a time.

#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cresset/base/dtype.h"
#include "cresset/dist/socket.h"
#include "cresset/dist/store.h"

namespace cresset::distributed {

enum class Collective : uint16_t { AllReduce, Reduce, Broadcast, AllGather, Gather, Scatter, ReduceScatter, AllToAll, Barrier };
const char* collective_name(Collective c);

// One socket for collectives and one for messages to every other rank.
struct Peer {
  Socket collectives, messages;
};
std::vector<Peer> connect_peers(Store& store, int rank, int size, Deadline deadline);

// Moves the bytes of collectives. Every part begins with what the sender is doing, which the receiver compares with what it does
// itself.
class Mesh {
 public:
  Mesh(int rank, std::vector<Socket> sockets) : rank_(rank), sockets_(std::move(sockets)) {}
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(sockets_.size()); }

  void begin(Collective what, ScalarType dtype, Deadline deadline);
  // Sends to one rank while receiving from another (or the same); -1 for neither.
  void exchange(int to, const void* out, size_t out_bytes, int from, void* in, size_t in_bytes);
  void send(int to, const void* data, size_t bytes) { exchange(to, data, bytes, -1, nullptr, 0); }
  void receive(int from, void* data, size_t bytes) { exchange(-1, nullptr, 0, from, data, bytes); }

 private:
  struct Head {
    uint32_t sequence;
    uint16_t what;
    uint16_t dtype;
    uint64_t bytes;
  };
  void check(const Head& got, int from) const;

  int rank_;
  std::vector<Socket> sockets_;
  Head current_{};
  Deadline deadline_{};
};

// Messages from one rank to another, matched by sender and tag in the order of their arrival. A thread takes in what comes, so that
// a send never waits for the other side to ask.
class Mailbox {
 public:
  Mailbox(int rank, std::vector<Socket> sockets);
  ~Mailbox();

  struct Receive {
    int from;  // -1: anybody
    int64_t tag;
    void* data;
    size_t bytes;
    bool done = false;
    int source = -1;
    std::string error;
  };
  void send(int to, int64_t tag, const void* data, size_t bytes, Deadline deadline);
  std::shared_ptr<Receive> post(int from, int64_t tag, void* data, size_t bytes);
  bool done(const Receive& r);
  // False when the deadline has passed; the receive is then withdrawn.
  bool wait(Receive& r, Deadline deadline);

 private:
  struct Message {
    int from;
    int64_t tag;
    std::vector<char> bytes;
  };
  struct Head {
    int64_t tag;
    uint64_t bytes;
  };
  void start();
  void take_in();
  void take_message(int from);
  static void fill(Receive& r, int from, const void* data, size_t bytes);
  static bool matches(const Receive& r, int from, int64_t tag) { return (r.from < 0 || r.from == from) && r.tag == tag; }

  int rank_;
  std::vector<Socket> sockets_;
  std::vector<std::unique_ptr<std::mutex>> sending_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::list<Message> messages_;
  std::list<std::shared_ptr<Receive>> posted_;
  std::vector<std::string> lost_;
  std::thread thread_;
  int wake_[2] = {-1, -1};
};

}  // namespace cresset::distributed
