#pragma once
// Processes that call operations together, with LibTorch's names. Backends derive from ProcessGroup.

#include <string>
#include <vector>

#include "cresset/dist/group/types.h"
#include "cresset/dist/group/work.h"
#include "cresset/dist/store/store.h"

namespace cresset::distributed {

using Tensors = std::vector<Tensor>;
using TensorLists = std::vector<Tensors>;
using WorkPtr = intrusive_ptr<Work>;

// All ranks of a group call the same operations in the same order, with tensors of the same dtype and, where the operation does not say
// otherwise, the same number of elements. Lists of tensors hold one: a rank has one device. A method that a backend does not have raises
// NotImplementedError.
class CRESSET_API ProcessGroup : public RefCounted {
 public:
  ProcessGroup(int rank, int size) : rank_(rank), size_(size) {}

  int getRank() const { return rank_; }
  int getSize() const { return size_; }
  virtual std::string getBackendName() const { return "undefined"; }

  virtual WorkPtr broadcast(Tensors& tensors, const BroadcastOptions& = {});
  virtual WorkPtr allreduce(Tensors& tensors, const AllreduceOptions& = {});
  virtual WorkPtr allreduce_coalesced(Tensors& tensors, const AllreduceCoalescedOptions& = {});
  // A row of zeros for `allreduce_row`, in memory that all ranks map; undefined where the group has none. All ranks call it together.
  virtual Tensor shared_row(int64_t elements, ScalarType dtype);
  // The allreduce of such rows, which all ranks have got from one call: in place, without copies.
  virtual WorkPtr allreduce_row(const Tensor& row, const AllreduceOptions& = {});
  virtual WorkPtr reduce(Tensors& tensors, const ReduceOptions& = {});
  // outputs[0][i] gets the tensor of rank i; shapes may differ from rank to rank.
  virtual WorkPtr allgather(TensorLists& outputs, Tensors& inputs, const AllgatherOptions& = {});
  // The tensors of all ranks one after another.
  virtual WorkPtr _allgather_base(Tensor& output, Tensor& input, const AllgatherOptions& = {});
  // outputs[r][i] gets tensor i of rank r.
  virtual WorkPtr allgather_coalesced(TensorLists& outputs, Tensors& inputs, const AllgatherOptions& = {});
  virtual WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const AllgatherOptions& = {});
  // `outputs` is empty but on the root, as are the inputs of scatter.
  virtual WorkPtr gather(TensorLists& outputs, Tensors& inputs, const GatherOptions& = {});
  virtual WorkPtr scatter(Tensors& outputs, TensorLists& inputs, const ScatterOptions& = {});
  virtual WorkPtr reduce_scatter(Tensors& outputs, TensorLists& inputs, const ReduceScatterOptions& = {});
  virtual WorkPtr _reduce_scatter_base(Tensor& output, Tensor& input, const ReduceScatterOptions& = {});
  virtual WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs, const ReduceScatterOptions& = {});
  // Parts of the tensors along dimension 0; empty sizes: equal parts.
  virtual WorkPtr alltoall_base(Tensor& output, Tensor& input, std::vector<int64_t>& output_sizes, std::vector<int64_t>& input_sizes,
                                const AllToAllOptions& = {});
  virtual WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const AllToAllOptions& = {});
  virtual WorkPtr barrier(const BarrierOptions& = {});
  // Rank 0 names the ranks that do not come in time: the first, or all with `wait_all_ranks`.
  virtual void monitoredBarrier(const BarrierOptions& = {}, bool wait_all_ranks = false);
  virtual WorkPtr send(Tensors& tensors, int to, int tag);
  virtual WorkPtr recv(Tensors& tensors, int from, int tag);
  virtual WorkPtr recvAnysource(Tensors& tensors, int tag);

  // Ends all that is under way with an error, here and on the ranks that wait for this one.
  virtual void abort() {}
  virtual void shutdown() {}
  virtual std::chrono::milliseconds getTimeout() const { return kProcessGroupDefaultTimeout; }
  virtual void setTimeout(std::chrono::milliseconds) {}

  const std::string& getGroupName() const { return name_; }
  void setGroupName(std::string name) { name_ = std::move(name); }
  const std::string& getGroupDesc() const { return description_; }
  void setGroupDesc(std::string description) { description_ = std::move(description); }

 protected:
  const int rank_, size_;
  std::string name_, description_;
};

// A call that a group has made, for the flight recorder.
struct CallRecord {
  uint64_t sequence = 0;
  std::string operation, state;  // "scheduled", "started", "completed", "failed"
  ScalarType dtype = ScalarType::Undefined;
  std::vector<std::vector<int64_t>> input_sizes, output_sizes;
  int64_t created_ns = 0, started_ns = 0, ended_ns = 0;
};

