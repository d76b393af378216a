#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "cresset/dist/group/call_queue.h"
#include "cresset/dist/group/process_group.h"
#include "cresset/dist/group/reduction.h"
#include "cresset/dist/transport/call.h"
#include "cresset/dist/transport/providers.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/from_data.h"

namespace cresset::distributed {

namespace {

using std::chrono::milliseconds;

size_t bytes_of(const Tensor& t) { return static_cast<size_t>(t.numel()) * t.element_size(); }
size_t count_of(const Tensor& t) { return static_cast<size_t>(t.numel()); }

void check_tensor(const char* name, const Tensor& t) {
  CRESSET_CHECK_TYPE(t.defined(), name, ": expected a tensor, got an undefined one");
  CRESSET_CHECK(t.device().is_cpu() && t.layout() == Layout::Strided, name, ": expected a dense tensor on the CPU, got layout ", t.layout(), " on ",
                t.device());
}
const Tensor& single(const char* name, const Tensors& list) {
  CRESSET_CHECK_VALUE(list.size() == 1, name, ": expected a list of one tensor, got ", list.size());
  check_tensor(name, list[0]);
  return list[0];
}
const Tensors& single(const char* name, const TensorLists& lists) {
  CRESSET_CHECK_VALUE(lists.size() == 1, name, ": expected one list of tensors, got ", lists.size());
  return lists[0];
}
void check_same_dtype(const char* name, const Tensor& t, const Tensor& like) {
  check_tensor(name, t);
  CRESSET_CHECK_VALUE(t.scalar_type() == like.scalar_type(), name, ": expected tensors of dtype ", like.scalar_type(), ", got ", t.scalar_type());
}

// A tensor of an operation as a row of elements. Where its memory is not one, the row is a copy, which `finish` writes back.
struct Row {
  Tensor original, row;
  explicit Row(const Tensor& t)
      : original(t.detach()),
        row(original.is_contiguous() && !original.is_conj() && !original.is_neg() ? original : original.resolve_conj().resolve_neg().contiguous()) {}
  void* data() const { return row.data_ptr(); }
  size_t bytes() const { return bytes_of(row); }
  Piece piece() const { return {data(), bytes()}; }
  ConstPiece input() const { return {data(), bytes()}; }
  void finish() {
    if (row.numel() > 0 && row.data_ptr() != original.data_ptr()) original.copy_(row);
  }
};
std::vector<Row> rows_of(const Tensors& list) { return {list.begin(), list.end()}; }
std::vector<Piece> pieces_of(const std::vector<Row>& rows) {
  std::vector<Piece> pieces;
  for (const Row& r : rows) pieces.push_back(r.piece());
  return pieces;
}
std::vector<ConstPiece> inputs_of(const std::vector<Row>& rows) {
  std::vector<ConstPiece> pieces;
  for (const Row& r : rows) pieces.push_back(r.input());
  return pieces;
}
void finish_all(std::vector<Row>& rows) {
  for (Row& r : rows) r.finish();
}

Call call_of(Collective what, const Tensor& like, uint64_t bytes = 0, int64_t root = -1, ReduceOp op = ReduceOp::SUM) {
  Call c;
  c.what = static_cast<uint16_t>(what);
  c.dtype = static_cast<uint16_t>(like.defined() ? like.scalar_type() : ScalarType::Undefined);
  c.reduction = static_cast<uint16_t>(op.op_);
  c.root = static_cast<int16_t>(root);
  c.bytes = bytes;
  return c;
}

// Views of a tensor's parts along dimension 0.
Tensors parts_of(const char* name, const Tensor& t, const std::vector<int64_t>& sizes, int ranks, const char* which) {
  const int64_t rows = t.dim() ? t.size(0) : 1;
  if (sizes.empty()) {
    CRESSET_CHECK(t.dim() > 0 && rows % ranks == 0, name, ": expected a first dimension that ", ranks, " ranks divide, got ", which, " of shape ", t.sizes());
    return t.split(std::max<int64_t>(rows / ranks, 1), 0).size() == static_cast<size_t>(ranks) ? t.split(rows / ranks, 0)
                                                                                               : Tensors(static_cast<size_t>(ranks), t);
  }
  const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  CRESSET_CHECK(static_cast<int>(sizes.size()) == ranks && sum == rows, name, ": expected ", ranks, " ", which, " sizes that add up to ", rows, ", got ",
                sizes);
  return t.split_with_sizes(sizes, 0);
}

// Parts of equal size, one for each rank, of a tensor that lies in memory as one piece.
std::vector<Piece> equal_pieces(void* data, size_t bytes, int ranks) {
  std::vector<Piece> pieces;
  for (int r = 0; r < ranks; r++) pieces.push_back({static_cast<char*>(data) + static_cast<size_t>(r) * bytes, bytes});
  return pieces;
}
std::vector<ConstPiece> constant(const std::vector<Piece>& pieces) {
  std::vector<ConstPiece> all;
  for (const Piece& p : pieces) all.push_back({p.data, p.bytes});
  return all;
}

class MessageWork final : public Work {
 public:
  MessageWork(std::shared_ptr<CallQueue> queue, Row row) : queue_(std::move(queue)), row_(std::move(row)) { setResults({row_.original}); }
  void begin(std::shared_ptr<Transfer> transfer) { transfer_ = std::move(transfer); }
  Row& row() { return row_; }
  bool isCompleted() override { return transfer_->done(); }
  bool isSuccess() const override { return transfer_->done(); }
  int sourceRank() const override { return transfer_->source(); }
  bool wait(milliseconds timeout) override {
    try {
      transfer_->wait(after(timeout.count() > 0 ? timeout : queue_->timeout()));
    } catch (const std::exception&) {
      finish(std::current_exception());
      throw;
    }
    if (!Work::isCompleted()) row_.finish();
    finish();
    return true;
  }

