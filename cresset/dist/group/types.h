#pragma once
// The options of collectives, with LibTorch's names.

#include <chrono>
#include <cstdint>
#include <vector>

#include "cresset/tensor.h"

namespace cresset::distributed {

constexpr std::chrono::milliseconds kUnsetTimeout{-1};
constexpr std::chrono::milliseconds kProcessGroupDefaultTimeout = std::chrono::minutes(30);

// How the values of all ranks become one.
struct ReduceOp {
  enum RedOpType : uint8_t { SUM = 0, AVG = 1, PRODUCT = 2, MIN = 3, MAX = 4, BAND = 5, BOR = 6, BXOR = 7, PREMUL_SUM = 8, UNUSED = 9 };
  ReduceOp() = default;
  ReduceOp(RedOpType op) : op_(op) {}
  operator RedOpType() const { return op_; }
  bool operator==(const ReduceOp& o) const { return op_ == o.op_; }
  bool operator==(RedOpType o) const { return op_ == o; }
  RedOpType op_ = SUM;
};

struct CallOptions {
  std::chrono::milliseconds timeout = kUnsetTimeout;  // the group's
  bool asyncOp = true;
};
struct BroadcastOptions : CallOptions {
  int64_t rootRank = 0;
  int64_t rootTensor = 0;
};
struct AllreduceOptions : CallOptions {
  ReduceOp reduceOp = ReduceOp::SUM;
};
struct AllreduceCoalescedOptions : AllreduceOptions {};
struct ReduceOptions : CallOptions {
  ReduceOp reduceOp = ReduceOp::SUM;
  int64_t rootRank = 0;
  int64_t rootTensor = 0;
};
struct AllgatherOptions : CallOptions {};
struct GatherOptions : CallOptions {
  int64_t rootRank = 0;
};
struct ScatterOptions : CallOptions {
  int64_t rootRank = 0;
};
struct ReduceScatterOptions : CallOptions {
  ReduceOp reduceOp = ReduceOp::SUM;
};
struct AllToAllOptions : CallOptions {};
struct BarrierOptions : CallOptions {
  std::vector<int64_t> device_ids;
};

}  // namespace cresset::distributed
