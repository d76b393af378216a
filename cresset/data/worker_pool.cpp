#include "cresset/data/worker_pool.h"
#include "cresset/core/random/generator_scope.h"
#include "cresset/data/shuttle.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "cresset/base/error.h"
#include "cresset/core/random/generator.h"

namespace cresset::data {

namespace {

thread_local const WorkerInfo* t_worker = nullptr;

std::string describe(const std::exception_ptr& original) {
  try {
    std::rethrow_exception(original);
  } catch (const std::exception& e) { return e.what(); } catch (...) {
    return "an exception of unknown type";
  }
}

}  // namespace

WorkerException::WorkerException(std::exception_ptr original)
    : message("Caught exception in DataLoader worker thread. Original message: " + describe(original)), original_exception(std::move(original)) {}

const WorkerInfo* get_worker_info() { return t_worker; }

namespace detail {

struct WorkerPool::State {
  struct Result {
    std::shared_ptr<void> value;
    std::exception_ptr error;
  };

  std::mutex mutex;
  std::condition_variable job_ready, result_ready, idle;
  std::deque<std::pair<uint64_t, Job>> jobs;
  std::map<uint64_t, Result> results;
  uint64_t submitted = 0, next_in_order = 0;
  size_t in_flight = 0, running = 0;
  bool stopping = false;
  std::vector<std::thread> threads;

  void work(size_t worker, size_t workers) {
    const WorkerInfo info{worker, workers};
    t_worker = &info;
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      job_ready.wait(lock, [&] { return stopping || !jobs.empty(); });
      if (stopping) return;
      const uint64_t number = jobs.front().first;
      Job job = std::move(jobs.front().second);
      jobs.pop_front();
      running++;
      lock.unlock();
      Result result;
      try {
        result.value = job(worker);
      } catch (...) { result.error = std::current_exception(); }
      job = nullptr;
      lock.lock();
      results.emplace(number, std::move(result));
      result_ready.notify_one();
      if (--running == 0) idle.notify_all();
    }
  }
};

WorkerPool::WorkerPool(size_t workers) : state_(make_owned<State>()) {
  for (size_t i = 0; i < workers; i++) state_->threads.emplace_back([state = state_.get(), i, workers] { state->work(i, workers); });
}
WorkerPool::~WorkerPool() { join(); }

void WorkerPool::submit(Job job) {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->jobs.emplace_back(state_->submitted++, std::move(job));
    state_->in_flight++;
  }
  state_->job_ready.notify_one();
}

size_t WorkerPool::in_flight() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->in_flight;
}

std::shared_ptr<void> WorkerPool::next(bool in_order, std::optional<int64_t> timeout_ms) {
  State& s = *state_;
  std::unique_lock<std::mutex> lock(s.mutex);
  auto ready = [&] { return in_order ? s.results.count(s.next_in_order) > 0 : !s.results.empty(); };
  if (timeout_ms) {
    const bool in_time = s.result_ready.wait_for(lock, std::chrono::milliseconds(*timeout_ms), ready);
    CRESSET_CHECK(in_time, "data loader: Timeout, no batch within ", *timeout_ms, " ms");
  } else {
    s.result_ready.wait(lock, ready);
  }
  auto it = in_order ? s.results.find(s.next_in_order) : s.results.begin();
  State::Result result = std::move(it->second);
  s.results.erase(it);
  s.next_in_order++;
  s.in_flight--;
  lock.unlock();
  if (result.error) throw WorkerException(result.error);
  return std::move(result.value);
}

void WorkerPool::drain() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->jobs.clear();
  state_->idle.wait(lock, [&] { return state_->running == 0; });
  state_->results.clear();
  state_->next_in_order = state_->submitted;
  state_->in_flight = 0;
}

void WorkerPool::join() {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->stopping = true;
    state_->jobs.clear();
    state_->results.clear();
    state_->in_flight = 0;
  }
  state_->job_ready.notify_all();
  for (auto& thread : state_->threads) thread.join();
  state_->threads.clear();
}

struct BatchRandomScope::State {
  explicit State(uint64_t seed) : generator(make_generator(seed)), scope(generator) {}
  Generator generator;
  DefaultGeneratorScope scope;
};

namespace {
// Splitmix64's finaliser: neighbouring inputs give unrelated seeds.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
}  // namespace

BatchRandomScope::BatchRandomScope(uint64_t seed, uint64_t epoch, uint64_t batch) : state_(make_owned<State>(mix(mix(mix(seed) + epoch) + batch))) {}
BatchRandomScope::~BatchRandomScope() = default;

struct DataMutex::State {
  std::mutex mutex;
  std::condition_variable changed;
};
DataMutex::DataMutex() : state_(make_owned<State>()) {}
DataMutex::~DataMutex() = default;
void DataMutex::lock() { state_->mutex.lock(); }
void DataMutex::unlock() { state_->mutex.unlock(); }
void DataMutex::notify() { state_->changed.notify_all(); }
bool DataMutex::wait(const std::function<bool()>& ready, const std::optional<Milliseconds>& timeout) {
  std::unique_lock<std::mutex> lock(state_->mutex, std::adopt_lock);
  bool in_time = true;
  if (timeout) in_time = state_->changed.wait_for(lock, std::chrono::milliseconds(timeout->count), ready);
  else state_->changed.wait(lock, ready);
  lock.release();
  return in_time;
}

void throw_queue_timeout(int64_t milliseconds) {
  cresset::detail::throw_error<Error>(cresset::str("Timeout in DataLoader queue while waiting for next batch (timeout was ", milliseconds, " ms)"));
}

uint64_t current_default_seed() { return default_generator().current_seed(); }

void throw_iterator_stale() { cresset::detail::throw_error<Error>("data loader: the iterator belongs to an epoch that another begin() has ended"); }
void throw_epoch_in_flight() {
  cresset::detail::throw_error<Error>(
      "data loader: Attempted to get a new DataLoader iterator while another iterator is not yet exhausted; go through its batches, or make another loader");
}
void throw_end_incremented(bool is_end_itself) {
  cresset::detail::throw_error<Error>(is_end_itself ? "Incrementing the DataLoader's past-the-end iterator is not allowed"
                                                    : "data loader: Attempted to increment iterator past the end");
}
void throw_end_dereferenced(bool is_end_itself) {
  cresset::detail::throw_error<Error>(is_end_itself ? "Dereferencing the DataLoader's past-the-end iterator is not allowed"
                                                    : "data loader: Attempted to dereference iterator that was past the end");
}

}  // namespace detail
}  // namespace cresset::data