 private:
  const std::shared_ptr<CallQueue> queue_;
  Row row_;
  std::shared_ptr<Transfer> transfer_;
};

}  // namespace

struct EngineGroup::State {
  int rank, size;
  intrusive_ptr<Store> store;
  std::shared_ptr<CallQueue> queue;
  std::string engine_name;
  int64_t barriers = 0;
  // Ends with the group: its name outlives it in errors.
  CallQueue& calls() const {
    CRESSET_CHECK_AS(DistBackendError, queue, "dist: the group was shut down");
    return *queue;
  }
  Engine& engine() const { return calls().engine(); }
  void check_root(const char* name, int64_t root) const { CRESSET_CHECK(root >= 0 && root < size, name, ": expected a rank in [0, ", size, "), got ", root); }
  void check_list(const char* name, const char* what, const Tensors& list, const Tensor& like) const {
    CRESSET_CHECK(static_cast<int>(list.size()) == size, name, ": expected ", size, " ", what, " tensors, one for each rank, got ", list.size());
    for (const Tensor& t : list) check_same_dtype(name, t, like);
  }
  void reduce_row(const char* name, Row& row, ReduceOp op, const Reduction& reduction, const Call& call) const {
    (void)name;
    if (row.row.numel() == 0) return engine().barrier(call);
    engine().all_reduce(row.data(), count_of(row.row), row.row.element_size(), reduction, call);
    average(row.row, op);
  }
  void average(Tensor t, ReduceOp op) const {
    if (op != ReduceOp::AVG) return;
    if (is_integral_type(t.scalar_type(), true)) t.copy_(cresset::div(t, static_cast<double>(size), "trunc"));
    else t.div_(size);
  }
};

EngineGroup::EngineGroup(const intrusive_ptr<Store>& store, int rank, int size, const Options& o)
    : ProcessGroup(rank, size), state_(std::make_shared<State>()) {
  CRESSET_CHECK_VALUE(store, "ProcessGroup: expected a store, got none");
  CRESSET_CHECK_VALUE(size > 0 && size <= 1 << 15, "ProcessGroup: expected a positive number of ranks, got ", size);
  CRESSET_CHECK_VALUE(rank >= 0 && rank < size, "ProcessGroup: expected a rank in [0, ", size, "), got ", rank);
  state_->rank = rank;
  state_->size = size;
  state_->store = store;
  auto engine = make_engine(o.engine, *store, rank, size, o.timeout, o.interface);
  state_->engine_name = engine->name();
  state_->queue = std::make_shared<CallQueue>(std::move(engine), o.timeout);
}
EngineGroup::~EngineGroup() = default;

std::string EngineGroup::engine() const { return state_->engine_name; }
milliseconds EngineGroup::getTimeout() const { return state_->calls().timeout(); }
void EngineGroup::setTimeout(milliseconds timeout) { state_->calls().set_timeout(timeout); }
std::vector<CallRecord> EngineGroup::records() const { return state_->calls().records(); }
void EngineGroup::abort() {
  if (state_->queue) state_->queue->fail(str("rank ", rank_, " has aborted the group"));
}
void EngineGroup::shutdown() { state_->queue = nullptr; }

WorkPtr EngineGroup::allreduce(Tensors& tensors, const AllreduceOptions& o) {
  CRESSET_CHECK_VALUE(tensors.size() == 1 && tensors[0].defined(), "all_reduce: expected a list of one tensor, got ", tensors.size());
  if (tensors[0].layout() == Layout::Sparse) return allreduce_sparse(tensors[0], o);
  const Tensor tensor = single("all_reduce", tensors);
  const Call call = call_of(Collective::AllReduce, tensor, bytes_of(tensor), -1, o.reduceOp);
  return state_->calls().run(call, o, {tensor},
                             [s = state_.get(), tensor, op = o.reduceOp, f = make_reduction("all_reduce", o.reduceOp, tensor.scalar_type())](const Call& c) {
                               Row row(tensor);
                               s->reduce_row("all_reduce", row, op, f, c);
                               row.finish();
                             });
}

Tensor EngineGroup::shared_row(int64_t elements, ScalarType dtype) {
  const size_t bytes = static_cast<size_t>(elements) * element_size(dtype);
  std::shared_ptr<void> memory;
  CallOptions now;
  now.asyncOp = false;
  Call call = call_of(Collective::Share, Tensor(), bytes);
  state_->calls().run(call, now, {}, [&](const Call& c) { memory = state_->engine().share(bytes, c); })->wait();
  if (!memory) return {};
  return cresset::from_blob(
      memory.get(), {elements}, [memory](void*) {}, TensorOptions(dtype));
}
WorkPtr EngineGroup::allreduce_row(const Tensor& row, const AllreduceOptions& o) {
  const Call call = call_of(Collective::AllReduceRow, row, bytes_of(row), -1, o.reduceOp);
  return state_->calls().run(call, o, {row},
                             [s = state_.get(), row, op = o.reduceOp, f = make_reduction("all_reduce", o.reduceOp, row.scalar_type())](const Call& c) {
                               s->engine().all_reduce_row(row.data_ptr(), count_of(row), row.element_size(), f, c);
                               s->average(row, op);
                             });
}

WorkPtr EngineGroup::allreduce_coalesced(Tensors& tensors, const AllreduceCoalescedOptions& o) {
  CRESSET_CHECK_VALUE(!tensors.empty(), "all_reduce_coalesced: expected tensors, got none");
  uint64_t bytes = 0;
  for (const Tensor& t : tensors) {
    check_same_dtype("all_reduce_coalesced", t, tensors[0]);
    bytes += bytes_of(t);
  }
  const Call call = call_of(Collective::AllReduce, tensors[0], bytes, -1, o.reduceOp);
  auto f = make_reduction("all_reduce_coalesced", o.reduceOp, tensors[0].scalar_type());
  return state_->calls().run(call, o, tensors, [s = state_.get(), tensors, op = o.reduceOp, f = std::move(f)](const Call& c) {
    Tensors flat;
    for (const Tensor& t : tensors) flat.push_back(t.detach().reshape({-1}));
    Row row(cresset::cat(flat));
    s->reduce_row("all_reduce_coalesced", row, op, f, c);
    int64_t at = 0;
    for (const Tensor& t : tensors) {
      t.detach().copy_(row.row.narrow(0, at, t.numel()).view(t.sizes()));
      at += t.numel();
    }
  });
}

// The indices and values of all ranks, whose sum stands where indices are equal.
WorkPtr EngineGroup::allreduce_sparse(const Tensor& tensor, const AllreduceOptions& o) {
  CRESSET_CHECK(o.reduceOp == ReduceOp::SUM, "all_reduce: sparse tensors are added alone");
  const Tensor mine = tensor.coalesce();
  Tensor counts = cresset::empty({size_}, TensorOptions(kLong)), own = cresset::full({1}, static_cast<int64_t>(mine._nnz()), TensorOptions(kLong));
  CallOptions now = o;
  now.asyncOp = false;
  AllgatherOptions gather;
  static_cast<CallOptions&>(gather) = now;
  _allgather_base(counts, own, gather);
  TensorLists indices(1), values(1);
  for (int64_t r = 0; r < size_; r++) {
    const int64_t n = counts[r].item<int64_t>();
    indices[0].push_back(cresset::empty({mine.sparse_dim(), n}, TensorOptions(kLong)));
    std::vector<int64_t> shape = mine._values().sizes().vec();
    shape[0] = n;
    values[0].push_back(cresset::empty(shape, mine._values().options()));
  }
  Tensors input = {mine._indices().contiguous()};
  allgather(indices, input, gather);
  input = {mine._values().contiguous()};
  const WorkPtr last = allgather(values, input, gather);
  const NoGradGuard no_grad;
  Tensor whole = cresset::sparse_coo_tensor(cresset::cat(indices[0], 1), cresset::cat(values[0], 0), tensor.sizes()).coalesce();
  Tensor(tensor).copy_(whole);
  last->setResults({tensor});
  return last;
}

WorkPtr EngineGroup::reduce(Tensors& tensors, const ReduceOptions& o) {
  const Tensor tensor = single("reduce", tensors);
  state_->check_root("reduce", o.rootRank);
  const Call call = call_of(Collective::Reduce, tensor, bytes_of(tensor), o.rootRank, o.reduceOp);
  return state_->calls().run(
      call, o, {tensor},
      [s = state_.get(), tensor, op = o.reduceOp, root = o.rootRank, f = make_reduction("reduce", o.reduceOp, tensor.scalar_type())](const Call& c) {
        Row row(tensor);
        if (row.row.numel() == 0) return s->engine().barrier(c);
        s->engine().reduce(row.data(), count_of(row.row), row.row.element_size(), f, c);
        if (s->rank != root) return;
        s->average(row.row, op);
        row.finish();
      });
}

WorkPtr EngineGroup::broadcast(Tensors& tensors, const BroadcastOptions& o) {
  const Tensor tensor = single("broadcast", tensors);
  state_->check_root("broadcast", o.rootRank);
  return state_->calls().run(call_of(Collective::Broadcast, tensor, bytes_of(tensor), o.rootRank), o, {tensor}, [s = state_.get(), tensor](const Call& c) {
    Row row(tensor);
    s->engine().broadcast(row.data(), row.bytes(), c);
    row.finish();
  });
}

WorkPtr EngineGroup::allgather(TensorLists& outputs, Tensors& inputs, const AllgatherOptions& o) {
  const Tensor input = single("all_gather", inputs);
  const Tensors list = single("all_gather", outputs);
  state_->check_list("all_gather", "output", list, input);
  CRESSET_CHECK(list[static_cast<size_t>(rank_)].numel() == input.numel(), "all_gather: expected an output for this rank of the input's ", input.numel(),
                " elements, got ", list[static_cast<size_t>(rank_)].sizes());
  return state_->calls().run(call_of(Collective::AllGather, input), o, list, [s = state_.get(), list, input](const Call& c) {
    std::vector<Row> rows = rows_of(list);
    s->engine().all_gather(pieces_of(rows), Row(input).input(), c);
    finish_all(rows);
  });
}

WorkPtr EngineGroup::_allgather_base(Tensor& output, Tensor& input, const AllgatherOptions& o) {
  check_tensor("all_gather_into_tensor", input);
  check_tensor("all_gather_into_tensor", output);
  CRESSET_CHECK(output.scalar_type() == input.scalar_type(), "all_gather_into_tensor: expected an output of dtype ", input.scalar_type(), ", got ",
                output.scalar_type());
  CRESSET_CHECK(output.numel() == input.numel() * size_, "all_gather_into_tensor: expected ", size_, " times the ", input.numel(),
                " elements of one rank's tensor, got shape ", output.sizes());
  return state_->calls().run(call_of(Collective::AllGather, input, bytes_of(input)), o, {output}, [s = state_.get(), output, input](const Call& c) {
    Row row(output);
    const Row in(input);
    s->engine().all_gather(equal_pieces(row.data(), in.bytes(), s->size), in.input(), c);
    row.finish();
  });
}

WorkPtr EngineGroup::allgather_coalesced(TensorLists& outputs, Tensors& inputs, const AllgatherOptions& o) {
  CRESSET_CHECK_VALUE(static_cast<int>(outputs.size()) == size_ && !inputs.empty(), "all_gather_coalesced: expected ", size_,
                      " lists of outputs, one for each rank, got ", outputs.size());
  WorkPtr last;
  for (size_t i = 0; i < inputs.size(); i++) {
    TensorLists one(1);
    for (Tensors& list : outputs) {
      CRESSET_CHECK_VALUE(list.size() == inputs.size(), "all_gather_coalesced: expected ", inputs.size(), " outputs of each rank, got ", list.size());
      one[0].push_back(list[i]);
    }
    Tensors in = {inputs[i]};
    last = allgather(one, in, o);
  }
  return last;
}

WorkPtr EngineGroup::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const AllgatherOptions& o) {
  CRESSET_CHECK_VALUE(outputs.size() == inputs.size() && !inputs.empty(), "allgather_into_tensor_coalesced: expected as many outputs as inputs, got ",
                      outputs.size(), " and ", inputs.size());
  WorkPtr last;
  for (size_t i = 0; i < inputs.size(); i++) last = _allgather_base(outputs[i], inputs[i], o);
  return last;
}

