#include "cresset/dist/group/call_queue.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cresset/autograd/grad_mode.h"
#include "cresset/dist/transport/call.h"
#include "cresset/dist/transport/debug.h"

namespace cresset::distributed {

namespace {

int64_t now_ns() { return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count(); }

size_t recorder_capacity() {
  const char* text = std::getenv("TORCH_FR_BUFFER_SIZE");
  return text ? static_cast<size_t>(std::clamp(std::atoll(text), 1LL, 1000000LL)) : 256;
}

}  // namespace

uint64_t FlightRecorder::begin(const Call& call, const Tensor* tensor) {
  Entry& e = entries_[count_ % entries_.size()];
  e = {};
  e.call = call;
  e.state = "scheduled";
  e.created = now_ns();
  if (tensor) {
    e.dims = static_cast<int>(std::min<int64_t>(tensor->dim(), kDims));
    std::copy_n(tensor->sizes().begin(), e.dims, e.sizes);
  }
  return count_++;
}
FlightRecorder::Entry* FlightRecorder::find(uint64_t number) { return count_ - number > entries_.size() ? nullptr : &entries_[number % entries_.size()]; }
void FlightRecorder::start(uint64_t number) {
  if (Entry* e = find(number)) {
    e->state = "started";
    e->started = now_ns();
  }
}
void FlightRecorder::end(uint64_t number, bool failed) {
  if (Entry* e = find(number)) {
    e->state = failed ? "failed" : "completed";
    e->ended = now_ns();
  }
}
std::vector<CallRecord> FlightRecorder::records() const {
  std::vector<CallRecord> all;
  for (uint64_t i = count_ > entries_.size() ? count_ - entries_.size() : 0; i < count_; i++) {
    const Entry& e = entries_[i % entries_.size()];
    CallRecord r;
    r.sequence = e.call.sequence;
    r.operation = collective_name(e.call.what);
    r.state = e.state;
    r.dtype = static_cast<ScalarType>(e.call.dtype);
    r.output_sizes = {{e.sizes, e.sizes + e.dims}};
    r.input_sizes = r.output_sizes;
    r.created_ns = e.created;
    r.started_ns = e.started;
    r.ended_ns = e.ended;
    all.push_back(std::move(r));
  }
  return all;
}

CallQueue::CallQueue(std::shared_ptr<Engine> engine, std::chrono::milliseconds timeout)
    : engine_(std::move(engine)),
      timeout_(timeout),
      compares_(debug_level() == DebugLevel::Detail && std::strcmp(engine_->name(), "shm") != 0),
      recorder_(recorder_capacity()) {}

CallQueue::~CallQueue() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  queued_.notify_all();
  if (thread_.joinable()) thread_.join();
}

WorkPtr CallQueue::run(Call call, const CallOptions& options, Tensors results, Body body) {
  auto task = make_intrusive<Task>();
  task->timeout = chosen(options);
  task->body = std::move(body);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    call.sequence = ++sequence_;
    task->call = call;
    task->record = recorder_.begin(call, results.empty() ? nullptr : &results[0]);
    task->setResults(std::move(results));
    if (pending_++ > 0 || options.asyncOp) {
      queue_.push_back(task);
      if (!thread_.joinable()) thread_ = std::thread([this] { work_off(); });
      lock.unlock();
      queued_.notify_one();
      if (!options.asyncOp) task->wait();
      return task;
    }
  }
  execute(*task);
  task->wait();
  return task;
}

void CallQueue::execute(Task& task) {
  std::exception_ptr error;
  {
    const std::lock_guard<std::mutex> lock(turn_);
    const NoGradGuard no_grad;
    try {
      check_usable();
      {
        const std::lock_guard<std::mutex> records(mutex_);
        recorder_.start(task.record);
      }
      task.call.deadline = after(task.timeout);
      if (compares_) compare(task.call);
      task.body(task.call);
    } catch (const std::exception& e) {
      error = std::current_exception();
      fail(e.what());
    }
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    pending_--;
    recorder_.end(task.record, error != nullptr);
  }
  task.body = nullptr;
  task.finish(std::move(error));
}

void CallQueue::work_off() {
  for (;;) {
    intrusive_ptr<Task> task;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      queued_.wait(lock, [&] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    execute(*task);
  }
}

void CallQueue::compare(const Call& call) {
  struct Head {
    uint16_t what, dtype, reduction;
    int16_t root;
    uint64_t bytes, sequence;
  };
  const Head own{call.what, call.dtype, call.reduction, call.root, call.bytes, call.sequence};
  std::vector<Head> heads(static_cast<size_t>(engine_->size()));
  std::vector<Piece> pieces;
  for (Head& h : heads) pieces.push_back({&h, sizeof h});
  engine_->all_gather(pieces, {&own, sizeof own}, call);
  for (size_t r = 0; r < heads.size(); r++) {
    if (std::memcmp(&heads[r], &own, sizeof own) == 0) continue;
    Call theirs;
    theirs.what = heads[r].what;
    theirs.dtype = heads[r].dtype;
    theirs.reduction = heads[r].reduction;
    theirs.root = heads[r].root;
    theirs.bytes = heads[r].bytes;
    theirs.sequence = heads[r].sequence;
    throw DistBackendError(
        str("dist: the ranks do not call the same: rank ", engine_->rank(), " is at ", describe(call), ", rank ", r, " at ", describe(theirs)));
  }
}

void CallQueue::check_usable() {
  const std::lock_guard<std::mutex> lock(mutex_);
  CRESSET_CHECK_AS(DistBackendError, broken_.empty(), "dist: the group is of no use since an operation failed: ", broken_);
}

void CallQueue::fail(const std::string& reason) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!broken_.empty()) return;
    broken_ = reason;
  }
  engine_->abort(reason);
}

std::vector<CallRecord> CallQueue::records() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return recorder_.records();
}

}  // namespace cresset::distributed
