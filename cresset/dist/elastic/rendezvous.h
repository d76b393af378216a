#pragma once
// How the launchers of a job meet: in rounds over a store, each with the nodes that are there.

#include <functional>
#include <optional>

#include "cresset/dist/elastic/endpoints.h"
#include "cresset/dist/elastic/heart.h"
#include "cresset/dist/store/etcd_store.h"
#include "cresset/dist/transport/deadline.h"

namespace cresset::distributed {

// The job has ended, or has been closed, while this node waited.
class CRESSET_API RendezvousClosedError : public DistError {
 public:
  using DistError::DistError;
};
// Not enough nodes have come in time.
class CRESSET_API RendezvousTimeoutError : public DistStoreError {
 public:
  using DistStoreError::DistStoreError;
};

struct CRESSET_API RendezvousOptions {
  std::string run_id = "none", launcher = "cresset-run";  // launchers of one name and one job meet
  int min_nodes = 1, max_nodes = 1;
  std::chrono::milliseconds join_timeout = std::chrono::minutes(10), connect_timeout = std::chrono::minutes(10);
  std::chrono::milliseconds last_call = std::chrono::seconds(30);  // how long a round waits for more nodes once there are enough
  std::chrono::milliseconds beat = std::chrono::seconds(5);        // how often a node says that it lives
  int missed_beats = 3;

  // How long a heart may stand still before its node counts as gone.
  std::chrono::milliseconds life() const { return beat * missed_beats; }
};

struct CRESSET_API Round {
  int rank = 0, size = 1;
  intrusive_ptr<Store> store;  // its keys are this round's alone
};

// Gives the store, and after it was lost its successor, within a time. Errors: DistNetworkError.
using RendezvousConnect = std::function<intrusive_ptr<Store>(std::chrono::milliseconds)>;
CRESSET_API RendezvousConnect connect_at(std::shared_ptr<Endpoints> endpoints);
CRESSET_API RendezvousConnect connect_at(EtcdStoreOptions etcd);

// The store of the processes of a round, which the launcher of the first node serves at `host` and keeps as long as they run; the nodes call this together.
// Errors: DistStoreError where the first node has gone, DistBackendError where it cannot serve there.
struct CRESSET_API ProcessStore {
  std::string host;
  uint16_t port = 0;
  intrusive_ptr<TCPStore> served;
};
CRESSET_API ProcessStore process_store(const Round& round, const std::string& host, std::chrono::milliseconds timeout);

// Says in the store of a round where this node is, and that it lives as long as the heart is kept. Errors: those of the store.
CRESSET_API intrusive_ptr<Heart> show_life(const Round& round, std::chrono::milliseconds beat);

struct CRESSET_API EndOptions {
  std::chrono::milliseconds life = std::chrono::seconds(15);    // how long a heart may stand still, or the store be silent
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // how long nodes that live are waited for
  std::function<void(const std::string&)> warn;                 // is told which nodes have not ended
  std::function<bool()> stop;                                   // whether the wait ends now; errors of brief requests to the store may pass through it
};
// Says that the processes of this node have ended well, and blocks until those of all nodes of the round have, or the store is gone with its node. A node
// that has not ended and whose heart has stood still for `life` is named in a warning and no longer waited for; one that has no heart, or has begun again,
// is waited for up to `timeout`. A store that is silent for `life` or fails ends the wait, with a warning. Requests to the store are brief.
// Returns how many nodes were lost so.
CRESSET_API int end_together(const Round& round, const EndOptions& options);

// Nodes that want into a round count themselves and beat. When the largest number has come, or the least and the last call is over, one of them writes the
// list of those whose hearts beat; their places in it are their ranks. A node that comes later waits for the next round, which the nodes of this one begin
// when they see it.
class CRESSET_API Rendezvous {
 public:
  // Errors: ValueError for numbers of nodes that do not fit, those of `connect`.
  Rendezvous(RendezvousConnect connect, RendezvousOptions options);
  ~Rendezvous();

  // The next round, in which this node has a place; `stop` ends the wait. Errors: RendezvousTimeoutError, RendezvousClosedError, ValueError where the store
  // holds something else than a round, those of `connect`.
  Round next(const std::function<bool()>& stop = {});
  // How many nodes wait for the next round: new ones, where this round has room for more, and nodes of this round that begin again; 0 before the
  // first round. A brief request: 0 where the store is late. Where it is lost, or has been silent for as long as its own timeout, its successor is asked; 0
  // where there is none yet.
  int64_t waiting();
  // How many nodes of this round begin again; a brief request. Errors: DistNetworkError.
  int64_t beginning_again();
  // Whether a node has closed the job, after a failure for which no restart is left; false where the store is out of reach; a brief request.
  bool closed();
  // Whether the store has heard it, within the time after which a silent node counts as gone.
  bool close();

 private:
  const RendezvousConnect connect_;
  const RendezvousOptions options_;
  intrusive_ptr<Store> base_, store_, brief_;
  int64_t round_ = -1;
  Round last_;  // without a store where that is lost
  bool took_part_ = false;
  std::optional<Deadline> silent_since_;
  intrusive_ptr<Heart> heart_;

  void attach(std::chrono::milliseconds time);
  std::string key(const std::string& name) const { return std::to_string(round_) + "/" + name; }
  Round next_over_this_store(Deadline end, const std::function<bool()>& stop);
  std::vector<int64_t> wait_for_final(Deadline end, const std::function<bool()>& stop);
};

}  // namespace cresset::distributed