WorkPtr EngineGroup::gather(TensorLists& outputs, Tensors& inputs, const GatherOptions& o) {
  const Tensor input = single("gather", inputs);
  state_->check_root("gather", o.rootRank);
  const bool receives = rank_ == o.rootRank;
  CRESSET_CHECK_VALUE(receives || outputs.empty(), "gather: only rank ", o.rootRank, " takes a list of outputs");
  const Tensors list = receives ? single("gather", outputs) : Tensors();
  if (receives) state_->check_list("gather", "output", list, input);
  return state_->calls().run(call_of(Collective::Gather, input, 0, o.rootRank), o, list, [s = state_.get(), list, input](const Call& c) {
    std::vector<Row> rows = rows_of(list);
    s->engine().gather(pieces_of(rows), Row(input).input(), c);
    finish_all(rows);
  });
}

WorkPtr EngineGroup::scatter(Tensors& outputs, TensorLists& inputs, const ScatterOptions& o) {
  const Tensor output = single("scatter", outputs);
  state_->check_root("scatter", o.rootRank);
  const bool sends = rank_ == o.rootRank;
  CRESSET_CHECK_VALUE(sends || inputs.empty(), "scatter: only rank ", o.rootRank, " takes a list of inputs");
  const Tensors list = sends ? single("scatter", inputs) : Tensors();
  if (sends) state_->check_list("scatter", "input", list, output);
  return state_->calls().run(call_of(Collective::Scatter, output, 0, o.rootRank), o, {output}, [s = state_.get(), list, output](const Call& c) {
    Row row(output);
    const std::vector<Row> rows = rows_of(list);
    s->engine().scatter(row.piece(), inputs_of(rows), c);
    row.finish();
  });
}

