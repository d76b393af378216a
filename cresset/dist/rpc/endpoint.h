#pragma once
// A worker's connections together with what it owns for references: the part that workers of C++ and of Python share.

#include "cresset/dist/rpc/agent.h"
#include "cresset/dist/rpc/references.h"

namespace cresset::distributed::rpc {

class CRESSET_API Endpoint : public std::enable_shared_from_this<Endpoint> {
 public:
  // Requests about references are answered here, all others go to `serve`.
  static std::shared_ptr<Endpoint> open(intrusive_ptr<Store> store, const std::string& name, int rank, int size, Agent::Serve serve);

  Agent& agent() const { return *agent_; }
  References& references() { return references_; }
  int own_id() const { return agent_->info().id_; }
  ReferenceId new_id() { return {own_id(), next_++}; }
  size_t reference_count() const { return references_.size(); }

  // One more reference at the owner, which counts as this worker's until it has come where it is sent. Errors: the owner is gone or late.
  void share(int owner, ReferenceId id, Agent::Time timeout);
  // A reference that `from` has sent is here.
  void adopt(int owner, ReferenceId id, int64_t from);
  // A reference of this worker is gone.
  void release(int owner, ReferenceId id);

 private:
  bool serve_reference(uint64_t ticket, const std::string& request);
  void tell(int owner, const std::string& request);

  intrusive_ptr<Agent> agent_;
  References references_;
  std::atomic<int64_t> next_{1};
};

}  // namespace cresset::distributed::rpc
