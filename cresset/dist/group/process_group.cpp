#include "cresset/dist/group/process_group.h"

#include "cresset/dist/errors.h"

namespace cresset::distributed {

namespace {

[[noreturn]] void refuse(const ProcessGroup& group, const char* method) {
  throw NotImplementedError(str("dist: the backend '", group.getBackendName(), "' has no ", method));
}

}  // namespace

WorkPtr ProcessGroup::broadcast(Tensors&, const BroadcastOptions&) { refuse(*this, "broadcast"); }
WorkPtr ProcessGroup::allreduce(Tensors&, const AllreduceOptions&) { refuse(*this, "allreduce"); }
WorkPtr ProcessGroup::allreduce_coalesced(Tensors&, const AllreduceCoalescedOptions&) { refuse(*this, "allreduce_coalesced"); }
Tensor ProcessGroup::shared_row(int64_t, ScalarType) { return {}; }
WorkPtr ProcessGroup::allreduce_row(const Tensor&, const AllreduceOptions&) { refuse(*this, "allreduce_row"); }
WorkPtr ProcessGroup::reduce(Tensors&, const ReduceOptions&) { refuse(*this, "reduce"); }
WorkPtr ProcessGroup::allgather(TensorLists&, Tensors&, const AllgatherOptions&) { refuse(*this, "allgather"); }
WorkPtr ProcessGroup::_allgather_base(Tensor&, Tensor&, const AllgatherOptions&) { refuse(*this, "_allgather_base"); }
WorkPtr ProcessGroup::allgather_coalesced(TensorLists&, Tensors&, const AllgatherOptions&) { refuse(*this, "allgather_coalesced"); }
WorkPtr ProcessGroup::allgather_into_tensor_coalesced(Tensors&, Tensors&, const AllgatherOptions&) { refuse(*this, "allgather_into_tensor_coalesced"); }
WorkPtr ProcessGroup::gather(TensorLists&, Tensors&, const GatherOptions&) { refuse(*this, "gather"); }
WorkPtr ProcessGroup::scatter(Tensors&, TensorLists&, const ScatterOptions&) { refuse(*this, "scatter"); }
WorkPtr ProcessGroup::reduce_scatter(Tensors&, TensorLists&, const ReduceScatterOptions&) { refuse(*this, "reduce_scatter"); }
WorkPtr ProcessGroup::_reduce_scatter_base(Tensor&, Tensor&, const ReduceScatterOptions&) { refuse(*this, "_reduce_scatter_base"); }
WorkPtr ProcessGroup::reduce_scatter_tensor_coalesced(Tensors&, Tensors&, const ReduceScatterOptions&) { refuse(*this, "reduce_scatter_tensor_coalesced"); }
WorkPtr ProcessGroup::alltoall_base(Tensor&, Tensor&, std::vector<int64_t>&, std::vector<int64_t>&, const AllToAllOptions&) { refuse(*this, "alltoall_base"); }
WorkPtr ProcessGroup::alltoall(Tensors&, Tensors&, const AllToAllOptions&) { refuse(*this, "alltoall"); }
WorkPtr ProcessGroup::barrier(const BarrierOptions&) { refuse(*this, "barrier"); }
void ProcessGroup::monitoredBarrier(const BarrierOptions&, bool) { refuse(*this, "monitoredBarrier"); }
WorkPtr ProcessGroup::send(Tensors&, int, int) { refuse(*this, "send"); }
WorkPtr ProcessGroup::recv(Tensors&, int, int) { refuse(*this, "recv"); }
WorkPtr ProcessGroup::recvAnysource(Tensors&, int) { refuse(*this, "recvAnysource"); }

}  // namespace cresset::distributed