WorkPtr EngineGroup::reduce_scatter(Tensors& outputs, TensorLists& inputs, const ReduceScatterOptions& o) {
  const Tensor output = single("reduce_scatter", outputs);
  const Tensors list = single("reduce_scatter", inputs);
  state_->check_list("reduce_scatter", "input", list, output);
  CRESSET_CHECK_VALUE(list[static_cast<size_t>(rank_)].numel() == output.numel(), "reduce_scatter: expected an input for this rank of the output's ",
                      output.numel(), " elements, got ", list[static_cast<size_t>(rank_)].sizes());
  const Call call = call_of(Collective::ReduceScatter, output, 0, -1, o.reduceOp);
  return state_->calls().run(
      call, o, {output},
      [s = state_.get(), list, output, op = o.reduceOp, f = make_reduction("reduce_scatter", o.reduceOp, output.scalar_type())](const Call& c) {
        Row row(output);
        const std::vector<Row> rows = rows_of(list);
        s->engine().reduce_scatter(row.piece(), inputs_of(rows), row.row.element_size(), f, c);
        s->average(row.row, op);
        row.finish();
      });
}

WorkPtr EngineGroup::_reduce_scatter_base(Tensor& output, Tensor& input, const ReduceScatterOptions& o) {
  check_tensor("reduce_scatter_tensor", output);
  check_same_dtype("reduce_scatter_tensor", input, output);
  CRESSET_CHECK(input.numel() == output.numel() * size_, "reduce_scatter_tensor: expected ", size_, " times the ", output.numel(),
                " elements of one rank's tensor, got shape ", input.sizes());
  const Call call = call_of(Collective::ReduceScatter, output, bytes_of(output), -1, o.reduceOp);
  return state_->calls().run(
      call, o, {output},
      [s = state_.get(), input, output, op = o.reduceOp, f = make_reduction("reduce_scatter_tensor", o.reduceOp, output.scalar_type())](const Call& c) {
        Row row(output);
        const Row in(input);
        s->engine().reduce_scatter(row.piece(), constant(equal_pieces(in.data(), row.bytes(), s->size)), row.row.element_size(), f, c);
        s->average(row.row, op);
        row.finish();
      });
}

