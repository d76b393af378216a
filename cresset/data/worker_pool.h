#pragma once
// Threads that work on numbered jobs; results come back in the order of the jobs, or as they are ready.

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include "cresset/base/std_function.h"

#include "cresset/base/macros.h"
#include "cresset/base/owned.h"

namespace cresset::data {

// The error that the caller gets when a job threw in a worker thread.
struct CRESSET_API WorkerException : public std::exception {
  explicit WorkerException(std::exception_ptr original);
  const char* what() const noexcept override { return message.c_str(); }

  std::string message;
  std::exception_ptr original_exception;
};

// A worker thread's facts about itself. Its random numbers are those of the batch that it makes, whichever worker that is.
struct WorkerInfo {
  size_t id, num_workers;
};
// Of the worker that calls; null elsewhere.
CRESSET_API const WorkerInfo* get_worker_info();

namespace detail {

// A time span in milliseconds from any std::chrono duration.
struct Milliseconds {
  Milliseconds(int64_t n) : count(n) {}
  template <class Duration, class Period = typename Duration::period> Milliseconds(Duration d)
      : count(static_cast<int64_t>(static_cast<double>(d.count()) * 1000.0 * Period::num / Period::den)) {}
  int64_t count;
};

class CRESSET_API WorkerPool {
 public:
  // Gets the number of the worker; returns what the caller of next() will get.
  using Job = std::function<std::shared_ptr<void>(size_t worker)>;

  explicit WorkerPool(size_t workers);
  // Waits for the jobs that are being worked on and drops the others.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void submit(Job job);
  size_t in_flight() const;
  // Errors: WorkerException for a job that threw; an Error when the time is up. Call only with jobs in flight.
  std::shared_ptr<void> next(bool in_order, std::optional<int64_t> timeout_ms);
  // Drops all jobs in flight, after those that are being worked on have ended.
  void drain();
  void join();

 private:
  struct State;
  Owned<State> state_;
};

// Makes the default generator of this thread, for as long as it lives, one whose sequence depends only on epoch and batch: numbers that
// datasets and transforms draw do not depend on which thread draws them.
class CRESSET_API BatchRandomScope {
 public:
  BatchRandomScope(uint64_t seed, uint64_t epoch, uint64_t batch);
  ~BatchRandomScope();
  BatchRandomScope(const BatchRandomScope&) = delete;
  BatchRandomScope& operator=(const BatchRandomScope&) = delete;

 private:
  struct State;
  Owned<State> state_;
};

CRESSET_API uint64_t current_default_seed();
[[noreturn]] CRESSET_API void throw_iterator_stale();
[[noreturn]] CRESSET_API void throw_epoch_in_flight();
// The end that a loader gives out, or an iterator that has come to it.
[[noreturn]] CRESSET_API void throw_end_incremented(bool is_end_itself);
[[noreturn]] CRESSET_API void throw_end_dereferenced(bool is_end_itself);

}  // namespace detail
}  // namespace cresset::data
