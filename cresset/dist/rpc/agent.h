#pragma once
// Requests between workers and their answers, as bytes. A worker listens at its address and lets in those that know the job's secret. One thread reads
// all connections; requests and answers are handled by threads that are made as they are needed, so that a request may wait for others.

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "cresset/dist/store/store.h"

namespace cresset::distributed::rpc {

struct CRESSET_API WorkerInfo {
  std::string name_;
  int id_ = -1;
  bool operator==(const WorkerInfo& o) const { return id_ == o.id_ && name_ == o.name_; }
};

class CRESSET_API Agent : public RefCounted {
 public:
  using Time = std::chrono::milliseconds;
  // A request, which `reply(ticket, answer)` answers, now or later.
  using Serve = std::function<void(uint64_t ticket, std::string request)>;
  // The answer, or why there is none.
  using Done = std::function<void(std::string answer, std::exception_ptr error)>;
  // A worker has closed its connection, or its process has ended.
  using Gone = std::function<void(int worker)>;

  // Blocks until all workers have given their addresses to the store. Errors: RuntimeError where two have one name; those of the store.
  Agent(intrusive_ptr<Store> store, const std::string& name, int rank, int size, Serve serve, Gone gone);
  ~Agent() override;

  const WorkerInfo& info() const;
  const std::vector<WorkerInfo>& workers() const;
  // Errors: Error for a name or number that no worker has.
  const WorkerInfo& worker(const std::string& name) const;
  const WorkerInfo& worker(int64_t id) const;

  // No time: it may take as long as it wants. Errors: DistError where the worker cannot be reached, or this one has shut down.
  void ask(int to, const std::string& request, Time timeout, Done done);
  // A ticket is used once; one whose worker is gone is of no effect.
  void reply(uint64_t ticket, const std::string& answer);
  // False where requests of this worker are still open when the time is up; no time: for ever.
  bool wait_idle(Time timeout);
  // Blocks until all workers have come to the point of this name.
  void meet(const std::string& point, Time timeout);
  // Takes no requests any more; those that are open fail.
  void close();

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace cresset::distributed::rpc
