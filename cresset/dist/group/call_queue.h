#pragma once
// Inside the room: the calls of a group, run one after another.

#include <deque>
#include <thread>

#include "cresset/dist/group/process_group.h"
#include "cresset/dist/transport/engine.h"

namespace cresset::distributed {

// The last calls, in memory that is never allocated while they run.
class FlightRecorder {
 public:
  explicit FlightRecorder(size_t capacity) : entries_(capacity) {}
  static constexpr int kDims = 8;
  struct Entry {
    Call call;
    const char* state = nullptr;
    int64_t created = 0, started = 0, ended = 0;
    int dims = 0;
    int64_t sizes[kDims];
  };
  // The number of the call; those that are too old are forgotten.
  uint64_t begin(const Call& call, const Tensor* tensor);
  void start(uint64_t number);
  void end(uint64_t number, bool failed);
  std::vector<CallRecord> records() const;

 private:
  Entry* find(uint64_t number);
  std::vector<Entry> entries_;
  uint64_t count_ = 0;
};

class CallQueue {
 public:
  using Body = std::function<void(const Call&)>;
  CallQueue(std::shared_ptr<Engine> engine, std::chrono::milliseconds timeout);
  ~CallQueue();

  Engine& engine() const { return *engine_; }
  const std::shared_ptr<Engine>& engine_pointer() const { return engine_; }
  std::chrono::milliseconds timeout() const { return timeout_; }
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  std::chrono::milliseconds chosen(const CallOptions& o) const { return o.timeout.count() > 0 ? o.timeout : timeout(); }
  // `results` are the tensors that the call writes, of which the first is recorded.
  WorkPtr run(Call call, const CallOptions& options, Tensors results, Body body);
  // Errors: the group is of no use any more.
  void check_usable();
  // Makes the group unusable, here and for the others.
  void fail(const std::string& reason);
  std::vector<CallRecord> records();

 private:
  struct Task final : Work {
    Call call;
    std::chrono::milliseconds timeout;
    Body body;
    uint64_t record = 0;
  };
  void execute(Task& task);
  void work_off();
  void compare(const Call& call);

  const std::shared_ptr<Engine> engine_;
  std::atomic<std::chrono::milliseconds> timeout_;
  const bool compares_;  // calls, before each, where the engine does not
  std::mutex turn_;      // held while a call runs

  std::mutex mutex_;
  std::condition_variable queued_;
  std::deque<intrusive_ptr<Task>> queue_;
  int64_t pending_ = 0;
  uint64_t sequence_ = 0;
  bool closing_ = false;
  std::string broken_;
  FlightRecorder recorder_;
  std::thread thread_;
};

}  // namespace cresset::distributed
