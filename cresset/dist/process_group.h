#pragma once
// Collective operations of the processes of a group over TCP, on tensors in the CPU's memory.

#include <chrono>
#include <functional>
#include <memory>

#include "cresset/dist/store.h"
#include "cresset/tensor.h"

namespace cresset::distributed {

enum class ReduceOp : uint8_t { Sum, Avg, Product, Min, Max, Band, Bor, Bxor };

// An operation that was begun.
class CRESSET_API Work {
 public:
  virtual ~Work() = default;
  virtual bool is_completed() = 0;
  // Waits for the end. A timeout of 0 is the group's. Errors: what the operation raised; it has not ended in time.
  virtual void wait(std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) = 0;
  // The rank from which a receive from anybody came.
  virtual int64_t source_rank() const { return -1; }
};

// All processes of a group call the same operations in the same order, with tensors of the same dtype and number of elements; a
// call that differs raises an Error which names both. Results do not depend on the rank: all get the same bits. After an error (a
// lost peer, a timeout) the group is of no use any more, and says so.
class CRESSET_API ProcessGroup {
 public:
  static constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::minutes(30);

  // Connects the ranks 0 ... size - 1, which find each other through the store.
  ProcessGroup(std::shared_ptr<Store> store, int64_t rank, int64_t size, std::chrono::milliseconds timeout = kDefaultTimeout);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int64_t rank() const;
  int64_t size() const;
  std::chrono::milliseconds timeout() const;
  void set_timeout(std::chrono::milliseconds timeout);

  // Each returns at once where `async`, with the operation to run on the group's own thread; else when it is done.
  using WorkPtr = std::shared_ptr<Work>;
  WorkPtr all_reduce(Tensor tensor, ReduceOp op = ReduceOp::Sum, bool async = false);
  WorkPtr reduce(Tensor tensor, int64_t root, ReduceOp op = ReduceOp::Sum, bool async = false);
  WorkPtr broadcast(Tensor tensor, int64_t root, bool async = false);
  // One tensor of the input's shape for each rank.
  WorkPtr all_gather(std::vector<Tensor> outputs, Tensor input, bool async = false);
  // `outputs` is empty but on the root.
  WorkPtr gather(std::vector<Tensor> outputs, Tensor input, int64_t root, bool async = false);
  // `inputs` is empty but on the root.
  WorkPtr scatter(Tensor output, std::vector<Tensor> inputs, int64_t root, bool async = false);
  WorkPtr reduce_scatter(Tensor output, std::vector<Tensor> inputs, ReduceOp op = ReduceOp::Sum, bool async = false);
  // outputs[i] comes from rank i; sizes may differ from rank to rank.
  WorkPtr all_to_all(std::vector<Tensor> outputs, std::vector<Tensor> inputs, bool async = false);
  WorkPtr barrier(bool async = false);

  WorkPtr send(Tensor tensor, int64_t to, int64_t tag = 0);
  // From anybody where `from` is -1.
  WorkPtr receive(Tensor tensor, int64_t from, int64_t tag = 0);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cresset::distributed