WorkPtr EngineGroup::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs, const ReduceScatterOptions& o) {
  CRESSET_CHECK_VALUE(outputs.size() == inputs.size() && !inputs.empty(), "reduce_scatter_tensor_coalesced: expected as many outputs as inputs, got ",
                      outputs.size(), " and ", inputs.size());
  WorkPtr last;
  for (size_t i = 0; i < inputs.size(); i++) last = _reduce_scatter_base(outputs[i], inputs[i], o);
  return last;
}

WorkPtr EngineGroup::alltoall(Tensors& outputs, Tensors& inputs, const AllToAllOptions& o) {
  CRESSET_CHECK_VALUE(!inputs.empty(), "all_to_all: expected ", size_, " tensors, got none");
  check_tensor("all_to_all", inputs[0]);
  state_->check_list("all_to_all", "output", outputs, inputs[0]);
  state_->check_list("all_to_all", "input", inputs, inputs[0]);
  return state_->calls().run(call_of(Collective::AllToAll, inputs[0]), o, outputs, [s = state_.get(), outputs, inputs](const Call& c) {
    std::vector<Row> out = rows_of(outputs);
    const std::vector<Row> in = rows_of(inputs);
    s->engine().all_to_all(pieces_of(out), inputs_of(in), c);
    finish_all(out);
  });
}