struct EngineGroupOptions {
  std::chrono::milliseconds timeout = kProcessGroupDefaultTimeout;
  std::string engine;     // "shm", "gloo" or "mpi"; empty: CRESSET_DIST_TRANSPORT, else what fits the ranks
  std::string interface;  // of the network, for Gloo; empty: GLOO_SOCKET_IFNAME, else that by which the store is reached
};

// A group over an engine: calls run one after another, on the calling thread where none is under way and it may wait, else on the group's own.
// After an error (a lost rank, a timeout, ranks that call different things) the group is of no use any more, and says so.
// All ranks get the same bits; reductions go in the order of the ranks, whatever their timing.
class CRESSET_API EngineGroup : public ProcessGroup {
 public:
  using Options = EngineGroupOptions;
  // Connects the ranks 0 ... size - 1, which find each other through the store. Errors: DistBackendError, DistStoreError where they do not come
  // in time, or the engine is not there.
  EngineGroup(const intrusive_ptr<Store>& store, int rank, int size, const Options& options = {});
  ~EngineGroup() override;

  // The name of the engine: "shm", "gloo" or "mpi".
  std::string engine() const;
  std::string getBackendName() const override { return engine() == "mpi" ? "mpi" : "gloo"; }
  WorkPtr broadcast(Tensors& tensors, const BroadcastOptions& = {}) override;
  WorkPtr allreduce(Tensors& tensors, const AllreduceOptions& = {}) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const AllreduceCoalescedOptions& = {}) override;
  Tensor shared_row(int64_t elements, ScalarType dtype) override;
  WorkPtr allreduce_row(const Tensor& row, const AllreduceOptions& = {}) override;
  WorkPtr reduce(Tensors& tensors, const ReduceOptions& = {}) override;
  WorkPtr allgather(TensorLists& outputs, Tensors& inputs, const AllgatherOptions& = {}) override;
  WorkPtr _allgather_base(Tensor& output, Tensor& input, const AllgatherOptions& = {}) override;
  WorkPtr allgather_coalesced(TensorLists& outputs, Tensors& inputs, const AllgatherOptions& = {}) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const AllgatherOptions& = {}) override;
  WorkPtr gather(TensorLists& outputs, Tensors& inputs, const GatherOptions& = {}) override;
  WorkPtr scatter(Tensors& outputs, TensorLists& inputs, const ScatterOptions& = {}) override;
  WorkPtr reduce_scatter(Tensors& outputs, TensorLists& inputs, const ReduceScatterOptions& = {}) override;
  WorkPtr _reduce_scatter_base(Tensor& output, Tensor& input, const ReduceScatterOptions& = {}) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs, const ReduceScatterOptions& = {}) override;
  WorkPtr alltoall_base(Tensor& output, Tensor& input, std::vector<int64_t>& output_sizes, std::vector<int64_t>& input_sizes,
                        const AllToAllOptions& = {}) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const AllToAllOptions& = {}) override;
  WorkPtr barrier(const BarrierOptions& = {}) override;
  void monitoredBarrier(const BarrierOptions& = {}, bool wait_all_ranks = false) override;
  WorkPtr send(Tensors& tensors, int to, int tag) override;
  WorkPtr recv(Tensors& tensors, int from, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  void abort() override;
  void shutdown() override;
  std::chrono::milliseconds getTimeout() const override;
  void setTimeout(std::chrono::milliseconds timeout) override;

  // The last calls, oldest first.
  std::vector<CallRecord> records() const;

 private:
  struct State;
  WorkPtr allreduce_sparse(const Tensor& tensor, const AllreduceOptions& options);
  const std::shared_ptr<State> state_;
};

// LibTorch's name of the group that `init_process_group("gloo")` makes.
class CRESSET_API ProcessGroupGloo final : public EngineGroup {
 public:
  using EngineGroup::EngineGroup;
};

// A group of processes that `mpirun` has begun; the store is that of the job (elastic/environment.h).
class CRESSET_API ProcessGroupMPI final : public EngineGroup {
 public:
  ProcessGroupMPI(const intrusive_ptr<Store>& store, int rank, int size, const Options& options = {});
  // LibTorch's way to a group of some ranks of the job, of all where none are named; null in processes outside. All ranks of the job call this.
  static intrusive_ptr<ProcessGroupMPI> createProcessGroupMPI(std::vector<int> ranks = {});
};

}  // namespace cresset::distributed
