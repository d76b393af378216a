#pragma once
// Inside the room: messages from one rank to another through rings in shared memory, matched by sender and tag in the order of their sending.

#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

#include "cresset/dist/transport/shm/segment.h"

namespace cresset::distributed::shm {

// A thread that waits for one message moves all; the mailbox has a thread of its own for messages that no thread waits for.
class Mailbox {
 public:
  explicit Mailbox(Segment& segment);
  ~Mailbox();

  std::shared_ptr<Transfer> send(int to, uint64_t tag, ConstPiece data, std::shared_ptr<const void> keep);
  std::shared_ptr<Transfer> receive(int from, uint64_t tag, Piece data, std::shared_ptr<const void> keep);
  void abort(const std::string& reason);

 private:
  struct Head {
    uint64_t tag, bytes;
  };
  struct Operation;
  struct Incoming {  // the message that is being read from a rank
    bool open = false;
    Head head{};
    size_t got = 0;
    std::shared_ptr<Operation> to;  // who asked for it; else it goes to `bytes`
    std::vector<char> bytes;
  };
  struct Kept {
    int from;
    uint64_t tag;
    std::vector<char> bytes;
  };

  void advance();
  bool push(int to);
  bool pull(int from);
  std::shared_ptr<Operation> asked_for(int from, const Head& head);
  void begin(int from, Incoming& in);
  void finish(int from, Incoming& in);
  void fail_lost();
  bool idle() const;
  void start_thread();
  void work();
  void wait(Operation& o, Deadline deadline);
  void withdraw(Operation& o);
  void copy_in(int to, const void* data, size_t bytes);
  size_t room(int to);
  size_t filled(int from);
  void copy_out(int from, void* data, size_t bytes);

  Segment& segment_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<std::shared_ptr<Operation>>> sending_;
  std::list<std::shared_ptr<Operation>> posted_;
  std::vector<Incoming> incoming_;
  std::list<Kept> kept_;
  std::string aborted_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace cresset::distributed::shm