WorkPtr EngineGroup::alltoall_base(Tensor& output, Tensor& input, std::vector<int64_t>& output_sizes, std::vector<int64_t>& input_sizes,
                                   const AllToAllOptions& o) {
  check_tensor("all_to_all_single", input);
  check_same_dtype("all_to_all_single", output, input);
  Tensors outputs = parts_of("all_to_all_single", output.detach(), output_sizes, size_, "output");
  Tensors inputs = parts_of("all_to_all_single", input.detach(), input_sizes, size_, "input");
  const WorkPtr work = alltoall(outputs, inputs, o);
  work->setResults({output});
  return work;
}

WorkPtr EngineGroup::barrier(const BarrierOptions& o) {
  return state_->calls().run(call_of(Collective::Barrier, Tensor()), o, {}, [s = state_.get()](const Call& c) { s->engine().barrier(c); });
}

void EngineGroup::monitoredBarrier(const BarrierOptions& o, bool wait_all_ranks) {
  const milliseconds timeout = state_->calls().chosen(o);
  Store& store = *state_->store;
  const std::string mark = str("monitored ", ++state_->barriers, " ");
  const auto end = after(timeout);
  auto left = [&] { return std::max(std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now()), milliseconds(1)); };
  if (rank_ > 0) {
    store.set(str(mark, rank_), std::string());
    try {
      store.wait({mark + "all"}, timeout);
    } catch (const DistStoreError&) {
      throw DistBackendError(str("monitored_barrier: rank 0 has not seen all ranks within ", timeout.count(), " ms; its error names those that are missing"));
    }
    store.set(str(mark, "seen ", rank_), std::string());
    return;
  }
  std::string missing;
  int count = 0;
  for (int r = 1; r < size_; r++) {
    try {
      store.wait({str(mark, r)}, left());
    } catch (const DistStoreError&) {
      missing += str(count++ ? ", " : "", r);
      if (!wait_all_ranks) break;
    }
  }
  CRESSET_CHECK_AS(DistBackendError, missing.empty(), "monitored_barrier: rank", count > 1 ? "s " : " ", missing, " did not come within ", timeout.count(),
                   " ms");
  store.set(mark + "all", std::string());
  // The store may go with this rank: it stays until the others have read that. A rank that does not say so any more is no failure of the barrier.
  std::vector<std::string> seen;
  for (int r = 1; r < size_; r++) seen.push_back(str(mark, "seen ", r));
  try {
    store.wait(seen, std::min(left(), milliseconds(2000)));
  } catch (const DistStoreError&) {}
}

