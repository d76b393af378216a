// Collectives over NCCL, in a library of its own that is opened at first use. Tensors are in the host's memory, so bytes go through a buffer of the GPU; sums
// are ours, in the order of the ranks. Messages between ranks need tags, which NCCL has none of.

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "cresset/dist/transport/call.h"
#include "cresset/dist/transport/composed_engine.h"
#include "cresset/dist/transport/providers.h"

namespace cresset::distributed {

namespace {

constexpr auto kPause = std::chrono::microseconds(20);

void check(cudaError_t status, const char* what) {
  CRESSET_CHECK_AS(DistBackendError, status == cudaSuccess, "dist: nccl: ", what, ": ", cudaGetErrorString(status));
}
void check(ncclResult_t status, const char* what) {
  CRESSET_CHECK_AS(DistBackendError, status == ncclSuccess || status == ncclInProgress, "dist: nccl: ", what, ": ", ncclGetErrorString(status));
}

class NcclEngine final : public ComposedEngine {
 public:
  explicit NcclEngine(const EngineRequest& r) : rank_(r.rank), size_(r.size) {
    int devices = 0;
    const cudaError_t found = cudaGetDeviceCount(&devices);
    CRESSET_CHECK_AS(DistBackendError, found == cudaSuccess && devices > 0, "dist: nccl: expected a GPU, and there is none: ", cudaGetErrorString(found));
    const char* local = std::getenv("LOCAL_RANK");
    device_ = (local ? std::atoi(local) : r.rank) % devices;
    check(cudaSetDevice(device_), "choosing the GPU");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    ncclUniqueId id;
    if (rank_ == 0) {
      check(ncclGetUniqueId(&id), "making the group's number");
      r.store->set("nccl id", Bytes(id.internal, id.internal + sizeof id.internal));
    } else {
      r.store->wait({"nccl id"}, r.timeout);
      const Bytes bytes = r.store->get("nccl id");
      CRESSET_CHECK_AS(DistBackendError, bytes.size() == sizeof id.internal, "dist: nccl: the store holds no number of the group");
      std::memcpy(id.internal, bytes.data(), bytes.size());
    }
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // so that a rank that does not come ends the wait
    check(ncclCommInitRankConfig(&communicator_, size_, id, rank_, &config), "joining the group");
    settle(after(r.timeout), "joining the group");
  }
  ~NcclEngine() override {
    if (communicator_) ncclCommAbort(communicator_);
    cudaFree(buffer_);
    cudaStreamDestroy(stream_);
  }
  const char* name() const override { return "nccl"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void broadcast(void* data, size_t bytes, const Call& call) override {
    if (size_ == 1) return;
    if (bytes == 0) return barrier(call);
    begin(bytes);
    if (rank_ == call.root) check(cudaMemcpyAsync(buffer_, data, bytes, cudaMemcpyHostToDevice, stream_), "broadcast");
    check(ncclBroadcast(buffer_, buffer_, bytes, ncclUint8, call.root, communicator_, stream_), "broadcast");
    settle(call.deadline, "broadcast");
    check(cudaMemcpyAsync(data, buffer_, bytes, cudaMemcpyDeviceToHost, stream_), "broadcast");
    finish(call.deadline, "broadcast");
  }
  void barrier(const Call& call) override {
    std::vector<char> all(ranks());
    const char own = 0;
    gather_all(all.data(), std::vector<size_t>(ranks(), 1), {&own, 1}, call);
  }

  std::shared_ptr<Transfer> send(int, uint64_t, ConstPiece, std::shared_ptr<const void>) override { throw without_tags(); }
  std::shared_ptr<Transfer> receive(int, uint64_t, Piece, std::shared_ptr<const void>) override { throw without_tags(); }
  void abort(const std::string&) override { aborted_ = true; }

 private:
  const int rank_, size_;
  int device_ = 0;
  cudaStream_t stream_ = nullptr;
  ncclComm_t communicator_ = nullptr;
  char* buffer_ = nullptr;
  size_t capacity_ = 0;
  std::atomic<bool> aborted_{false};

  static NotImplementedError without_tags() {
    return NotImplementedError("dist: nccl: messages between two ranks are told apart by tags, which NCCL has not; use a group over gloo for them");
  }
  void begin(size_t bytes) {
    check(cudaSetDevice(device_), "choosing the GPU");  // the group may run on another thread than before
    if (bytes <= capacity_) return;
    check(cudaFree(buffer_), "giving memory back");
    buffer_ = nullptr;
    capacity_ = 0;
    check(cudaMalloc(reinterpret_cast<void**>(&buffer_), bytes), "taking memory");
    capacity_ = bytes;
  }
  // Ends the communicator where the time is up: what is under way on the GPU would wait for ever.
  [[noreturn]] void give_up(const std::string& why) {
    ncclCommAbort(communicator_);
    communicator_ = nullptr;
    throw DistBackendError("dist: nccl: " + why);
  }
  void settle(Deadline deadline, const char* what) {
    for (ncclResult_t state = ncclInProgress;; std::this_thread::sleep_for(kPause)) {
      CRESSET_CHECK_AS(DistBackendError, communicator_, "dist: nccl: ", what, ": the group has failed before");
      check(ncclCommGetAsyncError(communicator_, &state), what);
      if (state == ncclSuccess) return;
      if (state != ncclInProgress) give_up(str(what, ": ", ncclGetErrorString(state)));
      if (aborted_) give_up(str(what, ": aborted"));
      if (std::chrono::steady_clock::now() >= deadline) give_up(str(what, ": the time is up"));
    }
  }
  void finish(Deadline deadline, const char* what) {
    for (;; std::this_thread::sleep_for(kPause)) {
      const cudaError_t state = cudaStreamQuery(stream_);
      if (state == cudaSuccess) return;
      if (state != cudaErrorNotReady) check(state, what);
      ncclResult_t error = ncclSuccess;
      check(ncclCommGetAsyncError(communicator_, &error), what);
      if (error != ncclSuccess && error != ncclInProgress) give_up(str(what, ": ", ncclGetErrorString(error)));
      if (aborted_) give_up(str(what, ": aborted"));
      if (std::chrono::steady_clock::now() >= deadline) give_up(str(what, ": the time is up"));
    }
  }

  void gather_all(void* all, std::vector<size_t> sizes, ConstPiece input, const Call& call) override {
    move(in_a_row(all, sizes), std::vector<ConstPiece>(ranks(), input), call);
  }
  void move(const std::vector<Piece>& outputs, const std::vector<ConstPiece>& inputs, const Call& call) override {
    const char* const what = collective_name(call.what);
    const size_t own = static_cast<size_t>(rank_);
    size_t total = 0;
    for (size_t r = 0; r < ranks(); r++) total += outputs[r].bytes + inputs[r].bytes;
    if (outputs[own].bytes) std::memmove(outputs[own].data, inputs[own].data, outputs[own].bytes);
    if (size_ == 1) return;
    begin(total);
    CRESSET_CHECK_AS(DistBackendError, communicator_, "dist: nccl: ", what, ": the group has failed before");
    std::vector<char*> to(ranks()), from(ranks());
    char* at = buffer_;
    for (size_t r = 0; r < ranks(); r++) {
      to[r] = at;
      from[r] = at + inputs[r].bytes;
      at = from[r] + outputs[r].bytes;
      if (r != own && inputs[r].bytes) check(cudaMemcpyAsync(to[r], inputs[r].data, inputs[r].bytes, cudaMemcpyHostToDevice, stream_), what);
    }
    check(ncclGroupStart(), what);
    for (size_t r = 0; r < ranks(); r++) {
      if (r == own) continue;
      if (inputs[r].bytes) check(ncclSend(to[r], inputs[r].bytes, ncclUint8, static_cast<int>(r), communicator_, stream_), what);
      if (outputs[r].bytes) check(ncclRecv(from[r], outputs[r].bytes, ncclUint8, static_cast<int>(r), communicator_, stream_), what);
    }
    check(ncclGroupEnd(), what);
    settle(call.deadline, what);
    for (size_t r = 0; r < ranks(); r++)
      if (r != own && outputs[r].bytes) check(cudaMemcpyAsync(outputs[r].data, from[r], outputs[r].bytes, cudaMemcpyDeviceToHost, stream_), what);
    finish(call.deadline, what);
  }
};

}  // namespace

}  // namespace cresset::distributed

extern "C" CRESSET_API cresset::distributed::Engine* cresset_engine(const cresset::distributed::EngineRequest& request, std::string& message) {
  return cresset::distributed::make_engine<cresset::distributed::NcclEngine>(request, message);
}
