#pragma once
// How the launchers of a job meet: in rounds over a store, each with the nodes that are there.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "cresset/dist/store/store.h"
#include "cresset/dist/transport/deadline.h"

namespace cresset::distributed {

// The job has ended, or has been closed, while this node waited.
class CRESSET_API RendezvousClosedError : public DistError {
 public:
  using DistError::DistError;
};

struct CRESSET_API RendezvousOptions {
  std::string run_id = "none";
  int min_nodes = 1, max_nodes = 1;
  std::chrono::milliseconds join_timeout = std::chrono::minutes(10);
  std::chrono::milliseconds last_call = std::chrono::seconds(30);  // how long a round waits for more nodes once there are enough
  std::chrono::milliseconds beat = std::chrono::seconds(5);        // how often a node says that it lives
  int missed_beats = 3;
};

struct CRESSET_API Round {
  int rank = 0, size = 1;
  intrusive_ptr<Store> store;  // its keys are this round's alone
};

// Nodes that want into a round count themselves and beat. When the largest number has come, or the least and the last call is over, one of them writes the
// list of those whose hearts beat; their places in it are their ranks. A node that comes later waits for the next round, which the nodes of this one begin
// when they see it.
class CRESSET_API Rendezvous {
 public:
  // `connect` gives the store, and after it was lost its successor. Errors: ValueError for numbers of nodes that do not fit.
  Rendezvous(std::function<intrusive_ptr<Store>()> connect, RendezvousOptions options);
  ~Rendezvous();

  // The next round, in which this node has a place; `stop` ends the wait. Errors: DistStoreError where not enough nodes come in time,
  // RendezvousClosedError, those of `connect`.
  Round next(const std::function<bool()>& stop = {});
  // How many nodes wait for the next round: new ones, where this round has room for more, and nodes of this round that begin again. Where the store is lost, its successor
  // is asked; 0 where there is none yet.
  int64_t waiting();
  // How many nodes of this round begin again. Errors: DistNetworkError.
  int64_t beginning_again();
  // Whether a node has closed the job, after a failure for which no restart is left; false where the store is out of reach.
  bool closed();
  void close();

 private:
  const std::function<intrusive_ptr<Store>()> connect_;
  const RendezvousOptions options_;
  intrusive_ptr<Store> base_, store_;
  int64_t round_ = -1;
  int size_ = 0;
  bool took_part_ = false;

  std::thread heart_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_beating_ = false;

  void attach();
  std::string key(const std::string& name) const { return std::to_string(round_) + "/" + name; }
  Round next_over_this_store(Deadline end, const std::function<bool()>& stop);
  std::vector<int64_t> wait_for_final(Deadline end, const std::function<bool()>& stop);
  void start_beating(int64_t number);
  void stop_beating();
};

}  // namespace cresset::distributed