namespace {

template <class Begin> WorkPtr message(const std::shared_ptr<CallQueue>& queue, const Tensor& tensor, Begin&& begin) {
  queue->check_usable();
  auto work = make_intrusive<MessageWork>(queue, Row(tensor));
  // The transfer owns the row's memory as long as it needs it.
  work->begin(begin(queue->engine(), work->row(), std::make_shared<Tensor>(work->row().row)));
  return work;
}

}  // namespace

WorkPtr EngineGroup::send(Tensors& tensors, int to, int tag) {
  const Tensor tensor = single("send", tensors);
  state_->check_root("send", to);
  CRESSET_CHECK(to != rank_, "send: rank ", rank_, " cannot send to itself");
  state_->calls();
  return message(state_->queue, tensor, [&](Engine& e, Row& row, auto keep) { return e.send(to, static_cast<uint64_t>(tag), row.input(), std::move(keep)); });
}
WorkPtr EngineGroup::recv(Tensors& tensors, int from, int tag) {
  const Tensor tensor = single("recv", tensors);
  state_->check_root("recv", from);
  CRESSET_CHECK(from != rank_, "recv: rank ", rank_, " cannot receive from itself");
  state_->calls();
  return message(state_->queue, tensor,
                 [&](Engine& e, Row& row, auto keep) { return e.receive(from, static_cast<uint64_t>(tag), row.piece(), std::move(keep)); });
}
WorkPtr EngineGroup::recvAnysource(Tensors& tensors, int tag) {
  const Tensor tensor = single("recv", tensors);
  state_->calls();
  return message(state_->queue, tensor,
                 [&](Engine& e, Row& row, auto keep) { return e.receive(-1, static_cast<uint64_t>(tag), row.piece(), std::move(keep)); });
}

}  // namespace cresset::distributed
